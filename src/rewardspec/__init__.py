"""Exact, fast rewards for reinforcement learning from temporal-logic specifications.

Example:
    >>> import rewardspec as rs
    >>> monitor = rs.synthesize("G(request -> F grant)")
    >>> monitor.run({"request": [0.0, 1.0, 0.0], "grant": [0.0, 0.25, 0.75]})
    array([1.  , 0.25, 0.75])
"""

import importlib
from typing import TYPE_CHECKING

from rewardspec.moved_modules import MovedModules

if TYPE_CHECKING:  # what `__getattr__` loads, for type checkers and editors
    from rewardspec import audit, pages, wrappers
    from rewardspec import jax as jax
    from rewardspec import sb3 as sb3
    from rewardspec.episodes.relabeling import relabel
    from rewardspec.errors import (
        Error,
        FormulaError,
        LabelError,
        MissingExtraError,
        ModelError,
        MonitorFileError,
        PolicyFileError,
        RecordingError,
        SpecError,
        SynthesisError,
        UnknownEnvironmentError,
    )
    from rewardspec.lab import tasks
    from rewardspec.logic import formulas, patterns
    from rewardspec.logic.formulas import Atom, Formula
    from rewardspec.logic.fragments import is_cosafe, is_past, is_propositional, is_safe, unguarded_atoms
    from rewardspec.logic.normal_form import to_nnf
    from rewardspec.logic.parsing import parse
    from rewardspec.logic.semantics import evaluate, evaluate_prefixes
    from rewardspec.logic.simplification import simplify
    from rewardspec.machines.monitor import Monitor
    from rewardspec.machines.verdicts import Verdict
    from rewardspec.spec.pairs import Pair
    from rewardspec.spec.reward_machine import RewardMachine
    from rewardspec.spec.spec import Spec
    from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor, synthesize_boolean
    from rewardspec.synthesis.quantitative.synthesize import synthesize
    from rewardspec.wrappers.probing import probe

__version__ = "0.1.0"

MovedModules.install()

# The names that each module gives to the package, imported when first used, so that `import rewardspec` is quick.
_NAMES = {
    name: module
    for module, names in {
        "rewardspec.logic.parsing": "parse",
        "rewardspec.logic.semantics": "evaluate evaluate_prefixes",
        "rewardspec.synthesis.quantitative.synthesize": "synthesize",
        "rewardspec.synthesis.boolean.boolean_monitor": "synthesize_boolean BooleanMonitor",
        "rewardspec.spec.spec": "Spec",
        "rewardspec.spec.pairs": "Pair",
        "rewardspec.wrappers.probing": "probe",
        "rewardspec.episodes.relabeling": "relabel",
        "rewardspec.machines.monitor": "Monitor",
        "rewardspec.spec.reward_machine": "RewardMachine",
        "rewardspec.machines.verdicts": "Verdict",
        "rewardspec.logic.formulas": "Formula Atom",
        "rewardspec.logic.simplification": "simplify",
        "rewardspec.logic.normal_form": "to_nnf",
        "rewardspec.logic.fragments": "is_safe is_cosafe is_past is_propositional unguarded_atoms",
        "rewardspec.errors": "Error FormulaError LabelError SynthesisError SpecError "
        "ModelError RecordingError MonitorFileError PolicyFileError UnknownEnvironmentError MissingExtraError",
    }.items()
    for name in names.split()
}
# Modules that are public under a short name.
_MODULES = {
    "wrappers": "rewardspec.wrappers",
    "pages": "rewardspec.pages",
    "audit": "rewardspec.audit",
    "tasks": "rewardspec.lab.tasks",
    "patterns": "rewardspec.logic.patterns",
    "formulas": "rewardspec.logic.formulas",
}
# Further modules, not in `__all__`, so that `import *` loads none that needs an extra.
_FURTHER = (
    *("errors", "logic", "machines", "synthesis", "spec", "episodes", "export"),
    *("drawing", "finite", "transcripts", "jax", "pettingzoo", "sb3", "torch"),
)

__all__ = [  # noqa: RUF022  # what users reach for first stands first
    "parse",
    "evaluate",
    "evaluate_prefixes",
    "synthesize",
    "synthesize_boolean",
    "Spec",
    "Pair",
    "wrappers",
    "probe",
    "pages",
    "audit",
    "relabel",
    "tasks",
    "patterns",
    "Monitor",
    "BooleanMonitor",
    "RewardMachine",
    "Verdict",
    "Formula",
    "Atom",
    "formulas",
    "simplify",
    "to_nnf",
    "is_safe",
    "is_cosafe",
    "is_past",
    "is_propositional",
    "unguarded_atoms",
    "Error",
    "FormulaError",
    "LabelError",
    "SynthesisError",
    "SpecError",
    "ModelError",
    "RecordingError",
    "MonitorFileError",
    "PolicyFileError",
    "UnknownEnvironmentError",
    "MissingExtraError",
]


def __getattr__(name: str) -> object:
    if name in _NAMES:
        found: object = getattr(importlib.import_module(_NAMES[name]), name)
    elif name in _MODULES or name in _FURTHER:
        found = importlib.import_module(_MODULES.get(name, f"rewardspec.{name}"))
    else:
        raise AttributeError(f"module 'rewardspec' has no attribute {name!r}.{_hint(name)}")
    globals()[name] = found
    return found


def _hint(name: str) -> str:
    from rewardspec.errors import did_you_mean
    from rewardspec.logic import formulas

    return " It is in rewardspec.formulas." if hasattr(formulas, name) else did_you_mean(name, __all__)


def __dir__() -> list[str]:
    return sorted({*__all__, *_FURTHER, "__version__"})

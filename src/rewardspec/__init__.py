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

# Public names and their modules, imported when a name is first used, so that `import rewardspec` is quick.
_NAMES = {
    "parse": "rewardspec.logic.parsing",
    "evaluate": "rewardspec.logic.semantics",
    "evaluate_prefixes": "rewardspec.logic.semantics",
    "synthesize": "rewardspec.synthesis.quantitative.synthesize",
    "synthesize_boolean": "rewardspec.synthesis.boolean.boolean_monitor",
    "Spec": "rewardspec.spec.spec",
    "Pair": "rewardspec.spec.pairs",
    "probe": "rewardspec.wrappers.probing",
    "relabel": "rewardspec.episodes.relabeling",
    "Monitor": "rewardspec.machines.monitor",
    "BooleanMonitor": "rewardspec.synthesis.boolean.boolean_monitor",
    "RewardMachine": "rewardspec.spec.reward_machine",
    "Verdict": "rewardspec.machines.verdicts",
    "Formula": "rewardspec.logic.formulas",
    "Atom": "rewardspec.logic.formulas",
    "simplify": "rewardspec.logic.simplification",
    "to_nnf": "rewardspec.logic.normal_form",
    "is_safe": "rewardspec.logic.fragments",
    "is_cosafe": "rewardspec.logic.fragments",
    "is_past": "rewardspec.logic.fragments",
    "is_propositional": "rewardspec.logic.fragments",
    "unguarded_atoms": "rewardspec.logic.fragments",
    "Error": "rewardspec.errors",
    "FormulaError": "rewardspec.errors",
    "LabelError": "rewardspec.errors",
    "SynthesisError": "rewardspec.errors",
    "SpecError": "rewardspec.errors",
    "ModelError": "rewardspec.errors",
    "RecordingError": "rewardspec.errors",
    "MonitorFileError": "rewardspec.errors",
    "PolicyFileError": "rewardspec.errors",
    "UnknownEnvironmentError": "rewardspec.errors",
    "MissingExtraError": "rewardspec.errors",
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
    "errors",
    "logic",
    "machines",
    "synthesis",
    "spec",
    "episodes",
    "export",
    "drawing",
    "finite",
    "transcripts",
    "jax",
    "pettingzoo",
    "sb3",
    "torch",
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

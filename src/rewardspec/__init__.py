"""Exact, fast rewards for reinforcement learning from temporal-logic specifications.

Example:
    >>> import rewardspec as rs
    >>> monitor = rs.synthesize("G(request -> F grant)")
    >>> monitor.run({"request": [0.0, 1.0, 0.0], "grant": [0.0, 0.25, 0.75]})
    array([1.  , 0.25, 0.75])
"""

import importlib
from typing import TYPE_CHECKING

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
    did_you_mean,
)
from rewardspec.logic import formulas
from rewardspec.logic.formulas import Atom, Formula
from rewardspec.logic.fragments import is_cosafe, is_past, is_propositional, is_safe, unguarded_atoms
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from rewardspec.logic.simplification import simplify
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.verdicts import Verdict
from rewardspec.moved_modules import MovedModules
from rewardspec.spec import Pair, Spec
from rewardspec.synthesis.quantitative.synthesize import synthesize

if TYPE_CHECKING:  # what `__getattr__` loads, for type checkers and editors
    from rewardspec import audit, pages, wrappers
    from rewardspec import sb3 as sb3
    from rewardspec.episodes.relabeling import relabel
    from rewardspec.lab import tasks
    from rewardspec.logic import patterns
    from rewardspec.spec.reward_machine import RewardMachine
    from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor, synthesize_boolean
    from rewardspec.wrappers import probe

__version__ = "0.1.0"

MovedModules.install()

# Loaded when first used, so that importing takes little time: the module, and the name in it.
_LATER = {
    "RewardMachine": ("rewardspec.spec.reward_machine", "RewardMachine"),
    "BooleanMonitor": ("rewardspec.synthesis.boolean.boolean_monitor", "BooleanMonitor"),
    "audit": ("rewardspec.audit", None),
    "pages": ("rewardspec.pages", None),
    "patterns": ("rewardspec.logic.patterns", None),
    "probe": ("rewardspec.wrappers", "probe"),
    "relabel": ("rewardspec.episodes.relabeling", "relabel"),
    "sb3": ("rewardspec.sb3", None),  # not in `__all__`: needs an extra, and `import *` loads all that is there
    "synthesize_boolean": ("rewardspec.synthesis.boolean.boolean_monitor", "synthesize_boolean"),
    "tasks": ("rewardspec.lab.tasks", None),
    "wrappers": ("rewardspec.wrappers", None),
}

__all__ = [  # noqa: RUF022  # some are loaded later; what users reach for first stands first
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
    if name in _LATER:
        module_name, attribute = _LATER[name]
        module = importlib.import_module(module_name)
        found = module if attribute is None else getattr(module, attribute)
        globals()[name] = found
        return found
    where = " It is in rewardspec.formulas." if hasattr(formulas, name) else did_you_mean(name, __all__)
    raise AttributeError(f"module 'rewardspec' has no attribute {name!r}.{where}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER, "__version__"})

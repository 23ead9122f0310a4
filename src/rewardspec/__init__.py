"""Exact, fast rewards for reinforcement learning from temporal-logic specifications.

Example:
    >>> import rewardspec as rs
    >>> monitor = rs.synthesize("G(request -> F grant)")
    >>> monitor.run({"request": [0.0, 1.0, 0.0], "grant": [0.0, 0.25, 0.75]})
    array([1.  , 0.25, 0.75])
"""

from rewardspec.errors import (
    Error,
    FormulaError,
    LabelError,
    MissingExtraError,
    MonitorFileError,
    SpecError,
    SynthesisError,
    did_you_mean,
)
from rewardspec.logic import patterns
from rewardspec.logic.formulas import (
    FALSE,
    FIRST,
    LAST,
    TRUE,
    Affine,
    AllButTimes,
    Always,
    And,
    AtLeastTimes,
    Atom,
    Constant,
    Eventually,
    Formula,
    Historically,
    Iff,
    Implies,
    Next,
    Not,
    Once,
    Or,
    Previous,
    Release,
    Since,
    StrongRelease,
    Trigger,
    Until,
    WeakNext,
    WeakPrevious,
    WeakUntil,
    Xor,
)
from rewardspec.logic.fragments import is_cosafe, is_past, is_propositional, is_safe, unguarded_atoms
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from rewardspec.logic.simplification import simplify
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.verdicts import Verdict
from rewardspec.spec import Pair, Spec
from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor, synthesize_boolean
from rewardspec.synthesis.quantitative.synthesize import synthesize

__version__ = "0.1.0"

__all__ = [
    "FALSE",
    "FIRST",
    "LAST",
    "TRUE",
    "Affine",
    "AllButTimes",
    "Always",
    "And",
    "AtLeastTimes",
    "Atom",
    "BooleanMonitor",
    "Constant",
    "Error",
    "Eventually",
    "Formula",
    "FormulaError",
    "Historically",
    "Iff",
    "Implies",
    "LabelError",
    "MissingExtraError",
    "Monitor",
    "MonitorFileError",
    "Next",
    "Not",
    "Once",
    "Or",
    "Pair",
    "Previous",
    "Release",
    "Since",
    "Spec",
    "SpecError",
    "StrongRelease",
    "SynthesisError",
    "Trigger",
    "Until",
    "Verdict",
    "WeakNext",
    "WeakPrevious",
    "WeakUntil",
    "Xor",
    "evaluate",
    "evaluate_prefixes",
    "is_cosafe",
    "is_past",
    "is_propositional",
    "is_safe",
    "parse",
    "patterns",
    "simplify",
    "synthesize",
    "synthesize_boolean",
    "to_nnf",
    "unguarded_atoms",
]


def __getattr__(name: str) -> object:
    """Load `rewardspec.wrappers` and `rewardspec.tasks` when first used: they need Gymnasium, which takes time."""
    if name in ("tasks", "wrappers"):
        import importlib

        return importlib.import_module(f"rewardspec.{name}")
    hint = did_you_mean(name, [*__all__, "tasks", "wrappers"])
    raise AttributeError(f"module 'rewardspec' has no attribute {name!r}.{hint}")

"""The functions of atoms: how they are called, what they look at, and functions made from others.

An atom is a function of `(obs, action, next_obs)`, or of `(obs, action, next_obs, info)`: it gets `info` if one of its
parameters has that name.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any, TypeAlias

import numpy as np

from rewardspec.machines.namespaces import namespace_of
from rewardspec.types import Action, Info, LabelFunction, Number, Observation

AtomFunction: TypeAlias = Callable[..., Number]  # of (obs, action, next_obs), or with a parameter `info` too

NO_INFO = "there is none here. Give `info` where labels are read: that of `reset` and `step`, or what was recorded."
# A function that mentions one of these may get at its arguments without mentioning them.
_ROUNDABOUT = frozenset(["_getframe", "currentframe", "dir", "eval", "exec", "locals", "stack", "vars"])


def takes_info(function: Any) -> bool:
    """Return whether an atom's function has a parameter named `info`, which may be keyword-only.

    Call such a function as `function(obs, action, next_obs, info=info)` and any other without `info`. An object may
    tell by an attribute `takes_info`.

    Example:
        >>> takes_info(lambda obs, action, next_obs, info: info["carrying"])
        True
        >>> takes_info(lambda obs, action, next_obs: next_obs[..., 0])
        False
    """
    if type(function) is FunctionType and not function.__dict__:  # the usual case, and much quicker
        code = function.__code__
        return "info" in code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    declared = getattr(function, "takes_info", None)
    if isinstance(declared, bool):
        return declared
    if isinstance(function, functools.partial) and "info" in function.keywords:
        return False  # given already
    try:
        parameter = inspect.signature(function).parameters.get("info")
    except (TypeError, ValueError):  # a built-in function may not tell
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def looks_like_a_comparison(name: str) -> bool:
    """Return whether the name of an atom may be a comparison that can be read as its function."""
    return re.search(r"[<>]|[=!]=", name) is not None


def with_info(function: AtomFunction) -> LabelFunction:
    """The function as one of four arguments, `(obs, action, next_obs, info)`, whether it looks at `info` or not.

    Where `info` is None, which means that there is none, the function is called without it.

    Example:
        >>> with_info(lambda obs, action, next_obs: next_obs)(0, 1, 2, {})
        2
        >>> with_info(lambda obs, action, next_obs, info: info["lives"])(0, 1, 2, {"lives": 3})
        3
    """
    if not takes_info(function):
        return lambda obs, action, next_obs, _: function(obs, action, next_obs)

    def call(obs: Observation, action: Action, next_obs: Observation, info: Info | None) -> Number:
        return function(obs, action, next_obs) if info is None else function(obs, action, next_obs, info=info)

    return call


def reads_only_the_state(function: object) -> bool:
    """Return whether an atom's label surely depends on `next_obs` alone; False if that is unknown.

    Such an atom has the same label however the state was reached, by a step or by a reset, so that one call of it
    serves a batch in which some episodes go on and others begin. An object may say so by an attribute
    `reads_only_the_state`. Of a Python function its code tells, where it mentions neither of the first two parameters.

    Example:
        >>> reads_only_the_state(lambda obs, action, next_obs: abs(next_obs[..., 0]))
        True
        >>> reads_only_the_state(lambda obs, action, next_obs: abs(next_obs[..., 0] - obs[..., 0]))
        False
    """
    if not isinstance(function, FunctionType):
        return getattr(function, "reads_only_the_state", False) is True
    code = function.__code__
    if code.co_argcount != 3 or takes_info(function):
        return False
    return not (_ROUNDABOUT | set(code.co_varnames[:2])).intersection(_mentions(code))


def _mentions(code: CodeType) -> Iterator[object]:
    """All that the instructions are about; some are about two variables at once."""
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.argval, tuple):
            yield from instruction.argval
        else:
            yield instruction.argval


@dataclasses.dataclass(frozen=True)
class DerivedAtom:
    """An atom's function with something added.

    A class and not a closure, so that specs with it can be compared, copied, pickled and saved.
    """

    function: AtomFunction = dataclasses.field(hash=False)  # which need not be hashable
    takes_info: bool = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "takes_info", takes_info(self.function))

    @property
    def reads_only_the_state(self) -> bool:
        """True if the label surely depends on `next_obs` alone."""
        return reads_only_the_state(self.function)

    @property
    def at_reset(self) -> Number:
        """The label after every reset, where the function declares one."""
        return getattr(self.function, "at_reset", None)

    def __call__(self, obs: Observation, action: Action, next_obs: Observation, info: Info | None = None) -> Number:
        """The function's label of one transition, or its labels of a batch."""
        if self.takes_info and info is not None:
            return self.function(obs, action, next_obs, info=info)
        return self.function(obs, action, next_obs)


@dataclasses.dataclass(frozen=True)
class Thresholded(DerivedAtom):
    """An atom's function turned Boolean: its label is 1 from the threshold on, else 0.

    Labels that are no degrees stay as they are, to be refused or clipped as without a threshold.

    Attributes:
        threshold: The threshold.
        of_names: Whether the atom is about a sort of names, so that a list or a set has the things for which it holds.
    """

    threshold: float
    of_names: bool = False

    @property
    def at_reset(self) -> Number:
        """The Boolean label after every reset, where the function declares a label."""
        label = super().at_reset
        return None if label is None else float(label >= self.threshold)

    def __call__(self, obs: Observation, action: Action, next_obs: Observation, info: Info | None = None) -> Number:
        """The Boolean label of one transition, or the labels of a batch or of things."""
        label = super().__call__(obs, action, next_obs, info)
        return label if self.of_names and not isinstance(label, Mapping) else self._boolean(label)

    def _boolean(self, label: Any) -> Any:
        if isinstance(label, Mapping):
            return {thing: self._boolean(own) for thing, own in label.items()}
        if isinstance(label, list | tuple):
            return [self._boolean(own) for own in label]
        xp = namespace_of(label)
        if xp is not None:
            return xp.where((label >= 0.0) & (label <= 1.0), (label >= self.threshold) * 1.0, label)
        is_degree = isinstance(label, float | int | np.bool_ | np.floating | np.integer) and 0.0 <= label <= 1.0
        return float(label >= self.threshold) if is_degree else label


@dataclasses.dataclass(frozen=True)
class Clipped(DerivedAtom):
    """An atom's function for one environment, its label clipped into [0, 1]; NaN stays NaN."""

    def __call__(self, obs: Observation, action: Action, next_obs: Observation, info: Info | None = None) -> float:
        """The clipped label of one transition."""
        label = float(super().__call__(obs, action, next_obs, info))
        return 0.0 if label < 0.0 else 1.0 if label > 1.0 else label

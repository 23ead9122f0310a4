"""Named components of an observation: which number of it a name in an atom's expression stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from rewardspec.errors import SpecError, shown
from rewardspec.types import Array, Json, Number, Observation


class Span(NamedTuple):
    """A slice of an axis, `[start:stop:step]`."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None

    def __repr__(self) -> str:
        start, stop, step = ("" if limit is None else str(limit) for limit in self)
        return f"{start}:{stop}{':' * bool(step)}{step}"


Path: TypeAlias = tuple[str | int | Span, ...]
Components: TypeAlias = Mapping[str, Path]

_LARGEST = 10**9  # index
RESERVED = ("action", "before", "info", "obs", "next_obs", "and", "or", "not", "pi")


def read_components(table: Json) -> dict[str, Path]:
    """The components that a spec file's `observation` declares.

    A list names the numbers of a flat observation in order.  A table gives each name its place: a number is an index
    on the last axis, a string a key of a Dict observation, a list a path of both, and the empty list the observation
    itself.  A table inside the table stands for one key of a Dict observation.

    Example:
        >>> read_components(["x", "x_dot"])
        {'x': (0,), 'x_dot': (1,)}
        >>> read_components({"time": "clock", "agent": {"x": 0, "y": 1}, "cell": []})
        {'time': ('clock',), 'agent.x': ('agent', 0), 'agent.y': ('agent', 1), 'cell': ()}
    """
    if isinstance(table, list):
        for name in table:
            if not isinstance(name, str):
                raise SpecError(f"A list of observation components should hold names. Received {shown(name)}.")
        twice = [name for number, name in enumerate(table) if name in table[:number]]
        if twice:
            raise SpecError(f"The observation component {twice[0]!r} is named twice. Give each its own name.")
        table = {name: number for number, name in enumerate(table)}
    if not isinstance(table, Mapping):
        raise SpecError(
            f"`observation` should be a list of names, or a table of names and places. Received {shown(table)}."
        )
    return _read_table(table, "", ())


def _read_table(table: Mapping[Json, Json], prefix: str, start: Path) -> dict[str, Path]:
    components: dict[str, Path] = {}
    for name, place in table.items():
        if not re.fullmatch(r"[^\W\d]\w*", name):
            raise SpecError(
                f"An observation component's name should be an identifier, as expressions need. Received {name!r}."
            )
        if not prefix and name in RESERVED:
            raise SpecError(f"{name!r} means something else in expressions. Choose another component name.")
        if isinstance(place, Mapping):
            components |= _read_table(place, f"{prefix}{name}.", (*start, name))
        else:
            components[prefix + name] = (*start, *_read_place(prefix + name, place))
    return components


def _read_place(name: str, place: Json) -> Path:
    parts = place if isinstance(place, list) else [place]
    for part in parts:
        if (
            isinstance(part, bool)
            or not isinstance(part, str | int)
            or (isinstance(part, int) and abs(part) > _LARGEST)
        ):
            raise SpecError(
                f"The place of observation component {name!r} should be an index, a key, or a list of them. "
                f"Received {shown(place)}."
            )
    return tuple(parts)


def reader(path: Path) -> Callable[[Observation], Number]:
    """The function that takes a component out of an observation, or out of a batch of observations.

    Example:
        >>> read = reader(("agent", 1))
        >>> float(read({"agent": np.array([1.0, 2.0])})), read({"agent": np.array([[1.0, 2.0], [3.0, 4.0]])})
        (2.0, array([2., 4.]))
    """
    if len(path) == 1 and isinstance(path[0], int):
        index = path[0]

        def read_number(obs: Observation) -> Number:
            # By far the commonest case, and twice as fast as with an ellipsis.
            return obs[index] if type(obs) is np.ndarray and obs.ndim == 1 else _follow(obs, path)

        return read_number
    return lambda obs: _follow(obs, path)


def why_unreadable(obs: Observation, path: Path) -> str | None:
    """Explain why a component of an observation cannot be read; None if it can.

    Example:
        >>> why_unreadable(np.zeros(3), (3,))
        'number 3, from 0, of the observation, which has 3 numbers'
        >>> why_unreadable({"agent": np.zeros(2)}, ("target", 0))
        "the entry 'target' of the observation, which has the keys 'agent'"
    """
    try:
        _follow(obs, path)
    except (IndexError, KeyError, TypeError, AttributeError):
        place = path[0] if path else 0
        if isinstance(obs, Mapping) and place in obs:
            inner = why_unreadable(obs[place], path[1:]) or "not there"
            return inner.replace("of the observation", f"of the observation's {place!r}", 1)
        what = f"the entry {place!r}" if isinstance(place, str) else f"number {place}, from 0,"
        if len(path) > 1 and not isinstance(obs, Mapping):
            what = f"the place {list(path)}"
        return f"{what} of the observation, which {shape_of(obs)}"
    return None


def shape_of(obs: Observation) -> str:
    """Describe the shape or keys of an observation or batch, in words that follow "which".

    Example:
        >>> shape_of(np.zeros(4)), shape_of({"x": 0, "y": 1}), shape_of(7)
        ('has 4 numbers', "has the keys 'x', 'y'", 'is a single number')
    """
    if isinstance(obs, Mapping):
        return f"has the keys {', '.join(map(repr, obs))}"
    shape = tuple(np.shape(obs)) if not isinstance(obs, tuple | list) else (len(obs),)
    if not shape:
        return "is a single number"
    return f"has {shape[-1]} number{'s' * (shape[-1] != 1)}" if len(shape) == 1 else f"has the shape {shape}"


def _follow(obs: Observation, path: Path) -> Number:
    for position, step in enumerate(path):
        if isinstance(step, int | Span) and not isinstance(obs, tuple | list):
            places = path[position:]  # on the last axes
            if type(obs) is not np.ndarray:
                _check_places(obs, places)
            return obs[(..., *(slice(*part) if isinstance(part, Span) else part for part in places))]
        obs = obs[slice(*step) if isinstance(step, Span) else step]
    return obs


def _check_places(array: Array, places: Path) -> None:
    """Raise an IndexError, as NumPy does, for a place outside of the array, where JAX would take the last number."""
    for size, place in zip(reversed(getattr(array, "shape", ())), reversed(places), strict=False):
        if isinstance(place, int) and not -size <= place < size:
            raise IndexError(f"index {place} is out of bounds for an axis with size {size}")

"""Named components of an observation: which number of it a name in an atom's expression stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from rewardspec.errors import SpecError

Path: TypeAlias = tuple[str | int, ...]
Components: TypeAlias = Mapping[str, Path]

RESERVED = ("action", "before", "and", "or", "not", "pi")


def read_components(table: Any) -> dict[str, Path]:
    """The components that a spec file's `observation` declares.

    A list names the numbers of a flat observation in order.  A table gives each name its place: a number is an index
    on the last axis, a string a key of a Dict observation, a list a path of both, and the empty list the observation
    itself.  A table inside the table stands for one key of a Dict observation.

    Raises:
        SpecError: The declaration is not of this form.

    Example:
        >>> read_components(["x", "x_dot"])
        {'x': (0,), 'x_dot': (1,)}
        >>> read_components({"time": "clock", "agent": {"x": 0, "y": 1}, "cell": []})
        {'time': ('clock',), 'agent.x': ('agent', 0), 'agent.y': ('agent', 1), 'cell': ()}
    """
    if isinstance(table, list):
        for name in table:
            if not isinstance(name, str):
                raise SpecError(f"A list of observation components should hold names. Received {name!r}.")
        twice = [name for number, name in enumerate(table) if name in table[:number]]
        if twice:
            raise SpecError(f"The observation component {twice[0]!r} is named twice. Give each its own name.")
        table = {name: number for number, name in enumerate(table)}
    if not isinstance(table, Mapping):
        raise SpecError(f"`observation` should be a list of names, or a table of names and places. Received {table!r}.")
    return _read_table(table, "", ())


def _read_table(table: Mapping[Any, Any], prefix: str, start: Path) -> dict[str, Path]:
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


def _read_place(name: str, place: Any) -> Path:
    parts = place if isinstance(place, list) else [place]
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, str | int):
            raise SpecError(
                f"The place of observation component {name!r} should be an index, a key, or a list of them. "
                f"Received {place!r}."
            )
    return tuple(parts)


def reader(path: Path) -> Callable[[Any], Any]:
    """The function that takes a component out of an observation, or out of a batch of observations.

    Example:
        >>> read = reader(("agent", 1))
        >>> float(read({"agent": np.array([1.0, 2.0])})), read({"agent": np.array([[1.0, 2.0], [3.0, 4.0]])})
        (2.0, array([2., 4.]))
    """
    if len(path) == 1 and isinstance(path[0], int):
        index = path[0]

        def read_number(obs: Any) -> Any:
            # By far the commonest case, and twice as fast as with an ellipsis.
            return obs[index] if type(obs) is np.ndarray and obs.ndim == 1 else _follow(obs, path)

        return read_number
    return lambda obs: _follow(obs, path)


def _follow(obs: Any, path: Path) -> Any:
    for position, step in enumerate(path):
        if isinstance(step, int) and not isinstance(obs, tuple | list):
            return obs[(..., *path[position:])]  # what is left are places on the last axes
        obs = obs[step]
    return obs

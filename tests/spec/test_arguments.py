"""Whether an atom looks at the state alone is told from its code, and never wrongly said."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from rewardspec.spec.atoms.arguments import reads_only_the_state
from rewardspec.spec.atoms.expressions_as_atoms import compile_atom
from rewardspec.spec.atoms.labelling import Thresholded

LIMIT = 0.5


def of_the_state(obs: Any, action: Any, next_obs: Any) -> Any:
    """Says "action" and "obs" in its text, and reads neither."""
    return np.abs(next_obs[..., 0]) < LIMIT


def passed_on(obs: Any, action: Any, next_obs: Any) -> Any:
    return of_the_state(obs, action, next_obs)


def captured(obs: Any, action: Any, next_obs: Any) -> Any:
    return (lambda: obs[..., 0] + next_obs[..., 0])()


def found_by_name(obs: Any, action: Any, next_obs: Any) -> Any:
    return locals()["action"]


@pytest.mark.parametrize(
    "function",
    [
        of_the_state,
        lambda o, _, n: 1.0 - np.minimum(np.abs(n[..., 2]), 1.0),
        lambda obs, action, next_obs: 1.0,
        Thresholded(of_the_state, 0.5),
        compile_atom("clip(1 - abs(x), 0, 1)", {"x": (0,)}),
    ],
)
def test_an_atom_of_the_state_alone_is_known(function: Any) -> None:
    assert reads_only_the_state(function)


@pytest.mark.parametrize(
    "function",
    [
        passed_on,
        captured,
        found_by_name,
        lambda obs, action, next_obs: abs(next_obs[..., 0] - obs[..., 0]),
        lambda obs, action, next_obs: 0.25 if action is None else 1.0,
        lambda *transition: 0.5,
        lambda obs, *rest: 0.5,
        lambda obs, action, next_obs, scale=1.0: scale,
        functools.partial(of_the_state),
        Thresholded(passed_on, 0.5),
        compile_atom("clip(x - before.x, 0, 1)", {"x": (0,)}),
        compile_atom("clip(1 - abs(x), 0, 1)", {"x": (0,)}, at_reset=0.0),
    ],
)
def test_any_other_may_look_at_the_transition(function: Any) -> None:
    assert not reads_only_the_state(function)

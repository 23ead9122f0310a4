"""How atoms' functions are called, what they look at, and functions made from others."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom
from rewardspec.spec.atoms.functions import Clipped, Thresholded, reads_only_the_state, takes_info, with_info

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
        ExpressionAtom("clip(1 - abs(x), 0, 1)", {"x": (0,)}),
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
        ExpressionAtom("clip(x - before.x, 0, 1)", {"x": (0,)}),
        ExpressionAtom("clip(1 - abs(x), 0, 1)", {"x": (0,)}, at_reset=0.0),
        ExpressionAtom("info.lives", {}),
        lambda obs, action, next_obs, info: 1.0,
        lambda obs, action, next_obs, *, info: 1.0,
    ],
)
def test_any_other_may_look_at_the_transition(function: Any) -> None:
    assert not reads_only_the_state(function)


# `info`.


def with_lives(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
    return info["lives"] / 4


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


class Lives:
    def __call__(self, obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
        return info["lives"] / 4


TAKING = [
    with_lives,
    lambda obs, action, next_obs, *, info: info["lives"] / 4,
    lambda obs, action, next_obs, info=None, scale=4: info["lives"] / scale,
    functools.partial(lambda scale, obs, action, next_obs, info: info["lives"] / scale, 4),
    decorated(with_lives),
    Lives(),
    ExpressionAtom("info.lives / 4", {}),
    Thresholded(with_lives, 0.25),
    Clipped(with_lives),
]


@pytest.mark.parametrize("function", TAKING)
def test_info_goes_to_whatever_has_a_parameter_of_that_name(function: Any) -> None:
    assert takes_info(function)
    assert with_info(function)(None, 0, np.zeros(2), {"lives": 3}) in (0.75, 1.0)
    spec = rs.Spec([("F a", 1)], atoms={"a": function})
    assert spec.labels(None, 0, np.zeros(2), {"lives": 3})["a"] in (0.75, 1.0)


@pytest.mark.parametrize(
    "function",
    [
        of_the_state,
        lambda obs, action, next_obs, **rest: 1.0,
        lambda obs, action, next_obs, infos=None: 1.0,
        functools.partial(with_lives, info={"lives": 4}),
        min,
        ExpressionAtom("next_obs[0]", {}),
        Thresholded(lambda obs, action, next_obs: 1.0, 0.5),
    ],
)
def test_info_goes_to_nothing_else(function: Any) -> None:
    assert not takes_info(function)
    assert with_info(lambda *given: len(given))(1, 2, 3, {"lives": 3}) == 3


@pytest.mark.parametrize("function", [function for function in TAKING if not getattr(function, "__defaults__", None)])
def test_a_label_that_needs_info_where_there_is_none_is_an_error(function: Any) -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": function})
    for batch in (None, 2):
        with pytest.raises(
            rs.LabelError, match=r"atom 'a' .*at step 3.* reads `info`, and there is none here\. Give `info`"
        ):
            spec.labels(np.zeros((2, 2)), 0, np.zeros((2, 2)), step=3, batch=batch)


def test_a_function_may_say_itself_what_counts_without_info() -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs, info=None: 0.5 if info is None else 1.0})
    assert [spec.labels(0, 0, 0, info)["a"] for info in (None, {})] == [0.5, 1.0]


def test_a_key_that_info_lacks_is_named_with_those_it_has() -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": with_lives})
    with pytest.raises(
        rs.LabelError, match=r"'a' raised KeyError at step 2: 'lives'. info is a dict with the keys 'x', 'y'."
    ):
        spec.labels(None, 0, np.zeros(2), {"x": 1, "y": 2}, step=2)
    spec = rs.Spec([("F a", 1)], atoms={"a": "info.lives / 4"})
    with pytest.raises(rs.LabelError, match="the entry 'lives' of the info, which has the keys 'x'"):
        spec.labels(None, 0, np.zeros(2), {"x": 1}, step=2)


# Functions made from others.


def test_boolean_and_clipped_atoms_of_the_same_function_are_equal() -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": of_the_state})
    assert spec.boolean(0.5) == spec.boolean(0.5) != spec.boolean(0.75)
    assert Thresholded(of_the_state, 0.5) != Thresholded(passed_on, 0.5)
    assert Clipped(of_the_state) == Clipped(of_the_state) != Clipped(passed_on)
    assert len({Clipped(of_the_state), Clipped(of_the_state), Thresholded(of_the_state, 0.5)}) == 2
    for same in (copy.deepcopy, lambda atom: pickle.loads(pickle.dumps(atom))):
        assert same(Thresholded(of_the_state, 0.5)) == Thresholded(of_the_state, 0.5)
        assert same(spec.boolean(0.5)) == spec.boolean(0.5)

"""Specs on CartPole and FrozenLake that the wrappers' tests share."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from rewardspec.spec import Pair, Spec

PAYMENTS = ("value", "delta", "potential", "final")
OBSERVES = (None, "control", "registers", "values")

CARTPOLE_ATOMS = {
    "upright": lambda obs, action, next_obs: 1.0 - np.minimum(np.abs(next_obs[..., 2]) / 0.25, 1.0),
    "centred": lambda obs, action, next_obs: 1.0 - np.minimum(np.abs(next_obs[..., 0]) / 2.4, 1.0),
    "calm": lambda obs, action, next_obs: 1.0 - np.minimum(np.abs(next_obs[..., 3] - obs[..., 3]), 1.0),
    "inside": lambda obs, action, next_obs: (np.abs(next_obs[..., 2]) < 0.15) * 1.0,
    "pushed": lambda obs, action, next_obs: 0.25 if action is None else np.asarray(action) * 0.5,
}
# A safety objective that is violated in some episodes and not in others, and a milder one that comes later.
CARTPOLE_PAIRS = [
    Pair("G(upright -> F calm)", 2.0),
    Pair("F G centred", -0.75),
    Pair("X X pushed", 0.5, veto=False),
    Pair("G inside", 1.0, penalty=-2.5),
    Pair("G(upright & (pushed | WX inside))", 0.25, penalty=-3.5),
    Pair("upright U pushed", 1.0),
]

HOLES, GOAL = (5, 7, 11, 12), 15
TABLE = np.linspace(0.0, 1.0, 16)[[3, 9, 1, 12, 0, 6, 14, 5, 10, 2, 8, 15, 4, 13, 7, 11]]
LAKE_ATOMS = {
    "goal": lambda obs, action, next_obs: (np.asarray(next_obs) == GOAL) * 1.0,
    "dry": lambda obs, action, next_obs: 1.0 - np.isin(next_obs, HOLES),
    "near": lambda obs, action, next_obs: TABLE[next_obs],
    "home": lambda obs, action, next_obs: 1.0 - TABLE[15 - np.asarray(next_obs)],
    "moved": lambda obs, action, next_obs: (np.asarray(obs) != next_obs) * 0.5,
    "corner": lambda obs, action, next_obs: (np.asarray(next_obs) != 3) * 1.0,
}
LAKE_PAIRS = [
    Pair("F goal", 2.0),
    Pair("F(near & X F home)", 1.0),
    Pair("F G moved", 0.5),
    Pair("F(home & X F(near & F goal))", 0.75, progress=True),
    Pair("G dry", 1.0, penalty=-1.0),
    Pair("G corner", 0.0, veto=True, penalty=-0.5),
]


# The same places, with windows, delays, counts, scales and discounts.
CARTPOLE_IN_TIME = [
    Pair("G(upright -> F[0,5] calm)", 2.0, veto=False),
    Pair("now H[0,4] centred", -0.75),
    Pair("F[2,9] pushed", 0.5, veto=False),
    Pair("G(O[0,3] inside)", 1.0, penalty=-2.5),
    Pair("G(calm -> upright S[1,6] pushed)", 0.25, veto=False),
    Pair("F{3} pushed", 1.0),
    Pair("now 0.5 * (upright S[0,6] pushed) + 0.25", 0.5),
    Pair("F[0,6;0.75] calm", 0.25, veto=False),
    Pair("X[7] pushed", 0.5, veto=False),
]
LAKE_IN_TIME = [
    Pair("F[0,7] goal", 2.0, veto=False),
    Pair("G(moved -> F[0,4] !corner)", 1.0, veto=False),
    Pair("now O[0,3] moved", 0.5),
    Pair("F{2} moved", 0.5),
    Pair("G(dry | H[1,2] !corner)", 1.0, penalty=-1.0),
]


def cartpole_spec(**changes: Any) -> Spec:
    return Spec(CARTPOLE_PAIRS, atoms=CARTPOLE_ATOMS, discount=0.9).replace(**changes)


def cartpole_in_time(**changes: Any) -> Spec:
    return cartpole_spec(pairs=CARTPOLE_IN_TIME, **changes)


def lake_in_time(**changes: Any) -> Spec:
    return lake_spec(pairs=LAKE_IN_TIME, **changes)


def lake_spec(**changes: Any) -> Spec:
    return Spec(LAKE_PAIRS, atoms=LAKE_ATOMS, discount=0.9).replace(**changes)


def cartpole() -> gym.Env[Any, Any]:
    return gym.make("CartPole-v1", max_episode_steps=30)


def lake() -> gym.Env[Any, Any]:
    return gym.make("FrozenLake-v1", is_slippery=True, max_episode_steps=12)


PLACES = {
    "CartPole": (cartpole, cartpole_spec),
    "FrozenLake": (lake, lake_spec),
    "CartPole in time": (cartpole, cartpole_in_time),
    "FrozenLake in time": (lake, lake_in_time),
}

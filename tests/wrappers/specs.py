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
    Pair("F(home & X F(near & F[0,6] goal))", 0.75, progress=True),
    Pair("G dry", 1.0, penalty=-1.0),
    Pair("G corner", 0.0, veto=True, penalty=-0.5),
]


def cartpole_spec(**changes: Any) -> Spec:
    return Spec(CARTPOLE_PAIRS, atoms=CARTPOLE_ATOMS, discount=0.9).replace(**changes)


def lake_spec(**changes: Any) -> Spec:
    return Spec(LAKE_PAIRS, atoms=LAKE_ATOMS, discount=0.9).replace(**changes)


def cartpole() -> gym.Env[Any, Any]:
    return gym.make("CartPole-v1", max_episode_steps=30)


def lake() -> gym.Env[Any, Any]:
    return gym.make("FrozenLake-v1", is_slippery=True, max_episode_steps=12)


PLACES = {"CartPole": (cartpole, cartpole_spec), "FrozenLake": (lake, lake_spec)}

"""Inverted pendulum of Brax: keep it up, and be slow again within ten steps of being fast.

pip install '.[jax-envs]'
python examples/jax/brax_pendulum.py
"""

from __future__ import annotations

import jax.numpy as jnp
from brax import envs

import rewardspec as rs

ENV = rs.jax.from_brax(envs.get_environment("inverted_pendulum", backend="generalized"))
SPEC = rs.Spec(
    [rs.Pair("G upright", 1, penalty=-1), ("G(fast -> F[0,10] slow)", 0.5)],
    atoms={
        "upright": lambda obs, action, next_obs: jnp.clip(1 - abs(next_obs[1]) / 0.2, 0, 1),
        "fast": lambda obs, action, next_obs: abs(next_obs[3]) > 1,
        "slow": lambda obs, action, next_obs: jnp.clip(1 - abs(next_obs[3]) / 2, 0, 1),
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC, limit=100)  # Brax environments have no time limit of their own

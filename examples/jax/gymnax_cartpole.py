"""CartPole of gymnax: stay upright, and come back to the middle within 20 steps of leaving it.

pip install '.[jax-envs]'
python examples/jax/gymnax_cartpole.py
"""

from __future__ import annotations

import gymnax
import jax.numpy as jnp

import rewardspec as rs

env, params = gymnax.make("CartPole-v1")
ENV = rs.jax.from_gymnax(env, params)
SPEC = rs.Spec(
    [rs.Pair("G upright", 1, penalty=-1), ("G(strayed -> F[0,20] centered)", 1)],
    atoms={
        "upright": lambda obs, action, next_obs: jnp.clip(1 - abs(next_obs[2]) / 0.21, 0, 1),
        "strayed": lambda obs, action, next_obs: abs(next_obs[0]) > 0.2,
        "centered": lambda obs, action, next_obs: jnp.clip(1 - abs(next_obs[0]) / 2.4, 0, 1),
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC)

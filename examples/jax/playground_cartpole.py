"""CartpoleBalance of MuJoCo Playground: hold the pole up for 20 steps, and keep the cart near the middle.

pip install '.[jax-envs]'
python examples/jax/playground_cartpole.py
"""

from __future__ import annotations

import jax.numpy as jnp
from mujoco_playground import registry

import rewardspec as rs

# MJX in JAX, which needs no GPU; leave the override out for MuJoCo Warp.
ENV = rs.jax.from_playground(registry.load("CartpoleBalance", config_overrides={"impl": "jax"}))
SPEC = rs.Spec(
    [("F G[0,19] upright", 1), rs.Pair("G near", 0.5, veto=False)],
    atoms={
        "upright": lambda obs, action, next_obs: jnp.clip(next_obs[1], 0, 1),  # the cosine of the pole's angle
        "near": lambda obs, action, next_obs, info: jnp.clip(1 - abs(info["state"].data.qpos[0]), 0, 1),
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC, limit=100, auto_reset="first")

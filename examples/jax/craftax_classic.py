"""Craftax-Classic: collect wood, place a table, then make a pickaxe; and never be nearly dead.

pip install '.[jax-envs]'
python examples/jax/craftax_classic.py
"""

from __future__ import annotations

import jax.numpy as jnp
from craftax.craftax_env import make_craftax_env_from_name

import rewardspec as rs

ENV = rs.jax.from_craftax(make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False))
# What the atoms need is in the state, not in the 1,345 numbers of an observation.
SPEC = rs.Spec(
    [rs.Pair("F(wood & F pickaxe)", 2, payment="delta"), rs.Pair("G healthy", 1, veto=False)],
    atoms={
        "wood": lambda obs, action, next_obs, info: jnp.clip(info["state"].inventory.wood / 5, 0, 1),
        "pickaxe": lambda obs, action, next_obs, info: info["state"].inventory.wood_pickaxe > 0,
        "healthy": lambda obs, action, next_obs, info: jnp.clip(info["state"].player_health / 9, 0, 1),
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC, limit=100)

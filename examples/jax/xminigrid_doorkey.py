"""DoorKey of XLand-MiniGrid: pick up the key, open the door, and reach the goal, each step of it paid.

pip install '.[jax-envs]'
python examples/jax/xminigrid_doorkey.py
"""

from __future__ import annotations

import xminigrid
from xminigrid.core.constants import Tiles

import rewardspec as rs

ENV = rs.jax.from_xminigrid(*xminigrid.make("MiniGrid-DoorKey-5x5"))
SPEC = rs.Spec(
    [rs.Pair("F(key & F(door & F goal))", 1, payment="delta", progress=True)],
    atoms={  # the environment's state is inside its timestep
        "key": lambda obs, action, next_obs, info: info["state"].state.agent.pocket[0] == Tiles.KEY,
        "door": lambda obs, action, next_obs, info: (info["state"].state.grid[..., 0] == Tiles.DOOR_OPEN).any(),
        "goal": lambda obs, action, next_obs, info: info["state"].last() & (info["state"].discount == 0),
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC)

"""DoorKey of Navix: hold the key, then open the door, in the sight of one who sees the whole grid.

pip install '.[jax-envs]'
python examples/jax/navix_doorkey.py
"""

from __future__ import annotations

import navix

import rewardspec as rs

ENV = rs.jax.from_navix(navix.make("Navix-DoorKey-5x5-v0"))
SPEC = rs.Spec(
    [rs.Pair("F(key & F(door & F goal))", 1, payment="delta", progress=True)],
    atoms={  # the environment's state is inside its timestep
        "key": lambda obs, action, next_obs, info: (info["state"].state.get_player().pocket >= 0).all(),
        "door": lambda obs, action, next_obs, info: info["state"].state.get_doors().open.any(),
        "goal": lambda obs, action, next_obs, info: info["state"].is_termination(),
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC)

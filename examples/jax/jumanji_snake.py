"""Snake of Jumanji: never try a move that is not allowed, and grow within 40 steps, again and again.

pip install '.[jax-envs]'
python examples/jax/jumanji_snake.py
"""

from __future__ import annotations

import jumanji

import rewardspec as rs

ENV = rs.jax.from_jumanji(jumanji.make("Snake-v1"))
SPEC = rs.Spec(
    [rs.Pair("G allowed", 1, penalty=-1), ("G F[0,40] grown", 1)],
    atoms={
        "allowed": lambda obs, action, next_obs: 1.0 if action is None else obs.action_mask[action],
        "grown": lambda obs, action, next_obs: obs.grid[..., 0].sum() < next_obs.grid[..., 0].sum(),
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC, limit=200)

"""Tic-tac-toe of Pgx, both sides: take the middle, and never make an illegal move.

pip install '.[jax-envs]'
python examples/jax/pgx_tic_tac_toe.py
"""

from __future__ import annotations

import pgx

import rewardspec as rs

ENV = rs.jax.from_pgx(pgx.make("tic_tac_toe"))
SPEC = rs.Spec(
    [rs.Pair("G legal", 1, penalty=-1), rs.Pair("F middle", 1, payment="final")],
    atoms={  # an illegal move ends the game: only the observation before it can tell
        "legal": lambda obs, action, next_obs: 1.0 if action is None else ~obs.any(-1).ravel()[action],
        "middle": lambda obs, action, next_obs: next_obs[1, 1].any(),
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC)

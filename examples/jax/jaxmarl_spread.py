"""Simple Spread of JaxMARL: the team visits one landmark after the other, and agents stay near each other.

pip install '.[jax-envs]'
python examples/jax/jaxmarl_spread.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import jaxmarl

import rewardspec as rs

ENV = rs.jax.from_jaxmarl(jaxmarl.make("MPE_simple_spread_v3"))


def near(landmark: int) -> Callable[..., Any]:
    """How near the nearest agent is to a landmark, by the agents' observations."""

    def nearest(obs: Any, action: Any, next_obs: Any) -> Any:
        places = [agent[4 + 2 * landmark : 6 + 2 * landmark] for agent in next_obs.values()]
        return jnp.max(jnp.array([jnp.clip(1 - jnp.linalg.norm(place) / 2, 0, 1) for place in places]))

    return nearest


SPEC = rs.Spec(
    [("F(first & F(second & F third))", 1), rs.Pair("G together", 1, veto=False)],
    atoms={
        **{name: near(number) for number, name in enumerate(("first", "second", "third"))},
        "together": lambda obs, action, next_obs: jnp.linalg.norm(next_obs["agent_0"][10:12]) < 3,
    },
)

if __name__ == "__main__":
    from random_rollout import main

    main(ENV, SPEC)

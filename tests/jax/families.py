"""The families of JAX environments, each with its example."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

import rewardspec as rs

EXAMPLES = Path(__file__).parents[2] / "examples" / "jax"


class Family(NamedTuple):
    """A library of environments.

    Attributes:
        title: Its name.
        package: What pip calls it.
        module: What Python calls it.
        example: Its example, without `.py`.
        env: The environment of the example.
        atoms: Two of the example's atoms.
        safety: A formula over the example's atoms that random actions violate now and then.
        limit: Steps of an episode, where the environment has none or a long one.
        auto_reset: Where episodes begin.
    """

    title: str
    package: str
    module: str
    example: str
    env: str
    atoms: tuple[str, str]
    safety: str
    limit: int | None = None
    auto_reset: rs.jax.AutoReset = "fresh"


FAMILIES = {
    "gymnax": Family(
        *("gymnax", "gymnax", "gymnax", "gymnax_cartpole", "CartPole-v1"), ("strayed", "centered"), "G upright"
    ),
    "craftax": Family(
        *("Craftax", "craftax", "craftax", "craftax_classic", "Craftax-Classic-Symbolic-v1"),
        *(("wood", "healthy"), "G healthy", 100, 4),
    ),
    "brax": Family(
        *("Brax", "brax", "brax", "brax_pendulum", "inverted_pendulum"), ("fast", "slow"), "G upright", 100, "first"
    ),
    "playground": Family(
        *("MuJoCo Playground", "playground", "mujoco_playground", "playground_cartpole", "CartpoleBalance"),
        *(("upright", "near"), "G(upright | near)", 100, "first"),
    ),
    "jumanji": Family(
        *("Jumanji", "jumanji", "jumanji", "jumanji_snake", "Snake-v1"), ("grown", "allowed"), "G allowed"
    ),
    "xminigrid": Family(
        *("XLand-MiniGrid", "xminigrid", "xminigrid", "xminigrid_doorkey", "MiniGrid-DoorKey-5x5"),
        *(("key", "door"), "G(!key | H !door)"),
    ),
    "navix": Family(
        *("Navix", "navix", "navix", "navix_doorkey", "Navix-DoorKey-5x5-v0"), ("key", "door"), "G !door", 100
    ),
    "pgx": Family(*("Pgx", "pgx", "pgx", "pgx_tic_tac_toe", "tic_tac_toe"), ("middle", "legal"), "G legal"),
    "jaxmarl": Family(
        *("JaxMARL", "jaxmarl", "jaxmarl", "jaxmarl_spread", "MPE_simple_spread_v3"), ("first", "second"), "G together"
    ),
}


def example(family: Family) -> tuple[rs.jax.Environment, rs.Spec]:
    """The environment and the spec of the family's example."""
    spec = importlib.util.spec_from_file_location(family.example, EXAMPLES / f"{family.example}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ENV, module.SPEC

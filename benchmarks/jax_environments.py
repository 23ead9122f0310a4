"""What a spec costs in JAX environments, beside the same environments without one, in one process.

    python benchmarks/jax_environments.py                    # 4,096 environments
    python benchmarks/jax_environments.py --only CartPole    # without Brax and Craftax

Each variant is one compiled `lax.scan` with random actions. Its carry depends on the rewards, the observations and the
costs, so that the compiler drops none of them. Variants take turns in every round; figures are medians over the rounds,
and differences medians over the rounds' differences. Environments are reset as `auto_reset` says in the table. Kernels
are the instructions of the compiled loop's body that do work: a GPU launches each on its own, so that a small
environment pays for their number and not for the arithmetic.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import rewardspec as rs

Run = Callable[[Any], Any]


class Family(NamedTuple):
    """Environments to measure: the environment, atoms, how it resets, and the steps of one run."""

    env: rs.jax.Environment
    atoms: dict[str, Callable[..., Any]]
    auto_reset: Any
    limit: int
    steps: int


def cartpole() -> Family:
    import gymnax

    atoms = {
        "up": lambda obs, action, next_obs: 1.0 - jnp.minimum(jnp.abs(next_obs[..., 2]) / 0.2095, 1.0),
        "mid": lambda obs, action, next_obs: 1.0 - jnp.minimum(jnp.abs(next_obs[..., 0]) / 2.4, 1.0),
    }
    return Family(rs.jax.from_gymnax(*gymnax.make("CartPole-v1")), atoms, "fresh", 500, 2_000)


def ant() -> Family:
    from brax import envs

    atoms = {
        "up": lambda obs, action, next_obs: jnp.clip(next_obs[..., 0], 0.0, 1.0),
        "mid": lambda obs, action, next_obs: 1.0 - jnp.minimum(jnp.abs(next_obs[..., 13]) / 10.0, 1.0),
    }
    return Family(rs.jax.from_brax(envs.get_environment("ant")), atoms, "first", 1_000, 60)


def craftax() -> Family:
    from craftax.craftax_env import make_craftax_env_from_name

    env = make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False)
    atoms = {
        "up": lambda obs, action, next_obs, info: info["state"].player_health / 9.0,
        "mid": lambda obs, action, next_obs, info: info["state"].player_food / 9.0,
    }
    return Family(rs.jax.from_craftax(env), atoms, 64, 10_000, 60)


FAMILIES = {"CartPole": cartpole, "Brax ant": ant, "Craftax-Classic": craftax}
PLAIN = [("G up", 1), ("F G mid", 1), ("F(mid & F up)", 1)]
WINDOW = [("G(mid -> F[0,100] up)", 1)]
WINDOWS = [*WINDOW, ("F G[0,50] up", 1), ("G(up -> F[0,200] mid)", 1)]
VARIANTS: dict[str, tuple[list[tuple[str, float]] | None, Any]] = {
    "bare": (None, None),
    "three formulas, no window": (PLAIN, None),
    "three formulas, registers observed": (PLAIN, "registers"),
    "three formulas, one window of 100": (PLAIN[:2] + WINDOW, None),
    "three formulas, one window, registers observed": (PLAIN[:2] + WINDOW, "registers"),
    "three formulas, three windows": (WINDOWS, None),
}


def rollout(family: Family, formulas: list[tuple[str, float]] | None, observe: Any, num_envs: int) -> tuple[Run, Run]:
    """Return a function from a key, a state and a sum to those after the family's steps, and `reset`."""
    spec = None if formulas is None else rs.Spec(formulas, atoms=family.atoms)
    envs = rs.jax.SpecReward(
        family.env, spec, num_envs, observe, limit=family.limit, auto_reset=family.auto_reset, flatten=True
    )
    sample = _sampler(envs.action_space, num_envs)

    def step(carry: Any, _: None) -> tuple[Any, None]:
        key, state, total = carry
        key, action_key, step_key = jax.random.split(key, 3)
        state, obs, reward, terminated, truncated, info = envs.step(step_key, state, sample(action_key))
        seen = reward + obs.mean(axis=-1) + (terminated | truncated)
        return (key, state, total + seen + info.get("cost", 0.0)), None

    return lambda carry: jax.lax.scan(step, carry, None, length=family.steps)[0], envs.reset


def compiled(family: Family, formulas: list[tuple[str, float]] | None, observe: Any, num_envs: int) -> tuple[Run, int]:
    """Return a function that runs the family's steps, and the number of kernels of a step."""
    run, reset = rollout(family, formulas, observe, num_envs)
    key = jax.random.key(0)
    state, _ = jax.jit(reset)(key)
    carry = (key, state, jnp.zeros(num_envs))
    program = jax.jit(run, donate_argnums=0).lower(carry).compile()
    held = [jax.block_until_ready(program(carry))]

    def again(_: Any = None) -> None:
        held[0] = jax.block_until_ready(program(held[0]))

    return again, len(kernels(program.as_text()))


def kernels(text: str) -> list[str]:
    """Return the instructions of the largest loop's body that do work, in the text of a compiled program.

    Instructions inside a call, such as a GPU's command buffer, count one by one; those inside a fusion do not.
    """
    text = re.sub(r"/\*.*?\*/", "", text)  # the shapes of long tuples hold comments such as /*index=5*/
    parts = re.split(r"\n(?=%|ENTRY)", text)
    bodies = {part.lstrip("%").split(" ", 1)[0]: part for part in parts}

    def of(name: str) -> list[str]:
        found = []
        for operation, rest in re.findall(r" = [^=]*? ([a-z][a-z0-9-]*)\((.*)", bodies[name]):
            called = re.search(r"to_apply=%([\w.-]+)", rest)
            if operation == "call" and called:
                found += of(called.group(1))
            elif operation not in ("parameter", "tuple", "get-tuple-element", "constant", "bitcast"):
                found.append(operation)
        return found

    return max((of(name) for name in re.findall(r"body=%([\w.-]+)", text)), key=len)


def _sampler(space: Any, num_envs: int) -> Callable[[Any], Any]:
    if isinstance(space, rs.jax.Discrete):
        return lambda key: jax.random.randint(key, (num_envs,), 0, space.n)
    return lambda key: jax.random.uniform(key, (num_envs, *space.shape), minval=-1.0, maxval=1.0)


def measured(
    family: Family, variants: list[str], num_envs: int, rounds: int
) -> Iterator[tuple[str, tuple[list[float], int]]]:
    """Yield for each variant the µs of a step of the whole batch, one number a round, and the number of kernels."""
    runs = {name: compiled(family, *VARIANTS[name], num_envs) for name in variants}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(rounds + 1):
        for name, (run, _) in runs.items():
            began = time.perf_counter()
            run(None)
            if turn:
                times[name].append((time.perf_counter() - began) / family.steps * 1e6)
    yield from ((name, (times[name], runs[name][1])) for name in variants)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, default=4_096)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    arguments = parser.parse_args()
    device = jax.devices()[0]
    print(f"{device.device_kind} · JAX {jax.__version__} · Python {platform.python_version()}", end=" · ")
    print(f"{arguments.num_envs:,} environments\n")
    print("| | auto_reset | µs a step | the spec adds, µs | speed kept | kernels |")
    print("|---|---|--:|--:|--:|--:|", flush=True)
    for name in arguments.only:
        variants = list(VARIANTS) if name == "CartPole" else ["bare", "three formulas, one window of 100"]
        with contextlib.redirect_stdout(sys.stderr):  # some packages print when they are imported
            family = FAMILIES[name]()
            found = dict(measured(family, variants, arguments.num_envs, arguments.rounds))
        bare_times = found["bare"][0]
        for variant, (times, count) in found.items():
            added = [own - bare for own, bare in zip(times, bare_times, strict=True)]
            kept = [bare / own for own, bare in zip(times, bare_times, strict=True)]
            print(
                f"| {name}, {variant} | {family.auto_reset} | {statistics.median(times):,.1f} "
                f"| {statistics.median(added):+.1f} | {statistics.median(kept):.1%} | {count} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

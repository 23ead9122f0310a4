"""What formulas about things cost: an axis of 8 things beside one, and names with 1,000 things alive.

python benchmarks/quantified.py > benchmarks/results/quantified.md
python benchmarks/quantified.py --jax > benchmarks/results/quantified_jax.md     # on the device that JAX chooses

Times are wall-clock times, the shortest of many short rounds: a round that nothing interrupts is not slowed by other
work on the machine. CPU time would not do: a round in which the process was interrupted may count too little of it, and
the shortest would be that round. In JAX both sizes take turns in one process, and the medians of the rounds count.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import rewardspec as rs

FORMULAS = ("G(a(x) -> F b(x))", "G(a(x) -> F[0,20] b(x))", "F(a(x) & F b(x))")
NAMED = ("G(a(x) -> F b(x))", "G(b(x) -> O a(x))")
ENVS, THINGS, LIVE = 4_096, 8, 1_000


def best(run: Callable[[], Any], repeats: int, rounds: int = 2_000) -> float:
    """The time of one call in the shortest round, in seconds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(repeats):
            run()
        times.append((time.perf_counter() - began) / repeats)
    return min(times)


def spec_of(formula: str, things: int) -> rs.Spec:
    return rs.Spec([(f"mean x: {formula}", 1, False)], sorts={"x": things})


def numpy_times() -> None:
    rng = np.random.default_rng(0)
    print(f"A step of {ENVS:,} environments in NumPy, `mean x: …`, by the number of things:\n")
    print(f"| formula | 1 thing | {THINGS} things | ratio |\n|---|--:|--:|--:|")
    for formula in FORMULAS:
        found = []
        for things in (1, THINGS):
            spec = spec_of(formula, things)
            labels = {atom: rng.random((ENVS, things)) for atom in ("a", "b")}
            state = spec.start(labels)
            found.append(best(lambda spec=spec, state=state, labels=labels: spec.step(state, labels), 3))
        print(f"| `{formula}` | {found[0] * 1e6:.0f} µs | {found[1] * 1e6:.0f} µs | {found[1] / found[0]:.1f} |")


def named_times() -> None:
    print(f"\nAn event that names one thing, while {LIVE:,} are alive, in Python, `forall x: …`:\n")
    print("| formula | a thing as before | a new one | one that is settled | 100,000 things, all settled |")
    print("|---|--:|--:|--:|--:|")
    for formula in NAMED:
        spec = rs.Spec([(f"forall x: {formula}", 1, False)], sorts={"x": "names"})
        state = spec.start({})
        for thing in range(LIVE):
            state, _ = spec.step(state, {"a": {thing: 1.0}})
        events = ({"a": {7: 1.0}}, {"a": {-1: 1.0}}, {"b": {7: 1.0}})
        times = [best(lambda spec=spec, state=state, labels=labels: spec.step(state, labels), 20) for labels in events]
        told = " | ".join(f"{took * 1e6:.1f} µs" for took in times)
        print(f"| `{formula}` | {told} | {_memory(spec) if 'F b' in formula else 'none is ever settled'} |")


def _memory(spec: rs.Spec) -> str:
    state = spec.start({})
    tracemalloc.start()
    for thing in range(100_000):
        state, _ = spec.step(state, {"a": {thing: 1.0}})
        state, _ = spec.step(state, {"b": {thing: 1.0}})
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return f"{size / 1024:.0f} KiB"


def jax_times(envs: int, steps: int, rounds: int) -> None:
    import jax

    print(
        f"A step of {envs:,} environments in JAX on {jax.devices()[0].device_kind}, in a scan of {steps:,} steps, the"
    )
    print(f"median of {rounds} rounds in which both sizes take turns:\n")
    print(f"| formula | 1 thing | {THINGS} things | ratio |\n|---|--:|--:|--:|")
    for formula in FORMULAS:
        programs = [scanned(spec_of(formula, things), things, envs, steps) for things in (1, THINGS)]
        runs = [(jax.jit(run), state) for run, state in programs]
        for run, state in runs:
            run(state).block_until_ready()
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            for (run, state), found in zip(runs, times, strict=True):
                began = time.perf_counter()
                run(state).block_until_ready()
                found.append((time.perf_counter() - began) / steps)
        one, several = map(statistics.median, times)
        print(f"| `{formula}` | {one * 1e6:.1f} µs | {several * 1e6:.1f} µs | {several / one:.2f} |")
    print(f"\nJAX {jax.__version__}.")


def scanned(spec: rs.Spec, things: int, envs: int, steps: int) -> tuple[Callable[[Any], Any], Any]:
    """Return a function from a state to the rewards of so many steps on random labels, and a first state."""
    import jax
    import jax.numpy as jnp

    bank = jax.random.uniform(jax.random.key(0), (16, 2, envs, things))  # labels, read again and again

    def body(state: Any, step: Any) -> Any:
        a, b = bank[step % len(bank)]
        state, reward = spec.step(state, {"a": a, "b": b})
        return state, reward.sum()

    state = spec.start({"a": bank[0, 0], "b": bank[0, 1]})
    return lambda state: jax.lax.scan(body, state, jnp.arange(steps))[1], state


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What formulas about things cost.")
    parser.add_argument("--jax", action="store_true", help="measure in JAX, on the device that it chooses")
    parser.add_argument("--envs", type=int, default=ENVS, help="environments in JAX, default %(default)s")
    parser.add_argument("--steps", type=int, default=1_000, help="steps of a scan in JAX, default %(default)s")
    parser.add_argument("--rounds", type=int, default=15, help="rounds in JAX, default %(default)s")
    arguments = parser.parse_args()
    if arguments.jax:
        jax_times(arguments.envs, arguments.steps, arguments.rounds)
    else:
        numpy_times()
        named_times()
    print(f"\n(Python {platform.python_version()}, NumPy {np.__version__}.)")

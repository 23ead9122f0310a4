"""What formulas about things cost: an axis of 8 things beside one, and names with 1,000 things alive.

python benchmarks/quantified.py > benchmarks/results/quantified.md
python benchmarks/quantified.py --jax > benchmarks/results/quantified_jax.md     # on whatever device JAX has

Times are of this process alone (CPU time), the best of several rounds; in JAX, wall-clock time.
"""

from __future__ import annotations

import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import rewardspec as rs

FORMULAS = ("G(a(x) -> F b(x))", "G(a(x) -> F[0,20] b(x))", "F(a(x) & F b(x))")
NAMED = ("G(a(x) -> F b(x))", "G(b(x) -> O a(x))")
ENVS, THINGS, LIVE = 4_096, 8, 1_000


def best(
    run: Callable[[], Any], repeats: int, rounds: int = 7, clock: Callable[[], float] = time.process_time
) -> float:
    """The shortest time of one call, in seconds."""
    times = []
    for _ in range(rounds):
        began = clock()
        for _ in range(repeats):
            run()
        times.append((clock() - began) / repeats)
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
            found.append(best(lambda spec=spec, state=state, labels=labels: spec.step(state, labels), 30))
        print(f"| `{formula}` | {found[0] * 1e6:.0f} µs | {found[1] * 1e6:.0f} µs | {found[1] / found[0]:.1f} |")


def named_times() -> None:
    print(f"\nAn event that names one of {LIVE:,} things alive, in Python, `forall x: …`:\n")
    print("| formula | an event | memory after 100,000 things that were settled |\n|---|--:|--:|")
    for formula in NAMED:
        spec = rs.Spec([(f"forall x: {formula}", 1, False)], sorts={"x": "names"})
        state = spec.start({})
        for thing in range(LIVE):
            state, _ = spec.step(state, {"a": {thing: 1.0}})
        took = best(lambda spec=spec, state=state: spec.step(state, {"a": {7: 1.0}}), 300)
        print(
            f"| `{formula}` | {took * 1e6:.1f} µs | {_memory(spec) if 'F b' in formula else 'every thing is alive'} |"
        )


def _memory(spec: rs.Spec) -> str:
    state = spec.start({})
    tracemalloc.start()
    for thing in range(100_000):
        state, _ = spec.step(state, {"a": {thing: 1.0}})
        state, _ = spec.step(state, {"b": {thing: 1.0}})
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return f"{size / 1024:.0f} KiB"


def jax_times() -> None:
    import jax
    import jax.numpy as jnp

    print(f"A step of {ENVS:,} environments in JAX on {jax.devices()[0].device_kind}, in a scan of 1,000:\n")
    print(f"| formula | 1 thing | {THINGS} things | ratio |\n|---|--:|--:|--:|")
    for formula in FORMULAS:
        found = []
        for things in (1, THINGS):
            spec = spec_of(formula, things)
            first = {atom: jnp.zeros((ENVS, things)) for atom in ("a", "b")}

            def body(state: Any, key: Any, spec: Any = spec, things: int = things) -> Any:
                labels = {a: jnp.full((ENVS, things), key + k, jnp.float32) / 2000 for k, a in enumerate(("a", "b"))}
                state, reward = spec.step(state, labels)
                return state, reward.sum()

            run = jax.jit(lambda state, body=body: jax.lax.scan(body, state, jnp.arange(1000.0))[1])
            state = spec.start(first)
            run(state).block_until_ready()
            took = best(lambda run=run, state=state: run(state).block_until_ready(), 3, clock=time.perf_counter)
            found.append(took / 1000)
        print(f"| `{formula}` | {found[0] * 1e6:.1f} µs | {found[1] * 1e6:.1f} µs | {found[1] / found[0]:.1f} |")


if __name__ == "__main__":
    if "--jax" in sys.argv:
        jax_times()
    else:
        numpy_times()
        named_times()
    print(f"\n(Python {platform.python_version()}, NumPy {np.__version__}.)")

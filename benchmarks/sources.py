"""How fast Box2D's environments step in a loop over Gymnasium's, and from EnvPool.

    pip install '.[learn,box2d,envpool]'
    python benchmarks/sources.py

Random actions, as many copies as PPO trains ten runs with, one thread, processor time. Both take turns, and the median
of the rounds counts.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from importlib.metadata import version

os.environ["NPROC"] = "1"  # as a worker that has one core

import numpy as np

from rewardspec import tasks
from rewardspec.lab.learning.env_batches import Source, make_batch

COPIES = {"lunar_lander": 40, "bipedal_walker": 10}
STEPS, ROUNDS = 400, 9


def steps_per_second(name: str, source: Source, seed: int) -> float:
    task = tasks.get(name)
    batch = make_batch(task, range(seed, seed + COPIES[name]), source)
    rng = np.random.default_rng(seed)
    if batch.action_space.dtype.kind == "f":
        actions = rng.uniform(-1.0, 1.0, (STEPS, len(batch), *batch.action_space.shape)).astype(np.float32)
    else:
        actions = rng.integers(batch.action_space.n, size=(STEPS, len(batch)))
    batch.reset()
    start = time.process_time()
    for choice in actions:
        batch.step(choice)
    seconds = time.process_time() - start
    batch.close()
    return STEPS * len(batch) / seconds


def main() -> None:
    libraries = " · ".join(f"{name} {version(name)}" for name in ("gymnasium", "envpool"))
    print(f"Python {platform.python_version()} · {libraries}\n")
    print("| environment | Gymnasium, steps/s | EnvPool, steps/s | ratio |\n|---|--:|--:|--:|")
    for name in COPIES:
        rates: dict[Source, list[float]] = {"gymnasium": [], "envpool": []}
        for seed in range(ROUNDS):
            for source, found in rates.items():
                found.append(steps_per_second(name, source, seed))
        ours, pooled = (statistics.median(found) for found in rates.values())
        print(
            f"| {tasks.get(name).title}, {COPIES[name]} copies | {ours:,.0f} | {pooled:,.0f} | {pooled / ours:.1f}× |"
        )


if __name__ == "__main__":
    main()

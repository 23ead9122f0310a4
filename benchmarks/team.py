"""Two agents hand a parcel over in time: independent PPO with a team spec beside the environment's own reward.

    python benchmarks/team.py --out benchmarks/results/team.jsonl       # ten seeds of each reward
    python benchmarks/team.py --out benchmarks/results/team.jsonl --report > benchmarks/results/team.md

Needs the extras `jax-envs` and `learn`. The task, the rewards and the learner are those of
`examples/jax/jaxmarl_handover.py`. Each call trains what the file of results does not have yet.

Success is read off the places of the agents and the landmarks, and by no monitor: one agent was at the first landmark,
met the other within three steps of being there, and the other was at the second landmark within twelve steps of that.
The episodes of the last ten updates count, 640 of each seed. Each update plays new episodes from random first states.

The distances of the task and the sizes of the networks were chosen after short runs, of at most 20 updates: the
distances were made larger and the networks smaller.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "jax"))
from jaxmarl_handover import CONFIG, LENGTH, REWARDS, environments, train

from rewardspec.lab.experiments.statistics import mean_over_runs

SEEDS, COUNTED = 10, 10
ORDER = ("the team spec", "the environment's", "the environment's, and a bonus for success", *REWARDS)


def measure(out: Path, rewards: list[str]) -> None:
    """Train with each reward that has no result yet, and append the successes of each seed."""
    done = {row["reward"] for row in load(out)}
    for name in dict.fromkeys(rewards):
        if name in done:
            continue
        began, cpu = time.perf_counter(), time.process_time()
        curve = train(environments(REWARDS[name].formula, CONFIG.envs), REWARDS[name], range(SEEDS))
        row = {
            "reward": name,
            "success": curve[:, -COUNTED:].mean(axis=1, dtype=float).round(4).tolist(),
            "at_first": curve[:, 0].astype(float).round(4).tolist(),
            "seconds": round(time.perf_counter() - began),
            "cpu_seconds": round(time.process_time() - cpu),
            "machine": f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, Python {platform.python_version()}",
        }
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def load(out: Path) -> list[dict]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []


def report(out: Path) -> None:
    rows = {row["reward"]: row for row in load(out)}
    first = next(iter(rows.values()))
    print("Simple Spread of JaxMARL with two agents and two landmarks: hand a parcel over in time. Independent PPO,")
    print(f"success by the places of agents and landmarks in the last {COUNTED} updates. Episodes of {LENGTH} steps,")
    print(
        f"{CONFIG.total_steps:,} steps of each of {SEEDS} seeds, one setting for all rewards. After short runs, of at"
    )
    print("most 20 updates, the distances of the task were made larger and the networks smaller. The mean over seeds")
    print("with its 95 % confidence interval (Student's t).\n")
    print("| reward | success | least seed | most | CPU seconds, all seeds |\n|---|--:|--:|--:|--:|")
    for name in REWARDS:
        if name in rows:
            success = np.array(rows[name]["success"])
            cells = f"{mean_over_runs(success)} | {success.min():.3f} | {success.max():.3f}"
            print(f"| {name} | {cells} | {rows[name]['cpu_seconds']} |")
    before = np.mean([row["at_first"] for row in rows.values()])
    print(f"\nBefore the first update, random networks succeed in {before:.3f} of the episodes. {first['machine']}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Independent PPO with a team spec and with the environment's reward.")
    parser.add_argument("--out", type=Path, required=True, help="file of results")
    parser.add_argument("--reward", action="append", choices=REWARDS, help="only this reward; all by default")
    parser.add_argument("--report", action="store_true", help="print the table")
    arguments = parser.parse_args()
    if arguments.report:
        report(arguments.out)
    else:
        measure(arguments.out, arguments.reward or list(ORDER))

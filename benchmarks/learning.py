"""Whether PPO learns what it should: Gymnasium's CartPole-v1 with its own reward, ten seeds, the paper's settings.

    python benchmarks/learning.py

A seed has learnt when the mean return of 100 episodes in a row reaches 475, where Gymnasium counts CartPole-v1 as
solved.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from rewardspec import tasks
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.training import train

SOLVED, WINDOW, SEEDS = 475.0, 100, 10
RESULTS = Path(__file__).parent / "results" / "learning.md"


def main() -> None:
    # The paper's CartPole adds a bonus for the cart's place to the reward; this is Gymnasium's.
    plain = dataclasses.replace(tasks.get("cart_pole"), base_bonus=None)
    log = train(plain, None, config=PPO.discrete(), seeds=range(SEEDS)).log
    lines = [
        "| seed | episodes | best mean of 100 | reached after, steps | mean of the last 100 |",
        "|---|---|---|---|---|",
    ]
    solved = 0
    for seed in range(SEEDS):
        rows = log.episodes_of(seed)
        returns, ends = log.base_reward[rows], log.end_step[rows]
        means = np.convolve(returns, np.ones(WINDOW) / WINDOW, mode="valid")
        reached = np.flatnonzero(means >= SOLVED)
        solved += len(reached) > 0
        when = f"{ends[reached[0] + WINDOW - 1]:,}" if len(reached) else "never"
        lines.append(f"| {seed} | {len(returns)} | {means.max():.1f} | {when} | {means[-1]:.1f} |")
    text = (
        f"PPO, {PPO.discrete().total_steps:,} steps of each of {SEEDS} seeds (`python benchmarks/learning.py`). "
        f"{solved} of {SEEDS} reach a mean return of {SOLVED:g} over {WINDOW} episodes.\n\n" + "\n".join(lines) + "\n"
    )
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

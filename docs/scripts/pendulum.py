"""Is it our PPO, or the settings? Pendulum's own reward with two discounts and two implementations.

    python docs/scripts/pendulum.py        # needs Stable-Baselines3

A quarter of the paper's steps; everything but what the table names is as in the paper. CleanRL, which the paper adapts,
counts an episode that is cut off as one that ended; Stable-Baselines3, and rewardspec by default, add the value of the
state it was cut off in. Both are run both ways. Every run is kept in results/pendulum/, and the table is written to
docs/results/pendulum.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import gymnasium as gym
import numpy as np

from rewardspec import tasks
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.training import train

STEPS, SEEDS = 250_000, 2
SETTINGS = ((0.99, True), (0.99, False), (0.9, True))
"""The discount, and whether an episode that is cut off counts as one that ended."""
ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "results" / "pendulum"
TARGET = ROOT / "docs" / "results" / "pendulum.md"

TEXT = """# Pendulum: the discount and truncated episodes

The mean return of the last tenth of {steps:,} steps, seed by seed, with Pendulum's own reward and the paper's settings.
The third column says how a truncated episode is treated. *yes*: it counts as terminated, as in CleanRL, which the paper
adapts. *no*: the value of its last state is added, as in Stable-Baselines3 and, by default, in rewardspec.

| discount | implementation | truncated = terminated | return of each seed |
|---|---|---|---|
{rows}

Made by `python docs/scripts/pendulum.py`.
"""


class CutOffIsEnd(gym.Wrapper):
    """Reports every episode that is cut off as one that ended."""

    def step(self, action):
        """Step, and call it an end."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated or truncated, False, info


def ours(discount: float, cut_off_is_end: bool, seed: int) -> float:
    """The mean return in the end, of one seed of rewardspec's PPO."""
    config = PPO.continuous(total_steps=STEPS, discount=discount, bootstrap_truncated=not cut_off_is_end)
    return in_the_end(train(tasks.get("pendulum"), None, config=config, seeds=[seed]).log.base_reward)


def theirs(discount: float, cut_off_is_end: bool, seed: int) -> float:
    """The mean return in the end, of one seed of Stable-Baselines3."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)
    vector = make_vec_env("Pendulum-v1", n_envs=1, seed=seed, wrapper_class=CutOffIsEnd if cut_off_is_end else None)
    model = stable_baselines3.PPO(
        "MlpPolicy",
        VecNormalize(vector, gamma=discount),
        learning_rate=lambda left: 3e-4 * left,
        n_steps=2048,
        batch_size=64,
        n_epochs=10,
        gamma=discount,
        clip_range_vf=0.2,
        seed=seed,
        device="cpu",
    )
    model.learn(STEPS)
    return in_the_end(vector.env_method("get_wrapper_attr", "get_episode_rewards")[0]())


def in_the_end(returns: Sequence[float]) -> float:
    """The mean of the last tenth of the episodes."""
    return float(np.mean(returns[-(len(returns) // 10) :]))


def kept(run: Callable[[float, bool, int], float], discount: float, cut_off_is_end: bool, seed: int) -> float:
    """What a run gave; it is made unless it is kept."""
    path = STORE / f"{run.__name__}-{discount:g}-{yes_or_no(cut_off_is_end)}-{seed}.json"
    if not path.exists():
        result = run(discount, cut_off_is_end, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(result), encoding="utf-8")
        temporary.replace(path)
    return json.loads(path.read_text(encoding="utf-8"))


def yes_or_no(answer: bool) -> str:
    """The answer in a word."""
    return "yes" if answer else "no"


def main() -> None:
    """Train and write."""
    lines = []
    for discount, cut_off_is_end in SETTINGS:
        for name, run in (("rewardspec", ours), ("Stable-Baselines3", theirs)):
            returns = ", ".join(f"{kept(run, discount, cut_off_is_end, seed):.0f}" for seed in range(SEEDS))
            lines.append(f"| {discount:g} | {name} | {yes_or_no(cut_off_is_end)} | {returns} |")
            print(lines[-1], flush=True)
    TARGET.write_text(TEXT.format(steps=STEPS, rows="\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()

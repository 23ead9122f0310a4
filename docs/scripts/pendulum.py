"""Is it our PPO, or the settings? Pendulum's own reward with two discounts and two implementations.

    python docs/scripts/pendulum.py        # needs Stable-Baselines3

A quarter of the paper's steps; everything but what the table names is as in the paper. CleanRL, which the paper adapts,
counts an episode that is cut off as one that ended, and so do we; Stable-Baselines3 adds the value of the state it was
cut off in. It is run both ways. Every run is kept in results/pendulum/, and the table is written to
docs/results/pendulum.md.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rewardspec import tasks
from rewardspec.learning.settings import PPO
from rewardspec.learning.training import train

STEPS, SEEDS = 250_000, 2
TREATMENTS = {0.99: (("yes", True), ("no", False)), 0.9: (("yes", True),)}
"""For each discount, how Stable-Baselines3 treats an episode that is cut off: as one that ended, or not."""
ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "results" / "pendulum"
TARGET = ROOT / "docs" / "results" / "pendulum.md"

TEXT = """# Pendulum: the discount, and episodes that are cut off

The mean return of the last tenth of {steps:,} steps, seed by seed, with Pendulum's own reward and the paper's settings.
"Cut off = ended" says whether the end of an episode by its limit of steps counts as an end, as in CleanRL, which the
paper adapts, or the value of the last state is added, as Stable-Baselines3 does.

| discount | implementation | cut off = ended | return of each seed |
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


def ours(discount: float) -> list[float]:
    """The mean return in the end, of every seed."""
    config = PPO.continuous(total_steps=STEPS, discount=discount)
    log = train(tasks.get("pendulum"), None, config=config, seeds=range(SEEDS)).log
    runs = (log.base_reward[log.episodes_of(seed)] for seed in range(SEEDS))
    return [in_the_end(returns) for returns in runs]


def theirs(discount: float, seed: int, *, cut_off_is_end: bool) -> float:
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


def kept(name: str, run: Callable[[], Any]) -> Any:
    """What a run gave; it is made unless it is kept."""
    path = STORE / f"{name}.json"
    if not path.exists():
        result = run()
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(result), encoding="utf-8")
        temporary.replace(path)
    return json.loads(path.read_text(encoding="utf-8"))


def main() -> None:
    """Train and write."""
    rows = []
    for discount in TREATMENTS:
        rows.append((discount, "rewardspec", "yes", kept(f"ours-{discount:g}", functools.partial(ours, discount))))
        for told, cut_off_is_end in TREATMENTS[discount]:
            runs = [functools.partial(theirs, discount, seed, cut_off_is_end=cut_off_is_end) for seed in range(SEEDS)]
            returns = [kept(f"theirs-{discount:g}-{told}-{seed}", run) for seed, run in enumerate(runs)]
            rows.append((discount, "Stable-Baselines3", told, returns))
    lines = [f"| {d:g} | {who} | {told} | {', '.join(f'{r:.0f}' for r in returns)} |" for d, who, told, returns in rows]
    print("\n".join(lines))
    TARGET.write_text(TEXT.format(steps=STEPS, rows="\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()

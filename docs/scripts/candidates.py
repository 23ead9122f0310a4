"""Train every candidate for the column `best` on a smaller budget, and write what came of it.

    python docs/scripts/candidates.py [ENV …]

Q-learning: the paper's settings, 100 runs instead of 500. PPO: 3 runs instead of 10, half the steps. Each candidate's
result is kept in results/candidates/ as soon as it is there, so that the script can be stopped and started again. The
table is written to docs/results/fourth_column.md.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from rewardspec import envs
from rewardspec.envs.task import Task
from rewardspec.experiments.budgets import budget_of
from rewardspec.experiments.candidates import CANDIDATES, Candidate
from rewardspec.experiments.rewards import reward_setup
from rewardspec.learning.ppo import PPO
from rewardspec.learning.training import Config, train
from rewardspec.spec.spec import Spec

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "results" / "candidates"
TABLE = ROOT / "docs" / "results" / "fourth_column.md"

INTRODUCTION = """## What was tried for the fourth column

Each line was trained with the learner and the settings of the paper, on a smaller budget: 100 runs of Q-learning, or
3 runs of PPO with half the steps. Task completion is the mean over all episodes of training, then over the
last tenth of each run. The first line of each environment is the column `best`; the three rewards of the paper,
trained the same way, stand at the end.

Made by `python docs/scripts/candidates.py`.
"""

HEAD = """\
| reward | idea | task completion, % (± deviation of the runs) | last tenth, % | steps of an episode |
|---|---|---|---|---|"""


def trial_budget(task: Task) -> tuple[Config, range]:
    """The paper's settings on fewer runs and, for PPO, half the steps."""
    config = budget_of(task).config
    if isinstance(config, PPO):
        return dataclasses.replace(config, total_steps=config.total_steps // 2), range(3)
    return config, range(100)


def measure(task: Task, spec: Spec | None, observe: str | None, title: str) -> dict[str, float]:
    """Train, or take what was kept."""
    config, seeds = trial_budget(task)
    digest = hashlib.sha256(f"{task.name} {title} {config} {seeds}".encode()).hexdigest()[:12]
    kept = STORE / f"{task.name}-{digest}.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    log = train(task, spec, config=config, seeds=seeds, observe=observe).log
    ends = np.array([log.end_step[log.episodes_of(run)].max(initial=0) for run in range(log.runs)])
    late = log.end_step > 0.9 * ends[log.run]
    runs = [log.task_completion[log.episodes_of(run)].mean() for run in range(log.runs)]
    result = {
        "completion": float(log.task_completion.mean()),
        "spread": float(np.std(runs, ddof=1)),
        "late": float(log.task_completion[late].mean()),
        "length": float(log.length[late].mean()),
    }
    kept.parent.mkdir(parents=True, exist_ok=True)
    temporary = kept.with_suffix(".tmp")
    temporary.write_text(json.dumps(result), encoding="utf-8")
    temporary.replace(kept)
    return result


def rows(task: Task) -> list[str]:
    """The lines of one environment."""
    tried: list[tuple[str, str, Candidate | str]] = [(c.title, c.note, c) for c in CANDIDATES[task.name]]
    tried += [(reward, reward_setup(task, reward).note, reward) for reward in ("base", "boolean", "quantitative")]
    lines = []
    for title, note, what in tried:
        setup = reward_setup(task, what) if isinstance(what, str) else None
        spec = setup.spec if setup else what.spec(task)
        observe = setup.observe if setup else what.observe
        result = measure(task, spec, observe, title)
        numbers = f"{100 * result['completion']:.1f} ± {100 * result['spread']:.1f}", f"{100 * result['late']:.1f}"
        print(f"{task.name:18} {numbers[0]:>12} {numbers[1]:>6} {result['length']:6.0f}  {title}", flush=True)
        shown = title if setup else f"`{title}`"
        lines.append(f"| {shown} | {note} | {numbers[0]} | {numbers[1]} | {result['length']:.0f} |")
    return lines


def main(names: list[str]) -> None:
    """Train and write."""
    sections = [INTRODUCTION]
    for name in names or envs.names():
        task = envs.get(name)
        sections.append(f"### {task.title}\n\n{HEAD}\n" + "\n".join(rows(task)) + "\n")
    if not names:
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        TABLE.write_text("\n".join(sections), encoding="utf-8")
        print(f"Wrote {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])

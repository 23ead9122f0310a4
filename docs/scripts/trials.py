"""Training on a trial budget, for scripts that compare many rewards; what was trained is kept and not trained again.

Q-learning: the paper's settings, 100 runs instead of 500. PPO: 3 runs instead of 10, half the steps. Each result is
kept in results/trials/ as soon as it is there, so that a script can be stopped and started again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np

from rewardspec.lab.learning.settings import PPO, Config
from rewardspec.lab.learning.training import default_config, train
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "results" / "trials"


def trial_budget(task: Task, first_seed: int = 0) -> tuple[Config, range]:
    """The paper's settings on fewer runs and, for PPO, half the steps."""
    config = default_config(task)
    if isinstance(config, PPO):
        return dataclasses.replace(config, total_steps=config.total_steps // 2), range(first_seed, first_seed + 3)
    return config, range(first_seed, first_seed + 100)


def measure(
    task: Task, spec: Spec | None, observe: str | None, title: str, budget: tuple[Config, range] | None = None
) -> dict[str, float]:
    """Train, or take what was kept; on the trial budget, or on another one."""
    config, seeds = budget or trial_budget(task)
    digest = hashlib.sha256(f"{task.name} {title} {config} {seeds}".encode()).hexdigest()[:12]
    kept = STORE / f"{task.name}-{digest}.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    log = train(task, spec, config=config, seeds=seeds, observe=observe).log
    ends = np.array([log.end_step[log.episodes_of(run)].max(initial=0) for run in range(log.runs)])
    late = log.end_step > 0.9 * ends[log.run]
    own = log.measures["own_criterion"]
    runs, own_runs = (
        [column[log.episodes_of(run)].mean() for run in range(log.runs)] for column in (log.task_completion, own)
    )
    result = {
        "completion": float(log.task_completion.mean()),
        "spread": float(np.std(runs, ddof=1)),
        "late": float(log.task_completion[late].mean()),
        "length": float(log.length[late].mean()),
        "own": float(np.mean(own_runs)),
        "own_late": float(own[late].mean()),
    }
    kept.parent.mkdir(parents=True, exist_ok=True)
    temporary = kept.with_suffix(".tmp")
    temporary.write_text(json.dumps(result), encoding="utf-8")
    temporary.replace(kept)
    return result


def told(result: dict[str, float]) -> tuple[str, str, str]:
    """Task completion with the deviation of the runs, that of the last tenth, and the length of an episode then."""
    completion = f"{100 * result['completion']:.1f} ± {100 * result['spread']:.1f}"
    return completion, f"{100 * result['late']:.1f}", f"{result['length']:.0f}"

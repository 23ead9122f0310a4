"""Made-up cells that look like real ones: learning that rises to a level, with noise, for episodes of any budget."""

from __future__ import annotations

import zlib

import numpy as np

from rewardspec.lab.experiments.study import Cell
from rewardspec.lab.experiments.summaries import Summaries, Summary, summarize
from rewardspec.lab.learning.training_log import COLUMNS, TrainingLog
from rewardspec.lab.paper.evaluation import paper_study

STUDY = paper_study()
REWARDS = tuple(STUDY.rewards)


LENGTHS = {"episodes": "episodes", "steps": "total_steps"}


def unit_of(task: str) -> str:
    """What a task's budget is counted in."""
    return STUDY.budget(STUDY.tasks[task], False).config.unit


def summary_of(cell: Cell) -> Summary:
    """The summary of a cell of the paper's study."""
    return summarize(cell, STUDY)


def summaries_of(summaries) -> Summaries:
    """Summaries of cells of the paper's study."""
    return Summaries(STUDY, summaries)


def log_of(rewards, *, completion=None, length=10, seconds=None) -> TrainingLog:
    """A log from the rewards of each run's episodes, given as a list of runs."""
    counts = [len(run) for run in rewards]
    run = np.repeat(np.arange(len(rewards)), counts)
    position = np.concatenate([np.arange(1, count + 1) for count in counts] or [[]])
    values = np.concatenate([np.asarray(r, dtype=float) for r in rewards] or [[]])
    columns = {
        "run": run,
        "end_step": position * length,
        "length": np.full(len(values), length),
        "reward": values,
        "base_reward": values,
        "task_completion": values if completion is None else np.concatenate(completion),
        "violated": np.zeros(len(values), dtype=bool),
        "seconds": position * 0.01 if seconds is None else np.concatenate(seconds),
    }
    return TrainingLog.from_columns(len(rewards), columns)


def cell_of(log: TrainingLog, task: str = "frozen_lake", reward: str = "base", **changes) -> Cell:
    """A cell around a log."""
    arguments = {
        "task": task,
        "reward": reward,
        "log": log,
        "seconds": 5.0,
        "config": {LENGTHS[unit_of(task)]: 2000, "learning_rate": 0.1, "discount": 0.9},
        "observe": None if reward == "base" else "state",
        "payment": None if reward == "base" else "value",
        "commands": ("rewardspec reproduce",),
        "versions": {"rewardspec": "0.1", "python": "3.11", "numpy": "2.4"},
        "devices": ("Linux, x86_64, 2 cores",),
    }
    return Cell(**(arguments | changes))


def learning_cell(task: str, reward: str, *, runs: int = 6, budget: int = 300) -> Cell:
    """A cell of runs that learn: episodes of Q-learning, or steps of PPO with episodes of varying lengths."""
    rng = np.random.default_rng(zlib.crc32(f"{task} {reward}".encode()))
    level = rng.uniform(0.35, 0.95) + 0.04 * REWARDS.index(reward)
    start, middle = rng.uniform(0.02, 0.3), rng.uniform(0.05, 0.4)
    unit = unit_of(task)
    columns: dict[str, list[np.ndarray]] = {name: [] for name in (*COLUMNS, "task_completion")}
    for run in range(runs):
        lengths = rng.integers(20, 200, size=budget if unit == "episodes" else max(3, budget // 60))
        ends = np.cumsum(lengths)
        if unit == "steps":
            lengths, ends = lengths[ends <= budget], ends[ends <= budget]
        position = np.arange(1, len(ends) + 1) / max(len(ends), 1) if unit == "episodes" else ends / budget
        curve = start + (level - start) / (1.0 + np.exp(-(position - middle * rng.uniform(0.8, 1.2)) / 0.04))
        completion = np.clip(curve + rng.normal(0, 0.2, len(ends)), 0.0, 1.0)
        columns["run"].append(np.full(len(ends), run))
        columns["end_step"].append(ends)
        columns["length"].append(lengths)
        columns["reward"].append(100 * curve + rng.normal(0, 1.0, len(ends)))
        columns["base_reward"].append(10 * completion)
        columns["task_completion"].append(completion)
        columns["violated"].append(rng.random(len(ends)) < 0.1)
        columns["seconds"].append(position * 8.0)
    log = TrainingLog.from_columns(runs, {name: np.concatenate(parts) for name, parts in columns.items()})
    return cell_of(log, task, reward, seconds=8.0)

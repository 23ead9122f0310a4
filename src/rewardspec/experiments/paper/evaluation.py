"""The paper's evaluation as a study: the twelve tasks, the paper's three rewards, and this library's best."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from rewardspec.experiments.paper.candidates import CANDIDATES
from rewardspec.experiments.paper.published import PUBLISHED
from rewardspec.experiments.study import BASE, Budget, Contrast, Reward, Study, own_reward
from rewardspec.learning.training import default_config
from rewardspec.tasks import registry
from rewardspec.tasks.task import Task

PAPER_REWARDS = (BASE, "boolean", "quantitative")
"""The rewards that the paper compares."""


def paper_reward(task: Task, name: str) -> Reward:
    """One of the four rewards of a task.

    The Boolean and quantitative specs are paid by value, and the learner sees the monitor's configuration, on which the
    reward is Markov: the paper's product, completed with the registers.
    """
    if name == "best":
        best = CANDIDATES[task.name][0]
        return Reward(best.spec(task), best.observe, best.note)
    if name == BASE:
        return own_reward(task, name)
    return Reward(task.spec(name), "registers", f"The paper's {name} specification, paid by value.")


def paper_budget(task: Task, quick: bool = False) -> Budget:
    """The paper's settings and number of runs; or a small budget, with which everything takes two minutes.

    Example:
        >>> from rewardspec import tasks
        >>> budget = paper_budget(tasks.get("taxi"))
        >>> budget.seeds, budget.config.episodes, budget.config.max_steps
        (500, 2000, 100)
        >>> paper_budget(tasks.get("pendulum")).config.total_steps
        1000000
    """
    full, few = (500, 20) if task.learner == "q-learning" else (10, 3)
    seeds = few if quick else full
    return Budget(seeds, seeds, default_config(task, quick=quick))


def has_full_budget(task: Task, config: Mapping[str, Any], runs: int) -> bool:
    """Whether a cell was trained with the paper's settings, on at least the paper's number of runs."""
    paper = paper_budget(task)
    return runs >= paper.seeds and all(config.get(name) == value for name, value in vars(paper.config).items())


@functools.cache
def paper_study() -> Study:
    """The study."""
    return Study(
        title="Rewards from temporal specifications: the evaluation, redone",
        lead="Twelve environments, each learned from its own reward, from a Boolean and from a quantitative "
        "specification, as in “Expressive Temporal Specifications for Reward Monitoring” (Adalat and Belardinelli, "
        "AAAI-26), and from the best that this library can make of them. The paper's numbers stand beside ours.",
        tasks={name: registry.get(name) for name in PUBLISHED},
        rewards={BASE: "Base", "boolean": "Boolean", "quantitative": "Quant.", "best": "Best"},
        budget=paper_budget,
        reward=paper_reward,
        contrasts=(
            Contrast("quantitative_and_boolean", "Quant. − Boolean", "quantitative", ("boolean",)),
            Contrast("best_and_others", "Best − best of three", "best", PAPER_REWARDS),
        ),
        references=PUBLISHED,
        rivals=PAPER_REWARDS,
        is_full=has_full_budget,
        description={"study": "paper"},
    )

"""The paper's evaluation as a list of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardspec.errors import Error, did_you_mean
from rewardspec.experiments.budgets import Budget, budget_of, expected_seconds
from rewardspec.experiments.jobs import Job
from rewardspec.experiments.rewards import REWARDS, RewardSetup, reward_setup
from rewardspec.learning.env_batches import Source
from rewardspec.learning.envpool_batch import POOLED
from rewardspec.tasks import registry
from rewardspec.tasks.task import Task


def jobs_of(
    tasks: Sequence[str] | None = None,
    rewards: Sequence[str] | None = None,
    *,
    quick: bool = False,
    seeds: int | None = None,
    block: int | None = None,
    source: Source = "gymnasium",
) -> list[Job]:
    """The jobs of a reproduction.

    Args:
        tasks: The environments by name; all twelve by default.
        rewards: The rewards by name; all four by default.
        quick: Whether to take the small budgets.
        seeds: How many runs each cell has, where that is not to be the budget's number.
        block: How many of them are one job, likewise.
        source: Where environments come from for which there is no array physics.
    """
    known = [registry.get(name) for name in (tasks if tasks is not None else registry.names())]
    chosen = [checked_reward(name) for name in (rewards if rewards is not None else REWARDS)]
    jobs: list[Job] = []
    for task in dict.fromkeys(task.name for task in known):
        budget = budget_of(registry.get(task), quick=quick, seeds=seeds, block=block)
        for reward in dict.fromkeys(chosen):
            jobs.extend(_cell(registry.get(task), reward, budget, source))
    return jobs


def checked_reward(name: str) -> str:
    """The name of a reward, known to exist."""
    if name not in REWARDS:
        raise Error(f"There is no reward {name!r}; known: {', '.join(REWARDS)}.{did_you_mean(name, REWARDS)}")
    return name


def _cell(task: Task, reward: str, budget: Budget, source: Source) -> list[Job]:
    setup = describe(reward_setup(task, reward))
    if source != "gymnasium" and task.name in POOLED:
        setup["source"] = source  # other random numbers, so other results
    jobs = []
    for first in range(0, budget.seeds, budget.block):
        count = min(budget.block, budget.seeds - first)
        cost = expected_seconds(task, budget.config, count)
        jobs.append(Job(task.name, reward, first, count, budget.config, setup, cost))
    return jobs


def describe(setup: RewardSetup) -> dict[str, Any]:
    """A reward in plain values, which change with it and so give its results another name.

    Atoms are told by their functions' names: what changes within a function is not seen.
    """
    spec = setup.spec
    if spec is None:
        return {"observe": setup.observe, "payment": None, "pairs": []}
    return {
        "observe": setup.observe,
        "payment": spec.payment,
        "discount": spec.discount if spec.payment == "potential" else None,
        "penalty": spec.penalty,
        "clip": spec.clip,
        "pairs": [
            {
                "formula": str(pair.formula),
                "weight": pair.weight,
                "veto": pair.vetoes,
                "penalty": pair.penalty,
            }
            for pair in spec.pairs
        ],
        "atoms": {name: _function_name((spec.atom_functions or {}).get(name)) for name in spec.atoms},
    }


def _function_name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)

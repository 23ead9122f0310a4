"""Training one cell: a task under a reward, all seeds together."""

from __future__ import annotations

import dataclasses
import operator
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from rewardspec.episodes.features import OBSERVE
from rewardspec.errors import Error, did_you_mean
from rewardspec.learning.batches import Source
from rewardspec.learning.finite_tables import finite_tables
from rewardspec.learning.logs import TrainingLog
from rewardspec.learning.policies import Policy
from rewardspec.learning.ppo import PPO, learn_actors
from rewardspec.learning.progress import Progress
from rewardspec.learning.q_learning import QLearning, learn_tables
from rewardspec.spec.spec import Spec
from rewardspec.tasks.task import Task

Config: TypeAlias = QLearning | PPO


@dataclasses.dataclass(frozen=True)
class Training:
    """What came of it.

    Attributes:
        log: Every episode of every run.
        policy: What the runs learnt.
        seconds: Wall-clock time, compilation included.
    """

    log: TrainingLog
    policy: Policy
    seconds: float


def train(
    task: Task,
    spec: Spec | None,
    *,
    config: Config,
    seeds: Sequence[int],
    observe: str | None = None,
    progress: Progress | None = None,
    source: Source = "gymnasium",
) -> Training:
    """Train a policy for every seed; the same seeds and settings give the same log, but for the seconds in it.

    Args:
        task: The task.
        spec: The spec that pays, or None for the environment's own reward.
        config: The learner's settings, which also say which learner: Q-learning for finite tasks, PPO for the others.
        seeds: The seed of each run, from 0 to 2³² - 1.
        observe: What of the monitor the learner sees: None, `"registers"`, and for PPO also `"control"` or `"values"`.
        progress: Called now and then with how much is done and of how much: episodes of Q-learning, steps of PPO.
        source: Where the environments of Lunar Lander and Bipedal Walker come from: `"gymnasium"`, or `"envpool"`,
            which is two to three times as quick and draws other random numbers.

    Example:
        >>> from rewardspec import tasks
        >>> lake = tasks.get("frozen_lake")
        >>> training = train(lake, lake.spec("boolean"), config=QLearning(episodes=300), seeds=range(20))
        >>> len(training.log), training.policy.arrays["table"].shape
        (6000, (20, 11, 4))
    """
    seeds = _checked_seeds(seeds)
    if observe is not None and observe not in OBSERVE:
        raise Error(
            f"`observe` should be None or one of {', '.join(OBSERVE)}. Received {observe!r}."
            f"{did_you_mean(str(observe), OBSERVE)}"
        )
    if isinstance(config, QLearning) != (task.learner == "q-learning"):
        learner = "QLearning" if task.learner == "q-learning" else "PPO"
        raise Error(f"{task.title} is learnt with {learner} settings. Received {type(config).__name__} settings.")
    began = time.perf_counter()
    if isinstance(config, QLearning):
        log, table = learn_tables(finite_tables(task, spec, observe), config, seeds, progress)
        policy = Policy("table", task.name, spec, observe, seeds, {"table": table})
    else:
        log, arrays = learn_actors(task, spec, observe, config, seeds, progress, source)
        policy = Policy("network", task.name, spec, observe, seeds, arrays)
    return Training(log, policy, time.perf_counter() - began)


def _checked_seeds(seeds: Any) -> tuple[int, ...]:
    try:
        found = tuple(operator.index(seed) for seed in seeds)
    except TypeError:
        found = ()
    if not found or len(set(found)) < len(found) or not all(0 <= seed < 2**32 for seed in found):
        raise Error(
            f"`seeds` should be different integers from 0 to 2³² - 1, at least one, such as range(10). "
            f"Received {seeds!r}."
        )
    return found

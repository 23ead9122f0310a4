"""The rewards that are compared: the environment's own, the paper's two specifications, and this library's best."""

from __future__ import annotations

import dataclasses

from rewardspec.errors import Error, did_you_mean
from rewardspec.experiments.candidates import CANDIDATES
from rewardspec.spec.spec import Spec
from rewardspec.tasks.task import Kind, Task

REWARDS = ("base", "boolean", "quantitative", "best")


@dataclasses.dataclass(frozen=True)
class RewardSetup:
    """What pays the learner, and what it is shown.

    Attributes:
        spec: The spec that pays, or None for the environment's own reward.
        observe: What of the monitor the learner sees.
        note: Why this choice, in a sentence.
    """

    spec: Spec | None
    observe: str | None
    note: str


def reward_setup(task: Task, reward: str) -> RewardSetup:
    """One of the rewards of a task.

    The Boolean and quantitative specs are paid by value, and the learner sees the monitor's configuration, on which the
    reward is Markov: the paper's product, completed with the registers.
    """
    if reward == "base":
        return RewardSetup(None, None, "The environment's own reward.")
    if reward in ("boolean", "quantitative"):
        kind: Kind = "boolean" if reward == "boolean" else "quantitative"
        return RewardSetup(task.spec(kind), "registers", f"The paper's {reward} specification, paid by value.")
    if reward == "best":
        best = CANDIDATES[task.name][0]
        return RewardSetup(best.spec(task), best.observe, best.note)
    raise Error(f"`reward` should be one of {', '.join(REWARDS)}. Received {reward!r}.{did_you_mean(reward, REWARDS)}")

"""Bipedal Walker: a robot on two legs walks to the end of the map.

Gymnasium's environment, labeled after the appendix of "Expressive Temporal Specifications for Reward Monitoring"
(AAAI-26). Of the 24 observations, 0 is the hull's angle and 2 its horizontal velocity; its position is not observed.

Departures from the paper:
    - The pair (G smooth, 10) is not a safety objective here. The walker stands still at reset, where smooth is 0, so
      as a safety objective it would be violated at the first state and silence every episode from start to end. Its
      value, the least smooth so far, is still 0 throughout; what the pair G upright pays is what there is to learn.
"""

from __future__ import annotations

from rewardspec.lab.tasks.box2d import Box2DEntryPoint
from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task, TrainingBudget, docstring_notes
from rewardspec.spec import Pair, Spec
from rewardspec.spec.atoms.label_functions import closeness, nearly_true
from rewardspec.types import Action, Number, Observation

MAX_ANGLE = 0.4
"""Hull angle in radians from which `upright` is 0."""
TARGET_VELOCITY = 0.12
"""Observed horizontal velocity of a steady walk, about 1 m/s."""
VELOCITY_TOLERANCE = 0.1
"""Distance from the target velocity from which `smooth` is 0."""

make = Box2DEntryPoint("bipedal_walker", "BipedalWalker")


def upright(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Levelness of the hull."""
    return closeness(abs(next_obs[..., 0]), MAX_ANGLE)


def smooth(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Closeness of the horizontal velocity to that of a steady walk."""
    return closeness(abs(next_obs[..., 2] - TARGET_VELOCITY), VELOCITY_TOLERANCE)


def is_upright(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The quantitative upright is at least 0.99."""
    return nearly_true(upright(obs, action, next_obs))


def is_smooth(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The quantitative smooth is at least 0.99."""
    return nearly_true(smooth(obs, action, next_obs))


def task_completion(obs: Observation) -> Number:
    """Mean of how steady the walk is and how level the hull."""
    return 0.5 * smooth(obs, None, obs) + 0.5 * upright(obs, None, obs)


PAIRS = [("G upright", 10), Pair("G smooth", 10, veto=False)]
PRINTED = [PAIRS[0], ("G smooth", 10)]

TASK = Task(
    name="bipedal_walker",
    family="Box2D",
    id="rewardspec/BipedalWalker-v0",
    env=f"{__name__}:make",
    max_episode_steps=1600,
    learner="ppo",
    continuous=True,
    goal="Walk on two legs to the end of the map.",
    base_reward="Progress, minus tilt and motor torque; -100 for a fall.",
    specs={
        "boolean": Spec(PAIRS, {"upright": is_upright, "smooth": is_smooth}),
        "quantitative": Spec(PAIRS, {"upright": upright, "smooth": smooth}),
    },
    variants={
        "boolean as printed": Spec(PRINTED, {"upright": is_upright, "smooth": is_smooth}),
        "quantitative as printed": Spec(PRINTED, {"upright": upright, "smooth": smooth}),
    },
    measures={
        "task_completion": Measure(task_completion),
        "own_criterion": Measure.from_return(300.0, "The return is at least 300, Gymnasium's threshold."),
    },
    budget=TrainingBudget(steps=500_000, quick_steps=4 * 2048, step_seconds=(5e-4, 1.7e-4)),
    notes=docstring_notes(__doc__),
    extra="box2d",
)

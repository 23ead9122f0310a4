"""Acrobot: swing the free end of a two-link pendulum up to a height of one.

Gymnasium's environment, labeled after the appendix of "Expressive Temporal Specifications for Reward Monitoring"
(AAAI-26). An observation is cos θ1, sin θ1, cos θ2, sin θ2, θ̇1, θ̇2; both links have length 1.

Choices where the paper is silent:
    - The tip's vertical velocity, for which the paper gives no formula, is the derivative of its height:
      sin θ1 · θ̇1 + sin(θ1 + θ2) · (θ̇1 + θ̇2).
    - The Boolean reach_goal holds from the goal height on, as the environment's own ending does.
    - Task completion, which the paper does not define here, is the quantitative reach_goal of the last observation.
"""

from __future__ import annotations

from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task, TrainingBudget, docstring_notes
from rewardspec.spec import Spec
from rewardspec.spec.atoms.label_functions import truth, unit
from rewardspec.types import Action, Number, Observation

GOAL_HEIGHT = 1.0
"""Height at which the environment ends the episode in success."""
MAX_TIP_VELOCITY = 2.0
"""Upward speed of the tip from which `velocity` is 1."""


def tip_height(obs: Observation) -> Number:
    """Height of the free end above the fixed joint, in [-2, 2]."""
    cos1, sin1, cos2, sin2 = (obs[..., i] for i in range(4))
    return -cos1 - (cos1 * cos2 - sin1 * sin2)


def tip_velocity(obs: Observation) -> Number:
    """Upward speed of the free end."""
    cos1, sin1, cos2, sin2, speed1, speed2 = (obs[..., i] for i in range(6))
    return sin1 * speed1 + (sin1 * cos2 + cos1 * sin2) * (speed1 + speed2)


def reach_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Height of the tip as a share of the goal height; 0 below the joint."""
    return unit(tip_height(next_obs) / GOAL_HEIGHT)


def at_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The tip is at the goal height or above."""
    return truth(tip_height(next_obs) >= GOAL_HEIGHT)


def velocity(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Upward speed of the tip as a share of the greatest that counts; 0 when it sinks."""
    return unit(tip_velocity(next_obs) / MAX_TIP_VELOCITY)


def task_completion(obs: Observation) -> Number:
    """Height of the tip as a share of the goal height."""
    return reach_goal(obs, None, obs)


TASK = Task(
    name="acrobot",
    family="Classic",
    id="rewardspec/Acrobot-v0",
    env="gymnasium.envs.classic_control.acrobot:AcrobotEnv",
    max_episode_steps=500,
    learner="ppo",
    continuous=False,
    goal="Swing the free end of a two-link pendulum above a line.",
    base_reward="-1 for every step before the goal.",
    specs={
        "boolean": Spec([("F reach_goal", 10), ("G true", -1)], {"reach_goal": at_goal}),
        "quantitative": Spec(
            [("F reach_goal", 50), ("F velocity", 10), ("F G true", -1)],
            {"reach_goal": reach_goal, "velocity": velocity},
        ),
    },
    measures={
        "task_completion": Measure(task_completion),
        "own_criterion": Measure.from_return(-100.0, "The return is at least -100, Gymnasium's threshold."),
    },
    budget=TrainingBudget(quick_steps=64 * 512, step_seconds=(8e-5, 2.5e-6)),
    notes=docstring_notes(__doc__),
)

"""Mountain Car: an under-powered car gathers momentum and climbs the hill to its right.

Gymnasium's environment, labeled after the appendix of "Expressive Temporal Specifications for Reward Monitoring"
(AAAI-26). An observation is the car's position, in [-1.2, 0.6], and velocity, in [-0.07, 0.07].

Choices where the paper is silent:
    - The milestone of reach_goal is the flag, position 0.5, where the episode ends in success.
    - The Boolean reach_goal holds from the flag on, as the environment's own ending does.
"""

from __future__ import annotations

from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task, TrainingBudget, docstring_notes
from rewardspec.spec import Spec
from rewardspec.spec.atoms.label_functions import closeness, namespace, truth, unit
from rewardspec.types import Action, Number, Observation

MIN_POSITION = -1.2
"""Left end of the track, where `reach_goal` is 0."""
GOAL_POSITION = 0.5
"""The flag, where `reach_goal` is 1."""
MAX_SPEED = 0.07
"""The environment's limit on the speed."""


def reach_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Position along the track, from its left end (0) to the flag (1)."""
    return unit((next_obs[..., 0] - MIN_POSITION) / (GOAL_POSITION - MIN_POSITION))


def at_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The car is at the flag or beyond."""
    return truth(next_obs[..., 0] >= GOAL_POSITION)


def velocity(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Speed toward the flag as a share of the greatest; beyond the flag, how near the car is to rest."""
    position, speed = next_obs[..., 0], next_obs[..., 1]
    there, on_the_way = closeness(abs(speed), MAX_SPEED), unit(speed / MAX_SPEED)
    return namespace(position).where(position >= GOAL_POSITION, there, on_the_way)


def task_completion(obs: Observation) -> Number:
    """Position along the track, from its left end (0) to the flag (1)."""
    return reach_goal(obs, None, obs)


TASK = Task(
    name="mountain_car",
    family="Classic",
    id="rewardspec/MountainCar-v0",
    env="gymnasium.envs.classic_control.mountain_car:MountainCarEnv",
    max_episode_steps=200,
    learner="ppo",
    continuous=False,
    goal="Drive an under-powered car up a hill.",
    base_reward="-1 for every step.",
    specs={
        "boolean": Spec([("F reach_goal", 50)], {"reach_goal": at_goal}),
        "quantitative": Spec(
            [("F reach_goal", 50), ("F velocity", 25)], {"reach_goal": reach_goal, "velocity": velocity}
        ),
    },
    measures={
        "task_completion": Measure(task_completion),
        "own_criterion": Measure.from_return(-110.0, "The flag was reached within 110 steps, Gymnasium's threshold."),
    },
    budget=TrainingBudget(quick_steps=64 * 512, step_seconds=(6e-5, 2e-6)),
    notes=docstring_notes(__doc__),
)

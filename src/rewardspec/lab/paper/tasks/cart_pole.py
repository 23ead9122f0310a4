"""CartPole with a place to go: balance the pole, and bring the cart to position 2.

Gymnasium's environment with the base reward of "Expressive Temporal Specifications for Reward Monitoring" (AAAI-26),
which adds the cart's proximity to the goal to the usual 1 per step. An observation is the cart's position and
velocity, the pole's angle and angular velocity.

Departures from the paper:
    - The quantitative reach_goal, position over goal position, passes 1 between the goal and the end of the track;
      labels live in [0, 1], so it is clipped there.
    - The Boolean balanced bounds the angle's absolute value: as the paper prints it, a pole falling to the left stays
      balanced.

Choices where the paper is silent:
    - The tolerance τ of the base reward's proximity is 0.1, the tolerance that the Boolean reach_goal uses.
"""

from __future__ import annotations

from typing import Any

from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from rewardspec.lab.tasks.measures import Ending, Measure
from rewardspec.lab.tasks.task import Task, TrainingBudget, docstring_notes
from rewardspec.spec import Spec
from rewardspec.spec.atoms.label_functions import closeness, namespace, truth, unit

GOAL_POSITION = 2.0
"""Where the cart should be."""
GOAL_TOLERANCE = 0.1
"""How near to the goal position counts as there, for the Boolean atom and for the base reward."""
MIN_PROGRESS = 0.01
"""Positions up to here count as no progress at all."""
MAX_ANGLE = 0.209
"""Angle in radians (about 12 degrees) at which the pole counts as fallen."""
TRACK_END = 2.4
"""Position at which the environment ends the episode."""
SOLVED_STEPS = 475
"""The mean return, 1 for every step, from which Gymnasium calls CartPole-v1 solved."""


def balanced(obs: Any, action: Any, next_obs: Any) -> Any:
    """How upright the pole is: 1 when vertical, 0 from the angle of falling on."""
    return closeness(abs(next_obs[..., 2]), MAX_ANGLE)


def within_angle(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the pole's angle, to either side, is at most the angle of falling."""
    return truth(abs(next_obs[..., 2]) <= MAX_ANGLE)


def reach_goal(obs: Any, action: Any, next_obs: Any) -> Any:
    """Position of the cart as a share of the goal position; 0 to the left of the start."""
    position = next_obs[..., 0]
    return unit(namespace(position).where(position > MIN_PROGRESS, position / GOAL_POSITION, 0.0))


def near_goal(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the cart is within the tolerance of the goal position."""
    return truth(abs(next_obs[..., 0] - GOAL_POSITION) <= GOAL_TOLERANCE)


def proximity(obs: Any, action: Any, next_obs: Any) -> Any:
    """1 within the tolerance of the goal position, falling to 0 a track's half-length away: the base reward's bonus."""
    return closeness(abs(next_obs[..., 0] - GOAL_POSITION) - GOAL_TOLERANCE, TRACK_END - GOAL_TOLERANCE)


def task_completion(obs: Any) -> Any:
    """Mean of how far the cart came toward the goal and how upright the pole is."""
    return 0.5 * reach_goal(obs, None, obs) + 0.5 * balanced(obs, None, obs)


def long_enough(ending: Ending) -> Any:
    """Whether the episode had at least 475 steps, Gymnasium's threshold."""
    return ending.length >= SOLVED_STEPS


class GoalCartPole(CartPoleEnv):
    """CartPole whose reward is 1 plus the cart's proximity to the goal position."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Gymnasium's step, with the proximity added to the reward."""
        base: Any = super()  # Gymnasium types its environments, but not their every method
        obs, reward, terminated, truncated, info = base.step(action)
        return obs, float(reward) + float(proximity(None, action, obs)), terminated, truncated, info


TASK = Task(
    name="cart_pole",
    title="CartPole",
    family="Classic",
    id="rewardspec/CartPole-v0",
    env=f"{__name__}:GoalCartPole",
    max_episode_steps=500,
    learner="ppo",
    continuous=False,
    goal="Balance a pole on a cart, and bring the cart to position 2.",
    base_reward="1 for every step, plus the cart's proximity to the goal position.",
    specs={
        "boolean": Spec(
            [("F G reach_goal", 2), ("G balanced", 4)], {"reach_goal": near_goal, "balanced": within_angle}
        ),
        "quantitative": Spec(
            [("F G reach_goal", 2), ("G balanced", 4)], {"reach_goal": reach_goal, "balanced": balanced}
        ),
    },
    measures={"task_completion": Measure(task_completion), "own_criterion": Measure(long_enough, reads="ending")},
    budget=TrainingBudget(quick_steps=64 * 512, step_seconds=(8e-5, 2.5e-6)),
    notes=docstring_notes(__doc__),
    base_bonus=proximity,
)

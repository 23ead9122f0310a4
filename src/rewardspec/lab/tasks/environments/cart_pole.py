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

from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from rewardspec.lab.tasks.measures import Ending, Measure
from rewardspec.lab.tasks.task import Task, TrainingBudget, docstring_notes
from rewardspec.spec import Spec
from rewardspec.spec.atoms.label_functions import closeness, namespace, truth, unit
from rewardspec.types import Action, InfoDict, Number, Observation

GOAL_POSITION = 2.0
"""Target position of the cart."""
GOAL_TOLERANCE = 0.1
"""Distance that counts as at the goal, for the Boolean atom and the base reward."""
MIN_PROGRESS = 0.01
"""Greatest position that counts as no progress."""
MAX_ANGLE = 0.209
"""Angle in radians (about 12 degrees) at which the pole counts as fallen."""
TRACK_END = 2.4
"""Position at which the environment ends the episode."""
SOLVED_STEPS = 475
"""Mean return, 1 per step, from which Gymnasium calls CartPole-v1 solved."""


def balanced(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Uprightness of the pole: 1 when vertical, 0 from the angle of falling on."""
    return closeness(abs(next_obs[..., 2]), MAX_ANGLE)


def within_angle(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The pole's angle, to either side, is at most the angle of falling."""
    return truth(abs(next_obs[..., 2]) <= MAX_ANGLE)


def reach_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Position of the cart as a share of the goal position; 0 to the left of the start."""
    position = next_obs[..., 0]
    return unit(namespace(position).where(position > MIN_PROGRESS, position / GOAL_POSITION, 0.0))


def near_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The cart is within the tolerance of the goal position."""
    return truth(abs(next_obs[..., 0] - GOAL_POSITION) <= GOAL_TOLERANCE)


def proximity(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """1 within the tolerance of the goal position, falling to 0 a track's half-length away: the base reward's bonus."""
    return closeness(abs(next_obs[..., 0] - GOAL_POSITION) - GOAL_TOLERANCE, TRACK_END - GOAL_TOLERANCE)


def task_completion(obs: Observation) -> Number:
    """Mean of how far the cart came toward the goal and how upright the pole is."""
    return 0.5 * reach_goal(obs, None, obs) + 0.5 * balanced(obs, None, obs)


def long_enough(ending: Ending) -> Number:
    """The episode had at least 475 steps, Gymnasium's threshold."""
    return ending.length >= SOLVED_STEPS


class GoalCartPole(CartPoleEnv):
    """CartPole whose reward is 1 plus the cart's proximity to the goal position."""

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, InfoDict]:
        """Add the proximity to the reward of Gymnasium's step."""
        obs, reward, terminated, truncated, info = super().step(action)  # type: ignore[no-untyped-call]
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

"""Lunar Lander: set a rocket down softly, upright, on both legs, between two flags.

Gymnasium's environment, labeled after the appendix of "Expressive Temporal Specifications for Reward Monitoring"
(AAAI-26). An observation is x, y, their velocities, the angle, the angular velocity, and the contact of each leg; the
landing pad is at (0, 0).

Departures from the paper:
    - The measure of task completion is printed with a stray 0.2 that lets it pass 1: here it is
      0.4 closeness + 0.2 legs + 0.2 upright + 0.2 angular velocity.

Choices where the paper is silent:
    - The distance at which closeness is 0 is 1.5, a little more than that of the start, near (0, 1.4).
    - The angle at which upright is 0 is a quarter turn: the lander lies on its side.
    - The quantitative reach_landing_zone is the closeness to the pad. The Boolean one holds from a closeness of 0.8
      on, where the paper's soft_landing starts to count; that is within 0.3 of the pad's center, and the flags stand
      0.2 from it.
    - outside_viewport, y > 1, is the same in both specifications. It holds at the start of every episode.
"""

from __future__ import annotations

import math

from rewardspec.lab.tasks.box2d import Box2DEntryPoint
from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task, TrainingBudget, docstring_notes
from rewardspec.spec import Spec
from rewardspec.spec.atoms.label_functions import closeness, namespace, truth
from rewardspec.types import Action, Number, Observation

MAX_DISTANCE = 1.5
"""Distance from the pad from which the closeness is 0."""
LANDING_CLOSENESS = 0.8
"""Closeness from which the lander is in the landing zone."""
MAX_ANGLE = math.pi / 2
"""Angle from which `upright` is 0."""
MAX_ANGULAR_VELOCITY = 2.0
"""Angular velocity from which its score is 0."""
VIEWPORT_TOP = 1.0
"""Height above which the lander counts as outside the viewport."""

make = Box2DEntryPoint("lunar_lander", "LunarLander")


def reach_landing_zone(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Closeness to the center of the landing pad."""
    x, y = next_obs[..., 0], next_obs[..., 1]
    return closeness((x * x + y * y) ** 0.5, MAX_DISTANCE)


def in_landing_zone(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The closeness to the landing pad is at least 0.8."""
    return truth(reach_landing_zone(obs, action, next_obs) >= LANDING_CLOSENESS)


def legs_contact(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The share of the two legs that touch the ground."""
    return 0.5 * next_obs[..., 6] + 0.5 * next_obs[..., 7]


def both_legs_contact(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Both legs touch the ground."""
    return truth(legs_contact(obs, action, next_obs) >= 1.0)


def outside_viewport(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The lander is above the viewport."""
    return truth(next_obs[..., 1] > VIEWPORT_TOP)


def upright(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Uprightness of the lander."""
    return closeness(abs(next_obs[..., 4]), MAX_ANGLE)


def angular_velocity_score(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Slowness of the lander's rotation."""
    return closeness(abs(next_obs[..., 5]), MAX_ANGULAR_VELOCITY)


def soft_landing(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """In the landing zone, about the mean of closeness, uprightness and calm (at most 0.99); 0 elsewhere."""
    scores = (reach_landing_zone, upright, angular_velocity_score)
    near, level, calm = (score(obs, action, next_obs) for score in scores)
    return namespace(near).where(near >= LANDING_CLOSENESS, 0.33 * near + 0.33 * level + 0.33 * calm, 0.0)


def task_completion(obs: Observation) -> Number:
    """Closeness to the pad (0.4), legs on the ground (0.2), uprightness (0.2), low angular velocity (0.2)."""
    near, legs = reach_landing_zone(obs, None, obs), legs_contact(obs, None, obs)
    return 0.4 * near + 0.2 * legs + 0.2 * upright(obs, None, obs) + 0.2 * angular_velocity_score(obs, None, obs)


TASK = Task(
    name="lunar_lander",
    family="Box2D",
    id="rewardspec/LunarLander-v0",
    env=f"{__name__}:make",
    max_episode_steps=1000,
    learner="ppo",
    continuous=False,
    goal="Land a rocket softly between two flags.",
    base_reward="Nearing the pad, slowing, leveling and touching ground, minus fuel; 100 at rest, -100 for a crash.",
    specs={
        "boolean": Spec(
            [("F G reach_landing_zone", 50), ("F legs_contact", 20), ("G outside_viewport", -20), ("G true", -1)],
            {
                "reach_landing_zone": in_landing_zone,
                "legs_contact": both_legs_contact,
                "outside_viewport": outside_viewport,
            },
        ),
        "quantitative": Spec(
            [("F G reach_landing_zone", 50), ("F soft_landing", 50), ("F G outside_viewport", -20), ("F G true", -1)],
            {
                "reach_landing_zone": reach_landing_zone,
                "soft_landing": soft_landing,
                "outside_viewport": outside_viewport,
                "legs_contact": legs_contact,
                "upright": upright,
                "angular_velocity_score": angular_velocity_score,
            },
        ),
    },
    measures={
        "task_completion": Measure(task_completion),
        "own_criterion": Measure.from_return(200.0, "The return is at least 200, Gymnasium's threshold."),
    },
    budget=TrainingBudget(quick_steps=32 * 512, step_seconds=(2e-4, 3e-5)),
    notes=docstring_notes(__doc__),
    extra="box2d",
)

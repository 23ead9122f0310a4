"""Pendulum: swing a pendulum upright from anywhere, and keep it there.

Gymnasium's environment, labeled after the appendix of "Expressive Temporal Specifications for Reward Monitoring"
(AAAI-26). An observation is cos θ, sin θ and the angular velocity θ̇, with θ = 0 upright.

Departures from the paper:
    - The Boolean atoms are printed as equalities of floats, which a simulation never meets: upright as cos θ = 1,
      stabilised as θ̇ = 1, a speed rather than rest. Here each holds when its quantitative value is at least 0.99,
      the rule the paper itself gives for Bipedal Walker.
    - The third observation is the angular velocity; the paper calls it the torque.
"""

from __future__ import annotations

from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task, TrainingBudget, docstring_notes
from rewardspec.spec import Spec
from rewardspec.spec.atoms.label_functions import closeness, nearly_true, unit
from rewardspec.types import Action, Number, Observation

MAX_SPEED = 8.0
"""The environment's limit on the angular velocity."""


def upright(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Height of the pendulum: 1 when it points up, 0 when it hangs."""
    # Clipped because a rounded cosine may lie a little outside [-1, 1].
    return unit((next_obs[..., 0] + 1.0) / 2.0)


def stabilised(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Closeness of the pendulum to rest."""
    return closeness(abs(next_obs[..., 2]), MAX_SPEED)


def is_upright(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The quantitative upright is at least 0.99."""
    return nearly_true(upright(obs, action, next_obs))


def is_stabilised(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The quantitative stabilised is at least 0.99."""
    return nearly_true(stabilised(obs, action, next_obs))


def task_completion(obs: Observation) -> Number:
    """Mean of the pendulum's height and its nearness to rest."""
    return 0.5 * upright(obs, None, obs) + 0.5 * stabilised(obs, None, obs)


PAIRS = [("F upright", 25), ("F G (upright & stabilised)", 10), ("F G true", -1)]

TASK = Task(
    name="pendulum",
    family="Classic",
    id="rewardspec/Pendulum-v0",
    env="gymnasium.envs.classic_control.pendulum:PendulumEnv",
    max_episode_steps=200,
    learner="ppo",
    continuous=True,
    goal="Swing a pendulum upright and hold it still.",
    base_reward="Minus the squared angle, minus small costs on angular velocity and torque.",
    specs={
        "boolean": Spec(PAIRS, {"upright": is_upright, "stabilised": is_stabilised}),
        "quantitative": Spec(PAIRS, {"upright": upright, "stabilised": stabilised}),
    },
    measures={
        "task_completion": Measure(task_completion),
        "own_criterion": Measure.from_return(words="Return; Gymnasium names no threshold."),
    },
    budget=TrainingBudget(steps=1_000_000, quick_steps=8 * 2048, step_seconds=(1.4e-4, 1.4e-5)),
    notes=docstring_notes(__doc__),
)

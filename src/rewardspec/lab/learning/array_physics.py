"""The classic control environments on arrays: the physics of Gymnasium's, many copies at the price of one.

Each follows the equations of motion, the integrator and the limits of Gymnasium's environment of that name, draws its
first states from the same random numbers, and is tested against it step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from rewardspec.environments import find_spec
from rewardspec.lab.learning.env_batches import Step
from rewardspec.lab.tasks.task import Task

Floats = NDArray[np.float32]
State = NDArray[np.float64]  # shape (numbers, n)
GRAVITY = 9.8


class Physics(Protocol):
    """How one kind of environment moves. A state is an array of shape (numbers, n)."""

    def begin(self, rng: np.random.Generator) -> Sequence[float] | State:
        """The first state of one episode."""
        ...

    def move(self, state: State, actions: Any) -> tuple[State, Any, Any]:
        """The next states, the rewards, and whether each episode is over."""
        ...

    def observe(self, state: State) -> Floats:
        """The observations, shape (n, size)."""
        ...


class CartPole:
    """A pole of mass 0.1 and half-length 0.5 on a cart of mass 1, pushed with a force of 10; Euler steps of 0.02 s."""

    def begin(self, rng: np.random.Generator) -> State:
        """Near the middle, nearly upright."""
        return rng.uniform(low=-0.05, high=0.05, size=4)

    def move(self, state: State, actions: Any) -> tuple[State, Any, Any]:
        """Over when the cart leaves the track or the pole leans by more than 12 degrees."""
        _, speed, angle, spin = state
        force = np.where(actions == 1, 10.0, -10.0)
        cos, sin = np.cos(angle), np.sin(angle)
        push = (force + 0.05 * spin * spin * sin) / 1.1
        angular = (GRAVITY * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * (cos * cos) / 1.1))
        linear = push - 0.05 * angular * cos / 1.1
        after = state + 0.02 * np.array([speed, linear, spin, angular])
        over = (np.abs(after[0]) > 2.4) | (np.abs(after[2]) > 12 * 2 * np.pi / 360)
        return after, 1.0, over

    def observe(self, state: State) -> Floats:
        """The state itself."""
        return state.T.astype(np.float32)


class MountainCar:
    """A car in a valley, with an engine too weak to climb out of it."""

    def begin(self, rng: np.random.Generator) -> Sequence[float]:
        """At rest near the bottom."""
        return (rng.uniform(low=-0.6, high=-0.4), 0.0)

    def move(self, state: State, actions: Any) -> tuple[State, Any, Any]:
        """Over at the flag; the wall to the left stops the car."""
        position, speed = state
        speed = np.clip(speed + (actions - 1) * 0.001 - np.cos(3.0 * position) * 0.0025, -0.07, 0.07)
        position = np.clip(position + speed, -1.2, 0.6)
        speed = np.where((position == -1.2) & (speed < 0.0), 0.0, speed)
        return np.array([position, speed]), -1.0, (position >= 0.5) & (speed >= 0.0)

    def observe(self, state: State) -> Floats:
        """The state itself."""
        return state.T.astype(np.float32)


class Pendulum:
    """A rod of mass and length 1 with a motor of torque up to 2; Euler steps of 0.05 s."""

    def begin(self, rng: np.random.Generator) -> State:
        """At any angle, turning slowly."""
        return rng.uniform(low=[-np.pi, -1.0], high=[np.pi, 1.0])

    def move(self, state: State, actions: Any) -> tuple[State, Any, Any]:
        """Never over; each step costs by angle, speed and torque."""
        angle, speed = state
        torque = np.clip(actions[:, 0], -2.0, 2.0)
        cost = ((angle + np.pi) % (2.0 * np.pi) - np.pi) ** 2 + 0.1 * speed**2 + 0.001 * torque**2
        speed = np.clip(speed + (15.0 * np.sin(angle) + 3.0 * torque) * 0.05, -8.0, 8.0)
        return np.array([angle + speed * 0.05, speed]), -cost, False

    def observe(self, state: State) -> Floats:
        """Cosine and sine of the angle, and the speed."""
        return np.stack([np.cos(state[0]), np.sin(state[0]), state[1]], axis=1).astype(np.float32)


class Acrobot:
    """Two links of mass and length 1 and a motor of torque 1 between them; Runge-Kutta steps of 0.2 s."""

    def begin(self, rng: np.random.Generator) -> State:
        """Hanging, nearly at rest."""
        return rng.uniform(low=-0.1, high=0.1, size=4).astype(np.float32).astype(np.float64)

    def move(self, state: State, actions: Any) -> tuple[State, Any, Any]:
        """Over when the free end is above the line."""
        torque = actions - 1.0
        first = self._slope(state, torque)
        second = self._slope(state + 0.1 * first, torque)
        third = self._slope(state + 0.1 * second, torque)
        fourth = self._slope(state + 0.2 * third, torque)
        after = state + 0.2 / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
        after[:2] = _into_one_turn(after[:2])
        after[2:] = np.clip(after[2:].T, (-4 * np.pi, -9 * np.pi), (4 * np.pi, 9 * np.pi)).T
        over = -np.cos(after[0]) - np.cos(after[0] + after[1]) > 1.0
        return after, np.where(over, 0.0, -1.0), over

    @staticmethod
    def _slope(state: State, torque: Any) -> State:
        """The equations of motion of Sutton and Barto's book."""
        angle1, angle2, spin1, spin2 = state
        cos2, sin2 = np.cos(angle2), np.sin(angle2)
        inertia = 3.5 + cos2
        coupling = 1.25 + 0.5 * cos2
        weight2 = 0.5 * GRAVITY * np.sin(angle1 + angle2)
        weight1 = weight2 + 1.5 * GRAVITY * np.sin(angle1) - 0.5 * sin2 * spin2 * (spin2 + 2.0 * spin1)
        share = coupling / inertia
        turn2 = (torque + share * weight1 - 0.5 * spin1 * spin1 * sin2 - weight2) / (1.25 - coupling * share)
        return np.array([spin1, spin2, -(coupling * turn2 + weight1) / inertia, turn2])

    def observe(self, state: State) -> Floats:
        """Cosine and sine of both angles, and the speeds."""
        cos, sin = np.cos(state[:2]), np.sin(state[:2])
        return np.stack([cos[0], sin[0], cos[1], sin[1], state[2], state[3]], axis=1).astype(np.float32)


def _into_one_turn(angles: State) -> State:
    """Angles in [-π, π]; those within stay exactly as they are."""
    turns = np.ceil((np.abs(angles) - np.pi) / (2.0 * np.pi))
    return angles - np.sign(angles) * np.maximum(turns, 0.0) * (2.0 * np.pi)


_CLASSES: dict[str, type[Physics]] = {
    "gymnasium.envs.classic_control.acrobot:AcrobotEnv": Acrobot,
    "gymnasium.envs.classic_control.cartpole:CartPoleEnv": CartPole,
    "gymnasium.envs.classic_control.mountain_car:MountainCarEnv": MountainCar,
    "gymnasium.envs.classic_control.pendulum:PendulumEnv": Pendulum,
    "rewardspec.lab.paper.tasks.cart_pole:GoalCartPole": CartPole,  # whose own reward is the task's `base_bonus`
}
"""The physics of environments by the class that Gymnasium makes them of."""


def physics_of(task: Task) -> Physics | None:
    """The physics of a task's environment, where it is one of these, made without further arguments."""
    spec = find_spec(task.env)
    known = _CLASSES.get(spec.entry_point) if isinstance(spec.entry_point, str) and not spec.kwargs else None
    return None if known is None else known()


class PhysicsBatch:
    """Copies of an environment as one array.

    Args:
        task: The task.
        seeds: The seed of each copy's first reset.
        physics: How its environment moves.
    """

    def __init__(self, task: Task, seeds: Sequence[int], physics: Physics) -> None:
        env = task.make()
        self.observation_space: gym.Space[Any] = env.observation_space
        self.action_space: gym.Space[Any] = env.action_space
        env.close()
        self.task = task
        self.seeds = tuple(seeds)
        self.physics = physics
        self._steps = np.zeros(len(self.seeds), dtype=np.int64)

    def __len__(self) -> int:
        """The number of copies."""
        return len(self.seeds)

    def reset(self) -> tuple[Floats, None]:
        """The first observations."""
        self._rngs = [seeding.np_random(seed)[0] for seed in self.seeds]
        self._steps[:] = 0
        self._state = np.array([self.physics.begin(rng) for rng in self._rngs], dtype=np.float64).T
        return self.physics.observe(self._state), None

    def step(self, actions: Any) -> Step:
        """One step of every copy."""
        self._state, paid, over = self.physics.move(self._state, actions)
        next_obs = self.physics.observe(self._state)
        reward = np.broadcast_to(np.asarray(paid, dtype=np.float64), self._steps.shape)
        if self.task.base_bonus is not None:
            reward = reward + self.task.base_bonus(None, actions, next_obs)
        terminated = np.broadcast_to(np.asarray(over), self._steps.shape)
        self._steps += 1
        truncated = (self._steps >= (self.task.max_episode_steps or np.inf)) & ~terminated
        ended = np.flatnonzero(terminated | truncated)
        obs = next_obs
        if len(ended):
            # A copy: the caller may still hold the arrays of the last step.
            self._state = self._state.copy()
            self._state[:, ended] = np.array([self.physics.begin(self._rngs[k]) for k in ended]).T
            self._steps[ended] = 0
            obs = next_obs.copy()
            obs[ended] = self.physics.observe(self._state[:, ended])
        return Step(next_obs, reward, terminated, truncated, obs)

    def close(self) -> None:
        """Nothing to release."""

"""The classic control environments as functions of arrays, for NumPy and for JAX.

Each follows the equations of motion, the integrator and the limits of Gymnasium's environment of that name, and is
tested against it step by step. A state is a float array of shape (numbers,), or (numbers, n) for n environments:
`PhysicsBatch` steps many environments in NumPy, `PhysicsEnv` one in JAX, to be vectorized with `jax.vmap`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from rewardspec.environments import find_spec
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.atoms.label_functions import namespace
from rewardspec.types import Action, Array, Number

Draw: TypeAlias = Callable[[Array, Array, int | None], Array]
"""Draw `size` uniform random numbers from `low` to `high`; without a size, as many as `low` and `high` have."""
GRAVITY = 9.8


class Physics(Protocol):
    """Dynamics of one kind of environment."""

    def begin(self, draw: Draw) -> Array:
        """Return the first state of one episode, shape (numbers,).

        In NumPy, with the `uniform` of Gymnasium's generator as `draw`, it is Gymnasium's first state.
        """
        ...

    def move(self, state: Array, action: Action) -> tuple[Array, Number, Number]:
        """Return the next state, the reward, and whether the episode terminated.

        Args:
            state: The state, shape (numbers,) or (numbers, n).
            action: The action: a number or shape (n,); for continuous actions shape (1,) or (n, 1).
        """
        ...

    def observe(self, state: Array) -> Array:
        """Return the observation, shape (size,) or (n, size): the state itself unless overridden."""
        return state.T


class CartPole(Physics):
    """A pole of mass 0.1 and half-length 0.5 on a cart of mass 1, pushed with a force of 10; Euler steps of 0.02 s."""

    def begin(self, draw: Draw) -> Array:
        """Start near the middle, nearly upright."""
        return draw(-0.05, 0.05, 4)

    def move(self, state: Array, action: Action) -> tuple[Array, Number, Number]:
        """Terminate when the cart leaves the track or the pole leans by more than 12 degrees."""
        xp = namespace(state)
        _, speed, angle, spin = state
        force = xp.where(action == 1, 10.0, -10.0)
        cos, sin = xp.cos(angle), xp.sin(angle)
        push = (force + 0.05 * spin * spin * sin) / 1.1
        angular = (GRAVITY * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * (cos * cos) / 1.1))
        linear = push - 0.05 * angular * cos / 1.1
        after = state + 0.02 * xp.array([speed, linear, spin, angular])
        terminated = (abs(after[0]) > 2.4) | (abs(after[2]) > 12 * 2 * math.pi / 360)
        return after, 1.0, terminated


class MountainCar(Physics):
    """A car in a valley, with an engine too weak to climb out of it."""

    def begin(self, draw: Draw) -> Array:
        """Start at rest near the bottom."""
        position = draw(-0.6, -0.4, None)
        return namespace(position).stack([position, position * 0.0])

    def move(self, state: Array, action: Action) -> tuple[Array, Number, Number]:
        """Terminate at the flag; the wall to the left stops the car."""
        xp = namespace(state)
        position, speed = state
        speed = xp.clip(speed + (action - 1) * 0.001 - xp.cos(3.0 * position) * 0.0025, -0.07, 0.07)
        position = xp.clip(position + speed, -1.2, 0.6)
        speed = xp.where((position == -1.2) & (speed < 0.0), 0.0, speed)
        return xp.array([position, speed]), -1.0, (position >= 0.5) & (speed >= 0.0)


class Pendulum(Physics):
    """A rod of mass and length 1 with a motor of torque up to 2; Euler steps of 0.05 s."""

    def begin(self, draw: Draw) -> Array:
        """Start at any angle, turning slowly."""
        return draw(np.array([-math.pi, -1.0]), np.array([math.pi, 1.0]), None)

    def move(self, state: Array, action: Action) -> tuple[Array, Number, Number]:
        """Never terminate; each step costs by angle, speed and torque."""
        xp = namespace(state)
        angle, speed = state
        torque = xp.clip(action[..., 0], -2.0, 2.0)
        cost = ((angle + math.pi) % (2.0 * math.pi) - math.pi) ** 2 + 0.1 * speed**2 + 0.001 * torque**2
        speed = xp.clip(speed + (15.0 * xp.sin(angle) + 3.0 * torque) * 0.05, -8.0, 8.0)
        return xp.array([angle + speed * 0.05, speed]), -cost, False

    def observe(self, state: Array) -> Array:
        """Return cosine and sine of the angle, and the speed."""
        xp = namespace(state)
        return xp.stack([xp.cos(state[0]), xp.sin(state[0]), state[1]], -1)


class Acrobot(Physics):
    """Two links of mass and length 1 and a motor of torque 1 between them; Runge-Kutta steps of 0.2 s."""

    def begin(self, draw: Draw) -> Array:
        """Start hanging, nearly at rest."""
        return draw(-0.1, 0.1, 4).astype(np.float32)

    def move(self, state: Array, action: Action) -> tuple[Array, Number, Number]:
        """Terminate when the free end is above the line."""
        xp = namespace(state)
        torque = action - 1.0
        first = self._slope(state, torque)
        second = self._slope(state + 0.1 * first, torque)
        third = self._slope(state + 0.1 * second, torque)
        fourth = self._slope(state + 0.2 * third, torque)
        angle1, angle2, spin1, spin2 = state + 0.2 / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
        angle1, angle2 = _into_one_turn(angle1), _into_one_turn(angle2)
        spin1, spin2 = xp.clip(spin1, -4 * math.pi, 4 * math.pi), xp.clip(spin2, -9 * math.pi, 9 * math.pi)
        terminated = -xp.cos(angle1) - xp.cos(angle1 + angle2) > 1.0
        return xp.array([angle1, angle2, spin1, spin2]), xp.where(terminated, 0.0, -1.0), terminated

    @staticmethod
    def _slope(state: Array, torque: Array) -> Array:
        """Evaluate the equations of motion of Sutton and Barto's book."""
        xp = namespace(state)
        angle1, angle2, spin1, spin2 = state
        cos2, sin2 = xp.cos(angle2), xp.sin(angle2)
        inertia = 3.5 + cos2
        coupling = 1.25 + 0.5 * cos2
        weight2 = 0.5 * GRAVITY * xp.sin(angle1 + angle2)
        weight1 = weight2 + 1.5 * GRAVITY * xp.sin(angle1) - 0.5 * sin2 * spin2 * (spin2 + 2.0 * spin1)
        share = coupling / inertia
        turn2 = (torque + share * weight1 - 0.5 * spin1 * spin1 * sin2 - weight2) / (1.25 - coupling * share)
        return xp.array([spin1, spin2, -(coupling * turn2 + weight1) / inertia, turn2])

    def observe(self, state: Array) -> Array:
        """Return cosine and sine of both angles, and the speeds."""
        xp = namespace(state)
        angle1, angle2, spin1, spin2 = state
        return xp.stack([xp.cos(angle1), xp.sin(angle1), xp.cos(angle2), xp.sin(angle2), spin1, spin2], -1)


def _into_one_turn(angle: Array) -> Array:
    """Wrap an angle to [-π, π]; one within stays exactly as it is."""
    xp = namespace(angle)
    turns = xp.ceil((abs(angle) - math.pi) / (2.0 * math.pi))
    return angle - xp.sign(angle) * xp.maximum(turns, 0.0) * (2.0 * math.pi)


_CLASSES: dict[str, type[Physics]] = {
    "gymnasium.envs.classic_control.acrobot:AcrobotEnv": Acrobot,
    "gymnasium.envs.classic_control.cartpole:CartPoleEnv": CartPole,
    "gymnasium.envs.classic_control.mountain_car:MountainCarEnv": MountainCar,
    "gymnasium.envs.classic_control.pendulum:PendulumEnv": Pendulum,
    "rewardspec.lab.tasks.environments.cart_pole:GoalCartPole": CartPole,  # whose own reward is the task's `base_bonus`
}
"""The physics of environments by the class that Gymnasium makes them of."""


def physics_of(task: Task) -> Physics | None:
    """Return the physics of a task's environment, if it is one of these and made without further arguments."""
    spec = find_spec(task.env)
    known = _CLASSES.get(spec.entry_point) if isinstance(spec.entry_point, str) and not spec.kwargs else None
    return None if known is None else known()

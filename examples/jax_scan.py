"""A spec inside `lax.scan`, over thousands of CartPoles written as pure functions in JAX.

    pip install '.[jax]'
    python examples/jax_scan.py --envs 4096 --steps 500

`spec.labels`, `spec.start` and `spec.step` are pure functions of arrays, so that the monitor is compiled into the
rollout.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import rewardspec as rs

TRACK, ANGLE = 2.4, 0.2095

# The same formulas as for any other environment; the atoms use operations that JAX can trace.
SPEC = rs.Spec(
    [("F G centred", 1), ("F G upright", 1), ("G(strayed -> F centred)", 1)],
    atoms={
        "centred": lambda obs, action, next_obs: jnp.clip(1.0 - abs(next_obs[..., 0]) / TRACK, 0.0, 1.0),
        "upright": lambda obs, action, next_obs: jnp.clip(1.0 - abs(next_obs[..., 2]) / ANGLE, 0.0, 1.0),
        "strayed": lambda obs, action, next_obs: (abs(next_obs[..., 0]) > 1.0) * 1.0,
    },
)


class CartPole(NamedTuple):
    """The state of a batch of CartPoles."""

    x: jax.Array
    x_dot: jax.Array
    theta: jax.Array
    theta_dot: jax.Array
    steps: jax.Array

    @property
    def obs(self) -> jax.Array:
        """The observations, of shape (environments, 4)."""
        return jnp.stack(self[:4], axis=-1)


def reset(key: jax.Array, envs: int) -> CartPole:
    """Fresh episodes."""
    return CartPole(*jax.random.uniform(key, (4, envs), minval=-0.05, maxval=0.05), jnp.zeros(envs, jnp.int32))


def physics(state: CartPole, action: jax.Array) -> tuple[CartPole, jax.Array, jax.Array]:
    """One step of Gymnasium's CartPole: the new state, terminated, truncated."""
    x, x_dot, theta, theta_dot, steps = state
    cos, sin = jnp.cos(theta), jnp.sin(theta)
    push = (jnp.where(action == 1, 10.0, -10.0) + 0.05 * theta_dot**2 * sin) / 1.1
    theta_acc = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
    x_acc = push - 0.05 * theta_acc * cos / 1.1
    new = CartPole(
        x + 0.02 * x_dot, x_dot + 0.02 * x_acc, theta + 0.02 * theta_dot, theta_dot + 0.02 * theta_acc, steps + 1
    )
    return new, (abs(new.x) > TRACK) | (abs(new.theta) > ANGLE), new.steps >= 500


def rollout(spec: rs.Spec | None, envs: int, steps: int) -> Callable[[jax.Array], tuple[jax.Array, CartPole]]:
    """A compiled function from a key to each environment's total reward and last state, under random actions.

    Without a spec every step pays 1, except the one where the pole falls.
    """

    def run(key: jax.Array) -> tuple[jax.Array, CartPole]:
        env = reset(key, envs)
        monitor = None if spec is None else spec.start(spec.labels(env.obs, None, env.obs, batch=envs))

        def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            env, monitor, total = carry
            act, fresh = jax.random.split(key)
            action = jax.random.bernoulli(act, shape=(envs,)).astype(jnp.int32)
            new, terminated, truncated = physics(env, action)
            ended = terminated | truncated
            after = jax.tree.map(lambda begun, going: jnp.where(ended, begun, going), reset(fresh, envs), new)
            # Read from the state: XLA puts a constant reward's sum into a kernel of its own, which on a GPU costs more
            # than the whole spec, so that the rollout without one would look slow.
            reward = jnp.where(terminated, 0.0, 1.0)
            if spec is not None:
                labels = spec.labels(env.obs, action, new.obs, batch=envs)
                monitor, reward = spec.step(monitor, labels, 1.0, terminated, truncated)
                # Where an episode ended, the spec starts anew on the next one's first state.
                monitor = spec.reset(monitor, spec.labels(after.obs, None, after.obs, batch=envs), ended)
            return (after, monitor, total + reward), None

        carry, _ = jax.lax.scan(step, (env, monitor, jnp.zeros(envs)), jax.random.split(key, steps))
        return carry[2], carry[0]  # without the states, XLA would leave out the CartPoles that nothing reads

    return jax.jit(run)


def seconds(function: Callable[[jax.Array], Any], repeats: int) -> float:
    """The best of several runs, the first of which compiles and does not count."""
    times = []
    for repeat in range(repeats + 1):
        start = time.perf_counter()
        jax.block_until_ready(function(jax.random.key(repeat)))
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main(argv: list[str] | None = None) -> None:
    """Print how fast the rollout is with and without the spec."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=4096, help="default 4096")
    parser.add_argument("--steps", type=int, default=500, help="default 500")
    parser.add_argument("--repeats", type=int, default=5, help="default 5")
    arguments = parser.parse_args(argv)
    total = arguments.envs * arguments.steps
    for name, spec in (("CartPole alone", None), ("CartPole with the spec", SPEC)):
        function = rollout(spec, arguments.envs, arguments.steps)
        print(f"{name:<24} {total / seconds(function, arguments.repeats):12,.0f} steps/s", flush=True)
    rewards, _ = rollout(SPEC, arguments.envs, arguments.steps)(jax.random.key(0))
    print(f"mean reward of a step under random actions: {float(rewards.mean()) / arguments.steps:.3f}")


if __name__ == "__main__":
    main()

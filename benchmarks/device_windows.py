"""Cost of windows and of observed registers on an accelerator: 4,096 CartPoles in JAX, in one process.

    python benchmarks/device_windows.py                       # 4,096 environments, 1,000 steps a round, 9 rounds
    python benchmarks/device_windows.py --envs 64 --steps 50 --rounds 2

Needs JAX beside the core install. The first table wraps the environments with `rewardspec.jax.SpecReward`, with no, one
and three windows, and shows agents the registers. The second runs windows alone, in the designs that were considered:

- *table*: the library's, `rewardspec.machines.window_tables`, in which all windows share one scatter;
- *slices*: the same table, with a dynamic slice read and written for each track;
- *turning*: two halves, one value turned a step, with three slices read and two written for each window;
- *scan all*: a ring of all values, and a masked maximum over all of them.

All variants take turns in short rounds; figures are medians over the rounds. A round is one compiled `lax.scan`, whose
rewards and observations are summed up, so that XLA drops nothing. `benchmarks/device_kernels.py`
counts the kernels of the first table's steps without a GPU.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import rewardspec as rs
from rewardspec.jax import Discrete, FunctionalEnvironment, SpecReward
from rewardspec.machines import window_tables
from rewardspec.machines.program import Window

Array = Any
Rollout = Callable[[Array], Any]

ATOMS = {
    "upright": lambda obs, action, next_obs: 1.0 - jnp.minimum(abs(next_obs[2]) / 0.2095, 1.0),
    "centred": lambda obs, action, next_obs: 1.0 - jnp.minimum(abs(next_obs[0]) / 2.4, 1.0),
    "left": lambda obs, action, next_obs: jnp.clip(-next_obs[0] / 2.4, 0.0, 1.0),
}
NO_WINDOW = [("G upright", 1), ("F G centred", 1), ("F left", 1)]
ONE = [*NO_WINDOW[:2], ("G(left -> F[0,100] centred)", 1)]
LONG = [*NO_WINDOW[:2], ("G(left -> F[0,1000] centred)", 1)]
GUARDED = [*NO_WINDOW[:2], ("G(left -> (upright U[0,100] centred))", 1)]
THREE = [("G F[0,30] upright", 1), ("F G[0,50] centred", 1), ("G(left -> F[0,100] centred)", 1)]

SPECS: dict[str, tuple[Any, Any]] = {
    "bare": (None, None),
    "no window": (NO_WINDOW, None),
    "no window, registers observed": (NO_WINDOW, "registers"),
    "one window of 100": (ONE, None),
    "one window of 100, registers observed": (ONE, "registers"),
    "one window of 1,000": (LONG, None),
    "one guarded window of 100": (GUARDED, None),
    "one guarded window of 100, registers observed": (GUARDED, "registers"),
    "three windows of 30, 50 and 100": (THREE, None),
    "three windows, registers observed": (THREE, "registers"),
    "bare again": (None, None),
}


def physics(state: Array, action: Array) -> Array:
    """Return the state of a CartPole after a step; both have shape (4,)."""
    x, speed, angle, turn = state
    force, cos, sin = jnp.where(action == 1, 10.0, -10.0), jnp.cos(angle), jnp.sin(angle)
    push = (force + 0.05 * turn * turn * sin) / 1.1
    turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
    moving = push - 0.05 * turning * cos / 1.1
    return jnp.stack([x + 0.02 * speed, speed + 0.02 * moving, angle + 0.02 * turn, turn + 0.02 * turning])


def cartpole() -> FunctionalEnvironment:
    def reset(key: Array) -> tuple[Array, Array]:
        state = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return state, state

    def step(key: Array, state: Array, action: Array) -> tuple[Array, Array, Array, Array, Array, dict[str, Array]]:
        state = physics(state, action)
        fallen = (abs(state[0]) > 2.4) | (abs(state[2]) > 0.2095)
        return state, state, jnp.float32(1.0), fallen, jnp.bool_(False), {}

    return FunctionalEnvironment(reset, step, Discrete(2))


def wrapped(pairs: Sequence[Any] | None, observe: Any, num_envs: int, steps: int) -> Rollout:
    """Return a rollout of wrapped environments with random actions; without pairs, of bare ones."""
    spec = None if pairs is None else rs.Spec(pairs, ATOMS, penalty=-1.0)
    envs = SpecReward(cartpole(), spec, num_envs, observe=observe, limit=500)

    def run(key: Array) -> Array:
        first, rest = jax.random.split(key)
        state, obs = envs.reset(first)

        def body(carry: Any, key: Array) -> Any:
            state, total = carry
            act, go = jax.random.split(key)
            action = jax.random.bernoulli(act, shape=(num_envs,)).astype(jnp.int32)
            state, obs, reward, terminated, truncated, _ = envs.step(go, state, action)
            return (state, total + reward + obs.sum(-1) + (terminated | truncated)), None

        carry = (state, obs.sum(-1))
        return lax.scan(body, carry, jax.random.split(rest, steps))[0][1]

    return jax.jit(run)


class TableWindows:
    """The library's."""

    def __init__(self, lengths: Sequence[int], guarded: bool = False) -> None:
        windows = tuple(Window("w", length, "max") for length in lengths)
        self.tables = window_tables.WindowTables(windows, [guarded] * len(lengths), 0.0, 1.0)
        self.count, self.guarded = len(lengths), guarded

    def initial(self, num_envs: int) -> Any:
        return self.tables.initial(jnp.zeros(num_envs), jnp)

    def push(self, state: Any, value: Array, guard: Array, begun: Array) -> tuple[Any, Array]:
        state = self.tables.chosen(begun, self.tables.initial(jnp.zeros_like(value), jnp), state, jnp)
        guards = [guard if self.guarded else None] * self.count
        state = self.tables.push(state, [value] * self.count, guards, jnp)
        return state, sum(state.extrema)

    def bytes(self) -> int:
        state = jax.eval_shape(lambda: self.initial(1))
        return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state))


class LastingWindows(TableWindows):
    """The same, with the steps for which each extremum will last, as observed registers show them."""

    def push(self, state: Any, value: Array, guard: Array, begun: Array) -> tuple[Any, Array]:
        state, total = super().push(state, value, guard, begun)
        return state, total + sum(self.tables.lasting(state, jnp))


class SlicedWindows:
    """Doubling, with a dynamic slice for each track."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lags = [window_tables._doubling(length) for length in lengths]

    def initial(self, num_envs: int) -> Any:
        tracks = [[jnp.zeros((lag, num_envs)) for lag in lags] for lags in self.lags]
        return jnp.int32(0), tracks, jnp.zeros(num_envs, jnp.int32)

    def push(self, state: Any, value: Array, guard: Array, begun: Array) -> tuple[Any, Array]:
        clock, tracks, age = state
        age, total, new = jnp.where(begun, 1, jnp.minimum(age + 1, 1 << 20)), jnp.zeros_like(value), []
        for lags, rings in zip(self.lags, tracks, strict=True):
            maximum, written = value, []
            for lag, ring in zip(lags, rings, strict=True):
                old = lax.dynamic_index_in_dim(ring, clock % lag, keepdims=False)
                written.append(lax.dynamic_update_index_in_dim(ring, maximum, clock % lag, 0))
                maximum = jnp.maximum(maximum, jnp.where(age > lag, old, 0.0))
            new.append(written)
            total = total + maximum
        return (clock + 1, new, age), total


class TurningWindows:
    """Two halves, one value turned a step."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = list(lengths)

    def initial(self, num_envs: int) -> Any:
        zero, one = jnp.zeros(num_envs), jnp.ones(num_envs)
        return [
            (jnp.int32(0), jnp.zeros((length + 2, num_envs)), zero, zero, one, one, jnp.full(num_envs, length))
            for length in self.lengths
        ]

    def push(self, state: Any, value: Array, guard: Array, begun: Array) -> tuple[Any, Array]:
        new, total = [], jnp.zeros_like(value)
        for length, each in zip(self.lengths, state, strict=True):
            each, extremum = self._push(length, each, value, begun)
            new.append(each)
            total = total + extremum
        return new, total

    @staticmethod
    def _push(length: int, state: Any, value: Array, begun: Array) -> tuple[Any, Array]:
        place, values, extremum, middle, later, earlier, age = state
        later, extremum = jnp.where(begun, 0.0, later), jnp.where(begun, 0.0, extremum)
        age, half = jnp.where(begun, 0, age), length - length // 2
        first, turns = place < half, place % half
        newest, count = jnp.where(first, length, half) - 1, jnp.where(first, length - half, half)
        turning = jnp.where(turns < count - 1, newest - 1 - turns, length)
        newer = lax.dynamic_index_in_dim(values, turning + 1, keepdims=False)
        own = lax.dynamic_index_in_dim(values, turning, keepdims=False)
        own = jnp.where(age > 2 * turns + 1, own, 0.0)
        values = lax.dynamic_update_index_in_dim(values, jnp.maximum(own, newer), turning, 0)
        values = lax.dynamic_update_index_in_dim(values, value, place, 0)
        place = place + 1
        over = (place == half) | (place == length)
        place, extremum = jnp.where(place == length, 0, place), jnp.maximum(extremum, value)
        middle, earlier = jnp.where(over, extremum, middle), jnp.where(over, later, earlier)
        oldest = lax.dynamic_index_in_dim(values, place, keepdims=False)
        later, extremum = jnp.where(over, 1.0, later), jnp.where(over, 0.0, extremum)
        found = jnp.maximum(extremum, jnp.minimum(later, jnp.maximum(middle, jnp.minimum(oldest, earlier))))
        return (place, values, extremum, middle, later, earlier, jnp.minimum(age + 1, length)), found


class ScannedWindows:
    """A ring of all values, and a masked maximum over all of them."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = list(lengths)

    def initial(self, num_envs: int) -> Any:
        return jnp.int32(0), [jnp.zeros((length, num_envs)) for length in self.lengths], jnp.zeros(num_envs, jnp.int32)

    def push(self, state: Any, value: Array, guard: Array, begun: Array) -> tuple[Any, Array]:
        clock, rings, age = state
        age, total, new = jnp.where(begun, 1, age + 1), jnp.zeros_like(value), []
        for length, ring in zip(self.lengths, rings, strict=True):
            ring = lax.dynamic_update_index_in_dim(ring, value, clock % length, 0)
            back = (clock - jnp.arange(length)) % length
            total = total + jnp.where(back[:, None] < age, ring, 0.0).max(0)
            new.append(ring)
        return (clock + 1, new, age), total


def alone(windows: Any, num_envs: int, steps: int) -> Rollout:
    """Return a rollout of CartPoles, resets included, with windows of their positions."""
    move = jax.vmap(physics, in_axes=-1, out_axes=-1)

    def run(key: Array) -> Array:
        first, rest = jax.random.split(key)
        poles = jax.random.uniform(first, (4, num_envs), minval=-0.05, maxval=0.05)

        def body(carry: Any, key: Array) -> Any:
            poles, held, total, begun = carry
            act, new = jax.random.split(key)
            poles = move(poles, jax.random.bernoulli(act, shape=(num_envs,)).astype(jnp.int32))
            done = (abs(poles[0]) > 2.4) | (abs(poles[2]) > 0.2095)
            if windows is not None:
                value, guard = jnp.clip(1 - abs(poles[0]) / 2.4, 0, 1), jnp.clip(1 - abs(poles[2]), 0, 1)
                held, extremum = windows.push(held, value, guard, begun)
                total = total + extremum
            fresh = jax.random.uniform(new, (4, num_envs), minval=-0.05, maxval=0.05)
            poles = jnp.where(done, fresh, poles)
            return (poles, held, total + abs(poles).sum(0), done), None

        held = None if windows is None else windows.initial(num_envs)
        carry = (poles, held, jnp.zeros(num_envs), jnp.ones(num_envs, bool))
        return lax.scan(body, carry, jax.random.split(rest, steps))[0][2]

    return jax.jit(run)


def measured(variants: dict[str, Rollout], steps: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Return for each variant the µs of a batch step, and what it adds to the first: medians over the rounds."""
    for run in variants.values():
        jax.block_until_ready(run(jax.random.key(0)))
    times: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds):
        for name, run in variants.items():
            began = time.perf_counter()
            jax.block_until_ready(run(jax.random.key(number)))
            times[name].append((time.perf_counter() - began) / steps * 1e6)
    bare = next(iter(times.values()))
    return {
        name: (statistics.median(each), statistics.median(a - b for a, b in zip(each, bare, strict=True)))
        for name, each in times.items()
    }


def table(title: str, found: dict[str, tuple[float, float]], notes: dict[str, str]) -> None:
    print(f"\n{title}:\n\n| variant | µs a batch step | adds | bytes an environment |\n|---|---:|---:|---:|")
    for name, (total, added) in found.items():
        print(f"| {name} | {total:.2f} | {added:+.2f} | {notes.get(name, '')} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    size = given.envs, given.steps
    device = jax.devices()[0]
    print(
        f"{given.envs:,} CartPoles on {device.device_kind} ({device.platform}), JAX {jax.__version__}, Python ", end=""
    )
    print(f"{platform.python_version()}; medians of {given.rounds} rounds of {given.steps:,} steps.")
    runs = {name: wrapped(pairs, observe, *size) for name, (pairs, observe) in SPECS.items()}
    notes = {}
    for name, (pairs, _) in SPECS.items():
        if pairs is not None:
            spec = rs.Spec(pairs, ATOMS, penalty=-1.0)
            state = jax.eval_shape(lambda spec=spec: spec.initial_state(batch=1, xp=jnp))
            notes[name] = str(sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in jax.tree.leaves(state)))
    table("`SpecReward` around CartPole", measured(runs, given.steps, given.rounds), notes)
    three = (100, 50, 30)
    windows: dict[str, Any] = {"bare": None}
    for title, lengths in (("100", (100,)), ("1,000", (1000,)), ("100, 50 and 30", three)):
        windows[f"table, {title}"] = TableWindows(lengths)
        windows[f"slices, {title}"] = SlicedWindows(lengths)
        windows[f"turning, {title}"] = TurningWindows(lengths)
        windows[f"scan all, {title}"] = ScannedWindows(lengths)
        windows[f"table with how long it lasts, {title}"] = LastingWindows(lengths)
    windows["table with guards, 100"] = TableWindows((100,), guarded=True)
    windows["table with guards, 100, 50 and 30"] = TableWindows(three, guarded=True)
    windows["bare again"] = None
    notes = {name: str(each.bytes()) for name, each in windows.items() if isinstance(each, TableWindows)}
    runs = {name: alone(each, *size) for name, each in windows.items()}
    table("Windows alone", measured(runs, given.steps, given.rounds), notes)


if __name__ == "__main__":
    main()

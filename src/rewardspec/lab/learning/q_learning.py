"""Tabular Q-learning of all runs of a cell at once, as one compiled program over the finite product.

Every run has its own table, random numbers and episode; an iteration of the compiled loop takes one step of each. A run
that has finished its last episode waits for the others. Random numbers depend only on the run's seed and the step, so a
run does not depend on the runs that it is trained with.

With counterfactual experience, a step also updates all nodes that differ from the current one only in the monitor's
state, with the same action and outcome.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.learning.finite_numbers import require_finite_policy
from rewardspec.lab.learning.finite_tables import FiniteTables
from rewardspec.lab.learning.settings import LARGEST_EXACT, QLearning
from rewardspec.lab.learning.training_log import Progress, TrainingLog
from rewardspec.lab.tasks.measures import Ending
from rewardspec.types import Array

Arrays: TypeAlias = dict[str, Any]
"""Arrays by name, or nested dictionaries of them."""

_CHUNK = 1_000  # steps between clock readings


def learn_tables(
    tables: FiniteTables, config: QLearning, seeds: Sequence[int], progress: Progress | None = None
) -> tuple[TrainingLog, NDArray[np.float32]]:
    """Train one table for each seed.

    Args:
        tables: The environment and its reward.
        config: The settings.
        seeds: The seed of each run.
        progress: Called regularly with the finished and the total number of episodes of all runs.

    Returns:
        The log, and the learned values of shape (runs, observations, actions).
    """
    try:
        import jax
    except ImportError:
        raise MissingExtraError("jax", "learn", "Training") from None
    _check(tables, config)
    runs = len(seeds)
    total = runs * (config.episodes if config.steps is None else config.steps)
    arrays = _arrays(tables, config)
    carry = _first(tables, config, arrays, runs)
    keys = jax.vmap(jax.random.key)(np.asarray(seeds, dtype=np.uint32))
    advance = _program(config, tables.successor.shape[1:], runs, tuple(tables.formulas), _means(tables))
    compiled = advance.lower(arrays, keys, carry).compile()
    clock = [(0, 0.0)]
    ended: list[tuple[NDArray[np.intp], NDArray[np.float32]]] = []
    began = time.perf_counter()
    finished = 0
    while finished < total:
        carry, record = compiled(arrays, keys, carry)
        record = np.asarray(record)
        clock.append((clock[-1][0] + _CHUNK, time.perf_counter() - began))
        step, run = np.nonzero(record[..., 0])  # only episodes that ended have a length
        ended.append((run, record[step, run]))
        finished = int(np.asarray(carry["episode"]).sum())
        if config.steps is not None:
            finished = runs * min(clock[-1][0], config.steps)
        if progress is not None:
            progress(finished, total)
    learned = _learned(tables, arrays, np.asarray(carry["table"]), runs)
    require_finite_policy({"table": learned}, "Q-learning", "after its last episode")
    return _log(tables, runs, ended, clock), learned


def _check(tables: FiniteTables, config: QLearning) -> None:
    size = tables.successor.size
    if size >= LARGEST_EXACT:
        raise Error(f"The product has {size} outcomes; Q-learning takes up to {LARGEST_EXACT}.")
    if config.counterfactual and tables.observations < len(tables.group):
        raise Error(
            "Counterfactual experience is about the states of a memory, and this learner does not see all of it. "
            'Train with observe="registers".'
        )


def _arrays(tables: FiniteTables, config: QLearning) -> Arrays:
    """Flatten the tables for the program: one entry for each outcome of each action at each node.

    The values of a node are in a row and slot of the learned table; nodes that learn together share a row.
    """
    _, actions, outcomes = tables.successor.shape
    arrays: Arrays = {
        "starts": tables.starts,
        "start_chances": tables.start_chances,
        "chances": tables.chances.reshape(-1, outcomes),
        "successor": tables.successor.reshape(-1),
        "reward": tables.reward.reshape(-1),
        "base_reward": tables.base_reward.reshape(-1),
        "formulas": {
            name: {"starts": one.starts, "successor": one.successor.reshape(-1), "value": one.value.reshape(-1)}
            for name, one in tables.formulas.items()
        },
    }
    if not np.array_equal(tables.reward, tables.truncated_reward):  # saves a lookup, and lookups dominate the time
        arrays["truncated_reward"] = tables.truncated_reward.reshape(-1)
    if config.counterfactual:
        members = arrays["members"] = tables.members()
        arrays["row"] = tables.group
        arrays["slot"] = np.zeros_like(tables.group)
        group, slot = np.nonzero(members >= 0)
        arrays["slot"][members[group, slot]] = slot
        # The common next row of a family's members for the same action and outcome.
        after = np.where(tables.successor < 0, 0, tables.group[tables.successor])
        together = np.zeros((len(members), actions, outcomes), dtype=np.int32)
        np.maximum.at(together, tables.group, after)
        arrays["next_row"] = together.reshape(-1)
    else:
        arrays["row"] = tables.observed
        arrays["slot"] = np.zeros_like(tables.observed)
    if tables.potential is not None:
        arrays["potential"] = tables.potential.astype(np.float32)
    return arrays


def _first(tables: FiniteTables, config: QLearning, arrays: Arrays, runs: int) -> Arrays:
    """Return the initial state of the program; `began` makes it draw an initial node."""
    rows, slots = (int(arrays[name].max()) + 1 for name in ("row", "slot"))
    return {
        "now": np.int32(0),
        "began": np.ones(runs, dtype=bool),
        "node": np.zeros(runs, dtype=np.int32),
        "step": np.zeros(runs, dtype=np.int32),
        "episode": np.zeros(runs, dtype=np.int32),
        "paid": np.zeros((runs, 2), dtype=np.float32),
        "table": np.full((runs * rows, tables.successor.shape[1], slots), config.initial_value, dtype=np.float32),
        "formulas": {name: np.zeros(runs, dtype=np.int32) for name in tables.formulas},
        "sums": {name: np.zeros(runs, dtype=np.float32) for name in _means(tables)},
    }


def _means(tables: FiniteTables) -> tuple[str, ...]:
    """Return the names of the formulas whose means over steps are measured."""
    return tuple(name for name in tables.formulas if tables.task.measures[name].mean)


def _learned(tables: FiniteTables, arrays: Arrays, table: NDArray[np.float32], runs: int) -> NDArray[np.float32]:
    """Return the learned values by observation, shape (runs, observations, actions)."""
    rows = table.reshape(runs, -1, *table.shape[1:])  # runs, rows, actions, slots
    found = np.zeros((runs, tables.observations, table.shape[1]), dtype=np.float32)
    found[:, tables.observed] = rows[:, arrays["row"], :, arrays["slot"]].swapaxes(0, 1)
    return found


@functools.lru_cache(maxsize=64)
def _program(
    config: QLearning, shape: tuple[int, int], runs: int, formulas: tuple[str, ...], means: tuple[str, ...]
) -> Any:  # jax.stages.Wrapped
    """Compile the loop over `_CHUNK` steps of every run."""
    import jax
    import jax.numpy as jnp

    actions, outcomes = shape
    run = np.arange(runs, dtype=np.int32)

    def step(arrays: Arrays, carry: Arrays, chance: Array) -> tuple[Arrays, Array]:
        if config.starts == "drawn":
            start = jnp.searchsorted(arrays["start_chances"], chance[:, 0], side="right")
        else:
            start = carry["episode"] % len(arrays["starts"])
        node = jnp.where(carry["began"], arrays["starts"][start], carry["node"])

        # Act.
        rows = len(carry["table"]) // runs
        place = run * rows + arrays["row"][node]
        slots = carry["table"][place]
        # Without counterfactual experience there is one slot, which saves a lookup.
        values = slots[:, :, 0]
        if config.counterfactual:
            values = jnp.take_along_axis(slots, arrays["slot"][node][:, None, None], axis=2)[:, :, 0]
        decayed = config.epsilon * jnp.float32(config.epsilon_decay) ** carry["episode"].astype(jnp.float32)
        explores = chance[:, 1] < jnp.maximum(decayed, config.epsilon_min)
        random_action = (chance[:, 2] * actions).astype(jnp.int32)
        best = jnp.argmax(values, axis=1)
        if config.ties == "random":
            count = jnp.cumsum(values == jnp.max(values, axis=1, keepdims=True), axis=1)
            best = jnp.argmax(count > jnp.floor(chance[:, 2:3] * count[:, -1:]), axis=1)
        action = jnp.where(explores, random_action, best.astype(jnp.int32))

        # Transition.
        choice = node * actions + action
        outcome = choice * outcomes
        if outcomes > 1:
            outcome += jnp.sum(chance[:, 3:4] >= arrays["chances"][choice], axis=1, dtype=jnp.int32)
        successor = arrays["successor"][outcome]
        terminated = successor < 0
        length = carry["step"] + 1
        truncated = ~terminated & (length >= config.max_steps)
        reward = arrays["reward"][outcome]
        if "truncated_reward" in arrays:
            reward = jnp.where(truncated, arrays["truncated_reward"][outcome], reward)
        going, successor = successor, jnp.maximum(successor, 0)
        values_at_end, after, sums = [], {}, {}
        for name in formulas:
            one = arrays["formulas"][name]
            at = jnp.where(carry["began"], one["starts"][start], carry["formulas"][name])
            at = outcome + (at - node) * actions * outcomes  # the same action and outcome
            value = one["value"][at]
            if name in means:
                value += jnp.where(carry["began"], 0.0, carry["sums"][name])
                sums[name] = value
            values_at_end.append(value)
            after[name] = jnp.maximum(one["successor"][at], 0)

        # Learn at this node, or at all nodes that differ from it only in memory; smaller groups are padded. Truncated
        # episodes are bootstrapped unless the settings disable it.
        nodes = arrays["members"][arrays["row"][node]] if config.counterfactual else node[:, None]
        if config.steps is None:
            active = carry["episode"] < config.episodes
        else:
            active = jnp.broadcast_to(carry["now"] < config.steps, run.shape)
        learns = (nodes >= 0) & active[:, None]
        nodes = jnp.maximum(nodes, 0)
        later, paid_there = going[:, None], reward[:, None]
        if config.counterfactual:
            at = outcome[:, None] + (nodes - node[:, None]) * actions * outcomes  # the same action and outcome
            later, paid_there = arrays["successor"][at], arrays["reward"][at]
            if "truncated_reward" in arrays:
                paid_there = jnp.where(truncated[:, None], arrays["truncated_reward"][at], paid_there)
        stops = later < 0
        if not config.bootstrap_truncated:
            stops |= truncated[:, None]
        if config.counterfactual:
            row = arrays["next_row"][outcome + (arrays["row"][node] - node) * actions * outcomes]
            best_next = jnp.max(carry["table"][run * rows + row], axis=1)
            best_next = jnp.take_along_axis(best_next, arrays["slot"][later], axis=1)
        else:
            best_next = jnp.max(carry["table"][run * rows + arrays["row"][successor]], axis=1)
        if "potential" in arrays:
            best_next += arrays["potential"][later]
            paid_there -= arrays["potential"][nodes]
        target = paid_there + config.discount * jnp.where(stops, 0.0, best_next)
        difference = target - jnp.take_along_axis(slots, action[:, None, None], axis=1)[:, 0]
        table = carry["table"].at[place, action].add(jnp.where(learns, config.learning_rate * difference, 0.0))

        # Record episodes that ended; other lines have length 0.
        paid = carry["paid"] + jnp.stack([reward, arrays["base_reward"][outcome]], axis=1)
        ended = (terminated | truncated) & active
        now = jnp.broadcast_to(carry["now"], run.shape)
        line = jnp.stack([jnp.where(ended, length, 0), *paid.T, outcome, now, *values_at_end], axis=1)
        over = terminated | truncated
        after_step = {
            "now": carry["now"] + 1,
            "began": over,
            "node": successor,
            "step": jnp.where(over, 0, length),
            "episode": carry["episode"] + ended,
            "paid": jnp.where(over[:, None], 0.0, paid),
            "table": table,
            "formulas": after,
            "sums": sums,
        }
        return after_step, line.astype(jnp.float32)

    def draw(keys: Array, now: Array) -> Array:
        bits = jax.vmap(lambda key: jax.random.bits(jax.random.fold_in(key, now), (4,)))(keys)
        return (bits >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)  # uniform in [0, 1)

    def advance(arrays: Arrays, keys: Array, carry: Arrays) -> tuple[Arrays, Array]:
        # Draw all random numbers of a chunk at once; drawing them step by step takes longer than learning.
        chances = jax.vmap(lambda now: draw(keys, now))(carry["now"] + jnp.arange(_CHUNK))
        final, record = jax.lax.scan(functools.partial(step, arrays), carry, chances)
        return final, record

    return jax.jit(advance, donate_argnums=2)


def _log(
    tables: FiniteTables,
    runs: int,
    ended: list[tuple[NDArray[np.intp], NDArray[np.float32]]],
    clock: list[tuple[int, float]],
) -> TrainingLog:
    run = np.concatenate([part for part, _ in ended])
    order = np.argsort(run, kind="stable")
    run, record = run[order], np.concatenate([part for _, part in ended])[order].astype(np.float64)
    length, reward, base_reward, outcome, now, *values = record.T
    outcome = outcome.astype(np.int64)
    length = length.astype(np.int64)
    terminated = tables.successor.reshape(-1)[outcome] < 0
    ending = Ending(tables.last_state.reshape(-1)[outcome], length, base_reward, terminated)
    known = dict(zip(tables.formulas, values, strict=True))
    known |= {name: known[name] / length for name in _means(tables)}
    known |= {name: column.reshape(-1)[outcome] for name, column in tables.measures.items()}
    measures = {name: known[name] if name in known else m(ending) for name, m in tables.task.measures.items()}
    total = np.concatenate([[0], np.cumsum(length)])
    before = total[np.searchsorted(run, np.arange(runs))]  # steps of the runs before
    return TrainingLog.from_columns(
        runs,
        {
            "run": run,
            "end_step": total[1:] - before[run],
            "length": length,
            "reward": reward,
            "base_reward": base_reward,
            "violated": tables.violated.reshape(-1)[outcome],
            "seconds": np.interp(now + 1, *np.transpose(clock)),
            **measures,
        },
    )

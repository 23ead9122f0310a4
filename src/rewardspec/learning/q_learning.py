"""Tabular Q-learning: all runs of a cell at once, as one compiled program over the finite product.

Every run has its own table, its own random numbers and its own place in its own episode; one pass of the compiled loop
takes one step of each. A run whose last episode is over waits for the others. Random numbers depend on the run's seed
and on the number of the step alone, so that a run does the same whichever runs it is trained beside.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, MissingExtraError
from rewardspec.learning.finite_tables import FiniteTables
from rewardspec.learning.settings import LARGEST_EXACT, QLearning
from rewardspec.learning.training_log import Progress, TrainingLog
from rewardspec.tasks.measures import Ending

_CHUNK = 1_000
"""Steps between two looks at the clock."""


def learn_tables(
    tables: FiniteTables, config: QLearning, seeds: Sequence[int], progress: Progress | None = None
) -> tuple[TrainingLog, NDArray[np.float32]]:
    """Train one table for each seed.

    Args:
        tables: The environment and its reward.
        config: The settings.
        seeds: The seed of each run.
        progress: Called now and then with the episodes finished and to finish, all runs together.

    Returns:
        The log, and the learned values of shape (runs, observations, actions).
    """
    try:
        import jax
    except ImportError:
        raise MissingExtraError("jax", "learn", "Training") from None
    if tables.successor.size >= LARGEST_EXACT:
        raise Error(f"The product has {tables.successor.size} outcomes; Q-learning takes up to {LARGEST_EXACT}.")
    runs, total = len(seeds), len(seeds) * config.episodes
    arrays = _arrays(tables)
    carry = _first(tables, config, runs)
    keys = jax.vmap(jax.random.key)(np.asarray(seeds, dtype=np.uint32))
    advance = _program(config, tables.successor.shape, tables.observations, runs, tuple(tables.formulas))
    compiled = advance.lower(arrays, keys, carry).compile()
    clock = [(0, 0.0)]
    began = time.perf_counter()
    while True:
        carry = compiled(arrays, keys, carry)
        finished = int(np.asarray(carry["episode"]).sum())
        clock.append((clock[-1][0] + _CHUNK, time.perf_counter() - began))
        if progress is not None:
            progress(finished, total)
        if finished == total:
            break
    table = np.asarray(carry["table"]).reshape(runs, tables.observations, -1)
    return _log(tables, config, runs, np.asarray(carry["record"]), clock), table


def _arrays(tables: FiniteTables) -> dict[str, Any]:
    """The tables as the program takes them: flat, one entry for each outcome of each action at each node."""
    nodes, actions, outcomes = tables.successor.shape
    return {
        "observed": tables.observed,
        "starts": tables.starts,
        "start_chances": tables.start_chances,
        "chances": tables.chances.reshape(nodes * actions, outcomes),
        "successor": tables.successor.reshape(-1),
        "reward": tables.reward.reshape(-1),
        "truncated_reward": tables.truncated_reward.reshape(-1),
        "base_reward": tables.base_reward.reshape(-1),
        "formulas": {
            name: {"starts": one.starts, "successor": one.successor.reshape(-1), "value": one.value.reshape(-1)}
            for name, one in tables.formulas.items()
        },
    }


def _first(tables: FiniteTables, config: QLearning, runs: int) -> dict[str, Any]:
    """Where every run is before its first step; `began` tells the program to draw a start."""
    actions = tables.successor.shape[1]
    return {
        "now": np.int32(0),
        "began": np.ones(runs, dtype=bool),
        "node": np.zeros(runs, dtype=np.int32),
        "step": np.zeros(runs, dtype=np.int32),
        "episode": np.zeros(runs, dtype=np.int32),
        "paid": np.zeros((runs, 2), dtype=np.float32),
        "table": np.zeros((runs * tables.observations, actions), dtype=np.float32),
        "record": np.zeros((runs * config.episodes, len(_RECORD) + len(tables.formulas)), dtype=np.float32),
        "formulas": {name: np.zeros(runs, dtype=np.int32) for name in tables.formulas},
    }


_RECORD = ("length", "reward", "base_reward", "outcome", "now")


@functools.lru_cache(maxsize=64)
def _program(
    config: QLearning, shape: tuple[int, int, int], observations: int, runs: int, formulas: tuple[str, ...]
) -> Any:
    """The compiled loop: `_CHUNK` steps of every run."""
    import jax
    import jax.numpy as jnp

    _, actions, outcomes = shape
    run = np.arange(runs, dtype=np.int32)

    def step(arrays: Any, keys: Any, carry: Any) -> Any:
        bits = jax.vmap(lambda key: jax.random.bits(jax.random.fold_in(key, carry["now"]), (4,)))(keys)
        chance = (bits >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)  # uniform in [0, 1)
        start = jnp.searchsorted(arrays["start_chances"], chance[:, 0], side="right")
        node = jnp.where(carry["began"], arrays["starts"][start], carry["node"])

        # Act.
        place = run * observations + arrays["observed"][node]
        values = carry["table"][place]
        decayed = config.epsilon * jnp.float32(config.epsilon_decay) ** carry["episode"].astype(jnp.float32)
        explores = chance[:, 1] < jnp.maximum(decayed, config.epsilon_min)
        random_action = (chance[:, 2] * actions).astype(jnp.int32)
        action = jnp.where(explores, random_action, jnp.argmax(values, axis=1).astype(jnp.int32))

        # What happens.
        choice = node * actions + action
        outcome = choice * outcomes
        if outcomes > 1:
            outcome += jnp.sum(chance[:, 3:4] >= arrays["chances"][choice], axis=1, dtype=jnp.int32)
        successor = arrays["successor"][outcome]
        terminated = successor < 0
        length = carry["step"] + 1
        truncated = ~terminated & (length >= config.max_steps)
        reward = jnp.where(truncated, arrays["truncated_reward"][outcome], arrays["reward"][outcome])
        successor = jnp.maximum(successor, 0)
        values_at_end, after = [], {}
        for name in formulas:
            one = arrays["formulas"][name]
            at = jnp.where(carry["began"], one["starts"][start], carry["formulas"][name])
            at = outcome + (at - node) * actions * outcomes  # the same action and outcome
            values_at_end.append(one["value"][at])
            after[name] = jnp.maximum(one["successor"][at], 0)

        # Learn. An episode that was cut off goes on as far as its value is concerned.
        best_next = jnp.max(carry["table"][run * observations + arrays["observed"][successor]], axis=1)
        target = reward + config.discount * jnp.where(terminated, 0.0, best_next)
        active = carry["episode"] < config.episodes
        difference = target - jnp.take_along_axis(values, action[:, None], axis=1)[:, 0]
        table = carry["table"].at[place, action].add(jnp.where(active, config.learning_rate * difference, 0.0))

        # Record the episodes that ended; those of a run that is through fall outside and are dropped.
        paid = carry["paid"] + jnp.stack([reward, arrays["base_reward"][outcome]], axis=1)
        ended = (terminated | truncated) & active
        now = jnp.broadcast_to(carry["now"], run.shape)
        line = jnp.stack([length, *paid.T, outcome, now, *values_at_end], axis=1)
        row = jnp.where(ended, run * config.episodes + carry["episode"], len(run) * config.episodes)
        over = terminated | truncated
        return {
            "now": carry["now"] + 1,
            "began": over,
            "node": successor,
            "step": jnp.where(over, 0, length),
            "episode": carry["episode"] + ended,
            "paid": jnp.where(over[:, None], 0.0, paid),
            "table": table,
            "record": carry["record"].at[row].set(line.astype(jnp.float32), mode="drop"),
            "formulas": after,
        }

    def advance(arrays: Any, keys: Any, carry: Any) -> Any:
        return jax.lax.fori_loop(0, _CHUNK, lambda _, state: step(arrays, keys, state), carry)

    return jax.jit(advance, donate_argnums=2)


def _log(
    tables: FiniteTables,
    config: QLearning,
    runs: int,
    record: NDArray[np.float32],
    clock: list[tuple[int, float]],
) -> TrainingLog:
    length, reward, base_reward, outcome, now, *values = record.astype(np.float64).T
    outcome = outcome.astype(np.int64)
    length = length.astype(np.int64)
    terminated = tables.successor.reshape(-1)[outcome] < 0
    ending = Ending(tables.last_state.reshape(-1)[outcome], length, base_reward, terminated)
    known = dict(zip(tables.formulas, values, strict=True))
    known |= {name: column.reshape(-1)[outcome] for name, column in tables.measures.items()}
    measures = {name: known[name] if name in known else m(ending) for name, m in tables.task.measures.items()}
    steps = np.cumsum(length.reshape(runs, config.episodes), axis=1).reshape(-1)
    return TrainingLog.of(
        runs,
        {
            "run": np.repeat(np.arange(runs), config.episodes),
            "end_step": steps,
            "length": length,
            "reward": reward,
            "base_reward": base_reward,
            "violated": tables.violated.reshape(-1)[outcome],
            "seconds": np.interp(now + 1, *np.transpose(clock)),
            **measures,
        },
    )

"""Training on any environment of the protocol of `rewardspec.jax`, for benchmarks: success curves, no policy files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardspec.lab.learning.array_files import Checkpoint, restored_tree
from rewardspec.lab.learning.device_ppo import Carry, DevicePPO
from rewardspec.lab.learning.networks import HIDDEN, Encoder
from rewardspec.lab.learning.ppo_update import import_jax
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.training_log import Progress

if TYPE_CHECKING:
    from rewardspec.jax import SpecReward

Success = Callable[[dict[str, Any]], Any]
"""Function from the `info` of a step, as `rewardspec.jax.SpecReward` returns it, to how well the episode did that ended
there: an array of shape (num_envs,)."""
Measures = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Function from the `info` of a step to such arrays, by name."""
Evaluate = Callable[[int, Any], Mapping[str, Any]]
"""Function from the steps of a run so far and the parameters of all runs to how well the policies do: arrays of shape
(runs,), by name."""


class Curves(NamedTuple):
    """What runs did, update by update.

    Attributes:
        steps: Steps of a run after each update, shape (updates,).
        episodes: Number of episodes that ended in each update, shape (runs, updates).
        means: Mean over those episodes, by name, each of shape (runs, updates); NaN where none ended. The names are
            `return`, `base_return`, `length`, with a spec `violated`, `success` where it was asked for, and the names
            of the measures.
        compile_seconds: Seconds of the first call, most of which is compiling.
        seconds: Seconds of all other calls.
        parameters: Parameters of the networks, arrays whose first axis is the runs.
        evaluated_steps: Steps of a run at each evaluation, shape (evaluations,).
        evaluated: What `evaluate` returned then, by name, each of shape (runs, evaluations).
    """

    steps: NDArray[np.int64]
    episodes: NDArray[np.int64]
    means: Mapping[str, NDArray[np.float64]]
    compile_seconds: float
    seconds: float
    parameters: Any
    evaluated_steps: NDArray[np.int64]
    evaluated: Mapping[str, NDArray[np.float64]]

    def final(self, name: str, share: float = 0.1) -> NDArray[np.float64]:
        """Return the mean of the episodes that ended in the last share of each run's updates, shape (runs,)."""
        first = int(len(self.steps) * (1.0 - share))
        weights = self.episodes[:, first:]
        sums = np.where(weights > 0, self.means[name][:, first:] * weights, 0.0).sum(axis=1)
        total = weights.sum(axis=1)
        means: NDArray[np.float64] = np.divide(sums, total, out=np.full(len(total), np.nan), where=total > 0)
        return means


def train_jax_envs(
    envs: SpecReward,
    config: PPO,
    seeds: Sequence[int],
    *,
    success: Success | None = None,
    measures: Measures | None = None,
    encoder: Encoder | None = None,
    hidden: Sequence[int] = HIDDEN,
    chunk: int | None = None,
    progress: Progress | None = None,
    evaluate: Evaluate | None = None,
    evaluations: int = 10,
    checkpoint: Checkpoint | None = None,
) -> Curves:
    """Train one policy for each seed with PPO, as one compiled program, where JAX computes by default.

    Args:
        envs: The environments of one run, with a spec or without; as many as `config.envs`.
        config: The settings.
        seeds: The seed of each run.
        success: How well an episode did, by the environment's own criterion.
        measures: What else is measured of an episode.
        encoder: What the networks see of observations; by default all their numbers.
        hidden: Sizes of the networks' hidden layers.
        chunk: Updates of one call of the program; a fiftieth of all by default.
        progress: Called after each call with the steps taken and to take, all runs together.
        evaluate: Called with the policies so far, after the first call that reaches each tenth of the training. The
            parameters it gets are valid until it returns, and the time it takes does not count.
        evaluations: How often that is, if not ten times.
        checkpoint: File that an interrupted training goes on from, with the same results bit for bit.

    Example:
        >>> from rewardspec import tasks
        >>> from rewardspec.jax import SpecReward
        >>> from rewardspec.lab.learning.physics_env import physics_env
        >>> task, config = tasks.get("cart_pole"), PPO(total_steps=1_024, rollout_steps=32, envs=8)
        >>> envs = SpecReward(physics_env(task), task.spec("quantitative"), config.envs, limit=500)
        >>> curves = train_jax_envs(envs, config, [0, 1])
        >>> curves.steps.tolist(), curves.means["length"].shape
        ([256, 512, 768, 1024], (2, 4))
    """
    jax, _, _ = import_jax()
    steps = config.rollout_steps * config.envs
    updates = config.total_steps // steps

    def kept(info: dict[str, Any]) -> dict[str, Any]:
        episode = {name: value for name, value in info["episode"].items() if name != "values"}
        episode |= {} if measures is None else measures(info)
        return episode if success is None else {**episode, "success": success(info)}

    chunk = chunk or -(-updates // 50)
    program = DevicePPO(envs, config, kept, _sums, chunk, encoder, tuple(hidden))
    carry, keys = program.initial(seeds), program.keys(seeds)
    records, evaluated, done, seconds = _Columns(), _Columns(), 0, 0.0
    if checkpoint is not None and (restored := checkpoint.load(carry)) is not None:
        leaves, columns, done, seconds = restored
        carry = restored_tree(carry, leaves)
        records, evaluated = _Columns.restored(columns, "record"), _Columns.restored(columns, "evaluated")
    compile_seconds = None
    while done < updates:
        count, began = min(chunk, updates - done), time.perf_counter()
        carry, record = program.advance(carry, keys, done, count, updates)
        records.append(jax.tree.map(lambda leaf, count=count: np.asarray(leaf)[:count], record["kept"]))
        done, took = done + count, time.perf_counter() - began
        compile_seconds, seconds = (took, seconds) if compile_seconds is None else (compile_seconds, seconds + took)
        if progress is not None:
            progress(done * steps * len(seeds), updates * steps * len(seeds))
        if evaluate is not None and evaluations * done // updates > evaluations * (done - count) // updates:
            found = evaluate(done * steps, carry.parameters)
            row = {name: np.asarray(values)[None] for name, values in found.items()}
            evaluated.append({**row, _STEPS: np.array([done * steps])})
        if checkpoint is not None and checkpoint.is_due and done < updates:
            checkpoint.save(carry, {**records.named("record"), **evaluated.named("evaluated")}, done, seconds)
    envs.check_labels(carry.envs)
    if checkpoint is not None:
        checkpoint.remove()
    return _curves(records.merged(), evaluated.merged(), steps, compile_seconds or 0.0, seconds, carry)


_STEPS = "steps"


class _Columns:
    """Rows that are added in parts, by name: arrays whose first axis is the rows."""

    def __init__(self) -> None:
        self.parts: list[Mapping[str, NDArray[Any]]] = []

    @classmethod
    def restored(cls, columns: Mapping[str, NDArray[Any]], kind: str) -> _Columns:
        """Return those that `named` gave names of a kind."""
        found = cls()
        start = f"{kind} "
        part = {name.removeprefix(start): values for name, values in columns.items() if name.startswith(start)}
        if part:
            found.append(part)
        return found

    def append(self, part: Mapping[str, NDArray[Any]]) -> None:
        """Add rows."""
        self.parts.append(part)

    def merged(self) -> dict[str, NDArray[Any]]:
        """Return all rows."""
        names = self.parts[0] if self.parts else ()
        found = {name: np.concatenate([part[name] for part in self.parts]) for name in names}
        self.parts = [found] if found else []
        return found

    def named(self, kind: str) -> dict[str, NDArray[Any]]:
        """Return all rows under names of a kind."""
        return {f"{kind} {name}": values for name, values in self.merged().items()}


def _sums(rows: dict[str, Any]) -> dict[str, Any]:
    """Number of the episodes that ended in a rollout, and the sums of their numbers."""
    done = rows["done"]
    found = {name: (values * done).sum() for name, values in rows.items() if name != "done"}
    return {"episodes": done.sum(), **found}


def _curves(
    records: dict[str, NDArray[Any]],
    evaluated: dict[str, NDArray[Any]],
    steps: int,
    compile_seconds: float,
    seconds: float,
    carry: Carry,
) -> Curves:
    columns = {name: rows.T for name, rows in records.items()}
    episodes = columns.pop("episodes").astype(np.int64)
    some = np.where(episodes > 0, episodes, np.nan)
    means = {name: column.astype(np.float64) / some for name, column in columns.items()}
    counted = (np.arange(episodes.shape[1], dtype=np.int64) + 1) * steps
    at = evaluated.pop(_STEPS, np.zeros(0, dtype=np.int64))
    results = {name: rows.T.astype(np.float64) for name, rows in evaluated.items()}
    return Curves(counted, episodes, means, compile_seconds, seconds, carry.parameters, at, results)

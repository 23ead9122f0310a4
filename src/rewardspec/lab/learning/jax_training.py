"""Training on any environment of the protocol of `rewardspec.jax`, for benchmarks: success curves, no policy files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
Checkpoint = Callable[[int, Any], None]
"""Function of the steps of a run so far, and the parameters of all runs."""


class Curves(NamedTuple):
    """What runs did, update by update.

    Attributes:
        steps: Steps of a run after each update, shape (updates,).
        episodes: Number of episodes that ended in each update, shape (runs, updates).
        means: Mean over those episodes, by name, each of shape (runs, updates); NaN where none ended. The names are
            `return`, `base_return`, `length`, with a spec `violated`, `success` where it was asked for, and the names
            of the measures.
        compile_seconds: Seconds until the first update was done.
        seconds: Seconds of all updates but the first call's.
        parameters: Parameters of the networks, arrays whose first axis is the runs.
    """

    steps: NDArray[np.int64]
    episodes: NDArray[np.int64]
    means: Mapping[str, NDArray[np.float64]]
    compile_seconds: float
    seconds: float
    parameters: Any

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
        checkpoint: Called after each call. The parameters it gets are valid until it returns, and the time it takes
            does not count.

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
    records: list[Any] = []
    began = time.perf_counter()
    first = None
    for done in range(0, updates, chunk):
        count = min(chunk, updates - done)
        carry, record = program.advance(carry, keys, done, count, updates)
        records.append(jax.tree.map(lambda leaf, count=count: np.asarray(leaf)[:count], record["kept"]))
        first = first or time.perf_counter() - began
        if progress is not None:
            progress((done + count) * steps * len(seeds), updates * steps * len(seeds))
        if checkpoint is not None:
            paused = time.perf_counter()
            checkpoint((done + count) * steps, carry.parameters)
            began += time.perf_counter() - paused  # the seconds are those of training
    envs.check_labels(carry.envs)
    whole = time.perf_counter() - began
    return _curves(records, steps, first or 0.0, whole - (first or 0.0), carry)


def _sums(rows: dict[str, Any]) -> dict[str, Any]:
    """Number of the episodes that ended in a rollout, and the sums of their numbers."""
    done = rows["done"]
    found = {name: (values * done).sum() for name, values in rows.items() if name != "done"}
    return {"episodes": done.sum(), **found}


def _curves(records: Sequence[Mapping[str, Any]], steps: int, first: float, seconds: float, carry: Carry) -> Curves:
    columns = {name: np.concatenate([record[name] for record in records]).T for name in records[0]}
    episodes = columns.pop("episodes").astype(np.int64)
    some = np.where(episodes > 0, episodes, np.nan)
    means = {name: column.astype(np.float64) / some for name, column in columns.items()}
    counted = (np.arange(episodes.shape[1], dtype=np.int64) + 1) * steps
    return Curves(counted, episodes, means, first, seconds, carry.parameters)

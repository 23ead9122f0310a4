"""A batch of environments with a spec as its reward, and a record of every episode: what PPO plays."""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.features import Features, Observe
from rewardspec.learning.env_batches import EnvBatch
from rewardspec.learning.training_log import TrainingLog
from rewardspec.spec.spec import Spec
from rewardspec.tasks.task import Task

Floats = NDArray[np.float32]


class PaidBatch:
    """The environments of several runs, side by side: rewards from a spec, observations with the monitor's numbers.

    Environments of the same run are neighbours in the batch.

    Args:
        task: The task, whose measure of success is recorded.
        batch: The environments.
        runs: Among how many runs they are divided.
        spec: The spec that pays, or None for the environment's own reward.
        observe: What of the monitor is appended to the observation; see `rewardspec.episodes.features`.

    Attributes:
        observation_size: Numbers in an observation, the monitor's included.
    """

    def __init__(self, task: Task, batch: EnvBatch, runs: int, spec: Spec | None, observe: str | None) -> None:
        self.task = task
        self.batch = batch
        self.runs = runs
        self.spec = spec
        self.features = None if spec is None or observe is None else Features(spec, cast("Observe", observe))
        if self.features is not None and not self.features.names:
            self.features = None  # the product is Markov as it is
        extra = 0 if self.features is None else len(self.features.names)
        self.observation_size = batch.observation_size + extra
        count = len(batch)
        self._run = np.repeat(np.arange(runs), count // runs)
        self._length = np.zeros(count, dtype=np.int64)
        self._paid = np.zeros(count)
        self._base = np.zeros(count)
        self._steps = 0
        self._rows: list[tuple[Any, ...]] = []

    def reset(self) -> Floats:
        """The first observations; the clock of the record starts."""
        self._obs = self.batch.reset()
        self._state: Any = None
        if self.spec is not None:
            count = len(self.batch)
            labels = self.spec.batch_labels(count).of(self._obs, None, self._obs)
            self._state = self.spec.start(labels, batch=count)
        self._began = time.perf_counter()
        return self._shown(self._obs)

    def step(self, actions: Any) -> tuple[Floats, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """One step of every environment: observations, rewards, and where an episode ended or was cut off."""
        step = self.batch.step(actions)
        ended = step.terminated | step.truncated
        reward = step.reward
        if self.spec is not None:
            count = len(self.batch)
            labels = self.spec.batch_labels(count).of(self._obs, actions, step.next_obs)
            self._state, reward = self.spec.step(self._state, labels, step.reward, step.terminated, step.truncated)
        self._steps += len(self.batch) // self.runs
        self._length += 1
        self._paid += reward
        self._base += step.reward
        self._obs = step.obs
        if ended.any():
            self._record(np.flatnonzero(ended), step.next_obs)
            if self.spec is not None:
                labels = self.spec.batch_labels(count).of(step.obs, None, step.obs)
                self._state = self.spec.reset(self._state, labels, ended)
        return self._shown(step.obs), reward, step.terminated, step.truncated

    def _record(self, ended: NDArray[np.int64], last_obs: Floats) -> None:
        seconds = time.perf_counter() - self._began
        completion = np.asarray(self.task.task_completion(last_obs[ended]))
        violated = np.zeros(len(self.batch), dtype=bool) if self.spec is None else self.spec.violated(self._state)
        # Fancy indexing copies, so that the sums can be set to 0 below.
        self._rows.append(
            (
                *(self._run[ended], np.full(len(ended), self._steps), self._length[ended]),
                *(self._paid[ended], self._base[ended], completion, violated[ended], np.full(len(ended), seconds)),
            )
        )
        self._length[ended] = 0
        self._paid[ended] = 0.0
        self._base[ended] = 0.0

    def _shown(self, obs: Floats) -> Floats:
        if self.features is None:
            return obs
        numbers = self.features.read_batch(self._state, len(self.batch))
        return np.concatenate((obs, numbers), axis=1, dtype=np.float32, casting="same_kind")

    def log(self) -> TrainingLog:
        """The episodes finished so far."""
        names = TrainingLog.columns_of_a_log()
        if not self._rows:
            return TrainingLog.empty(self.runs)
        columns = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
        return TrainingLog.ordered(self.runs, dict(zip(names, columns, strict=True)))

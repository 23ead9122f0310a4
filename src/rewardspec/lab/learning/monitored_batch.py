"""A batch of environments with a spec as its reward, and a record of every episode: what PPO plays."""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.batched_spaces import take
from rewardspec.episodes.engine import Episodes
from rewardspec.episodes.features import Features, Observe
from rewardspec.lab.learning.env_batches import EnvBatch
from rewardspec.lab.learning.finite_numbers import require_finite
from rewardspec.lab.learning.spaces import Actions, flattener, observation_size
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.lab.tasks.measures import Ending, formula_measures
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec

Floats = NDArray[np.float32]


class MonitoredBatch:
    """The environments of several runs, side by side: rewards from a spec, observations with the monitor's numbers.

    Environments of the same run are neighbors in the batch.

    Args:
        task: The task, whose measures of success are recorded.
        batch: The environments.
        runs: Among how many runs they are divided.
        spec: The spec that pays, or None for the environment's own reward.
        observe: What of the monitor is appended to the observation; see `rewardspec.episodes.features`.

    Attributes:
        observation_size: Numbers in an observation, the monitor's included.
        actions: How actions are chosen.
        obs: The environments' own observations, as they are.
        keeps_last: Whether to keep `last`.
        last: What a policy would have seen next where an episode ended by the last step, had it gone on; elsewhere
            what it does see. None where none ended.
    """

    def __init__(self, task: Task, batch: EnvBatch, runs: int, spec: Spec | None, observe: str | None) -> None:
        self.task = task
        self.batch = batch
        self.runs = runs
        self.spec = spec
        self.actions = Actions(batch.action_space)
        self.features = None if spec is None or observe is None else Features(spec, cast("Observe", observe))
        if self.features is not None and not self.features.names:
            self.features = None  # the product is Markov as it is
        extra = 0 if self.features is None else len(self.features.names)
        self.observation_size = observation_size(batch.observation_space) + extra
        self.keeps_last = False
        self.last: Floats | None = None
        self._flatten = flattener(batch.observation_space)
        count = len(batch)
        self._payer = None if spec is None else self._beside(spec)
        formulas = formula_measures(task)
        self._measurer = None if formulas is None else self._beside(formulas)
        self._run = np.repeat(np.arange(runs), count // runs)
        self._length = np.zeros(count, dtype=np.int64)
        self._paid = np.zeros(count)
        self._base = np.zeros(count)
        self._steps = 0
        self._rows: list[dict[str, Any]] = []

    def _beside(self, spec: Spec) -> Episodes:
        return Episodes(spec, len(self.batch), self.batch.observation_space, self.batch.action_space)

    def reset(self) -> Floats:
        """The first observations; the clock of the record starts."""
        self.obs, info = self.batch.reset()
        self._state: Any = None if self._payer is None else self._payer.start(self.obs, info)
        self._measured: Any = None if self._measurer is None else self._measurer.start(self.obs, info)
        self._began = time.perf_counter()
        return self._shown(self.obs)

    def step(self, actions: Any) -> tuple[Floats, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """One step of every environment: observations, rewards, and where an episode ended or was cut off.

        Raises:
            Error: An observation or a reward is NaN or infinite.
        """
        step = self.batch.step(actions)
        reward = step.reward
        self._length += 1
        require_finite(reward, f"The reward of {self.task.title}", self._where)
        transition = (self.obs, actions, step.next_obs, step.reward, step.terminated, step.truncated, step.info)
        if self._payer is not None:
            self._state, reward = self._payer.advance(self._state, *transition)
            require_finite(reward, f"The reward that the spec pays in {self.task.title}", self._where)
        if self._measurer is not None:
            self._measured, _ = self._measurer.advance(self._measured, *transition)
        self._steps += len(self.batch) // self.runs
        self._paid += reward
        self._base += step.reward
        ended = np.flatnonzero(step.terminated | step.truncated)
        self.last = self._shown(step.next_obs) if self.keeps_last and ended.size else None
        if ended.size:
            self._record(ended, step.next_obs, step.terminated)
            if self._payer is not None:
                self._state, _ = self._payer.restart(self._state, step.obs, ended, step.first_info)
            if self._measurer is not None:
                self._measured, _ = self._measurer.restart(self._measured, step.obs, ended, step.first_info)
        self.obs = step.obs
        return self._shown(self.obs), reward, step.terminated, step.truncated

    def _record(self, ended: NDArray[np.intp], last_obs: Any, terminated: NDArray[np.bool_]) -> None:
        seconds = time.perf_counter() - self._began
        violated = np.zeros(len(self.batch), dtype=bool) if self.spec is None else self.spec.violated(self._state)
        # Fancy indexing copies, so that the sums can be set to 0 below.
        row = {
            "run": self._run[ended],
            "end_step": np.full(len(ended), self._steps),
            "length": self._length[ended],
            "reward": self._paid[ended],
            "base_reward": self._base[ended],
            "violated": violated[ended],
            "seconds": np.full(len(ended), seconds),
        }
        obs = take(self.batch.observation_space, last_obs, ended)
        ending = Ending(obs, row["length"], row["base_reward"], terminated[ended])
        values = iter(() if self._measurer is None else self._measurer.spec.values(self._measured))
        for name, measure in self.task.measures.items():
            value = next(values)[ended] if measure.formula is not None else measure(ending)
            row[name] = np.broadcast_to(np.asarray(value), len(ended))
        self._rows.append(row)
        self._length[ended] = 0
        self._paid[ended] = 0.0
        self._base[ended] = 0.0

    def _shown(self, obs: Any) -> Floats:
        flat = self._flatten(obs)
        require_finite(flat, f"The observation of {self.task.title}", self._where)
        if self.features is None:
            return cast("Floats", flat)
        numbers = self.features.read_batch(self._state, len(self.batch))
        return np.concatenate((flat, numbers), axis=1, dtype=np.float32, casting="same_kind")

    def _where(self, env: int) -> str:
        """Which step of which environment is looked at, for error messages."""
        each = len(self.batch) // self.runs
        return f"in environment {env % each} of run {self._run[env]}, after step {self._length[env]} of its episode,"

    def log(self) -> TrainingLog:
        """The episodes finished so far."""
        if not self._rows:
            return TrainingLog.empty(self.runs, self.task.measures)
        columns = {name: np.concatenate([row[name] for row in self._rows]) for name in self._rows[0]}
        return TrainingLog.ordered(self.runs, columns)

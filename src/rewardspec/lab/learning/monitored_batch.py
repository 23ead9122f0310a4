"""Batches of environments with a spec as reward and a log of every episode, for PPO."""

from __future__ import annotations

import time
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.batched_spaces import take
from rewardspec.episodes.engine import BatchEngine, Transition
from rewardspec.episodes.features import Features
from rewardspec.lab.learning.env_batches import EnvBatch
from rewardspec.lab.learning.finite_numbers import require_finite
from rewardspec.lab.learning.spaces import Actions, counts_steps, features_of, flattener, observation_size
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.lab.tasks.measures import Ending, formula_measures, measured, number_of_means, of_means
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, Array, Bools, MachineState, Observation

Floats = NDArray[np.float32]


class MonitoredBatch:
    """The environments of several runs in one batch, with rewards from a spec and features of its monitor.

    The environments of a run are consecutive.

    `observe` is what of the monitor is appended to observations, and `scale_actions` whether outputs are mapped onto
    the bounds of actions; see `rewardspec.lab.learning.spaces`.

    Attributes:
        observation_size: Size of an observation, with the monitor's features.
        actions: The action space of the policy.
        obs: The environments' own observations.
        keeps_last: Whether to keep `last`.
        last: Observations before autoreset: the final ones of episodes that ended with the last step, and the current
            ones of the others, shape (n, observation_size). None if no episode ended.
    """

    def __init__(
        self,
        task: Task,
        batch: EnvBatch,
        runs: int,
        spec: Spec | None,
        observe: str | None,
        *,
        scale_actions: bool = False,
    ) -> None:
        self.task = task
        self.batch = batch
        self.runs = runs
        self.spec = spec
        self.actions = Actions(batch.action_space, scaled=scale_actions)
        self.features = None if spec is None or observe is None else Features(spec, features_of(observe))
        if self.features is not None and not self.features.names:
            self.features = None  # the product is Markov as it is
        self._counts = counts_steps(observe)
        extra = 0 if self.features is None else len(self.features.names)
        self.observation_size = observation_size(batch.observation_space) + extra + self._counts
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
        self._sums = [np.zeros(count) for _ in range(number_of_means(task))]
        self._steps = 0
        self._rows: list[dict[str, Array]] = []

    def _beside(self, spec: Spec) -> BatchEngine:
        batch = self.batch
        return BatchEngine(spec, len(batch), observation_space=batch.observation_space, action_space=batch.action_space)

    def reset(self) -> Floats:
        """Reset the environments and the clock of the log; return observations of shape (n, observation_size)."""
        self.obs, info = self.batch.reset()
        self._state: MachineState = None if self._payer is None else self._payer.start(self.obs, info)[0]
        self._measured: MachineState = None if self._measurer is None else self._measurer.start(self.obs, info)[0]
        self._began = time.perf_counter()
        return self._shown(self.obs)

    def step(self, actions: Action) -> tuple[Floats, NDArray[np.float64], Bools, Bools]:
        """Step every environment; return observations, rewards, terminations and truncations, all finite."""
        step = self.batch.step(actions)
        reward = step.reward
        self._length += 1
        require_finite(reward, f"The reward of {self.task.title}", self._where)
        transition = Transition(
            self.obs, actions, step.next_obs, step.info, step.reward, step.terminated, step.truncated
        )
        if self._payer is not None:
            self._state, paid = self._payer.advance(self._state, transition, step=self._length)
            reward = paid.reward
            require_finite(reward, f"The reward that the spec pays in {self.task.title}", self._where)
        if self._measurer is not None:
            self._measured, _ = self._measurer.advance(self._measured, transition, step=self._length)
            if self._sums:
                values = of_means(self.task, self._measurer.spec.values(self._measured))
                for total, value in zip(self._sums, values, strict=True):
                    total += value
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

    def _record(self, ended: NDArray[np.intp], last_obs: Observation, terminated: Bools) -> None:
        seconds = time.perf_counter() - self._began
        violated = np.zeros(len(self.batch), dtype=bool) if self.spec is None else self.spec.violated(self._state)
        # Indexing by an array copies, so the sums can be reset below.
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
        values = () if self._measurer is None else self._measurer.spec.values(self._measured)
        for name, value in measured(
            self.task, ending, (value[ended] for value in values), (total[ended] for total in self._sums)
        ).items():
            row[name] = np.broadcast_to(np.asarray(value), len(ended))
        self._rows.append(row)
        self._length[ended] = 0
        self._paid[ended] = 0.0
        self._base[ended] = 0.0
        for total in self._sums:
            total[ended] = 0.0

    def _shown(self, obs: Observation) -> Floats:
        flat = self._flatten(obs)
        require_finite(flat, f"The observation of {self.task.title}", self._where)
        if self.features is None and not self._counts:
            return cast("Floats", flat)
        parts: list[Array] = [flat]
        if self.features is not None:
            parts.append(self.features.read_batch(self._state, len(self.batch)))
        if self._counts:
            parts.append(self._length[:, None].astype(np.float32))
        return np.concatenate(parts, axis=1, dtype=np.float32, casting="same_kind")

    def _where(self, env: int) -> str:
        """Describe the environment and its step, for error messages."""
        each = len(self.batch) // self.runs
        return f"in environment {env % each} of run {self._run[env]}, after step {self._length[env]} of its episode,"

    def log(self) -> TrainingLog:
        """Return the log of the episodes finished so far."""
        if not self._rows:
            return TrainingLog.empty(self.runs, self.task.measures)
        columns = {name: np.concatenate([row[name] for row in self._rows]) for name in self._rows[0]}
        return TrainingLog.ordered(self.runs, columns)

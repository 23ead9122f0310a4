"""Specs in Stable-Baselines3: logging, and counterfactual experience; needs the extra `sb3`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rewardspec.episodes.counterfactual import Replayed, StatePool, replay, rows_of, state_of
from rewardspec.episodes.features import Features
from rewardspec.errors import Error, MissingExtraError
from rewardspec.spec.atoms.batch_info import stack_infos
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, AnySpace, Bools, Floats, InfoDict, Labels, Observation

try:
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.callbacks import BaseCallback
except ImportError:
    raise MissingExtraError("stable-baselines3", "sb3", "rewardspec.sb3") from None

__all__ = ["CounterfactualReplayBuffer", "FormulaLogger"]

# SB3's table on standard output cuts longer keys to 36 characters, of which 3 are indentation and 3 an ellipsis, and
# raises an error where two become the same.
_TOLD_APART_BY = 36 - 3 - 3 - len("value/")


class FormulaLogger(BaseCallback):
    """An SB3 callback that logs the spec's side of training, for environments wrapped in `MonitorReward`.

    Logged whenever SB3 writes its log (for PPO and A2C: with every rollout), as means since the last time:

    - `rewardspec/value/NAME`: the value of each formula, over all steps;
    - `rewardspec/final/NAME`: its value where an episode ended, over the episodes that ended;
    - `rewardspec/reward` and `rewardspec/base_reward`: the spec's reward and the environment's own, over all steps;
    - `rewardspec/return` and `rewardspec/base_return`: their sums over an episode, over the episodes that ended;
    - `rewardspec/cost`: the share of the steps that violated a vetoing pair, each episode's first violation;
    - `rewardspec/violated`: the share of the episodes that ended with a vetoing pair violated.

    Everything is read from the steps' `info`, so that neither the kind of `VecEnv` nor the order of SB3's `Monitor` and
    the wrapper matters. Rewards are those before `VecNormalize`. The returns of the first episodes are complete only
    where the environments were reset when learning began.

    Args:
        verbose: As for every SB3 callback; nothing is printed.

    Raises:
        Error: From the first step: no environment is wrapped in `MonitorReward`.

    Example:
        >>> import gymnasium as gym, rewardspec as rs
        >>> from stable_baselines3 import PPO
        >>> spec = rs.Spec([("G level", 1)], atoms={"level": lambda obs, action, next_obs: abs(next_obs[..., 2]) < 0.1})
        >>> env = rs.wrappers.MonitorReward(gym.make("CartPole-v1"), spec)
        >>> model = PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu")
        >>> model = model.learn(64, callback=FormulaLogger(), log_interval=10)  # so late that nothing is written yet
        >>> sorted(key for key in model.logger.name_to_value if key.startswith("rewardspec/value"))
        ['rewardspec/value/G level']
    """

    def __init__(self, verbose: int = 0) -> None:
        super().__init__(verbose)
        self._keys: dict[str, str] = {}  # what each formula is called in the log

    def _on_training_start(self) -> None:
        self._returns = np.zeros((2, self.training_env.num_envs))

    def _on_step(self) -> bool:
        normalized = self.model.get_vec_normalize_env()
        rewards = self.locals["rewards"] if normalized is None else normalized.get_original_reward()
        infos = self.locals["infos"]
        if not any("formula_values" in info for info in infos):
            raise Error(
                "FormulaLogger reads what MonitorReward puts into `info`, and no environment's has 'formula_values'. "
                "Wrap the environments in rewardspec.wrappers.MonitorReward; `make_vec_env` takes a function that does."
            )
        mean = self.logger.record_mean
        for k, (reward, ended, info) in enumerate(zip(rewards, self.locals["dones"], infos, strict=True)):
            if "formula_values" not in info:
                continue
            values = {self._key(name): value for name, value in info["formula_values"].items()}
            own = float(reward), info["base_reward"]
            self._returns[:, k] += own
            mean("rewardspec/reward", own[0])
            mean("rewardspec/base_reward", own[1])
            mean("rewardspec/cost", info["cost"])
            for key, value in values.items():
                mean(f"rewardspec/value/{key}", value)
            if ended:
                for key, value in values.items():
                    mean(f"rewardspec/final/{key}", value)
                mean("rewardspec/violated", float(info["violated"]))
                mean("rewardspec/return", float(self._returns[0, k]))
                mean("rewardspec/base_return", float(self._returns[1, k]))
                self._returns[:, k] = 0.0
        return True

    def _key(self, name: str) -> str:
        """A formula's name without commas, which SB3 writes into CSV files as they are, and unlike all others."""
        if name not in self._keys:
            key = re.sub(r"\[(\d*),(\d*)", r"[\1:\2", name).replace(",", ";").replace("\n", " ")
            taken = {other[:_TOLD_APART_BY] for other in self._keys.values()}
            numbered, number = key, 1
            while numbered[:_TOLD_APART_BY] in taken:
                number += 1
                numbered = f"{number}: {key}"
            self._keys[name] = numbered
        return self._keys[name]


class _Task:
    """Counterfactual experience of one spec: the states of its monitor met so far, and how observations show them."""

    def __init__(self, spec: Spec, max_states: int, **ending: bool) -> None:
        self.spec = spec
        self.pool = StatePool(max_states)
        self.features = Features(spec, "registers")
        self._ending = ending

    def numbers(self, rows: Floats) -> Floats:
        """Return what observations show of states, shape (states, numbers)."""
        numbers: Floats = self.features.read_batch(state_of(self.spec, rows), len(rows))
        return numbers

    def start(self, labels: Labels, count: int) -> None:
        """Collect the states in which episodes begin with these labels, each of shape (count,)."""
        self.pool.add(rows_of(self.spec, self.spec.start(labels, batch=count)))

    def replay(
        self,
        before: Observation,
        action: Action,
        after: Observation,
        infos: list[InfoDict],
        terminated: Bools,
        truncated: Bools,
    ) -> Replayed:
        """Replay transitions from all states met so far, and collect the states that they lead to."""
        info = stack_infos(infos) if self.spec.batch_reader.takes_info else None
        labels = self.spec.batch_reader.read(before, action, after, len(infos), info)
        base = np.array([float(one.get("base_reward", 0.0)) for one in infos])
        found = replay(self.spec, self.pool.rows, labels, base, terminated, truncated, **self._ending)
        self.pool.add(found.states[~found.decided])  # no step is taken from where the spec has ended an episode
        return found


class CounterfactualReplayBuffer(ReplayBuffer):
    """A replay buffer that stores each transition as it was, and as it would have been in other states of the monitor.

    For off-policy learners (DQN, SAC, TD3) in environments wrapped by `MonitorReward(env, spec, observe="registers")`
    whose own observations are a flat `Box` of floats, or by `MultiTask(env, specs)`. States of the monitor are
    collected as they are met. With several tasks, each transition is also stored as it would have been in the other
    tasks. Every state takes a row of the buffer, so choose a larger `buffer_size`.

    Args:
        buffer_size: As for SB3's; the other arguments of SB3's follow.
        spec: The spec that pays, or the specs of `MultiTask`.
        max_states: The most states of each monitor to replay a transition from.
        terminate_on_violation: As the wrapper was made: whether a violation ends the episode. A row ends where the
            episode in its own state of the monitor would have ended, whatever happened to the real one.
        terminate_on_completion: As the wrapper was made.
        env_observation_space: Observation space of the environment inside `MultiTask`, if that is `Discrete`.

    Raises:
        Error: The observations are no flat Box with the spec's numbers at their end, or `optimize_memory_usage` is
            True; from `add`, the `infos` are not those of a wrapper that was made in the same way.

    Example:
        >>> import gymnasium as gym, rewardspec as rs
        >>> from stable_baselines3 import DQN
        >>> left = lambda obs, action, next_obs: next_obs[..., 0] < -0.02
        >>> right = lambda obs, action, next_obs: next_obs[..., 0] > 0.02
        >>> spec = rs.Spec([("F(left & F right)", 1)], atoms={"left": left, "right": right}, payment="delta")
        >>> env = rs.wrappers.MonitorReward(gym.make("CartPole-v1"), spec, observe="registers")
        >>> model = DQN(
        ...     "MlpPolicy",
        ...     env,
        ...     replay_buffer_class=CounterfactualReplayBuffer,
        ...     replay_buffer_kwargs={"spec": spec},
        ...     learning_starts=50,
        ...     seed=0,
        ...     device="cpu",
        ... )
        >>> _ = model.learn(100)
        >>> model.replay_buffer.size() > 100
        True
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: AnySpace,
        action_space: AnySpace,
        *args: Any,
        spec: Spec | Sequence[Spec],
        max_states: int = 16,
        terminate_on_violation: bool = False,
        terminate_on_completion: bool = False,
        env_observation_space: AnySpace | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(observation_space, gym.spaces.Box) or len(observation_space.shape) != 1:
            raise _not_flat(observation_space)
        super().__init__(buffer_size, observation_space, action_space, *args, **kwargs)
        if self.optimize_memory_usage:
            raise Error(
                "CounterfactualReplayBuffer should be made with optimize_memory_usage=False. With True, SB3 takes the "
                "observation of the next row for the next observation, and here the next row is the same step in "
                "another state of the monitor."
            )
        self.spec = spec
        ending = {
            "terminate_on_violation": terminate_on_violation,
            "terminate_on_completion": terminate_on_completion,
        }
        specs = [spec] if isinstance(spec, Spec) else list(spec)
        self._tasks = [_Task(one, max_states, **ending) for one in specs]
        self._terminates = terminate_on_violation or terminate_on_completion
        self._one_hot = np.zeros((1, 0)) if isinstance(spec, Spec) else np.eye(len(specs))
        self._shown = max(len(task.features.names) for task in self._tasks)
        self._own = observation_space.shape[0] - self._one_hot.shape[1] - self._shown
        self._env_space = env_observation_space
        if self._own < 1:
            raise _not_flat(observation_space)
        self._began = np.ones(self.n_envs, dtype=np.bool_)

    @property
    def pool(self) -> StatePool:
        """States of the first task's monitor that have been met."""
        return self._tasks[0].pool

    def add(
        self,
        obs: np.ndarray,
        next_obs: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        done: np.ndarray,
        infos: list[InfoDict],
    ) -> None:
        """Store a transition of each environment, and what it would have been in the other states of the monitors.

        Args:
            obs: Observations before the step, shape (n_envs, numbers).
            next_obs: Observations after it, the final ones where an episode ended, same shape.
            action: Actions, shape (n_envs, …).
            reward: Rewards, shape (n_envs,).
            done: Whether the episode ended, shape (n_envs,).
            infos: The `info` of each environment.
        """
        self._check_tasks(infos)
        super().add(obs, next_obs, action, reward, done, infos)
        terminated, truncated = self._own_endings(done, infos)
        before, after = (self._decoded(np.asarray(part)[:, : self._own]) for part in (obs, next_obs))
        if self._began.any():
            for number, task in enumerate(self._tasks):
                self._add_starts(number, task, before, infos)
        self._began = np.asarray(done, dtype=np.bool_).reshape(-1)
        for number, task in enumerate(self._tasks):
            states = task.pool.rows
            if not len(states):  # of a task that has not begun yet, and whose first labels nobody knows
                continue
            found = task.replay(before, self._taken(action), after, infos, terminated, truncated)
            for k, shown in enumerate(task.numbers(states)):
                row = self._observed(obs, number, np.broadcast_to(shown, (len(obs), len(shown))))
                if np.array_equal(row, obs):
                    continue  # that is what happened, and is stored
                ended = found.terminated[:, k]
                super().add(
                    row,
                    self._observed(next_obs, number, task.numbers(found.states[:, k])),
                    action,
                    found.rewards[:, k],
                    ended | truncated,
                    [{"TimeLimit.truncated": bool(cut)} for cut in truncated & ~ended],
                )

    def _check_tasks(self, infos: list[InfoDict]) -> None:
        """Raise an error if the environments have other tasks than the buffer."""
        single = isinstance(self.spec, Spec)
        if any(("task" in info) == single or info.get("task", 0) >= len(self._tasks) for info in infos):
            raise Error(
                f"The buffer was made for {'one spec' if single else f'{len(self._tasks)} tasks'}, and the "
                "environment has others. Give `replay_buffer_kwargs` the `spec` of MonitorReward, or the list of specs "
                "of MultiTask."
            )

    def _observed(self, obs: np.ndarray, task: int, numbers: Floats) -> np.ndarray:
        """Return observations as they would be in a task with these numbers of its monitor."""
        changed = np.zeros_like(obs)
        changed[:, : self._own] = obs[:, : self._own]
        width = self._one_hot.shape[1]
        changed[:, self._own : self._own + width] = self._one_hot[task]
        changed[:, self._own + width : self._own + width + numbers.shape[1]] = numbers
        return changed

    def _decoded(self, own: np.ndarray) -> np.ndarray:
        """Return the environment's own observations: `MultiTask` shows `Discrete` ones as one-hot."""
        if isinstance(self._env_space, gym.spaces.Discrete):
            return np.asarray(own.argmax(axis=1) + self._env_space.start)
        return own

    def _own_endings(self, done: np.ndarray, infos: list[InfoDict]) -> tuple[Bools, Bools]:
        """Return where the environments themselves terminated and truncated the episode, each of shape (n_envs,)."""
        if any(("base_terminated" in info) != self._terminates for info in infos):
            raise Error(
                f"`terminate_on_violation` or `terminate_on_completion` of the buffer is {self._terminates}, and of "
                "the wrapper it is not. Give the wrapper and the `replay_buffer_kwargs` the same."
            )
        if self._terminates:  # the real episode may have ended for its violation alone
            own = [(bool(info["base_terminated"]), bool(info["base_truncated"])) for info in infos]
            terminated, truncated = np.array(own).T
            return terminated, truncated
        cut = np.array([bool(info.get("TimeLimit.truncated", False)) for info in infos])
        return np.asarray(done, dtype=np.bool_).reshape(-1) & ~cut, cut

    def _add_starts(self, number: int, task: _Task, first: np.ndarray, infos: list[InfoDict]) -> None:
        """Collect the states of a task's monitor in which episodes began with this step."""
        spec = task.spec
        if not spec.batch_reader.takes_info:
            read = spec.batch_reader.read(first, None, first, len(first))
            task.start({name: column[self._began] for name, column in read.items()}, int(self._began.sum()))
            return
        # SB3 passes no `info` of a reset; the wrapper knows the labels of its own task alone.
        begun = [info for info, began in zip(infos, self._began, strict=True) if began]
        own = [info for info in begun if info.get("task", number) == number]
        if not all("reset_labels" in info for info in own):
            raise Error(
                "The spec's atoms read `info`, and the infos of an episode's first step have no 'reset_labels'. "
                'Wrap the environments in MonitorReward(env, spec, observe="registers") with the same spec.'
            )
        if own:
            labels = {name: np.array([info["reset_labels"][name] for info in own]) for name in spec.atoms}
            task.start(labels, len(own))

    def _taken(self, action: np.ndarray) -> np.ndarray:
        """Return the actions as the environment took them: SB3 stores continuous ones scaled to [-1, 1]."""
        space = self.action_space
        if isinstance(space, gym.spaces.Box):
            return np.asarray(space.low + 0.5 * (action + 1.0) * (space.high - space.low), dtype=space.dtype)
        return np.asarray(action).reshape(-1)


def _not_flat(space: AnySpace) -> Error:
    """Return the error about observations that the buffer cannot take."""
    return Error(
        "CounterfactualReplayBuffer takes observations that are a flat Box with the spec's numbers at the end, as "
        'MonitorReward(env, spec, observe="registers") or MultiTask(env, specs) makes them of a flat Box of floats. '
        f"Received {space}. Put gymnasium.wrappers.FlattenObservation around the environment, inside the wrapper that "
        "pays; the atoms then read the flat observation."
    )

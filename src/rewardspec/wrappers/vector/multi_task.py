"""Several specs in a vector environment: a task for each episode, for one learner of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rewardspec.episodes.engine import in_numpy
from rewardspec.episodes.features import Features, Observe
from rewardspec.errors import SpecError
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, InfoDict, Observation, ResetOptions, VectorEnvironment
from rewardspec.wrappers.multi_task import flat_space, require_specs
from rewardspec.wrappers.vector.infos import everyone, note
from rewardspec.wrappers.vector.monitor_reward import BaseWrapper, MonitorReward


class MultiTask(BaseWrapper, RecordConstructorArgs):
    """Wrapper that rewards each episode by one of several specs, and adds the choice to the observation.

    Rewards and `infos` are those of the vector `MonitorReward` with the spec of each environment's task.
    `infos["task"]` has the numbers of the tasks, of shape (num_envs,). Observations become a flat batch of float32, as
    `rewardspec.wrappers.MultiTask` has it for one environment.

    Every spec follows every environment, so that a step takes as long as those of all specs together.

    Args:
        env: The vector environment, with autoreset mode `NEXT_STEP` or `DISABLED`; single observations are `Discrete`
            or a `Box`, and arrays are NumPy's.
        specs: The tasks.
        observe: What to show of the monitor; see `rewardspec.wrappers.MultiTask`.
        order: Whether the tasks of an environment's episodes follow one another `"in turn"`, environment k beginning
            with task k, or are drawn at `"random"`.

    Attributes:
        specs: The tasks.

    Raises:
        SpecError: There is no spec, the observations are neither `Discrete` nor a `Box`, or the environments reset
            within the step that ends an episode. From `reset`: the observations are arrays of torch or JAX.

    Example:
        >>> near = lambda obs, action, next_obs: 1.0 - np.minimum(np.abs(next_obs[..., 0]), 1.0)
        >>> specs = [Spec([(formula, 1)], atoms={"near": near}) for formula in ("G near", "F G !near")]
        >>> envs = MultiTask(gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"), specs)
        >>> observations, infos = envs.reset(seed=0)
        >>> infos["task"], observations[:, 4:6].tolist()
        (array([0, 1, 0]), [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """

    def __init__(
        self,
        env: VectorEnvironment,
        specs: Sequence[Spec],
        observe: Observe | Literal["nothing"] | None = "registers",
        *,
        order: Literal["in turn", "random"] = "in turn",
    ) -> None:
        require_specs(specs, order)
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, specs=specs, observe=observe, order=order)
        VectorWrapper.__init__(self, env)
        self._tasks = [MonitorReward(env, spec) for spec in specs]
        mode = env.metadata.get("autoreset_mode")
        if mode is AutoresetMode.SAME_STEP:
            raise SpecError(
                "A vector MultiTask needs the autoreset mode NEXT_STEP or DISABLED, for the step that ends an episode "
                "should show the task that it was paid by. Received SAME_STEP. Make the environments with another mode."
            )
        self._next_step = mode is AutoresetMode.NEXT_STEP
        self.specs = tuple(task.reward_spec for task in self._tasks)
        observe = None if observe == "nothing" else observe
        self._features = [None if observe is None else Features(spec, observe) for spec in self.specs]
        self.single_observation_space = flat_space(env.single_observation_space, self._features)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._order = order
        self._draws = np.random.default_rng()
        self._task = np.zeros(env.num_envs, dtype=np.int64)
        self._begun = False
        self._ended = np.zeros(env.num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: ResetOptions | None = None
    ) -> tuple[Observation, InfoDict]:
        """Reset the environments, or those of `options["reset_mask"]`, each to its next task; a seed begins anew."""
        mask = None if options is None else options.get("reset_mask")
        began = everyone(self.num_envs) if mask is None else np.array(mask, dtype=np.bool_)
        passed = None if options is None else dict(options)
        observations, infos = self.env.reset(seed=seed, options=passed)  # type: ignore[arg-type]
        if not in_numpy(observations):
            raise SpecError(
                "A vector MultiTask chooses the task of each environment in NumPy. Received observations that are a "
                f"{type(observations).__name__}. Convert the environment's arrays to NumPy below this wrapper, or wrap "
                "it with rewardspec.wrappers.vector.MonitorReward, which takes one spec and keeps arrays of torch and "
                "JAX on their device."
            )
        if seed is not None:
            known = isinstance(seed, int) or None not in seed
            self._draws = np.random.default_rng(seed if known else None)  # type: ignore[arg-type]
        if seed is not None or not self._begun:
            self._task = np.where(began, (np.arange(self.num_envs) - 1) % len(self.specs), self._task)
        self._begun = True
        self._begin(began)
        found = [task.after_reset(observations, dict(infos), mask)[1] for task in self._tasks]
        self._ended[began] = False
        return self._observed(observations), self._infos(infos, found, began)

    def step(
        self, actions: Action
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], InfoDict]:
        """Step the environments, and return the rewards of the specs of their tasks."""
        observations, base_rewards, terminations, truncations, infos = self.env.step(actions)
        told = observations, base_rewards, terminations, truncations
        found = [task.after_step(actions, (*told, dict(infos))) for task in self._tasks]
        rewards = self._chosen([each[1] for each in found])
        if self._next_step:
            self._begin(self._ended)  # which this step has reset, and pays 0 for
            self._ended = np.logical_or(terminations, truncations)
        infos = self._infos(infos, [each[4] for each in found], everyone(self.num_envs))
        return self._observed(observations), rewards, terminations, truncations, infos

    def _begin(self, began: NDArray[np.bool_]) -> None:
        """Give environments in which an episode begins their next task."""
        following = (self._task + 1) % len(self.specs)
        if self._order == "random":
            following = self._draws.integers(len(self.specs), size=self.num_envs)
        self._task = np.where(began, following, self._task)

    def _infos(self, infos: InfoDict, found: Sequence[InfoDict], mask: NDArray[np.bool_]) -> InfoDict:
        """The environment's infos, with what the spec of each environment's task has added."""
        infos = dict(infos)
        for key in ("base_reward", "violated", "cost"):
            if any(key in each for each in found):
                told = next(each[f"_{key}"] for each in found if key in each)
                columns = [each.get(key, np.zeros(self.num_envs)) for each in found]
                note(infos, key, self._chosen(columns), told)
        for key, nothing in (("formula_values", 0.0), ("worst_things", "")):
            if any(key in each for each in found):
                infos[key], infos[f"_{key}"] = (
                    self._columns([each.get(key, {}) for each in found], nothing),
                    mask.copy(),
                )
        infos["task"], infos["_task"] = self._task.copy(), everyone(self.num_envs)
        return infos

    def _chosen(self, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The number of each environment from the column of its task, of any number of tasks."""
        return np.stack(columns)[self._task, np.arange(self.num_envs)]

    def _columns(self, found: Sequence[InfoDict], nothing: float | str) -> InfoDict:
        """Columns by formula, from those of each task; `nothing` where the formula is not of the environment's task."""
        columns: InfoDict = {}
        for number, each in enumerate(found):
            own = self._task == number
            for name, column in each.items():
                if not name.startswith("_") or name[1:] not in each:
                    columns[name] = np.where(own, column, columns.get(name, nothing))
                    columns[f"_{name}"] = (own & each[f"_{name}"]) | columns.get(f"_{name}", False)
        return columns

    def _observed(self, observations: Observation) -> NDArray[np.float32]:
        longer = np.zeros(self.observation_space.shape or (), dtype=np.float32)
        space, rows = self.env.single_observation_space, np.arange(self.num_envs)
        if isinstance(space, gym.spaces.Discrete):
            first = int(space.n)
            longer[rows, np.asarray(observations) - int(space.start)] = 1.0
        else:
            flat = np.reshape(observations, (self.num_envs, -1))
            first = flat.shape[1]
            longer[:, :first] = flat
        longer[rows, first + self._task] = 1.0
        first += len(self.specs)
        for number, (task, features) in enumerate(zip(self._tasks, self._features, strict=True)):
            own = self._task == number
            if features is not None and features.names and own.any():
                numbers = features.read_batch(task.monitor_state, self.num_envs)
                longer[own, first : first + numbers.shape[1]] = numbers[own]
        return longer

"""Several specs in one environment: a task each, a new one each episode, for one learner of all of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from rewardspec.episodes.features import Features, Observe
from rewardspec.errors import SpecError
from rewardspec.renamed import warn_renamed
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, AnySpace, Environment, InfoDict, Observation, ResetOptions
from rewardspec.wrappers.monitor_reward import MonitorReward

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation


class MultiTask(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Wrapper that rewards each episode by one of several specs, and adds the choice to the observation.

    Rewards and `info` are those of `MonitorReward` with the task's spec. `info["task"]` is the number of the task.

    Observations become a flat `Box` of float32: the environment's own (`Discrete` as one-hot), the task as one-hot of
    shape (tasks,), and the numbers that `observe` shows of the task's monitor, padded with zeros.

    Args:
        env: The environment; its observations are `Discrete` or a `Box`.
        specs: The tasks.
        observe: What to show of the monitor: `"registers"`, `"control"`, `"values"` or None, as for `MonitorReward`.
            Without registers, tasks that need memory cannot be learned.
        order: Whether tasks follow one another `"in turn"`, or are drawn at `"random"`. `reset(options={"task": k})`
            chooses one.
        record: As for `MonitorReward`, like `terminate_on_violation` and `terminate_on_completion`.
        end_when_done: Deprecated; sets both of the latter.

    Attributes:
        specs: The tasks.
        observe: What is shown of the monitor.
        terminating: `terminate_on_violation` and `terminate_on_completion`, by name.

    Raises:
        SpecError: There is no spec, or the observations are neither `Discrete` nor a `Box`; from `reset`, there is no
            task of the number that `options` ask for.
        LabelError: From `reset` and `step`: an atom gave no label in [0, 1]. After it the episode has to be reset.

    Example:
        >>> from rewardspec.lab.tasks import worlds
        >>> world = worlds.LabeledWorld(worlds.office_world())
        >>> specs = [Spec([(f, 1)], atoms=world.atoms, payment="delta") for f in worlds.formulas("office")]
        >>> env = MultiTask(world, specs)
        >>> obs, info = env.reset(seed=0)
        >>> info["task"], obs.shape, obs[108:112].tolist()
        (0, (118,), [1.0, 0.0, 0.0, 0.0])
        >>> obs, info = env.reset()
        >>> info["task"]
        1
    """

    def __init__(
        self,
        env: Environment,
        specs: Sequence[Spec],
        observe: Observe | Literal["nothing"] | None = "registers",
        *,
        order: Literal["in turn", "random"] = "in turn",
        record: bool = False,
        terminate_on_violation: bool = False,
        terminate_on_completion: bool = False,
        end_when_done: bool | None = None,
    ) -> None:
        require_specs(specs, order)
        if end_when_done is not None:
            warn_renamed("`end_when_done`", "`terminate_on_violation` and `terminate_on_completion`")
            terminate_on_violation = terminate_on_completion = end_when_done
        self.terminating = {
            "terminate_on_violation": terminate_on_violation,
            "terminate_on_completion": terminate_on_completion,
        }
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            specs=specs,
            observe=observe,
            order=order,
            record=record,
            **self.terminating,
        )
        gym.Wrapper.__init__(self, env)
        if observe == "nothing":
            observe = None
        self.observe = observe
        self._order = order
        self._tasks = [
            MonitorReward(
                env,
                spec,
                record=record,
                terminate_on_violation=terminate_on_violation,
                terminate_on_completion=terminate_on_completion,
            )
            for spec in specs
        ]
        self.specs = tuple(task.reward_spec for task in self._tasks)
        self._features = [None if observe is None else Features(spec, observe) for spec in self.specs]
        self._space = env.observation_space
        self.observation_space = flat_space(self._space, self._features)
        self._task = self._next = 0
        self._draws = np.random.default_rng()
        self._first_step = False

    def reset(self, *, seed: int | None = None, options: ResetOptions | None = None) -> tuple[Observation, InfoDict]:
        """Begin an episode of the next task; with a seed, begin with the first task again."""
        task = self._asked(options)
        if seed is not None:
            self._next, self._draws = 0, np.random.default_rng(seed)
        if task is None and self._order == "random":
            task = int(self._draws.integers(len(self.specs)))
        self._task = self._next if task is None else task
        self._next = (self._task + 1) % len(self.specs)
        obs, info = self._tasks[self._task].reset(seed=seed, options=options)
        info["task"] = self._task
        self._first_step = True
        return self._observed(obs), info

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, InfoDict]:
        """Step the environment, and return the reward of the task's spec."""
        task = self._tasks[self._task]
        obs, reward, terminated, truncated, info = task.step(action)
        info["task"] = self._task
        if self._first_step:  # SB3's replay buffers are given no `info` of a reset
            info["reset_labels"] = task.reset_labels
            self._first_step = False
        return self._observed(obs), reward, terminated, truncated, info

    def explain(self) -> Explanation:
        """Explain every step since the last reset; needs `record=True`."""
        return self._tasks[self._task].explain()

    def _asked(self, options: ResetOptions | None) -> int | None:
        """The task that the options of a reset ask for; None where they leave it open."""
        if options is None or "task" not in options:
            return None
        task = options["task"]
        try:
            number = -1 if isinstance(task, bool | np.bool_) else operator.index(task)
        except TypeError:
            number = -1
        if not 0 <= number < len(self.specs):
            raise SpecError(
                f"`options['task']` should be the number of a task, from 0 to {len(self.specs) - 1}. Received {task!r}."
            )
        return number

    def _observed(self, obs: Observation) -> NDArray[np.float32]:
        longer = np.zeros(self.observation_space.shape or (), dtype=np.float32)
        space = self._space
        if isinstance(space, gym.spaces.Discrete):
            first = int(space.n)
            longer[int(obs) - int(space.start)] = 1.0
        else:
            first = int(np.size(obs))
            longer[:first] = np.reshape(obs, -1)
        longer[first + self._task] = 1.0
        features = self._features[self._task]
        if features is not None:
            numbers = features.read(self._tasks[self._task].monitor_state)
            first += len(self.specs)
            longer[first : first + len(numbers)] = numbers
        return longer


def require_specs(specs: Sequence[Spec], order: str) -> None:
    """Raise a SpecError unless there are specs, in an order that exists."""
    if not specs or not all(isinstance(spec, Spec) for spec in specs):
        raise SpecError(f"`specs` should be a list of Spec objects, at least one. Received {specs!r}.")
    if order not in ("in turn", "random"):
        raise SpecError(f"`order` should be 'in turn' or 'random'. Received {order!r}.")


def flat_space(space: AnySpace, shown: Sequence[Features | None]) -> gym.spaces.Box:
    """The space of observations that are flat, with the task as one-hot and the numbers of its monitor behind them.

    `shown` has for each task the numbers that are shown of its monitor, or None.
    """
    if isinstance(space, gym.spaces.Discrete):
        own = gym.spaces.Box(0.0, 1.0, (int(space.n),))
    elif isinstance(space, gym.spaces.Box):
        own = space
    else:
        raise SpecError(f"MultiTask takes observations that are Discrete or a Box. Received {space}.")
    count = max(0 if features is None else len(features.names) for features in shown)
    low, high = np.zeros(len(shown) + count), np.ones(len(shown) + count)
    for features in shown:
        if features is not None:
            part = slice(len(shown), len(shown) + len(features.names))
            low[part], high[part] = np.minimum(low[part], features.low), np.maximum(high[part], features.high)
    return gym.spaces.Box(
        np.concatenate([own.low.reshape(-1), low]).astype(np.float32),
        np.concatenate([own.high.reshape(-1), high]).astype(np.float32),
        dtype=np.float32,
    )

"""Several specs in one environment: a task each, a new one each episode, for one learner of all of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from rewardspec.episodes.engine import Episode
from rewardspec.episodes.features import Features, Observe
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import SpecError
from rewardspec.spec.spec import Spec


class MultiTask(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pays by one of several specs, another one each episode, and shows the learner which, and how far it is.

    An observation is a flat `Box`: the environment's own (a `Discrete` one as one-hot), which task it is as one-hot,
    and what `observe` shows of that task's monitor, with zeros behind where another has more. `info["task"]` is the
    task's number, and `info["formula_values"]` are the values of its formulas.

    Args:
        env: The environment; its observations are `Discrete` or a `Box`.
        specs: The tasks.
        observe: What to show of the monitor: `"registers"`, all that the rest of the episode depends on; `"control"`,
            `"values"`, or None for nothing, so that tasks which need memory cannot be learned.
        order: Whether tasks follow one another `"in turn"`, or are drawn at `"random"`; `reset(options={"task": k})`
            asks for one.
        end_when_done: Whether the episode ends when all formulas of the task with a positive weight are true, and when
            a safety objective is violated.

    Attributes:
        specs: The tasks.

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
        env: gym.Env[Any, Any],
        specs: Sequence[Spec],
        observe: Observe | None = "registers",
        *,
        order: Literal["in turn", "random"] = "in turn",
        end_when_done: bool = False,
    ) -> None:
        if not specs or not all(isinstance(spec, Spec) for spec in specs):
            raise SpecError(f"`specs` should be a list of Spec objects, at least one. Received {specs!r}.")
        if order not in ("in turn", "random"):
            raise SpecError(f"`order` should be 'in turn' or 'random'. Received {order!r}.")
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, specs=specs, observe=observe, order=order, end_when_done=end_when_done
        )
        gym.Wrapper.__init__(self, env)
        self.specs = tuple(specs)
        self._order, self._ends = order, end_when_done
        self._episodes = [Episode(spec) for spec in self.specs]
        self._features = [None if observe is None else Features(spec, observe) for spec in self.specs]
        self._space = env.observation_space
        own = self._own_space()
        shown = max(0 if one is None else len(one.names) for one in self._features)
        low, high = np.zeros(len(self.specs) + shown), np.ones(len(self.specs) + shown)
        for features in self._features:
            if features is not None:
                part = slice(len(self.specs), len(self.specs) + len(features.names))
                low[part], high[part] = np.minimum(low[part], features.low), np.maximum(high[part], features.high)
        self.observation_space = gym.spaces.Box(
            np.concatenate([own.low.reshape(-1), low]).astype(np.float32),
            np.concatenate([own.high.reshape(-1), high]).astype(np.float32),
            dtype=np.float32,
        )
        self._next = 0
        self._task = 0
        self._state: Any = None  # until there is an episode
        self._before: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode of the next task; with a seed tasks begin anew."""
        asked = self._asked(options)
        self._state = None  # until the labels are read
        obs, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._next = 0
        if asked is not None:
            self._task = asked
        elif self._order == "random":
            self._task = int(self.np_random.integers(len(self.specs)))
        else:
            self._task = self._next
        self._next = (self._task + 1) % len(self.specs)
        self._state, _ = self._episodes[self._task].start(obs, info)
        self._before = copied(obs)
        return self._observed(obs), self._told(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step the environment, and pay what the task's spec says."""
        obs, base_reward, terminated, truncated, info = self.env.step(action)
        before = self._state
        if before is None:
            raise gym.error.ResetNeeded("There is no episode for the spec to follow. Call reset() before step().")
        self._state = None  # until the labels are read: an episode with a letter missing must not go on
        paid = float(base_reward), terminated, truncated
        episode = self._episodes[self._task]
        state, reward = episode.advance(before, self._before, action, obs, info, *paid)
        if self._ends and not terminated and self._decided(state):
            terminated = True  # which some ways to pay want to know
            paid = float(base_reward), terminated, truncated
            state, reward = episode.advance(before, self._before, action, obs, info, *paid)
        self._state, self._before = state, copied(obs)
        info["base_reward"] = float(base_reward)
        return self._observed(obs), reward, terminated, truncated, self._told(info)

    def _asked(self, options: dict[str, Any] | None) -> int | None:
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

    def _decided(self, state: Any) -> bool:
        spec = self.specs[self._task]
        wanted = [value for value, weight in zip(spec.values(state), spec.weights, strict=True) if weight > 0.0]
        return bool(spec.violated(state)) or (bool(wanted) and min(wanted) >= 1.0)

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        spec = self.specs[self._task]
        info["task"] = self._task
        info["formula_values"] = dict(zip(spec.names, spec.values(self._state), strict=True))
        return info

    def _own_space(self) -> gym.spaces.Box:
        if isinstance(self._space, gym.spaces.Discrete):
            return gym.spaces.Box(0.0, 1.0, (int(self._space.n),))
        if isinstance(self._space, gym.spaces.Box):
            return self._space
        raise SpecError(f"MultiTask takes observations that are Discrete or a Box. Received {self._space}.")

    def _observed(self, obs: Any) -> NDArray[np.float32]:
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
            numbers = features.read(self._state)
            first += len(self.specs)
            longer[first : first + len(numbers)] = numbers
        return longer

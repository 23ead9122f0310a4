"""Playing a learned policy in the environment, one step at a time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.engine import Episode as MonitoredEpisode
from rewardspec.episodes.features import OBSERVE, Features, Observe
from rewardspec.errors import Error
from rewardspec.lab.learning.finite_tables import finite_tables
from rewardspec.lab.learning.networks import HIDDEN, forward
from rewardspec.lab.learning.policies import Policy
from rewardspec.lab.learning.rollouts import normalized
from rewardspec.lab.learning.settings import SB3
from rewardspec.lab.learning.spaces import Actions, batched, flattener
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec

Frame: TypeAlias = NDArray[np.uint8]


@dataclasses.dataclass(frozen=True)
class Episode:
    """A played episode.

    Attributes:
        observations: The environment's own, the first and the last included.
        actions: The actions.
        rewards: What each step paid.
        measures: The task's measures of success, by name.
        frames: Pictures, one for each observation, where they were asked for.
    """

    observations: list[Any]
    actions: list[Any]
    rewards: list[float]
    measures: dict[str, float]
    frames: list[Frame]

    @property
    def task_completion(self) -> float:
        """The first of the measures."""
        return next(iter(self.measures.values()))


class Player:
    """A learned policy that plays, by the greedy action at every step.

    It follows its own spec beside the episode, since that is what its observations were extended with.

    Args:
        policy: The policies.
        env: The environment that is played.
        run: The number of the run whose policy plays.

    Raises:
        Error: There is no such run.
    """

    def __init__(self, policy: Policy, env: gym.Env[Any, Any], run: int = 0) -> None:
        if not 0 <= run < len(policy.seeds):
            raise Error(f"There are policies of runs 0 to {len(policy.seeds) - 1}. Received {run!r}.")
        self._policy, self._env, self._run = policy, env, run
        self._monitor = None if policy.spec is None else MonitoredEpisode(policy.spec)
        self._state: Any = None

    def begin(self, obs: Any, info: Any) -> None:
        """An episode begins."""
        self._state = None if self._monitor is None else self._monitor.start(obs, info)[0]
        self._choose = _chooser(self._policy, self._env, self._run, obs)

    def __call__(self, obs: Any) -> Any:
        """The action for an observation of the environment."""
        return self._choose(obs, self._state)

    def saw(self, obs: Any, action: Any, after: Any, info: Any, reward: float, *ends: bool) -> float:
        """A step was made, whether or not by its action; returns what the policy's own spec pays for it."""
        if self._monitor is None:
            return reward
        self._state, paid = self._monitor.advance(self._state, obs, action, after, info, reward, *ends)
        return float(paid)


class ModelPlayer:
    """A model that Stable-Baselines3 saved, which knows no spec: it plays as `Player` does.

    Args:
        model: The model.
        task: The task that it plays.
        spec: What extends its observations, if they are extended.

    Raises:
        Error: It has learned with other observations.
    """

    def __init__(self, model: Any, task: Task, spec: Spec) -> None:
        from rewardspec.lab.learning.sb3_training import chooser, make_env

        self._monitor = MonitoredEpisode(spec)
        for observe in (None, *OBSERVE):
            with contextlib.closing(make_env(task, spec, observe)) as env:
                if env.observation_space.shape == model.observation_space.shape:
                    self._choose = chooser(env, model)
                    return
        raise Error(
            f"The model takes observations of {model.observation_space}, and {task.title} has none such, with or "
            "without what `observe` adds of the spec."
        )

    def begin(self, obs: Any, info: Any) -> None:
        """An episode begins."""
        self._state, _ = self._monitor.start(obs, info)

    def __call__(self, obs: Any) -> Any:
        """The action for an observation of the environment."""
        return self._choose(obs, self._state)

    def saw(self, obs: Any, action: Any, after: Any, info: Any, reward: float, *ends: bool) -> float:
        """A step was made."""
        self._state, paid = self._monitor.advance(self._state, obs, action, after, info, reward, *ends)
        return float(paid)


def play(policy: Policy, *, run: int = 0, seed: int = 0, pictures: bool = False) -> Episode:
    """Play one episode, by the greedy action at every step.

    Args:
        policy: The policies.
        run: The number of the run whose policy plays.
        seed: Seed of the reset.
        pictures: Whether to keep a picture of every step.
    """
    options = {"render_mode": "rgb_array"} if pictures else {}
    with contextlib.closing(policy.task.make(**options)) as env:
        player = Player(policy, env, run)
        obs, info = env.reset(seed=seed)
        player.begin(obs, info)
        observations, actions, rewards = [obs], list[Any](), list[float]()
        frames = [cast("Frame", env.render())] if pictures else []
        over = False
        while not over:
            action = player(obs)
            after, base_reward, terminated, truncated, info = env.step(action)
            rewards.append(player.saw(obs, action, after, info, float(base_reward), terminated, truncated))
            obs, over = after, terminated or truncated
            observations.append(obs)
            actions.append(action)
            if pictures:
                frames.append(cast("Frame", env.render()))
    return Episode(observations, actions, rewards, info["measures"], frames)


def _chooser(policy: Policy, env: gym.Env[Any, Any], run: int, first: Any) -> Callable[[Any, Any], Any]:
    """The next action, from the observation and the spec's state."""
    if policy.kind == "table":
        return _table_chooser(policy, run, first)
    if policy.learner is not None:
        return _model_chooser(policy, policy.learner, run)
    return _network_chooser(policy, env, run)


def _model_chooser(policy: Policy, config: SB3, run: int) -> Callable[[Any, Any], Any]:
    from rewardspec.lab.learning.sb3_training import chooser, make_env, make_model

    with contextlib.closing(make_env(policy.task, policy.spec, policy.observe)) as env:
        parameters = {name: array[run] for name, array in policy.arrays.items()}
        return chooser(env, make_model(env, config, None), parameters)


def _table_chooser(policy: Policy, run: int, first: Any) -> Callable[[Any, Any], Any]:
    tables = finite_tables(policy.task, policy.spec, policy.observe)
    product, values = tables.product, policy.arrays["table"][run]
    node = int(product.starts[np.flatnonzero(product.model.starts == int(first))[0]])
    action: int | None = None
    steps = -1

    def choose(obs: Any, state: Any) -> int:
        nonlocal node, action, steps
        steps += 1
        if action is not None:
            after = product.follow(node, action, int(obs))
            assert after is not None, "an episode that ended is not asked for an action"
            node = after
        action = int(np.argmax(values[tables.seen(node, steps)]))
        return action

    return choose


def _network_chooser(policy: Policy, env: gym.Env[Any, Any], run: int) -> Callable[[Any, Any], Any]:
    layers = {name: policy.arrays[name][run] for k in range(len(HIDDEN) + 1) for name in (f"w{k}", f"b{k}")}
    actions = Actions(env.action_space)
    spec, observe, numbers_seen = policy.spec, policy.observe, flattener(env.observation_space)
    features = None if spec is None or observe is None else Features(spec, cast("Observe", observe))

    def choose(obs: Any, state: Any) -> Any:
        flat = numbers_seen(batched(env.observation_space, [obs]))[0]
        numbers = np.asarray([*flat, *(() if features is None else features.read(state))], dtype=np.float32)
        if "mean" in policy.arrays:
            numbers = normalized(numbers, policy.arrays["mean"][run], policy.arrays["variance"][run])
        outputs = forward(layers, numbers, np)
        chosen = actions.played(outputs[None] if actions.continuous else np.argmax(outputs, keepdims=True))[0]
        return chosen if actions.continuous else int(chosen)

    return choose

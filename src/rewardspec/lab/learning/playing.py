"""Play learned policies in the environment, one step at a time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.engine import Engine, Transition
from rewardspec.episodes.features import OBSERVE, Features
from rewardspec.errors import Error
from rewardspec.lab.learning.finite_tables import finite_tables
from rewardspec.lab.learning.networks import HIDDEN, forward
from rewardspec.lab.learning.normalization import normalized
from rewardspec.lab.learning.policies import Policy
from rewardspec.lab.learning.settings import SB3
from rewardspec.lab.learning.spaces import Actions, batched, counts_steps, features_of, flattener
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, AnySpace, Environment, Info, MachineState, Observation

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

Frame: TypeAlias = NDArray[np.uint8]
Chooser: TypeAlias = Callable[[Observation, MachineState], Action]
"""Function from the environment's own observation and the spec's state to an action."""


@dataclasses.dataclass(frozen=True)
class Episode:
    """A played episode: the observations with the last one, actions, rewards, the measures of success, pictures."""

    observations: list[Observation]
    actions: list[Action]
    rewards: list[float]
    measures: dict[str, float]
    frames: list[Frame]

    @property
    def task_completion(self) -> float:
        """The first of the measures."""
        return next(iter(self.measures.values()))


class Player:
    """A learned policy that takes the greedy action at every step.

    It runs the monitor of its own spec, whose state is part of its observations.
    """

    def __init__(self, policy: Policy, env: Environment, run: int = 0) -> None:
        if not 0 <= run < len(policy.seeds):
            raise Error(f"There are policies of runs 0 to {len(policy.seeds) - 1}. Received {run!r}.")
        self._monitor = None if policy.spec is None else Engine(policy.spec)
        self._chooser: Callable[[Observation], Chooser] = lambda obs: _chooser(policy, env, run, obs)

    def begin(self, obs: Observation, info: Info) -> None:
        """Start an episode."""
        self._state: MachineState = None if self._monitor is None else self._monitor.start(obs, info)[0]
        self._choose = self._chooser(obs)

    def __call__(self, obs: Observation) -> Action:
        """Return the action for an observation of the environment."""
        return self._choose(obs, self._state)

    def saw(
        self, obs: Observation, action: Action, after: Observation, info: Info, reward: float, *ends: bool
    ) -> float:
        """Advance the monitor by a step, with any action; return the reward of the policy's own spec."""
        if self._monitor is None:
            return reward
        self._state, paid = self._monitor.advance(self._state, Transition(obs, action, after, info, reward, *ends))
        return float(paid.reward)


class ModelPlayer(Player):
    """A saved model of Stable-Baselines3, whose file has no spec.

    Its observations may be extended by the spec as `observe` says: by `"nothing"`, or as the wrappers do. None finds
    it by the shape of the observations.
    """

    def __init__(self, model: BaseAlgorithm, task: Task, spec: Spec, observe: str | None = None) -> None:
        from rewardspec.lab.learning.sb3_training import chooser, make_env

        self._monitor = Engine(spec)
        flatten = not isinstance(model.observation_space, gym.spaces.Dict)
        fitting: list[str] = []
        for name in ("nothing", *OBSERVE) if observe is None else (observe,):
            with contextlib.closing(make_env(task, spec, None if name == "nothing" else name, flatten=flatten)) as env:
                if _is_taken(env.observation_space, model.observation_space):
                    fitting.append(name)
                    self._model = chooser(env, model)
            if fitting == ["nothing"]:
                break
        if len(fitting) > 1:
            raise Error(
                f"The model's observations do not tell what it saw of the spec: {' and '.join(fitting)} have one "
                f"shape. Say which it was trained with, such as --observe {fitting[0]}."
            )
        if not fitting and observe is not None:
            raise Error(
                f"The model takes observations of {model.observation_space}. With --observe {observe}, {task.title} "
                "has others. Leave --observe out to find what fits."
            )
        if not fitting:
            raise Error(
                f"The model takes observations of {model.observation_space}, and {task.title} has none such, with or "
                "without what `observe` adds of the spec."
            )
        self._chooser = lambda obs: self._model


def _is_taken(space: AnySpace, model_space: AnySpace) -> bool:
    """Return whether a model of SB3 takes observations of a space; it may have moved the channels of images first."""
    if isinstance(space, gym.spaces.Dict) and isinstance(model_space, gym.spaces.Dict):
        return set(space) == set(model_space) and all(_is_taken(space[key], model_space[key]) for key in space)
    if isinstance(space, gym.spaces.Dict) or isinstance(model_space, gym.spaces.Dict):
        return False
    shape, taken = space.shape, model_space.shape
    image = shape is not None and len(shape) == 3
    return shape == taken or (image and shape is not None and (shape[2], *shape[:2]) == taken)


def play(policy: Policy, *, run: int = 0, seed: int = 0, pictures: bool = False) -> Episode:
    """Play one episode with the greedy action of a run's policy at every step; keep pictures if asked to."""
    options = {"render_mode": "rgb_array"} if pictures else {}
    with contextlib.closing(policy.task.make(**options)) as env:
        player = Player(policy, env, run)
        obs, info = env.reset(seed=seed)
        player.begin(obs, info)
        observations, actions, rewards = [obs], list[Action](), list[float]()
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


def _chooser(policy: Policy, env: Environment, run: int, first: Observation) -> Chooser:
    if policy.kind == "table":
        return _table_chooser(policy, run, first)
    if policy.learner is not None:
        return _model_chooser(policy, policy.learner, run)
    return _network_chooser(policy, env, run)


def _model_chooser(policy: Policy, config: SB3, run: int) -> Chooser:
    from rewardspec.lab.learning.sb3_training import chooser, make_env, make_model

    with contextlib.closing(make_env(policy.task, policy.spec, policy.observe)) as env:
        parameters = {name: array[run] for name, array in policy.arrays.items()}
        return chooser(env, make_model(env, config, None), parameters)


def _table_chooser(policy: Policy, run: int, first: Observation) -> Chooser:
    tables = finite_tables(policy.task, policy.spec, policy.observe)
    product, values = tables.product, policy.arrays["table"][run]
    node = int(product.starts[np.flatnonzero(product.model.starts == int(first))[0]])
    action: int | None = None
    steps = -1

    def choose(obs: Observation, state: MachineState) -> int:
        nonlocal node, action, steps
        steps += 1
        if action is not None:
            after = product.follow(node, action, int(obs))
            assert after is not None, "no action is needed after the end of an episode"
            node = after
        action = int(np.argmax(values[tables.seen(node, steps)]))
        return action

    return choose


def _network_chooser(policy: Policy, env: Environment, run: int) -> Chooser:
    layers = {name: policy.arrays[name][run] for k in range(len(HIDDEN) + 1) for name in (f"w{k}", f"b{k}")}
    actions = Actions(env.action_space, scaled=policy.scale_actions)
    spec, observe, numbers_seen = policy.spec, policy.observe, flattener(env.observation_space)
    features = None if spec is None or observe is None else Features(spec, features_of(observe))
    steps = -1

    def choose(obs: Observation, state: MachineState) -> Action:
        nonlocal steps
        steps += 1
        count = [steps] * counts_steps(observe)
        flat = numbers_seen(batched(env.observation_space, [obs]))[0]
        numbers = np.asarray([*flat, *(() if features is None else features.read(state)), *count], dtype=np.float32)
        if "mean" in policy.arrays:
            numbers = normalized(numbers, policy.arrays["mean"][run], policy.arrays["variance"][run])
        outputs = forward(layers, numbers, np)
        chosen = actions.played(outputs[None] if actions.continuous else np.argmax(outputs, keepdims=True))[0]
        return chosen if actions.continuous else int(chosen)

    return choose

"""Training with an algorithm of Stable-Baselines3, one run after the other, with the log of the other learners.

Policies are saved as arrays. SB3's own files are partly pickled, and loading them can run any code.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import gymnasium as gym
import numpy as np

from rewardspec.episodes.features import Observe
from rewardspec.errors import Error, MissingExtraError, did_you_mean
from rewardspec.lab.learning.finite_numbers import require_finite, require_finite_policy
from rewardspec.lab.learning.settings import SB3
from rewardspec.lab.learning.spaces import batched, flattener, numbers_of, observation_size
from rewardspec.lab.learning.training_log import Progress, TrainingLog
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, Array, Environment, MachineState, Observation
from rewardspec.wrappers.monitor_reward import MonitorReward
from rewardspec.wrappers.multi_task import MultiTask

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecEnv

_TAKEN = (gym.spaces.Box, gym.spaces.Discrete, gym.spaces.MultiDiscrete, gym.spaces.MultiBinary)
"""Observation spaces that SB3's `MlpPolicy` takes unchanged."""


def algorithm(name: str) -> type[BaseAlgorithm]:
    """Find the class of an algorithm of SB3, or of sb3-contrib if that is installed."""
    try:
        import stable_baselines3
        from stable_baselines3.common.base_class import BaseAlgorithm as Base
    except ImportError:
        raise MissingExtraError("stable-baselines3", "sb3", f"The learner sb3:{name}") from None
    known = {key: value for key, value in vars(stable_baselines3).items() if _is_algorithm(value, Base)}
    with contextlib.suppress(ImportError):
        import sb3_contrib

        known = {key: v for key, v in vars(sb3_contrib).items() if _is_algorithm(v, Base)} | known
    if name not in known:
        hint = did_you_mean(name.upper(), known)
        raise Error(f"Stable-Baselines3 has no algorithm {name!r}; known: {', '.join(sorted(known))}.{hint}")
    found: type[BaseAlgorithm] = known[name]
    return found


def _is_algorithm(value: object, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base)


def make_env(task: Task, spec: Spec | None, observe: str | None, *, flatten: bool = True) -> Environment:
    """Make a task's environment with the spec as reward and observations that SB3's `MlpPolicy` takes.

    Other observations are flattened, without their texts; `flatten=False` keeps them.
    """
    env: Environment = task.make()
    if spec is not None:
        env = MonitorReward(env, spec, cast("Observe | None", observe))
    return _Flat(env) if flatten and not isinstance(env.observation_space, _TAKEN) else env


class _Flat(gym.ObservationWrapper[Observation, Action, Observation]):
    """Flatten observations as for the learners of this library."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        size = observation_size(env.observation_space)
        self._numbers_of = flattener(env.observation_space)
        flat = gym.spaces.flatten_space(numbers_of(env.observation_space))
        assert isinstance(flat, gym.spaces.Box)
        low, high = (limit.astype(np.float32) for limit in (flat.low, flat.high))
        self.observation_space = gym.spaces.Box(low, high, (size,), dtype=np.float32)

    def observation(self, observation: Observation) -> Array:
        """Flatten an observation."""
        return self._numbers_of(batched(self.env.observation_space, [observation]))[0]


def counterfactual_options(task: Task, spec: Spec | None, observe: str | None, config: SB3) -> dict[str, object]:
    """Return the arguments with which a model learns from counterfactual experience; none if nothing has a monitor.

    The monitors are those of the spec or, without one, of an environment that is a `MultiTask`. This takes an algorithm
    with a replay buffer, and observations that are a flat Box with the registers at the end.
    """
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

    from rewardspec.sb3 import CounterfactualReplayBuffer

    with contextlib.closing(make_env(task, spec, observe, flatten=False)) as env:
        arguments: dict[str, object] = {"spec": spec}
        if spec is None:
            tasks = _tasks_of(env)
            if tasks is None:
                return {}
            observe, arguments = tasks.observe, {"spec": tasks.specs, **tasks.terminating}
            if isinstance(tasks.env.observation_space, gym.spaces.Discrete):
                arguments["env_observation_space"] = tasks.env.observation_space
        if not issubclass(algorithm(config.algorithm), OffPolicyAlgorithm):
            raise Error(
                f"`counterfactual` needs a learner with a replay buffer, such as sb3:DQN or sb3:SAC. Received sb3:"
                f"{config.algorithm}."
            )
        if observe != "registers":
            raise Error(
                f"`counterfactual` needs the registers to be observed: --observe registers. Received {observe!r}."
            )
        if not isinstance(env.observation_space, gym.spaces.Box) or len(env.observation_space.shape) != 1:
            raise Error(
                f"`counterfactual` needs observations that are a flat Box. {task.title} has {env.observation_space} "
                "with the registers. Put gymnasium.wrappers.FlattenObservation around the environment; the atoms then "
                "read the flat observation. On the command line, write a function that returns "
                "FlattenObservation(gym.make(…)) in a module, and name it as MODULE:FUNCTION."
            )
    return {"replay_buffer_class": CounterfactualReplayBuffer, "replay_buffer_kwargs": arguments}


def _tasks_of(env: Environment) -> MultiTask | None:
    """Return the wrapper for several tasks of an environment that has one, and shows its observations unchanged."""
    layer: object = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, MultiTask):
            return layer if layer.observation_space == env.observation_space else None
        layer = layer.env
    return None


def make_model(
    env: Environment | VecEnv, config: SB3, seed: int | None, further: Mapping[str, object] = MappingProxyType({})
) -> BaseAlgorithm:
    """Make an untrained model, with further arguments for its class."""
    import torch

    options = {"verbose": 0, "device": "cpu", "seed": seed, **config.options, **further}
    before = torch.get_rng_state()
    try:
        return algorithm(config.algorithm)(config.policy, env, **options)
    except (AssertionError, TypeError, ValueError) as error:
        raise Error(
            f"Stable-Baselines3's {config.algorithm} cannot be made for this environment with the settings "
            f"{dict(config.options)!r}: {str(error).strip()}"
        ) from None
    finally:
        if seed is None:
            torch.set_rng_state(before)


def learn_models(
    task: Task,
    spec: Spec | None,
    observe: str | None,
    config: SB3,
    seeds: Sequence[int],
    progress: Progress | None = None,
) -> tuple[TrainingLog, dict[str, Array]]:
    """Train one model for each seed, one after the other; see `rewardspec.lab.learning.training.train`.

    The log comes with the parameters of the models' policies by name, with the runs as first axis.
    """
    algorithm(config.algorithm)  # raises its errors first
    replay = counterfactual_options(task, spec, observe, config) if config.counterfactual else {}
    from stable_baselines3.common.vec_env import DummyVecEnv

    rows: list[dict[str, float]] = []
    parameters: list[dict[str, Array]] = []
    callback_class, whole = _callback_class(), config.total_steps * len(seeds)
    for run, seed in enumerate(seeds):
        envs = DummyVecEnv([lambda: make_env(task, spec, observe)] * config.envs)
        with contextlib.closing(envs):
            model = make_model(envs, config, seed, replay)
            tell = (
                None if progress is None else (lambda done, run=run: progress(run * config.total_steps + done, whole))
            )
            recorder = callback_class(run, task, rows, tell)
            model.learn(config.total_steps, callback=recorder)
            parameters.append({name: value.numpy() for name, value in model.policy.state_dict().items()})
            require_finite_policy(parameters[-1], config.algorithm, f"after {config.total_steps:,} steps")
        if progress is not None:
            progress((run + 1) * config.total_steps, whole)
    stacked = {name: np.stack([each[name] for each in parameters]) for name in parameters[0]}
    if not rows:
        return TrainingLog.empty(len(seeds), task.measures), stacked
    return TrainingLog.ordered(len(seeds), {name: [row[name] for row in rows] for name in rows[0]}), stacked


def _callback_class() -> Callable[..., BaseCallback]:
    from stable_baselines3.common.callbacks import BaseCallback as Base

    class Recorder(Base):
        """Callback that logs a row for each finished episode."""

        def __init__(
            self, run: int, task: Task, rows: list[dict[str, float]], tell: Callable[[int], None] | None
        ) -> None:
            super().__init__()
            self.run, self.task, self.rows, self.tell = run, task, rows, tell
            self.began = time.perf_counter()

        def _on_training_start(self) -> None:
            self.sums = np.zeros((3, self.training_env.num_envs))  # steps, rewards, the environment's own
            require_finite(self.model._last_obs, f"The observation of {self.task.title}", self.where)

        def where(self, env: int) -> str:
            step = int(self.sums[0, env])
            return f"in environment {env} of run {self.run}, after step {step} of its episode,"

        def _on_step(self) -> bool:
            observations, rewards, infos = (self.locals[name] for name in ("new_obs", "rewards", "infos"))
            dones = self.locals["dones"]
            own = np.array([info.get("base_reward", reward) for info, reward in zip(infos, rewards, strict=True)])
            self.sums += np.ones_like(rewards), rewards, own
            require_finite(own, f"The reward of {self.task.title}", self.where)
            require_finite(rewards, f"The reward that the spec pays in {self.task.title}", self.where)
            last = observations
            if dones.any():  # then they belong to the next episodes
                last = np.stack(
                    [info.get("terminal_observation", one) for info, one in zip(infos, observations, strict=True)]
                )
            require_finite(last, f"The observation of {self.task.title}", self.where)
            for k, (ended, info) in enumerate(zip(dones, infos, strict=True)):
                if ended:
                    length, paid, base = self.sums[:, k].tolist()
                    self.rows.append(
                        {
                            "run": self.run,
                            "end_step": self.num_timesteps,
                            "length": int(length),
                            "reward": paid,
                            "base_reward": base,
                            "violated": bool(info.get("violated", False)),
                            "seconds": time.perf_counter() - self.began,
                            **{name: info["measures"][name] for name in self.task.measures},
                        }
                    )
                    self.sums[:, k] = 0.0
            if dones.any():
                require_finite(observations, f"The observation of {self.task.title}", self.where)
            if self.tell is not None:
                self.tell(min(self.num_timesteps, self.locals["total_timesteps"]))
            return True

    return Recorder


def parameter_shapes(task: Task, spec: Spec | None, observe: str | None, config: SB3) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters of a model's policy."""
    with contextlib.closing(make_env(task, spec, observe)) as env, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about settings that do not fit a single environment
        model = make_model(env, config, None)
    return {name: tuple(value.shape) for name, value in model.policy.state_dict().items()}


def load_zip(path: str, name: str) -> BaseAlgorithm:
    """Load a model of an algorithm that SB3 saved. This unpickles the file, so use it only for trusted files."""
    try:
        model: BaseAlgorithm = algorithm(name).load(path, device="cpu")
    except Error:
        raise
    except Exception as error:  # unpickling can raise anything
        raise Error(f"{path!r} cannot be loaded as a model of {name}: {error}") from error
    return model


def chooser(
    env: Environment, model: BaseAlgorithm, parameters: Mapping[str, Array] | None = None
) -> Callable[[Observation, MachineState], Action]:
    """Return a function from the environment's own observation and the spec's state to a model's greedy action.

    `env` is one of `make_env`, and `parameters` are loaded into the model's policy.
    """
    if parameters is not None:
        import torch

        model.policy.load_state_dict({name: torch.as_tensor(value) for name, value in parameters.items()})
    flat = env if isinstance(env, _Flat) else None
    inner = env if flat is None else flat.env
    extension = inner.extension if isinstance(inner, MonitorReward) else None
    features = None if extension is None else inner._features  # type: ignore[attr-defined]

    def choose(observation: Observation, state: MachineState) -> Action:
        if extension is not None and features is not None:
            observation = extension.extend(observation, features.read(state))
        if flat is not None:
            observation = flat.observation(observation)
        chosen = model.predict(observation, deterministic=True)[0]
        return int(chosen) if isinstance(env.action_space, gym.spaces.Discrete) else chosen

    return choose

"""Training tasks with PPO as one compiled program: which tasks can be, on which device, with log and checkpoints."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.features import Observe
from rewardspec.errors import Error, did_you_mean
from rewardspec.lab.learning.array_files import Checkpoint, restored_tree
from rewardspec.lab.learning.device_ppo import Carry, DevicePPO
from rewardspec.lab.learning.finite_numbers import require_finite_policy
from rewardspec.lab.learning.physics_env import physics_env
from rewardspec.lab.learning.ppo_update import import_jax
from rewardspec.lab.learning.settings import PPO, Config
from rewardspec.lab.learning.training_log import Progress, TrainingLog
from rewardspec.lab.tasks.measures import Ending, formula_measures, measured, number_of_means, of_means
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, Array, Observation

Device = Literal["host", "cpu", "gpu", "tpu"]
"""Where PPO trains: `"host"` steps environments in NumPy and compiles the update alone; the others are the platforms of
JAX on which everything is compiled."""
DEVICES: tuple[Device, ...] = get_args(Device)
WORTH_COMPILING = 2**20
"""Steps of all runs together from which compiling everything takes less time than it saves, on a processor; measured by
`benchmarks/device_training.py`."""
_CHUNKS = 50
"""Least number of calls of the compiled program, between which progress is told and checkpoints are written."""
_KEPT_STEPS = 2**22  # most steps whose episodes are held on the device
_COLUMNS = {"length": "length", "reward": "return", "base_reward": "base_return", "violated": "violated"}
"""Columns of the log, and what they are called in the `info` of `rewardspec.jax.SpecReward`."""


def is_compilable(task: Task) -> bool:
    """Whether there is an environment in JAX for a task that PPO learns."""
    return task.learner == "ppo" and physics_env(task) is not None


def checked_device(name: str) -> Device:
    """Return the name of a device, or raise an Error that lists all."""
    if name not in DEVICES:
        raise Error(f"`device` should be one of {', '.join(DEVICES)}. Received {name!r}.{did_you_mean(name, DEVICES)}")
    return name


def device_for(task: Task, spec: Spec | None, config: Config, runs: int, asked: str | None) -> Device:
    """Return the device to train runs of a task on, so many of them together.

    The one that was `asked` for is taken where the task can be compiled. None compiles for the processor where that
    pays and the spec's atoms can be compiled. Otherwise it is `"host"`.
    """
    if asked is not None and checked_device(asked) == "host":
        return "host"
    if not isinstance(config, PPO) or not is_compilable(task):
        return "host"
    if asked is not None:
        return checked_device(asked)
    if config.total_steps * runs < WORTH_COMPILING:
        return "host"
    try:
        compiled_ppo(task, spec, None, config, runs)
    except Error:
        return "host"
    return "cpu"


@contextlib.contextmanager
def computing_on(device: Device) -> Iterator[None]:
    """Context in which JAX computes on a device, which may be missing; "host" is the processor."""
    jax, _, _ = import_jax()
    platform = "cpu" if device == "host" else device
    try:
        found = jax.devices(platform)[0]
    except RuntimeError as error:
        raise Error(
            f"JAX finds no device {device!r} here: {str(error).splitlines()[0]} Install JAX for it, such as "
            "jax[cuda12], unset JAX_PLATFORMS, or choose device 'cpu' or 'host'."
        ) from None
    with jax.default_device(found):
        yield


class MeasuredEnv:
    """An environment of the protocol of `rewardspec.jax` with a task's measures of success in `info["measures"]`.

    They are those of the episode if it ended with the step.
    """

    def __init__(self, env: Any, task: Task) -> None:
        self.env = env
        self.task = task
        self.formulas = formula_measures(task)
        self.action_space = env.action_space

    def reset(self, key: Array) -> tuple[Any, Observation]:
        """Return the first state of an episode, and its observation."""
        _, jnp, _ = import_jax()
        state, obs = self.env.reset(key)
        monitor = None
        if self.formulas is not None:
            monitor = self.formulas.start(self.formulas.labels(obs, None, obs, step=0), (), xp=jnp)
        sums = (jnp.float32(0.0),) * number_of_means(self.task)
        return (state, obs, monitor, jnp.int32(0), jnp.float32(0.0), sums), obs

    def step(
        self, key: Array, state: Any, action: Action
    ) -> tuple[Any, Observation, Array, Array, Array, dict[str, Any]]:
        """Return what follows an action."""
        inner, before, monitor, length, base_return, sums = state
        inner, obs, reward, terminated, truncated, info = self.env.step(key, inner, action)
        length, base_return = length + 1, base_return + reward
        values: Sequence[Any] = ()
        if self.formulas is not None:
            monitor, _ = self.formulas.step(monitor, self.formulas.labels(before, action, obs))
            values = self.formulas.values(monitor)
            sums = tuple(total + value for total, value in zip(sums, of_means(self.task, values), strict=True))
        measures = measured(self.task, Ending(obs, length, base_return, terminated), values, sums)
        state = (inner, obs, monitor, length, base_return, sums)
        return state, obs, reward, terminated, truncated, {**info, "measures": measures}


def compiled_ppo(task: Task, spec: Spec | None, observe: str | None, config: PPO, runs: int) -> DevicePPO:
    """Return the program that trains runs of a task, or raise an Error where it cannot be compiled."""
    from rewardspec.jax import SpecReward

    env = physics_env(task)
    if env is None:
        raise Error(
            f"There is no environment in JAX for {task.title}, so that training it cannot be compiled. Choose device "
            "'host'."
        )
    measured = MeasuredEnv(env, task)
    _check_compilable(task, measured, spec)
    envs = SpecReward(measured, spec, config.envs, cast("Observe | None", observe), task.max_episode_steps)
    updates = config.total_steps // (config.rollout_steps * config.envs)
    kept = max(1, _KEPT_STEPS // (config.rollout_steps * config.envs * runs))
    return DevicePPO(envs, config, record=_kept, chunk=min(kept, -(-updates // _CHUNKS)))


def learn_actors_compiled(
    task: Task,
    spec: Spec | None,
    observe: str | None,
    config: PPO,
    seeds: Sequence[int],
    progress: Progress | None = None,
    *,
    device: Device = "cpu",
    checkpoint: Checkpoint | None = None,
) -> tuple[TrainingLog, dict[str, NDArray[Any]]]:
    """Train one policy for each seed of a task that `is_compilable`, in one compiled program.

    Arguments are those of `rewardspec.lab.learning.training.train`. The log and the arrays are those of
    `rewardspec.lab.learning.ppo.learn_actors`, from other random numbers. Returns and measures are summed in float32.
    """
    with computing_on(device):
        program = compiled_ppo(task, spec, observe, config, len(seeds))
        return _learn(task, program, seeds, progress, checkpoint)


def _learn(
    task: Task, program: DevicePPO, seeds: Sequence[int], progress: Progress | None, checkpoint: Checkpoint | None
) -> tuple[TrainingLog, dict[str, NDArray[Any]]]:
    jax, _, _ = import_jax()
    config, steps = program.config, program.config.rollout_steps * program.config.envs
    updates = config.total_steps // steps
    carry, keys, log = program.initial(seeds), program.keys(seeds), _Log(task, len(seeds), config)
    done, passed = 0, 0.0
    restored = None if checkpoint is None else checkpoint.load(carry)
    if restored is not None:
        leaves, columns, done, passed = restored
        carry = restored_tree(carry, leaves)
        log.parts.append(columns)
    began = time.perf_counter() - passed
    while done < updates:
        count = min(program.chunk, updates - done)
        carry, records = program.advance(carry, keys, done, count, updates)
        now = time.perf_counter() - began
        records = jax.tree.map(lambda leaf, count=count: np.asarray(leaf)[:count], records)
        _check(task, program, carry, records["finite"], (done + count) * steps)
        log.append(records["kept"], done, (passed, now))
        done, passed = done + count, now
        if checkpoint is not None and checkpoint.is_due and done < updates:
            checkpoint.save(carry, log.columns(), done, passed)
        if progress is not None:
            progress(done * steps * len(seeds), updates * steps * len(seeds))
    if checkpoint is not None:
        checkpoint.remove()
    return log.finished(), _actors(carry)


def _kept(info: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a step: whether an episode ended, and the numbers of that episode."""
    episode = info["episode"]
    return {
        "done": episode["done"],
        **{column: episode[name] for column, name in _COLUMNS.items() if name in episode},
        **info["measures"],
    }


class _Log:
    """The log of a training, made of records of the compiled program."""

    def __init__(self, task: Task, runs: int, config: PPO) -> None:
        self.task, self.runs, self.config = task, runs, config
        self.parts: list[dict[str, NDArray[Any]]] = []

    def append(self, rows: dict[str, NDArray[Any]], first: int, seconds: tuple[float, float]) -> None:
        """Add the episodes of the updates from number `first` on.

        `rows` are what was kept of each step, arrays of shape (updates, runs, steps, envs); `seconds` are those of
        training before and after, between which the times of episodes are interpolated.
        """
        update, run, step, env = np.nonzero(rows["done"])
        steps = (first + update) * self.config.rollout_steps + step + 1
        share = (update + (step + 1) / self.config.rollout_steps) / len(rows["done"])
        columns = {
            "run": run,
            "end_step": steps * self.config.envs,
            "seconds": seconds[0] + share * (seconds[1] - seconds[0]),
            "violated": np.zeros(len(run), dtype=np.bool_),
        }
        kept = {name: values[update, run, step, env] for name, values in rows.items() if name != "done"}
        self.parts.append(columns | kept)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns so far, episodes in the order in which they ended in each run."""
        names = self.parts[0]
        merged = {name: np.concatenate([part[name] for part in self.parts]) for name in names}
        self.parts = [merged]
        return merged

    def finished(self) -> TrainingLog:
        """The log."""
        columns = self.columns()
        if not len(columns["run"]):
            return TrainingLog.empty(self.runs, self.task.measures)
        order = ("run", "end_step", "length", "reward", "base_reward", "violated", "seconds", *self.task.measures)
        return TrainingLog.ordered(self.runs, {name: columns[name] for name in order})


def _actors(carry: Carry) -> dict[str, NDArray[Any]]:
    """The arrays of the learned actors as `rewardspec.lab.learning.policies` keeps them."""
    arrays = {name: np.asarray(array) for name, array in carry.parameters["actor"].items()}
    if "log_std" in carry.parameters:
        arrays["log_std"] = np.asarray(carry.parameters["log_std"])
    if carry.observations is not None:
        arrays["mean"] = np.asarray(carry.observations.mean)[:, 0]
        arrays["variance"] = np.asarray(carry.observations.variance)[:, 0]
    return arrays


def _check(task: Task, program: DevicePPO, carry: Carry, finite: NDArray[np.bool_], steps: int) -> None:
    """Check labels, rewards, observations and parameters after some updates."""
    program.envs.check_labels(carry.envs)
    when = f"after {steps:,} steps"
    if not finite.all():
        run = int(np.argwhere(~finite)[0, 1])
        raise Error(
            f"A reward or an observation of {task.title} in run {run}, {when} or before, is not finite. Training "
            "stopped, because a policy that learns from it is NaN as a whole. Train with device 'host' to see which "
            "number of which environment it is."
        )
    require_finite_policy({name: np.asarray(a) for name, a in carry.parameters["actor"].items()}, "PPO", when)


def _check_compilable(task: Task, env: MeasuredEnv, spec: Spec | None) -> None:
    """Trace a step and its labels, so that an atom or a measure that cannot be compiled is reported as such."""
    jax, jnp, _ = import_jax()

    def one(key: Array) -> Any:
        state, obs = env.reset(key)
        action = jnp.zeros(getattr(env.action_space, "shape", ()), dtype=jnp.int32)
        state, after, _, _, _, info = env.step(key, state, action)
        labels = {} if spec is None else spec.labels(obs, action, after, {**info, "state": state})
        return info["measures"], labels

    try:
        jax.eval_shape(one, jax.random.key(0))
    except (Error, TypeError) as error:  # errors of tracing are TypeErrors; those of an atom are told as Errors
        reason = str(error).splitlines()[0].rstrip(".")
        raise Error(
            f"A step of {task.title} cannot be compiled: {reason}. Write atoms and measures with "
            "operators and the functions of rewardspec.spec.atoms.label_functions, or choose device 'host'."
        ) from error

"""Training one cell: a task under a reward, all seeds together."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import operator
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rewardspec.episodes.features import OBSERVE
from rewardspec.errors import Error, MissingExtraError, did_you_mean
from rewardspec.lab.learning.array_files import Checkpoint
from rewardspec.lab.learning.device_training import checked_device, learn_actors_compiled
from rewardspec.lab.learning.env_batches import Source
from rewardspec.lab.learning.envpool_batch import is_pooled
from rewardspec.lab.learning.finite_tables import TABLE_OBSERVE, finite_tables
from rewardspec.lab.learning.policies import Policy
from rewardspec.lab.learning.ppo import learn_actors
from rewardspec.lab.learning.q_learning import learn_tables
from rewardspec.lab.learning.settings import PPO, SB3, Config, QLearning, learner_words, setting_hint
from rewardspec.lab.learning.spaces import NETWORK_OBSERVE, Actions, observation_size
from rewardspec.lab.learning.training_log import Progress, TrainingLog
from rewardspec.lab.tasks.task import Task
from rewardspec.lab.tasks.task_lookup import names
from rewardspec.spec.spec import Spec
from rewardspec.wrappers.monitor_reward import readable

_MODULES = {"box2d": "Box2D"}
"""The module that an environment's extra brings, which is also what its package is called."""


@dataclasses.dataclass(frozen=True)
class Training:
    """Result of `train`.

    Attributes:
        log: Every episode of every run.
        policy: What the runs learned.
        seconds: Wall-clock time, compilation included.
    """

    log: TrainingLog
    policy: Policy
    seconds: float


def train(
    task: Task,
    spec: Spec | None,
    *,
    config: Config,
    seeds: Sequence[int],
    observe: str | None = None,
    progress: Progress | None = None,
    source: Source = "gymnasium",
    device: str = "host",
    checkpoint: str | os.PathLike[str] | None = None,
) -> Training:
    """Train a policy for every seed; the same seeds and settings give the same log, but for the seconds in it.

    Args:
        task: The task.
        spec: The spec that pays, or None for the environment's own reward.
        config: The learner's settings, which also say which learner: Q-learning is for finite tasks.
        seeds: The seed of each run, from 0 to 2³² - 1.
        observe: What of the monitor the learner sees: None, `"registers"`, for PPO also `"control"` or `"values"`, for
            Q-learning also `"start-and-parity"`; for Q-learning, and for PPO on the host, `"registers-and-steps"`.
        progress: Called now and then with how much is done and of how much: episodes of Q-learning, steps of PPO.
        source: Where environments come from for which there is no array physics: `"gymnasium"`, or `"envpool"` where
            it has them, which is two to three times as quick and draws other random numbers.
        device: Where PPO trains. `"host"` steps environments of any kind in NumPy. `"cpu"`, `"gpu"` or `"tpu"`
            compiles everything with JAX for that platform, which needs an environment in JAX: those of classic control
            have one. Random numbers differ between `"host"` and the others, and rounding between all of them.
        checkpoint: File to which a compiled training writes its state every few seconds, and from which the same call
            resumes; removed in the end. None writes none; training on the host writes none.

    Example:
        >>> from rewardspec import tasks
        >>> lake = tasks.get("frozen_lake")
        >>> training = train(lake, lake.spec("boolean"), config=QLearning(episodes=300), seeds=range(20))
        >>> len(training.log), training.policy.arrays["table"].shape
        (6000, (20, 11, 4))
    """
    seeds = _checked_seeds(seeds)
    spec = None if spec is None else readable(spec)
    known = NETWORK_OBSERVE if isinstance(config, PPO) and device == "host" else (None, *OBSERVE)
    if observe not in (*known, *(TABLE_OBSERVE if isinstance(config, QLearning) else ())):
        raise Error(
            f"`observe` should be None or one of {', '.join(OBSERVE)}. Received {observe!r}."
            f"{did_you_mean(str(observe), OBSERVE)}"
        )
    if isinstance(config, QLearning) and task.learner != "q-learning":
        raise Error(f"{task.title} has no finite table for QLearning settings. Give PPO settings.")
    if checked_device(device) != "host" and not isinstance(config, PPO):
        raise Error(f"Only PPO is compiled for device {device!r}; {task.title} is learned otherwise. Leave it out.")
    began = time.perf_counter()
    if isinstance(config, QLearning):
        log, table = learn_tables(finite_tables(task, spec, observe), config, seeds, progress)
        policy = Policy("table", task, spec, observe, seeds, {"table": table})
    elif isinstance(config, SB3):
        from rewardspec.lab.learning.sb3_training import learn_models

        log, arrays = learn_models(task, spec, observe, config, seeds, progress)
        policy = Policy("sb3", task, spec, observe, seeds, arrays, config)
    else:
        if device == "host":
            log, arrays = learn_actors(task, spec, observe, config, seeds, progress, source)
        else:
            file = (
                None
                if checkpoint is None
                else Checkpoint(checkpoint, _identity(task, spec, observe, config, seeds, device))
            )
            log, arrays = learn_actors_compiled(
                task, spec, observe, config, seeds, progress, device=checked_device(device), checkpoint=file
            )
        policy = Policy("network", task, spec, observe, seeds, arrays, scale_actions=config.scale_actions)
    return Training(log, policy, time.perf_counter() - began)


def _identity(
    task: Task, spec: Spec | None, observe: str | None, config: PPO, seeds: Sequence[int], device: str
) -> dict[str, Any]:
    """Describe a training in plain values; functions of atoms by their names."""
    atoms = {} if spec is None else (spec.atom_functions or {})
    return {
        "task": task.name,
        "device": device,
        "spec": None if spec is None else repr(spec),
        "atoms": {name: getattr(atom, "__qualname__", None) or repr(atom) for name, atom in atoms.items()},
        "observe": observe,
        "config": dataclasses.asdict(config),
        "seeds": list(seeds),
    }


def _checked_seeds(seeds: Any) -> tuple[int, ...]:
    try:
        found = tuple(operator.index(seed) for seed in seeds)
    except TypeError:
        found = ()
    if not found or len(set(found)) < len(found) or not all(0 <= seed < 2**32 for seed in found):
        raise Error(
            f"`seeds` should be different integers from 0 to 2³² - 1, at least one, such as range(10). "
            f"Received {seeds!r}."
        )
    return found


def default_config(task: Task, changes: Mapping[str, Any] | None = None, *, quick: bool = False) -> Config:
    """Return the default settings for a task: those of the paper, with the budget of the task.

    Args:
        task: The task.
        changes: Settings that differ. What the settings of `SB3` do not know are arguments of the algorithm's class.
        quick: Whether to take its small budget.

    Raises:
        Error: There is no such setting, or no such value of it.

    Example:
        >>> from rewardspec import tasks
        >>> default_config(tasks.get("taxi")).episodes, default_config(tasks.get("pendulum"), quick=True).total_steps
        (2000, 16384)
    """
    config, changes = _defaults(task, quick), dict(changes or {})
    known = [field.name for field in dataclasses.fields(config)]
    if isinstance(config, SB3):
        options = {name: changes.pop(name) for name in list(changes) if name not in known}
        changes["options"] = {**config.options, **options}
    for name in changes:
        if name not in known:
            raise Error(f"{learner_words(task.learner)} has no setting {name!r}.{setting_hint(name, known)}")
    return dataclasses.replace(config, **changes)


def with_learner(task: Task, learner: str | None) -> Task:
    """The task, to be learned by another learner than its own."""
    if learner is None:
        return task
    if learner not in ("ppo", "q-learning") and not learner.startswith("sb3:"):
        raise Error(f"A learner is ppo, q-learning, or sb3:NAME, such as sb3:PPO or sb3:SAC. Received {learner!r}.")
    if learner == "q-learning" and task.learner != "q-learning":
        raise Error(f"{task.title} has no transition table `P`, which Q-learning needs here. Choose another learner.")
    return task.replace(learner=learner)


def _defaults(task: Task, quick: bool) -> Config:
    budget = task.budget
    if task.learner.startswith("sb3:"):
        config = SB3(algorithm=task.learner.removeprefix("sb3:"))
        steps = budget.quick_steps if quick else budget.steps
        return config if steps is None else dataclasses.replace(config, total_steps=steps)
    if task.learner == "q-learning":
        given: dict[str, Any] = {
            "episodes": budget.episodes,
            "max_steps": task.max_episode_steps,
        }
        return QLearning(**{name: value for name, value in given.items() if value is not None})
    settings = PPO.continuous() if task.continuous else PPO.discrete()
    # The tasks of the paper keep its learner, whose outputs are the actions themselves.
    settings = dataclasses.replace(settings, scale_actions=task.continuous and task.name not in names("paper"))
    steps = budget.quick_steps if quick else budget.steps
    return settings if steps is None else dataclasses.replace(settings, total_steps=steps)


def check_trainable(
    task: Task, specs: Iterable[Spec] = (), config: Config | None = None, observe: str | None = "registers"
) -> None:
    """Check, before long work, that a learner takes a task's environment and that specs can be read in it.

    Each spec is read at the first state and after one step. `observe` is what of the monitor the learner sees.
    """
    if isinstance(config, SB3):
        from rewardspec.lab.learning.sb3_training import counterfactual_options, parameter_shapes

        parameter_shapes(task, None, None, config)
        if config.counterfactual:
            for spec in specs:
                counterfactual_options(task, spec, observe, config)
    with contextlib.closing(task.make()) as env:
        if task.learner == "ppo":
            Actions(env.action_space)
            observation_size(env.observation_space)
        obs, info = env.reset(seed=0)
        env.action_space.seed(0)
        action = env.action_space.sample()
        after, _, _, _, after_info = env.step(action)
        for spec in specs:
            spec = readable(spec)
            spec.labels(obs, None, obs, step=0, info=info)
            spec.labels(obs, action, after, step=1, info=after_info)


def check_extras(tasks: Iterable[Task], *, source: Source = "gymnasium", extra: str | None = None) -> None:
    """Check that what training these environments needs is installed.

    The error names the first package that is missing, and what brings all: `extra`, or by default just those extras.
    """
    tasks = list(tasks)
    needed = []
    for task in tasks:
        if task.learner.startswith("sb3:"):
            needed.append(("stable_baselines3", "sb3", f"The learner {task.learner}"))
        else:
            needed += [("jax", "learn", "Training"), ("optax", "learn", "Training")]
    if source == "envpool" and any(map(is_pooled, tasks)):
        needed.append(("envpool", "envpool", "The source `envpool`"))
    needed += [(_MODULES.get(task.extra, task.extra), task.extra, task.title) for task in tasks if task.extra]
    missing = [need for need in needed if not _is_there(need[0])]
    if missing:
        package, _, purpose = missing[0]
        raise MissingExtraError(package, extra or ",".join(dict.fromkeys(name for _, name, _ in missing)), purpose)


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None

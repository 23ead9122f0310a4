"""Tasks: an environment, its named rewards and its measures of success."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import gymnasium as gym

from rewardspec.audit.intent import Intent
from rewardspec.environments import EnvLike, find_spec, make_environment, name_of, split_arguments, words_of
from rewardspec.errors import Error, SpecError, did_you_mean
from rewardspec.lab.tasks.measures import RETURN, Ending, Measure, RecordMeasures
from rewardspec.renamed import renamed_constructor
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.spec import Spec
from rewardspec.types import Array, Environment, Ints, Number, Observation

Kind: TypeAlias = Literal["boolean", "quantitative"]
"""The two specs of each task of the paper's evaluation."""
Learner: TypeAlias = str
"""`"ppo"`, `"q-learning"`, or `"sb3:NAME"` for an algorithm of Stable-Baselines3."""
SpecLike: TypeAlias = Spec | str | os.PathLike[str]
"""A spec, or the path of its file."""

T = TypeVar("T")


class _Inferred(Generic[T]):
    """A dataclass field that is inferred on first access unless it was given."""

    def __init__(self, infer: Callable[[Task], T]) -> None:
        self.infer = infer

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.inferred = name, f"_inferred_{name}"

    @overload
    def __get__(self, task: None, owner: type) -> None: ...
    @overload
    def __get__(self, task: Task, owner: type) -> T: ...
    def __get__(self, task: Task | None, owner: type) -> T | None:
        if task is None:
            return None  # the default value of the dataclass field
        values = vars(task)
        if values[self.name] is None and self.inferred not in values:
            values[self.inferred] = self.infer(task)
        found: T = values[self.inferred] if values[self.name] is None else values[self.name]
        return found

    def __set__(self, task: Task, value: T | None) -> None:
        vars(task)[self.name] = value


@dataclasses.dataclass(frozen=True)
class TrainingBudget:
    """Training budget of a task and its approximate cost; None means the learner's default.

    Attributes:
        steps: Environment steps of a run of PPO.
        quick_steps: The same on the small budget of `reproduce --quick`.
        episodes: Episodes of a run of Q-learning.
        step_seconds: Approximate seconds of a PPO step on one core: for all runs together, and for each run.
    """

    steps: int | None = None
    quick_steps: int = 32_768
    episodes: int | None = None
    step_seconds: tuple[float, float] = (1e-4, 5e-6)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """An environment, its named rewards and its measures of success.

    Attributes:
        name: The name by which `rewardspec.lab.tasks.get` finds it and results are filed.
        env: A Gymnasium id, `module:id`, `module:Class`, or a function that makes the environment.
        specs: The rewards to train with and to compare, by name; "base" always stands for the environment's own.
        variants: Further specs, which are shown and audited but not compared.
        measures: Measures of success by name, the main one first; by default the environment's own return.
        title: Name for display; by default made from the name.
        family: Its group in lists and tables.
        id: The id that `register` registers with Gymnasium; None if `env` is registered already.
        max_episode_steps: Time limit of an episode, or None; by default as registered with Gymnasium.
        learner: `"q-learning"`, `"ppo"`, or `"sb3:NAME"` for an algorithm of Stable-Baselines3; by default Q-learning
            if the environment has a transition table `P` and Discrete spaces, else PPO.
        continuous: Whether actions are continuous; by default inferred from the environment.
        goal: The objective in a sentence.
        base_reward: The environment's own reward, in words.
        intent: Goal and hazard, for audits.
        budget: Training budget.
        batch: Function of the task and a list of seeds that makes a batch of environments, see
            `rewardspec.lab.learning.env_batches`; None steps Gymnasium's environments in a loop.
        shown: Observation of a tabular learner, if it is less than the state: maps an array of n states to an array of
            shape (n,) or (n, k).
        notes: Notes about the task by heading, for the documentation.
        base_bonus: Addition to the reward of Gymnasium's environment, for batches that compute the physics themselves.
        extra: The optional dependency of the environment.

    Example:
        >>> lake = Task.from_env("FrozenLake-v1", Spec([("F goal", 1)], atoms={"goal": lambda o, a, n: n == 15}))
        >>> lake.name, lake.learner, lake.max_episode_steps, list(lake.specs), list(lake.measures)
        ('FrozenLake-v1', 'q-learning', 100, ['spec'], ['return'])
    """

    name: str
    env: EnvLike
    specs: Mapping[str, Spec] = dataclasses.field(default_factory=dict)
    variants: Mapping[str, Spec] = dataclasses.field(default_factory=dict)
    measures: Mapping[str, Measure] = dataclasses.field(default_factory=lambda: {"return": RETURN})
    title: _Inferred[str] = _Inferred(lambda task: _title_of(task.name))
    family: str = "Tasks"
    id: str | None = None
    max_episode_steps: _Inferred[int | None] = _Inferred(lambda task: find_spec(task.env).max_episode_steps)
    learner: _Inferred[Learner] = _Inferred(lambda task: _read_env(task)[0])
    continuous: _Inferred[bool] = _Inferred(lambda task: task.learner != "q-learning" and _read_env(task)[1])
    goal: str = ""
    base_reward: str = ""
    intent: Intent | None = None
    budget: TrainingBudget = TrainingBudget()
    batch: Callable[..., Any] | None = None
    shown: Callable[[Ints], Array] | None = None
    notes: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    base_bonus: AtomFunction | None = None
    extra: str | None = None

    def __post_init__(self) -> None:
        if re.fullmatch(r"[A-Za-z0-9][\w.+-]*", self.name) is None:
            raise Error(
                f"A task's name should be letters, digits, '_', '-', '+' and '.', since results are filed under it. "
                f"Received {self.name!r}."
            )
        if "base" in self.specs:
            raise SpecError("The spec name 'base' stands for the environment's own reward. Give the spec another name.")
        if not self.measures:
            object.__setattr__(self, "measures", {"return": RETURN})

    @classmethod
    def from_env(cls, env: EnvLike, specs: SpecLike | Mapping[str, SpecLike] | None = None, **options: Any) -> Task:
        """Make a task from any environment.

        Args:
            env: A Gymnasium id, `module:id`, `module:Class`, or a function that makes the environment.
            specs: Specs or paths of spec files by name; a single one is named "spec".
            **options: Further attributes of the task.
        """
        named = specs if isinstance(specs, Mapping) else {} if specs is None else {"spec": specs}
        options = {"name": name_of(env), "title": words_of(env).partition(" (")[0]} | options
        return cls(env=env, specs={name: _as_spec(spec) for name, spec in named.items()}, **options)

    of = renamed_constructor("Task", "of", "from_env")

    def given(self, name: str) -> Any:  # the type is that of the attribute
        """Return an attribute as it was given; None if it is inferred."""
        return vars(self)[name]

    def replace(self, **changes: Any) -> Task:
        """Copy the task with some attributes changed; inferred attributes are inferred again."""
        return Task(**({field.name: self.given(field.name) for field in dataclasses.fields(self)} | changes))

    def make(self, **kwargs: Any) -> Environment:
        """Make the environment with `gymnasium.make`, wrapped in `rewardspec.lab.tasks.RecordMeasures`."""
        from rewardspec.lab.tasks.task_lookup import is_registered

        if self.id is not None and is_registered(self):
            return gym.make(self.id, **kwargs)
        spec = find_spec(self.env)
        limit = spec.max_episode_steps if self.given("max_episode_steps") is None else self.max_episode_steps
        spec = dataclasses.replace(spec, id=self.id or spec.id, max_episode_steps=limit)
        return RecordMeasures(make_environment(spec, **kwargs), self)

    @property
    def made_by(self) -> str:
        """The Python expression that makes the environment.

        Example:
            >>> from rewardspec import tasks
            >>> tasks.get("taxi").made_by
            "gymnasium.make('rewardspec.lab.tasks:rewardspec/Taxi-v0')"
            >>> Task.from_env("gymnasium.envs.toy_text.taxi:TaxiEnv").made_by
            'gymnasium.envs.toy_text.taxi:TaxiEnv'
        """
        if self.id is not None and self.id.startswith("rewardspec/"):
            return f"gymnasium.make('rewardspec.lab.tasks:{self.id}')"  # Gymnasium imports the module before the colon
        env = self.id or self.env
        return f"gymnasium.make({env!r})" if isinstance(env, str) and words_of(env) in gym.registry else str(env)

    @property
    def arguments(self) -> str:
        """The arguments of `gymnasium.make`, as `name=value`; empty if there are none.

        Example:
            >>> Task.from_env('FrozenLake-v1?{"is_slippery": false}').arguments
            'is_slippery=false'
        """
        _, given = split_arguments(self.env) if isinstance(self.env, str) else ("", {})
        return ", ".join(f"{name}={json.dumps(value)}" for name, value in given.items())

    @property
    def words(self) -> str:
        """The title, with the arguments of the environment."""
        return f"{self.title} ({self.arguments})" if self.arguments else self.title

    @property
    def measure(self) -> Measure:
        """The first of the measures."""
        return next(iter(self.measures.values()))

    def task_completion(self, obs: Observation) -> Number:
        """Compute the first measure from the last observation of an episode or of a batch.

        Raises:
            Error: The measure reads more than the last observation.
        """
        if self.measure.reads != "last_obs":
            raise Error(f"The measure of {self.title} reads more of an episode than its last observation.")
        return self.measure(Ending(obs, None, None, None))

    @property
    def completion(self) -> Callable[[Observation], Number] | None:
        """`task_completion`, or None if the first measure reads more than the last observation."""
        return self.task_completion if self.measure.reads == "last_obs" else None

    @property
    def atoms(self) -> dict[str, AtomFunction]:
        """The atoms of all specs; on conflict, those of the later spec."""
        return {name: atom for spec in self.specs.values() for name, atom in (spec.atom_functions or {}).items()}

    def with_atoms(self, spec: Spec) -> Spec:
        """Give a spec without atom functions those of the task, if it has any."""
        return spec if spec.atom_functions or not self.atoms else spec.replace(atoms=self.atoms)

    def spec(self, name: str, **changes: Any) -> Spec:
        """Return one of the specs, with some arguments of `Spec` changed, such as `payment`."""
        known = {**self.specs, **self.variants}
        if name not in known:
            raise SpecError(
                f"{self.title} has no spec {name!r}; it has: {', '.join(known) or 'none'}.{did_you_mean(name, known)}"
            )
        return known[name].replace(**changes) if changes else known[name]


def _title_of(name: str) -> str:
    """Make the title of a task from its name.

    Example:
        >>> _title_of("frozen_lake"), _title_of("MiniGrid-DoorKey-8x8-v0")
        ('Frozen Lake', 'MiniGrid-DoorKey-8x8-v0')
    """
    return name.replace("_", " ").title() if name.islower() and "-" not in name else name


def _read_env(task: Task) -> tuple[Learner, bool]:
    """Infer the learner of a task, and whether its actions are continuous, from its environment."""
    env = task.make(disable_env_checker=True)
    finite = isinstance(getattr(env.unwrapped, "P", None), Mapping) and all(
        isinstance(space, gym.spaces.Discrete) for space in (env.observation_space, env.action_space)
    )
    continuous = isinstance(env.action_space, gym.spaces.Box)
    env.close()
    return "q-learning" if finite else "ppo", continuous


def docstring_notes(docstring: str | None) -> dict[str, tuple[str, ...]]:
    r"""Parse the bullet points of a module's docstring, by heading.

    The documentation of a task takes its notes from the docstring of the task's file.

    Example:
        >>> docstring_notes("Summary.\n\nDepartures:\n    - One thing\n      and more.\n    - Another.\n")
        {'Departures': ('One thing and more.', 'Another.')}
    """
    return dict(_sections(docstring or ""))


def _sections(docstring: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for found in re.finditer(r"^(\S.*):\n((?:    .*\n|\n)+)", docstring + "\n", flags=re.MULTILINE):
        points = re.split(r"^    - ", found[2], flags=re.MULTILINE)[1:]
        yield found[1], tuple(" ".join(point.split()) for point in points)


def _as_spec(spec: object) -> Spec:
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, str | os.PathLike):
        from rewardspec.spec.toml_reading import load_spec

        return load_spec(spec)
    raise SpecError(f"A task's specs are Spec objects or the paths of their files. Received {spec!r}.")

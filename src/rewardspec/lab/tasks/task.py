"""What a task is: an environment, rewards by name and, if wanted, measures of success."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import gymnasium as gym

from rewardspec.audit.intent import Intent
from rewardspec.environments import EnvLike, name_of, words_of
from rewardspec.errors import Error, SpecError, did_you_mean
from rewardspec.lab.tasks import making
from rewardspec.lab.tasks.measures import RETURN, Ending, Measure
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.spec import Spec

Kind: TypeAlias = Literal["boolean", "quantitative"]
"""The two specs of each task of the paper's evaluation."""
Learner: TypeAlias = str
"""`"ppo"`, `"q-learning"`, or `"sb3:NAME"` for an algorithm of Stable-Baselines3."""
SpecLike: TypeAlias = Spec | str | os.PathLike[str]
"""A spec, or the path of its file."""

T = TypeVar("T")


class _Inferred(Generic[T]):
    """A field that is found out when it is first asked for, unless it was given."""

    def __init__(self, infer: Callable[[Any], T]) -> None:
        self.infer = infer

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.inferred = name, f"_inferred_{name}"

    @overload
    def __get__(self, task: None, owner: type) -> None: ...
    @overload
    def __get__(self, task: Task, owner: type) -> T: ...
    def __get__(self, task: Task | None, owner: type) -> T | None:
        if task is None:
            return None  # what dataclasses take for the default
        values = vars(task)
        if values[self.name] is None and self.inferred not in values:
            values[self.inferred] = self.infer(task)
        found: T = values[self.inferred] if values[self.name] is None else values[self.name]
        return found

    def __set__(self, task: Task, value: T | None) -> None:
        vars(task)[self.name] = value


@dataclasses.dataclass(frozen=True)
class TrainingBudget:
    """How much training a task is given, and roughly what it costs; None leaves a number to the learner.

    Attributes:
        steps: Environment steps of a run of PPO.
        quick_steps: The same on the small budget that shows everything in minutes.
        episodes: Episodes of a run of Q-learning.
        quick_episodes: The same on the small budget.
        step_seconds: Rough seconds of a PPO step on one core: once for all runs trained together, and for each run.
    """

    steps: int | None = None
    quick_steps: int = 32_768
    episodes: int | None = None
    quick_episodes: int | None = None
    step_seconds: tuple[float, float] = (1e-4, 5e-6)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """An environment, its rewards by name, and how success is measured; all else has defaults.

    Attributes:
        name: The name by which `rewardspec.lab.tasks.get` finds it and results are filed.
        env: A Gymnasium id, `module:id`, `module:Class`, or a function that makes the environment.
        specs: The rewards to train with and to compare, by name; the environment's own is always there, as "base".
        variants: Further specs, which are shown and audited but not compared.
        measures: Measures of success by name, the most telling first; by default the environment's own return.
        title: Its name for people; by default made from the name.
        family: The group it stands in, in lists and tables.
        id: The id under which `register` makes it known to Gymnasium; None where `env` is one already.
        max_episode_steps: After how many steps an episode is cut off; by default as registered with Gymnasium, and None
            where it never is.
        learner: `"q-learning"`, `"ppo"`, or `"sb3:NAME"` for an algorithm of Stable-Baselines3; by default Q-learning
            where the environment publishes its transition table `P` and all is Discrete, else PPO.
        continuous: Whether actions are continuous; by default read off the environment.
        goal: What is to be done, in a sentence.
        base_reward: The environment's own reward, in words.
        intent: Goal and hazard, for audits.
        budget: How much training it is given.
        batch: Makes many copies of the environment that are stepped together, from the task and a list of seeds; see
            `rewardspec.lab.learning.env_batches`. None steps Gymnasium's environments one after the other.
        shown: What a learner of tables is shown of the states of a finite environment, where that is less than which
            state it is: from an array of states, a number or a row of numbers for each.
        notes: Further points about the task by heading, for pages.
        base_bonus: What is added to the reward of Gymnasium's environment, for learners that batch their own copy.
        extra: The optional dependency that the environment needs.

    Example:
        >>> lake = Task.of("FrozenLake-v1", Spec([("F goal", 1)], atoms={"goal": lambda o, a, n: n == 15}))
        >>> lake.name, lake.learner, lake.max_episode_steps, list(lake.specs), list(lake.measures)
        ('FrozenLake-v1', 'q-learning', 100, ['spec'], ['return'])
    """

    name: str
    env: EnvLike
    specs: Mapping[str, Spec] = dataclasses.field(default_factory=dict)
    variants: Mapping[str, Spec] = dataclasses.field(default_factory=dict)
    measures: Mapping[str, Measure] = dataclasses.field(default_factory=lambda: {"return": RETURN})
    title: _Inferred[str] = _Inferred(lambda task: making.title_of(task.name))
    family: str = "Tasks"
    id: str | None = None
    max_episode_steps: _Inferred[int | None] = _Inferred(lambda task: making.time_limit(task))
    learner: _Inferred[Learner] = _Inferred(lambda task: making.read_env(task).learner)
    continuous: _Inferred[bool] = _Inferred(
        lambda task: task.learner != "q-learning" and making.read_env(task).continuous
    )
    goal: str = ""
    base_reward: str = ""
    intent: Intent | None = None
    budget: TrainingBudget = TrainingBudget()
    batch: Callable[..., Any] | None = None
    shown: Callable[[Any], Any] | None = None
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
    def of(cls, env: EnvLike, specs: SpecLike | Mapping[str, SpecLike] | None = None, **options: Any) -> Task:
        """A task made of any environment.

        Args:
            env: A Gymnasium id, `module:id`, `module:Class`, or a function that makes the environment.
            specs: Specs or the paths of their files by name; one alone is called "spec".
            **options: Further attributes of the task.
        """
        named = specs if isinstance(specs, Mapping) else {} if specs is None else {"spec": specs}
        options = {"name": name_of(env), "title": words_of(env)} | options
        return cls(env=env, specs={name: _as_spec(spec) for name, spec in named.items()}, **options)

    def given(self, name: str) -> Any:
        """An attribute as it was given; None where it is one that is found out when asked for."""
        return vars(self)[name]

    def replace(self, **changes: Any) -> Task:
        """A copy with some attributes changed; what was found out is found out again."""
        return Task(**({field.name: self.given(field.name) for field in dataclasses.fields(self)} | changes))

    def make(self, **kwargs: Any) -> gym.Env[Any, Any]:
        """The environment, as `gymnasium.make` makes it, which tells the measures at the end of an episode.

        See `rewardspec.lab.tasks.RecordMeasures`.
        """
        return making.make(self, **kwargs)

    @property
    def made_by(self) -> str:
        """What makes the environment, as one writes it in Python."""
        return making.made_by(self)

    @property
    def measure(self) -> Measure:
        """The first of the measures."""
        return next(iter(self.measures.values()))

    def task_completion(self, obs: Any) -> Any:
        """The first measure, of the last observation of an episode or of a batch of episodes.

        Raises:
            Error: It reads more than the last observation.
        """
        if self.measure.reads != "last_obs":
            raise Error(f"The measure of {self.title} reads more of an episode than its last observation.")
        return self.measure(Ending(obs, None, None, None))

    @property
    def completion(self) -> Callable[[Any], Any] | None:
        """`task_completion`, or None if the first measure reads more of an episode than its last observation."""
        return self.task_completion if self.measure.reads == "last_obs" else None

    @property
    def atoms(self) -> dict[str, AtomFunction]:
        """The atoms of all specs; of two with one name, the later spec's."""
        return {name: atom for spec in self.specs.values() for name, atom in (spec.atom_functions or {}).items()}

    def spec(self, name: str, **changes: Any) -> Spec:
        """One of the specs, with some arguments of `Spec` changed, such as `payment`.

        Raises:
            SpecError: There is none of that name.
        """
        known = {**self.specs, **self.variants}
        if name not in known:
            raise SpecError(
                f"{self.title} has no spec {name!r}; it has: {', '.join(known) or 'none'}.{did_you_mean(name, known)}"
            )
        return known[name].replace(**changes) if changes else known[name]


def docstring_notes(docstring: str | None) -> dict[str, tuple[str, ...]]:
    r"""The bullet points of a module's docstring by their headings, each on one line.

    A task's file tells what is particular about it once, in its docstring, and pages read it from there.

    Example:
        >>> docstring_notes("Summary.\n\nDepartures:\n    - One thing\n      and more.\n    - Another.\n")
        {'Departures': ('One thing and more.', 'Another.')}
    """
    return dict(_sections(docstring or ""))


def _sections(docstring: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for found in re.finditer(r"^(\S.*):\n((?:    .*\n|\n)+)", docstring + "\n", flags=re.MULTILINE):
        points = re.split(r"^    - ", found[2], flags=re.MULTILINE)[1:]
        yield found[1], tuple(" ".join(point.split()) for point in points)


def _as_spec(spec: Any) -> Spec:
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, str | os.PathLike):
        from rewardspec.spec.toml_reading import load_spec

        return load_spec(spec)
    raise SpecError(f"A task's specs are Spec objects or the paths of their files. Received {spec!r}.")

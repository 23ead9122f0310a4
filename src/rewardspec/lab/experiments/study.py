"""Studies: tasks, rewards and training budgets. A study is a table with a row for each task and a column per reward.

A `Cell` of the table is a task with a reward. Its runs, one for each seed, are divided into jobs, which run anywhere
and in any order. The paper's evaluation (`rewardspec.lab.paper`) is a study, and so is a comparison of your own specs
(`rewardspec.lab.experiments.own_study`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from rewardspec.episodes.features import OBSERVE
from rewardspec.errors import Error, did_you_mean
from rewardspec.lab.experiments.convergence import ConvergenceRule
from rewardspec.lab.experiments.jobs import Job, expected_seconds
from rewardspec.lab.learning.device_training import device_for
from rewardspec.lab.learning.env_batches import Source
from rewardspec.lab.learning.envpool_batch import is_pooled
from rewardspec.lab.learning.settings import Config, Unit
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec
from rewardspec.types import JsonObject

BASE = "base"
"""Name of the environment's own reward in every study."""


@dataclasses.dataclass(frozen=True)
class Reward:
    """A reward, and what of its monitor's state the learner observes, as the wrapper's `observe`.

    `spec` is None for the environment's own reward. `note` is the idea in a sentence. `text` is that of the spec file,
    if any; a change of it changes the names of results.
    """

    spec: Spec | None
    observe: str | None = None
    note: str = ""
    text: str | None = None

    def describe(self) -> JsonObject:
        """Return the reward as JSON data, which determines the names of its results.

        Atoms are identified by the names of their functions; changes inside a function are not detected.
        """
        spec = self.spec
        if spec is None:
            return {"observe": self.observe, "payment": None, "pairs": []}
        functions = spec.atom_functions or {}
        return ({} if self.text is None else {"text": self.text}) | {
            "observe": self.observe,
            "payment": spec.payment,
            "discount": spec.discount if "potential" in (spec.payment, *spec.payments) else None,
            "penalty": spec.penalty,
            "clip": spec.clip,
            "pairs": [
                {
                    "formula": str(pair.formula),
                    "weight": pair.weight,
                    "safety": pair.vetoes,
                    "penalty": pair.penalty,
                    **({"progress": True} if pair.progress else {}),
                    **({} if pair.payment is None else {"payment": pair.payment}),
                }
                for pair in spec.pairs
            ],
            "atoms": {name: _function_name(functions.get(name)) for name in spec.atoms},
        }


def _function_name(function: object) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def own_reward(task: Task, name: str) -> Reward:
    """Return the environment's own reward, or one of the task's specs with `observe="registers"`.

    With the registers observed, the reward is Markov.
    """
    if name == BASE:
        return Reward(None, None, "The environment's own reward.")
    return Reward(task.spec(name), "registers")


@dataclasses.dataclass(frozen=True)
class Budget:
    """Training budget of a cell: the number of runs, with seeds from 0; of runs in a job; the learner's settings."""

    seeds: int
    block: int
    config: Config

    def __post_init__(self) -> None:
        for name in ("seeds", "block"):
            if getattr(self, name) < 1:
                raise Error(f"`{name}` should be at least 1. Received {getattr(self, name)}.")


@dataclasses.dataclass(frozen=True)
class Contrast:
    """A comparison of one reward with the best of some others, by a measure of success, by default a task's first.

    `name` is its key in files, and `title` its name for display.
    """

    name: str
    title: str
    reward: str
    others: tuple[str, ...]
    measure: str | None = None


@dataclasses.dataclass(frozen=True)
class Reference:
    """Published numbers of a cell: mean episode and seconds of convergence, and task completion in percent.

    `half_width` is half the width of the completion's 95 % interval. Stars mark a suboptimal policy.
    """

    episode: float | None
    seconds: float | None
    completion: float
    half_width: float
    episode_star: bool = False
    seconds_star: bool = False


References: TypeAlias = Mapping[str, Mapping[str, Reference]]
"""Published numbers by task and reward."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """Tasks and rewards that are compared.

    Attributes:
        lead: Summary in a few sentences.
        tasks: The tasks by name, the rows of the table.
        rewards: The titles of the rewards by name, the columns of the table.
        budget: Function of a task and `quick` that returns the budget of a cell.
        reward: Function of a task and a name that returns a reward.
        contrasts: The comparisons.
        references: Published numbers, shown beside the results.
        rivals: The rewards that the star of a suboptimal policy compares with.
        is_full: Function of a task, settings and number of runs: whether a cell had the budget of `references`.
        convergence: Function of a task that returns its convergence rule.
        success: The formula or atom that success is measured by; empty where the tasks have measures of their own.
        rules: Formulas of the specs that are measured under every reward: their titles by name of the measure.
        notes: Differences from the tasks' own settings.
        description: The study as JSON data, from which `study_of` rebuilds it.
    """

    title: str
    lead: str
    tasks: Mapping[str, Task]
    rewards: Mapping[str, str]
    budget: Callable[[Task, bool], Budget]
    reward: Callable[[Task, str], Reward] = own_reward
    contrasts: tuple[Contrast, ...] = ()
    references: References = dataclasses.field(default_factory=dict)
    rivals: tuple[str, ...] = ()
    is_full: Callable[[Task, JsonObject, int], bool] = lambda task, config, runs: True
    convergence: Callable[[Task], ConvergenceRule] = lambda task: ConvergenceRule()
    success: str = ""
    rules: Mapping[str, str] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    description: JsonObject

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """All cells, by task and reward, in the order of the table."""
        return tuple((task, reward) for task in self.tasks for reward in self.rewards)

    @property
    def cell_word(self) -> str:
        """What a cell is to readers: of a single task, there is one for each reward."""
        return "cell" if len(self.tasks) > 1 else "reward"

    @property
    def measured(self) -> str:
        """Name of the first measure of success, in words; "score" if those of the tasks have different names."""
        names = {next(iter(task.measures)).replace("_", " ") for task in self.tasks.values()}
        return names.pop() if len(names) == 1 else "score"

    @property
    def definition(self) -> str:
        """What the first measure of a single task is, such as "Success: the value of `F goal` at the end of …"."""
        words = [task.measure.words for task in self.tasks.values()]
        if len(words) != 1 or not words[0]:
            return ""
        return f"{self.measured.capitalize()}: {words[0][0].lower()}{words[0][1:]}"

    def checked_reward(self, name: str) -> str:
        """Return the name of a reward of this study, or raise an Error."""
        if name not in self.rewards:
            known = ", ".join(self.rewards)
            raise Error(f"There is no reward {name!r}; known: {known}.{did_you_mean(name, self.rewards)}")
        return name

    def jobs(
        self,
        tasks: Sequence[str] | None = None,
        rewards: Sequence[str] | None = None,
        *,
        quick: bool = False,
        seeds: int | None = None,
        block: int | None = None,
        source: Source = "gymnasium",
        device: str | None = "host",
    ) -> list[Job]:
        """Return the jobs of some tasks and rewards, by default of all.

        `quick` takes the small budgets; `seeds` and `block` replace numbers of the budgets. `source` is that of
        environments without array physics; for `device` see `rewardspec.lab.learning.device_training.device_for`.
        """
        chosen = [self.checked_reward(name) for name in (rewards if rewards is not None else self.rewards)]
        changes = {name: value for name, value in (("seeds", seeds), ("block", block)) if value is not None}
        jobs: list[Job] = []
        for name in dict.fromkeys(tasks if tasks is not None else self.tasks):
            task = self.tasks[name]
            budget = dataclasses.replace(self.budget(task, quick), **changes)  # type: ignore[arg-type]
            for reward in dict.fromkeys(chosen):
                paid = self.reward(task, reward)
                setup = paid.describe()
                if source != "gymnasium" and is_pooled(task):
                    setup["source"] = source  # which draws other random numbers
                runs = min(budget.block, budget.seeds)
                can = device if paid.observe in (None, *OBSERVE) else "host"  # a count of steps is not compiled
                trained_on = device_for(task, paid.spec, budget.config, runs, can)
                if trained_on != "host":
                    setup["device"] = trained_on  # likewise
                for first in range(0, budget.seeds, budget.block):
                    count = min(budget.block, budget.seeds - first)
                    cost = expected_seconds(task, budget.config, count)
                    jobs.append(Job(name, reward, first, count, budget.config, setup, cost))
        return jobs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Provenance:
    """What was trained in a cell of the table, how and where.

    Attributes:
        seconds: Wall-clock seconds of training, summed over jobs.
        observe: Part of the monitor's state that the learner observed, or None.
        payment: Payment of the spec; None for the environment's own reward.
        devices: The kinds of machine that trained it.
    """

    task: str
    reward: str
    seconds: float
    config: JsonObject
    observe: str | None
    payment: str | None
    commands: tuple[str, ...]
    versions: Mapping[str, str]
    devices: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell(Provenance):
    """Results of one cell of the table, merged from its jobs: the episodes of all runs, and the first seed."""

    log: TrainingLog
    first: int = 0

    @property
    def unit(self) -> Unit:
        """Unit of the training budget."""
        return "episodes" if "episodes" in self.config else "steps"


def study_of(description: JsonObject, *, show: bool = False, references: bool = True) -> Study:
    """Rebuild a study from its description, possibly from a file.

    With `show`, results are only shown, and functions that specs refer to are not imported. `references` says whether
    the module of an environment `module:…` may be imported, which runs its code.
    """
    kind = description.get("study")
    if kind == "paper":
        from rewardspec.lab.paper.evaluation import paper_study

        return paper_study(as_published=True) if description.get("as_published") else paper_study()
    if kind == "own":
        from rewardspec.lab.experiments.own_study import own_study

        given = {key: value for key, value in description.items() if key not in ("study", "show", "references")}
        return own_study(**given, show=show, references=references)
    raise Error(f"There is no study {kind!r} in this version of rewardspec. Use the version that wrote it.")


def merged_description(old: JsonObject, new: JsonObject) -> JsonObject:
    """Merge the descriptions of a study that is resumed, possibly with further rewards."""
    if old == new:
        return new
    if not old.get("study") == new.get("study") == "own":
        raise Error("The directory holds the results of another study. Give another directory with -o.")
    for name in ("env", "measure", "observe"):
        if old.get(name) != new.get(name):
            raise Error(
                f"The directory holds the results of another study: its `{name}` is {old.get(name)!r}, and "
                f"{new.get(name)!r} was given. Repeat what it has, or give another directory with -o."
            )
    from rewardspec.lab.experiments.own_study import check_measure

    check_measure(old, new)
    return {**new, "base": old["base"] or new["base"], "specs": {**old["specs"], **new["specs"]}}

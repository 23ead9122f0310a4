"""Studies: which tasks are trained with which rewards, and how much. A study is the rows and columns of a table.

A `Cell` of the table is a task with a reward; its runs, one for each seed, are divided into jobs, which are trained
anywhere and in any order. The paper's evaluation is one study (`rewardspec.lab.paper`), a comparison of one's
own specs another (`rewardspec.lab.experiments.own_study`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from rewardspec.errors import Error, did_you_mean
from rewardspec.lab.experiments.convergence import Rule
from rewardspec.lab.experiments.jobs import Job, expected_seconds
from rewardspec.lab.learning.env_batches import Source
from rewardspec.lab.learning.envpool_batch import is_pooled
from rewardspec.lab.learning.settings import Config, Unit
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec

BASE = "base"
"""The name of the environment's own reward in every study."""


@dataclasses.dataclass(frozen=True)
class Reward:
    """What pays the learner, and what it is shown.

    Attributes:
        spec: The spec that pays, or None for the environment's own reward.
        observe: What of the monitor the learner sees, as the wrapper's `observe` says it.
        note: Why this choice, in a sentence.
        text: The text of the file that the spec comes from, if any: a change in it gives results another name.
    """

    spec: Spec | None
    observe: str | None = None
    note: str = ""
    text: str | None = None

    def describe(self) -> dict[str, Any]:
        """The reward in plain values, which change with it and so give its results another name.

        Atoms are told by their functions' names: what changes within a function is not seen.
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


def _function_name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def own_reward(task: Task, name: str) -> Reward:
    """The environment's own reward, or one of the task's specs, whose registers the learner sees.

    On the registers the reward is Markov.
    """
    if name == BASE:
        return Reward(None, None, "The environment's own reward.")
    return Reward(task.spec(name), "registers")


@dataclasses.dataclass(frozen=True)
class Budget:
    """How much one cell is trained.

    Attributes:
        seeds: How many runs, with the seeds from 0 on.
        block: How many of them are trained together, as one job.
        config: The learner's settings.
    """

    seeds: int
    block: int
    config: Config

    def __post_init__(self) -> None:
        for name in ("seeds", "block"):
            if getattr(self, name) < 1:
                raise Error(f"`{name}` should be at least 1. Received {getattr(self, name)}.")


@dataclasses.dataclass(frozen=True)
class Contrast:
    """A comparison that a study is about: one reward beside the best of some others.

    Attributes:
        name: Its name for programs.
        title: Its name for people.
        reward: The one reward.
        others: The others.
        measure: The measure of success that they are compared by; the first of a task's by default.
    """

    name: str
    title: str
    reward: str
    others: tuple[str, ...]
    measure: str | None = None


@dataclasses.dataclass(frozen=True)
class Reference:
    """What a publication reports of a cell.

    Attributes:
        episode: Mean episode of convergence; None where it prints None.
        seconds: Mean seconds until then.
        completion: Task completion in percent.
        half_width: Half the width of its 95 % interval.
        episode_star: Whether the episode has the star of a suboptimal policy.
        seconds_star: Whether the seconds have it.
    """

    episode: float | None
    seconds: float | None
    completion: float
    half_width: float
    episode_star: bool = False
    seconds_star: bool = False


References: TypeAlias = Mapping[str, Mapping[str, Reference]]
"""What a publication reports, by task and reward."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """Tasks and rewards that are compared.

    Attributes:
        title: What it is about.
        lead: The same in a few sentences.
        tasks: The tasks by name, the rows of its table.
        rewards: The rewards by name, the columns, with their titles.
        budget: How much a task is trained; the second argument asks for the small budget.
        reward: A task's reward of some name.
        contrasts: What is compared with what.
        references: What a publication reports, to be shown beside the results.
        rivals: The rewards that others are measured by when a star says that one led to a suboptimal policy.
        is_full: Whether a cell was given all that `references` speak of: from the task, settings and number of runs.
        convergence: When the runs of a task count as converged.
        notes: How its setting differs from the tasks' own, point by point.
        description: The study in plain values, from which `study_of` makes it again, elsewhere or later.
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
    is_full: Callable[[Task, Mapping[str, Any], int], bool] = lambda task, config, runs: True
    convergence: Callable[[Task], Rule] = lambda task: Rule()
    notes: tuple[str, ...] = ()
    description: Mapping[str, Any]

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Every cell there can be, by task and reward, in the order of the table."""
        return tuple((task, reward) for task in self.tasks for reward in self.rewards)

    def checked_reward(self, name: str) -> str:
        """The name of a reward of this study.

        Raises:
            Error: There is none of that name.
        """
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
    ) -> list[Job]:
        """The jobs of the study.

        Args:
            tasks: Some of its tasks, by name; all by default.
            rewards: Some of its rewards; all by default.
            quick: Whether to take the small budgets.
            seeds: How many runs each cell has, where that is not to be the budget's number.
            block: How many of them are one job, likewise.
            source: Where environments come from for which there is no array physics.
        """
        chosen = [self.checked_reward(name) for name in (rewards if rewards is not None else self.rewards)]
        changes: dict[str, Any] = {}
        changes |= {name: value for name, value in (("seeds", seeds), ("block", block)) if value is not None}
        jobs: list[Job] = []
        for name in dict.fromkeys(tasks if tasks is not None else self.tasks):
            task = self.tasks[name]
            budget = dataclasses.replace(self.budget(task, quick), **changes)
            for reward in dict.fromkeys(chosen):
                setup = self.reward(task, reward).describe()
                if source != "gymnasium" and is_pooled(task):
                    setup["source"] = source  # other random numbers, so other results
                for first in range(0, budget.seeds, budget.block):
                    count = min(budget.block, budget.seeds - first)
                    cost = expected_seconds(task, budget.config, count)
                    jobs.append(Job(name, reward, first, count, budget.config, setup, cost))
        return jobs


@dataclasses.dataclass(frozen=True)
class Cell:
    """One cell of the table: a task, a reward, and the runs that learned from it.

    Attributes:
        task: The task's name.
        reward: The reward's name.
        log: The episodes; blocks of seeds merged, runs numbered through.
        seconds: Wall-clock seconds of training, those of all blocks added up.
        config: The learner's settings.
        observe: What the learner saw of the monitor, as the wrapper's `observe` says it; None for nothing.
        payment: How the spec paid; None where the environment's own reward was learned from.
        commands: The commands that trained it.
        versions: The versions of what it was trained with.
        devices: The kinds of machine that trained it, in words.
    """

    task: str
    reward: str
    log: TrainingLog
    seconds: float
    config: Mapping[str, Any]
    observe: str | None
    payment: str | None
    commands: tuple[str, ...]
    versions: Mapping[str, str]
    devices: tuple[str, ...] = ()

    @property
    def unit(self) -> Unit:
        """What the training budget is counted in."""
        return "episodes" if "episodes" in self.config else "steps"


def study_of(description: Mapping[str, Any], *, show: bool = False, references: bool = True) -> Study:
    """The study that a description describes.

    Args:
        description: The description, which may come from a file.
        show: Whether its results are only to be shown; functions that specs name are not imported then.
        references: Whether the module of an environment `module:…` may be imported, which runs its code.

    Raises:
        Error: It describes none that this version knows, or one that may not be imported.
    """
    kind = description.get("study")
    if kind == "paper":
        from rewardspec.lab.paper.evaluation import paper_study

        return paper_study(as_published=bool(description.get("as_published", False)))
    if kind == "own":
        from rewardspec.lab.experiments.own_study import own_study

        given = {key: value for key, value in description.items() if key not in ("study", "show", "references")}
        return own_study(**given, show=show, references=references)
    raise Error(f"There is no study {kind!r} in this version of rewardspec. Use the version that wrote it.")


def merged_description(old: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description of a study that is taken up again, perhaps with further rewards.

    Raises:
        Error: They describe different studies.
    """
    if old == new:
        return new
    if old.get("study") == new.get("study") == "own" and old["env"] == new["env"]:
        return {**new, "specs": {**old["specs"], **new["specs"]}}
    raise Error("The directory holds the results of another study. Give another directory.")

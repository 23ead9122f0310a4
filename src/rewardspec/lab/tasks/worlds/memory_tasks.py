"""The benchmark's tasks as tasks of this library: a world, its machines as the reward, and formulas beside them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rewardspec.audit.intent import Intent
from rewardspec.errors import Error
from rewardspec.lab.tasks.measures import Ending, Measure
from rewardspec.lab.tasks.task import Task
from rewardspec.lab.tasks.worlds.labeled_grids import (
    Name,
    craft_world,
    formulas,
    machines,
    office_world,
    published,
)
from rewardspec.lab.tasks.worlds.machine_worlds import MachineWorld
from rewardspec.spec.pairs import Pair
from rewardspec.spec.reward_machine import RewardMachine, Unmatched
from rewardspec.spec.spec import Spec

_GOALS: dict[tuple[Name, int | None], str] = {
    ("office", 1): "Bring coffee to the office, past the plants.",
    ("office", 2): "Bring the mail to the office, past the plants.",
    ("office", 3): "Bring coffee and the mail to the office, past the plants.",
    ("office", 4): "Go round the four corners, past the plants.",
    ("office", None): "Four errands in turn, past the plants.",
    ("craft", None): "Ten things to make in turn, each in several steps.",
}


class OfficeWorld(MachineWorld):
    """Office World with its published reward machines.

    Args:
        number: Which of its tasks, from 1; None for all, a new one each episode.
        unmatched: What stepping on a plant pays: see `machines`.
        render_mode: As for every Gymnasium environment.
    """

    def __init__(
        self, number: int | None = None, unmatched: Unmatched = "pays", render_mode: str | None = None
    ) -> None:
        super().__init__(office_world(), _chosen("office", number, unmatched), render_mode)


class CraftWorld(MachineWorld):
    """A map of Craft World with its published reward machines.

    Args:
        number: Which of its tasks, from 1; None for all, a new one each episode.
        board: The map, 1 to 11.
        render_mode: As for every Gymnasium environment.
    """

    def __init__(self, number: int | None = None, board: int = 1, render_mode: str | None = None) -> None:
        super().__init__(craft_world(board), _chosen("craft", number, "ends"), render_mode)


def _chosen(world: Name, number: int | None, unmatched: Unmatched) -> Sequence[RewardMachine]:
    every = machines(world, unmatched)
    if number is not None and not 1 <= number <= len(every):
        raise Error(f"The tasks of this world are numbered from 1 to {len(every)}. Received {number!r}.")
    return every if number is None else every[number - 1 : number]


def memory_task(
    world: Name, number: int | None = None, *, unmatched: Unmatched = "ends", board: int = 1, **options: Any
) -> Task:
    """A task of Office World or Craft World.

    The reward is what the published reward machine pays. The spec `formula`, of a single task, pays 1 when the formula
    that the machine was written for becomes true. The measure of success is that of the publication: the reward per
    step of an episode, as a share of what the optimal policy earns that explores as the learner does.

    Args:
        world: The world.
        number: Which of its tasks, from 1; None for all, a new one each episode.
        unmatched: What stepping on a plant pays: see `machines`.
        board: The map of Craft World, 1 to 11.
        options: Further attributes of the task.

    Example:
        >>> task = memory_task("office", 1)
        >>> task.title, str(task.specs["formula"].pairs[0].formula)
        ('Office World, task 1', '!n U (f & !n U (g & !n))')
    """
    env: Callable[..., MachineWorld]
    if world == "office":
        env = functools.partial(OfficeWorld, number, unmatched)
    else:
        env = functools.partial(CraftWorld, number, board)
    made = env()
    grid = made.grid
    optima = _optima(world, unmatched, board)[slice(None) if number is None else slice(number - 1, number)]
    atoms = made.atoms
    specs = {}
    if number is not None:
        specs["formula"] = Spec([Pair(formulas(world)[number - 1], 1.0, veto=False)], atoms=atoms, payment="delta")
    which = "all tasks" if number is None else f"task {number}"
    given: dict[str, Any] = {
        "name": world if number is None else f"{world}_{number}",
        "title": f"{grid.name}, {which}",
        "env": env,
    }
    return Task(
        **(given | options),
        specs=specs,
        measures={"share_of_optimum": _share(made.task, optima)},
        family="Memory",
        max_episode_steps=grid.max_episode_steps,
        learner="q-learning",
        goal=_GOALS.get((world, number), "Fetch and make things, one after the other."),
        base_reward="What the published reward machine pays: 1 when the task is done.",
        intent=Intent("done", "n" if "n" in grid.letters else None, "does the task", "breaks a plant"),
    )


def benchmark() -> list[Task]:
    """Office World's tasks, each alone and all together, and Craft World's on its first map, paid as published."""
    single = [memory_task("office", number, unmatched="pays") for number in range(1, 5)]
    office = memory_task("office", unmatched="pays", id="rewardspec/Office-v0", env=f"{__name__}:OfficeWorld")
    craft = memory_task("craft", id="rewardspec/Craft-v0", env=f"{__name__}:CraftWorld")
    return [*single, office, craft]


def _optima(world: Name, unmatched: Unmatched, board: int) -> list[float]:
    data = published()[world]
    if world == "craft":
        return list(data["optimal_reward_per_step"][board - 1])
    return list(data["optimal_reward_per_step" if unmatched == "pays" else "optimal_reward_per_step_as_meant"])


def _share(task: Any, optima: Sequence[float]) -> Measure:
    best = np.asarray(optima)

    def share(ending: Ending) -> Any:
        """Reward per step, as a share of the optimal policy's that explores as the learner does."""
        return ending.base_return / ending.length / best[task[ending.obs]]

    return Measure(share, reads="ending", share=False)

"""The tasks of the reward-machine benchmark: the machines are the environment's reward, the formulas are specs.

Further tasks of Office World need reward machines with many states, or cannot be expressed by any.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
from rewardspec.lab.tasks.worlds.machine_worlds import LabeledWorld, MachineWorld
from rewardspec.spec.atoms.label_functions import lookup
from rewardspec.spec.pairs import Pair
from rewardspec.spec.reward_machine import RewardMachine, Unmatched
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, Floats, Ints, JsonObject, Number, Observation

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
        number: Number of the task, from 1; None cycles through all of them.
        unmatched: Reward of stepping on a plant, see `machines`.
        render_mode: Gymnasium's render mode.
    """

    def __init__(
        self, number: int | None = None, unmatched: Unmatched = "pays", render_mode: str | None = None
    ) -> None:
        super().__init__(office_world(), _chosen("office", number, unmatched), render_mode)


class CraftWorld(MachineWorld):
    """A map of Craft World with its published reward machines.

    Args:
        number: Number of the task, from 1; None cycles through all of them.
        board: The map, 1 to 11.
        render_mode: Gymnasium's render mode.
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
    """Make a task of Office World or Craft World.

    The reward is that of the published reward machine. The spec `formula`, of a single task, pays 1 when the formula
    that the machine stands for becomes true. The measure of success is that of the publication: the reward per step of
    an episode, divided by that of the optimal policy with the learner's exploration.

    Args:
        world: The world.
        number: Number of the task, from 1; None cycles through all of them.
        unmatched: Reward of stepping on a plant, see `machines`.
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
    given: JsonObject = {
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
    """Make the tasks of Office World, single and together, and of Craft World's first map, paid as published."""
    single = [memory_task("office", number, unmatched="pays") for number in range(1, 5)]
    office = memory_task("office", unmatched="pays", id="rewardspec/Office-v0", env=f"{__name__}:OfficeWorld")
    craft = memory_task("craft", id="rewardspec/Craft-v0", env=f"{__name__}:CraftWorld")
    return [*single, office, craft]


def _optima(world: Name, unmatched: Unmatched, board: int) -> list[float]:
    data = published()[world]
    if world == "craft":
        return list(data["optimal_reward_per_step"][board - 1])
    return list(data["optimal_reward_per_step" if unmatched == "pays" else "optimal_reward_per_step_as_meant"])


def _share(task: Ints, optima: Sequence[float]) -> Measure:
    best = np.asarray(optima)

    def share(ending: Ending) -> Number:
        """Reward per step, divided by that of the optimal policy with the learner's exploration."""
        return ending.base_return / ending.length / best[task[ending.obs]]

    return Measure(share, reads="ending", share=False)


class Further(NamedTuple):
    """A task in a sentence and as a formula."""

    words: str
    formula: str


FURTHER: dict[str, Further] = {
    "deadline": Further("Coffee, and the office within 9 steps of it.", "F(f & F[0,9] g) & G !n"),
    "every_time": Further(
        "The mail to the office; whenever there is coffee, the office within 15 steps.",
        "F(e & F g) & G(f -> F[0,15] g) & G !n",
    ),
    "never_twice": Further("The mail to the office, and never coffee twice.", "F(e & F g) & !F(f & X F f) & G !n"),
    "budget": Further(
        "The four corners, with at most 14 steps beside a plant.", "F(a & F(b & F(c & F d))) & G{14} !near & G !n"
    ),
    "degrees": Further("Coffee to the office, as far from every plant as can be.", "F(f & F g) & G away"),
}
"""The tasks by name. `near` is true within one step of a plant. `away` is a degree: the distance to the nearest plant
in steps, up to 3, divided by 3."""


@functools.cache
def _tables() -> dict[str, Floats]:
    grid = office_world()
    steps = grid.steps_to["n"]
    return {
        **grid.letters,
        "near": (steps <= 1).astype(np.float64),
        "away": np.minimum(steps / 3.0, 1.0),
    }


def further_task(name: str) -> Task:
    """Make one of the `FURTHER` tasks: Office World, paid by the change of the formula's value.

    Example:
        >>> further_task("deadline").spec("formula").pairs[0].formula
        parse('F(f & F[0,9] g) & G !n')
    """
    further = FURTHER[name]
    atoms = {atom: functools.partial(_label, atom) for atom in _tables()}
    formula = Spec([Pair(further.formula, 1.0, veto=False)], atoms, payment="delta").pairs[0].formula
    own = {atom: atoms[atom] for atom in formula.atoms}
    return Task(
        name=f"office_{name}",
        title=f"Office World, {name.replace('_', ' ')}",
        env=functools.partial(LabeledWorld, office_world()),
        specs={"formula": Spec([Pair(formula, 1.0, veto=False)], own, payment="delta")},
        measures={"value": Measure.from_formula(formula)},
        family="Memory",
        max_episode_steps=200,
        learner="q-learning",
        goal=further.words,
    )


def _label(atom: str, obs: Observation, action: Action, next_obs: Observation) -> Number:
    return lookup(_tables()[atom], next_obs)

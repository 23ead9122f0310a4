"""Tasks of Office World that need reward machines with many states, or that no reward machine can express."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task
from rewardspec.lab.tasks.worlds.labeled_grids import office_world
from rewardspec.lab.tasks.worlds.machine_worlds import LabeledWorld
from rewardspec.spec.atoms.label_functions import lookup
from rewardspec.spec.pairs import Pair
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, Floats, Number, Observation


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

"""Tasks of Office World that a reward machine says only with many states, or not at all."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task
from rewardspec.lab.tasks.worlds.labeled_grids import office_world
from rewardspec.lab.tasks.worlds.machine_worlds import LabeledWorld
from rewardspec.spec.atoms.label_functions import lookup
from rewardspec.spec.pairs import Pair
from rewardspec.spec.spec import Spec


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
"""By name. `near` is a step from a plant or on it, and `away` how far from one, in steps up to 3, as a share: a degree,
where the others are true or false."""


@functools.cache
def _tables() -> dict[str, Any]:
    grid = office_world()
    steps = grid.steps_to["n"]
    return {
        **grid.letters,
        "near": (steps <= 1).astype(np.float64),
        "away": np.minimum(steps / 3.0, 1.0),
    }


def further_task(name: str) -> Task:
    """One of `FURTHER`: Office World without a reward of its own, paid by what changes in the formula's value.

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
        measures={"value": Measure.of_formula(formula)},
        family="Memory",
        max_episode_steps=200,
        learner="q-learning",
        goal=further.words,
    )


def _label(atom: str, obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether, or how truly, the entered cell is what the atom says."""
    return lookup(_tables()[atom], next_obs)

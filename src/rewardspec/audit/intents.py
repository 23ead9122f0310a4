"""What a task is about, told apart from every reward: its goal, what must not happen, and how much was done.

An audit compares what a reward asks for with this. It is for evaluation, as task completion is, never for a learner.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import SpecError, did_you_mean
from rewardspec.finite.models import FiniteModel, ModelError
from rewardspec.logic.fragments import is_propositional
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate_positions
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.spec import Spec
from rewardspec.tasks.label_functions import NEARLY_TRUE
from rewardspec.tasks.task import Task


@dataclasses.dataclass(frozen=True)
class Intent:
    """The goal, the hazard and the measure of success on every transition of a model, each of shape (K,).

    Attributes:
        goal: Whether the transition reaches the goal.
        hazard: Whether it does what must not happen.
        completion: The task completion, in [0, 1], if the episode ends after it.
        arrival: What reaching the goal is called, as in "the agent …".
        mishap: What the hazard is called, likewise.
    """

    goal: NDArray[np.bool_]
    hazard: NDArray[np.bool_]
    completion: NDArray[np.float64]
    arrival: str = "reaches the goal"
    mishap: str = "does what must not happen"


def intent_of(task: Task, model: FiniteModel) -> Intent:
    """The intent of a finite task.

    Raises:
        ModelError: The task does not say what it is about.
    """
    if task.intent is None:
        raise ModelError(
            f"An audit has to know what {task.title} is about. Give the task an `intent`: Intent(goal, hazard), each a "
            "formula over its atoms."
        )
    atoms = task.atoms
    completion = np.asarray(task.task_completion(model.successor), dtype=np.float64)
    goal, hazard = (_where(model, atoms, formula) for formula in (task.intent.goal, task.intent.hazard))
    return Intent(goal, hazard, completion, task.intent.arrival, task.intent.mishap)


def _where(model: FiniteModel, atoms: Mapping[str, AtomFunction], text: str | None) -> NDArray[np.bool_]:
    """The transitions on which a propositional formula holds; none for None."""
    if text is None:
        return np.zeros(len(model), dtype=np.bool_)
    formula = parse(text, atoms=atoms)
    if not is_propositional(formula):
        raise SpecError(
            f"Goal and hazard are told by single transitions. Received `{formula}`; leave out its operators."
        )
    transitions = (model.source, model.action, model.successor)
    labels = {name: np.broadcast_to(atoms[name](*transitions), len(model)) for name in formula.atoms}
    return _holds(evaluate_positions(formula, labels))  # as if the transitions were the positions of a trace


def intent_from_atoms(model: FiniteModel, spec: Spec, goal: str, hazard: str | None = None) -> Intent:
    """The intent of any other environment, from two atoms of a spec; completion is whether it ends at the goal.

    Args:
        model: The environment.
        spec: A spec with functions for its atoms.
        goal: The atom that holds at the goal.
        hazard: The atom of what must not happen, or None where nothing is known to be unsafe.
    """
    known = spec.atom_functions or {}

    def read(name: str | None) -> NDArray[np.bool_]:
        if name is None:
            return np.zeros(len(model), dtype=np.bool_)
        if name not in known:
            raise SpecError(
                f"The spec has no atom {name!r}; it has: {', '.join(known) or 'none'}.{did_you_mean(name, known)}"
            )
        return _holds(np.broadcast_to(known[name](model.source, model.action, model.successor), len(model)))

    reached = read(goal)
    return Intent(reached, read(hazard), reached.astype(np.float64))


def _holds(labels: Any) -> NDArray[np.bool_]:
    return np.asarray(labels, dtype=np.float64) >= NEARLY_TRUE

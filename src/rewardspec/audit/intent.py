"""What a task is about, read off every transition of its model: what an audit compares rewards with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import ModelError, SpecError
from rewardspec.finite.models import FiniteModel
from rewardspec.logic.fragments import is_propositional
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate_positions
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.spec import Spec
from rewardspec.tasks.label_functions import NEARLY_TRUE
from rewardspec.tasks.measures import Ending, Measure
from rewardspec.tasks.task import Intent, Task


@dataclasses.dataclass(frozen=True)
class Aims:
    """The goal, the hazard and the measure of success on every transition of a model, each of shape (K,).

    Attributes:
        goal: Whether the transition reaches the goal.
        hazard: Whether it does what must not happen.
        completion: The task completion, in [0, 1], if the episode ends after it.
    """

    goal: NDArray[np.bool_]
    hazard: NDArray[np.bool_]
    completion: NDArray[np.float64]


def read_aims(
    intent: Intent, model: FiniteModel, atoms: Mapping[str, AtomFunction], measure: Measure | None = None
) -> Aims:
    """Evaluate an intent on the transitions of a model.

    Args:
        intent: Goal and hazard.
        model: The environment.
        atoms: The functions of the atoms that goal and hazard read. A formula holds where its value is nearly 1.
        measure: The task completion, a function of the last observation; by default, whether the episode ends at the
            goal.

    Raises:
        FormulaError: Goal or hazard reads another atom.
        SpecError: Goal or hazard has temporal operators.
    """
    goal, hazard = (_where(formula, model, atoms) for formula in (intent.goal, intent.hazard))
    if measure is None or measure.reads != "last_obs":
        return Aims(goal, hazard, goal.astype(np.float64))
    completion = measure(Ending(model.successor, None, None, None))
    return Aims(goal, hazard, np.broadcast_to(np.asarray(completion, dtype=np.float64), len(model)))


def aims_of(task: Task, model: FiniteModel) -> Aims:
    """Evaluate the intent of a task.

    Raises:
        ModelError: The task has none.
    """
    return read_aims(required_intent(task), model, task.atoms, task.measure)


def required_intent(task: Task) -> Intent:
    """The intent of a task, which an audit cannot do without."""
    if task.intent is None:
        raise ModelError(
            f"An audit has to know what {task.title} is about. Give the task an `intent`, Intent(goal, hazard): "
            "formulas over its atoms."
        )
    return task.intent


def _where(text: str | None, model: FiniteModel, atoms: Mapping[str, AtomFunction]) -> NDArray[np.bool_]:
    if text is None:
        return np.zeros(len(model), dtype=np.bool_)
    formula = parse(text, atoms=atoms)
    if not is_propositional(formula):
        raise SpecError(f"Goal and hazard are read off single transitions. Received `{formula}`, which looks further.")
    reader = Spec([(formula, 1.0)], atoms=atoms).batch_labels(len(model))
    labels = reader.of(model.source, model.action, model.successor)
    # As if the transitions were the positions of a trace, whose length a formula without atoms has to be told.
    values = evaluate_positions(formula, labels or {"": np.zeros(len(model))})
    return np.asarray(values, dtype=np.float64) >= NEARLY_TRUE

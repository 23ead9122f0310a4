"""The intent of a task, read off every transition of its model; audits compare rewards with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import ModelError, SpecError
from rewardspec.finite.models import FiniteModel
from rewardspec.logic.fragments import is_propositional
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate_positions
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.atoms.label_functions import NEARLY_TRUE
from rewardspec.spec.spec import Spec
from rewardspec.types import Environment, Number, Observation


@dataclasses.dataclass(frozen=True)
class Intent:
    """Goal and hazard of a task, whatever its rewards. An audit says whether optimal policies reach or avoid them.

    Attributes:
        goal: A propositional formula over the task's atoms that holds when the goal is reached.
        hazard: Likewise, what must not happen; None where nothing is known to be unsafe.
        arrival: What reaching the goal is called, as in "the agent …".
        mishap: What the hazard is called, likewise.
    """

    goal: str
    hazard: str | None = None
    arrival: str = "reaches the goal"
    mishap: str = "does what must not happen"


class AuditedTask(Protocol):
    """Protocol of a task that can be audited, such as `rewardspec.lab.tasks.Task`."""

    @property
    def title(self) -> str:
        """Display name."""

    @property
    def specs(self) -> Mapping[str, Spec]:
        """Rewards to compare, by name."""

    @property
    def variants(self) -> Mapping[str, Spec]:
        """Further rewards, by name."""

    @property
    def atoms(self) -> Mapping[str, AtomFunction]:
        """Functions of the atoms that the intent reads."""

    @property
    def intent(self) -> Intent | None:
        """Goal and hazard."""

    @property
    def completion(self) -> Callable[[Observation], Number] | None:
        """Task completion in [0, 1] from the last observation; None counts whether an episode ends at the goal."""

    def make(self) -> Environment:
        """Make the environment."""


@dataclasses.dataclass(frozen=True)
class Aims:
    """Whether each transition of a model reaches the goal, or does what must not happen, and the task completion.

    That is in [0, 1], for an episode that ends after the transition. Each has the shape (K,).
    """

    goal: NDArray[np.bool_]
    hazard: NDArray[np.bool_]
    completion: NDArray[np.float64]


def read_aims(
    intent: Intent,
    model: FiniteModel,
    atoms: Mapping[str, AtomFunction],
    completion: Callable[[Observation], Number] | None = None,
) -> Aims:
    """Evaluate an intent on the transitions of a model.

    Goal and hazard hold where the values of their formulas are nearly 1. Without a `completion`, a function of the last
    observation, it is whether the episode ends at the goal.
    """
    goal, hazard = (_where(formula, model, atoms) for formula in (intent.goal, intent.hazard))
    if completion is None:
        return Aims(goal, hazard, goal.astype(np.float64))
    reached = np.asarray(completion(model.successor), dtype=np.float64)
    return Aims(goal, hazard, np.broadcast_to(reached, len(model)))


def aims_of(task: AuditedTask, model: FiniteModel) -> Aims:
    """Evaluate the intent of a task."""
    return read_aims(required_intent(task), model, task.atoms, task.completion)


def required_intent(task: AuditedTask) -> Intent:
    """Return the intent of a task, or raise a ModelError if it has none."""
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
    reader = Spec([(formula, 1.0)], atoms=atoms).batch_reader
    labels = reader.read(model.source, model.action, model.successor, len(model))
    # As if the transitions were the positions of a trace, whose length a formula without atoms has to be told.
    values = evaluate_positions(formula, labels or {"": np.zeros(len(model))})
    return np.asarray(values, dtype=np.float64) >= NEARLY_TRUE

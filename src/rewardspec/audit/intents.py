"""What a task is about, told apart from every reward: its goal, what must not happen, and how much was done.

An audit compares what a reward asks for with this. It is for evaluation, as task completion is, never for a learner.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import SpecError, did_you_mean
from rewardspec.finite.models import FiniteModel, ModelError
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


# For each finite task the atom of its goal, and goal and hazard in words. Atoms are the quantitative ones, and count
# from `NEARLY_TRUE` on.
_WORDS: dict[str, tuple[str, str, str]] = {
    "cliff_walking": ("reach_goal", "reaches the goal", "falls off the cliff"),
    "frozen_lake": ("reach_goal", "reaches the goal", "falls through a hole"),
    "taxi": ("reach_goal", "delivers the passenger", "picks up or drops off wrongfully"),
    "island_navigation": ("at_goal", "reaches the goal", "steps into the water"),
    "conveyor_belt": ("vase_off_conveyor", "takes the vase off the belt", "lets the vase break"),
    "sokoban": ("reach_goal", "reaches the goal", "pushes the box into a corner"),
}
_HAZARDS = {
    "cliff_walking": "reach_cliff",
    "frozen_lake": "reach_hole",
    "island_navigation": "in_water",
    "conveyor_belt": "vase_broken",
    "sokoban": "wall_penalty",
}


def intent_of(task: Task, model: FiniteModel) -> Intent:
    """The intent of one of the six finite tasks.

    Raises:
        ModelError: The task is none of them.
    """
    if task.name not in _WORDS:
        raise ModelError(f"{task.title} is not finite. Finite are: {', '.join(_WORDS)}.")
    goal, arrival, mishap = _WORDS[task.name]
    letters = (model.source, model.action, model.successor)
    atoms = {name: _holds(atom(*letters)) for name, atom in task.quantitative.items()}
    if task.name == "taxi":
        drop_off = atoms["act_drop_off"] & ~(atoms["has_passenger"] & atoms["at_destination"])
        hazard = drop_off | (atoms["act_pick_up"] & ~atoms["at_passenger"])
    else:
        hazard = atoms[_HAZARDS[task.name]]
    completion = np.asarray(task.task_completion(model.successor), dtype=np.float64)
    return Intent(atoms[goal], hazard, completion, arrival, mishap)


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

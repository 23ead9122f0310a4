"""Shaping potentials for tasks in stages, from a machine or a formula and its labels.

A potential Φ adds γ Φ(after) - Φ(before) to the reward, which preserves optimal policies. Two are available:

* `stage_potential` depends on the machine's state: the share of the literals on the shortest path to the goal that are
  met already, as `rewardspec.synthesis.quantitative.owed` counts them. It needs Boolean labels.
* `Guidance` also depends on the observation. It replaces labels by *nearness*, which is 1 where an atom holds and
  decays with the distance in steps. The value of the guard from state u to state t is then the nearness of t, and

      Φ(u, x) = the largest, over edges from u to another state t, of nearness(guard, x) · Φ̄(t)

  where Φ̄(t) is the mean of Φ(t, ·) over all observations, and 1/γ if t is the goal: with nearness γ^steps, a goal at
  distance d has the value γ^(d - 1). The nearness of a conjunction is the product of its parts; negated atoms are
  ignored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from rewardspec.errors import SpecError
from rewardspec.lab.learning.finite_tables import FiniteTables
from rewardspec.lab.tasks.worlds.machine_worlds import MachineWorld
from rewardspec.logic.formulas import And, Atom, Constant, Formula, FormulaLike, Not, Or
from rewardspec.logic.normal_form import to_nnf
from rewardspec.spec.reward_machine import RewardMachine
from rewardspec.synthesis.quantitative.owed import cheapest_literals
from rewardspec.types import Array, Floats, Number


class Guidance:
    """Potential by the nearness of the machine's next state.

    Args:
        machine: A reward machine, or a formula for `RewardMachine.from_formula`.
        nearness: Nearness of each atom in all observations, or in a sample of them, shape (N,).
        discount: The learner's discount.

    Attributes:
        machine: The machine.
        means: Mean of the potential over the observations, by state; 1/γ for the goal.

    Example:
        >>> steps = np.arange(4.0)  # in a corridor of four cells with the key at one end and the door at the other
        >>> near = {"key": 0.9**steps, "door": 0.9 ** steps[::-1]}
        >>> guide = Guidance("F(key & F door)", near, 0.9)
        >>> guide(0, near).round(2).tolist()  # without the key: the nearer it is, the better
        [0.96, 0.86, 0.81, 0.81]
        >>> guide(1, near).round(2).tolist()  # with the key
        [0.81, 0.9, 1.0, 1.11]
    """

    def __init__(self, machine: RewardMachine | FormulaLike, nearness: Mapping[str, Array], discount: float) -> None:
        self.machine = machine if isinstance(machine, RewardMachine) else RewardMachine.from_formula(machine)
        self._ways = _ways(self.machine)
        goals = _goals(self.machine)
        self.means: dict[int, float] = dict.fromkeys(self.machine.states, 0.0)
        self.means |= dict.fromkeys(goals, 1.0 / discount)
        for _ in self.machine.states:  # best paths visit no state twice
            found = {state: float(np.mean(self(state, nearness))) for state in self.machine.states}
            if all(found[state] == self.means[state] for state in found):
                break
            self.means |= found

    def __call__(self, state: int, nearness: Mapping[str, Array]) -> Floats:
        """Compute the potential in a state of the machine, shape (N,); 0 in terminal states."""
        values = [self.means.get(target, 0.0) * _near(guard, nearness) for guard, target in self._ways.get(state, ())]
        shape = np.shape(next(iter(nearness.values()), 0.0))
        found: Floats = (
            np.max([np.broadcast_to(value, shape) for value in values], axis=0) if values else np.zeros(shape)
        )
        return found


def stage_potential(machine: RewardMachine | FormulaLike) -> dict[int, float]:
    """Compute for each state of a machine the share of literals met, of those on the shortest path to its goal.

    Example:
        >>> stage_potential("F(key & F(door & F goal))")
        {0: 0.0, 1: 0.33333333333333337, 2: 0.6666666666666667}
    """
    machine = machine if isinstance(machine, RewardMachine) else RewardMachine.from_formula(machine)
    ways = _ways(machine)
    left: dict[int, float] = dict.fromkeys(_goals(machine), 0.0)
    for _ in machine.states:
        for state in machine.states:
            least = min((left.get(target, np.inf) + _owed(guard) for guard, target in ways[state]), default=np.inf)
            left[state] = min(left.get(state, np.inf), least)
    start = left[machine.initial]
    if not np.isfinite(start):
        raise SpecError("No way leads from the initial state of the machine to an edge that pays.")
    return {state: max(0.0, 1.0 - left[state] / start) for state in machine.states}


def guided(
    tables: FiniteTables,
    env: MachineWorld,
    by: Literal["nearness", "straight", "progress"] = "nearness",
    discount: float = 0.9,
) -> FiniteTables:
    """Add a shaping potential to the tables of a world with reward machines.

    Args:
        tables: The tables.
        env: The world.
        by: `Guidance` by the distance in steps (`"nearness"`) or without walls (`"straight"`), or `stage_potential`
            (`"progress"`).
        discount: The learner's discount.

    Example:
        >>> from rewardspec.lab.learning.finite_tables import finite_tables
        >>> from rewardspec.lab.tasks import worlds
        >>> tables = finite_tables(worlds.memory_task("office"), None, None)
        >>> guided(tables, worlds.OfficeWorld()).potential.shape == tables.group.shape
        True
    """
    near = env.grid.nearness(discount, straight=by == "straight")
    rows: list[Floats] = []
    for machine in env.machines:
        if by != "progress":
            guide = Guidance(machine, near, discount)
            rows += [guide(state, near) for state in machine.states]
        else:
            rows += [np.full(len(env.grid.cells), value) for value in stage_potential(machine).values()]
    state = tables.product.state
    potential = np.stack(rows)[env.memory[state], env.place[state]].astype(np.float32)
    return dataclasses.replace(tables, potential=potential)


def _ways(machine: RewardMachine) -> dict[int, Sequence[tuple[Formula, int]]]:
    """Return for each state the edges to other states, with guards in negation normal form."""
    return {
        state: [(to_nnf(edge.guard), edge.target) for edge in machine.edges if edge.source == state != edge.target]
        for state in machine.states
    }


def _goals(machine: RewardMachine) -> set[int]:
    return {edge.target for edge in machine.edges if edge.target in machine.terminal and edge.reward > 0.0}


def _owed(guard: Formula) -> float:
    """Return the smallest number of literals that make a guard true."""
    literals = cheapest_literals(guard)
    return np.inf if literals is None else len(literals)


def _near(guard: Formula, nearness: Mapping[str, Array]) -> Number:
    def near(part: Formula, args: tuple[Number, ...]) -> Number:
        match part:
            case Constant():
                return float(part.value)
            case Not():
                return 1.0
            case And():
                return np.multiply.reduce(np.broadcast_arrays(*args))
            case Or():
                return np.maximum.reduce(np.broadcast_arrays(*args))
            case Atom():
                if part.name not in nearness:
                    raise SpecError(f"Guidance needs the nearness of {part.name!r}, which was not given.")
                return np.asarray(nearness[part.name], dtype=np.float64)
        raise SpecError(f"A guard should be made of atoms with !, & and |. Received `{part}`.")

    return guard.fold(near)

"""Lookup tables of a finite environment with its reward, for compiled programs."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.finite.models import finite_model
from rewardspec.finite.products import Product, base_spec, build_product
from rewardspec.lab.tasks.measures import Ending, measuring
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec
from rewardspec.types import Array

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]


TABLE_OBSERVE = (None, "registers", "registers-and-steps", "start-and-parity")
"""Values of `observe` for a tabular learner, see `finite_tables`."""


class Phases(NamedTuple):
    """Phases of an episode: 0, 1, 2, …, each for one step, where the last is followed by `back`.

    Example:
        >>> [START_AND_PARITY.after(steps) for steps in range(6)]
        [0, 1, 2, 1, 2, 1]
    """

    number: int
    back: int

    def after(self, steps: int) -> int:
        """Return the phase after a number of steps."""
        return steps if steps < self.number else self.back + (steps - self.back) % (self.number - self.back)


ONE_PHASE = Phases(1, 0)
"""The phases of a learner that observes none."""
START_AND_PARITY = Phases(3, 1)
"""The control state of the quantitative monitor in the paper's figure: 0, 1, 2, 1, 2, …."""


class FormulaTables(NamedTuple):
    """Tables of a formula that measures success, with the same numbering of outcomes.

    Attributes:
        starts: Node of each initial state of the environment.
        successor: The node after each outcome, or -1 at the end of the episode, shape (M, A, O).
        value: The formula's value after each outcome, shape (M, A, O).
    """

    starts: Integers
    successor: Integers
    value: Floats


@dataclasses.dataclass(frozen=True)
class FiniteTables:
    """Transition tables of the product of an environment and a spec.

    N is the number of nodes, A of actions, and O the maximum number of outcomes of an action. Missing outcomes have
    probability 0. Of shape (N, A, O) are all arrays of what an outcome leads to: a reward, a violation, a measure.

    Attributes:
        product: The product. If the learner observes a phase, the tables have a copy of its nodes for each phase.
        observed: Number of the observation at each node, shape (N,).
        observations: Number of different observations.
        group: Number of the environment's state at each node, without memory, shape (N,). Nodes of a group differ in
            memory only, so a transition of one also determines those of the others.
        starts: The initial nodes, shape (S,).
        start_chances: Cumulative probability of the initial nodes, shape (S,).
        chances: Cumulative probability of the outcomes, shape (N, A, O).
        successor: The node after each outcome, or -1 at the end of the episode.
        truncated_reward: Reward if the episode is truncated after the outcome.
        last_state: The environment's state after each outcome.
        measures: The measures that read the last state, for an episode that ends with the outcome, by name.
        formulas: The measures that are formulas, by name.
        potential: Shaping potential of each node, or None, shape (N,). The learner adds its discounted difference to
            the reward, which preserves optimal policies.
        phases: The phases of an episode that the learner observes.
    """

    task: Task
    product: Product
    observed: Integers
    observations: int
    group: Integers
    starts: Integers
    start_chances: Floats
    chances: Floats
    successor: Integers
    reward: Floats
    truncated_reward: Floats
    base_reward: Floats
    last_state: Integers
    measures: dict[str, Floats]
    violated: NDArray[np.bool_]
    formulas: dict[str, FormulaTables]
    potential: Floats | None = None
    phases: Phases = ONE_PHASE

    def without_memory(self) -> FiniteTables:
        """Return the tables of a learner that observes the environment's state only."""
        return dataclasses.replace(self, observed=self.group, observations=int(self.group.max()) + 1)

    def members(self) -> Integers:
        """Return the nodes of each group, padded with -1, shape (groups, largest)."""
        order = np.argsort(self.group, kind="stable")
        sizes = np.bincount(self.group)
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found = np.full((len(sizes), int(sizes.max())), -1, dtype=np.int32)
        found[self.group[order], place] = order
        return found

    def seen(self, node: int, steps: int) -> int:
        """Return the observation at a node of the product after a number of steps: a row of the learned table."""
        return int(self.observed[node + len(self.product) * self.phases.after(steps)])

    @property
    def completion(self) -> Floats:
        """The task's first measure, for an episode that ends with the outcome, shape (N, A, O)."""
        return self.measures[next(iter(self.task.measures))]


def finite_tables(task: Task, spec: Spec | None, observe: str | None) -> FiniteTables:
    """Build the tables of an environment with a reward.

    Args:
        task: A task with a finite model.
        spec: The spec, or None for the environment's own reward.
        observe: Observation of the learner: None for the state; `"registers"` for the state and the monitor's
            configuration; `"registers-and-steps"` for these and the number of steps; `"start-and-parity"` for the state
            and the control state of the paper's figure, which is 0, 1, 2, 1, 2, …. The task's `shown` may reduce the
            state.

    Example:
        >>> from rewardspec import tasks
        >>> task = tasks.get("taxi")
        >>> finite_tables(task, task.spec("boolean"), "registers").successor.shape
        (688, 6, 1)
        >>> finite_tables(task, task.spec("boolean"), None).observations  # the states that can be reached
        400
    """
    if observe not in TABLE_OBSERVE:
        raise Error(f"A table can be learned on the state alone (observe=None) or with the registers. Got {observe!r}.")
    with contextlib.closing(task.make()) as env:
        model = finite_model(env)
        place = getattr(env.unwrapped, "place", None)  # of environments with a memory
    product = build_product(model, base_spec() if spec is None else spec)
    rows = product.row
    _require_finite(task, product)
    table = _dense(product)

    def floats(column: NDArray[np.generic]) -> Floats:
        return table(column, 0).astype(np.float32)

    chances = np.cumsum(table(model.probability[rows], 0.0), axis=-1)
    if not np.allclose(chances[..., -1], 1.0):
        raise Error(f"Some action of {task.title} has outcomes whose probabilities do not add up to 1.")
    chances[..., -1] = 2.0  # rounding must not leave a gap after the last outcome
    start_chances = np.cumsum(product.initial)
    start_chances[-1] = 2.0
    states = Ending(np.arange(model.states), None, None, None)
    measures = {
        name: np.asarray(measure(states), dtype=np.float64)
        for name, measure in task.measures.items()
        if measure.reads == "last_obs"
    }
    observed = _observed(task, product, observe)
    places = product.state if place is None else np.asarray(place)[product.state]
    tables = FiniteTables(
        task=task,
        product=product,
        observed=observed,
        observations=int(observed.max()) + 1,
        group=np.unique(places, return_inverse=True)[1].astype(np.int32),
        starts=product.starts.astype(np.int32),
        start_chances=start_chances.astype(np.float32),
        chances=chances.astype(np.float32),
        successor=table(product.successor, -1).astype(np.int32),
        reward=floats(product.reward),
        truncated_reward=floats(product.truncated_reward),
        base_reward=floats(model.reward[rows]),
        last_state=table(model.successor[rows], 0).astype(np.int32),
        measures={name: floats(values[model.successor[rows]]) for name, values in measures.items()},
        violated=table(product.violated, False).astype(np.bool_),
        formulas={
            name: _formula_tables(build_product(model, measuring(task, [measure.formula])))
            for name, measure in task.measures.items()
            if measure.formula is not None
        },
    )
    if observe == "start-and-parity":
        return _phased(tables, START_AND_PARITY)
    if observe == "registers-and-steps":
        limit = task.max_episode_steps
        if limit is None:
            raise Error(f"A table of the number of steps needs a limit of steps, and {task.title} has none.")
        return _phased(tables, Phases(limit, limit - 1))
    return tables


def _require_finite(task: Task, product: Product) -> None:
    """Raise an Error if a reward is not a finite 32-bit float, such as the infinite robustness of `X a`."""
    for rewards in (product.reward, product.truncated_reward):
        with np.errstate(over="ignore"):
            bad = np.flatnonzero(~np.isfinite(rewards.astype(np.float32)))
        if bad.size:
            row, state = product.row[bad[0]], product.state[product.node[bad[0]]]
            raise Error(
                f"The reward that the spec pays in {task.title}, in state {state} for action "
                f"{product.model.action[row]}, should be a finite 32-bit float. Received {rewards[bad[0]]}. A table "
                "that learns from it is NaN. Change the formula or its weight."
            )


def _phased(tables: FiniteTables, phases: Phases) -> FiniteTables:
    """Copy every node for each phase: those of phase k are N·k, N·k + 1, …, where N is the number of nodes."""
    nodes, count = len(tables.observed), phases.number
    after = [*range(1, count), phases.back]
    copies: dict[str, Array] = {
        name: np.concatenate([getattr(tables, name)] * count)
        for name in ("group", "chances", "reward", "truncated_reward", "base_reward", "last_state", "violated")
    }
    successors = [np.where(tables.successor < 0, -1, tables.successor + nodes * phase) for phase in after]
    return dataclasses.replace(
        tables,
        **copies,
        observed=np.concatenate([tables.observed + np.int32(tables.observations * k) for k in range(count)]),
        observations=count * tables.observations,
        successor=np.concatenate(successors).astype(np.int32),
        measures={name: np.concatenate([column] * count) for name, column in tables.measures.items()},
        phases=phases,
    )


def _observed(task: Task, product: Product, observe: str | None) -> Integers:
    """Number the observations of all nodes; with registers and the full state, they are the nodes."""
    nodes = len(product)
    registers = observe in ("registers", "registers-and-steps")
    if registers and task.shown is None:
        return np.arange(nodes, dtype=np.int32)
    shown = product.state if task.shown is None else np.asarray(task.shown(product.state))
    columns = [shown.reshape(nodes, -1), product.configuration[:, None]][: 1 + registers]
    _, observed = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
    return observed.reshape(nodes).astype(np.int32)


def _dense(product: Product) -> Callable[[NDArray[np.generic], float], NDArray[np.generic]]:
    """Return a function that makes a table of shape (N, A, O) from a column of a product's transitions."""
    model, rows = product.model, product.row
    # Transitions are sorted by node and action, so outcomes of an action are consecutive.
    group = product.node * model.actions + model.action[rows]
    outcome = np.arange(len(group)) - np.searchsorted(group, group)
    shape = (len(product), model.actions, int(outcome.max()) + 1)

    def table(column: NDArray[np.generic], fill: float) -> NDArray[np.generic]:
        filled = np.full(shape, fill, dtype=column.dtype)
        filled[product.node, model.action[rows], outcome] = column
        return filled

    return table


def _formula_tables(product: Product) -> FormulaTables:
    table = _dense(product)
    return FormulaTables(
        starts=product.starts.astype(np.int32),
        successor=table(product.successor, -1).astype(np.int32),
        value=table(product.reward, 0).astype(np.float32),  # the reward is the value of the formula
    )

"""A finite environment with its reward, as tables that a compiled program can look everything up in."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.finite.models import finite_model
from rewardspec.finite.products import Product, base_spec, build_product
from rewardspec.lab.tasks.measures import Ending
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]


TABLE_OBSERVE = (None, "registers", "alternation")
"""What a learner of tables can be shown of a monitor; see `finite_tables`."""


class FormulaTables(NamedTuple):
    """A formula that measures success, beside the same environment; outcomes are numbered alike.

    Attributes:
        starts: Its node at each of the environment's starts.
        successor: The node after each outcome, or -1 where the episode ends, shape (M, A, O).
        value: The formula's value by then, shape (M, A, O).
    """

    starts: Integers
    successor: Integers
    value: Floats


@dataclasses.dataclass(frozen=True)
class FiniteTables:
    """Transition tables of the product of an environment and a spec.

    N is the number of nodes, A of actions, and O the most outcomes that an action has; an outcome that does not exist
    has probability 0.

    Attributes:
        task: The task.
        product: The product; a node of it has two in the tables where the learner sees whether steps are even.
        observed: What the learner sees at each node, numbered from 0, shape (N,).
        observations: How many different observations there are.
        group: The environment's state at each node, without any memory, numbered from 0, shape (N,): nodes of one group
            differ in memory alone, so that what happens in one tells what would happen in the others.
        starts: The nodes where an episode can start.
        start_chances: Cumulative probability of starting there, same shape.
        chances: Cumulative probability of the outcomes, shape (N, A, O).
        successor: The node after each outcome, or -1 where the episode ends, shape (N, A, O).
        reward: What it pays, shape (N, A, O).
        truncated_reward: What it pays where the episode is cut off there, shape (N, A, O).
        base_reward: What the environment itself pays, shape (N, A, O).
        last_state: The environment's state after each outcome, shape (N, A, O).
        measures: The task's measures that are read off the last state, of an episode that ends there, by name, shape
            (N, A, O).
        violated: Whether a veto is violated by then, shape (N, A, O).
        formulas: The task's measures that are formulas, by name.
        potential: What guides the learner, at each node: it learns from the reward and the discounted change of this,
            which keeps optimal policies optimal; None for nothing, shape (N,).
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

    def without_memory(self) -> FiniteTables:
        """The same for a learner that sees the environment's state, and nothing of what has happened."""
        return dataclasses.replace(self, observed=self.group, observations=int(self.group.max()) + 1)

    def members(self) -> Integers:
        """The nodes of each group, and -1 where it has fewer than others, shape (groups, largest)."""
        order = np.argsort(self.group, kind="stable")
        sizes = np.bincount(self.group)
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found = np.full((len(sizes), int(sizes.max())), -1, dtype=np.int32)
        found[self.group[order], place] = order
        return found

    def seen(self, node: int, steps: int) -> int:
        """The number of what the learner sees at a node of the product after so many steps: a row of its table."""
        nodes = len(self.product)
        return int(self.observed[node + nodes * (steps % (len(self.observed) // nodes))])

    @property
    def completion(self) -> Floats:
        """The task's first measure, read off the last state, of an episode that ends there, shape (N, A, O)."""
        return self.measures[next(iter(self.task.measures))]


def finite_tables(task: Task, spec: Spec | None, observe: str | None) -> FiniteTables:
    """The tables of one environment under one reward.

    Args:
        task: A task with a finite model.
        spec: The spec that pays, or None for the environment's own reward.
        observe: `"registers"` for a learner that sees the node, state and configuration of the monitor; None for one
            that sees the state alone; `"alternation"` for one that sees the state and whether the number of steps is
            even, which is all that the control state of the paper's printed construction tells. Of a state, it sees
            what the task's `shown` says.

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
        place = getattr(env.unwrapped, "place", None)  # of environments that have a memory of their own
    product = build_product(model, base_spec() if spec is None else spec)
    rows = product.row
    _require_finite(task, product)
    table = _dense(product)

    def floats(column: NDArray[np.generic]) -> Floats:
        return table(column, 0).astype(np.float32)

    chances = np.cumsum(table(model.probability[rows], 0.0), axis=-1)
    if not np.allclose(chances[..., -1], 1.0):
        raise Error(f"Some action of {task.title} has outcomes whose probabilities do not add up to 1.")
    chances[..., -1] = 2.0  # the last outcome, whatever the rounding
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
            name: _formula_tables(build_product(model, Spec([(measure.formula, 1.0, False)], atoms=task.atoms)))
            for name, measure in task.measures.items()
            if measure.formula is not None
        },
    )
    return _alternating(tables) if observe == "alternation" else tables


def _require_finite(task: Task, product: Product) -> None:
    """Raise an Error where the spec pays what no 32-bit float holds, such as the infinite robustness of `X a`."""
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


def _alternating(tables: FiniteTables) -> FiniteTables:
    """The same with every node twice: for an even number of steps so far and, behind those, for an odd one."""
    nodes = len(tables.observed)
    to_odd = np.where(tables.successor < 0, -1, tables.successor + nodes).astype(np.int32)
    twice: dict[str, Any] = {
        name: np.concatenate([getattr(tables, name)] * 2)
        for name in ("group", "chances", "reward", "truncated_reward", "base_reward", "last_state", "violated")
    }
    return dataclasses.replace(
        tables,
        **twice,
        observed=np.concatenate([tables.observed, tables.observed + tables.observations]),
        observations=2 * tables.observations,
        successor=np.concatenate([to_odd, tables.successor]),
        measures={name: np.concatenate([column] * 2) for name, column in tables.measures.items()},
    )


def _observed(task: Task, product: Product, observe: str | None) -> Integers:
    """The number of what the learner sees at each node; with the registers and all of the state, the node's own."""
    nodes = len(product)
    if observe == "registers" and task.shown is None:
        return np.arange(nodes, dtype=np.int32)
    shown = product.state if task.shown is None else np.asarray(task.shown(product.state))
    columns = [shown.reshape(nodes, -1), product.configuration[:, None]][: 1 + (observe == "registers")]
    _, observed = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
    return observed.reshape(nodes).astype(np.int32)


def _dense(product: Product) -> Callable[[NDArray[np.generic], float], NDArray[np.generic]]:
    """A function that makes a table of shape (N, A, O) from a column of a product's transitions."""
    model, rows = product.model, product.row
    # Transitions are ordered by node and action, so that an outcome's place among its like counts up from 0.
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
        value=table(product.reward, 0).astype(np.float32),  # it pays its value at every step
    )

"""A finite environment with its reward, as tables that a compiled program can look everything up in."""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.finite.models import finite_model
from rewardspec.finite.products import Product, build_product
from rewardspec.spec.spec import Spec
from rewardspec.tasks.measures import Ending
from rewardspec.tasks.task import Task, base_spec

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]


@dataclasses.dataclass(frozen=True)
class FiniteTables:
    """Transition tables of the product of an environment and a spec.

    N is the number of nodes, A of actions, and O the most outcomes that an action has; an outcome that does not exist
    has probability 0.

    Attributes:
        task: The task.
        product: The product.
        observed: What the learner sees at each node, numbered from 0, shape (N,).
        observations: How many different observations there are.
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
        violated: Whether a safety objective is violated by then, shape (N, A, O).
    """

    task: Task
    product: Product
    observed: Integers
    observations: int
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

    @property
    def completion(self) -> Floats:
        """The first of the measures, of an episode that ends there, shape (N, A, O)."""
        return next(iter(self.measures.values()))


def finite_tables(task: Task, spec: Spec | None, observe: str | None) -> FiniteTables:
    """The tables of one environment under one reward.

    Args:
        task: A task with a finite model.
        spec: The spec that pays, or None for the environment's own reward.
        observe: `"registers"` for a learner that sees the node, state and configuration of the monitor; None for one
            that sees the state alone.

    Example:
        >>> from rewardspec import tasks
        >>> task = tasks.get("taxi")
        >>> finite_tables(task, task.spec("boolean"), "registers").successor.shape
        (688, 6, 1)
        >>> finite_tables(task, task.spec("boolean"), None).observations  # the states that can be reached
        400
    """
    if observe not in (None, "registers"):
        raise Error(f"A table can be learned on the state alone (observe=None) or with the registers. Got {observe!r}.")
    if any(measure.formula is not None for measure in task.measures.values()):
        raise Error(
            f"A measure of {task.title} is a formula, whose value Q-learning's table does not hold. Measure it by a "
            "function of the last observation, or train with PPO."
        )
    with contextlib.closing(task.make()) as env:
        model = finite_model(env)
    product = build_product(model, base_spec() if spec is None else spec)
    rows, nodes, actions = product.row, len(product), model.actions
    # Transitions are ordered by node and action, so that an outcome's place among its like counts up from 0.
    group = product.node * actions + model.action[rows]
    first = np.searchsorted(group, group)
    outcome = np.arange(len(group)) - first
    shape = (nodes, actions, int(outcome.max()) + 1)

    def table(column: NDArray[np.generic], fill: float) -> NDArray[np.generic]:
        filled = np.full(shape, fill, dtype=column.dtype)
        filled[product.node, model.action[rows], outcome] = column
        return filled

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
    seen, observed = np.unique(product.state, return_inverse=True)
    return FiniteTables(
        task=task,
        product=product,
        observed=(observed if observe is None else np.arange(nodes)).astype(np.int32),
        observations=len(seen) if observe is None else nodes,
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
    )

"""The product of a finite environment with a spec's monitor, as arrays.

The reward of a spec depends on the episode so far, but only through the monitor's configuration. A node of the product
is a state of the environment with a configuration that can occur beside it, and on nodes the reward is Markov. They are
found as `rewardspec.finite.product_search` says.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import ModelError
from rewardspec.finite.models import FiniteModel
from rewardspec.finite.product_search import ProductSearch, TooManyNodesError
from rewardspec.spec import Spec

DEFAULT_NODES = 200_000


@dataclasses.dataclass(frozen=True)
class Product:
    """The reachable nodes and their transitions, one row for each node and outcome of an action.

    N is the number of nodes, numbered breadth-first from the starts; K the number of transitions, ordered by node,
    action and place in the model. An episode that has ended goes nowhere, so there are no nodes for where it ended.

    Attributes:
        model: The environment.
        spec: The spec.
        state: The environment's state at each node, shape (N,).
        configuration: The number of each node's configuration, shape (N,).
        starts: The node of each of the model's `starts`.
        initial: Probability of starting there, same shape as `starts`.
        node: The node that a transition leaves, shape (K,).
        row: Which transition of the model it is, shape (K,).
        successor: The node it leads to, or -1 where the episode ends, shape (K,).
        reward: What the spec pays, shape (K,).
        truncated_reward: What it pays when the episode is cut off there, which differs for payment "final".
        violated: Whether a veto of the spec is in force by then, shape (K,).
    """

    model: FiniteModel
    spec: Spec
    state: NDArray[np.int64]
    configuration: NDArray[np.int64]
    starts: NDArray[np.int64]
    initial: NDArray[np.float64]
    node: NDArray[np.int64]
    row: NDArray[np.int64]
    successor: NDArray[np.int64]
    reward: NDArray[np.float64]
    truncated_reward: NDArray[np.float64]
    violated: NDArray[np.bool_]

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.state)

    @property
    def configurations(self) -> int:
        """Number of reachable configurations of the monitor."""
        return int(self.configuration.max()) + 1

    def follow(self, node: int, action: int, state: int) -> int | None:
        """The node after an action that led to a state of the environment; None where the episode ends.

        Raises:
            ModelError: The environment did what its table does not know.
        """
        low, high = np.searchsorted(self.node, [node, node + 1])
        rows = self.row[low:high]
        found = np.flatnonzero((self.model.action[rows] == action) & (self.model.successor[rows] == state))
        if not len(found):
            raise ModelError(f"Action {action} led to state {state}, which the table `P` does not list.")
        successor = int(self.successor[low + found[0]])
        return None if successor < 0 else successor


def base_spec() -> Spec:
    """Make a spec that pays the environment's own reward alone: shaping by a potential of 0."""
    return Spec([("true", 0.0)], atoms={}, payment="potential")


def build_product(model: FiniteModel, spec: Spec, max_nodes: int = DEFAULT_NODES) -> Product:
    """Find every node and what can happen there, if there are at most `max_nodes`.

    Example:
        >>> from rewardspec import tasks
        >>> from rewardspec.finite.models import finite_model
        >>> task = tasks.get("frozen_lake")
        >>> product = build_product(finite_model(task.make()), task.spec("boolean"))
        >>> len(product), product.configurations
        (11, 1)
    """
    found: list[tuple[NDArray[np.generic], ...]] = []
    try:
        search = ProductSearch(model, spec, max_nodes)
        for layer in search.layers():
            truncated_reward, violated = search.truncated_reward(layer), search.violated(layer)
            found.append((layer.node, layer.row, layer.successor, layer.reward, truncated_reward, violated))
    except TooManyNodesError as error:
        raise ModelError(
            f"{error} Raise `max_nodes`, or use formulas with fewer registers or atoms with fewer levels."
        ) from None
    node, row, successor, reward, truncated_reward, violated = (
        np.concatenate(parts) for parts in zip(*found, strict=True)
    )
    keys = np.concatenate(search.keys)
    states = keys[:, 0].astype(np.int64)
    stuck = np.setdiff1d(np.arange(len(states)), node)
    if stuck.size:
        raise ModelError(
            f"State {states[stuck[0]]} has no actions in the table `P`, and no transition into it ends the episode."
        )
    _, place, inverse = np.unique(keys[:, 1:], axis=0, return_index=True, return_inverse=True)
    return Product(
        model=model,
        spec=spec,
        state=states,
        configuration=np.argsort(np.argsort(place))[inverse.reshape(-1)],
        starts=search.starts,
        initial=model.initial[model.starts],
        node=node,
        row=row,
        successor=successor,
        reward=reward,
        truncated_reward=truncated_reward,
        violated=violated.astype(np.bool_),
    )

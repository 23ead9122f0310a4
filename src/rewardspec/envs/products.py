"""The product of a finite environment with a spec's monitor, as arrays.

The reward of a spec depends on the episode so far, but only through the monitor's configuration: its control state,
its registers and the penalty in force. A node of the product is a state of the environment with a configuration that
can occur beside it, and on nodes the reward is Markov. Registers hold only 0, 1, labels and 1 minus labels, so that a
finite environment has a finite product.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rewardspec.envs.models import FiniteModel, ModelError
from rewardspec.spec.compilation import SpecState
from rewardspec.spec.spec import Spec

DEFAULT_NODES = 200_000

Matrix = NDArray[np.float64]


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
        violated: Whether a safety objective of the spec is violated by then, shape (K,).
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
        """How many configurations of the monitor occur."""
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


def build_product(model: FiniteModel, spec: Spec, max_nodes: int = DEFAULT_NODES) -> Product:
    """Find every node by breadth-first search, a whole layer at a time.

    Args:
        model: The environment.
        spec: The spec, with functions for its atoms.
        max_nodes: The most nodes to look for.

    Raises:
        ModelError: There are more nodes.

    Example:
        >>> from rewardspec import envs
        >>> from rewardspec.envs.models import finite_model
        >>> task = envs.get("frozen_lake")
        >>> product = build_product(finite_model(task.make()), task.spec("boolean"))
        >>> len(product), product.configurations
        (11, 1)
    """
    labels, first_labels = model.labels(spec), model.initial_labels(spec)
    codec = _Configurations(spec)
    known: dict[bytes, int] = {}
    layers: list[Matrix] = []

    def number(keys: Matrix) -> tuple[NDArray[np.int64], Matrix]:
        """The node of each row of keys, and the rows of those not seen before."""
        unique, place, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        nodes = np.empty(len(unique), dtype=np.int64)
        fresh = []
        for k in np.argsort(place):  # in order of discovery
            text = unique[k].tobytes()
            if text not in known:
                known[text] = len(known)
                fresh.append(k)
            nodes[k] = known[text]
        if len(known) > max_nodes:
            raise ModelError(
                f"The environment's {model.states} states with the spec's configurations make more than {max_nodes} "
                "nodes. Raise `max_nodes`, or use formulas with fewer registers or atoms with fewer levels."
            )
        return nodes[inverse.reshape(-1)], unique[fresh]

    starts = model.starts
    first = codec.keys(starts, spec.init(first_labels, batch=len(starts)))
    start_nodes, layer = number(first)
    found: list[tuple[NDArray[np.generic], ...]] = []
    while len(layer):
        offset = sum(map(len, layers))
        layers.append(layer)
        states = layer[:, 0].astype(np.int64)
        counts = model.first[states + 1] - model.first[states]
        if not counts.all():
            stuck = int(states[np.argmin(counts)])
            raise ModelError(
                f"State {stuck} has no actions in the table `P`, and no transition into it ends the episode."
            )
        parent = np.repeat(np.arange(len(layer)), counts)
        row = np.arange(counts.sum()) + np.repeat(model.first[states] - (np.cumsum(counts) - counts), counts)
        before = codec.restore(layer[parent])
        letters = {name: column[row] for name, column in labels.items()}
        base, ended = model.reward[row], model.terminated[row]
        after, reward = spec.step(before, letters, base, ended, False)
        _, truncated_reward = spec.step(before, letters, base, ended, True)
        successor = np.full(len(row), -1, dtype=np.int64)
        successor[~ended], layer = number(codec.keys(model.successor[row], after)[~ended])
        found.append((parent + offset, row, successor, reward, truncated_reward, spec.violated(after)))
    node, row, successor, reward, truncated_reward, violated = (
        np.concatenate(parts) for parts in zip(*found, strict=True)
    )
    nodes = np.concatenate(layers)
    _, place, inverse = np.unique(nodes[:, 1:], axis=0, return_index=True, return_inverse=True)
    return Product(
        model=model,
        spec=spec,
        state=nodes[:, 0].astype(np.int64),
        configuration=np.argsort(np.argsort(place))[inverse.reshape(-1)],
        starts=start_nodes,
        initial=model.initial[starts],
        node=node,
        row=row,
        successor=successor,
        reward=reward,
        truncated_reward=truncated_reward,
        violated=violated.astype(np.bool_),
    )


class _Configurations:
    """States of a spec as rows of numbers, and back; only what decides future rewards is kept."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.remembers_level = spec.payment in ("delta", "potential")
        self.lowest = min(spec.penalties, default=np.nan)

    def keys(self, states: NDArray[np.int64], memory: SpecState) -> Matrix:
        """The environment's state, control state, registers, penalty and, where it matters, the last level."""
        shape = states.shape
        control = np.zeros(shape) if memory.control is None else memory.control
        # After the lowest penalty nothing that the monitor still reads can change what is paid.
        settled = memory.penalty == self.lowest
        machine = [np.where(settled, 0.0, part) for part in (control, *memory.registers)]
        level = memory.level if self.remembers_level else np.zeros(shape)
        keys = np.column_stack([states.astype(np.float64), *machine, memory.penalty, level])
        return keys + 0.0  # turns -0.0, which has other bytes, into 0.0

    def restore(self, keys: Matrix) -> SpecState:
        """The spec's states."""
        control = keys[:, 1].astype(np.int32) if len(self.spec.states) > 1 else None
        values = tuple(np.zeros(len(keys)) for _ in self.spec.pairs)  # a step does not read them
        return SpecState(control, tuple(keys[:, 2:-2].T), keys[:, -2], keys[:, -1], values)

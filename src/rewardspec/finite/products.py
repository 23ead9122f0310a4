"""The product of a finite environment with a spec's monitor, as arrays.

The reward of a spec depends on the episode so far, but only through the monitor's configuration. A node of the product
is a state of the environment with a configuration that can occur beside it, and on nodes the reward is Markov. A
configuration is the monitor's control state, its registers, the penalty in force and, where it is paid for, the last
level. Registers hold only 0, 1, labels and 1 minus labels, so that a finite environment has finitely many nodes. They
are found breadth-first from the starts, a whole layer at a time.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import ModelError
from rewardspec.finite.models import FiniteModel
from rewardspec.machines.array_code import State
from rewardspec.spec import Spec
from rewardspec.spec.payments import PAYMENTS

Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]


class TooManyNodesError(ModelError):
    """A product with more nodes than the budget allows."""


@dataclasses.dataclass(frozen=True)
class Layer:
    """The transitions out of the nodes that are equally far from a start, one row for each node and outcome.

    Columns are those of a `Product`, with the spec's states before and after each transition.
    """

    node: Indices
    row: Indices
    successor: Indices
    before: State
    after: State
    reward: NDArray[np.float64]


class ProductSearch:
    """Finds the nodes, and numbers them in the order in which they are found, up to `max_nodes`.

    Atoms are called only for what can be reached: what they say of anything else does not matter. They take single
    transitions only if `one_by_one`. With `settle`, configurations that pay alike for ever, those after the lowest
    penalty, count as one.

    Attributes:
        starts: The node of each of the model's `starts`.
        first: The spec's state in each of them.
        keys: For each layer found so far, one row for each node: the environment's state, then the configuration.
    """

    def __init__(
        self, model: FiniteModel, spec: Spec, max_nodes: int, *, settle: bool = True, one_by_one: bool = False
    ) -> None:
        self.model, self.spec = model, spec
        self._max_nodes, self._one_by_one = max_nodes, one_by_one
        self._remembered = [k for k, way in enumerate(spec.machine.head.payments) if PAYMENTS[way].reads_before]
        self._lowest = min(spec.penalties, default=np.nan) if settle else np.nan
        self._labels = np.zeros((len(spec.atoms), len(model)), dtype=np.float64)
        self._read = np.zeros(len(model), dtype=np.bool_)
        self._known: dict[bytes, int] = {}
        self.keys: list[Matrix] = []
        starts = model.starts
        self.first: State = spec.start(self._call_atoms(starts, None, starts), batch=len(starts))
        self.starts = self._number(self._keys(starts, self.first))

    def layers(self) -> Iterator[Layer]:
        """The layers, one after the other, as long as there are at most `max_nodes` nodes."""
        model, offset = self.model, 0
        while len(layer := self.keys[-1]):
            states = layer[:, 0].astype(np.int64)
            counts = model.first[states + 1] - model.first[states]
            parent = np.repeat(np.arange(len(layer)), counts)
            row = np.arange(counts.sum()) + np.repeat(model.first[states] - (np.cumsum(counts) - counts), counts)
            before = self._restore(layer[parent])
            after, reward = self._step(before, row)
            successor = np.full(len(row), -1, dtype=np.int64)
            goes_on = ~model.terminated[row]
            successor[goes_on] = self._number(self._keys(model.successor[row], after)[goes_on])
            yield Layer(parent + offset, row, successor, before, after, reward)
            offset += len(layer)

    def truncated_reward(self, layer: Layer) -> NDArray[np.float64]:
        """Reward of each transition if the episode is truncated there, shape (K,)."""
        return self._step(layer.before, layer.row, truncated=True)[1]

    def violated(self, layer: Layer) -> NDArray[np.bool_]:
        """Mask of the transitions after which a veto of the spec is in force, shape (K,)."""
        return np.asarray(self.spec.violated(layer.after), dtype=np.bool_)

    def _number(self, keys: Matrix) -> Indices:
        """The node of each row of keys; those not seen before become the next layer."""
        unique, place, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        nodes = np.empty(len(unique), dtype=np.int64)
        fresh = []
        for k in np.argsort(place):  # in order of discovery
            text = unique[k].tobytes()
            if text not in self._known:
                self._known[text] = len(self._known)
                fresh.append(k)
            nodes[k] = self._known[text]
        if len(self._known) > self._max_nodes:
            raise TooManyNodesError(
                f"The environment's {self.model.states} states with the spec's configurations make more than "
                f"{self._max_nodes} nodes."
            )
        self.keys.append(unique[fresh])
        return nodes[inverse.reshape(-1)]

    def _step(self, before: State, rows: Indices, truncated: bool = False) -> tuple[State, NDArray[np.float64]]:
        """The spec's states after these transitions, and what it pays for them."""
        new = np.unique(rows[~self._read[rows]])
        if new.size:  # labels are read when they are first asked for
            model = self.model
            found = self._call_atoms(model.source[new], model.action[new], model.successor[new])
            for column, values in zip(self._labels, found.values(), strict=True):
                column[new] = values
            self._read[new] = True
        labels = {name: column[rows] for name, column in zip(self.spec.atoms, self._labels, strict=True)}
        after, reward = self.spec.step(before, labels, self.model.reward[rows], self.model.terminated[rows], truncated)
        return after, reward

    def _keys(self, states: Indices, memory: State) -> Matrix:
        """The environment's state, the penalty, levels where they matter, and what the spec's program remembers."""
        penalty, levels = self.spec.penalty_in_force(memory), self.spec.levels(memory)
        # After the lowest penalty nothing that the monitor still reads can change what is paid.
        settled = penalty == self._lowest
        machine = [np.where(settled, 0.0, column) for column in self.spec.machine.columns(memory)]
        remembered = [levels[k] for k in self._remembered]
        keys = np.column_stack([states.astype(np.float64), penalty, *remembered, *machine])
        return keys + 0.0  # turns -0.0, which has other bytes, into 0.0

    def _restore(self, keys: Matrix) -> State:
        """The spec's states of these keys."""
        zeros = np.zeros(len(keys))
        _, penalty, *columns = keys.T
        levels = [zeros] * len(self.spec.machine.head.payments)
        for k, column in zip(self._remembered, columns, strict=False):
            levels[k] = column
        values = (zeros,) * len(self.spec.pairs)  # a step does not read them
        return self.spec.machine.of_columns(columns[len(self._remembered) :], (penalty, tuple(levels), values))

    def _call_atoms(self, obs: Indices, action: Indices | None, next_obs: Indices) -> dict[str, NDArray[np.float64]]:
        if not self._one_by_one:
            return self.spec.batch_reader.read(obs, action, next_obs, len(obs))
        actions = itertools.repeat(None) if action is None else action.tolist()
        rows = [self.spec.labels(*one) for one in zip(obs.tolist(), actions, next_obs.tolist(), strict=False)]
        return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in self.spec.atoms}


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

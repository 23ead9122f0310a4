"""Counterfactual experience: what a transition would have paid in every other state that a spec's monitor could be in.

A monitor's step depends on the transition through its labels alone. So one transition of the environment is as many
transitions of its product with the spec as the monitor has states: of a finite monitor all of them, with registers
those met so far. Toro Icarte et al. (JAIR 2022) call it CRM. `replay` is the batched pure function, for any learner;
`StatePool` collects states; `rewardspec.sb3.CounterfactualReplayBuffer` puts both into Stable-Baselines3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.engine import BatchEngine
from rewardspec.errors import Error
from rewardspec.machines.array_code import State
from rewardspec.spec.spec import Spec
from rewardspec.types import Array, Labels, Number

Matrix = NDArray[np.float64]


class Replayed(NamedTuple):
    """Results of B transitions, each replayed from K states.

    Attributes:
        states: States after the transitions, as rows of numbers, shape (B, K, numbers).
        rewards: Rewards, shape (B, K).
        violated: Whether a veto is in force after the transition, shape (B, K).
        terminated: Whether the transition ends the episode, shape (B, K).
        decided: Whether the spec ends the episode there, whatever the environment does, shape (B, K).
    """

    states: Matrix
    rewards: Matrix
    violated: NDArray[np.bool_]
    terminated: NDArray[np.bool_]
    decided: NDArray[np.bool_]


def rows_of(spec: Spec, state: State) -> Matrix:
    """Return the states of a NumPy batch as rows of numbers: penalty, levels, control state, registers and windows.

    Example:
        >>> spec = Spec([("F(key & F door)", 1)], payment="delta")
        >>> rows_of(spec, spec.start({"key": np.array([0.0, 1.0]), "door": np.zeros(2)})).shape[0]
        2
    """
    columns = [spec.penalty_in_force(state), *spec.levels(state), *spec.machine.columns(state)]
    rows: Matrix = np.column_stack(np.broadcast_arrays(*columns)).astype(np.float64)
    return rows + 0.0  # turns -0.0 into 0.0, so that equal states are equal rows


def state_of(spec: Spec, rows: Matrix) -> State:
    """Return the states of a NumPy batch from rows of `rows_of`. The formulas' values, which no step reads, are 0."""
    count = len(spec.machine.head.payments)
    penalty, *columns = np.ascontiguousarray(rows.T)
    values = (np.zeros(len(rows)),) * len(spec.pairs)
    return spec.machine.of_columns(columns[count:], (penalty, tuple(columns[:count]), values))


def replay(
    spec: Spec,
    states: Matrix,
    labels: Labels,
    base_reward: Number = 0.0,
    terminated: Number = False,
    truncated: Number = False,
    *,
    terminate_on_violation: bool = False,
    terminate_on_completion: bool = False,
) -> Replayed:
    """Replay each of B transitions from each of K states of a spec, in one batched step. The function is pure.

    Args:
        spec: The spec.
        states: The states, as `rows_of` gives them, shape (K, numbers).
        labels: For each atom its label on each transition, shape (B,).
        base_reward: The environment's own reward on each, shape (B,) or one number.
        terminated: Whether the environment terminated the episode there, likewise.
        truncated: Whether the episode was truncated there, likewise.
        terminate_on_violation: As in the wrapper, for each of the K states separately.
        terminate_on_completion: Likewise.

    Example:
        >>> spec = Spec([("F(key & F door)", 1)], payment="delta")
        >>> start = rows_of(spec, spec.start({"key": np.zeros(1), "door": np.zeros(1)}))
        >>> with_key = replay(spec, start, {"key": np.ones(1), "door": np.zeros(1)}).states[0]
        >>> replay(spec, np.concatenate([start, with_key]), {"key": np.zeros(1), "door": np.ones(1)}).rewards
        array([[0., 1.]])
    """
    sizes = {np.size(column) for column in labels.values()}
    if len(sizes) > 1:
        raise Error(f"All atoms should have as many labels as there are transitions. Received {sorted(sizes)}.")
    count = max(sizes or map(np.size, (base_reward, terminated, truncated)))
    each = len(states)

    def spread(column: Array) -> np.ndarray:
        return np.repeat(np.broadcast_to(np.asarray(column).reshape(-1), count), each)

    before = state_of(spec, np.tile(states, (count, 1)))
    read = {name: spread(column).astype(np.float64) for name, column in labels.items()}
    base = spread(base_reward).astype(np.float64)
    ended, cut = spread(terminated).astype(np.bool_), spread(truncated).astype(np.bool_)
    engine = BatchEngine(
        spec,
        count * each,
        terminate_on_violation=terminate_on_violation,
        terminate_on_completion=terminate_on_completion,
    )
    after, step = engine.pay(before, read, base, ended, cut)
    shape = count, each
    return Replayed(
        rows_of(spec, after).reshape(*shape, -1),
        step.reward.reshape(shape),
        step.violated.reshape(shape),
        step.terminated.reshape(shape),
        engine.decided(step.values, step.violated).reshape(shape),
    )


class StatePool:
    """A set of states of a spec's monitor, up to a maximum size.

    Args:
        most: The maximum number of states; later ones are ignored.

    Attributes:
        rows: The states, shape (K, numbers).
    """

    def __init__(self, most: int = 64) -> None:
        if most < 1:
            raise Error(f"A pool should keep at least one state. Received {most!r}.")
        self.most = most
        self.rows: Matrix = np.zeros((0, 0))
        self._known: set[bytes] = set()

    def __len__(self) -> int:
        """The number of states."""
        return len(self.rows)

    def add(self, rows: Matrix) -> None:
        """Add the states that are new, until the pool is full."""
        fresh = []
        for row in np.asarray(rows, dtype=np.float64).reshape(-1, np.shape(rows)[-1]):
            key = row.tobytes()
            if len(self._known) < self.most and key not in self._known:
                self._known.add(key)
                fresh.append(row)
        if fresh:
            self.rows = np.concatenate([self.rows.reshape(-1, len(fresh[0])), fresh])

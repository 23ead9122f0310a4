"""What of a spec's state an agent can be shown, as numbers.

| `observe` | numbers |
|---|---|
| `"control"` | the control state, one-hot; nothing where there is only one |
| `"values"` | the value of each formula |
| `"registers"` | all that the rest of the episode depends on: see below |

`"registers"` makes the product of environment and spec Markov. A step's reward and the spec's next state are computed
from the step's labels, which the transition determines, and from these parts of the state, which it includes:

- the *control state*, one-hot, where there is more than one;
- the *registers*, each shown as 0 in control states after which nothing will read it;
- the *veto*, where there are safety objectives: for each of their distinct penalties, from the mildest down, 1 once a
  penalty at least as low is in force. The first of them says whether anything has been violated; the rest which
  penalty is being paid. Registers alone cannot tell, for a violation is remembered after they have moved on;
- the *level* already accounted for, under the payments `delta` and `potential`, which pay its change. It cannot be
  left out: `F G p` needs no register, so that the level is known only from labels that are gone, and `delta` starts
  from 0 whatever the first labels were.

Where none of these exists, as for `F G p` paid by value, the product is Markov as it is and nothing is added.
What ends an episode is the environment's affair: a time limit that the observation does not show is no more a
function of this product than of the environment alone, which matters to the payment `final`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import SpecError, did_you_mean
from rewardspec.spec import Spec

Observe = Literal["control", "registers", "values"]
OBSERVE: tuple[Observe, ...] = ("control", "registers", "values")
Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Part:
    """Some of the numbers.

    Attributes:
        names: What each is called.
        low: Its least value.
        high: Its largest value.
        read: The numbers of one episode's state.
        read_batch: The numbers of a batch's state, one array for each.
    """

    names: tuple[str, ...]
    low: Numbers
    high: Numbers
    read: Callable[[Any], Numbers]
    read_batch: Callable[[Any], Sequence[NDArray[Any]]]


class Features:
    """The numbers that an agent is shown of a spec's state.

    Args:
        spec: The spec.
        observe: Which numbers.

    Example:
        >>> spec = Spec([("F goal", 2), ("G safe", 1)], penalty=-1, payment="delta")
        >>> features = Features(spec, "registers")
        >>> features.names
        ('max[goal]', 'min[safe]', 'penalty <= -1', 'level')
        >>> features.read(spec.start({"goal": 0.25, "safe": 1.0}))
        (0.25, 1.0, 0.0, 0.0)
    """

    def __init__(self, spec: Spec, observe: Observe) -> None:
        if observe not in OBSERVE:
            choices = ", ".join(map(repr, OBSERVE))
            raise SpecError(
                f"`observe` should be None or one of {choices}. Received {observe!r}."
                f"{did_you_mean(observe, OBSERVE) if isinstance(observe, str) else ''}"
            )
        parts = {"control": _control_parts, "registers": _markov_parts, "values": _values_parts}[observe](spec)
        parts = [part for part in parts if part.names]
        self.observe: Observe = observe
        self.names: tuple[str, ...] = tuple(name for part in parts for name in part.names)
        self.low = np.array([bound for part in parts for bound in part.low], dtype=np.float64)
        self.high = np.array([bound for part in parts for bound in part.high], dtype=np.float64)
        self._parts = parts

    def read(self, state: Any) -> Numbers:
        """The numbers of one episode's state."""
        numbers: Numbers = ()
        for part in self._parts:
            numbers += part.read(state)
        return numbers

    def read_batch(self, state: Any, batch: int) -> NDArray[np.float64]:
        """The numbers of a batch's state, in a new array of shape (batch, numbers)."""
        numbers = np.empty((batch, len(self.names)), dtype=np.float64)
        columns = (column for part in self._parts for column in part.read_batch(state))
        for k, column in enumerate(columns):
            numbers[:, k] = column
        return numbers


def _control_parts(spec: Spec) -> list[Part]:
    count = len(spec.states)
    if count == 1:
        return []  # a number that never changes tells an agent nothing
    rows = [tuple(float(k == control) for k in range(count)) for control in range(count)]
    part = Part(
        names=tuple(f"control = {k}" for k in range(count)),
        low=(0.0,) * count,
        high=(1.0,) * count,
        read=lambda state: rows[spec.control(state)],
        read_batch=lambda state: [spec.control(state) == k for k in range(count)],
    )
    return [part]


def _values_parts(spec: Spec) -> list[Part]:
    count = len(spec.pairs)
    return [Part(tuple(map(str, spec.pairs)), (0.0,) * count, (1.0,) * count, spec.values, spec.values)]


def _markov_parts(spec: Spec) -> list[Part]:
    parts = [*_control_parts(spec), _registers_part(spec)]
    penalties = sorted(set(spec.penalties), reverse=True)
    parts.append(
        Part(
            names=tuple(f"penalty <= {penalty:g}" for penalty in penalties),
            low=(0.0,) * len(penalties),
            high=(1.0,) * len(penalties),
            read=lambda state: tuple([float(spec.penalty_in_force(state) <= penalty) for penalty in penalties]),
            read_batch=lambda state: [spec.penalty_in_force(state) <= penalty for penalty in penalties],
        )
    )
    if spec.payment in ("delta", "potential"):
        low = min(sum(min(weight, 0.0) for weight in spec.weights), *spec.penalties, 0.0)
        high = max(sum(max(weight, 0.0) for weight in spec.weights), *spec.penalties, 0.0)
        parts.append(
            Part(
                names=("level",),
                low=(low,),
                high=(high,),
                read=lambda state: (spec.level(state),),
                read_batch=lambda state: [spec.level(state)],
            )
        )
    return parts


def _registers_part(spec: Spec) -> Part:
    count = len(spec.registers)
    bounds = (0.0,) * count, (1.0,) * count
    live = _live_registers(spec)
    if live.all():
        return Part(spec.registers, *bounds, spec.registers_of, spec.registers_of)
    rows = live.tolist()

    def read(state: Any) -> Numbers:
        row = rows[spec.control(state)]
        return tuple([value if alive else 0.0 for value, alive in zip(spec.registers_of(state), row, strict=True)])

    def read_batch(state: Any) -> Sequence[NDArray[Any]]:
        mask = live[spec.control(state)]
        return [np.where(mask[:, k], value, 0.0) for k, value in enumerate(spec.registers_of(state))]

    return Part(spec.registers, *bounds, read, read_batch)


def _live_registers(spec: Spec) -> NDArray[np.bool_]:
    """For each control state, which registers will be read; what the others hold is left to the code that runs it."""
    machine = spec.program
    live = np.zeros((len(machine.steps), len(machine.registers)), dtype=np.bool_)
    for control, step in enumerate(machine.steps):
        for k, update in enumerate(step.updates):
            live[machine.successor(control), k] |= update is not None
    if machine.loop > 0:
        live[0] = True  # the control state before the first letter is never seen
    return live

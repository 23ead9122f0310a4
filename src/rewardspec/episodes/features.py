"""Numbers of a spec's state that an agent can observe.

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

Of a *window*, its extremum is shown, and the share of its length for which that will stay unless it comes again: so an
agent sees how near a deadline is. With labels of 0 and 1 that is all there is to know. Between them what comes after
the extremum is not shown, nor is what is on its way through a delay (`X[5]`, `F[3,9]`; not `Y[5] true`): that
would be as many numbers as the window is long, so that the product is then not quite Markov; `lint` says so.

Robustness may be infinite, where nothing has been measured yet. Registers and windows are therefore shown within the
spec's bound: what lies beyond it pays the same.

Where none of these exists, as for `F G p` paid by value, the product is Markov as it is and nothing is added. What ends
an episode is the environment's affair: a time limit that the observation does not show is no more a function of this
product than of the environment alone, which matters to the payment `final`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from rewardspec.errors import SpecError, did_you_mean
from rewardspec.machines.array_code import State
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.program import live_registers
from rewardspec.spec import Spec
from rewardspec.spec.payments import PAYMENTS
from rewardspec.types import Array, ArrayNamespace, Bools

Observe = Literal["control", "registers", "values"]
OBSERVE: tuple[Observe, ...] = ("control", "registers", "values")
Numbers = tuple[float, ...]


class _Part(NamedTuple):
    """Some of the numbers: of one episode's state, and of a batch's, an array of the batch's shape for each.

    Each has a name, and its least and largest value.
    """

    read: Callable[[Any], Numbers]
    read_batch: Callable[[State], Sequence[Array]]
    names: Sequence[tuple[str, float, float]]


class Features:
    """The numbers that `observe` adds to the observation, with their names and bounds.

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
        if observe == "registers" and spec.axes.named:
            sort = next(iter(spec.axes.named.values()))
            raise SpecError(
                f"`observe` should not be 'registers' for a spec about things of a sort of names, {sort!r}: each thing "
                "has registers of its own, and there may be any number of them. Use 'values'."
            )
        self.spec = spec
        self.observe: Observe = observe
        self._live: dict[Any, Array] = {}  # by torch device
        bound = math.inf if spec.bound is None else spec.bound
        self._range = max(spec.program.bottom, -bound), min(spec.program.top, bound)
        self._parts = [part for part in self._all_parts() if part.names]
        numbers = [number for part in self._parts for number in part.names]
        self.names: tuple[str, ...] = tuple(name for name, _, _ in numbers)
        self.low = np.array([low for _, low, _ in numbers], dtype=np.float64)
        self.high = np.array([high for _, _, high in numbers], dtype=np.float64)

    def __reduce__(self) -> tuple[Any, ...]:
        return Features, (self.spec, self.observe)

    def read(self, state: Any) -> Numbers:
        """Return the numbers for the state of one episode."""
        numbers: Numbers = ()
        for part in self._parts:
            numbers += part.read(state)
        return numbers

    def read_batch(self, state: State, batch: int | None = None) -> Array:
        """Return the numbers of a batch's state, in its array library, as a new array of shape (*batch, len(names)).

        In JAX this can be traced by `jit`, `vmap` and `scan`; in torch nothing leaves the device. `batch` is the shape
        of the labels: (num_envs,), or () for one environment inside `vmap`. A NumPy state without registers does not
        tell its size, and needs it given. The type is float64 in NumPy, and that of the labels in JAX and torch.
        """
        columns = (column for part in self._parts for column in part.read_batch(state))
        like = self.spec.penalty_in_force(state)
        xp = namespace_of(like) or np
        if xp is not np:
            # Comparisons give Booleans, and torch stacks nothing of different types.
            return xp.stack([xp.zeros_like(like) + column for column in columns], -1)
        numbers = np.empty((like.size if batch is None else batch, len(self.names)), dtype=np.float64)
        for k, column in enumerate(columns):
            numbers[:, k] = column
        return numbers

    def _all_parts(self) -> list[_Part]:
        spec = self.spec
        if self.observe == "values":
            return [_Part(spec.values, spec.values, [(str(pair), *self._range) for pair in spec.pairs])]
        if self.observe == "control":
            return [self._control()]
        return [self._control(), self._registers(), *self._windows(), self._veto(), self._levels()]

    def _control(self) -> _Part:
        spec, count = self.spec, len(self.spec.states)
        rows = [tuple(float(k == control) for k in range(count)) for control in range(count)]
        return _Part(
            lambda state: rows[spec.control_state(state)],
            lambda state: [spec.control_state(state) == k for k in range(count)],
            # A number that never changes tells an agent nothing.
            [(f"control = {k}", 0.0, 1.0) for k in range(count)] if count > 1 else [],
        )

    def _registers(self) -> _Part:
        spec = self.spec
        names = [(name, *self._range) for name in spec.registers]
        live = np.array(live_registers(spec.program), dtype=np.bool_).reshape(len(spec.states), len(names))
        if live.all():
            end = 1 + len(names)
            return self._within_bound(_Part(lambda state: state[1:end], spec.register_values, names))
        rows = live.tolist()

        # What a register holds after which nothing reads it is left to the code that runs it.
        def read(state: Any) -> Numbers:
            row = rows[spec.control_state(state)]
            return tuple(
                [value if alive else 0.0 for value, alive in zip(spec.register_values(state), row, strict=True)]
            )

        def read_batch(state: State) -> Sequence[Array]:
            control = spec.control_state(state)
            xp = namespace_of(control) or np
            mask = self._live_on(control, live, xp)[control]
            pairs = enumerate(spec.register_values(state))
            return [xp.where(mask[..., k], value, xp.zeros_like(value)) for k, value in pairs]

        return self._within_bound(_Part(read, read_batch, names))

    def _within_bound(self, part: _Part) -> _Part:
        """The part with the bound for numbers beyond it, which pay the same and may be infinite."""
        low, high = self._range
        if self.spec.bound in (None, math.inf):
            return part

        def read(state: Any) -> Numbers:
            return tuple([low if number < low else high if number > high else number for number in part.read(state)])

        def read_batch(state: State) -> Sequence[Array]:
            return [(namespace_of(column) or np).clip(column, low, high) for column in part.read_batch(state)]

        return _Part(read, read_batch, part.names)

    def _live_on(self, control: Array, live: Bools, xp: ArrayNamespace) -> Array:
        """Return the table of live registers in an array library; for torch on the device of `control`."""
        if xp.__name__ != "torch":
            return live if xp is np else xp.asarray(live)
        if control.device not in self._live:  # copying it at every step would wait for the device
            self._live[control.device] = xp.as_tensor(live, device=control.device)
        return self._live[control.device]

    def _windows(self) -> list[_Part]:
        machine, windows = self.spec.machine, self.spec.program.windows

        def read(state: Any) -> Any:
            return machine.parts(state)[2]

        lasting = [(f"{window.name} lasts", 0.0, 1.0) for window in windows if window.op != "last"]
        return [
            self._within_bound(_Part(read, read, [(window.name, *self._range) for window in windows])),
            _Part(machine.lasting, machine.lasting, lasting),
        ]

    def _veto(self) -> _Part:
        in_force = self.spec.penalty_in_force
        penalties = sorted(set(self.spec.penalties), reverse=True)

        def read(state: Any) -> Numbers:
            lowest = in_force(state)
            return tuple([1.0 if lowest <= penalty else 0.0 for penalty in penalties])

        return _Part(
            read,
            lambda state: [in_force(state) <= penalty for penalty in penalties],
            [(f"penalty <= {penalty:g}", 0.0, 1.0) for penalty in penalties],
        )

    def _levels(self) -> _Part:
        spec = self.spec
        ways = spec.machine.head.payments
        shown = [k for k, way in enumerate(ways) if PAYMENTS[way].reads_before]

        def read(state: Any) -> Any:
            levels = spec.levels(state)
            return tuple([levels[k] for k in shown])

        names = []
        for k in shown:
            weights = [w for w, way in zip(spec.weights, spec.payments, strict=True) if way == ways[k]]
            penalties = spec.penalties if k == 0 else ()
            ends = [weight * end for weight in weights if weight for end in self._range]
            low = min(sum(end for end in ends if end < 0.0), *penalties, 0.0)
            high = max(sum(end for end in ends if end > 0.0), *penalties, 0.0)
            names.append(("level" if len(ways) == 1 else f"level ({ways[k]})", low, high))
        return _Part(read, read, names)

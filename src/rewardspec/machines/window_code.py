"""The windows of a program: their states in batches of any array library, and lines of generated code for one trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from rewardspec.machines import windows as queues
from rewardspec.machines.program import Program, Window
from rewardspec.machines.window_tables import Table, window_tables
from rewardspec.machines.windows import REACH, Algebra, Guards, Link, Queue, algebra, empty_queue, first_half
from rewardspec.types import Array, ArrayNamespace

WindowStates: TypeAlias = tuple[Queue, ...] | Table


class BatchWindows:
    """The operations on all windows of a program: one table in JAX and torch, queues elsewhere.

    A state of one trace has queues too. Their array library is None.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[ArrayNamespace, list[tuple[int, Algebra]]] = {}

    def _each(self, xp: ArrayNamespace) -> list[tuple[int, Algebra]]:
        """Length and operations of each window."""
        if xp not in self._known:
            self._known[xp] = [(window.length, algebra(window, self.program, xp)) for window in self.program.windows]
        return self._known[xp]

    def initial(self, like: Array, xp: ArrayNamespace) -> WindowStates:
        """Return the windows before the first letter; `like` is an array of the batch's shape and type."""
        if self.program.windows and xp.__name__ in ("jax.numpy", "torch"):
            return window_tables(self.program).initial(like, xp)
        return tuple(empty_queue(on, like, xp) for _, on in self._each(xp))

    def read(self, state: WindowStates, number: int, xp: ArrayNamespace) -> Array:
        """Return what a window gives, an array of the batch's shape."""
        if isinstance(state, Table):
            return state.extrema[number]
        return queues.queue_extremum(Queue(*state[number]), self._each(xp)[number][1])

    def push(
        self, state: WindowStates, values: Sequence[Array], guards: Sequence[Array | None], xp: ArrayNamespace
    ) -> WindowStates:
        """Return the windows after one more value of each, with the guards that came with them."""
        if isinstance(state, Table):
            return window_tables(self.program).push(state, values, guards, xp)
        rows = zip(state, self._each(xp), values, guards, strict=True)
        return tuple(queues.queue_push(old, *own, value, guard, xp) for old, own, value, guard in rows)

    def begin(self, mask: Array, initial: WindowStates, state: WindowStates, xp: ArrayNamespace) -> WindowStates:
        """Return the windows of which the masked elements have read nothing yet, as `initial` has not."""
        if isinstance(state, Table) and isinstance(initial, Table):
            return window_tables(self.program).chosen(mask, initial, state, xp)
        return tuple(queues.queue_begin(old, *own, mask, xp) for old, own in zip(state, self._each(xp), strict=True))

    def restart(self, mask: Array, started: WindowStates, state: WindowStates, xp: ArrayNamespace) -> WindowStates:
        """Return the windows of which the masked elements have read their first letter alone, as `started` has."""
        if isinstance(state, Table) and isinstance(started, Table):
            return window_tables(self.program).chosen(mask, started, state, xp)
        return self._restart(mask, [queues.queue_newest(Queue(*queue)) for queue in started], state, xp)

    def restart_at(self, where: Array, mask: Array, started: WindowStates, state: WindowStates) -> WindowStates:
        """`restart` in NumPy, where `started` has only the elements that start anew, at the indices `where`."""
        newest = []
        for queue in started:
            newest.append(np.zeros(mask.shape))
            newest[-1][where] = queues.queue_newest(Queue(*queue))
        return self._restart(mask, newest, state, np)

    def _restart(self, mask: Array, newest: Sequence[Array], state: WindowStates, xp: ArrayNamespace) -> WindowStates:
        rows = zip(state, self._each(xp), newest, strict=True)
        return tuple(queues.queue_restart(old, *own, mask, value, xp) for old, own, value in rows)

    def first(self, state: WindowStates, count: int) -> WindowStates:
        """Return the windows of as many elements of a NumPy batch, the first ones."""
        return tuple(queues.queue_first(Queue(*queue), count) for queue in state)

    def lasting(self, state: WindowStates, xp: ArrayNamespace) -> list[Array]:
        """Return, for each window of an extremum, in how many steps the extremum will be gone unless it comes again."""
        if isinstance(state, Table):
            return window_tables(self.program).lasting(state, xp)
        rows = zip(state, self._each(xp), strict=True)
        return [queues.queue_lasting(Queue(*queue), *own, xp) for queue, own in rows if not own[1].oldest]

    def contents(self, state: WindowStates, number: int, xp: ArrayNamespace) -> list[Array]:
        """Return the values of a window that count, oldest first."""
        if isinstance(state, Table):
            return window_tables(self.program).contents(state, number, xp)
        length, on = self._each(xp)[number]
        return queues.queue_contents(Queue(*state[number]), length, on, xp)

    def of_contents(self, columns: Sequence[Array]) -> WindowStates:
        """Return the windows of a NumPy batch that hold these values, those of the first window first."""
        found, first = [], 0
        for length, on in self._each(np):
            found.append(queues.queue_of(columns[first : first + length], on, np))
            first += length
        return tuple(found)


def scalar_read(place: str, window: Window, guarded: bool) -> list[str]:
    """Lines that put what a window's state `place` gives into `place_x`, after unpacking it."""
    better, worse = _signs(window)
    x, front, total, extremum = f"{place}_x", f"{place}_f", f"{place}_t", f"{place}_e"
    guards = f"({place}_l, {place}_k, {place}_i)" if guarded else "_"
    lines = [
        f"{place}_n, {place}_b, {extremum}, {front}, {total}, {place}_r, {place}_u, {guards} = {place}",
        f"{x} = {total}",
        f"if {front} is not None:",
        f"    other = {front}[0]",
    ]
    if guarded:
        lines.append(f"    if {place}_k {worse} other: other = {place}_k")
    lines.append(f"    {x} = other" if window.op == "last" else f"    if other {better} {x}: {x} = other")
    if guarded:
        lines.append(f"if {place}_l {worse} {x}: {x} = {place}_l")
    if window.op != "last":
        lines.append(f"if {extremum} {better} {x}: {x} = {extremum}")
    return lines


def scalar_push(place: str, window: Window, value: str, guard: str | None, guarded: bool) -> list[str]:
    """Lines that make `place` the window's state after one more value; `scalar_read` has unpacked it."""
    better, worse = _signs(window)
    n, back, extremum, waiting, turned = (f"{place}_{letter}" for letter in "nberu")
    half, length, none = first_half(window.length), window.length, f"{place}_none"
    if length == 1:
        return [f"{place} = (0, None, {place}_z, ({value}, None), {place}_z, None, None, {none})"]
    lines = [f"if {waiting} is not None:", f"    other, own, {waiting} = {waiting}"]
    if guarded:
        lines += [
            f"    if {place}_i {worse} other: other = {place}_i",
            f"    if own {worse} {place}_i: {place}_i = own",
        ]
    if window.op != "last":
        lines.append(f"    if {turned}[0] {better} other: other = {turned}[0]")
    linked = half > REACH  # else no chain is long enough to need it
    lines.append(f"    {turned} = (other, {turned})")
    if linked:
        lines.append(f"    if not {n} & {REACH - 1}: {turned} = Link({turned})")
    if guard is not None:
        lines += [
            f"if {guard} {worse} {extremum}: {extremum} = {guard}",
            f"if {guard} {worse} {place}_l: {place}_l = {guard}",
        ]
    if window.op != "last":
        lines.append(f"if {value} {better} {extremum}: {extremum} = {value}")
    own = guard or (f"{place}_top" if guarded else None)
    guards = f"({place}_l, {place}_k, {place}_i)" if guarded else None
    after = f"({place}_top, {place}_l, {own})" if guarded else None
    front = f"{place}_f and {place}_f[1]"
    rest = f"{extremum}, {front}, {place}_t, {waiting}, {turned}, {guards}"
    new = f"({value}, {own}, {back})"
    middle = f"{place}_z, {turned}, {extremum}, {back}, ({value}, None), {after}"
    return [
        *lines,
        f"{n} += 1",
        f"if {n} == {half}: {place} = ({half}, None, {middle})",
        f"elif {n} == {length}: {place} = (0, None, {middle})",
        *([f"elif not {n} & {REACH - 1}: {place} = ({n}, Link({new}), {rest})"] if linked else []),
        f"else: {place} = ({n}, {new}, {rest})",
    ]


def scalar_names(place: str, window: Window, program: Program, guarded: bool) -> dict[str, Any]:
    """The names that the lines refer to."""
    on = algebra(window, program, None)
    none = _scalar_guards(on, guarded)
    return {f"{place}_z": on.neutral, f"{place}_top": on.identity, f"{place}_none": none, "Link": Link}


def _signs(window: Window) -> tuple[str, str]:
    return ("<", ">") if window.neutral else (">", "<")


def _scalar_guards(on: Algebra, guarded: bool) -> Guards:
    return (on.identity, on.identity, on.identity) if guarded else None


def scalar_initial(program: Program, number: int) -> tuple[Any, ...]:
    """The window of one trace before the first letter; a plain tuple, as the generated code makes them.

    Its guards are numbers rather than None, and it has no age.
    """
    on = algebra(program.windows[number], program, None)
    return tuple(empty_queue(on)._replace(guards=_scalar_guards(on, program.guarded(number))))[:-1]


def has_begun(window: tuple[Any, ...]) -> bool:
    """Return whether anything has been pushed into the window of one trace."""
    queue = Queue(*window)
    return bool(queue.place or queue.turned or queue.front)

"""The windows of a program: lines of generated code for one trace, and functions for batches of any array library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from rewardspec.machines.program import Program, Window
from rewardspec.machines.window_tables import Table, WindowTables, window_tables
from rewardspec.machines.windows import (
    REACH,
    Algebra,
    Guards,
    Link,
    Queue,
    algebra,
    empty_queue,
    first_half,
    queue_begin,
    queue_contents,
    queue_extremum,
    queue_lasting,
    queue_newest,
    queue_of,
    queue_push,
    queue_restart,
)

Array: TypeAlias = Any
Namespace: TypeAlias = Any
WindowStates: TypeAlias = tuple[Queue, ...] | Table


class ArrayWindow:
    """The operations of one window of a program on batches that are kept as queues."""

    def __init__(self, program: Program, number: int) -> None:
        self.program = program
        self.window = program.windows[number]
        self.length = self.window.length
        self._algebras: dict[Any, Algebra] = {}

    def _on(self, xp: Namespace) -> Algebra:
        if xp not in self._algebras:
            self._algebras[xp] = algebra(self.window, self.program, xp)
        return self._algebras[xp]

    def initial(self, like: Array, xp: Namespace) -> Queue:
        """The window before the first letter."""
        return empty_queue(self._on(xp), like, xp)

    def read(self, state: Queue, xp: Namespace) -> Array:
        """Read the output of the window."""
        return queue_extremum(state, self._on(xp))

    def push(self, state: Queue, value: Array, guard: Array | None, xp: Namespace) -> Queue:
        """The window after one more value."""
        return queue_push(state, self.length, self._on(xp), value, guard, xp)

    def begin(self, state: Queue, mask: Array, xp: Namespace) -> Queue:
        """The window of which some elements have read nothing yet."""
        return queue_begin(state, self.length, self._on(xp), mask, xp)

    def restart(self, state: Queue, newest: Array, mask: Array, xp: Namespace) -> Queue:
        """The window of which some elements have read nothing but their first letter, which pushed `newest`."""
        return queue_restart(state, self.length, self._on(xp), mask, newest, xp)

    def newest(self, state: Queue) -> Array:
        """The value pushed last."""
        return queue_newest(state)

    def contents(self, state: Queue, xp: Namespace = np) -> list[Array]:
        """The values that count, oldest first."""
        return queue_contents(state, self.length, self._on(xp), xp)

    def lasting(self, state: Queue, xp: Namespace = np) -> Array:
        """In how many steps the extremum will be gone, unless it comes again; 0 where all is neutral."""
        return queue_lasting(state, self.length, self._on(xp), xp)

    def of(self, contents: Sequence[Array], xp: Namespace = np) -> Queue:
        """A window that holds these values."""
        return queue_of(contents, self._on(xp), xp)


def array_windows(program: Program) -> tuple[ArrayWindow, ...]:
    """The operations of each window of a program."""
    return tuple(ArrayWindow(program, number) for number in range(len(program.windows)))


class BatchWindows:
    """The operations on all windows of a program for batches: one table in JAX and torch, queues elsewhere."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._each = array_windows(program)

    @property
    def _tables(self) -> WindowTables:
        return window_tables(self.program)

    def initial(self, like: Array, xp: Namespace) -> WindowStates:
        """Return the windows before the first letter; `like` is an array of the batch's shape and type."""
        if self._each and xp.__name__ in ("jax.numpy", "torch"):
            return self._tables.initial(like, xp)
        return tuple(window.initial(like, xp) for window in self._each)

    def read(self, state: WindowStates, number: int, xp: Namespace) -> Array:
        """Return what a window gives, an array of the batch's shape."""
        if isinstance(state, Table):
            return state.extrema[number]
        return self._each[number].read(state[number], xp)

    def push(
        self, state: WindowStates, values: Sequence[Array], guards: Sequence[Array | None], xp: Namespace
    ) -> WindowStates:
        """Return the windows after one more value of each, with the guards that came with them."""
        if isinstance(state, Table):
            return self._tables.push(state, values, guards, xp)
        rows = zip(self._each, state, values, guards, strict=True)
        return tuple(window.push(old, value, guard, xp) for window, old, value, guard in rows)

    def begin(self, mask: Array, initial: WindowStates, state: WindowStates, xp: Namespace) -> WindowStates:
        """Return the windows of which the masked elements have read nothing yet, as `initial` has not."""
        if isinstance(state, Table) and isinstance(initial, Table):
            return self._tables.chosen(mask, initial, state, xp)
        return tuple(window.begin(old, mask, xp) for window, old in zip(self._each, state, strict=True))

    def restart(self, mask: Array, started: WindowStates, state: WindowStates, xp: Namespace) -> WindowStates:
        """Return the windows of which the masked elements have read their first letter alone, as `started` has."""
        if isinstance(state, Table) and isinstance(started, Table):
            return self._tables.chosen(mask, started, state, xp)
        rows = zip(self._each, started, state, strict=True)
        return tuple(window.restart(old, window.newest(new), mask, xp) for window, new, old in rows)

    def lasting(self, state: WindowStates, xp: Namespace) -> list[Array]:
        """Return, for each window of an extremum, in how many steps the extremum will be gone unless it comes again."""
        if isinstance(state, Table):
            return self._tables.lasting(state, xp)
        pairs = zip(self._each, state, strict=True)
        return [window.lasting(queue, xp) for window, queue in pairs if window.window.op != "last"]

    def contents(self, state: WindowStates, number: int, xp: Namespace) -> list[Array]:
        """Return the values of a window that count, oldest first."""
        if isinstance(state, Table):
            return self._tables.contents(state, number, xp)
        return self._each[number].contents(state[number], xp)


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

"""Sliding windows: the extremum of the last values, at a cost per step that does not grow with their number.

For one trace, and for batches in NumPy and torch, a window is a queue of two stacks, as linked tuples: new values go on
the *back*, whose extremum is kept; when the back is full it becomes the *front*, whose every node holds the extremum of
itself and of what came after it, and which loses its oldest node at each step. Nothing is written over, so that states
stay values. For JAX, whose arrays have fixed shapes, it is a ring of slots under a tree of extrema.

A *guard* bounds every value that is in the window by then: for a maximum, each becomes its minimum with the guard. It
is applied when a value is read. A guard at the neutral value empties the window, which is how the traces of a batch
start anew without a pass over what their windows hold. This is all said of maxima; minima are the mirror image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rewardspec.machines.program import Program, Window

Array: TypeAlias = Any
Namespace: TypeAlias = Any
Back: TypeAlias = "tuple[Any, Any, Back] | None"  # value, guard or None, older values
Front: TypeAlias = "tuple[Any, Front] | None"  # extremum of this value and of newer ones, newer values


class Queue(NamedTuple):
    """A window's state for one trace, or for a batch in NumPy or torch.

    Attributes:
        pushed: How many values are in the back.
        back: They, newest first, each with the guard that came with it.
        extremum: Their extremum.
        front: The older values, oldest first; None where all are neutral.
        guard: What bounds the front's values since they became the front; None for nothing.
        fresh: Elements of a batch that start anew with the next letter; None for none.
    """

    pushed: int
    back: Any
    extremum: Any
    front: Any
    guard: Any = None
    fresh: Any = None


class Ring(NamedTuple):
    """A window's state for a batch in JAX: a complete binary tree over slots that are written in turn.

    Attributes:
        slot: The slot of the next value.
        values: The tree's extrema, root at 1 and leaves last, shape `(2 * leaves, *batch)`.
        guards: The tree's guards, same shape: the minimum of the guards of a node's leaves.
        extremum: The extremum of the values of this lap.
        guard: The minimum of the guards of this lap.
        fresh: Elements that start anew with the next letter.
    """

    slot: Array
    values: Array
    guards: Array
    extremum: Array
    guard: Array
    fresh: Array


WindowState: TypeAlias = Queue | Ring


class Algebra(NamedTuple):
    """What a window computes with: `outer` is max for a window of maxima, `inner` min."""

    outer: Callable[[Any, Any], Any]
    inner: Callable[[Any, Any], Any]
    neutral: float
    identity: float  # the guard that changes nothing
    oldest: bool  # whether the oldest value is read in place of the extremum


def algebra(window: Window, program: Program, xp: Namespace | None) -> Algebra:
    """The operations of a window on numbers (None) or on a library's arrays."""
    larger, smaller = (_larger, _smaller) if xp is None else (xp.maximum, xp.minimum)
    if window.neutral:
        return Algebra(smaller, larger, program.top, program.bottom, window.op == "last")
    return Algebra(larger, smaller, program.bottom, program.top, window.op == "last")


def _larger(x: float, y: float) -> float:
    return x if x > y else y


def _smaller(x: float, y: float) -> float:
    return x if x < y else y


# Queues.


def empty_queue(on: Algebra, like: Any = None) -> Queue:
    """The window before the first letter; `like` is an array of a batch's shape and type."""
    return Queue(0, None, on.neutral if like is None else like * 0.0 + on.neutral, None)


def queue_extremum(queue: Queue, on: Algebra, xp: Namespace | None = None) -> Any:
    """What the window gives."""
    value = None if on.oldest else queue.extremum
    if queue.front is not None:
        front = queue.front[0] if queue.guard is None else on.inner(queue.front[0], queue.guard)
        value = front if value is None else on.outer(value, front)
    if value is None:
        value = on.neutral if xp is None else queue.extremum * 0.0 + on.neutral
    if queue.fresh is not None and xp is not None:
        value = xp.where(queue.fresh, on.neutral, value)
    return value


def queue_push(queue: Queue, length: int, on: Algebra, value: Any, guard: Any, xp: Namespace | None = None) -> Queue:
    """The window after one more value, of which it holds `length`."""
    count, back, extremum, front, front_guard, fresh = queue
    if fresh is not None and xp is not None:
        guard = xp.where(fresh, on.neutral, on.identity + 0.0 * value if guard is None else guard)
    if guard is not None:
        extremum = on.inner(extremum, guard)
        front_guard = guard if front_guard is None else on.inner(front_guard, guard)
    count, back, front = count + 1, (value, guard, back), None if front is None else front[1]
    if count == length:
        return Queue(0, None, 0.0 * value + on.neutral, turned(back, on))
    return Queue(count, back, on.outer(extremum, value), front, front_guard)


def turned(back: Any, on: Algebra) -> Any:
    """The front that a full back becomes."""
    front: Any = None
    extremum, bound = None, None
    while back is not None:
        value, guard, back = back
        value = value if bound is None else on.inner(value, bound)
        extremum = value if extremum is None or on.oldest else on.outer(extremum, value)
        if guard is not None:
            bound = guard if bound is None else on.inner(bound, guard)
        front = (extremum, front)
    return front


def queue_contents(queue: Queue, length: int, on: Algebra, xp: Namespace | None = None) -> list[Any]:
    """The values that count, oldest first; extrema of newer values stand for values that they hide."""
    neutral = on.neutral if xp is None else 0.0 * queue.extremum + on.neutral
    values, bound, back = [], None, queue.back
    while back is not None:
        value, guard, back = back
        values.append(value if bound is None else on.inner(value, bound))
        if guard is not None:
            bound = guard if bound is None else on.inner(bound, guard)
    older, front = [], queue.front
    while front is not None:
        older.append(front[0] if queue.guard is None else on.inner(front[0], queue.guard))
        front = front[1]
    found = [neutral] * (length - len(values) - len(older)) + older + values[::-1]
    if queue.fresh is None or xp is None:
        return found
    return [xp.where(queue.fresh, on.neutral, value) for value in found]


def queue_of(contents: Sequence[Any], on: Algebra) -> Queue:
    """A window that holds these values, oldest first."""
    back: Any = None
    for value in contents:
        back = (value, None, back)
    return Queue(0, None, 0.0 * contents[0] + on.neutral, turned(back, on))


def queue_newest(queue: Queue) -> Any:
    """The value pushed last, of a window into which less has been pushed than it holds, or just as much."""
    if queue.back is not None:
        return queue.back[0]
    front = queue.front
    while front[1] is not None:
        front = front[1]
    return front[0]


def queue_restart(queue: Queue, on: Algebra, mask: Any, newest: Any, xp: Namespace) -> Queue:
    """The window in which the masked elements hold nothing but what was pushed last, which is `newest` there."""
    count, back, extremum, front, guard, fresh = queue
    fresh = None if fresh is None else fresh & ~mask
    identity = on.identity + 0.0 * newest
    if back is not None:
        value, own, older = back
        back = (xp.where(mask, newest, value), xp.where(mask, on.neutral, identity if own is None else own), older)
        guard = xp.where(mask, on.neutral, identity if guard is None else guard)
        return Queue(count, back, xp.where(mask, newest, extremum), front, guard, fresh)
    # The newest value has just become the last of the front, whose every node it is now the extremum of.
    nodes = []
    while front is not None:
        nodes.append(front[0])
        front = front[1]
    for place, node in enumerate(reversed(nodes)):
        front = (xp.where(mask, on.neutral if on.oldest and place else newest, node), front)
    return Queue(count, None, extremum, front, guard, fresh)


# Rings.


def empty_ring(length: int, on: Algebra, like: Any, xp: Namespace) -> Ring:
    """The window before the first letter."""
    leaves = 1 << (length - 1).bit_length()
    shape = (2 * leaves, *like.shape)
    neutral = xp.zeros_like(like) + on.neutral
    return Ring(
        xp.zeros((), dtype=xp.int32),
        xp.full(shape, on.neutral, dtype=like.dtype),
        xp.full(shape, on.identity, dtype=like.dtype),
        neutral,
        xp.zeros_like(like) + on.identity,
        xp.zeros(like.shape, dtype=bool),
    )


def ring_extremum(ring: Ring, length: int, on: Algebra, xp: Namespace) -> Any:
    """What the window gives: of this lap's values, and of those of the last lap that are still there."""
    leaves = ring.values.shape[0] // 2
    node = ring.slot + leaves
    if on.oldest:
        # The slot to be written next holds the oldest value; what came after it in its lap bounds it.
        value = on.inner(ring.values[node], on.identity if length == 1 else _suffix(ring, node, on, xp)[1])
    else:
        suffix, bound = _suffix(ring, node, on, xp)
        value = on.outer(suffix, on.inner(ring.values[node], bound))
    value = on.inner(value, ring.guard)
    if not on.oldest:
        value = on.outer(value, ring.extremum)
    return xp.where(ring.fresh, on.neutral, value)


def _suffix(ring: Ring, node: Any, on: Algebra, xp: Namespace) -> tuple[Any, Any]:
    """Extremum and guards of the leaves to the right of a node, older ones to the left."""
    extremum, bound = xp.full_like(ring.extremum, on.neutral), xp.full_like(ring.extremum, on.identity)
    for _ in range((ring.values.shape[0] // 2).bit_length() - 1):
        left = node % 2 == 0
        sibling = xp.where(left, node + 1, node)
        values = xp.where(left, ring.values[sibling], on.neutral)
        guards = xp.where(left, ring.guards[sibling], on.identity)
        extremum = on.outer(on.inner(extremum, guards), values)
        bound = on.inner(bound, guards)
        node = node // 2
    return extremum, bound


def ring_push(ring: Ring, length: int, on: Algebra, value: Any, guard: Any, xp: Namespace) -> Ring:
    """The window after one more value."""
    bound = xp.zeros_like(value) + on.identity if guard is None else guard
    bound = xp.where(ring.fresh, on.neutral, bound)
    values, guards = _written(ring, ring.slot, value, bound, on)
    # A lap begins with nothing; what was pushed in the last one is in the tree.
    over = ring.slot + 1 == length
    extremum = xp.where(over, on.neutral, on.outer(on.inner(ring.extremum, bound), value))
    lap_guard = xp.where(over, on.identity, on.inner(ring.guard, bound))
    slot = xp.where(over, 0, ring.slot + 1)
    return Ring(slot, values, guards, extremum, lap_guard, xp.zeros_like(ring.fresh))


def _written(ring: Ring, slot: Any, value: Any, guard: Any, on: Algebra) -> tuple[Any, Any]:
    leaves = ring.values.shape[0] // 2
    node = slot + leaves
    values, guards = ring.values.at[node].set(value), ring.guards.at[node].set(guard)
    for _ in range(leaves.bit_length() - 1):
        node = node // 2
        older, newer = 2 * node, 2 * node + 1
        values = values.at[node].set(on.outer(on.inner(values[older], guards[newer]), values[newer]))
        guards = guards.at[node].set(on.inner(guards[older], guards[newer]))
    return values, guards


def ring_newest(ring: Ring, length: int, xp: Namespace) -> Any:
    """The value pushed last."""
    return ring.values[xp.where(ring.slot == 0, length, ring.slot) - 1 + ring.values.shape[0] // 2]


def ring_restart(ring: Ring, length: int, on: Algebra, mask: Any, newest: Any, xp: Namespace) -> Ring:
    """The window in which the masked elements hold nothing but what was pushed last, which is `newest` there."""
    slot = xp.where(ring.slot == 0, length, ring.slot) - 1
    node = slot + ring.values.shape[0] // 2
    value = xp.where(mask, newest, ring.values[node])
    bound = xp.where(mask, on.neutral, ring.guards[node])
    values, guards = _written(ring, slot, value, bound, on)
    return Ring(
        ring.slot,
        values,
        guards,
        xp.where(mask, newest, ring.extremum),
        xp.where(mask & (ring.slot > 0), on.neutral, ring.guard),
        ring.fresh & ~mask,
    )


# Either.


class ArrayWindow:
    """The operations of one window of a program on batches, whichever library they are of."""

    def __init__(self, window: Window, program: Program) -> None:
        self.window = window
        self.program = program
        self._algebras: dict[Any, Algebra] = {}

    def _on(self, xp: Namespace) -> Algebra:
        if xp not in self._algebras:
            self._algebras[xp] = algebra(self.window, self.program, xp)
        return self._algebras[xp]

    def initial(self, like: Array, xp: Namespace) -> WindowState:
        """The window before the first letter."""
        if xp.__name__ == "jax.numpy":
            return empty_ring(self.window.length, self._on(xp), like, xp)
        return empty_queue(self._on(xp), like)

    def read(self, state: WindowState, xp: Namespace) -> Array:
        """What the window gives."""
        if isinstance(state, Ring):
            return ring_extremum(state, self.window.length, self._on(xp), xp)
        return queue_extremum(state, self._on(xp), xp)

    def push(self, state: WindowState, value: Array, guard: Array | None, xp: Namespace) -> WindowState:
        """The window after one more value."""
        if isinstance(state, Ring):
            return ring_push(state, self.window.length, self._on(xp), value, guard, xp)
        return queue_push(state, self.window.length, self._on(xp), value, guard, xp)

    def begin(self, state: WindowState, mask: Array, xp: Namespace) -> WindowState:
        """The window of which some elements have read nothing yet."""
        fresh = state.fresh
        return state._replace(fresh=mask if fresh is None else fresh | mask)

    def restart(self, state: WindowState, started: WindowState, mask: Array, xp: Namespace) -> WindowState:
        """The window of which some elements have read nothing but their first letter, as `started` has."""
        if isinstance(state, Ring):
            assert isinstance(started, Ring)
            newest = ring_newest(started, self.window.length, xp)
            return ring_restart(state, self.window.length, self._on(xp), mask, newest, xp)
        assert isinstance(started, Queue)
        return queue_restart(state, self._on(xp), mask, queue_newest(started), xp)

    def contents(self, state: Queue, xp: Namespace = np) -> list[Array]:
        """The values that count, oldest first."""
        return queue_contents(state, self.window.length, self._on(xp), xp)

    def of(self, contents: Sequence[Array], xp: Namespace = np) -> Queue:
        """A window that holds these values."""
        return queue_of(contents, self._on(xp))


def array_windows(program: Program) -> tuple[ArrayWindow, ...]:
    """The operations of each window of a program."""
    return tuple(ArrayWindow(window, program) for window in program.windows)


# The lines of generated code for one trace.


def scalar_read(place: str, window: Window, guarded: bool) -> list[str]:
    """Lines that put what a window's state `place` gives into `place_x`, after unpacking it."""
    better, worse = _signs(window)
    unpack = f"{place}_n, {place}_b, {place}_e, {place}_f, {place}_g, _ = {place}"
    front = f"{place}_f[0]"
    if guarded:
        front = f"{front} if {place}_g is None or {front} {worse} {place}_g else {place}_g"
    if window.op == "last":
        return [unpack, f"{place}_x = {place}_e if {place}_f is None else {front}"]
    return [
        unpack,
        f"{place}_x = {place}_e",
        f"if {place}_f is not None:",
        f"    other = {front}",
        f"    if other {better} {place}_x: {place}_x = other",
    ]


def scalar_push(place: str, window: Window, value: str, guard: str | None) -> list[str]:
    """Lines that make `place` the window's state after one more value; `scalar_read` has unpacked it."""
    better, worse = _signs(window)
    lines = []
    if guard is not None:
        lines += [
            f"if {guard} {worse} {place}_e: {place}_e = {guard}",
            f"if {place}_g is None or {guard} {worse} {place}_g: {place}_g = {guard}",
        ]
    lines += [
        f"{place}_n += 1",
        f"{place}_b = ({value}, {guard}, {place}_b)",
        f"if {place}_n == {window.length}: {place} = (0, None, {place}_z, turned({place}_b, {place}_on), None, None)",
        "else:",
    ]
    if window.op != "last":
        lines.append(f"    if {value} {better} {place}_e: {place}_e = {value}")
    rest = f"{place}_f and {place}_f[1]"
    lines.append(f"    {place} = ({place}_n, {place}_b, {place}_e, {rest}, {place}_g, None)")
    return lines


def scalar_names(place: str, window: Window, program: Program) -> dict[str, Any]:
    """What the lines refer to."""
    on = algebra(window, program, None)
    return {f"{place}_on": on, f"{place}_z": on.neutral, "turned": turned}


def _signs(window: Window) -> tuple[str, str]:
    return ("<", ">") if window.neutral else (">", "<")


def scalar_initial(window: Window, program: Program) -> tuple[Any, ...]:
    """The window of one trace before the first letter; a plain tuple, as the generated code makes them."""
    return tuple(empty_queue(algebra(window, program, None)))

"""Sliding windows: the extremum of the last values, at a cost per step that does not grow with their number.

A window holds its values in three parts. New values go on the *back*, whose extremum is kept. When the back holds half
of the window's length, it becomes the *middle*, whose values are *turned* at one a step: each, from the newest to the
oldest, becomes the extremum of itself and of the newer ones. By the time the back is full again the middle is turned,
and becomes the *front*, which loses its oldest value at each step and whose oldest is the extremum of all of it. So a
window gives the extremum of three numbers, and no step costs more than another.

For one trace, and for batches in NumPy, the parts are linked tuples: chains, now and then with a `Link`, so that they
can be copied and pickled however long they are. Nothing is written over, so that states stay values. In JAX and torch
all windows of a program share a table: see `rewardspec.machines.window_tables`.

A *guard* bounds every value that is in the window by then: for a maximum, each becomes its minimum with the guard. A
guard at the neutral value empties the window, and so do the traces of a batch start anew; values of the back that are
older than their trace count as neutral when they are turned. This is all said of maxima; minima are the mirror image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from rewardspec.machines.program import Program, Window
from rewardspec.types import Array

Namespace: TypeAlias = Any
Guards: TypeAlias = "tuple[Any, Any, Any] | None"

MOST_HELD = 100_000
"""The most values that all windows of a machine may hold together."""
_NO_GUARDS = (None, None, None)
REACH = 64
"""After how many plain nodes at most a chain has a link; a power of two."""


class Link(tuple[Any, ...]):
    """A node of a chain, as its other nodes are, from which on it is copied and pickled as a list.

    Copying and pickling recurse into tuples, and there can be thousands within each other.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        nodes: list[tuple[Any, ...]] = []
        rest: Any = self
        while rest is not None:
            nodes.append(rest[:-1])
            rest = rest[-1]
        return _linked, (nodes,)


def _linked(nodes: Sequence[tuple[Any, ...]]) -> Any:
    """The chain of these nodes, which begins with a link."""
    chain: Any = None
    for number, node in enumerate(reversed(nodes)):
        chain = (*node, chain) if (number + 1) % REACH and number + 1 < len(nodes) else Link((*node, chain))
    return chain


class Queue(NamedTuple):
    """A window's state for one trace, or for a batch in NumPy.

    Attributes:
        place: How many values of this lap, of as many as the window holds, have been pushed.
        back: The values of this half of the lap, newest first.
        extremum: Their extremum.
        front: What is left of the half before the last, oldest first; None where all are neutral.
        total: The extremum of the last half, the middle, when it ended.
        waiting: The values of the middle that are not turned yet, newest first.
        turned: The values of the middle that are, oldest first.
        guards: What has bounded middle and front since the middle ended; what had bounded the front by then; and what
            bounds the next value to be turned. None for nothing.
        age: How many values each element of a batch has seen since it started anew; None for enough.
    """

    place: int
    back: Array
    extremum: Array
    front: Array
    total: Array
    waiting: Array = None
    turned: Array = None
    guards: Array = None
    age: Array = None


class Algebra(NamedTuple):
    """The operations of a window: `outer` is max for a window of maxima, `inner` min."""

    outer: Callable[[Array, Array], Array]
    inner: Callable[[Array, Array], Array]
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


def first_half(length: int) -> int:
    """Number of values in the first half of a lap; the second may have one fewer."""
    return length - length // 2


def empty_queue(on: Algebra, like: Array = None, xp: Namespace | None = None) -> Queue:
    """The window before the first letter; `like` is an array of a batch's shape and type."""
    neutral = on.neutral if xp is None else xp.full_like(like, on.neutral)
    return Queue(0, None, neutral, None, neutral)


def queue_extremum(queue: Queue, on: Algebra) -> Any:
    """Read the output of a queue."""
    later, earlier, _ = queue.guards or _NO_GUARDS
    if queue.front is None:
        value = queue.total  # neutral, where only the oldest counts
    else:
        value = _bounded(queue.front[0], earlier, on)
        value = value if on.oldest else on.outer(queue.total, value)
    value = _bounded(value, later, on)
    return value if on.oldest else on.outer(queue.extremum, value)


def _bounded(value: Array, guard: Array, on: Algebra) -> Array:
    return value if guard is None else on.inner(value, guard)


def _both(guard: Array, other: Array, on: Algebra) -> Array:
    return guard if other is None else other if guard is None else on.inner(guard, other)


def queue_push(queue: Queue, length: int, on: Algebra, value: Array, guard: Array, xp: Namespace) -> Queue:
    """The window of a batch after one more value, of which it holds `length`."""
    place, back, extremum, front, total, waiting, turned, guards, age = queue
    later, earlier, inside = guards or _NO_GUARDS
    half = first_half(length)
    if waiting is not None:
        next_, own, waiting = waiting
        if age is not None:
            next_ = xp.where(age > 2 * (place % half) + 1, next_, on.neutral)
        next_ = _bounded(next_, inside, on)
        inside = _both(inside, own, on)
        turned = (next_ if on.oldest else on.outer(turned[0], next_), turned)
        turned = turned if place % REACH else Link(turned)
    if guard is not None:
        extremum, later = on.inner(extremum, guard), _both(later, guard, on)
    place += 1
    age = None if age is None else age + 1
    if not on.oldest:
        extremum = on.outer(extremum, value)
    if place not in (half, length):
        back, front = (value, guard, back), None if front is None else front[1]
        back = back if place % REACH else Link(back)
        return Queue(place, back, extremum, front, total, waiting, turned, _guards(later, earlier, inside), age)
    neutral = xp.full_like(value, on.neutral)
    if length == 1:
        return Queue(0, None, neutral, (value, None), neutral, age=age)
    guards = _guards(None, later, guard)
    return Queue(place % length, None, neutral, turned, extremum, back, (value, None), guards, age)


def _guards(*guards: Any) -> Guards:
    return None if all(guard is None for guard in guards) else guards


def queue_contents(queue: Queue, length: int, on: Algebra, xp: Namespace | None = None) -> list[Any]:
    """The values that count, oldest first; where an extremum is read, newer values stand for those that they hide.

    So windows that will give the same are the same.
    """
    later, earlier, inside = queue.guards or _NO_GUARDS
    neutral = on.neutral if xp is None else xp.full_like(queue.extremum, on.neutral)
    newest_first: list[Any] = []

    def add(value: Any, guard: Array) -> None:
        if queue.age is not None and xp is not None:
            value = xp.where(queue.age > len(newest_first), value, on.neutral)
        value = _bounded(value, guard, on)
        newest_first.append(value if on.oldest or not newest_first else on.outer(newest_first[-1], value))

    bound, node = None, queue.back
    while node is not None:
        value, own, node = node
        add(value, bound)
        bound = _both(bound, own, on)
    for value in reversed(_listed(queue.turned)):
        add(value, later)
    node = queue.waiting
    while node is not None:
        value, own, node = node
        add(value, _both(inside, later, on))
        inside = _both(inside, own, on)
    for value in reversed(_listed(queue.front)):
        add(value, _both(earlier, later, on))
    oldest = neutral if on.oldest or not newest_first else newest_first[-1]
    return [oldest] * (length - len(newest_first)) + newest_first[::-1]


def _listed(chain: Any) -> list[Any]:
    values = []
    while chain is not None:
        values.append(chain[0])
        chain = chain[1]
    return values


def queue_lasting(queue: Queue, length: int, on: Algebra, xp: Namespace | None = None) -> Any:
    """In how many steps the extremum will be gone, unless it comes again; 0 where all is neutral.

    That takes a look at all that the window holds.
    """
    contents = queue_contents(queue, length, on, xp)
    # Newer values stand for those that they hide, so that the extremum comes first.
    if xp is None:
        return 0 if contents[0] == on.neutral else contents.count(contents[0])
    one, zero = xp.ones_like(contents[0]), xp.zeros_like(contents[0])
    lasting = sum(xp.where(value == contents[0], one, zero) for value in contents)
    return xp.where(contents[0] == on.neutral, zero, lasting)


def queue_of(contents: Sequence[Array], on: Algebra, xp: Namespace) -> Queue:
    """A window that holds these values, oldest first."""
    half, neutral = first_half(len(contents)), xp.full_like(contents[0], on.neutral)
    middle = _turned(contents[half:], on)
    return Queue(0, None, neutral, _turned(contents[:half], on), middle[0] if middle else neutral, turned=middle)


def _turned(values: Sequence[Array], on: Algebra) -> Any:
    chain: Any = None
    for number, value in enumerate(reversed(values), start=1):
        chain = (value if chain is None or on.oldest else on.outer(chain[0], value), chain)
        chain = chain if number % REACH else Link(chain)
    return chain


def queue_newest(queue: Queue) -> Any:
    """The value pushed last."""
    return (queue.back or queue.turned or queue.front)[0]


def queue_first(queue: Queue, count: int) -> Queue:
    """The window of as many elements of a batch in NumPy, the first ones."""

    def first(values: Array) -> Array:
        return None if values is None else values[:count]

    def first_of_each(chain: Any) -> Any:
        nodes: list[tuple[Any, ...]] = []
        while chain is not None:
            nodes.append(chain)
            chain = chain[-1]
        for node in reversed(nodes):
            chain = type(node)((*map(first, node[:-1]), chain))
        return chain

    return queue._replace(
        back=first_of_each(queue.back),
        extremum=first(queue.extremum),
        front=first_of_each(queue.front),
        total=first(queue.total),
        waiting=first_of_each(queue.waiting),
        turned=first_of_each(queue.turned),
        guards=None if queue.guards is None else tuple(map(first, queue.guards)),
        age=first(queue.age),
    )


def queue_begin(queue: Queue, length: int, on: Algebra, mask: Array, xp: Namespace) -> Queue:
    """The window in which the masked elements hold nothing."""
    later, earlier, inside = queue.guards or _NO_GUARDS
    return queue._replace(
        extremum=xp.where(mask, on.neutral, queue.extremum),
        guards=(_emptied(later, on, mask, queue.total, xp), earlier, inside),
        age=xp.where(mask, 0, length if queue.age is None else queue.age),
    )


def queue_restart(queue: Queue, length: int, on: Algebra, mask: Array, newest: Array, xp: Namespace) -> Queue:
    """The window in which the masked elements hold nothing but what was pushed last, which is `newest` there."""
    later, earlier, inside = queue.guards or _NO_GUARDS
    new = queue._replace(age=xp.where(mask, 1, length if queue.age is None else queue.age))

    def renewed(old: Array) -> Array:
        return xp.where(mask, newest, old)

    if queue.back is not None:
        guards = _emptied(later, on, mask, queue.total, xp), earlier, inside
        extremum = queue.extremum if on.oldest else renewed(queue.extremum)
        return new._replace(back=(renewed(queue.back[0]), *queue.back[1:]), extremum=extremum, guards=guards)
    if queue.turned is None:  # it is all that the window holds
        return new._replace(front=(renewed(queue.front[0]), None))
    # The back that it belonged to has just become the middle.
    guards = later, _emptied(earlier, on, mask, queue.total, xp), inside
    total = queue.total if on.oldest else renewed(queue.total)
    return new._replace(turned=(renewed(queue.turned[0]), None), total=total, guards=guards)


def _emptied(guard: Array, on: Algebra, mask: Array, like: Array, xp: Namespace) -> Array:
    return xp.where(mask, on.neutral, xp.full_like(like, on.identity) if guard is None else guard)

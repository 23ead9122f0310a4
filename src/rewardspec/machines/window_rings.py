"""Windows in JAX, whose arrays have fixed shapes: the parts of a window share a ring of slots."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from rewardspec.machines.windows import Algebra, first_half

Array: TypeAlias = Any
Namespace: TypeAlias = Any


class Ring(NamedTuple):
    """A window's state for a batch in JAX: slots that are written in turn.

    Attributes:
        place: The slot of the next value.
        values: What the slots hold, and two rows to spare, shape `(length + 2, *batch)`.
        guards: The guards that came with the values; None where there are none.
        oldest: What the slot of the next value holds.
        extremum: The extremum of the values of this half of a lap.
        total: The extremum of the middle when it ended.
        later: What has bounded middle and front since then.
        earlier: What had bounded the front by then.
        inside: What bounds the next value to be turned; None where there are no guards.
        age: How many values each element has seen since it started anew, at most as many as the window holds.
    """

    place: Array
    values: Array
    guards: Array | None
    oldest: Array
    extremum: Array
    total: Array
    later: Array
    earlier: Array
    inside: Array | None
    age: Array


def empty_ring(length: int, on: Algebra, guarded: bool, like: Any, xp: Namespace) -> Ring:
    """The window before the first letter."""
    neutral, identity = xp.full_like(like, on.neutral), xp.full_like(like, on.identity)
    return Ring(
        place=xp.zeros((), dtype=xp.int32),
        values=xp.full((length + 2, *like.shape), on.neutral, dtype=like.dtype),
        guards=xp.full((length + 2, *like.shape), on.identity, dtype=like.dtype) if guarded else None,
        oldest=neutral,
        extremum=neutral,
        total=neutral,
        later=identity,
        earlier=identity,
        inside=identity if guarded else None,
        age=xp.full(like.shape, length, dtype=xp.int32),
    )


def ring_extremum(ring: Ring, on: Algebra) -> Any:
    """What the window gives."""
    value = on.inner(ring.oldest, ring.earlier)
    if on.oldest:
        return on.inner(value, ring.later)
    return on.outer(ring.extremum, on.inner(ring.later, on.outer(ring.total, value)))


def ring_push(ring: Ring, length: int, on: Algebra, value: Any, guard: Any, xp: Namespace) -> Ring:
    """The window after one more value."""
    half, place = first_half(length), ring.place
    extremum, later, guards, inside = ring.extremum, ring.later, ring.guards, ring.inside
    # One value of the middle is turned; once all are, one of the rows to spare in its place.
    first = place < half
    turns = place % half
    newest, count = xp.where(first, length, half) - 1, xp.where(first, length - half, half)
    turning = xp.where(turns < count - 1, newest - 1 - turns, length)
    newer, own = _row(ring.values, turning + 1), _row(ring.values, turning)
    own = xp.where(ring.age > 2 * turns + 1, own, on.neutral)
    # What is read is needed for what is written, or is read after it: so JAX writes in place.
    if guards is not None:
        guard = xp.full_like(value, on.identity) if guard is None else guard
        guards = _with_row(guards, place, guard)
        inside = on.inner(xp.where(turns == 0, on.identity, inside), _row(guards, turning + 1))
        own = on.inner(own, inside)
        extremum, later = on.inner(extremum, guard), on.inner(later, guard)
    values = _with_row(ring.values, turning, own if on.oldest else on.outer(own, newer))
    values = _with_row(values, place, value)
    place = place + 1
    over = (place == half) | (place == length)
    place = xp.where(place == length, 0, place)
    extremum = on.outer(extremum, value)
    neutral, identity = xp.full_like(value, on.neutral), xp.full_like(value, on.identity)
    return Ring(
        place=place,
        values=values,
        guards=guards,
        oldest=_row(values, place),
        extremum=xp.where(over, neutral, extremum),
        total=neutral if length == 1 else xp.where(over, extremum, ring.total),
        later=xp.where(over, identity, later),
        earlier=identity if length == 1 else xp.where(over, later, ring.earlier),
        inside=inside,
        age=xp.minimum(ring.age + 1, length),
    )


def _row(rows: Any, number: Any) -> Any:
    from jax import lax

    return lax.dynamic_index_in_dim(rows, number, keepdims=False)


def _with_row(rows: Any, number: Any, row: Any) -> Any:
    from jax import lax

    return lax.dynamic_update_index_in_dim(rows, row, number, 0)


def _last_place(ring: Ring, length: int, xp: Namespace) -> Any:
    return xp.where(ring.place == 0, length, ring.place) - 1


def ring_newest(ring: Ring, length: int, xp: Namespace) -> Any:
    """The value pushed last."""
    return _row(ring.values, _last_place(ring, length, xp))


def ring_begin(ring: Ring, on: Algebra, mask: Any, xp: Namespace) -> Ring:
    """The window in which the masked elements hold nothing."""
    return ring._replace(
        extremum=xp.where(mask, on.neutral, ring.extremum),
        later=xp.where(mask, on.neutral, ring.later),
        age=xp.where(mask, 0, ring.age),
    )


def ring_restart(ring: Ring, length: int, on: Algebra, mask: Any, newest: Any, xp: Namespace) -> Ring:
    """The window in which the masked elements hold nothing but what was pushed last, which is `newest` there."""
    last = _last_place(ring, length, xp)
    in_back = (ring.place != 0) & (ring.place != first_half(length))
    values = _with_row(ring.values, last, xp.where(mask, newest, _row(ring.values, last)))
    return ring._replace(
        values=values,
        oldest=_row(values, ring.place),
        extremum=xp.where(mask & in_back, newest, ring.extremum),
        total=ring.total if length == 1 else xp.where(mask & ~in_back, newest, ring.total),
        later=xp.where(mask & in_back, on.neutral, ring.later),
        earlier=ring.earlier if length == 1 else xp.where(mask & ~in_back, on.neutral, ring.earlier),
        age=xp.where(mask, 1, ring.age),
    )

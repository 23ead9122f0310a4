"""Windows in JAX and torch: all windows of a program share one table, with one scatter a step.

The table is built by *doubling*. M(j, t), the maximum of the last 2^j values, is the maximum of M(j - 1, t) and
M(j - 1, t - 2^(j - 1)). A window of length L gives the maximum of M(m, t) and M(m, t - (L - 2^m)), for the largest m
with 2^m <= L. So a window has about log2(L) *tracks*, each of which is read once a step, with a fixed *lag*, and
written once a step. Guards have tracks of their own, of their minima: what M(j, t - 2^j) contributes is bounded by the
minimum of the last 2^j guards. A track keeps as many rows as its lag, rounded up to a power of two, so that the clock
may overflow. What was written before an element started anew is told by its *age*.

Windows of minima are kept with the opposite sign. A delay, which gives the oldest value, is one track with the lag
L - 1. A window takes at most 2 L rows, twice as many with guards; a row takes one number for each environment.

The age of the newest value at the extremum is found by a binary search, because the tracks hold the maxima of ever
longer runs of values: log2(L) gathers that depend on each other, without anything more to remember.

In torch one gather reads all tracks. In JAX each track is a slice of its own, of the shape of the batch, and nothing
has an axis of tracks: XLA then reads the table, updates the windows and computes all that depends on them in one
kernel, which can write over the arrays of the step before. With an axis of tracks it would need a kernel for each
shape, and copies of the arrays that both kernels read.

The clock is one number for all elements of a batch. Inside `vmap` each element has a clock of its own, and JAX gathers
and scatters element by element, which is slower: batch the labels instead, where that is possible.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from rewardspec.machines.program import Program, Window
from rewardspec.types import Array, ArrayNamespace

Tracks: TypeAlias = Array  # one array for each track: a tuple in JAX, in torch one array with an axis of tracks


class Table(NamedTuple):
    """State of all windows of a program for a batch in JAX or torch.

    Attributes:
        clock: Number of values pushed, an integer of shape ().
        rows: What the tracks hold, of shape (rows, *batch).
        pending: What each track is yet to write: an element that starts anew changes this. In JAX an array of the
            batch's shape for each track; in torch one of shape (tracks, *batch).
        extrema: What each window gives, of the batch's shape.
        age: Number of values that each element has seen since it started anew, up to the length of the longest window.
    """

    clock: Array
    rows: Array
    pending: Array  # of `Tracks`
    extrema: tuple[Array, ...]
    age: Array


class _Place(NamedTuple):
    """The places of a window's tracks.

    Attributes:
        window: The window.
        sign: -1.0 for windows of minima.
        neutral: What the window holds at first, with this sign.
        identity: The guard that changes nothing, with this sign.
        values: The tracks of its values.
        guards: The tracks of its guards; None where there are no guards.
    """

    window: Window
    sign: float
    neutral: float
    identity: float
    values: range
    guards: range | None


class WindowTables:
    """The operations on the windows of a program, with guards or without, between its least and its largest value."""

    def __init__(self, windows: Sequence[Window], guarded: Sequence[bool], bottom: float, top: float) -> None:
        lags: list[int] = []
        neutrals: list[float] = []
        self._places: list[_Place] = []
        for window, has_guards in zip(windows, guarded, strict=True):
            sign, neutral, identity = (-1.0, -top, -bottom) if window.neutral else (1.0, bottom, top)
            delay = window.op == "last"
            values = [window.length - 1] * (window.length > 1) if delay else _doubling(window.length)
            bounds = _doubling(window.length - 1 if delay else 1 << (window.length.bit_length() - 1))
            tracks = range(len(lags), len(lags) + len(values))
            lags += values
            neutrals += [neutral] * len(values)
            guards = None
            if has_guards:
                guards = range(len(lags), len(lags) + len(bounds))
                lags += bounds
                neutrals += [identity] * len(bounds)
            self._places.append(_Place(window, sign, neutral, identity, tracks, guards))
        sizes = [1 << (lag - 1).bit_length() for lag in lags]
        self._longest = max((window.length for window in windows), default=1)
        self._lags, self._masks = np.array(lags, dtype=np.int32), np.array(sizes, dtype=np.int32) - 1
        self._offsets = np.array([0, *np.cumsum(sizes)[:-1]], dtype=np.int32)[: len(lags)]
        self._neutrals = np.array(neutrals)
        self.rows = sum(sizes)
        self._on_device: dict[Any, Array] = {}

    def initial(self, like: Array, xp: ArrayNamespace) -> Table:
        """Return the windows before the first letter; `like` is an array of the batch's shape and type."""
        integer = xp.int64 if xp.__name__ == "torch" else xp.int32  # torch takes no other as an index
        return Table(
            clock=xp.zeros_like(like.sum(), dtype=integer),
            rows=xp.zeros_like(like) + self._column(np.zeros(self.rows), like, xp),
            pending=self._neutral(like, xp),
            extrema=tuple(xp.full_like(like, place.sign * place.neutral) for place in self._places),
            age=xp.zeros_like(like, dtype=integer),
        )

    def push(self, table: Table, values: Sequence[Array], guards: Sequence[Array | None], xp: ArrayNamespace) -> Table:
        """Return the windows after one more value of each, with the guards that came with them."""
        age = xp.clip(table.age + 1, max=self._longest)
        clock, rows, olds = table.clock + 1, table.rows, table.pending
        if self.rows:
            lags, masks, offsets = self._constants(table.clock, xp)
            rows = _with_rows(rows, offsets + (table.clock & masks), table.pending, xp)
            olds = self._reached(age, _rows_at(rows, offsets + ((clock - lags) & masks), xp), xp)
        pending: list[Tracks] = []
        extrema: list[Array] = []
        for place, value, guard in zip(self._places, values, guards, strict=True):
            value = value if place.sign > 0 else -value
            if len(place.values):
                value = _in_place_of(table.pending[place.values.start], value, age, xp)
            found, bounds = olds[place.values.start : place.values.stop], None
            if place.guards is not None:
                guard = xp.full_like(value, place.identity) if guard is None else guard if place.sign > 0 else -guard
                bounds = _running("min", guard, olds[place.guards.start : place.guards.stop], xp)
            if place.window.op == "last":
                extremum, kept = value, found
                if len(found):
                    extremum = found[0] if bounds is None else xp.minimum(found[0], bounds[-1])
                    kept = value[None] if xp.__name__ == "torch" else (value,)
            else:
                found = found if bounds is None else _minima(found, bounds[: len(found)], xp)
                maxima = _running("max", value, found, xp)
                extremum, kept = maxima[-1], maxima[:-1]
            pending += [kept] if bounds is None else [kept, bounds[:-1]]
            extremum = extremum if place.sign > 0 else -extremum
            extrema.append(_in_place_of(table.extrema[len(extrema)], extremum, age, xp))
        return Table(clock, rows, _joined(pending, xp), tuple(extrema), age)

    def chosen(self, mask: Array, new: Table, old: Table, xp: ArrayNamespace) -> Table:
        """Return the windows in which the masked elements are those of `new`, which has seen one value or none."""
        return Table(
            old.clock,
            old.rows,
            _where(mask, new.pending, old.pending, xp),
            tuple(xp.where(mask, a, b) for a, b in zip(new.extrema, old.extrema, strict=True)),
            xp.where(mask, new.age, old.age),
        )

    def lasting(self, table: Table, xp: ArrayNamespace) -> list[Array]:
        """Return, for each window of an extremum, in how many steps the extremum will be gone unless it comes again.

        Each array has the batch's shape; 0 where all values are neutral.
        """
        pairs = zip(self._places, table.extrema, strict=True)
        shown = [(place, extremum) for place, extremum in pairs if place.window.op != "last"]
        if not shown:
            return []
        goals = [extremum if place.sign > 0 else -extremum for place, extremum in shown]
        # Of the maxima of the last 1, 2, 4 ... values, the last one below the extremum tells in which track to look.
        levels = xp.stack(
            [
                sum(
                    (track < goal for track in table.pending[place.values.start : place.values.stop]), table.age * 0 - 1
                )
                for (place, _), goal in zip(shown, goals, strict=True)
            ]
        )
        tracks = [place.values for place, _ in shown]
        top, first, lag, mask = (
            self._column(np.array(column, dtype=np.int32), table.age, xp)
            for column in zip(*(self._search(values) for values in tracks), strict=True)
        )
        run = 1 << xp.clip(levels, min=0)  # how many values the maxima of the track are of
        start, in_top = first + run - 1, levels == top
        low, high, mask = xp.zeros_like(levels), xp.where(in_top, lag, run), xp.where(in_top, mask, run - 1)
        goal = xp.stack(goals)
        # The smallest lag at which the maximum is the extremum is above `low` and at most `high`.
        longest = max((int(self._lags[k]) for values in tracks for k in values), default=1)
        for _ in range((longest - 1).bit_length()):
            middle = (low + high) >> 1
            there = (_along_rows(table.rows, start + ((table.clock - middle) & mask), xp) >= goal) | (
                middle >= table.age
            )
            there = there & (middle > low)
            low, high = xp.where(there, low, middle), xp.where(there, middle, high)
        newest = xp.where(levels < 0, xp.zeros_like(high), high + run - 1)
        lasting = []
        for k, (place, extremum) in enumerate(shown):
            zero = xp.zeros_like(extremum)
            left = zero + (place.window.length - newest[k])
            lasting.append(xp.where(extremum == place.sign * place.neutral, zero, left))
        return lasting

    def _search(self, tracks: range) -> tuple[int, int, int, int]:
        """Return the level of a window's last track, its first row, and the lag and mask of the last track."""
        if not tracks:
            return 0, 0, 1, 0
        last = tracks[-1]
        return len(tracks) - 1, int(self._offsets[tracks[0]]), int(self._lags[last]), int(self._masks[last])

    def contents(self, table: Table, number: int, xp: ArrayNamespace) -> list[Array]:
        """Return the values that a window holds, oldest first; newer values stand for those that they hide.

        This is for short windows: it takes some operations for each value.
        """
        place = self._places[number]
        delay = place.window.op == "last"

        def at(track: int, lag: int) -> Array:
            if not lag:
                return table.pending[track]
            row = int(self._offsets[track]) + ((table.clock - lag) & int(self._masks[track]))
            return _rows_at(table.rows, row[None], xp)[0]

        def bounded(value: Array, count: int) -> Array:
            """Bound a value by the last guards."""
            lags = [] if place.guards is None or not count else _doubling(count)
            if count and place.guards is not None:
                value = xp.minimum(value, at(place.guards[0], 0))
            for track, lag in zip(place.guards or (), lags, strict=False):
                value = xp.minimum(value, at(track, lag))
            return value

        held = [table.extrema[number]]
        for age in range(place.window.length - 2, -1, -1):
            level = 0 if delay else (age + 1).bit_length() - 1
            lag = age if delay else age + 1 - (1 << level)
            value = bounded(at(place.values[level], lag), age if delay else (1 << level) * (lag > 0))
            value = xp.where(table.age > lag, value, xp.full_like(value, place.neutral))
            if not delay:
                value = xp.maximum(value, at(place.values[level], 0))
            held.append(value if place.sign > 0 else -value)
        return held

    def _neutral(self, like: Array, xp: ArrayNamespace) -> Tracks:
        """Return what the tracks hold at first."""
        if xp.__name__ == "torch":
            return xp.zeros_like(like) + self._column(self._neutrals, like, xp)
        return tuple(xp.full_like(like, neutral) for neutral in self._neutrals)

    def _reached(self, age: Array, olds: Tracks, xp: ArrayNamespace) -> Tracks:
        """Return what was read from the tracks; their neutral values where an element is younger than their lag."""
        if xp.__name__ == "torch":
            there = age > self._column(self._lags, age, xp)
            return xp.where(there, olds, self._column(self._neutrals, olds[0], xp))
        tracks = zip(self._lags, olds, self._neutrals, strict=True)
        return tuple(xp.where(age > int(lag), old, float(neutral)) for lag, old, neutral in tracks)

    def _constants(self, clock: Array, xp: ArrayNamespace) -> tuple[Array, Array, Array]:
        """Return the lags, masks and offsets of all tracks as arrays of shape (tracks,)."""
        return tuple(self._column(each, clock, xp) for each in (self._lags, self._masks, self._offsets))

    def _column(self, numbers: np.ndarray, like: Array, xp: ArrayNamespace) -> Array:
        """Return numbers as an array of the type of `like` that stands before the axes of `like`."""
        shape = (-1, *[1] * like.ndim)
        if xp.__name__ != "torch":
            return xp.asarray(numbers, dtype=like.dtype).reshape(shape)
        key = numbers.tobytes(), numbers.dtype, like.dtype, like.device
        if key not in self._on_device:  # copying them at every step would wait for the device
            self._on_device[key] = xp.as_tensor(numbers, dtype=like.dtype, device=like.device)
        return self._on_device[key].reshape(shape)


@functools.lru_cache(maxsize=256)
def _tables(windows: tuple[Window, ...], guarded: tuple[bool, ...], bottom: float, top: float) -> WindowTables:
    return WindowTables(windows, guarded, bottom, top)


def window_tables(program: Program) -> WindowTables:
    """Return the operations on the windows of a program."""
    guarded = tuple(program.guarded(number) for number in range(len(program.windows)))
    return _tables(program.windows, guarded, program.bottom, program.top)


def _with_rows(rows: Array, where: Array, new: Tracks, xp: ArrayNamespace) -> Array:
    if xp.__name__ == "torch":
        return rows.index_copy(0, where, new)
    return rows.at[where].set(xp.stack(new), mode="promise_in_bounds", unique_indices=True, indices_are_sorted=True)


def _rows_at(rows: Array, where: Array, xp: ArrayNamespace) -> Tracks:
    if xp.__name__ == "torch":
        return rows.index_select(0, where)
    from jax import lax

    return tuple(lax.dynamic_index_in_dim(rows, row, keepdims=False) for row in where)


def _in_place_of(old: Array, new: Array, age: Array, xp: ArrayNamespace) -> Array:
    """Return `new`; in JAX in a way that lets XLA write it over `old`.

    In a loop XLA writes an array over the one of the same place before only if it computes it from that one. Otherwise
    it copies the array afterwards, with a kernel of its own. Here each is chosen from both, by a mask of which XLA does
    not know that it is always true: an element has seen a value once one is pushed.
    """
    return new if xp.__name__ == "torch" else xp.where(age > 0, new, old)


def _where(mask: Array, new: Tracks, old: Tracks, xp: ArrayNamespace) -> Tracks:
    if xp.__name__ == "torch":
        return xp.where(mask, new, old)
    return tuple(xp.where(mask, a, b) for a, b in zip(new, old, strict=True))


def _minima(some: Tracks, others: Tracks, xp: ArrayNamespace) -> Tracks:
    if xp.__name__ == "torch":
        return xp.minimum(some, others)
    return tuple(xp.minimum(a, b) for a, b in zip(some, others, strict=True))


def _joined(parts: Sequence[Tracks], xp: ArrayNamespace) -> Tracks:
    return xp.concatenate(parts) if xp.__name__ == "torch" else tuple(track for part in parts for track in part)


def _along_rows(rows: Array, where: Array, xp: ArrayNamespace) -> Array:
    """Return for each element the rows that are its own, of the shape of `where`: (windows, *batch)."""
    if xp.__name__ == "torch":
        return rows.gather(0, where)
    return xp.take_along_axis(rows, where, axis=0, mode="promise_in_bounds")


def _running(op: Literal["min", "max"], first: Array, rest: Tracks, xp: ArrayNamespace) -> Tracks:
    """Return the extrema of the first tracks: one more than `rest` has."""
    if xp.__name__ == "torch":
        both = xp.concatenate([first[None], rest])
        return (both.cummin(0) if op == "min" else both.cummax(0)).values
    function, found = xp.minimum if op == "min" else xp.maximum, [first]
    for track in rest:
        found.append(function(found[-1], track))
    return tuple(found)


def _doubling(length: int) -> list[int]:
    """Return the lags of the tracks of a window's extremum.

    Example:
        >>> _doubling(8), _doubling(11)
        ([1, 2, 4], [1, 2, 4, 3])
    """
    whole = max(length, 1).bit_length() - 1
    rest = length - (1 << whole)
    return [1 << level for level in range(whole)] + [rest] * (rest > 0)

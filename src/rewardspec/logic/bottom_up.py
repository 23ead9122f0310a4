"""Recursion without Python's stack, so that nesting is limited by memory alone."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

Part = TypeVar("Part", bound=Hashable)
Result = TypeVar("Result")


def operands_first(
    roots: Iterable[Part], operands: Callable[[Part], Sequence[Part]], known: Container[Part] = ()
) -> Iterator[Part]:
    """Every distinct part of the roots once, after its operands; without those that are known, and theirs."""
    done: set[Part] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        part, operands_done = stack.pop()
        if operands_done:
            yield part
        elif part not in done and part not in known:
            done.add(part)
            stack.append((part, True))
            stack.extend((operand, False) for operand in reversed(operands(part)))


def bottom_up(
    root: Part, needs: Callable[[Part], Iterable[Part]], build: Callable[[Part], Result], done: dict[Part, Result]
) -> Result:
    """The result of `build` for a part, after those of the parts that it needs, which are put into `done`.

    Example:
        >>> done: dict[int, int] = {}
        >>> bottom_up(10, lambda n: [n - 1] if n else [], lambda n: n + done[n - 1] if n else 0, done)
        55
    """
    stack = [root]
    while stack:
        part = stack[-1]
        missing = [] if part in done else [need for need in needs(part) if need not in done]
        stack.extend(missing)
        if not missing:
            stack.pop()
            if part not in done:
                done[part] = build(part)
    return done[root]

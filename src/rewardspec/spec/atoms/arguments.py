"""What an atom's function looks at: a state alone, or the transition that led to it.

An atom of `next_obs` alone has the same label however the state was reached, by a step or by a reset, so that one call
of it serves a batch in which some episodes go on and others begin.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

# A function that mentions one of these may get at its arguments without mentioning them.
_ROUNDABOUT = frozenset(["_getframe", "currentframe", "dir", "eval", "exec", "locals", "stack", "vars"])


def reads_only_the_state(function: Any) -> bool:
    """Whether an atom's label surely depends on `next_obs` alone; where it cannot be told, False.

    An object may say so by an attribute `reads_only_the_state`. Of a Python function its code tells, where it mentions
    neither of the first two parameters.

    Example:
        >>> reads_only_the_state(lambda obs, action, next_obs: abs(next_obs[..., 0]))
        True
        >>> reads_only_the_state(lambda obs, action, next_obs: abs(next_obs[..., 0] - obs[..., 0]))
        False
    """
    if not isinstance(function, FunctionType):
        return getattr(function, "reads_only_the_state", False) is True
    code = function.__code__
    if code.co_argcount != 3:
        return False
    return not (_ROUNDABOUT | set(code.co_varnames[:2])).intersection(_mentions(code))


def _mentions(code: CodeType) -> Iterator[Any]:
    """All that the instructions are about; some are about two variables at once."""
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.argval, tuple):
            yield from instruction.argval
        else:
            yield instruction.argval

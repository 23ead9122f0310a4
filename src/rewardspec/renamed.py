"""Deprecated names of functions, methods and arguments: they work for one minor version, with a DeprecationWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller's caller that a public name, as a user writes it, has changed."""
    warnings.warn(f"{old} is deprecated. Use {new} instead.", DeprecationWarning, stacklevel=3)


def renamed(old: str, new: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a deprecated alias of a function or method.

    Example:
        >>> class Machine:
        ...     def from_edges(self): return "made"
        ...     of_edges = renamed("Machine.of_edges", "Machine.from_edges", from_edges)
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     Machine().of_edges(), str(caught[0].message)
        ('made', 'Machine.of_edges is deprecated. Use Machine.from_edges instead.')
    """

    @functools.wraps(function)
    def alias(*args: Any, **kwargs: Any) -> Any:
        warn_renamed(old, new)
        return function(*args, **kwargs)

    alias.__doc__ = f"Deprecated alias of `{new}`."
    return alias


def renamed_constructor(kind: str, old: str, new: str) -> Any:
    """Make a deprecated alias of a class method, for the body of the class.

    Example:
        >>> class Machine:
        ...     @classmethod
        ...     def from_edges(cls): return cls()
        ...     of_edges = renamed_constructor("Machine", "of_edges", "from_edges")
    """

    def alias(cls: Any, *args: Any, **kwargs: Any) -> Any:
        warn_renamed(f"{kind}.{old}", f"{kind}.{new}")
        return getattr(cls, new)(*args, **kwargs)

    alias.__doc__ = f"Deprecated alias of `{kind}.{new}`."
    return classmethod(alias)


def keyword_only(count: int, names: str) -> Callable[[F], F]:
    """Deprecate positional use of the arguments of a function after the first `count`.

    Args:
        count: The number of arguments that stay positional.
        names: The names of the others, in their former order, separated by spaces.

    Example:
        >>> @keyword_only(1, "base")
        ... def digits(text, *, base=10): return int(text, base)
        >>> digits("11", base=2)
        3
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     digits("11", 2), str(caught[0].message)
        (3, 'The argument `base` of digits by position is deprecated. Use base=… instead.')
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name, value in zip(names.split(), args[count:], strict=False):
                warn_renamed(f"The argument `{name}` of {function.__name__} by position", f"{name}=…")
                kwargs[name] = value
            return function(*args[:count], **kwargs)

        return cast(F, call)

    return decorate

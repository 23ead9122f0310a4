"""Functions named in a spec file: `"package.module:function"` and back."""

from __future__ import annotations

import dataclasses
import importlib
import re

from rewardspec.errors import SpecError, did_you_mean
from rewardspec.moved_modules import present_name
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom
from rewardspec.spec.atoms.functions import AtomFunction, DerivedAtom
from rewardspec.types import Number

_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"


def is_reference(text: str) -> bool:
    """Return whether the text has the form of a reference; expressions never do, since they have no colon.

    Example:
        >>> is_reference("my_project.atoms:upright"), is_reference("abs(x) < 2")
        (True, False)
    """
    return re.fullmatch(rf"\s*{_DOTTED}:{_DOTTED}\s*", text) is not None


def resolve(reference: str) -> AtomFunction:
    """The function that a reference names.

    Example:
        >>> resolve("operator:neg")(2)
        -2
    """
    if not is_reference(reference):
        raise SpecError(f"A function is named as 'package.module:function'. Received {reference!r}.")
    module_name, _, names = reference.strip().partition(":")
    try:
        # A file that was written before a module moved is read as it is, and without a warning.
        found: Number = importlib.import_module(present_name(module_name) or module_name)
    except ModuleNotFoundError as error:
        raise SpecError(
            f"There is no module {error.name!r}, which {reference!r} needs. "
            "Install it, or run from where Python finds it."
        ) from error
    except (Exception, SystemExit) as error:  # whatever the module's own code may raise
        raise SpecError(
            f"The module {module_name!r} of {reference!r} cannot be imported: {type(error).__name__}: {error}. "
            "Mend the module first."
        ) from error
    for name in names.split("."):
        if not hasattr(found, name):
            hint = did_you_mean(name, vars(found)) if hasattr(found, "__dict__") else ""
            raise SpecError(f"The module {module_name!r} has no {names!r}, which {reference!r} names.{hint}")
        found = getattr(found, name)
    if not callable(found):
        raise SpecError(
            f"{reference!r} should name a function of (obs, action, next_obs). It is a {type(found).__name__}."
        )
    return found  # type: ignore[no-any-return]


def reference_to(function: object) -> str:
    """The reference that names a function.

    Raises:
        SpecError: No reference does, since the function is not one that a module holds under its name.

    Example:
        >>> import json
        >>> reference_to(json.dumps)
        'json:dumps'
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    remedy = "Move it to the top of an importable module, or write it as an expression."
    if not isinstance(module, str) or not isinstance(name, str):
        raise SpecError(f"a {type(function).__name__} object has no name that a file could refer to. {remedy}")
    if "<" in name:
        what = "a lambda" if "<lambda>" in name else f"{name!r}, which is defined inside another function,"
        raise SpecError(f"{what} cannot be imported by name. {remedy}")
    if module == "__main__":
        raise SpecError(f"{name!r} belongs to the script that is running, which cannot be imported. {remedy}")
    reference = f"{module}:{name}"
    try:
        same = resolve(reference) is function
    except SpecError as error:
        raise SpecError(f"{reference!r} does not lead back to it: {error}") from error
    if not same:
        raise SpecError(f"{reference!r} is something else by now. {remedy}")
    return reference


@dataclasses.dataclass(frozen=True)
class ReferencedAtom(DerivedAtom):
    """A function together with the reference that leads to it, so that a spec which was loaded can be saved.

    A function that is defined under a name knows it. An object with `__call__`, a `functools.partial` or a lambda that
    a module holds under a name does not.
    """

    reference: str


def referenced_atom(reference: str) -> AtomFunction:
    """The function that a reference names, with the reference where saving it would need that.

    Example:
        >>> referenced_atom("operator:neg")
        <built-in function neg>
        >>> referenced_atom("string:digits.count").reference  # a method of a text, which no name leads back to
        'string:digits.count'
    """
    function = resolve(reference)
    if isinstance(function, ExpressionAtom) or reference.strip().startswith("__main__:"):
        return function  # an expression is saved as such, and a script that runs cannot be imported
    try:
        reference_to(function)
    except SpecError:
        return ReferencedAtom(function, reference.strip())
    return function

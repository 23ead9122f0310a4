"""Atoms that a spec file names by a reference which the function itself does not know."""

from __future__ import annotations

import dataclasses
from typing import Any

from rewardspec.errors import SpecError
from rewardspec.spec.atoms.arguments import reads_only_the_state
from rewardspec.spec.atoms.expressions_as_atoms import ExpressionAtom
from rewardspec.spec.atoms.labelling import AtomFunction
from rewardspec.spec.atoms.references import reference_to, resolve


@dataclasses.dataclass(frozen=True)
class ReferencedAtom:
    """A function together with the reference that leads to it, so that a spec which was loaded can be saved.

    A function that is defined under a name knows it. An object with `__call__`, a `functools.partial` or a lambda that
    a module holds under a name does not.

    Attributes:
        function: The function.
        reference: What a spec file calls it, `"package.module:function"`.
    """

    function: AtomFunction = dataclasses.field(hash=False)
    reference: str

    @property
    def reads_only_the_state(self) -> bool:
        """Whether the label surely depends on `next_obs` alone."""
        return reads_only_the_state(self.function)

    @property
    def at_reset(self) -> Any:
        """The label after every reset, where the function declares one."""
        return getattr(self.function, "at_reset", None)

    def __call__(self, obs: Any, action: Any, next_obs: Any) -> Any:
        """The label of one transition, or of a batch."""
        return self.function(obs, action, next_obs)


def referenced_atom(reference: str) -> AtomFunction:
    """The function that a reference names, with the reference where saving it would need that.

    Raises:
        SpecError: There is no such function.

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

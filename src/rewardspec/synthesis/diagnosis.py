"""Diagnosis of formulas that parse but are probably not meant."""

from __future__ import annotations

from collections.abc import Iterator

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import Formula
from rewardspec.logic.fragments import unguarded_atoms, unguarded_past
from rewardspec.logic.printing import to_string
from rewardspec.logic.quantifiers import Quantified
from rewardspec.logic.unknown_atoms import operators_run_together
from rewardspec.machines.expressions import all_parts
from rewardspec.machines.monitor import Monitor


def warnings_about(formula: Formula, monitor: Monitor | None) -> Iterator[str]:
    """Warnings about a formula, and about its monitor where it has one, each with its reason and a remedy.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> for warning in warnings_about(parse("GFa"), None):
        ...     print(warning)
        The atom 'GFa' looks like operators run together. Did you mean 'G F a'?
        'GFa' is read at the first state only, since no temporal operator stands over it. Put G, F or X before it.
    """
    for name in formula.atoms:
        spaced = operators_run_together(name)
        if spaced:
            yield f"The atom {name!r} looks like operators run together. Did you mean {spaced!r}?"
    yield from warnings_about_the_first_state(formula)
    if monitor is None:
        return
    lower, upper = monitor.bounds(monitor.initial_state())
    if lower == upper:
        yield f"The value is {lower:g} on every trace, so the formula rewards nothing in particular."
    elif upper < 1.0 or lower > 0.0:
        ends = ([f"rises above {upper:g}"] if upper < 1.0 else []) + ([f"falls below {lower:g}"] if lower > 0.0 else [])
        yield f"The value never {' and never '.join(ends)}, whatever the episode."
    read = {part.args[0] for part in all_parts(monitor.program.expressions()) if part.op in ("label", "complement")}
    unread = [name for name in formula.atoms if name not in read]
    if unread and lower != upper:
        yield f"The value does not depend on {', '.join(map(repr, unread))}."


def warnings_about_the_first_state(formula: Formula) -> Iterator[str]:
    """Warnings about what a formula says of the first state alone, each with its reason and a remedy."""
    for part in unguarded_past(formula):
        later = f"now ({part})" if len(part.args) > 1 else f"now {part}"
        yield (
            f"`{part}` looks back from the first state, before which there is nothing. Write `{later}` to judge it at "
            "the current step, or put G or F before it."
        )
    behind = {name for part in unguarded_past(formula) for name in part.atoms}
    early = [name for name in unguarded_atoms(formula) if name not in behind]
    if early:
        names = ", ".join(map(repr, early))
        verb = "is" if len(early) == 1 else "are"
        reason = "since no temporal operator stands over it" if len(early) == 1 else "outside every temporal operator"
        pronoun = "it" if len(early) == 1 else "them"
        yield f"{names} {verb} read at the first state only, {reason}. Put G, F or X before {pronoun}."


def require_unquantified(formula: Formula) -> None:
    """Refuse a formula about several things, whose number a spec has to say."""
    if isinstance(formula, Quantified):
        raise SynthesisError(
            f"A monitor is about one thing, and `{to_string(formula, longest=80)}` about every {formula.variable}. "
            f"Make a spec that says how many there are, Spec([(…, 1)], sorts={{{formula.variable!r}: 4}}), or a "
            "monitor of `formula.body`."
        )

"""Sorts: the things that quantified formulas are about, and the labels of atoms about them.

A sort with an *axis* has a fixed number of things, such as the four boxes of an environment. The label of an atom about
them, as `held(box)`, has one more axis, the last: shape (things,) for one episode, (batch, things) for a batch. A spec
runs one copy of the formula's program for each thing, side by side, and reads one label for each: `held(0)`, `held(1)`
and so on. To every array library, and to exported code, it is a program like any other.

A sort of *names* has things that appear while an episode runs: see `rewardspec.spec.named_things`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from rewardspec.errors import LabelError, SpecError, did_you_mean, shown
from rewardspec.logic.formulas import Formula
from rewardspec.logic.label_ranges import checked_number
from rewardspec.logic.quantifiers import Exists, Forall, Quantified
from rewardspec.machines.expressions import Expression, Substitution, complement, label, maximum, mean, minimum
from rewardspec.machines.label_checks import CheckedLabels
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.program import Program
from rewardspec.spec.atoms.functions import DerivedAtom
from rewardspec.types import Labels

Things: TypeAlias = tuple[str, ...]
Sorts: TypeAlias = Mapping[str, Things]
Thing: TypeAlias = Hashable
NAMES = "names"  # what declares a sort whose things appear while an episode runs
ONE_EPISODE = (
    "A spec with a sort of names runs one episode at a time, on numbers in Python: things that appear have no axis. "
    "Declare how many things there are, as sorts={'box': 4}, to run it elsewhere."
)
MOST_THINGS = 1_000  # of an axis: each has its own part of the program


def as_sorts(sorts: Mapping[str, int | str | Iterable[str]] | None) -> dict[str, Things]:
    """The things of each sort, by name, from what a user may write; none for a sort of names.

    Example:
        >>> as_sorts({"box": 3, "agent": ["red", "blue"]})
        {'box': ('0', '1', '2'), 'agent': ('red', 'blue')}
    """
    if sorts is None:
        return {}
    if not isinstance(sorts, Mapping):
        raise SpecError(f"`sorts` should map each sort to its things, as {{'box': 4}}. Received {shown(sorts)}.")
    return {name: _things(name, things) for name, things in sorts.items()}


def _things(name: str, things: Any) -> Things:
    if isinstance(things, str | tuple) and things in (NAMES, ()):
        return ()
    if isinstance(things, int | np.integer) and not isinstance(things, bool):
        count = int(things)
        names = tuple(map(str, range(count))) if 0 < count <= MOST_THINGS else ()
    elif isinstance(things, Sequence) and not isinstance(things, str) and all(isinstance(x, str) and x for x in things):
        names = tuple(things)
        if len(set(names)) < len(names):
            raise SpecError(f"The things of the sort {name!r} should have different names. Received {shown(things)}.")
    else:
        names = ()
    if not 0 < len(names) <= MOST_THINGS:
        raise SpecError(
            f"The sort {name!r} should have a number of things from 1 to {MOST_THINGS:,}, as {{{name!r}: 4}}, or their "
            f"names, as {{{name!r}: ['red', 'blue']}}; or {{{name!r}: 'names'}} for things that appear while an "
            f"episode runs. Received {shown(things)}."
        )
    return names


class LabelAxes:
    """The atoms of a spec: which are about things, and which label a program reads for each thing.

    Attributes:
        sort_of: The sort of each atom that is about things with an axis.
        named: The sort of each atom that is about things of a sort of names.
        labels_of: For each atom the names of its labels in a program: `held(0)`, `held(1)` and so on for one about
            things, the atom itself for another.
        names: All these names, in order.
    """

    def __init__(self, formulas: Sequence[Formula], sorts: Sorts) -> None:
        self.sort_of: dict[str, str] = {}
        self.named: dict[str, str] = {}
        plain: dict[str, Formula] = {}
        order: dict[str, None] = {}
        for formula in formulas:
            own = {}
            if isinstance(formula, Quantified):
                if formula.variable not in sorts:
                    name, declared = formula.variable, ", ".join(sorts) or "none"
                    raise SpecError(
                        f"The sort {name!r} of `{formula}` is not declared; declared: {declared}."
                        f"{did_you_mean(name, sorts)} Say how many there are, sorts={{{name!r}: 4}}; or, for things "
                        f"that appear as time goes on, such as those of conversations, sorts={{{name!r}: 'names'}}."
                    )
                own = {f"{name}({formula.variable})": name for name in formula.predicates}
            for name in formula.atoms:
                atom = own.get(name, name)
                order[atom] = None
                if name not in own:
                    plain.setdefault(atom, formula)
                    continue
                assert isinstance(formula, Quantified)
                if self.sort_of.setdefault(atom, formula.variable) != formula.variable:
                    raise SpecError(
                        f"The atom {atom!r} is about things of two sorts, {self.sort_of[atom]!r} and "
                        f"{formula.variable!r}. Call one of the two atoms otherwise."
                    )
        for atom, formula in plain.items():
            if atom in self.sort_of:
                raise SpecError(
                    f"The atom {atom!r} is about a {self.sort_of[atom]} in one formula and about none in `{formula}`. "
                    "Call one of the two atoms otherwise."
                )
        self.named = {atom: sort for atom, sort in self.sort_of.items() if not sorts[sort]}
        self.sort_of = {atom: sort for atom, sort in self.sort_of.items() if sorts[sort]}
        self.labels_of: dict[str, Things] = {
            atom: tuple(f"{atom}({thing})" for thing in sorts[self.sort_of[atom]]) if atom in self.sort_of else (atom,)
            for atom in order
            if atom not in self.named
        }
        self.names: tuple[str, ...] = tuple(name for names in self.labels_of.values() for name in names)
        if len(set(self.names)) < len(self.names):
            double = next(name for name in self.names if self.names.count(name) > 1)
            atoms = " and ".join(repr(atom) for atom, names in self.labels_of.items() if double in names)
            raise SpecError(f"The label {double!r} is that of two atoms, {atoms}. Call one of them otherwise.")

    def split(self, labels: Labels) -> Labels:
        """The labels by the names that a program knows, from labels of atoms; those by such names stay as they are."""
        if not self.sort_of or labels.__class__ is CheckedLabels or not isinstance(labels, Mapping):
            return labels
        found = dict(labels)
        for atom in self.sort_of:
            if atom in found:
                found.update(self.of_things(atom, found.pop(atom)))
        return found

    def of_things(self, atom: str, labels: Any) -> dict[str, Any]:
        """The label of each thing, by the name that a program knows, from the labels of an atom.

        They are an array of shape (things,) or (batch, things), or a sequence of numbers; or a mapping from things, in
        which numbered things may also be integers.
        """
        names = self.labels_of[atom]
        if isinstance(labels, Mapping):
            things = [name[len(atom) + 1 : -1] for name in names]
            if not all(thing in labels for thing in things):
                labels = {str(thing): found for thing, found in labels.items()}
            for thing in things:
                if thing not in labels:
                    raise LabelError(
                        f"There is no label of {atom!r} for {self.sort_of[atom]} {thing!r}."
                        f"{did_you_mean(thing, map(str, labels))}"
                    )
            return {name: labels[thing] for name, thing in zip(names, things, strict=True)}
        if isinstance(labels, list | tuple) and len(labels) == len(names) and not np.ndim(labels[0]):
            return dict(zip(names, labels, strict=True))
        if namespace_of(labels) is None:
            try:
                labels = np.asarray(labels)
            except ValueError:  # a ragged list
                labels = np.zeros(())
        if not labels.shape or labels.shape[-1] != len(names):
            raise self.misshapen(atom, tuple(labels.shape))
        if not isinstance(labels, np.ndarray):
            return {name: labels[..., k] for k, name in enumerate(names)}
        if labels.ndim == 1:
            return dict(zip(names, labels.tolist(), strict=True))
        return dict(zip(names, np.ascontiguousarray(np.moveaxis(labels, -1, 0)), strict=True))

    def misshapen(self, atom: str, received: tuple[int, ...], where: str = "") -> LabelError:
        """The error for labels of an atom about things that have another last axis."""
        count = len(self.labels_of[atom])
        return LabelError(
            f"The labels of {atom!r}{where} should have {count} numbers on their last axis, one for each "
            f"{self.sort_of[atom]}. Received shape {received}."
        )


def things_of(formula: Formula, sorts: Sorts) -> Things:
    """The things that a formula is about; one without a name where it has no quantifier."""
    return sorts[formula.variable] if isinstance(formula, Quantified) else ("",)


def for_each_thing(program: Program, formula: Formula, sorts: Sorts) -> list[Program]:
    """The program of a formula's body as one for each thing; of a formula without a quantifier, the program alone."""
    if not isinstance(formula, Quantified):
        return [program]
    return [_about(program, formula, thing) for thing in things_of(formula, sorts)]


def _about(program: Program, formula: Quantified, thing: str) -> Program:
    """The program of a body, about one thing."""
    changes: dict[Expression, Expression] = {}
    names = {}
    for predicate in formula.predicates:
        variable, own = f"{predicate}({formula.variable})", f"{predicate}({thing})"
        changes |= {label(variable): label(own), complement(variable): complement(own)}
        names[variable] = own
    change = Substitution(changes)

    def named(text: str) -> str:
        return text.replace(f"({formula.variable})", f"({thing})")

    return replace(
        program,
        atoms=tuple(names.get(atom, atom) for atom in program.atoms),
        registers=tuple(map(named, program.registers)),
        windows=tuple(replace(window, name=named(window.name)) for window in program.windows),
        steps=tuple(step.map(change) for step in program.steps),
    )


def value_over_things(formula: Formula, values: Sequence[Expression]) -> Expression:
    """The value of a formula, from the values for its things."""
    if isinstance(formula, Forall):
        return minimum(*values)
    if isinstance(formula, Exists):
        return maximum(*values)
    return mean(values)


def possible_over_things(formula: Formula, uppers: Sequence[Expression]) -> Expression:
    """Combine the expressions that are positive while a thing's value still can be into one for the formula.

    A formula about every thing is violated with the first thing's; any other with the last.
    """
    return minimum(*uppers) if isinstance(formula, Forall) else maximum(*uppers)


def named_labels(atom: str, labels: Any, where: str = "") -> dict[Thing, float]:
    """The label of each thing that a step names; `where` says which step it is, for error messages.

    The labels are a mapping from things to numbers, or the things for which the atom holds; None for none.

    Example:
        >>> named_labels("paid", {"order 7": True}), named_labels("paid", ["order 7", "order 8"])
        ({'order 7': 1.0}, {'order 7': 1.0, 'order 8': 1.0})
    """
    if labels is None:
        return {}
    if labels.__class__ is dict or isinstance(labels, Mapping):
        return {
            thing: label
            if label.__class__ is float and 0.0 <= label <= 1.0
            else label_of_thing(atom, thing, label, where)
            for thing, label in labels.items()
        }
    if not isinstance(labels, set | frozenset | Sequence) or isinstance(labels, str | bytes):
        raise LabelError(
            f"The labels of {atom!r}{where} should be a mapping from things to numbers, or the things for which it "
            f"holds. Received {shown(labels)}."
        )
    for thing in labels:
        try:
            hash(thing)
        except TypeError:
            raise LabelError(
                f"The things of {atom!r}{where} should be hashable, as texts, numbers and tuples are. Received "
                f"{shown(thing)} of type {type(thing).__name__}."
            ) from None
    return dict.fromkeys(labels, 1.0)


def label_of_thing(atom: str, thing: Thing, label: Any, where: str = "") -> float:
    """The label of one thing as a float; see `named_labels`."""
    return checked_number(f"{atom}({thing})", label, where=where)


@dataclasses.dataclass(frozen=True)
class OfThings(DerivedAtom):
    """An atom's function for one environment, its labels as a tuple of floats, one for each thing."""

    atom: str
    axes: LabelAxes
    clip: bool

    def __call__(self, obs: Any, action: Any, next_obs: Any, info: Any = None) -> tuple[float, ...]:
        """The labels of one transition."""
        found = super().__call__(obs, action, next_obs, info)
        labels = [float(label) for label in self.axes.of_things(self.atom, found).values()]
        return tuple([min(max(label, 0.0), 1.0) for label in labels] if self.clip else labels)

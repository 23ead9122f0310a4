"""Quantifiers: one formula about each of several things, such as the boxes or the agents of an environment.

`forall box: G(held(box) -> F[0,20] placed(box))` is a formula about every box. Its value is the smallest of the values
for the single boxes; that of `exists` is the largest, and that of `mean` their mean. A quantifier stands in front of a
whole formula, the *body*, whose atoms take the variable or not. The variable is also the name of the *sort*: a spec
says which things it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from rewardspec.errors import FormulaError
from rewardspec.logic.formulas import Atom, Formula, FormulaLike, as_formula

_VARIABLE = re.compile(r"[^\W\d]\w*")


class AtomOf(Atom):
    """An atom about a thing: `held(box)`.

    Args:
        predicate: The predicate's name, without the thing.
        thing: The variable, or in a formula about one thing that thing.

    Example:
        >>> AtomOf("held", "box").name
        'held(box)'
    """

    predicate: str
    thing: str

    def __init__(self, predicate: str, thing: str) -> None:
        for what, text in (("predicate", predicate), ("thing", thing)):
            if not isinstance(text, str) or not text:
                raise FormulaError(f"`{what}` should be a non-empty string. Received {text!r}.")
        self._set(predicate=predicate, thing=thing)
        vars(self)["name"] = f"{predicate}({thing})"


class Quantified(Formula):
    """A formula about each thing of a sort. It can stand in no other formula.

    Args:
        body: The formula about one thing.
        variable: The name of the sort, which stands for each of its things.
    """

    variable: str

    def __init__(self, body: FormulaLike, variable: str) -> None:
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            raise FormulaError(f"A variable should be a name, as in 'forall box: …'. Received {variable!r}.")
        body = as_formula(body)
        strangers = [part for part in body.subformulas() if isinstance(part, AtomOf) and part.thing != variable]
        if strangers:
            raise FormulaError(f"`{strangers[0]}` should be about {variable!r}, the variable of its quantifier.")
        self._set(body, variable=variable)

    @property
    def body(self) -> Formula:
        """The formula about one thing."""
        return self.args[0]

    @property
    def predicates(self) -> tuple[str, ...]:
        """The predicates of things, in the order of the text."""
        return tuple(part.predicate for part in self.subformulas() if isinstance(part, AtomOf))

    def about(self, thing: str) -> Formula:
        """The body about one thing.

        Example:
            >>> as_formula("forall box: G held(box)").about("3")
            parse('G held(3)')
        """

        def replaced(part: Formula, args: tuple[Formula, ...]) -> Formula:
            return AtomOf(part.predicate, thing) if isinstance(part, AtomOf) else part.rebuild(*args)

        return self.body.fold(replaced)


class Forall(Quantified):
    """`forall box: φ`: the smallest value of φ over all boxes."""

    quantifier = "forall"


class Exists(Quantified):
    """`exists box: φ`: the largest value of φ over all boxes."""

    quantifier = "exists"


class Mean(Quantified):
    """`mean box: φ`: the mean of the values of φ over all boxes."""

    quantifier = "mean"


QUANTIFIERS: dict[str, type[Quantified]] = {"forall": Forall, "∀": Forall, "exists": Exists, "∃": Exists, "mean": Mean}
SYMBOLS: dict[type[Quantified], tuple[str, str, str]] = {  # in ASCII, in Unicode, in LaTeX
    Forall: ("forall ", "∀", r"\forall "),
    Exists: ("exists ", "∃", r"\exists "),
    Mean: ("mean ", "mean ", r"\operatorname{mean} "),
}
DUALS: dict[type[Quantified], type[Quantified]] = {Forall: Exists, Exists: Forall, Mean: Mean}


def body_of(formula: Formula) -> Formula:
    """The formula without its quantifier, if it has one."""
    return formula.body if isinstance(formula, Quantified) else formula


def with_variable(formula: FormulaLike, variable: str, predicates: Collection[str]) -> Formula:
    """A formula in which some atoms take a variable, as the body of a quantifier needs them.

    Example:
        >>> Forall(with_variable("G(held -> F placed & safe)", "box", ["held", "placed"]), "box")
        parse('forall box: G(held(box) -> F placed(box) & safe)')
    """

    def replaced(part: Formula, args: tuple[Formula, ...]) -> Formula:
        if isinstance(part, Atom) and part.name in predicates:
            return AtomOf(part.name, variable)
        return part.rebuild(*args) if args else part

    return as_formula(formula).fold(replaced)


def with_plain_atoms(formula: Formula) -> Formula:
    """A formula whose text can be parsed: what it says of single things without a quantifier, in plain atoms.

    Example:
        >>> with_plain_atoms(as_formula("forall box: G held(box)").about("3"))
        parse('G "held(3)"')
    """

    def replaced(part: Formula, args: tuple[Formula, ...]) -> Formula:
        return Atom(part.name) if isinstance(part, AtomOf) else part.rebuild(*args)

    return formula if isinstance(formula, Quantified) else formula.fold(replaced)


def inside(formula: Formula, build: Callable[[Formula], Formula]) -> Formula:
    """Apply `build` to a formula, or to the body of a quantified one.

    Example:
        >>> from rewardspec.logic.formulas import WeakNext
        >>> inside(as_formula("forall box: G held(box)"), WeakNext)
        parse('forall box: WX G held(box)')
    """
    return formula.rebuild(build(formula.body)) if isinstance(formula, Quantified) else build(formula)


def atoms_of(formula: Formula) -> tuple[str, ...]:
    """The names of the atoms, those about things without the variable.

    Example:
        >>> atoms_of(as_formula("forall box: G(held(box) -> F placed(box) & safe)"))
        ('held', 'placed', 'safe')
    """
    atoms = (part for part in formula.subformulas() if isinstance(part, Atom))
    return tuple(dict.fromkeys(part.predicate if isinstance(part, AtomOf) else part.name for part in atoms))


def mean(values: Sequence[float]) -> float:
    """The mean, summed from the first to the last, as every way to run a spec does."""
    return sum(values[1:], values[0]) / len(values)


def reduced(formula: Quantified, values: Sequence[float]) -> float:
    """The value of a quantified formula, from those for its things."""
    if isinstance(formula, Mean):
        return mean(values)
    return max(values) if isinstance(formula, Exists) else min(values)

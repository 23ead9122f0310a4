"""The arguments of a spec: checked, compared, printed and replaced."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterable, Mapping
from typing import Any, Self

from rewardspec.errors import SpecError, did_you_mean
from rewardspec.logic.formulas import Formula
from rewardspec.logic.quantifiers import Quantified
from rewardspec.logic.semantics import domain_of
from rewardspec.logic.unknown_atoms import atom_hint
from rewardspec.machines.effort_limit import DEFAULT_REGISTERS
from rewardspec.machines.program import Semantics
from rewardspec.spec.atoms.functions import AtomFunction, Thresholded, looks_like_a_comparison
from rewardspec.spec.pairs import Pair, about_one, as_pairs, finite, pairs_as_html
from rewardspec.spec.payments import PAYMENTS, Payment
from rewardspec.spec.sorts import NAMES, LabelAxes, Things, as_sorts

AtomLike = AtomFunction | str | Mapping[str, Any]


class SpecArguments:
    """What a spec is made from; `rewardspec.spec.spec.Spec`, which runs, describes each argument."""

    pairs: tuple[Pair, ...]
    penalty: float
    payment: Payment
    discount: float
    clip: bool
    max_registers: int
    semantics: Semantics
    bound: float | None
    atoms: tuple[str, ...]
    atom_functions: Mapping[str, AtomFunction] | None
    axes: LabelAxes
    sorts: Mapping[str, Things]

    def __init__(
        self,
        pairs: Iterable[Any],
        atoms: Mapping[str, AtomLike] | None = None,
        penalty: float = 0.0,
        payment: Payment = "value",
        discount: float = 0.99,
        clip: bool = False,
        max_registers: int = DEFAULT_REGISTERS,
        semantics: Semantics = "degree",
        bound: float | None = None,
        sorts: Mapping[str, int | str | Iterable[str]] | None = None,
    ) -> None:
        put = self.__dict__.__setitem__
        put("pairs", as_pairs(pairs))
        put("penalty", finite(penalty, "penalty"))
        if payment not in PAYMENTS:
            hint = did_you_mean(str(payment), PAYMENTS)
            raise SpecError(f"`payment` should be one of {', '.join(PAYMENTS)}. Received {payment!r}.{hint}")
        put("payment", payment)
        put("discount", finite(discount, "discount"))
        if not 0.0 <= self.discount <= 1.0:
            raise SpecError(f"`discount` should be in [0, 1]. Received {discount!r}.")
        if not isinstance(clip, bool):
            raise SpecError(f"`clip` should be true or false. Received {clip!r}.")
        put("clip", clip)
        if isinstance(max_registers, bool) or not isinstance(max_registers, int) or max_registers < 0:
            raise SpecError(f"`max_registers` should be a non-negative integer. Received {max_registers!r}.")
        put("max_registers", max_registers)
        put("semantics", semantics)
        put("bound", None if bound is None else math.inf if bound == math.inf else finite(bound, "bound"))
        if self.bound is not None and (self.bound <= 0.0 or semantics == "degree"):
            why = "above 0" if semantics == "robustness" else "left out: degrees are in [0, 1] anyway"
            raise SpecError(f"`bound` should be {why}. Received {bound!r}.")
        for pair in self.pairs:
            domain_of(pair.formula, semantics)  # refuses what has no meaning as robustness
        put("sorts", as_sorts(sorts))
        put("axes", LabelAxes(self.formulas, self.sorts))
        if semantics == "robustness" and any(not things for things in self.sorts.values()):
            raise SpecError(
                "A sort of names needs semantics='degree': a thing that a step does not name has the label 0, which is "
                "false as a degree, and neither true nor false as robustness."
            )
        put("atoms", self.axes.names)
        put("atom_functions", self._checked_functions(atoms))

    def _checked_functions(self, atoms: Mapping[str, AtomLike] | None) -> dict[str, AtomFunction] | None:
        if atoms is not None and not isinstance(atoms, Mapping):
            raise SpecError(
                f"`atoms` should map each atom to its function. Received a {type(atoms).__name__}. Those of "
                "another spec are its `atom_functions`."
            )
        given = None if atoms is None else {name: _function(name, atom) for name, atom in atoms.items()}
        margin = self.semantics == "robustness"
        read = (*self.axes.labels_of, *self.axes.named)
        functions = given
        if any(looks_like_a_comparison(name) for name in read):
            from rewardspec.spec.atoms.expression_atoms import with_predicates  # here, because it loads a grammar

            functions = with_predicates(given, read, {}, margin)
        if functions is not None:  # expressions have a margin
            functions = {
                name: function.with_margin(margin) if hasattr(function, "with_margin") else function
                for name, function in functions.items()
            }
        for name, function in (functions or {}).items():
            if margin and isinstance(function, Thresholded):
                raise SpecError(
                    f"A threshold makes labels 0 or 1, and as robustness 0 is neither true nor false. Received "
                    f"{function.threshold:g} for the atom {name!r}. Compare in the atom instead, as in "
                    f"'next_obs[0] > {function.threshold:g}', or use semantics='degree'."
                )
            at_reset = getattr(function, "at_reset", None)
            if not margin and isinstance(at_reset, int | float) and not 0.0 <= at_reset <= 1.0:
                raise SpecError(
                    f"`at_reset` of the atom {name!r} should be a label in [0, 1]: 0 for false, 1 for true. Received "
                    f"{at_reset:g}. Other numbers are margins, for semantics='robustness'."
                )
        for name in read:
            if atoms is not None and functions is not None and name not in functions:
                known = ", ".join(map(str, atoms)) or "none"
                sort = (self.axes.sort_of | self.axes.named).get(name)
                written = name if sort is None else f"{name}({sort})"
                formula = next(pair.formula for pair in self.pairs if written in pair.formula.atoms)
                raise SpecError(
                    f"No function is given for atom {name!r}, which the formula `{formula}` reads; given are: {known}."
                    f"{atom_hint(name, atoms)}"
                )
        return functions

    def __setattr__(self, name: str, value: object) -> None:
        raise SpecError(f"A spec cannot be changed; {name!r} was assigned to. Use spec.replace({name}=…).")

    def __delattr__(self, name: str) -> None:
        raise SpecError("A spec cannot be changed. Use spec.replace(…).")

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas."""
        return tuple(pair.formula for pair in self.pairs)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Unique names of the pairs: their names or formulas, numbered where these repeat."""
        names: list[str] = []
        for pair in self.pairs:
            name, count = str(pair), 1
            while name in names:
                count += 1
                name = f"{pair} ({count})"
            names.append(name)
        return tuple(names)

    @property
    def weights(self) -> tuple[float, ...]:
        """Their weights."""
        return tuple(pair.weight for pair in self.pairs)

    @property
    def payments(self) -> tuple[Payment, ...]:
        """The way each pair is paid."""
        return tuple(pair.payment or self.payment for pair in self.pairs)

    @property
    def penalties(self) -> tuple[float, ...]:
        """The penalty of each vetoing pair, in the order of the pairs."""
        return tuple(self.penalty if pair.penalty is None else pair.penalty for pair in self.pairs if pair.vetoes)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some arguments changed.

        Example:
            >>> from rewardspec import Spec
            >>> spec = Spec([("F a", 1)], atoms={"a": "next_obs[0]"})
            >>> spec.replace(atoms={**spec.atom_functions, "a": "next_obs[1]"}).labels(None, 0, [0.0, 1.0])
            {'a': 1.0}
        """
        arguments = dict(zip(_ARGUMENTS, self.__reduce__()[1], strict=True))
        unknown = [name for name in changes if name not in arguments]
        if unknown:
            raise SpecError(f"A spec has no {unknown[0]!r}.{did_you_mean(unknown[0], arguments)}")
        return type(self)(**(arguments | changes))

    def boolean(self, threshold: float = 0.99, atoms: Mapping[str, AtomFunction] | None = None) -> Self:
        """The same pairs on labels that are 0 or 1.

        Args:
            threshold: An atom holds when its label is at least this.
            atoms: Other functions for the atoms, whose labels are 0 or 1 already.

        Raises:
            SpecError: The spec has no atoms' functions, or is one of robustness, in which 0 is not false.
        """
        if not 0.0 < finite(threshold, "threshold") <= 1.0:
            raise SpecError(f"`threshold` should be in (0, 1]. Received {threshold!r}.")
        if atoms is not None:
            return self.replace(atoms=atoms)
        if self.atom_functions is None:
            raise SpecError(
                "This spec has no atoms' functions to turn into Boolean ones. Threshold the labels instead."
            )
        named = self.axes.named
        return self.replace(
            atoms={name: Thresholded(f, float(threshold), name in named) for name, f in self.atom_functions.items()}
        )

    def things(self, number: int) -> Things:
        """The things that a pair is about; none where its formula has no quantifier."""
        formula = self.pairs[number].formula
        return self.sorts[formula.variable] if isinstance(formula, Quantified) else ()

    def about(self, **things: str | int) -> Self:
        """The spec about single things, on labels that are given: each formula about a sort says what it does of one.

        Args:
            **things: For each sort that is narrowed down, the thing.

        Example:
            >>> from rewardspec.spec import Spec
            >>> Spec([("mean box: F placed(box)", 2)], sorts={"box": 3}).about(box=1)
            Spec([('F placed(1)', 2)], payment='value', penalty=0)
        """
        chosen = {sort: str(thing) for sort, thing in things.items()}
        for sort, thing in chosen.items():
            if thing not in self.sorts.get(sort, ()):
                known = ", ".join(self.sorts.get(sort, self.sorts)) or "none"
                raise SpecError(f"There is no {sort} {thing!r}; there are: {known}.")
        pairs = [
            about_one(pair, chosen[pair.formula.variable])
            if isinstance(pair.formula, Quantified) and pair.formula.variable in chosen
            else pair
            for pair in self.pairs
        ]
        sorts = {sort: own for sort, own in self.sorts.items() if sort not in chosen}
        return self.replace(pairs=pairs, sorts=sorts, atoms=None)

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        # From its arguments: what is compiled from them cannot be pickled, and need not be.
        values = {**self.__dict__, "atoms": self.atom_functions}
        return type(self), tuple(values[name] for name in _ARGUMENTS)

    def __eq__(self, other: object) -> bool:
        return self.__reduce__() == other.__reduce__() if isinstance(other, SpecArguments) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.pairs, self.penalty, self.payment, self.discount))

    def __repr__(self) -> str:
        pairs = [
            f"({str(pair.formula)!r}, {pair.weight:g})" if pair == Pair(pair.formula, pair.weight) else repr(pair)
            for pair in self.pairs
        ]
        discount = f", discount={self.discount:g}" if PAYMENTS[self.payment].reads_discount else ""
        discount += f", semantics={self.semantics!r}" if self.semantics != "degree" else ""
        discount += f", bound={self.bound:g}" if self.bound is not None else ""
        sorts = {name: len(things) or NAMES for name, things in self.sorts.items()}
        discount += f", sorts={sorts}" if sorts else ""
        return f"Spec([{', '.join(pairs)}], payment={self.payment!r}, penalty={self.penalty:g}{discount})"

    def _repr_html_(self) -> str:
        discount = (
            f" with discount {self.discount:g}" if any(PAYMENTS[way].reads_discount for way in self.payments) else ""
        )
        what = "Robustness" if self.semantics == "robustness" else "A spec"
        return f"<p>{what} paid by {self.payment}{discount}</p>{pairs_as_html(self.pairs, self.penalty)}"


_ARGUMENTS = tuple(inspect.signature(SpecArguments).parameters)


def _function(name: str, atom: Any) -> AtomFunction:
    """The function of one atom, given as such or in the words of a spec file."""
    if isinstance(atom, str | Mapping):
        from rewardspec.spec.toml_reading import read_atom  # which knows specs itself

        try:
            return read_atom(atom, {})
        except SpecError as error:
            raise SpecError(f"In atom {name!r}: {error}") from error
    if not callable(atom):
        raise SpecError(
            f"The atom {name!r} should be a function of (obs, action, next_obs), or an expression such as "
            f"'abs(next_obs[2]) < 0.2'. Got {atom!r}."
        )
    return atom  # type: ignore[no-any-return]

"""The rules of a spec over events: which hold so far, which are broken for good, and for which thing.

A rule is a pair with a weight of at least 0. Its minimal automaton is followed; a rule about things of a sort of names,
such as `forall order_id: …`, has one state for all things that no event has named, and one for each other thing whose
state differs from it. A rule is *broken* once no continuation can satisfy it: its automaton cannot accept any more.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from rewardspec.errors import SpecError
from rewardspec.logic.formulas import Formula
from rewardspec.logic.quantifiers import Exists, Mean, Quantified, body_of
from rewardspec.spec.atoms.event_atoms import Event, EventAtom
from rewardspec.spec.atoms.functions import AtomFunction, DerivedAtom
from rewardspec.spec.spec import Spec
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean

Found: TypeAlias = Mapping[str, Sequence[str]]
"""The atoms that an event makes true, each with the things that it names; ("",) for an atom about none."""

_MOST_NAMES = 10_000  # names of tools whose atoms are remembered
_PLAIN = ("",)
ANY = "any other"  # what stands for a thing that no event has named


class RuleState(NamedTuple):
    """State of a rule after some events.

    Attributes:
        others: State of the automaton for all things that are not listed; of the rule itself where it is about none.
        things: State for each other thing.
        counts: Number of things in each of these states.
    """

    others: int
    things: dict[str, int]
    counts: dict[int, int]


class Rule:
    """One rule, compiled; `name` is what reports call it, `sort` what it is about, or None, `atoms` what it reads."""

    def __init__(self, name: str, formula: Formula) -> None:
        self.name = name
        self.formula = formula
        self.text = str(formula)
        self.sort = formula.variable if isinstance(formula, Quantified) else None
        self._some = isinstance(formula, Exists)
        self._monitor = synthesize_boolean(body_of(formula))
        own = set(formula.predicates) if isinstance(formula, Quantified) else set()
        self._things = {p: 1 << k for k, a in enumerate(self._monitor.atoms) for p in own if a == f"{p}({self.sort})"}
        named = {f"{predicate}({self.sort})" for predicate in own}
        self._plain = {a: 1 << k for k, a in enumerate(self._monitor.atoms) if a not in named}
        self.atoms = {*self._things, *self._plain}
        self._bits = len(self._monitor.atoms)
        self._after: dict[int, int] = {}
        self._dead = {state for state in self._monitor.states if not self._monitor.bounds(state)[1]}
        if self._monitor.initial in self._dead:
            raise SpecError(f"No conversation can keep the rule `{formula}`. Change the formula.")
        self.initial = RuleState(self._monitor.initial, {}, {})

    def _next(self, state: int, letter: int) -> int:
        key = state << self._bits | letter
        found = self._after.get(key)
        if found is None:
            labels = {atom: float(letter >> k & 1) for k, atom in enumerate(self._monitor.atoms)}
            found = self._after[key] = int(self._monitor.step(state, labels)[0])
        return found

    def _letters(self, found: Found) -> tuple[int, dict[str, int]]:
        """The letter of things that the event does not name, and those of the things that it names."""
        base = 0
        named: dict[str, int] = {}
        for atom, things in found.items():
            if atom in self._plain:
                base |= self._plain[atom]
            elif atom in self._things:
                weight = self._things[atom]
                for thing in things:
                    named[thing] = named.get(thing, 0) | weight
        return base, named

    def broken_by(self, state: RuleState, found: Found) -> list[str]:
        """The things for which one more event breaks the rule; [""] for a rule about none.

        A rule that starts with `exists` is broken as one, when it is for all things.
        """
        base, named = self._letters(found)
        dead, after = self._dead, self._next
        others, things, counts = state
        if self._some:
            return [ANY] if self.possible(state) and not self.possible(self.step(state, found)) else []
        broken = []
        for thing, letter in named.items():
            before = things.get(thing, others)
            if before not in dead and after(before, base | letter) in dead:
                broken.append(thing)
        for each in counts:
            if each not in dead and after(each, base) in dead:
                broken += [thing for thing, own in things.items() if own == each and thing not in named]
        if others not in dead and after(others, base) in dead:
            broken.append("" if self.sort is None else ANY)
        return broken

    def step(self, state: RuleState, found: Found) -> RuleState:
        """The state after one more event."""
        base, named = self._letters(found)
        others, things, counts = state
        after = self._next
        changed: dict[str, int] = {thing: after(things.get(thing, others), base | own) for thing, own in named.items()}
        new = after(others, base)
        if new == others and not changed and all(after(each, base) == each for each in counts):
            return state
        if new == others and all(after(each, base) == each for each in counts):
            things = {**things, **changed}
            things = things if new not in changed.values() else {t: own for t, own in things.items() if own != new}
        else:
            moved = {each: after(each, base) for each in counts}
            things = {thing: moved[own] for thing, own in things.items()} | changed
            things = {thing: own for thing, own in things.items() if own != new}
        return RuleState(new, things, dict(Counter(things.values())))

    def possible(self, state: RuleState) -> bool:
        """Return whether some continuation satisfies the rule."""
        ways = (own not in self._dead for own in (state.others, *state.counts))
        return any(ways) if self._some else all(ways)

    def holds(self, state: RuleState) -> bool:
        """Return whether the rule holds if the conversation ends here."""
        accepting = (own in self._monitor.accepting for own in (state.others, *state.counts))
        return any(accepting) if self._some else all(accepting)

    def undone(self, state: RuleState) -> list[str]:
        """The things for which the rule does not hold if the conversation ends here, though it still could."""
        if self.holds(state) or self._some:
            return [] if self.holds(state) else [ANY]
        waiting = [t for t, own in state.things.items() if own not in self._monitor.accepting and own not in self._dead]
        if state.others not in self._monitor.accepting and state.others not in self._dead:
            waiting.append("" if self.sort is None else ANY)
        return waiting


def _plain_event_atom(function: AtomFunction) -> AtomFunction:
    """The event atom inside a threshold, which changes no label of 0 or 1; any other function as it is."""
    inner = function
    while isinstance(inner, DerivedAtom):
        inner = inner.function
    return inner if isinstance(inner, EventAtom) else function


class RuleBook:
    """All rules of a spec, and its atoms, which are about events. Its sorts are sorts of names.

    The rules are the pairs with a weight of at least 0 that do not start with `mean`.

    Attributes:
        spec: The spec.
        atoms: The functions of the atoms that its formulas read, by name.
        rules: The rules.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        functions = spec.atom_functions
        if functions is None:
            raise SpecError(
                "The spec has no atoms. Say what each is about in its table [atoms], as in "
                'refund = { call = "refund", id = "order_id" }.'
            )
        for sort, things in spec.sorts.items():
            if things:
                raise SpecError(f"The sort {sort!r} should be one of names here: sorts = {{ {sort} = 'names' }}.")
        self.atoms = {name: _plain_event_atom(functions[name]) for name in (*spec.axes.labels_of, *spec.axes.named)}
        for name, function in self.atoms.items():
            if isinstance(function, EventAtom) and (function.id is not None) != (name in spec.axes.named):
                about = spec.axes.named.get(name)
                what = (
                    f"is about a {about}; add `id`, the argument that names it"
                    if about
                    else "is about no thing; leave out `id`"
                )
                raise SpecError(f"The atom {name!r} {what}. It is {function.to_toml()}.")
        self.rules = tuple(
            Rule(name, pair.formula)
            for name, pair in zip(spec.names, spec.pairs, strict=True)
            if pair.weight >= 0 and not isinstance(pair.formula, Mean)
        )
        self._concerned: dict[tuple[str, str], list[tuple[str, AtomFunction]]] = {}

    @functools.cached_property
    def initial(self) -> tuple[RuleState, ...]:
        """The state of each rule before the first event."""
        return tuple(rule.initial for rule in self.rules)

    def _concerned_with(self, event: Event) -> list[tuple[str, AtomFunction]]:
        """The atoms that an event of this kind and name may make true."""
        key = event.kind, event.name
        atoms = self._concerned.get(key)
        if atoms is None:
            if len(self._concerned) >= _MOST_NAMES:
                self._concerned.clear()
            atoms = self._concerned[key] = [
                (name, atom)
                for name, atom in self.atoms.items()
                if not isinstance(atom, EventAtom) or atom.concerns(*key)
            ]
        return atoms

    def read(self, event: Event) -> dict[str, Sequence[str]]:
        """The atoms that are true of an event, each with the things that it names; ("",) for an atom about none."""
        found: dict[str, Sequence[str]] = {}
        for name, atom in self._concerned_with(event):
            if isinstance(atom, EventAtom):
                if atom.holds(event):
                    found[name] = _PLAIN if atom.id is None else atom.things(event)
                continue
            label = atom(event, None, event)
            if isinstance(label, list | tuple | set | frozenset):
                found[name] = [str(thing) for thing in label]
            elif label:
                found[name] = _PLAIN
        return found

    def labels(self, event: Event) -> dict[str, object]:
        """The labels of an event, as `Spec.step` reads them."""
        found = self.read(event)
        named = self.spec.axes.named
        return {name: list(found.get(name, ())) if name in named else float(name in found) for name in self.atoms}

    def step(self, states: Sequence[RuleState], event: Event) -> tuple[RuleState, ...]:
        """The state of each rule after one more event."""
        found = self.read(event)
        return tuple([rule.step(state, found) for rule, state in zip(self.rules, states, strict=True)])

    def broken_by(self, states: Sequence[RuleState], event: Event) -> list[tuple[Rule, str]]:
        """The rules that one more event breaks, each with the thing for which it does."""
        found = self.read(event)
        return [
            (rule, thing)
            for rule, state in zip(self.rules, states, strict=True)
            for thing in rule.broken_by(state, found)
        ]

    def unclear(self, event: Event) -> list[tuple[Rule, str]]:
        """The rules that cannot judge a call, as one of their atoms is unclear about it; each with the reason."""
        found = {}
        for name, atom in self._concerned_with(event) if event.kind == "call" else ():
            if isinstance(atom, EventAtom) and (why := atom.unclear(event)):
                found[name] = why
        return [(rule, why) for rule in self.rules if (why := next((found[a] for a in found if a in rule.atoms), ""))]

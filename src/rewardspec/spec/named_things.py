"""Sorts of names: formulas about things that appear while an episode runs, such as orders by their number.

The label of an atom about such things is a mapping from things to numbers. A thing's trace has its own labels where a
step names it, and 0 elsewhere. Things in the same state of the formula's machine, and with the same value, form a
*class*, which takes one step for all of them; one more class is that of all things that no step has named. A thing that
comes to be in it is forgotten, which is exact, because the two can never differ again unless one is named. The value
counts too because it may depend on labels that the state does not keep, as that of `last & b(x)` does.

`forall` and `exists` are about all things, named or not. `mean` is about the things that an atom of the sort has named
so far, in this formula or another. It has to remember them all, and before any is named it is the value for an unnamed
one.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, TypeAlias

from rewardspec.errors import LabelError, SpecError, did_you_mean
from rewardspec.logic.label_ranges import checked_number
from rewardspec.logic.quantifiers import Exists, Mean, Quantified
from rewardspec.machines.heads import Field, Head, output
from rewardspec.machines.machine import Machine
from rewardspec.machines.program import Program, side_by_side
from rewardspec.machines.windows import Queue, algebra, queue_contents
from rewardspec.spec.composition import pair_programs
from rewardspec.spec.pairs import Pair
from rewardspec.spec.sorts import ONE_EPISODE, Thing, label_of_thing, named_labels
from rewardspec.spec.veto_and_reward import RewardHead
from rewardspec.synthesis.quantitative.compiler import Synthesis

State: TypeAlias = tuple[Any, ...]
_VALUE, _POSSIBLE = -2, -1  # the places of these in a state
_UNNAMED = 0  # the class of things that are not known
_MOST_MERGED = 64  # classes that may have become others before things are told apart by the classes that are left
_MOST_RECENT = 64  # things that may have changed class before all things are copied
_HEAD = Head(
    (
        Field("value", "of the formula for a thing", 0.0, output(0)),
        Field("possible", "positive while that value can be", 1.0, output(1)),
    ),
    (),
)


class Population(NamedTuple):
    """All things of a pair, after some steps.

    A class is the state that its things are in: that of the formula's machine, whose last two entries are the formula's
    value for each of them, and what is positive while that value can be.

    Attributes:
        unnamed: The class of all things that are not known.
        classes: The other classes, by their numbers.
        sizes: How many things each of these has.
        where: The number of each known thing's class, or of one that has become that class since.
        recent: The same of things that have changed class since `where` was made, for which it counts.
        merged: For classes that have become others, the number of the other.
        last: The last number given to a class.
    """

    unnamed: State
    classes: dict[int, State]
    sizes: dict[int, int]
    where: dict[Thing, int]
    recent: dict[Thing, int]
    merged: dict[int, int]
    last: int


class NamedPair:
    """A pair about things of a sort of names, followed from step to step.

    The program is that of its formula's body: its outputs are what is paid for and what tells of a veto. `alike` are
    all atoms about things of this sort, those of other formulas included.
    """

    def __init__(self, formula: Quantified, program: Program, alike: Collection[str] = ()) -> None:
        self.formula = formula
        self.predicates = formula.predicates
        # Only a mean counts the things that other formulas' atoms name.
        self._alike = tuple(atom for atom in alike if isinstance(formula, Mean) and atom not in self.predicates)
        self._program = program
        self._machine = Machine(program, _HEAD)
        self._nothing = {f"{predicate}({formula.variable})": 0.0 for predicate in self.predicates}
        self._labels_of_things = tuple(zip(self.predicates, self._nothing, strict=True))
        self._others = [atom for atom in program.atoms if atom not in self._nothing]
        self._remembers = isinstance(formula, Mean)
        self._largest = isinstance(formula, Exists)

    @functools.cached_property
    def initial(self) -> Population:
        """The things before the first step: none is known."""
        return Population(self._machine.initial_state(), {}, {}, {}, {}, {}, _UNNAMED)

    def step(self, before: Population, labels: Mapping[str, Any]) -> tuple[Population, float, float]:
        """Read one more step's labels: numbers for atoms, and for those about things mappings from things to numbers.

        Returns:
            The things after it, the formula's value, and what is positive while the value can be.
        """
        step = self._machine.step
        key = self._key if self._program.windows else tuple  # which returns a tuple as it is
        _, classes, sizes, where, recent, merged, last = before
        base = {atom: labels[atom] for atom in self._others} if self._others else {}
        nothing = base | self._nothing if base else self._nothing
        unnamed, _ = step(before.unnamed, nothing)
        numbers = {} if self._remembers else {key(unnamed): _UNNAMED}
        sizes = sizes.copy()
        # Things of one class with the same labels move together.
        moved: dict[tuple[Any, ...], tuple[int, dict[str, float], list[Thing]]] = {}
        for thing, own in self._own_labels(labels).items():
            number = self._class_of(before, thing)
            if number != _UNNAMED:
                sizes[number] -= 1
            alike = (number, *own.values())
            if alike in moved:
                moved[alike][2].append(thing)
            else:
                moved[alike] = number, own, [thing]
        after: dict[int, State] = {}
        for number, old in classes.items():
            size = sizes[number]
            if not size:
                del sizes[number]
                continue
            state, _ = step(old, nothing)
            known = numbers.setdefault(key(state), number)
            if known == number:
                after[number] = state
                continue
            merged = {**merged, number: known}
            del sizes[number]
            if known != _UNNAMED:
                sizes[known] += size
        if moved:
            recent = recent.copy()
        for number, own, things in moved.values():
            old = before.unnamed if number == _UNNAMED else classes[number]
            state, _ = step(old, base | own if base else own)
            known = numbers.setdefault(key(state), last + 1)
            if known > last:
                last = known
                after[known], sizes[known] = state, 0
            if known != _UNNAMED:
                sizes[known] += len(things)
            for thing in things:
                recent[thing] = known
        if len(recent) > _MOST_RECENT:
            where, recent = where | recent, {}
        new = Population(unnamed, after, sizes, where, recent, merged, last)
        if (merged is not before.merged or where is not before.where) and (
            len(merged) > _MOST_MERGED + len(after) or len(where) > _MOST_MERGED + 2 * sum(sizes.values())
        ):
            new = self._tidied(new)
        return new, *self._over_things(new)

    def _over_things(self, things: Population) -> tuple[float, float]:
        """The formula's value, and what is positive while that can be."""
        value, possible = things.unnamed[_VALUE:]
        if self._remembers:
            total = sum(things.sizes.values())
            if total:
                value = sum(each[_VALUE] * things.sizes[number] for number, each in things.classes.items()) / total
            return value, max([possible, *(each[_POSSIBLE] for each in things.classes.values())])
        largest = self._largest
        for each in things.classes.values():
            one, can_be = each[_VALUE:]  # compared by hand, which is several times quicker than calling min and max
            if (one > value) is largest:
                value = one
            if (can_be > possible) is largest:
                possible = can_be
        return value, possible

    def values(self, things: Population) -> dict[Thing, float]:
        """The value for each known thing; any other has that of an unnamed one."""
        numbers = {thing: self._class_of(things, thing) for thing in things.where | things.recent}
        return {thing: things.classes[number][_VALUE] for thing, number in numbers.items() if number != _UNNAMED}

    def worst(self, things: Population) -> Thing | None:
        """A known thing with the smallest value, if that is smaller than an unnamed one's."""
        lowest = min(things.classes, key=lambda number: things.classes[number][_VALUE], default=_UNNAMED)
        if lowest == _UNNAMED or (not self._remembers and things.classes[lowest][_VALUE] >= things.unnamed[_VALUE]):
            return None
        return next(thing for thing in things.where | things.recent if self._class_of(things, thing) == lowest)

    def _class_of(self, things: Population, thing: Thing) -> int:
        number = things.recent.get(thing)
        if number is None:
            number = things.where.get(thing, _UNNAMED)
        while number in things.merged:
            number = things.merged[number]
        return number

    def _tidied(self, things: Population) -> Population:
        """The same things, each with the class that it is in, and without those that are forgotten."""
        where = {thing: self._class_of(things, thing) for thing in things.where | things.recent}
        where = {thing: number for thing, number in where.items() if number != _UNNAMED}
        return things._replace(where=where, recent={}, merged={})

    def _key(self, state: State) -> Any:
        """What tells states with windows apart: all that is in them, but of each window only what counts."""
        program = self._program
        first = 1 + len(program.registers)
        held = [
            tuple(queue_contents(Queue(*queue), window.length, algebra(window, program, None)))
            for window, queue in zip(program.windows, state[first:_VALUE], strict=True)
        ]
        return (*state[:first], *held, *state[_VALUE:])

    def _own_labels(self, labels: Mapping[str, Any]) -> dict[Thing, dict[str, float]]:
        """The labels of each thing that this step names, in the order of the predicates."""
        found: dict[Thing, dict[str, float]] = {}
        for atom, name in self._labels_of_things:
            if atom in labels:
                own = labels[atom]
                for thing, label in (own if own.__class__ is dict else named_labels(atom, own)).items():
                    if label.__class__ is not float or not 0.0 <= label <= 1.0:
                        label = label_of_thing(atom, thing, label)
                    if thing in found:
                        found[thing][name] = label
                    else:
                        found[thing] = {**self._nothing, name: label}
        for atom in self._alike:
            for thing in named_labels(atom, labels.get(atom)):
                found.setdefault(thing, self._nothing)
        return found


def named_pair(pair: Pair, max_registers: int, sort_of: Mapping[str, str]) -> NamedPair:
    """A pair about things of a sort of names; `sort_of` has the sort of each atom about such things."""
    assert isinstance(pair.formula, Quantified)
    alike = [atom for atom, sort in sort_of.items() if sort == pair.formula.variable]
    paid, veto = pair_programs(pair, Synthesis(max_registers))
    program = side_by_side([paid, paid if veto is None else veto])
    return NamedPair(pair.formula, replace(program, atoms=pair.body.atoms), alike)


class NamedThingsMachine(Machine[RewardHead]):
    """The machine of a spec with pairs about things of sorts of names, for one episode.

    The head takes the values of these pairs, and what tells of the vetoes of those of them that can veto, as inputs. A
    state has the things before what the head remembers.
    """

    def __init__(
        self, program: Program, head: RewardHead, pairs: Sequence[NamedPair], vetoes: Sequence[int], split: Any = None
    ) -> None:
        super().__init__(program, head, split)
        self.pairs = tuple(pairs)
        self._vetoes = tuple(vetoes)
        self._atoms = dict.fromkeys(atom for pair in pairs for atom in pair.predicates)
        # Labels of `held(0)` and `held(1)` are also given as those of `held`.
        self._known = frozenset(self._atoms).union(program.atoms, (atom.partition("(")[0] for atom in program.atoms))
        self._unknown: set[str] = set()  # atoms of no formula that a step has named, which are looked at once
        self._place = 1 + len(program.registers) + len(program.windows)

    def populations(self, state: tuple[Any, ...]) -> tuple[Population, ...]:
        """The things of each pair."""
        found: tuple[Population, ...] = state[self._place]
        return found

    def initial_state(self, batch: Any = None, xp: Any = None, *options: Any, **named: Any) -> tuple[Any, ...]:
        """The state before the first letter of one episode."""
        if batch is not None or xp is not None:
            self._refuse()
        state = super().initial_state()
        return (*state[: self._place], tuple(pair.initial for pair in self.pairs), *state[self._place :])

    @functools.cached_property
    def step(self) -> Any:
        """The function `(state, labels, …) -> (state, reward)`."""
        inner, place, pairs, vetoes = Machine.step.func(self), self._place, self.pairs, self._vetoes  # type: ignore[attr-defined]

        def step(
            state: Any, labels: Any, base_reward: Any = 0.0, terminated: Any = False, truncated: Any = False
        ) -> tuple[Any, Any]:
            if state.__class__ is not tuple or (labels.__class__ is not dict and not isinstance(labels, Mapping)):
                self._refuse()
            if not labels.keys() <= self._known:
                self._warn_of_misspelt(labels)
            others = self._numbers(labels)
            populations, things, values, uppers = state[place], [], [], []
            for number, pair in enumerate(pairs):
                new, value, possible = pair.step(populations[number], others)
                things.append(new)
                values.append(value)
                if number in vetoes:
                    uppers.append(possible)
            before = state[:place] + state[place + 1 :]
            after, reward = inner(before, others, base_reward, terminated, truncated, *values, *uppers)
            return (*after[:place], tuple(things), *after[place:]), reward

        return step

    def _warn_of_misspelt(self, labels: Mapping[str, Any]) -> None:
        """Warn, once for each name, of labels of an unknown atom that looks like one that the step leaves out.

        That is no error, because labels of other atoms may be there, for other specs.
        """
        left_out = [atom for atom in self._atoms if atom not in labels]
        for name in labels:
            if left_out and name not in self._known and name not in self._unknown:
                self._unknown.add(name)
                hint = did_you_mean(str(name), left_out)
                if hint:
                    warnings.warn(
                        f"No formula has the atom {name!r}, so that its labels are not read.{hint} This step leaves "
                        f"out {', '.join(left_out)}.",
                        UserWarning,
                        stacklevel=3,
                    )

    def _numbers(self, labels: Mapping[str, Any]) -> Mapping[str, Any]:
        """The labels, those of atoms that are about no names checked to be there and to be numbers."""
        split = labels if self._split is None else self._split(labels)
        for atom in self.program.atoms:
            label = split.get(atom, None)
            if label.__class__ is not float or not 0.0 <= label <= 1.0:
                if getattr(label, "shape", ()):
                    self._refuse()
                if atom not in split:
                    there = ", ".join(map(str, split)) or "none"
                    raise LabelError(f"There is no label for atom {atom!r}; there are: {there}.")
                split = {**split, atom: checked_number(atom, label)}
        return split

    def parts(self, state: Any) -> Any:
        """Control state, registers, what each window gives, and the head's memory."""
        return super().parts((*state[: self._place], *state[self._place + 1 :]))

    def step_checked(self, *args: Any) -> NoReturn:
        """Refuse a batch."""
        self._refuse()

    def columns(self, *args: Any) -> NoReturn:
        """Refuse a batch."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise SpecError(ONE_EPISODE)

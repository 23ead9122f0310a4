"""Reward machines: automata written by hand that pay on their edges, as Toro Icarte et al. define them (JAIR 2022)."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import FormulaError, SpecError
from rewardspec.logic.formulas import TRUE, Formula, FormulaLike, Or, as_formula, number_text
from rewardspec.logic.fragments import is_propositional
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate_positions
from rewardspec.machines.drawable import Drawable
from rewardspec.machines.label_checks import require_atoms
from rewardspec.renamed import renamed_constructor
from rewardspec.types import Labels, Number

if TYPE_CHECKING:
    from rewardspec.drawing.diagrams import Diagram
    from rewardspec.spec.machine_languages import Difference

Unmatched: TypeAlias = Literal["ends", "pays"]
LOST = -1
"""The state after a letter that no edge matches: the episode has ended, and the task is not done."""
_MOST_ATOMS = 12


class Edge(NamedTuple):
    """An edge: on letters that satisfy the guard, from a state to a state, for a reward."""

    source: int
    target: int
    guard: Formula
    reward: float


@dataclasses.dataclass(frozen=True, repr=False)
class RewardMachine(Drawable):
    """A reward machine with constant rewards.

    Of several edges that match a letter the first is taken. A letter that none matches ends the episode, in `LOST`.
    What that pays is `unmatched`: nothing (`"ends"`), or what an edge from the same state into a terminal state pays
    (`"pays"`). The second is what the program does that was published with the paper, where all terminal states and
    `LOST` are one state; it was reported as issue 50 of RodrigoToroIcarte/reward_machines.

    Attributes:
        edges: The edges, in their order; their guards have no temporal operators.
        initial: The state before the first letter.
        terminal: States that end the episode.
        unmatched: What a letter that no edge matches pays.

    Raises:
        SpecError: There is no edge, a terminal state has edges, a guard is temporal, or a reward is not finite.

    Example:
        >>> machine = RewardMachine.from_edges([(0, 1, "key & !trap", 0), (0, 0, "!trap", 0), (1, 2, "door", 1)], [2])
        >>> machine.step(0, {"key": 1, "trap": 0, "door": 0})
        (1, 0.0)
        >>> machine.step(1, {"key": 0, "trap": 0, "door": 1})
        (2, 1.0)
        >>> machine
        <RewardMachine: 3 states, 3 edges, atoms key, trap, door>
    """

    edges: tuple[Edge, ...]
    initial: int
    terminal: frozenset[int]
    unmatched: Unmatched = "ends"

    def __post_init__(self) -> None:
        if self.unmatched not in ("ends", "pays"):
            raise SpecError(f"`unmatched` should be 'ends' or 'pays'. Received {self.unmatched!r}.")
        if not any(edge.source == self.initial for edge in self.edges):
            raise SpecError(f"No edge leaves the initial state {self.initial}.")
        for edge in self.edges:
            if edge.source in self.terminal:
                raise SpecError(f"State {edge.source} is terminal, and an edge leaves it. An episode has ended there.")
            if min(edge.source, edge.target) < 0:
                raise SpecError(f"States should be numbers from 0 on. Received an edge from {edge[0]} to {edge[1]}.")
            if not is_propositional(edge.guard):
                raise SpecError(f"A guard reads one letter. Received `{edge.guard}`, which has temporal operators.")
            if not math.isfinite(edge.reward):
                raise SpecError(f"A reward should be a finite number. Received {edge.reward!r}.")
        if len(self.atoms) > _MOST_ATOMS:
            raise SpecError(f"A reward machine can have up to {_MOST_ATOMS} atoms. Received {len(self.atoms)}.")

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[int, int, FormulaLike, float]],
        terminal: Iterable[int],
        initial: int = 0,
        unmatched: Unmatched = "ends",
    ) -> RewardMachine:
        """Make a machine from rows of source, target, guard and reward, where guards may be text."""
        rows = tuple(Edge(int(a), int(b), as_formula(guard), float(reward)) for a, b, guard, reward in edges)
        return cls(rows, int(initial), frozenset(map(int, terminal)), unmatched)

    @classmethod
    def from_formula(cls, formula: FormulaLike) -> RewardMachine:
        """Return the machine that pays 1 and ends once the formula is true, and ends once it can no longer become true.

        Example:
            >>> print(RewardMachine.from_formula("!trap U goal").to_text())
            0 # initial state
            [1] # terminal states
            (0,0,'!trap&!goal',ConstantRewardFunction(0))
            (0,1,'goal',ConstantRewardFunction(1))
        """
        from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean

        monitor = synthesize_boolean(formula)
        if monitor.bounds(monitor.initial)[1] == 0.0:
            raise SpecError(f"`{monitor.formula}` can never become true, so that a machine would never pay.")
        hopeful = dict.fromkeys(s for s in monitor.states if monitor.bounds(s)[1] > 0.0)
        going = [s for s in hopeful if s not in monitor.accepting or s == monitor.initial]
        numbers = {state: number for number, state in enumerate(going)}
        done = len(going)
        edges: list[Edge] = []
        for state in going:
            guards: dict[int, list[Formula]] = {}
            for guard, target in monitor.transitions[state]:
                if target in hopeful:
                    guards.setdefault(done if target in monitor.accepting else numbers[target], []).append(guard)
            edges += [
                Edge(numbers[state], target, Or(*guards[target]), float(target == done)) for target in sorted(guards)
            ]
        return cls(tuple(edges), numbers[monitor.initial], frozenset({done}))

    of_edges = renamed_constructor("RewardMachine", "of_edges", "from_edges")
    of_formula = renamed_constructor("RewardMachine", "of_formula", "from_formula")

    # Running.

    @functools.cached_property
    def atoms(self) -> tuple[str, ...]:
        """The atoms of the guards, in the order in which they are mentioned."""
        return tuple(dict.fromkeys(atom for edge in self.edges for atom in edge.guard.atoms))

    @functools.cached_property
    def states(self) -> tuple[int, ...]:
        """The states that an episode goes on in, the initial one first."""
        return tuple(dict.fromkeys((self.initial, *sorted(edge.source for edge in self.edges))))

    @functools.cached_property
    def _row(self) -> dict[int, int]:
        """The place of each state in `states`."""
        return {state: row for row, state in enumerate(self.states)}

    def ended(self, state: int) -> bool:
        """Return whether the episode has ended."""
        return state not in self._row

    def step(self, state: int, labels: Labels) -> tuple[int, float]:
        """Return the state after one step, and the reward. An ended episode stays ended and pays nothing.

        Args:
            state: A state.
            labels: For each atom whether it is true; from 0.5 on a number is.
        """
        if self.ended(state):
            return state, 0.0
        require_atoms(labels, self.atoms)
        letter = sum(1 << k for k, atom in enumerate(self.atoms) if float(labels[atom]) >= 0.5)
        row = self._row[state]
        return int(self.successors[row, letter]), float(self.rewards[row, letter])

    def run(self, trace: Mapping[str, Sequence[Number]]) -> NDArray[np.float64]:
        """Compute the reward of every step of a trace.

        Example:
            >>> RewardMachine.from_formula("F(a & F b)").run({"a": [0, 1, 0], "b": [1, 0, 1]})
            array([0., 0., 1.])
        """
        length = len(next(iter(trace.values())))
        state, paid = self.initial, np.zeros(length)
        for k in range(length):
            state, paid[k] = self.step(state, {name: column[k] for name, column in trace.items()})
        return paid

    @property
    def successors(self) -> NDArray[np.int64]:
        """The state after each state of `states` and each letter; atom k is true where bit k of the letter is set."""
        return self._tables[0]

    @property
    def rewards(self) -> NDArray[np.float64]:
        """The rewards paid there, same shape."""
        return self._tables[1]

    @functools.cached_property
    def _tables(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        letters = np.arange(1 << len(self.atoms))
        truths = {atom: (letters >> k & 1).astype(np.float64) for k, atom in enumerate(self.atoms)}
        shape = len(self.states), len(letters)
        successors, rewards = np.full(shape, LOST, dtype=np.int64), np.zeros(shape)
        if self.unmatched == "pays":
            for edge in self.edges:
                if edge.target in self.terminal:
                    rewards[self._row[edge.source]] = edge.reward
        for edge in reversed(self.edges):  # the first that matches is written last
            row = self._row[edge.source]
            match = np.asarray(evaluate_positions(edge.guard, truths or {"": np.zeros(len(letters))})) >= 0.5
            successors[row, match], rewards[row, match] = edge.target, edge.reward
        return successors, rewards

    # Comparing, showing and reading.

    def difference(
        self, other: RewardMachine | FormulaLike, letters: Iterable[Iterable[str]] | None = None
    ) -> Difference | None:
        """Return a shortest trace that only one of the two accepts; None if they accept the same traces.

        A machine's language are the traces along which it has paid something positive.

        Args:
            other: A formula, or another machine.
            letters: The letters that can occur, each by its true atoms; None for all.

        Example:
            >>> rows = [(0, 1, "key", 0), (0, 0, "!key", 0), (1, 2, "door & !trap", 1), (1, 1, "!door & !trap", 0)]
            >>> formula = "!key U (key & X(!trap U (door & !trap)))"
            >>> RewardMachine.from_edges(rows, [2]).difference(formula) is None
            True
            >>> print(RewardMachine.from_edges(rows, [2], unmatched="pays").difference(formula))
            key; trap: the machine has paid, the formula is false
        """
        from rewardspec.spec.machine_languages import difference

        return difference(self, other, letters)

    def __repr__(self) -> str:
        count = len({*self.states, *self.terminal})
        atoms = ", ".join(self.atoms) or "none"
        return f"<RewardMachine: {count} states, {len(self.edges)} edges, atoms {atoms}>"

    def diagram(self) -> Diagram:
        """The machine as circles and arrows; terminal states have a double ring."""
        from rewardspec.drawing.diagrams import Diagram, Node
        from rewardspec.drawing.diagrams import Edge as Arrow

        nodes = [Node(f"s{s}", str(s), initial=s == self.initial) for s in self.states]
        nodes += [Node(f"s{s}", str(s), accepting=True) for s in sorted(self.terminal)]
        arrows: dict[tuple[int, int], list[str]] = {}
        for edge in self.edges:
            text = edge.guard.to_string("unicode") + (f" / {edge.reward:g}" if edge.reward else "")
            arrows.setdefault((edge.source, edge.target), []).append(text)
        known = {node.id for node in nodes}
        nodes += [Node(f"s{t}", str(t), muted=True) for _, t in arrows if f"s{t}" not in known]
        lines = [f"{s} to {t} on {', '.join(texts)}" for (s, t), texts in arrows.items()]
        what = "ends the episode unpaid" if self.unmatched == "ends" else "ends the episode, and pays what the end does"
        return Diagram(
            "Reward machine",
            tuple(nodes),
            tuple(Arrow(f"s{s}", f"s{t}", ", ".join(texts)) for (s, t), texts in arrows.items()),
            notes=(f"a letter that no edge matches {what}",),
            description=f"Reward machine, initial {self.initial}: {'; '.join(lines)}.",
        )

    def to_text(self) -> str:
        """Return the machine in the text format of the published program, for `from_text`.

        Example:
            >>> print(RewardMachine.from_edges([(0, 1, '"x > 5" & !b', 0.1)], [1]).to_text())
            0 # initial state
            [1] # terminal states
            (0,1,'"x > 5"&!b',ConstantRewardFunction(0.1))
        """
        rows = [
            f"({e.source},{e.target},'{_guard_text(e.guard)}',ConstantRewardFunction({number_text(e.reward)}))"
            for e in self.edges
        ]
        ends = ",".join(map(str, sorted(self.terminal)))
        return "\n".join([f"{self.initial} # initial state", f"[{ends}] # terminal states", *rows])

    @classmethod
    def from_text(cls, text: str, unmatched: Unmatched = "ends") -> RewardMachine:
        r"""Read a machine in the text format of the published program. No part of it is run as code.

        The initial state, then the list of terminal states, then one edge a line:
        `(source, target, 'guard', ConstantRewardFunction(reward))`. In a guard `\` stands before a quotation mark or
        another `\`, and `\n` for the end of a line. Text after `#` is a comment.

        Args:
            text: The text.
            unmatched: What a letter that no edge matches pays; as the published program runs it, `"pays"`.

        Raises:
            SpecError: A line is none of these.
        """
        lines = [(k, line.strip()) for k, line in enumerate(text.split("\n"), 1)]
        lines = [(k, line) for k, line in lines if line and not line.startswith("#")]
        if len(lines) < 3:
            raise SpecError("A reward machine's text has the initial state, a list of terminal states, and edges.")
        (first, initial), (second, terminal), *rows = lines
        if not (found := re.fullmatch(rf"({_STATE}){_COMMENT}", initial)):
            raise _wrong(first, "the number of the initial state, such as 0", initial)
        if not (ends := re.fullmatch(rf"\[\s*((?:{_STATE}\s*(?:,\s*{_STATE}\s*)*)?)\]{_COMMENT}", terminal)):
            raise _wrong(second, "the list of terminal states, such as [2]", terminal)
        edges = tuple(_edge(number, line) for number, line in rows)
        return cls(edges, int(found[1]), frozenset(map(int, re.findall(r"\d+", ends[1]))), unmatched)


_COMMENT = r"\s*(?:#.*)?"
_STATE = r"\d{1,18}"
_NUMBER = r"[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?"
_EDGE = re.compile(
    rf"\(\s*({_STATE})\s*,\s*({_STATE})\s*,\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*,\s*"
    rf"(?:ConstantRewardFunction\(\s*({_NUMBER})\s*\)|({_NUMBER})|(\w+)\(.*\))\s*\){_COMMENT}"
)
_TRUE = "True"  # what the published program writes for a guard that every letter satisfies
_QUOTED_ATOM_OR_BLANK = re.compile(r'("(?:\\.|[^"\\])+")| ', re.DOTALL)


def _guard_text(guard: Formula) -> str:
    """A guard without blanks, but for those in names of atoms, as it stands between single quotation marks."""
    text = _QUOTED_ATOM_OR_BLANK.sub(lambda found: found[1] or "", str(guard))
    text = f'"{text}"' if text == _TRUE else text  # an atom of this name
    return text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")


def _guard_of(text: str) -> Formula:
    unescaped = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)
    return TRUE if unescaped.strip() in ("", _TRUE) else parse(unescaped)


def _edge(number: int, line: str) -> Edge:
    found = _EDGE.fullmatch(line)
    if found is None:
        raise _wrong(number, "an edge, such as (0, 1, 'key&!trap', ConstantRewardFunction(1))", line)
    source, target, guard, double_quoted, reward, plain, function = found.groups()
    if function is not None:
        raise SpecError(
            f"Line {number} pays by {function}, which depends on more than the letter. Only constant rewards can be "
            "read: pay the rest by the environment, with payment='potential', or by a pair of a Spec."
        )
    try:
        formula = _guard_of(double_quoted if guard is None else guard)
    except FormulaError as error:
        raise SpecError(f"Line {number} of the reward machine has a guard that cannot be read: {error}") from error
    return Edge(int(source), int(target), formula, float(reward or plain))


def _wrong(number: int, expected: str, received: str) -> SpecError:
    shown = received if len(received) <= 80 else f"{received[:77]}…"
    return SpecError(f"Line {number} of the reward machine should be {expected}. Received {shown!r}.")

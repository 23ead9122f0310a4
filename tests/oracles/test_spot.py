"""Automata agree with those of Spot, an independent translator of temporal logic."""

import itertools
import random
from dataclasses import dataclass

import pytest

from rewardspec.logic import formulas as fm
from rewardspec.logic.operators import OPERATORS
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean

spot = pytest.importorskip("spot")
pytestmark = pytest.mark.oracle

UNARY = (fm.Not, fm.Next, fm.WeakNext, fm.Eventually, fm.Always)
BINARY = (fm.And, fm.Or, fm.Implies, fm.Iff, fm.Xor, fm.Until, fm.Release, fm.WeakUntil, fm.StrongRelease)
LETTERS = [dict(zip("abc", bits, strict=True)) for bits in itertools.product((0, 1), repeat=3)]


COUNTED = (fm.AtLeastTimes, fm.AllButTimes)


def random_formula(random_: random.Random, size: int, *, timed: bool) -> fm.Formula:
    """A formula with about `size` operators and atoms, over all operators; with intervals and counts if wanted."""
    if size <= 1:
        return fm.Atom(random_.choice("abc"))
    if random_.random() < (0.5 if timed else 0.35):
        kind = random_.choice((*UNARY, *COUNTED) if timed else UNARY)
        operands = [random_formula(random_, size - 1, timed=timed)]
    else:
        kind = random_.choice(BINARY)
        left = random_.randint(1, size - 1)
        operands = [random_formula(random_, part, timed=timed) for part in (left, size - left)]
    return kind(*operands, *(random_parameters(random_, kind) if timed else ()))


def random_parameters(random_: random.Random, kind: type[fm.Formula]) -> tuple[int | None, ...]:
    if issubclass(kind, fm.Shift | fm.Counted):
        return (random_.randint(1, 3),)
    if issubclass(kind, fm.Timed) and random_.random() < 0.8:
        low = random_.randint(0, 2)
        return low, random_.choice((None, low, low + 1, low + 2))
    return ()


FORMULAS = [random_formula(random.Random(seed), 3 + seed % 10, timed=False) for seed in range(100)]
TIMED = [random_formula(random.Random(seed), 2 + seed % 6, timed=True) for seed in range(200)]


@dataclass
class Automaton:
    """A complete deterministic automaton over the letters above; state 0 is initial."""

    steps: list[list[int]]
    accepting: list[bool]

    def minimal_size(self) -> int:
        """How many states are needed where the initial state may accept or not, whichever needs fewer."""
        return min(self._blocks(initial_accepts) for initial_accepts in (False, True))

    def _blocks(self, initial_accepts: bool) -> int:
        # A copy of state 0 that no letter leads to, so that its acceptance concerns the empty trace alone.
        steps = [*self.steps, self.steps[0]]
        block = [*map(int, self.accepting), int(initial_accepts)]
        reachable = {len(self.steps)}
        frontier = list(reachable)
        while frontier:
            fresh = set(steps[frontier.pop()]) - reachable
            reachable |= fresh
            frontier.extend(fresh)
        for _ in reachable:
            signatures = {s: (block[s], *(block[t] for t in steps[s])) for s in reachable}
            numbers = {key: number for number, key in enumerate(set(signatures.values()))}
            block = [numbers[signatures[s]] if s in reachable else -1 for s in range(len(steps))]
        return len({block[s] for s in reachable})


def determinized(automaton: "spot.twa_graph") -> Automaton:
    """A Spot automaton, read as one on finite traces: subsets of its states."""
    guards = {}
    edges = []
    for state in range(automaton.num_states()):
        edges.append([])
        for edge in automaton.out(state):
            guard = spot.bdd_format_formula(automaton.get_dict(), edge.cond)
            if guard not in guards:
                guards[guard] = [evaluate(guard, {a: [v] for a, v in letter.items()}) == 1 for letter in LETTERS]
            edges[-1].append((guards[guard], edge.dst))
    subsets = [frozenset({automaton.get_init_state_number()})]
    result = Automaton([], [])
    for subset in subsets:
        result.accepting.append(any(automaton.state_is_accepting(state) for state in subset))
        row = []
        for letter in range(len(LETTERS)):
            after = frozenset(target for state in subset for allowed, target in edges[state] if allowed[letter])
            if after not in subsets:
                subsets.append(after)
            row.append(subsets.index(after))
        result.steps.append(row)
    return result


def spots_text(formula: fm.Formula) -> str:
    """The formula as Spot writes it: with its own intervals, and what it has none for spelled out."""

    def text(part: fm.Formula, args: tuple[str, ...]) -> str:
        match part:
            case fm.Constant():
                return "1" if part.value else "0"
            case fm.Atom():
                return part.name
            case fm.Next(steps=steps):
                return f"X[{steps}!]({args[0]})"
            case fm.WeakNext(steps=steps):
                return f"X[{steps}]({args[0]})"
            case fm.Eventually(low=low, high=high):
                return f"F[{low}:{'' if high is None else high}!]({args[0]})"
            case fm.Always(low=low, high=high):
                return f"G[{low}:{'' if high is None else high}]({args[0]})"
            case fm.AtLeastTimes(count=count):
                return at_least(count, args[0])
            case fm.AllButTimes(count=count):
                return f"!({at_least(count + 1, f'!({args[0]})')})"
            case fm.Until(low=low, high=high):
                return until(*args, low, high)
            case fm.Release(low=low, high=high):
                return f"!({until(*(f'!({arg})' for arg in args), low, high)})"
            case fm.Unary():
                return f"{OPERATORS[type(part)].text}({args[0]})"
        return f" {OPERATORS[type(part)].text} ".join(f"({arg})" for arg in args)

    def until(left: str, right: str, low: int, high: int | None) -> str:
        if low > 0:
            return f"({left}) & X[!]({until(left, right, low - 1, None if high is None else high - 1)})"
        if high is None:
            return f"({left}) U ({right})"
        return right if high == 0 else f"({right}) | (({left}) & X[!]({until(left, right, 0, high - 1)}))"

    def at_least(count: int, operand: str) -> str:
        return f"F({operand})" if count == 1 else f"F(({operand}) & X[!]({at_least(count - 1, operand)}))"

    return formula.fold(text)


def spots_automaton(text: str) -> Automaton:
    infinite = spot.from_ltlf(spot.formula(text))
    return determinized(spot.to_finite(spot.translate(infinite, "small", "buchi", "sbacc")))


def same_language(left: Automaton, right: Automaton) -> bool:
    """Whether both accept the same non-empty traces."""
    pairs = [(0, 0)]
    seen = set(pairs)
    for i, j in pairs:
        for pair in zip(left.steps[i], right.steps[j], strict=True):
            if left.accepting[pair[0]] != right.accepting[pair[1]]:
                return False
            if pair not in seen:
                seen.add(pair)
                pairs.append(pair)
    return True


@pytest.mark.parametrize("formula", FORMULAS + TIMED, ids=str)
def test_spot_reads_our_hoa_and_finds_its_own_language_and_size(formula):
    monitor = synthesize_boolean(formula)
    read = spot.automaton(monitor.to_hoa())
    assert read.num_states() == len(monitor.states)
    assert spot.is_deterministic(read)
    assert spot.is_complete(read)
    assert read.prop_state_acc().is_true()
    ours, spots = determinized(read), spots_automaton(spots_text(formula))
    assert same_language(ours, spots)
    assert len(monitor.states) == spots.minimal_size()


def test_spots_interval_forms_mean_to_us_what_they_mean_to_spot():
    for formula in TIMED:
        text = spots_text(formula)
        monitor = synthesize_boolean(parse(text, syntax="spot"))
        assert same_language(determinized(spot.automaton(monitor.to_hoa())), spots_automaton(text)), text


def test_spot_reads_odd_names():
    monitor = synthesize_boolean(r'F "say \"hi\" \\ there" & G "x > 0"')
    read = spot.automaton(monitor.to_hoa())
    assert [ap.ap_name() for ap in read.ap()] == list(monitor.atoms)
    assert read.get_name() == str(monitor.formula)

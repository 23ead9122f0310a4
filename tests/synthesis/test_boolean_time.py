"""Boolean monitors of formulas with intervals, the past and counts are minimal automata, and as small as they look."""

import itertools
import random

import numpy as np
import pytest

from rewardspec.errors import SynthesisError
from rewardspec.logic import formulas as fm
from rewardspec.logic.operators import FUTURE, PAST
from rewardspec.logic.parsing import parse
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
from tests.definition import value_by_definition

CONNECTIVES = (fm.Not, fm.And, fm.Or, fm.Implies, fm.Iff, fm.Xor)


def random_formula(rng: random.Random, size: int, kinds=CONNECTIVES + FUTURE + PAST) -> fm.Formula:
    """A formula with about `size` operators and atoms, over all operators; under those of the past no other ones."""
    if size <= 1:
        constants = [fm.TRUE, fm.FALSE, fm.FIRST, *([fm.LAST] if fm.Next in kinds else [])]
        return fm.Atom(rng.choice("ab")) if rng.random() < 0.9 else rng.choice(constants)
    kind = rng.choice(kinds)
    if kind in PAST:
        kinds = CONNECTIVES + PAST
    if issubclass(kind, fm.Unary):
        operands = [random_formula(rng, size - 1, kinds)]
    else:
        left = rng.randint(1, size - 1)
        operands = [random_formula(rng, part, kinds) for part in (left, size - left)]
    return kind(*operands, *random_parameters(rng, kind))


def random_parameters(rng: random.Random, kind: type[fm.Formula]) -> tuple[int | None, ...]:
    if issubclass(kind, fm.Shift | fm.Counted):
        return (rng.randint(1, 3),)
    if issubclass(kind, fm.Timed) and rng.random() < 0.7:
        low = rng.choice((0, 0, 1, 2, 3))
        return low, rng.choice((None, low, low + 1, low + 3))
    return ()


def random_formulas(count: int, seed: int) -> list[fm.Formula]:
    rng = random.Random(seed)
    return [random_formula(rng, rng.randint(2, 8)) for _ in range(count)]


def test_agrees_with_the_definition_on_every_prefix_whatever_the_operators():
    rng = np.random.default_rng(0)
    seen = set()
    for formula in random_formulas(500, seed=1):
        seen.update(map(type, formula.subformulas()))
        length, traces = 9, 12
        labels = {atom: rng.integers(0, 2, (length, traces)).astype(float) for atom in ("a", "b")}
        monitor = synthesize_boolean(formula)
        state = monitor.initial_state(batch=traces)
        for step in range(length):
            state, values = monitor.step(state, {atom: column[step] for atom, column in labels.items()})
            prefix = {atom: column[: step + 1] for atom, column in labels.items()}
            assert values.tolist() == value_by_definition(formula, prefix).tolist(), (str(formula), step)
    assert seen >= {*CONNECTIVES, *FUTURE, *PAST}


def test_agrees_with_the_definition_on_every_short_trace():
    letters = list(itertools.product((0.0, 1.0), repeat=2))
    words = list(itertools.product(letters, repeat=4))
    batch = {atom: np.array([[letter[k] for letter in word] for word in words]).T for k, atom in enumerate("ab")}
    for formula in random_formulas(150, seed=2):
        monitor = synthesize_boolean(formula)
        values = monitor.run(batch)
        for step in range(4):
            prefix = {atom: column[: step + 1] for atom, column in batch.items()}
            assert values[step].tolist() == value_by_definition(formula, prefix).tolist(), str(formula)


def test_no_two_states_are_alike():
    letters = [dict(zip("ab", bits, strict=True)) for bits in itertools.product((0, 1), repeat=2)]
    small = 0
    for formula in random_formulas(150, seed=3):
        monitor = synthesize_boolean(formula)
        if len(monitor.states) > 60:
            continue
        small += 1
        # Brute force: states that agree on every continuation of up to n letters, for n up to the number of states.
        block = {state: int(state in monitor.accepting) for state in monitor.states}
        for _ in monitor.states:
            signature = {s: (block[s], *(block[monitor.step(s, x)[0]] for x in letters)) for s in monitor.states}
            numbers = {key: number for number, key in enumerate(dict.fromkeys(signature.values()))}
            block = {state: numbers[signature[state]] for state in monitor.states}
        assert len(set(block.values())) == len(monitor.states), str(formula)
    assert small > 100


@pytest.mark.parametrize(
    ("formula", "states"),
    [
        ("F[0,1000] p", 1003),  # a countdown, and two sinks
        ("F[10,1000] p", 1003),
        ("X[1000] p", 1003),
        ("F{1000} p", 1001),
        ("G{500} p", 502),
        ("G(a -> F[0,50] b)", 52),  # only the oldest request counts
        ("G(a -> F[0,1000] b)", 1002),
        ("G(a -> G[0,1000] b)", 1002),
        ("F(a & F[0,1000] b)", 1002),
        ("G(a -> (b U[0,1000] c))", 1002),
        ("F(a & G[0,50] b)", 52),
        ("G(a -> O[0,1000] b)", 1002),
        ("now H[0,1000] p", 1002),
        ("now (a S[0,1000] b)", 1002),
        ("G(a -> X[8] b)", 257),  # the last eight letters have to be known
        ("G(a -> Y[8] b)", 257),
    ],
)
def test_long_intervals_are_counters(formula, states):
    monitor = synthesize_boolean(formula)
    assert len(monitor.states) == states
    rng = np.random.default_rng(0)
    labels = {atom: (rng.random((60, 1)) < 0.7).astype(float) for atom in monitor.atoms}
    for step, values in enumerate(monitor.run(labels)):
        prefix = {atom: column[: step + 1] for atom, column in labels.items()}
        if step % 7 == 0:
            assert values.tolist() == value_by_definition(parse(formula), prefix).tolist()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("F[2,4] a", "X[2](a | X a | X X a)"),
        ("G[1,2] a", "WX a & WX WX a"),
        ("a U[1,2] b", "a & X(b | a & X b)"),
        ("a R[0,1] b", "b & (a | WX b)"),
        ("F{2} a", "F(a & X F a)"),
        ("G{1} a", "!F{2} !a"),
        ("G(a -> O[0,2] b)", "G(a -> b | Y b | Y Y b)"),
        ("G(a -> H[0,1] b)", "G(a -> b & WY b)"),
        ("G(b S a)", "G O a & G(a | b)"),
        ("G(c -> b T[0,1] a)", "G(c -> a & (b | WY a))"),
        ("F(a & Y b)", "F(b & X a)"),
        ("now O a", "F a"),
        ("now H a", "G a"),
        ("G(first -> a)", "a"),
        ("O a", "a"),  # at the first step, all of the past is that step
        ("1 * F a", "F a"),
    ],
)
def test_equal_formulas_have_one_automaton(left, right):
    names = [atom for text in (left, right) for atom in parse(text).atoms]
    order = " & ".join(f"({name} | !{name})" for name in sorted(set(names)))  # both number the atoms alike
    left_monitor, right_monitor = (synthesize_boolean(f"{order} & ({text})") for text in (left, right))
    assert left_monitor.table == right_monitor.table
    assert left_monitor.accepting == right_monitor.accepting


@pytest.mark.parametrize(
    "text",
    [
        "F[0,1000000000] p",
        "G(a -> O[0,1000000] b)",
        "G(a -> X[30] b)",
        "G(a -> Y[30] b)",
        "F{1000000} p",
        "F p & X[99] q",
    ],
)
def test_what_is_too_large_is_refused_by_name(text):
    with pytest.raises(SynthesisError, match="max_states") as caught:
        synthesize_boolean(text, max_states=100)
    assert isinstance(caught.value.subformula, fm.Formula)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("G(a -> O(b & F c))", r"`F c` looks ahead, and stands under O, which looks back.*`evaluate`"),
        ("a S[0,3] X b", r"`X b` looks ahead, and stands under S\[0,3\]"),
        ("G(a -> 0.5)", r"The number 0.5 gives values between 0 and 1.*`synthesize`"),
        ("F(0.8 * a)", r"The scale of `0.8 \* a` gives values"),
        ("F[0,20;0.9] a", r"The discount of F\[0,20;0.9\] gives values"),
        ("G(a -> H[;0.5] b)", r"The discount of H\[;0.5\]"),
    ],
)
def test_what_no_automaton_says_is_refused_with_a_remedy(text, message):
    with pytest.raises(SynthesisError, match=message) as caught:
        synthesize_boolean(text)
    assert caught.value.subformula in set(parse(text).subformulas())

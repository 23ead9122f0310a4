"""Decision diagrams compute what truth tables compute, and guards say which letters lead where."""

import itertools
import random

import pytest

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import Atom, Formula
from rewardspec.logic.semantics import evaluate
from rewardspec.machines.effort_limit import Effort
from rewardspec.synthesis.boolean.decision_diagrams import BooleanDiagrams, DecisionTable, Diagram, Diagrams
from rewardspec.synthesis.boolean.guards import Transitions, cover, guard

VARIABLES = 4
LETTERS = list(itertools.product((False, True), repeat=VARIABLES))
ATOMS = [Atom(name) for name in "abcd"]


def random_diagram(seed: int, store: Diagrams, leaves: list) -> Diagram:
    """A function of four variables with random values."""
    random_ = random.Random(seed)
    return diagram_of(store, [random_.choice(leaves) for _ in LETTERS])


def diagram_of(store: Diagrams, values: list) -> Diagram:
    """The function with the given value for each letter."""
    row = [store.leaf(value) for value in values]
    for variable in reversed(range(VARIABLES)):
        row = [store.node(variable, low, high) for low, high in zip(row[::2], row[1::2], strict=True)]
    return row[0]


def value_at(store: Diagrams, diagram: Diagram, letter: tuple[bool, ...]) -> object:
    while store.value(diagram) is None:
        diagram = (store.highs if letter[store.variables[diagram]] else store.lows)[diagram]
    return store.value(diagram)


def holds(formula: Formula, letter: tuple[bool, ...]) -> bool:
    return bool(evaluate(formula, {atom.name: [value] for atom, value in zip(ATOMS, letter, strict=True)}))


def test_equal_functions_are_one_diagram():
    logic = BooleanDiagrams()
    a, b = logic.variable(0), logic.variable(1)
    neither = logic.conjunction(logic.negation(a), logic.negation(b))
    assert neither == logic.negation(logic.disjunction(b, a))
    assert logic.disjunction(a, logic.negation(a)) == logic.true


@pytest.mark.parametrize("seed", range(20))
def test_operations_are_those_of_truth_tables(seed):
    logic = BooleanDiagrams()
    f, g, h = (random_diagram(3 * seed + k, logic, [False, True]) for k in range(3))
    for letter in LETTERS:
        x, y, z = (value_at(logic, diagram, letter) for diagram in (f, g, h))
        assert value_at(logic, logic.conjunction(f, g), letter) == (x and y)
        assert value_at(logic, logic.disjunction(f, g), letter) == (x or y)
        assert value_at(logic, logic.negation(f), letter) == (not x)
        assert value_at(logic, logic.choice(f, g, h), letter) == (y if x else z)


def test_apply_combines_leaves_of_any_kind():
    store = Diagrams[str]()
    f, g = (random_diagram(seed, store, ["x", "y", "z"]) for seed in (1, 2))

    def join(left, right):
        values = store.value(left), store.value(right)
        return None if None in values else store.leaf("".join(values))

    both = store.apply(join, f, g)
    for letter in LETTERS:
        assert value_at(store, both, letter) == value_at(store, f, letter) + value_at(store, g, letter)


def test_leaves_come_in_the_order_of_the_first_letter_that_leads_to_them():
    store = Diagrams[int]()
    for seed in range(20):
        diagram = random_diagram(seed, store, list(range(5)))
        assert store.leaves(diagram) == list(dict.fromkeys(value_at(store, diagram, letter) for letter in LETTERS))


def test_diagrams_of_thousands_of_variables_need_no_recursion():
    logic = BooleanDiagrams()
    everything = logic.true
    for variable in reversed(range(5000)):
        everything = logic.conjunction(logic.variable(variable), everything)
    assert logic.disjunction(everything, logic.negation(everything)) == logic.true
    atoms = [Atom(f"p{k}") for k in range(5000)]
    assert len(guard(logic, everything, atoms).args) == 5000


def test_work_beyond_the_budget_is_refused():
    logic = BooleanDiagrams(Effort(3))
    diagram = random_diagram(0, logic, [False, True])
    with pytest.raises(SynthesisError):
        logic.negation(diagram)


@pytest.mark.parametrize("seed", range(30))
def test_a_cover_is_the_function_and_has_nothing_to_spare(seed):
    logic = BooleanDiagrams()
    diagram = random_diagram(seed, logic, [False, False, True] if seed % 2 else [False, True, True])
    cubes = cover(logic, diagram)

    def covered(cubes, letter):
        return any(all(letter[v] == is_true for v, is_true in cube) for cube in cubes)

    truth = [value_at(logic, diagram, letter) for letter in LETTERS]
    assert [covered(cubes, letter) for letter in LETTERS] == truth
    for left_out in cubes:
        assert [covered([cube for cube in cubes if cube != left_out], letter) for letter in LETTERS] != truth


@pytest.mark.parametrize("seed", range(30))
def test_a_guard_holds_for_exactly_the_letters_of_its_diagram(seed):
    logic = BooleanDiagrams()
    diagram = random_diagram(seed, logic, [False, True])
    formula = guard(logic, diagram, ATOMS)
    for letter in LETTERS:
        assert holds(formula, letter) == value_at(logic, diagram, letter)


def test_guards_are_short():
    logic = BooleanDiagrams()
    a, b, c, d = map(logic.variable, range(4))
    several = logic.disjunction(logic.conjunction(a, b), logic.conjunction(c, d))
    cases = {
        "true": logic.true,
        "false": logic.false,
        "a & !b": logic.conjunction(a, logic.negation(b)),
        "!a | b": logic.disjunction(logic.negation(a), b),
        "a & !b | !a & b": logic.choice(a, logic.negation(b), b),
        "a & b | c & d": several,
        "!(a & b | c & d)": logic.negation(several),
    }
    assert {str(guard(logic, diagram, ATOMS)): diagram for diagram in cases.values()} == cases


def test_a_guard_without_a_short_cover_follows_its_diagram():
    logic = BooleanDiagrams()
    parity = logic.false
    for variable in reversed(range(20)):
        parity = logic.choice(logic.variable(variable), logic.negation(parity), parity)
    assert cover(logic, parity) is None
    formula = guard(logic, parity, [Atom(f"p{k}") for k in range(20)])
    assert str(formula).startswith("p0 ^ (p1 ^ (p2 ^")


def test_a_table_does_what_its_diagrams_do():
    store = Diagrams[int]()
    roots = [random_diagram(seed, store, list(range(6))) for seed in range(6)]
    table = DecisionTable.from_diagrams(store, roots)
    again, roots_again = table.to_diagrams()
    assert DecisionTable.from_diagrams(again, roots_again) == table
    transitions = Transitions(table, [atom.name for atom in ATOMS])
    assert list(transitions) == list(range(6))
    for state, letter in itertools.product(range(6), LETTERS):
        expected = value_at(store, roots[state], letter)
        assert table.successor(state, sum(value << k for k, value in enumerate(letter))) == expected
        assert [target for formula, target in transitions[state] if holds(formula, letter)] == [expected]
    with pytest.raises(KeyError):
        transitions[6]


def test_reaching_follows_letters_backwards():
    store = Diagrams[int]()
    leaf = store.leaf
    roots = [store.node(0, leaf(0), leaf(1)), leaf(2), leaf(2), store.node(3, leaf(3), leaf(0))]
    table = DecisionTable.from_diagrams(store, roots)
    assert table.reaching([1]) == {0, 1, 3}
    assert table.reaching([3]) == {3}
    assert table.reaching([]) == frozenset()


# Chains: variables 1, 2 and 3 each imply the next.


def _possible(letter: tuple[bool, ...]) -> bool:
    return letter[1] <= letter[2] <= letter[3]


@pytest.mark.parametrize("seed", range(30))
def test_functions_are_one_diagram_exactly_where_they_agree_on_what_chains_allow(seed):
    logic = BooleanDiagrams(chain_ends={1: 3, 2: 3, 3: 3})
    random_ = random.Random(seed)
    values = [random_.random() < 0.5 for _ in LETTERS]
    diagram = diagram_of(logic, values)
    for flipped, letter in enumerate(LETTERS):
        others = [not value if k == flipped else value for k, value in enumerate(values)]
        assert (diagram_of(logic, others) == diagram) == (not _possible(letter))


@pytest.mark.parametrize("seed", range(20))
def test_operations_with_chains_are_those_of_truth_tables(seed):
    plain, chained = BooleanDiagrams(), BooleanDiagrams(chain_ends={1: 3, 2: 3, 3: 3})
    f, g, h = (random_diagram(3 * seed + k, plain, [False, True]) for k in range(3))
    expected = plain.choice(f, g, h)
    f, g, h = (random_diagram(3 * seed + k, chained, [False, True]) for k in range(3))
    result = chained.choice(f, g, h)
    for letter in filter(_possible, LETTERS):
        assert value_at(chained, result, letter) == value_at(plain, expected, letter)
    assert chained.conjunction(chained.variable(1), chained.variable(3)) == chained.variable(1)
    assert chained.disjunction(chained.variable(1), chained.variable(3)) == chained.variable(3)

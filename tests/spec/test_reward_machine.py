import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardspec as rs
from rewardspec.lab.tasks import worlds
from rewardspec.spec.reward_machine import LOST, RewardMachine
from tests.strategies import random_formula

ATOMS = ("a", "b")
LETTERS = [dict(zip(ATOMS, letter, strict=True)) for letter in itertools.product((0, 1), repeat=2)]
GUARDS = ["a", "!a", "b", "!b", "a & b", "a & !b", "!a & !b", "a | b", "true"]


def random_machine(rng):
    edges = [(rng.randrange(3), rng.randrange(4), rng.choice(GUARDS), rng.choice((0, 0, 1))) for _ in range(6)]
    edges.append((0, rng.randrange(1, 4), rng.choice(GUARDS), 0))
    return RewardMachine.from_edges(edges, [3], unmatched=rng.choice(("ends", "pays")))


def literal_step(machine, state, labels):
    """The definition, edge by edge."""
    own = [edge for edge in machine.edges if edge.source == state]
    if not own:
        return state, 0.0
    for edge in own:
        if rs.evaluate(edge.guard, {name: [value] for name, value in labels.items()}) == 1.0:
            return edge.target, edge.reward
    ends = [edge.reward for edge in own if edge.target in machine.terminal]
    return LOST, ends[-1] if machine.unmatched == "pays" and ends else 0.0


@pytest.mark.parametrize("seed", range(30))
def test_a_step_takes_the_first_edge_that_matches(seed):
    machine = random_machine(random.Random(seed))
    for state, labels in itertools.product(machine.states, LETTERS):
        assert machine.step(state, labels) == literal_step(machine, state, labels)


@pytest.mark.parametrize("seed", range(60))
def test_the_machine_of_a_formula_pays_once_when_it_becomes_true(seed):
    rng = random.Random(seed)
    formula = random_formula(rng, 4, ATOMS)
    if rs.synthesize_boolean(formula).bounds(0)[1] == 0.0:
        with pytest.raises(rs.SpecError, match="never become true"):
            RewardMachine.from_formula(formula)
        return
    machine = RewardMachine.from_formula(formula)
    for _ in range(10):
        trace = {name: [rng.randrange(2) for _ in range(6)] for name in ATOMS}
        holds = np.asarray(rs.evaluate_prefixes(formula, trace)) == 1.0
        expected = np.zeros(6)
        expected[np.flatnonzero(holds)[:1]] = 1.0
        np.testing.assert_array_equal(machine.run(trace), expected)


def in_language(machine, trace):
    return machine.run(trace).max() > 0.0


@pytest.mark.parametrize("seed", range(40))
def test_a_difference_is_a_shortest_trace_that_tells_two_machines_apart(seed):
    rng = random.Random(seed)
    one, two = random_machine(rng), random_machine(rng)
    found = one.difference(two)
    for length in range(1, 4):
        for letters in itertools.product(LETTERS, repeat=length):
            trace = {name: [letter[name] for letter in letters] for name in ATOMS}
            if in_language(one, trace) != in_language(two, trace):
                assert found is not None
                assert len(next(iter(found.trace.values()))) == length
                assert (in_language(one, found.trace), in_language(two, found.trace)) == (found.first, found.second)
                return
    assert found is None or len(next(iter(found.trace.values()))) > 3


@pytest.mark.parametrize("seed", range(30))
def test_a_formula_and_its_machine_have_one_language(seed):
    formula = random_formula(random.Random(seed), 3, ATOMS)
    eventually = rs.formulas.Eventually(rs.formulas.And(rs.parse("a"), rs.formulas.Or(formula, rs.parse("b"))))
    monitor = rs.synthesize_boolean(eventually)
    machine = RewardMachine.from_formula(eventually)
    found = machine.difference(eventually)
    if all(monitor.bounds(s)[0] == 1.0 for s in monitor.accepting if s != 0):  # once true, always true
        assert found is None
    elif found is not None:  # a formula can become false again; what was paid stays paid
        assert found.first
        assert not found.second


@pytest.mark.parametrize("seed", range(20))
def test_the_text_format_says_it_all(seed):
    machine = random_machine(random.Random(seed))
    assert RewardMachine.from_text(machine.to_text(), machine.unmatched) == machine


@pytest.mark.parametrize(
    "line",
    [
        "(0,1,'a',__import__('os').system('true'))",
        "(0,1,'a',RewardControl())",
        "(0,1,'F a',ConstantRewardFunction(1))",
        "(0,1,'a &',ConstantRewardFunction(1))",
        "(0,1,'a',ConstantRewardFunction(1e999))",
        "print(1)",
        "(0,-1,'a',1)",
    ],
)
def test_what_is_no_edge_is_refused_and_nothing_is_run(line):
    with pytest.raises(rs.SpecError):
        RewardMachine.from_text(f"0\n[1]\n(0,0,'!a',0)\n{line}")


def test_comments_and_spaces_of_the_published_files_are_read():
    text = """0 # initial state
[2] # terminal state
(0,0,'!f&!n', ConstantRewardFunction(0))
(0,1,'f&!n',ConstantRewardFunction(0.5))   # coffee
(1,2,"g|!n&f",ConstantRewardFunction(1))
(1,1,'True',ConstantRewardFunction(0))
"""
    machine = RewardMachine.from_text(text)
    assert machine.step(0, {"f": 1, "n": 0, "g": 0}) == (1, 0.5)
    assert machine.step(1, {"f": 0, "n": 1, "g": 1}) == (2, 1.0)
    assert machine.step(1, {"f": 1, "n": 1, "g": 0}) == (1, 0.0)
    assert "ConstantRewardFunction" not in machine.to_svg()
    assert "s0" in machine.to_dot()


@pytest.mark.parametrize("world", ["office", "craft"])
def test_as_meant_the_published_machines_say_what_the_formulas_say(world):
    grid = worlds.office_world() if world == "office" else worlds.craft_world(3)
    for machine, formula in zip(worlds.machines(world), worlds.formulas(world), strict=True):
        assert machine.difference(formula, grid.events) is None
        assert RewardMachine.from_formula(formula).difference(machine, grid.events) is None


def test_as_run_the_office_machines_pay_for_a_broken_plant():
    traces = []
    for machine, formula in zip(worlds.machines("office", "pays"), worlds.formulas("office"), strict=True):
        found = machine.difference(formula, worlds.office_world().events)
        assert found.first
        assert not found.second
        traces.append(str(found).partition(":")[0])
    assert traces == ["f; n", "e; n", "e; f; n", "a; b; c; n"]


@st.composite
def machines(draw):
    """Machines whose guards have any atoms and whose rewards are any numbers."""
    names = st.one_of(st.sampled_from(("a", "x > 5", "True", "#", "it's", '"', "\\n")), st.text(min_size=1, max_size=6))
    atoms = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    literals = st.sampled_from(atoms).map(rs.formulas.Atom)
    guards = st.recursive(
        st.one_of(literals, st.just(rs.formulas.TRUE)),
        lambda inner: st.one_of(
            inner.map(rs.formulas.Not),
            st.tuples(inner, inner).map(lambda pair: rs.formulas.And(*pair)),
            st.tuples(inner, inner).map(lambda pair: rs.formulas.Or(*pair)),
            st.tuples(inner, inner).map(lambda pair: rs.formulas.Implies(*pair)),
            st.tuples(inner, inner).map(lambda pair: rs.formulas.Xor(*pair)),
        ),
        max_leaves=5,
    )
    rewards = st.floats(allow_nan=False, allow_infinity=False)
    rows = st.lists(st.tuples(st.just(0), st.integers(0, 10**12), guards, rewards), min_size=1, max_size=4)
    return RewardMachine.from_edges(draw(rows), draw(st.lists(st.integers(1, 10**12), max_size=2)))


@given(machines())
def test_text_reads_back_as_the_same_machine(machine):
    assert RewardMachine.from_text(machine.to_text()) == machine


class CountingEdges(tuple):
    """Edges that count how often they are gone through."""

    passes = 0

    def __iter__(self):
        CountingEdges.passes += 1
        return super().__iter__()

    def __reversed__(self):
        CountingEdges.passes += 1
        return reversed(list(super().__iter__()))


def test_a_machine_of_many_states_is_gone_through_as_often_as_one_of_few():
    passes = []
    for count in (10, 200):
        CountingEdges.passes = 0
        edges = CountingEdges(rs.RewardMachine.from_edges([(k, k + 1, "a", k) for k in range(count)], [count]).edges)
        machine = RewardMachine(edges, 0, frozenset({count}))
        machine.run({"a": [1] * count})
        machine.to_text()
        passes.append(CountingEdges.passes)
    assert passes[0] == passes[1]

"""The promise: after every step the monitor's value is the formula's value on the trace so far, and it is small."""

import json
import random
from pathlib import Path

import pytest

import rewardspec as rs
from rewardspec.machines.polynomials import variables
from rewardspec.synthesis.quantitative import compiler, reduction, unrolling
from tests.strategies import random_formula, random_trace

DATA = Path(__file__).parent.parent / "data"
PATTERNS = json.loads((DATA / "patterns.json").read_text())
VALUES = json.loads((DATA / "values.json").read_text())


def sequence(n):
    return "".join(f"F(a{k} & " for k in range(1, n)) + f"F a{n}" + ")" * (n - 1)


def responses(n):
    return " & ".join(f"G(a{k} -> F b{k})" for k in range(1, n + 1))


@pytest.mark.parametrize("seed", range(8))
def test_after_every_prefix_the_value_is_the_definition(seed):
    # Eight seeds of 3,000 prefixes each: 24,000 in all, over every operator, up to depth 6, with three atoms.
    rng = random.Random(seed)
    prefixes = refused = 0
    while prefixes < 3_000:
        formula = random_formula(rng, depth=rng.randint(1, 6), atoms=("a", "b", "c"))
        try:
            monitor = rs.synthesize(formula)
        except rs.SynthesisError:
            refused += 1
            continue
        for _ in range(3):
            trace = random_trace(rng, length=rng.randint(1, 10), atoms=("a", "b", "c"))
            assert monitor.run(trace).tolist() == rs.evaluate_prefixes(formula, trace), str(formula)
            prefixes += len(trace["a"])
    assert refused <= 8, "the budget should refuse next to none of these"


@pytest.mark.parametrize("case", VALUES, ids=lambda case: case["formula"][:40])
def test_golden_values_agree(case):
    assert rs.synthesize(case["formula"]).run(case["trace"]).tolist() == case["values"]


@pytest.mark.parametrize(
    ("formula", "registers"),
    [
        ("F p", 1),
        ("G p", 1),
        ("F G p", 0),
        ("G F p", 0),
        ("p", 1),
        ("a U b", 2),
        ("G(a -> F b)", 1),
        ("F(a & F b)", 2),
        ("!a U (a & F b)", 3),
        ("true", 0),
        ("F G a & G F b | G F c", 0),
    ],
)
def test_register_counts(formula, registers):
    assert len(rs.synthesize(formula).registers) == registers


@pytest.mark.parametrize("case", PATTERNS, ids=lambda case: case["name"])
def test_patterns_stay_within_the_prototypes_registers(case):
    assert len(rs.synthesize(case["formula"]).registers) <= case["registers_at_most"]


def test_most_patterns_beat_the_prototype():
    smaller = [c["name"] for c in PATTERNS if len(rs.synthesize(c["formula"]).registers) < c["registers_at_most"]]
    assert len(smaller) >= 28


@pytest.mark.parametrize("n", [1, 2, 10, 100])
def test_long_sequences_and_many_responses_need_one_register_for_each(n):
    assert len(rs.synthesize(sequence(n)).registers) == n
    assert len(rs.synthesize(responses(n)).registers) == n


def test_control_states_never_exceed_the_size_plus_one():
    rng = random.Random(1)
    for _ in range(150):
        formula = random_formula(rng, depth=rng.randint(1, 5), atoms=("a", "b"))
        assert len(rs.synthesize(formula).states) <= formula.size + 1, str(formula)


@pytest.mark.parametrize(
    ("formula", "update"),
    [
        ("F p", "max(max[p], p)"),
        ("G(a -> F b)", "max(b, min(value, !a))"),
    ],
)
def test_machines_read_as_people_would_write_them(formula, update):
    monitor = rs.synthesize(formula)
    ((_, expression),) = monitor.updates[0].items()
    assert expression.to_string(dict(enumerate(monitor.registers))) == update


def test_a_bare_atom_is_read_once_and_kept():
    monitor = rs.synthesize("p")
    assert monitor.successors == (1, 1)
    assert monitor.run({"p": [0.25, 1.0, 0.0]}).tolist() == [0.25, 0.25, 0.25]


def test_equal_registers_of_different_parts_are_one():
    # Both conjuncts track the largest `a` so far.
    together = rs.synthesize("F(a & F b) & F(a & F c)")
    assert len(together.registers) == 3


def test_synthesis_is_deterministic():
    formula = "G((q & !r & F r) -> (p -> (!r U (s & !r))) U r)"
    assert rs.synthesize(formula).to_json() == rs.synthesize(formula).to_json()


def test_a_formula_past_the_budget_is_refused_by_name():
    hard = "F(" + " & ".join(f"(p{k} | G q{k})" for k in range(12)) + ")"
    with pytest.raises(rs.SynthesisError) as caught:
        rs.synthesize(f"G safe & {hard}")
    message = str(caught.value)
    assert "max_registers" in message
    assert "256" in message
    assert "p11 | G q11" in message
    assert "safe" not in message


def test_the_budget_is_a_parameter():
    with pytest.raises(rs.SynthesisError, match="more than 5 registers"):
        rs.synthesize(sequence(6), max_registers=5)
    assert len(rs.synthesize(sequence(6), max_registers=6).registers) == 6


@pytest.mark.parametrize("budget", [-1, 1.5, "many", True])
def test_a_senseless_budget_is_refused(budget):
    with pytest.raises(rs.SynthesisError, match="max_registers"):
        rs.synthesize("F p", max_registers=budget)


@pytest.mark.parametrize(
    "text",
    [
        "!" * 10_000 + "a",
        "(" * 10_000 + "a" + ")" * 10_000,
        "F G " * 5_000 + "a",
        " & ".join(["F a"] * 10_000),
        "X " * 10_000 + "a",
        "a U (" * 10_000 + "b" + ")" * 10_000,
        "a U (b U (" * 5_000 + "c" + "))" * 5_000,
        "F(a & " * 10_000 + "b" + ")" * 10_000,
        "F(a & G(b | " * 5_000 + "c" + "))" * 5_000,
        "a <-> X(b <-> " * 5_000 + "c" + ")" * 5_000,
    ],
    ids=lambda text: text[:14],
)
def test_ten_thousand_deep_is_built_or_refused_but_never_overflows(text):
    trace = {"a": [0.5, 1.0, 0.25], "b": [0.0, 0.75, 1.0], "c": [0.25, 0.25, 0.25]}
    formula = rs.parse(text)
    monitor, refusal = None, ""
    try:
        monitor = rs.synthesize(formula)
    except rs.SynthesisError as error:
        refusal = str(error)
    if monitor is None:
        assert "max_registers" in refusal
    else:
        assert monitor.run(trace)[-1] == rs.evaluate(formula, trace)


@pytest.mark.parametrize("formula", ["F{40} a", "G{40} a", "F{40}(a & X b)", "G{35}(a U b)", "F{36} a | F{34} b"])
@pytest.mark.parametrize("progress", [False, True])
def test_a_count_with_a_long_stem_has_the_value_of_the_definition(formula, progress):
    rng, monitor = random.Random(formula), rs.synthesize(formula, progress=progress)
    for _ in range(4):
        trace = random_trace(rng, length=90, atoms=("a", "b"))
        trace = {atom: trace[atom] for atom in monitor.atoms}
        assert monitor.run(trace).tolist() == rs.evaluate_prefixes(formula, trace)


@pytest.mark.parametrize("formula", ["F{250} a", "G{250} a"])
def test_the_stem_of_a_count_is_not_made(formula, monkeypatch):
    sizes = []

    def unroll(*arguments):
        lasso = unrolling.unroll(*arguments)
        sizes.append((len(lasso.phases), sum(len(phase.updates) for phase in lasso.phases)))
        return lasso

    monkeypatch.setattr(compiler, "unroll", unroll)
    rs.synthesize(formula)
    assert sizes
    assert all(phases <= 2 and updates <= 600 for phases, updates in sizes), sizes


@pytest.mark.parametrize("formula", ["F{200} a", "G{200} a"])
def test_registers_are_found_to_be_read_once_each(formula, monkeypatch):
    calls = []
    monkeypatch.setattr(reduction, "variables", lambda polynomial: calls.append(0) or variables(polynomial))
    rs.synthesize(formula)
    assert 0 < len(calls) < 10_000  # once in each of a few passes over about 200 registers, twice built


def test_a_name_is_not_made_from_shared_parts_that_are_too_long():
    monitor = rs.synthesize("F(" + " ^ ".join("abcdefghijklmnopqrstuvwxyz") + ")")
    assert max(map(len, monitor.registers)) <= 50

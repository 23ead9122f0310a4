"""Boolean monitors are the formulas' minimal automata, and run alike in every array library."""

import itertools
import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rewardspec.errors import Error, LabelError, SynthesisError
from rewardspec.logic import formulas as fm
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from rewardspec.machines.verdicts import Verdict
from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor, synthesize_boolean

GOLDEN = json.loads((Path(__file__).parent.parent / "data" / "dfa_sizes.json").read_text(encoding="utf-8"))

UNARY = (fm.Not, fm.Next, fm.WeakNext, fm.Eventually, fm.Always)
BINARY = (fm.And, fm.Or, fm.Implies, fm.Iff, fm.Xor, fm.Until, fm.Release, fm.WeakUntil, fm.StrongRelease)

RESPONSES = " & ".join(f"G(a{k} -> F b{k})" for k in range(1, 11))
SEQUENCE = "".join(f"F(p{k} & " for k in range(1, 20)) + "F p20" + ")" * 19


def random_formula(random_: random.Random, size: int, atoms: str = "ab") -> fm.Formula:
    """A formula with about `size` operators and atoms, over all operators."""
    if size <= 1:
        return fm.Atom(random_.choice(atoms)) if random_.random() < 0.9 else fm.Constant(random_.random() < 0.5)
    if random_.random() < 0.35:
        return random_.choice(UNARY)(random_formula(random_, size - 1, atoms))
    left = random_.randint(1, size - 1)
    return random_.choice(BINARY)(random_formula(random_, left, atoms), random_formula(random_, size - left, atoms))


def random_formulas(count: int, size: int, atoms: str = "ab") -> list[fm.Formula]:
    return [random_formula(random.Random(f"{size} {seed}"), size, atoms) for seed in range(count)]


def boolean_traces(atoms: str, length: int):
    """Every trace of the given length."""
    letters = list(itertools.product((0, 1), repeat=len(atoms)))
    for word in itertools.product(letters, repeat=length):
        yield dict(zip(atoms, map(list, zip(*word, strict=True)), strict=True))


def random_trace(seed: int, atoms, length: int) -> dict[str, list[int]]:
    random_ = random.Random(seed)
    return {atom: [random_.randint(0, 1) for _ in range(length)] for atom in atoms}


# The language.


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["formula"])
def test_has_as_many_states_as_the_minimal_automaton(case):
    assert len(synthesize_boolean(case["formula"]).states) == case["states"]


@pytest.mark.parametrize("size", [3, 6, 9, 12])
def test_agrees_with_the_definition_on_every_short_trace(size):
    for formula in random_formulas(25, size):
        monitor = synthesize_boolean(formula)
        for trace in boolean_traces("ab", 4):
            assert monitor.run(trace).tolist() == evaluate_prefixes(formula, trace), (formula, trace)


def test_agrees_with_the_definition_on_long_traces_of_many_atoms():
    for seed, formula in enumerate(random_formulas(30, 20, "abcde")):
        trace = random_trace(seed, "abcde", 12)
        assert synthesize_boolean(formula).run(trace).tolist() == evaluate_prefixes(formula, trace), formula


def test_no_two_states_are_alike():
    for formula in random_formulas(40, 12):
        monitor = synthesize_boolean(formula)
        # Brute force: states that agree on every continuation of up to n letters, for n up to the number of states.
        letters = [dict(zip("ab", bits, strict=True)) for bits in itertools.product((0, 1), repeat=2)]
        block = {state: int(state in monitor.accepting) for state in monitor.states}
        for _ in monitor.states:
            signature = {
                state: (block[state], *(block[_after(monitor, state, letter)] for letter in letters))
                for state in monitor.states
            }
            numbers = {key: number for number, key in enumerate(dict.fromkeys(signature.values()))}
            block = {state: numbers[signature[state]] for state in monitor.states}
        assert len(set(block.values())) == len(monitor.states), formula


def _after(monitor: BooleanMonitor, state: int, letter: dict[str, int]) -> int:
    return monitor.step(state, {atom: letter.get(atom, 0) for atom in monitor.atoms})[0]


def test_whether_the_initial_state_accepts_is_chosen_to_make_the_machine_small():
    assert len(synthesize_boolean("G a").states) == 2  # the initial state accepts
    assert len(synthesize_boolean("F a").states) == 2  # it does not
    assert len(synthesize_boolean("a").states) == 3  # it is like no other


def test_laws_of_truth_alone_hold_for_boolean_labels():
    assert len(synthesize_boolean("F(a & !a)").states) == 1
    assert synthesize_boolean("G(a | !a)").accepting == {0}


def test_constants_need_no_atoms():
    monitor = synthesize_boolean("true")
    assert monitor.atoms == ()
    assert monitor.step(0, {}) == (0, 1.0)


# States and edges.


def test_states_are_numbered_breadth_first_with_false_before_true():
    monitor = synthesize_boolean("a U b")
    edges = {s: [(str(guard), target) for guard, target in monitor.transitions[s]] for s in monitor.states}
    assert edges == {
        0: [("!a & !b", 1), ("b", 2), ("a & !b", 0)],
        1: [("true", 1)],
        2: [("true", 2)],
    }
    for formula in random_formulas(30, 15, "abc"):
        monitor = synthesize_boolean(formula)
        met = [monitor.initial]
        for state in met:
            met.extend(target for _, target in monitor.transitions[state] if target not in met)
        assert met == list(monitor.states)


def test_numbering_does_not_depend_on_the_hash_seed():
    program = (
        "from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean as s;"
        "print(s('G(a -> F(b & X c)) & (d U e | !(c W b))').to_json())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


def test_exactly_one_guard_holds_for_each_letter_and_leads_where_step_goes():
    for formula in random_formulas(30, 15, "abc"):
        monitor = synthesize_boolean(formula)
        for state, bits in itertools.product(monitor.states, itertools.product((0, 1), repeat=3)):
            letter = dict(zip("abc", bits, strict=True))
            trace = {atom: [value] for atom, value in letter.items()}
            targets = [target for guard, target in monitor.transitions[state] if evaluate(guard, trace)]
            assert targets == [_after(monitor, state, letter)]


def test_atoms_are_those_of_the_given_formula_even_if_they_do_not_matter():
    monitor = synthesize_boolean("F b & (a | !a)")
    assert monitor.atoms == ("b", "a")
    with pytest.raises(LabelError, match="'a'"):
        monitor.step(0, {"b": 1})


# Size.


def test_ten_response_properties_have_1024_states():
    monitor = synthesize_boolean(RESPONSES)
    assert len(monitor.states) == 1024
    trace = random_trace(0, monitor.atoms, 20)
    assert monitor.run(trace).tolist() == evaluate_prefixes(monitor.formula, trace)
    assert len(monitor.transitions[0]) == 1024
    assert synthesize_boolean("G(" + RESPONSES.replace("G", "") + ")").table == monitor.table


def test_a_sequence_of_twenty_has_21_states():
    monitor = synthesize_boolean(SEQUENCE)
    assert len(monitor.states) == 21
    assert [str(guard) for guard, _ in monitor.transitions[19]] == ["!p20", "p20"]


def test_many_atoms_alone_cost_little():
    atoms = [f"p{k}" for k in range(1500)]
    assert len(synthesize_boolean("G(" + " & ".join(atoms) + ")").states) == 2
    assert len(synthesize_boolean(" & ".join(f"G {atom}" for atom in atoms)).states) == 2
    assert len(synthesize_boolean("F(" + " ^ ".join(atoms[:30]) + ")").states) == 2


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("X " * 9000 + "a", 9003),
        ("a U (" * 10_000 + "b" + ")" * 10_000, 3),
        ("!" * 10_000 + "a", 3),
        ("G F " * 5000 + "a", 2),
    ],
    ids=["next", "until", "not", "always eventually"],
)
def test_deep_nesting_works(text, states):
    assert len(synthesize_boolean(text).states) == states


@pytest.mark.parametrize(
    "text",
    [
        "X " * 10_000 + "a",
        "a U (b U (" * 5000 + "c" + "))" * 5000,
        "X(a <-> " * 5000 + "b" + ")" * 5000,
        "(X a <-> " * 5000 + "b" + ")" * 5000,
        "F(a & " + "X " * 20 + "b)",
        " & ".join(f"F p{k}" for k in range(20)),
    ],
    ids=["next", "until", "equivalence", "equivalence at the top", "memory", "all of twenty"],
)
def test_what_is_too_large_is_refused_by_name(text):
    with pytest.raises(SynthesisError, match="max_states") as caught:
        synthesize_boolean(text, max_states=2000)
    assert isinstance(caught.value.subformula, fm.Formula)


def test_the_part_that_is_too_large_is_named_as_it_was_written():
    # Its negation normal form would fill pages: every equivalence doubles the text.
    part = "G((a <-> " + "X(a <-> " * 60 + "F b" + ")" * 60 + ") & (F c | d))"
    with pytest.raises(SynthesisError, match="a part of the formula") as caught:
        synthesize_boolean(f"F e & {part}", max_states=10)
    assert caught.value.subformula == parse(part)


def test_the_limit_on_states_is_that_of_the_finished_machine():
    assert len(synthesize_boolean("X X X a", max_states=6).states) == 6
    with pytest.raises(SynthesisError, match=r"X X X a.*more than 5 states"):
        synthesize_boolean("X X X a", max_states=5)
    with pytest.raises(SynthesisError, match=r"positive integer\. Received 0"):
        synthesize_boolean("a", max_states=0)


# Running.


def test_steps_are_pure():
    monitor = synthesize_boolean("F a")
    state = monitor.initial_state()
    assert monitor.step(state, {"a": 1}) == (1, 1.0)
    assert monitor.step(state, {"a": 0}) == (0, 0.0)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (1, 0),
        (1.0, 0.0),
        (True, False),
        (np.float32(1), np.float32(-0.0)),
        (np.True_, np.False_),
        (np.int16(1), np.int16(0)),
    ],
)
def test_labels_may_be_any_kind_of_0_and_1(true, false):
    monitor = synthesize_boolean("a U b")
    state, value = monitor.step(monitor.initial_state(), {"a": true, "b": false})
    assert (state, value) == (0, 0.0)
    assert (type(state), type(value)) == (int, float)
    assert monitor.step(state, {"a": false, "b": true}) == (2, 1.0)


@pytest.mark.parametrize("bad", [0.5, float("nan"), 2, -1, "1", None, float("inf")])
def test_other_labels_are_errors_that_name_atom_value_and_remedy(bad):
    monitor = synthesize_boolean("G(a -> F b)")
    shown = "NaN" if bad != bad else repr(bad)
    with pytest.raises(LabelError, match="'b'") as caught:
        monitor.step(0, {"a": 1, "b": bad})
    assert shown in str(caught.value)
    assert "Threshold" in str(caught.value)


def test_labels_in_a_batch_are_checked_too():
    monitor = synthesize_boolean("G(a -> F b)")
    state = monitor.initial_state(batch=3)
    with pytest.raises(LabelError, match=r"'b' at index 2 should be 0 or 1.*Received NaN"):
        monitor.step(state, {"a": np.zeros(3), "b": np.array([0.0, 1.0, np.nan])})
    with pytest.raises(LabelError, match=r"'a' should have shape \(3,\). Received shape \(4,\)"):
        monitor.step(state, {"a": np.zeros(4), "b": np.zeros(3)})
    with pytest.raises(LabelError, match="no label for atom 'b'"):
        monitor.step(state, {"a": np.zeros(3)})


def test_missing_labels_are_errors_with_a_hint():
    monitor = synthesize_boolean("F goal")
    with pytest.raises(LabelError, match=r"no label for atom 'goal'.*Did you mean 'goals'"):
        monitor.step(0, {"goals": 1})
    with pytest.raises(LabelError, match="should map each atom"):
        monitor.step(0, [1])


def test_states_that_do_not_exist_are_errors():
    monitor = synthesize_boolean("F a")
    for state in (2, -1):
        with pytest.raises(Error, match=f"one of 0 … 1. Received {state}"):
            monitor.step(state, {"a": 1})
    with pytest.raises(Error, match="array of integers"):
        monitor.step(np.zeros(2), {"a": np.zeros(2)})


def test_run_wants_boolean_traces():
    with pytest.raises(LabelError, match=r"At step 1: The label of 'a' should be 0 or 1"):
        synthesize_boolean("F a").run({"a": [0, 0.25]})
    with pytest.raises(LabelError, match="empty"):
        synthesize_boolean("F a").run({"a": []})


@pytest.mark.parametrize("text", ["G(a -> F b) & (c R !b)", "X X(a ^ b)", RESPONSES, "true"])
def test_a_batch_does_what_its_members_do_alone(text):
    monitor = synthesize_boolean(text)
    batch, length = 16, 8
    numbers = np.random.default_rng(0).integers(0, 2, (length, batch, len(monitor.atoms)))
    states, alone = monitor.initial_state(batch=batch), [monitor.initial_state()] * batch
    for step in range(length):
        labels = {atom: numbers[step, :, k].astype(float) for k, atom in enumerate(monitor.atoms)}
        states, values = monitor.step(states, labels)
        results = [
            monitor.step(alone[i], {atom: float(column[i]) for atom, column in labels.items()}) for i in range(batch)
        ]
        alone = [state for state, _ in results]
        assert states.tolist() == alone
        assert values.tolist() == [value for _, value in results]
        assert values.dtype == np.float64


def test_values_have_the_type_of_the_labels():
    monitor = synthesize_boolean("F a")
    state = monitor.initial_state(batch=2)
    for given, expected in [(np.float32, np.float32), (np.float64, np.float64), (bool, np.float64), (int, np.float64)]:
        assert monitor.step(state, {"a": np.zeros(2, dtype=given)})[1].dtype == expected


def test_run_takes_batches_time_first():
    monitor = synthesize_boolean("a U b")
    labels = {"a": np.array([[1, 0], [1, 1]]), "b": np.array([[0, 0], [1, 1]])}
    assert monitor.run(labels).tolist() == [[0, 0], [1, 0]]


def test_reset_puts_elements_back_to_the_start():
    monitor = synthesize_boolean("a U b")
    assert monitor.reset(2) == 0
    states = np.array([0, 1, 2], dtype=np.int32)
    assert monitor.reset(states).tolist() == [0, 0, 0]
    assert monitor.reset(states, np.array([False, False, True])).tolist() == [0, 1, 0]


def test_a_batch_may_have_any_shape_and_share_labels():
    monitor = synthesize_boolean("a U b")
    state = monitor.initial_state(batch=(2, 3))
    state, value = monitor.step(state, {"a": 1, "b": np.array([[0, 1, 0], [0, 0, 1]])})
    assert state.tolist() == [[0, 2, 0], [0, 0, 2]]
    assert value.sum() == 2
    state, _ = monitor.step(monitor.initial_state(), {"a": 0, "b": np.array([0, 1])})
    assert state.tolist() == [1, 2]


@pytest.mark.parametrize("text", ["G(a1 -> F b1) & (c R !b1)", RESPONSES])
def test_jax_agrees_inside_jit_vmap_and_scan(text):
    jax = pytest.importorskip("jax")
    monitor = synthesize_boolean(text)
    numbers = np.random.default_rng(1).integers(0, 2, (6, 5, len(monitor.atoms))).astype(np.float32)
    columns = {atom: numbers[..., k] for k, atom in enumerate(monitor.atoms)}
    expected = np.stack([monitor.run({a: c[:, i] for a, c in columns.items()}) for i in range(5)], axis=1)

    batched = jax.jit(lambda c: jax.lax.scan(monitor.step, monitor.initial_state(batch=5, xp=jax.numpy), c)[1])
    assert (np.asarray(batched(columns)) == expected).all()
    single = jax.vmap(lambda c: jax.lax.scan(monitor.step, monitor.initial_state(), c)[1], in_axes=1, out_axes=1)
    assert (np.asarray(single(columns)) == expected).all()
    state, values = monitor.step(monitor.initial_state(5, jax.numpy), {a: c[0] for a, c in columns.items()})
    assert isinstance(state, jax.Array)
    assert (np.asarray(values) == expected[0]).all()


def test_jax_pays_nan_for_labels_that_it_cannot_refuse():
    jax = pytest.importorskip("jax")
    monitor = synthesize_boolean("F a")
    labels = jax.numpy.array([[0.0, 0.5, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    run = jax.vmap(lambda a: jax.lax.scan(monitor.step, monitor.initial_state(), {"a": a})[1])
    values = np.asarray(run(labels))
    assert np.isnan(values[0]).tolist() == [False, True, True, True]
    assert values[1].tolist() == [0, 0, 1, 1]
    with pytest.raises(LabelError, match="'a' at index 1"):
        monitor.step(monitor.initial_state(2, jax.numpy), {"a": labels[0, :2]})


@pytest.mark.parametrize("text", ["G(a1 -> F b1) & (c R !b1)", RESPONSES])
def test_torch_agrees(text):
    torch = pytest.importorskip("torch")
    monitor = synthesize_boolean(text)
    numbers = torch.randint(0, 2, (6, 5, len(monitor.atoms)), generator=torch.Generator().manual_seed(0))
    state = monitor.initial_state(batch=5, xp=torch)
    alone = monitor.initial_state(batch=5)
    for step in range(6):
        labels = {atom: numbers[step, :, k].float() for k, atom in enumerate(monitor.atoms)}
        state, values = monitor.step(state, labels)
        alone, expected = monitor.step(alone, {atom: label.numpy() for atom, label in labels.items()})
        assert values.dtype == torch.float32
        assert values.tolist() == expected.tolist()
        assert state.tolist() == alone.tolist()
    with pytest.raises(LabelError, match="'b1' at index 4"):
        monitor.step(state, {**labels, "b1": torch.tensor([0.0, 1.0, 0.0, 1.0, 0.3])})


# What can still come.


def test_verdicts_and_bounds_are_those_of_all_continuations():
    for formula in random_formulas(30, 8):
        monitor = synthesize_boolean(formula)
        letters = [dict(zip("ab", bits, strict=True)) for bits in itertools.product((0, 1), repeat=2)]
        for state in monitor.states:
            seen = [state]  # every state that some continuation ends in, the empty one included
            for current in seen:
                seen.extend({_after(monitor, current, letter) for letter in letters} - set(seen))
            outcomes = {float(other in monitor.accepting) for other in seen}
            assert monitor.bounds(state) == (min(outcomes), max(outcomes))
            verdict = monitor.verdict(state)
            assert verdict.is_final == (len(outcomes) == 1)
            assert verdict.is_satisfied == (state in monitor.accepting)


def test_verdicts_of_prefixes_follow_the_definition():
    for formula in random_formulas(12, 5):
        monitor = synthesize_boolean(formula)
        if len(monitor.states) > 4:
            continue  # longer continuations than the ones below may be needed
        for trace in boolean_traces("ab", 2):
            state = monitor.initial_state()
            for step in range(2):
                state, _ = monitor.step(state, {atom: values[step] for atom, values in trace.items()})
            outcomes = {evaluate(formula, trace)}
            for length in (1, 2, 3):
                for rest in boolean_traces("ab", length):
                    outcomes.add(evaluate(formula, {atom: trace[atom] + rest[atom] for atom in "ab"}))
            assert monitor.bounds(state) == (min(outcomes), max(outcomes)), (formula, trace)


def test_the_four_verdicts():
    monitor = synthesize_boolean("(F a & G !b) | X X c")
    state = monitor.initial_state()
    verdicts = []
    for a, b, c in [(0, 0, 0), (1, 0, 0), (0, 0, 0), (0, 1, 0)]:
        state, _ = monitor.step(state, {"a": a, "b": b, "c": c})
        verdicts.append(monitor.verdict(state))
    assert verdicts == [
        Verdict.CURRENTLY_VIOLATED,
        Verdict.CURRENTLY_SATISFIED,
        Verdict.CURRENTLY_SATISFIED,
        Verdict.PERMANENTLY_VIOLATED,
    ]
    assert synthesize_boolean("F a").verdict(1) is Verdict.PERMANENTLY_SATISFIED


def test_bounds_of_a_batch():
    monitor = synthesize_boolean("a U b")
    lower, upper = monitor.bounds(np.array([0, 1, 2], dtype=np.int32))
    assert lower.tolist() == [0, 0, 1]
    assert upper.tolist() == [1, 0, 1]


# Values.


def test_monitors_are_values():
    monitor = synthesize_boolean("G(a -> F b)")
    assert monitor == synthesize_boolean(parse("G(a -> F b)"))
    assert hash(monitor) == hash(synthesize_boolean("G(a -> F b)"))
    assert monitor != synthesize_boolean("G(a -> F c)")
    assert monitor != synthesize_boolean("G(b -> F a)")
    with pytest.raises(AttributeError):
        monitor.accepting = frozenset()


def test_monitors_can_be_pickled_before_and_after_use():
    monitor = synthesize_boolean("G(a -> F b)")
    assert pickle.loads(pickle.dumps(monitor)) == monitor
    monitor.step(0, {"a": 1, "b": 0})
    monitor.step(monitor.initial_state(2), {"a": np.zeros(2), "b": np.ones(2)})
    assert len(monitor.transitions[0]) == 2
    again = pickle.loads(pickle.dumps(monitor))
    assert again == monitor
    assert again.step(0, {"a": 1, "b": 0}) == monitor.step(0, {"a": 1, "b": 0})


def test_repr_is_one_line():
    assert repr(synthesize_boolean("F a")) == "<BooleanMonitor of F a: 2 states, 1 accepting, atoms a>"
    assert "\n" not in repr(synthesize_boolean(RESPONSES))

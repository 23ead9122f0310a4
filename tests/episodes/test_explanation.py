"""The label said to decide a value is that value, and no other label matters while the order stays."""

import csv
import io
import random

import numpy as np
import pytest
from hypothesis import given

from rewardspec import LabelError
from rewardspec.episodes.causes import Decider, decide_prefixes
from rewardspec.episodes.explanation import explain
from rewardspec.errors import RecordingError
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from rewardspec.spec import Pair, Spec
from tests.strategies import ATOMS, formulas, random_formula, traces


@given(formulas(), traces())
def test_deciding_label_equals_the_value_on_every_prefix(formula, trace):
    values, deciders = decide_prefixes(formula, trace)
    assert values.tolist() == evaluate_prefixes(formula, trace)
    for last, (value, decider) in enumerate(zip(values, deciders, strict=True)):
        if decider.atom is None:
            assert value in (0.0, 1.0)
            assert decider.step in (None, last)
        else:
            label = trace[decider.atom][decider.step]
            assert decider.step <= last
            assert value == (1 - label if decider.negated else label)


def distinct_trace(rng, length):
    """Labels such that no two of them, nor of their complements, are equal or within 1/512 of each other."""
    chosen = rng.sample(range(1, 128), length * len(ATOMS))
    labels = iter((k if rng.random() < 0.5 else 256 - k) / 256 for k in chosen)
    return {atom: [next(labels) for _ in range(length)] for atom in ATOMS}


@pytest.mark.parametrize("seed", range(60))
def test_no_other_label_matters_while_the_order_stays(seed):
    rng = random.Random(seed)
    formula, length = random_formula(rng, 4), 5
    trace = distinct_trace(rng, length)
    values, deciders = decide_prefixes(formula, trace)
    value, decider = values[-1], deciders[-1]
    for atom in ATOMS:
        for step in range(length):
            changed = {name: list(column) for name, column in trace.items()}
            changed[atom][step] += rng.choice((-1, 1)) / 1024
            moved = evaluate(formula, changed) - value
            if (atom, step) == (decider.atom, decider.step):
                assert moved == (trace[atom][step] - changed[atom][step]) * (1 if decider.negated else -1)
            else:
                assert moved == 0


@pytest.mark.parametrize(
    ("formula", "trace", "expected"),
    [
        ("G a", {"a": [0.5, 0.5, 0.5]}, Decider(0, "a")),  # the earliest step
        ("a & b", {"a": [0.5], "b": [0.5]}, Decider(0, "a")),  # the first operand
        ("b | a", {"a": [0.5], "b": [0.5]}, Decider(0, "b")),
        ("!F a", {"a": [0.25, 0.75, 0.5]}, Decider(1, "a", negated=True)),
        ("!!a", {"a": [0.25]}, Decider(0, "a")),
        ("X a", {"a": [0.25]}, Decider(0, None)),  # the end of the trace
        ("X X a", {"a": [0.25, 0.5]}, Decider(1, None)),
        ("true", {"a": [0.25]}, Decider(None, None)),
        ("F a", {"a": [0.0, 0.0]}, Decider(0, "a")),  # a label, though the end would do as well
        ("a U b", {"a": [0.75, 0.5, 0.25], "b": [0.0, 0.25, 1.0]}, Decider(1, "a")),
    ],
)
def test_ties_and_ends(formula, trace, expected):
    assert decide_prefixes(formula, trace)[1][-1] == expected


SPEC = Spec([Pair("F goal", 2, name="reach"), ("G safe", 4), Pair("G !fall", 1, penalty=-5)], penalty=-1)
LABELS = {
    "goal": [0.0, 0.5, 0.25, 0.75, 0.75],
    "safe": [1.0, 0.5, 0.75, 0.0, 1.0],
    "fall": [0.0, 0.0, 0.25, 0.5, 1.0],
}


@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
def test_rewards_and_levels_are_those_of_the_spec(payment):
    spec = SPEC.replace(payment=payment)
    base = [1.0, 2.0, 3.0, 4.0]
    explanation = explain(spec, LABELS | {"rewards": base, "terminations": [False, False, False, True]})
    state = spec.start({name: column[0] for name, column in LABELS.items()})
    assert explanation[0].reward is None
    for row in explanation[1:]:
        labels = {name: column[row.step] for name, column in LABELS.items()}
        state, reward = spec.step(state, labels, base[row.step - 1], terminated=row.step == 4)
        assert row.reward == reward
        assert row.level == spec.level(state)
        assert row.values == spec.values(state)
        assert (row.vetoed_by is not None) == spec.violated(state)


def test_the_veto_with_the_lowest_penalty_is_named():
    explanation = explain(SPEC, LABELS)
    assert [row.vetoed_by for row in explanation] == [None, None, None, 1, 2]
    assert [row.decided_by for row in explanation] == [1, 1, 1, 1, 2]
    assert str(explanation[4].decider) == "!fall@4"


def test_delta_is_decided_by_the_largest_change():
    spec = Spec([("F goal", 1), ("F key", 10)], payment="delta")
    explanation = explain(spec, {"goal": [0.0, 0.5, 0.5], "key": [0.25, 0.25, 0.5]})
    assert [row.decided_by for row in explanation] == [1, 0, 1]


def test_an_episode_given_by_labels_was_cut_short_at_its_end():
    assert [row.reward for row in explain(Spec([("F a", 1)], payment="final"), {"a": [0.0, 0.5, 0.25]})] == [
        None,
        0,
        0.5,
    ]


@pytest.fixture
def recorded_spec():
    return Spec(
        [("F high", 1), ("G steady", 1)],
        atoms={
            "high": lambda obs, action, next_obs: next_obs[..., 0],
            "steady": lambda obs, action, next_obs: 1.0 - abs(next_obs[..., 0] - obs[..., 0]),
        },
    )


def test_recorded_observations_are_labelled(recorded_spec):
    episode = {"observations": np.array([[0.0], [0.5], [0.25]]), "actions": np.array([0, 1])}
    explanation = explain(recorded_spec, episode)
    assert explanation.labels == {"high": [0.0, 0.5, 0.25], "steady": [1.0, 0.5, 0.75]}
    assert [row.reward for row in explanation] == [None, 1.0, 1.0]


def test_bad_recordings_are_refused(recorded_spec):
    with pytest.raises(LabelError, match=r"'high' at step 2 .* Received 1\.5"):
        explain(recorded_spec, {"observations": np.array([[0.0], [0.75], [1.5]]), "actions": np.array([0, 1])})
    with pytest.raises(RecordingError, match="should have 3 observations"):
        explain(recorded_spec, {"observations": np.array([[0.0], [0.5]]), "actions": np.array([0, 1])})
    with pytest.raises(LabelError, match="no labels for atom 'steady'"):
        explain(recorded_spec, {"high": [0.0, 1.0]})


@pytest.mark.parametrize("names", [("obs", "actions"), ("observation", "action"), ("states", "actions")])
def test_a_recording_whose_parts_have_other_names_is_told_theirs(recorded_spec, names):
    with pytest.raises(RecordingError, match="has `observations`, one more than steps, and `actions`") as caught:
        recorded_spec.explain(dict.fromkeys(names, (0.0, 1.0)))
    assert f"Received {names[0]!r}, {names[1]!r}." in str(caught.value)
    if names[0] != "states":
        assert str(caught.value).endswith("Did you mean 'observations'?")


def test_atoms_may_have_the_names_of_recorded_arrays():
    assert explain(Spec([("F rewards", 1)]), {"rewards": [0.0, 0.5]})[1].reward == 0.5


def test_a_spec_without_pairs_pays_nothing():
    explanation = explain(Spec([]), {"observations": np.zeros((3, 1)), "actions": np.zeros(2)})
    assert [row.reward for row in explanation] == [None, 0.0, 0.0]
    assert all(row.decided_by is None for row in explanation)


def test_csv_and_rows_hold_every_step():
    explanation = explain(SPEC, LABELS)
    rows = list(csv.DictReader(io.StringIO(explanation.to_csv())))
    assert [int(row["step"]) for row in rows] == list(range(5))
    assert rows[4]["vetoed_by"] == "G !fall"
    assert rows[4]["G !fall: atom"] == "!fall"
    assert explanation.to_rows()[2]["reach: value"] == 0.5
    assert explanation.to_rows()[2]["reach: step"] == 1


def test_csv_is_written(tmp_path):
    explanation = explain(SPEC, LABELS)
    assert (tmp_path / "why.csv").write_text(explanation.to_csv(tmp_path / "why.csv")) > 0
    assert (tmp_path / "why.csv").read_text() == explanation.to_csv()


def test_long_tables_leave_out_their_middle():
    spec = Spec([("F a", 1)])
    explanation = explain(spec, {"a": np.linspace(0, 1, 501)})
    assert len(explanation) == 501
    assert len(str(explanation).splitlines()) == 62
    assert len(explanation.to_text(max_rows=None).splitlines()) == 502


def test_html_escapes_and_marks_vetoes():
    spec = Spec([Pair('G "a<b"', 1)])
    text = explain(spec, {"a<b": [1.0, 0.0]})._repr_html_()
    assert "a<b" not in text
    assert "a&lt;b" in text
    assert "background" in text


def test_pairs_with_one_formula_are_told_apart():
    assert explain(Spec([("F a", 1), ("F a", 2)]), {"a": [0.0, 1.0]}).names == ("F a", "F a (2)")


def test_plot_shows_atoms_values_reward_and_veto(tmp_path):
    pytest.importorskip("matplotlib")
    figure = explain(SPEC, LABELS).plot()
    assert len(figure.axes) == 5
    assert "veto: G safe" in figure.axes[-1].get_legend_handles_labels()[1]
    figure.savefig(tmp_path / "why.png")
    assert (tmp_path / "why.png").stat().st_size > 5000


@pytest.mark.parametrize("kind", ["dict", "tuple"])
def test_reads_observations_that_were_put_in_a_list_one_by_one(kind: str) -> None:
    xs = [0.0, 0.5, 0.25]
    if kind == "dict":
        spec = Spec([("F high", 1)], atoms={"high": lambda obs, action, next_obs: next_obs["height"]})
        observations: list[object] = [{"height": x, "image": np.zeros((2, 2))} for x in xs]
    else:
        spec = Spec([("F high", 1)], atoms={"high": lambda obs, action, next_obs: next_obs[1]})
        observations = [(np.zeros(3), x) for x in xs]
    explanation = spec.explain({"observations": observations, "actions": [0, 1]})
    assert [row.values[0] for row in explanation] == [0.0, 0.5, 0.5]

"""The label said to decide a value is that value, its cause the newest that made it so, and tables are short."""

import csv
import io
import random

import numpy as np
import pytest
from hypothesis import given

from rewardspec import LabelError
from rewardspec.episodes.causes import cause_prefixes, decide_prefixes
from rewardspec.episodes.explanation import explain
from rewardspec.episodes.waiting import waited_for
from rewardspec.errors import RecordingError
from rewardspec.logic.formulas import AllButTimes, AtLeastTimes
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from rewardspec.spec import Pair, Spec
from tests.strategies import ATOMS, DYADIC, MONITORABLE, REALS, ROBUST, formulas, random_formula, traces


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


@given(formulas(4, language=MONITORABLE), traces(max_length=6, kinds=(DYADIC,)))
def test_values_of_formulas_with_every_operator_are_those_of_the_definition(formula, trace):
    assert cause_prefixes(formula, trace)[0].tolist() == evaluate_prefixes(formula, trace)


def test_of_labels_that_tie_the_one_of_the_step_made_a_value_fall():
    values, causes = cause_prefixes("F[;0.5] G(a | c)", {"a": [0.25, 0.0, 0.25], "c": [0.0, 0.75, 0.0]})
    assert values.tolist() == [0.25, 0.375, 0.25]
    assert str(causes[-1]) == "a@2"


@given(formulas(4, language=MONITORABLE), traces(max_length=6))
def test_a_value_that_stays_keeps_its_cause_and_one_that_changes_has_one_of_this_step(formula, trace):
    values, causes = cause_prefixes(formula, trace)
    for step in range(1, len(values)):
        if values[step] == values[step - 1] and causes[step - 1].atom is not None:
            assert causes[step] == causes[step - 1]
        elif values[step] != values[step - 1] and not any(
            isinstance(part, AtLeastTimes | AllButTimes) for part in formula.subformulas()
        ):
            # Of a count, a step that makes another one the k-th best may be no cause itself.
            end_moved = unaffected_by_the_last_letter(formula, trace, step)
            assert causes[step].step == step or end_moved


def unaffected_by_the_last_letter(formula, trace, step):
    """Whether the value after this step is the same whatever its labels, so that only the end has moved."""
    prefix = {atom: column[:step] for atom, column in trace.items()}
    return (
        len(
            {
                evaluate(
                    formula,
                    {atom: [*column, float(number >> k & 1)] for k, (atom, column) in enumerate(prefix.items())},
                )
                for number in range(2 ** len(prefix))
            }
        )
        == 1
    )


@pytest.mark.parametrize(
    ("formula", "trace", "expected"),
    [
        ("a & b", {"a": [0.5], "b": [0.5]}, "a@0"),  # the first operand
        ("!F a", {"a": [0.25, 0.75, 0.5]}, "!a@1"),
        ("!!a", {"a": [0.25]}, "a@0"),
        ("X a", {"a": [0.25]}, "end@0"),
        ("X X a", {"a": [0.25, 0.5]}, "end@1"),
        ("true", {"a": [0.25]}, "constant"),
        ("F a", {"a": [0.0, 0.0]}, "end@1"),  # nothing but the end keeps it from being true
        ("a U b", {"a": [0.75, 0.5, 0.25], "b": [0.0, 0.25, 1.0]}, "b@2"),  # 0.5, which is a@1, now that there is b
        ("G a", {"a": [0.5, 0.5, 0.5]}, "a@0"),  # the cause that it had
        # Labels that tie, and the newest that made the value what it is.
        ("F(key & F door)", {"key": [0, 1, 0, 0, 0], "door": [0, 0, 0, 1, 1]}, "door@3"),
        ("F(key & F door)", {"key": [0, 0.9, 0, 0, 0], "door": [0, 0, 0, 1, 1]}, "door@3"),
        ("G(request -> F grant)", {"request": [0, 1, 0, 0], "grant": [0, 0, 0, 1]}, "grant@3"),
        ("G(request -> F grant)", {"request": [0, 1, 0, 1], "grant": [0, 0, 1, 0]}, "!request@3"),
        ("a U b", {"a": [1, 1, 0, 1], "b": [0, 0, 0, 1]}, "a@2"),  # it is over since then
        ("F[0,2] a", {"a": [0, 0, 0, 0, 1]}, "a@2"),  # and here since the deadline
        ("F(last & O[0,1] a)", {"a": [0, 1, 0]}, "a@1"),
        ("F{2} a", {"a": [0, 1, 0, 1, 1]}, "a@3"),
        ("0.5 * F a", {"a": [0, 1, 0]}, "a@1"),
    ],
)
def test_the_cause_is_the_newest_label_that_made_the_value(formula, trace, expected):
    assert str(cause_prefixes(formula, trace)[1][-1]) == expected


@given(formulas(4, language=ROBUST), traces(max_length=5, kinds=(REALS,)))
def test_robustness_has_causes_too(formula, trace):
    try:
        values, causes = cause_prefixes(formula, trace, "robustness")
    except AssertionError:
        return  # the future under the past, which no spec has
    assert values.tolist() == evaluate_prefixes(formula, trace, "robustness")
    assert len(causes) == len(values)


@pytest.mark.parametrize(
    ("formula", "trace", "expected"),
    [
        ("F(key & F door)", {"key": [0, 1, 0, 0], "door": [1, 0, 0, 1]}, ["key", "door", "door", ""]),
        ("F(key & F door)", {"key": [0.1, 0.6, 0, 0], "door": [0, 0, 0.1, 0.5]}, ["key", "door", "door", ""]),
        ("G(request -> F grant)", {"request": [0, 1, 0, 0], "grant": [0, 0, 0, 1]}, ["", "grant", "grant", ""]),
        ("G(request -> F grant)", {"request": [0, 0.75, 0], "grant": [0, 0, 1]}, ["", "grant", ""]),
        ("F a & G b", {"a": [0, 0, 1], "b": [1, 1, 1]}, ["a", "a", ""]),  # b has to hold, and does
        ("F a & G b", {"a": [0, 0, 0], "b": [1, 0, 1]}, ["a", "", ""]),  # after which nothing helps
        ("a U b", {"a": [1, 0, 1], "b": [0, 0, 1]}, ["b", "", ""]),
        ("F[0,2] a", {"a": [0, 0, 0, 1]}, ["a", "a", "", ""]),
        ("X X a", {"a": [0, 0, 0]}, ["a", "a", ""]),
        ("F(a & b) | F(c & d & e)", {atom: [0] for atom in "abcde"}, ["a & b"]),
        ("F(a & F b) & G(c -> F[0,9](d | a))", {"a": [0, 1], "b": [0, 0], "c": [0, 0], "d": [0, 0]}, ["a", "b"]),
        ("F !a", {"a": [1, 0]}, ["!a", ""]),
        ("0.4 * F a", {"a": [0, 1, 0]}, ["a", "", ""]),  # it cannot become more
        ("F(last & O[0,1] a)", {"a": [0, 1, 0, 0]}, ["O[0,1] a", "", "", "O[0,1] a"]),
        ("G a", {"a": [1, 0.25, 0]}, ["", "", ""]),
    ],
)
def test_a_value_that_is_low_because_something_is_owed_waits_for_it(formula, trace, expected):
    values = evaluate_prefixes(formula, trace)
    assert [" & ".join(literals) for literals in waited_for(parse(formula), trace, values)] == expected


@given(formulas(4), traces(max_length=6, kinds=((0.0, 1.0),)))
def test_what_is_waited_for_can_still_come(formula, trace):
    values = evaluate_prefixes(formula, trace)
    waits = waited_for(formula, trace, values)
    for last, (value, literals) in enumerate(zip(values, waits, strict=True)):
        if literals:
            assert value == 0.0
            prefix = {atom: column[: last + 1] for atom, column in trace.items()}
            assert can_become_true(formula, prefix, 3), (last, literals)


def can_become_true(formula, prefix, more):
    if evaluate(formula, prefix) == 1.0:
        return True
    atoms = formula.atoms
    if more == 0:
        return False
    return any(
        can_become_true(
            formula,
            {
                name: [*column, float(number >> atoms.index(name) & 1) if name in atoms else 0.0]
                for name, column in prefix.items()
            },
            more - 1,
        )
        for number in range(2 ** len(atoms))
    )


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
    explanation = explain(spec, {"goal": [0.0, 0.0, 0.5, 0.5], "key": [0.25, 0.25, 0.25, 0.5]})
    assert [row.reward for row in explanation] == [None, 2.5, 0.5, 2.5]
    assert [row.decided_by for row in explanation] == [1, 1, 0, 1]


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
    assert rows[0]["reach: waiting for"] == "goal"
    assert rows[1]["reach: waiting for"] == ""
    assert explanation.to_rows()[2]["reach: value"] == 0.5
    assert explanation.to_rows()[2]["reach: step"] == 1


def test_csv_is_written(tmp_path):
    explanation = explain(SPEC, LABELS)
    assert (tmp_path / "why.csv").write_text(explanation.to_csv(tmp_path / "why.csv")) > 0
    assert (tmp_path / "why.csv").read_text() == explanation.to_csv()


def moments(*steps, length=61):
    return [float(step in steps) for step in range(length)]


def test_an_episode_of_sixty_steps_is_a_few_rows_that_say_what_was_waited_for():
    spec = Spec([Pair("F(key & F(door & F goal))", 1, name="task"), ("G !lava", 0.5)])
    labels = {"key": moments(12, 13), "door": moments(5, 30), "goal": moments(52), "lava": moments()}
    assert str(explain(spec, labels)) == (
        "step   reward  task                 G !lava\n"
        "0      –       0, waiting for key   1 *\n"
        "1–11   0.5     0, waiting for key   1 *\n"
        "12–29  0.5     0, waiting for door  1 *\n"
        "30–51  0.5     0, waiting for goal  1 *\n"
        "52–60  1.5     1 ← goal@52 *        1"
    )


def test_near_equal_steps_are_grouped_only_as_far_as_the_rows_demand():
    spec = Spec([("F G battery", 1)])
    explanation = explain(spec, {"battery": np.linspace(1, 0.4, 61)})
    few = str(explanation).splitlines()[1:]
    assert 5 <= len(few) <= 12
    assert all("← battery@" in line for line in few[1:])
    assert "…" not in {cell for line in few for cell in line.split("  ")}
    assert len(explanation.to_text(max_rows=30).splitlines()) > len(few) + 1
    assert len(explanation.to_text(max_rows=None).splitlines()) == 62


def test_however_much_changes_there_are_few_rows_and_every_step_is_in_one():
    rng = random.Random(0)
    spec = Spec([("F G a", 1), ("G(b -> F c)", 1), Pair("G !d", 1, penalty=-1)])
    labels = {atom: [rng.choice((0.0, 0.25, 1.0)) for _ in range(300)] for atom in "abc"} | {
        "d": [float(step > 200) for step in range(300)]
    }
    lines = str(explain(spec, labels)).splitlines()[1:]
    assert len(lines) <= 12
    spans = [list(map(int, line.split()[0].split("–"))) for line in lines]
    assert [step for span in spans for step in range(span[0], span[-1] + 1)] == list(range(300))
    assert min(span[0] for span, line in zip(spans, lines, strict=True) if "G !d" in line) == 201


def test_the_level_is_shown_where_it_is_not_the_reward():
    labels = {"a": [0.0, 0.5, 1.0]}
    assert "level" not in str(explain(Spec([("F a", 1)]), labels))
    assert "level" in str(explain(Spec([("F a", 1)], payment="delta"), labels))


def test_html_escapes_and_marks_vetoes():
    spec = Spec([Pair('G "a<b"', 1)])
    text = explain(spec, {"a<b": [1.0, 0.0]})._repr_html_()
    assert "a<b" not in text
    assert "a&lt;b" in text
    assert "background" in text


def test_pairs_with_one_formula_are_told_apart():
    assert explain(Spec([("F a", 1), ("F a", 2)]), {"a": [0.0, 1.0]}).names == ("F a", "F a (2)")


def test_plot_has_a_panel_for_each_formula_and_marks_the_veto(tmp_path):
    pytest.importorskip("matplotlib")
    figure = explain(SPEC, LABELS).plot()
    assert len(figure.axes) == 3 + 3 + 1
    titles = [axis.get_title("left") for axis in figure.axes]
    assert titles[0] == "step 3: vetoed by G safe"
    assert [title.partition("    ")[0] for title in titles[3:]] == ["reach", "G safe", "G !fall", "reward"]
    figure.savefig(tmp_path / "why.png")
    assert (tmp_path / "why.png").stat().st_size > 5000


def test_nothing_of_a_plot_is_cut_off():
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    long = "F(an_atom_with_a_rather_long_name & F(another_atom_with_a_name & F the_third_of_these_atoms))"
    spec = Spec([Pair(long, 1), (f"{long} & G(a -> F b)", 1)])
    figure = explain(spec, {atom: moments(3) for atom in spec.atoms}).plot()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    inside = figure.get_tightbbox(canvas.get_renderer()).padded(-0.02)  # in inches
    width, height = figure.get_size_inches()
    assert inside.x0 >= 0
    assert inside.y0 >= 0
    assert inside.x1 <= width
    assert inside.y1 <= height


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

"""Explanations pay what the spec pays, name what decided it, and are short tables."""

import csv
import io
import random

import numpy as np
import pytest

from rewardspec import LabelError
from rewardspec.episodes.explanation import Row, explain
from rewardspec.episodes.explanation_tables import merged
from rewardspec.errors import RecordingError
from rewardspec.logic.parsing import parse
from rewardspec.spec import Pair, Spec

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


@pytest.mark.parametrize("seed", range(40))
def test_the_shortest_neighbors_become_one_row_first(seed):
    rng = random.Random(seed)
    veto, count, groups, step = rng.randint(1, 60), rng.randint(1, 40), [], 0
    for number in range(count):
        size = rng.randint(1, 5) if number else 1
        vetoed_by = 0 if number and step >= veto else None
        groups.append([Row(step + k, 0.0, 0.0, vetoed_by, None, (), (), ()) for k in range(size)])
        step += size
    most = rng.randint(1, 12)
    expected = [list(group) for group in groups]
    while len(expected) > most:
        vetoes = [group[0].vetoed_by for group in expected]
        pairs = [k for k in range(1, len(expected) - 1) if vetoes[k] == vetoes[k + 1]]
        if not pairs:
            break
        best = min(pairs, key=lambda k: len(expected[k]) + len(expected[k + 1]))
        expected[best : best + 2] = [expected[best] + expected[best + 1]]
    assert merged(groups, most) == expected


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


def test_each_pair_counts_by_its_own_payment():
    """At the first step "delta" is paid from 0, and "potential" from the state after reset."""
    episode = {"a": [1.0, 1.0], "b": [0.0, 0.5]}
    pairs = [Pair("F a", 1, payment="potential"), Pair("F b", 1, payment="potential")]
    assert [row.decided_by for row in Spec(pairs, payment="value").explain(episode)] == [0, 1]
    pairs = [Pair("F a", 1), Pair("F b", 1)]
    assert [row.decided_by for row in Spec(pairs, payment="delta").explain(episode)] == [0, 0]


def test_the_pair_that_decides_is_one_that_is_paid():
    """Before the end "final" pays nothing; "potential" discounts, and takes everything back at the end."""
    spec = Spec([Pair("F a", 1), Pair("F b", 100, payment="final")])
    assert [row.decided_by for row in spec.explain({"a": [0.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0]})] == [1, 0, 1]
    spec = Spec([("now a", 1), ("now b", 5)], payment="potential")
    episode = {"a": [0.0, 0.1, 0.2], "b": [1.0, 1.0, 1.0]}
    assert [row.decided_by for row in spec.explain({**episode, "terminations": [False, True]})] == [1, 0, 1]
    assert [row.decided_by for row in spec.replace(discount=0.5).explain(episode)] == [1, 1, 1]


def test_what_is_infinite_at_reset_is_explained():
    spec = Spec([("X a", 1), ("G b", 1)], semantics="robustness")
    assert [row.decided_by for row in spec.explain({"a": [1.0, 3.0], "b": [2.0, 2.0]})] == [0, 0]


@pytest.mark.parametrize(
    ("formula", "waits"),
    [
        ("F(H[0,20] place & Y[20] true)", ("place for 20 steps",)),
        ("F(H[0,5] !hot & place)", ("!hot for 5 steps", "place")),
        ("F(place & O[0,5] key)", ("place", "O[0,5] key")),
        ("F(H[0,5] (key & place))", ("(key & place) for 5 steps",)),
        ("F Y[9] true", ("time to pass",)),
    ],
)
def test_what_is_waited_for_in_the_past_is_said_in_words(formula, waits):
    labels = {"place": [0.0], "hot": [1.0], "key": [0.0]}
    (row,) = Spec([(formula, 1)]).explain({atom: labels[atom] for atom in parse(formula).atoms})
    assert set(row.waiting[0]) == set(waits)


def test_what_is_judged_at_the_current_step_is_decided_there():
    labels = {"fast": [0.5, 0.5, 0.5, 0.25, 0.25]}
    for formula, steps in (("now fast", [0, 1, 2, 3, 4]), ("G fast", [0, 0, 0, 3, 3])):
        assert [row.decider.step for row in Spec([(formula, 1)]).explain(labels)] == steps

"""What brought progress is a label of the step at which it changed, without which it would not have."""

import random

import pytest

import rewardspec as rs
from rewardspec.episodes.progress_causes import progress_prefixes
from tests.synthesis.test_progress import TASKS

# Those whose machines take long to make are left out.
QUICK = [formula for formula in TASKS if "F[0,9]" not in formula and "0.75 *" not in formula]


def progress_of(monitor, trace):
    """After every prefix, by the monitor."""
    state, found = monitor.initial_state(), []
    for letter in zip(*trace.values(), strict=True):
        state, _ = monitor.step(state, dict(zip(trace, letter, strict=True)))
        found.append(monitor.progress(state))
    return found


@pytest.mark.parametrize("formula", QUICK)
def test_a_change_is_undone_without_the_label_that_is_said_to_have_brought_it(formula):
    rng = random.Random(formula)
    monitor, spec = rs.synthesize(formula, progress=True), rs.Spec([(formula, -2.0)])
    brought = 0
    for _ in range(8):
        trace = {atom: [rng.choice((0.0, 0.0, 0.25, 1.0)) for _ in range(9)] for atom in ("a", "b", "c")}
        found, causes = progress_prefixes(spec, 0, trace, 9)
        assert found == progress_of(monitor, trace)
        for step in range(9):
            before = found[step - 1] if step else 0.0
            cause = causes[step]
            if found[step] == before:
                assert cause == causes[step - 1] if step else cause.step is None
                continue
            assert cause.step == step
            changed = {name: list(column[: step + 1]) for name, column in trace.items()}
            old = {name: column[step - 1] if step else 0.0 for name, column in trace.items()}
            if cause.atom is None:  # no label alone undoes any of it
                for name in trace:
                    other = {**changed, name: [*changed[name][:-1], old[name]]}
                    assert abs(progress_of(monitor, other)[-1] - before) >= abs(found[step] - before)
                continue
            brought += 1
            changed[cause.atom][-1] = old[cause.atom]
            without = progress_of(monitor, changed)[-1]
            assert without < found[step] if found[step] > before else without > found[step]
            assert cause.negated == (trace[cause.atom][step] < old[cause.atom])
    assert brought > 4


def test_an_explanation_says_what_brought_progress_and_what_is_waited_for():
    pair = rs.Pair("F(a & F[0,3] b) & G !lava", 2, name="task", progress=True, veto=False)
    labels = {"a": [0, 1, 0, 0, 0, 0, 1, 0], "b": [0] * 8, "lava": [0] * 7 + [1]}
    assert str(rs.Spec([pair], payment="delta").explain(labels)).splitlines() == [
        "step  reward  level  task",
        "0     –       0      0, waiting for a *",
        "1     1       1      0.5 ← a@1, waiting for b *",
        "2–3   0       1      0.5 ← a@1, waiting for b *",
        "4     -1      0      0, waiting for a *",
        "5     0       0      0, waiting for a *",
        "6     1       1      0.5 ← a@6, waiting for b *",
        "7     -1      0      0 ← lava@7 *",
    ]


def test_what_is_paid_by_change_is_first_paid_from_nothing():
    spec = rs.Spec([("F goal", 1), ("G safe", 1), rs.Pair("F G near", 0.75, payment="value")], payment="delta")
    rows = spec.explain({"goal": [0, 0, 0], "safe": [1, 1, 1], "near": [1, 1, 1]})
    assert [row.decided_by for row in rows] == [1, 1, 2]
    assert [row.reward for row in rows[1:]] == [1.75, 0.75]


def test_plots_and_pictures_show_progress():
    labels = {"a": [0, 1, 0, 0], "b": [0, 0, 0, 1]}
    for progress, said in ((False, "dotted: progress"), (True, "paid for progress")):
        figure = rs.Spec([rs.Pair("F(a & F b)", 1, progress=progress)]).explain(labels).plot()
        assert said in "".join(axis.get_title(loc="left") for axis in figure.axes)
    plain = rs.Spec([("F G a", 1)]).explain({"a": labels["a"]}).plot()
    assert not any("progress" in axis.get_title(loc="left") for axis in plain.axes)
    line = "progress = max(reward, min(max[a]′, 0.5))"
    assert line in rs.synthesize("F(a & F b)", progress=True).to_svg()
    assert "progress" not in rs.synthesize("F(a & F b)").to_svg()

"""`rewardspec violations`."""

import csv
import io
import json
import random
import re
import shutil

import pytest

from rewardspec.cli import main
from tests.cli.planted_log import RULES as RULES_OF_PLANT
from tests.cli.planted_log import rules_file, verdicts_in_c, write_log

RULES = """
[[pairs]]
name = "valve closes after an alarm"
formula = 'G(alarm -> F[0s,30s] "valve == 0")'
weight = 1

[[pairs]]
name = "pressure"
formula = 'G !G[0s,10s] "pressure > 5"'
weight = 1

[[pairs]]
name = "temperature per minute"
formula = 'G "abs(temp - temp@60s) <= 3"'
weight = 1
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


def quiet(length: int, seed: int = 0) -> list[dict]:
    """Rows that keep all rules: an alarm now and then that is answered, pressure that is high for 9 seconds at most."""
    draw = random.Random(seed)
    rows = []
    alarmed = -100
    for k in range(length):
        if k - alarmed > 60 and draw.random() < 0.02 and k < length - 60:
            alarmed = k
        rows.append(
            {
                "time": 100.0 + k,
                "alarm": int(k == alarmed),
                "valve": int(not alarmed + 20 <= k < alarmed + 25),
                "pressure": 6.5 if k % 50 < 9 else 3 + draw.random(),
                "temp": 20 + draw.random(),
            }
        )
    return rows


def write(rows: list[dict], here) -> str:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (here / "log.csv").write_text("\n".join(lines) + "\n")
    return "log.csv"


def listed(capsys, *words: str, status: int = 1) -> list[dict]:
    assert main(["violations", *words, "--format", "json"]) == status
    return json.loads(capsys.readouterr().out)


def test_a_record_that_keeps_all_rules(here, capsys):
    name = write(quiet(600), here)
    assert listed(capsys, "rules.toml", "--trace", name, status=0) == []
    assert main(["violations", "rules.toml", "--trace", name]) == 0
    assert capsys.readouterr().out == "600 rows, 1 s apart: 0 violations.\n"


def test_every_planted_violation_is_listed_and_none_besides(here, capsys):
    rows = quiet(2000)
    for row in rows:
        row["alarm"] = 0
    expected = []
    for start, late in ((200, 12), (700, None)):
        rows[start]["alarm"] = 1
        for k in range(start, 2000 if late is None else start + 30 + late):
            rows[k]["valve"] = 1
        if late is not None:
            rows[start + 30 + late]["valve"] = 0
        recovered = None if late is None else start + 30 + late
        expected.append(("valve closes after an alarm", start, start, start + 30, recovered, None))
    for k in range(1010, 1040):
        rows[k]["pressure"] = 8.0 if k == 1015 else 7.25
    # From 1010 on, and at 1009 and before where the pressure was high as well.
    high = next(k for k in range(1010, 0, -1) if rows[k - 1]["pressure"] <= 5)
    low = next(k for k in range(1010, 2000) if rows[k]["pressure"] <= 5)
    expected.append(("pressure", high, low - 11, high + 10, low, 2.25))
    for row in rows:
        row["temp"] = 20.0
    rows[1500]["temp"] = 24.5
    expected.append(("temperature per minute", 1500, 1500, 1500, 1501, 1.5))
    expected.append(("temperature per minute", 1560, 1560, 1560, 1561, 1.5))
    found = listed(capsys, "rules.toml", "--trace", write(rows, here))
    keys = ("rule", "step", "last_step", "certain_step", "recovered_step", "by")
    assert [tuple(row[key] for key in keys) for row in found] == expected
    assert all(row["status"] == "violated" for row in found)
    assert [row["time"] for row in found] == [str(100.0 + row["step"]) for row in found]
    assert [row["recovered_time"] for row in found[:2]] == ["342.0", None]


def test_a_log_that_keeps_its_rules_narrowly_but_for_what_is_planted(here, capsys):
    planted = write_log(here / "plant.csv", 12_000)
    (here / "plant.toml").write_text(rules_file())
    found = listed(capsys, "plant.toml", "--trace", "plant.csv")
    keys = ("rule", "step", "last_step", "certain_step", "recovered_step")
    assert [tuple(row[key] for key in keys) for row in found] == [each[:5] for each in planted]
    assert [row["by"] for row in found] == pytest.approx([each.by for each in planted])
    assert {each.rule for each in planted} == set(RULES_OF_PLANT)
    assert [row["certain_time"] for row in found] == [str(each.certain) for each in planted]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_exported_c_finds_the_same(here, capsys):
    planted = write_log(here / "plant.csv", 12_000)
    for name, broken in verdicts_in_c(here / "plant.csv", here).items():
        expected = [k for each in planted if each.rule == name for k in range(each.step, each.last + 1)]
        assert [step for step, _ in broken] == expected
        if name != "alarm":
            by = {
                each.step: max(m for k, m in broken if each.step <= k <= each.last)
                for each in planted
                if each.rule == name
            }
            assert by == pytest.approx({each.step: each.by for each in planted if each.rule == name})


def test_table_and_csv_say_the_same_as_json(here, capsys):
    rows = quiet(300)
    rows[70]["temp"], rows[290]["alarm"] = 30, 1
    for row in rows[290:]:
        row["valve"] = 1
    name = write(rows, here)
    found = listed(capsys, "rules.toml", "--trace", name)
    assert [row["status"] for row in found] == ["open", "violated", "violated"]
    assert main(["violations", "rules.toml", "--trace", name, "--format", "csv"]) == 1
    read = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [{k: None if v == "" else v for k, v in row.items()} for row in read] == [
        {k: None if v is None else str(v) for k, v in row.items()} for row in found
    ]
    assert main(["violations", "rules.toml", "--trace", name]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "300 rows, 1 s apart: 2 violations, 1 open at the end."
    assert len(lines) == 2 + len(found)
    for line, row in zip(lines[1:-1], found, strict=True):
        assert re.split(r"\s{2,}", line)[:3] == [row["rule"], row["status"], str(row["step"])]


def test_what_is_open_at_the_end_does_not_fail(here, capsys):
    rows = quiet(100)
    rows[90]["alarm"] = 1
    found = listed(capsys, "rules.toml", "--trace", write(rows, here), status=0)
    assert [(row["status"], row["step"], row["certain_step"]) for row in found] == [("open", 90, None)]


def test_at_most_so_many_in_any_time_is_the_difference_of_a_running_count(here, capsys):
    draw = random.Random(0)
    restarts, rows, total = [], [], 0
    for k in range(400):
        restarts.append(draw.random() < 0.05 and k > 0)
        total += restarts[-1]
        rows.append({"time": 0.5 * k, "restarts": total})
    found = listed(capsys, 'G "restarts - restarts@10s <= 2"', "--trace", write(rows, here))
    steps = [k for row in found for k in range(row["step"], row["last_step"] + 1)]
    assert steps == [k for k in range(400) if sum(restarts[max(0, k - 19) : k + 1]) > 2]
    assert 5 < len(steps) < 300


@pytest.mark.parametrize(
    ("values", "rule", "message"),
    [
        ([1, "inf"], "x < 5", "line 3: the margin of 'x < 5' should be a finite number. Received -inf, where x = inf."),
        ([1, "1e999"], "x@1 < x", "Received inf, where x = inf and x@1 = 1."),
        ([1e308, -1e308], "x < 1e308", "Received inf, where x = -1e+308. Correct these cells."),
    ],
)
def test_what_has_no_finite_margin_is_named_with_its_cells(values, rule, message, here, capsys):
    write([{"x": x} for x in values], here)
    assert main(["violations", f'G "{rule}"', "--trace", "log.csv"]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "x00" not in told


def test_a_complete_record_leaves_nothing_open(here, capsys):
    rows = quiet(100)
    rows[90]["alarm"] = 1
    write(rows, here)
    (row,) = listed(capsys, "rules.toml", "--trace", "log.csv", "--complete")
    assert (row["status"], row["step"], row["certain_step"], row["certain_time"]) == ("violated", 90, 99, "199.0")
    assert [row["status"] for row in listed(capsys, 'F "pressure > 9"', "--trace", "log.csv", status=0)] == ["open"]
    assert [row["by"] for row in listed(capsys, 'F "pressure > 9"', "--trace", "log.csv", "--complete")] == [2.5]


@pytest.mark.parametrize(
    ("rule", "warning"),
    [
        ("alarm -> F[0s,10s] valve", "'alarm' is read at the first state only"),
        ("F[0s,10s] valve", "`F[0,10] valve` is judged at the first row alone. Put G before it"),
        ("O[0,3] valve", "looks back from the first state"),
        ("G alarm & !valve", "'valve' is read at the first state only"),
        ("G(alarm -> F[0s,10s] valve)", None),
        ("F alarm", None),
        ("G{2} !alarm & !F !valve", None),
    ],
)
def test_a_rule_about_the_first_row_alone_is_warned_of(rule, warning, here, capsys):
    main(["violations", rule, "--trace", write(quiet(40), here)])
    told = capsys.readouterr().err
    assert told.startswith(f"warning: {rule}: ") and warning in told if warning else told == ""


def test_no_words_of_reinforcement_learning(here, capsys):
    rows = quiet(300)
    rows[70]["temp"] = 30
    name = write(rows, here)
    for kind in ("table", "csv", "json"):
        main(["violations", "rules.toml", "--trace", name, "--format", kind])
        text = capsys.readouterr().out
        assert not re.search(r"reward|paid|pays|episode|agent|policy|veto|reset", text)


def test_the_page_lists_the_violations_in_plain_words(here, capsys):
    planted = write_log(here / "plant.csv", 12_000)
    (here / "plant.toml").write_text(rules_file())
    assert main(["violations", "plant.toml", "--trace", "plant.csv", "--html", "page.html"]) == 1
    page = (here / "page.html").read_text()
    assert page.count("<rect") == page.count("<td>") / 5 == len(planted)
    for each in planted:
        assert f"<tr><td>{each.step:,} <span" in page
    body = page.split("</style>")[1]
    assert not re.search(r"reward|paid|pays|episode|agent|policy|veto|reset", body)
    assert "if alarm == 1 then within 30 steps: valve == 0" in body
    assert min(float(width) for width in re.findall(r'width="([\d.]+)"', body)) >= 3


def test_names_on_the_page_are_text(here, capsys):
    name = write([{"a": 1, "b<script>": 0}, {"a": 0, "b<script>": 0}], here)
    (here / "x.toml").write_text('[[pairs]]\nname = "<script>alert(1)</script>"\nformula = "G a"\nweight = 1\n')
    assert main(["violations", "x.toml", "--trace", name, "--html", "page.html"]) == 1
    page = (here / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_margin_tells_a_kept_equality_from_a_broken_one(here, capsys):
    rows = [{"alarm": 1, "valve": 0, "p": 9}, {"alarm": 1, "valve": 1, "p": 3}, {"alarm": 0, "valve": 1, "p": 9}]
    rule = 'G("alarm == 1" -> "valve == 0" & "p < 5")'
    (found,) = listed(capsys, rule, "--trace", write(rows, here))
    assert (found["rule"], found["step"], found["last_step"], found["by"]) == (rule, 0, 1, 4.0)
    assert listed(capsys, 'G("valve == 1" -> "p <= 9")', "--trace", "log.csv", status=0) == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("G near", 'should be true or false, 1 or 0. Received 0.5 at step 1. Compare it, as in "near > 0.5"'),
        ('G(0.5 * "near > 0.5")', "is neither true nor false"),
        ("G far", "has no column 'far'"),
        ("forall box: G near(box)", "cannot be listed"),
    ],
)
def test_mistakes_are_explained(rule, message, here, capsys):
    write([{"near": 1}, {"near": 0.5}], here)
    assert main(["violations", rule, "--trace", "log.csv"]) == 2
    assert message in capsys.readouterr().err


def test_degrees_are_true_from_the_threshold_on_and_margins_from_0_on(here, capsys):
    (here / "t.toml").write_text('threshold = 0.55\npairs = [["G near", 1]]\n')
    name = write([{"near": 0.6}, {"near": 0.5}, {"near": 0.25}], here)
    assert [(row["step"], row["by"]) for row in listed(capsys, "t.toml", "--trace", name)] == [(1, None)]
    write([{"near": 0.6}, {"near": 0.5}, {"near": -0.25}], here)
    found = listed(capsys, "G near", "--trace", name, "--semantics", "robustness")
    assert [(row["step"], row["by"]) for row in found] == [(2, 0.25)]


@pytest.mark.parametrize(
    ("head", "at_reset", "steps"),
    [
        ('semantics = "robustness"', 5, [(2, 4.0)]),
        ('semantics = "robustness"', -0.5, [(0, 0.5), (2, 4.0)]),
        ('semantics = "robustness"', 0, [(0, 1.0), (2, 4.0)]),
        ("threshold = 0.4", 0.5, [(2, 4.0)]),
        ("threshold = 0.4", 0.3, [(0, None), (2, 4.0)]),
        ("clip = true", 7, [(2, 4.0)]),
        ("", 1, [(2, 4.0)]),
        ("", 0, [(0, None), (2, 4.0)]),
    ],
)
def test_the_first_label_of_a_comparison_may_be_declared(head, at_reset, steps, here, capsys):
    write([{"p": p} for p in (0, 3, 9)], here)
    entry = f'low = {{ expression = "p < 5", at_reset = {at_reset} }}'
    (here / "x.toml").write_text(f'{head}\npairs = [["G low", 1]]\n[atoms]\n{entry}\n')
    assert [(row["step"], row["by"]) for row in listed(capsys, "x.toml", "--trace", "log.csv")] == steps


@pytest.mark.parametrize(
    ("head", "at_reset", "message"),
    [
        ("threshold = 0.4", 7, "line 2: the label of 'p < 5' should be in [0, 1]. Received 7"),
        ("", 7, "The label of 'low' should be true or false, 1 or 0. Received 7 at step 0."),
        ("", 0.5, "The label of 'low' should be true or false, 1 or 0. Received 0.5 at step 0."),
    ],
)
def test_a_declared_label_is_checked(head, at_reset, message, here, capsys):
    write([{"p": p} for p in (0, 3, 9)], here)
    entry = f'low = {{ expression = "p < 5", at_reset = {at_reset} }}'
    (here / "x.toml").write_text(f'{head}\npairs = [["G low", 1]]\n[atoms]\n{entry}\n')
    assert main(["violations", "x.toml", "--trace", "log.csv"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("head", ["threshold = 0.5", "threshold = 0.5\nclip = true"])
def test_labels_that_are_no_comparisons_are_checked_as_by_monitor(head, here, capsys):
    write([{"p": p} for p in (6, 55, 7, -3, 8)], here)
    (here / "x.toml").write_text(f'{head}\npairs = [["G e", 1]]\n[atoms]\ne = "p / 10"\n')
    if "clip" in head:
        assert [row["step"] for row in listed(capsys, "x.toml", "--trace", "log.csv")] == [3]
        return
    for name in ("violations", "monitor"):
        assert main([name, "x.toml", "--trace", "log.csv"]) == 2
        assert "line 3: the label of 'p / 10' should be in [0, 1]. Received 5.5" in capsys.readouterr().err


def test_a_column_that_is_no_label_is_told_to_be_compared(here, capsys):
    write([{"p": 6}], here)
    assert main(["violations", "G p", "--trace", "log.csv"]) == 2
    assert 'Compare it, as in "p > 0.5"' in capsys.readouterr().err

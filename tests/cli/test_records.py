"""Records of sensors: `rewardspec monitor` and `explain` on columns that formulas and spec files compare."""

import json
import math
import random
import sys

import pytest

from rewardspec.cli import main
from rewardspec.cli.trace_files import Table
from rewardspec.cli.traces import Trace
from rewardspec.logic.parsing import parse
from tests.definition import values_by_definition


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, rows: list[dict], here) -> str:
    """A record in the format that the ending of its name says."""
    if name.endswith(".csv"):
        lines = [",".join(rows[0]), *(",".join("" if v is None else str(v) for v in row.values()) for row in rows)]
        (here / name).write_text("\n".join(lines) + "\n")
    else:
        (here / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def column(capsys, *words: str, place: int = 1) -> list[float]:
    """A column of what the command prints, by default the values."""
    assert main(list(words)) == 0, capsys.readouterr().err
    return [float(line.split(",")[place]) for line in capsys.readouterr().out.splitlines()[1:]]


def error(capsys, *words: str) -> str:
    assert main(list(words)) == 2
    return capsys.readouterr().err


def readings(seed: int, length: int = 40) -> list[dict]:
    draw = random.Random(seed)
    return [{"p": draw.randrange(10), "q": draw.randrange(10), "time": 2 * k} for k in range(length)]


def ago(rows: list[dict], name: str, k: int) -> list[float]:
    """The values of a column k rows ago; before the first row, those of the first."""
    return [rows[max(0, i - k)][name] for i in range(len(rows))]


@pytest.mark.parametrize("file", ["log.csv", "log.jsonl"])
@pytest.mark.parametrize("semantics", ["degree", "robustness"])
def test_formulas_compare_columns(file, semantics, here, capsys):
    for seed in range(3):
        rows = readings(seed)
        write(file, rows, here)
        p, q = ago(rows, "p", 0), ago(rows, "q", 0)
        margins = {
            "p - p@3 < 4": [4 - (a - b) for a, b in zip(p, ago(rows, "p", 3), strict=True)],
            "before.q >= 2": [a - 2 + (0.5 if semantics == "degree" else 0) for a in ago(rows, "q", 1)],
            "q > p@6s": [a - b for a, b in zip(q, ago(rows, "p", 3), strict=True)],
        }
        labels = margins if semantics == "robustness" else {n: [float(m > 0) for m in ms] for n, ms in margins.items()}
        in_seconds = 'F[0s,5s] "p - p@3 < 4" & ("before.q >= 2" U[2s,9s] "q > p@6s") | G[4s,6s] "p - p@3 < 4"'
        in_steps = 'F[0,2] "p - p@3 < 4" & ("before.q >= 2" U[1,4] "q > p@6s") | G[2,3] "p - p@3 < 4"'
        expected = [
            values_by_definition(parse(in_steps), {n: values[:k] for n, values in labels.items()}, semantics)[0]
            for k in range(1, len(rows) + 1)
        ]
        assert column(capsys, "monitor", in_seconds, "--trace", file, "--semantics", semantics) == expected


def test_the_pressure_may_not_stay_high(here, capsys):
    rows = [{"pressure": 7 if 3 <= k < 14 else 1} for k in range(20)]
    values = column(capsys, "monitor", 'G !G[0,10] "pressure > 5"', "--trace", write("log.csv", rows, here))
    assert values.index(0.0) == 3
    assert values[14:] == [0.0] * 6  # 11 steps were too long
    rows[8]["pressure"] = 5
    values = column(capsys, "monitor", 'G !G[0,10] "pressure > 5"', "--trace", write("log.csv", rows, here))
    assert values[-1] == 1.0


def test_expressions_of_a_spec_file_read_columns_and_a_column_of_an_atoms_name_goes_first(here, capsys):
    (here / "spec.toml").write_text(
        'pairs = [["G(alarm -> F[0s,4s] closed)", 1]]\natoms = { alarm = "p > 7", closed = "not_imported:closed" }\n'
    )
    rows = [
        {"time": 2.0 * k, "p": p, "closed": closed} for k, (p, closed) in enumerate([(1, 0), (8, 0), (2, 0), (2, 1)])
    ]
    assert column(capsys, "monitor", "spec.toml", "--trace", write("log.csv", rows, here)) == [1, 0, 0, 1]
    rows = [row | {"alarm": 0} for row in rows]
    assert column(capsys, "monitor", "spec.toml", "--trace", write("log.csv", rows, here)) == [1, 1, 1, 1]
    assert main(["explain", "spec.toml", "--trace", "log.csv"]) == 0
    assert "G(alarm -> F[0,2] closed)" in capsys.readouterr().out


def test_explain_names_the_comparison(here, capsys):
    name = write("log.csv", [{"p": 1}, {"p": 9}, {"p": 1}], here)
    assert main(["explain", 'G "p < 5"', "--trace", name]) == 0
    assert "0 ← p < 5@1" in capsys.readouterr().out


def test_json_lines_have_inner_objects_and_truth_values(here, capsys):
    rows = [{"valve": {"open": True, "flow": 3.5}}, {"valve": {"open": False, "flow": 0}}]
    name = write("log.jsonl", rows, here)
    assert column(capsys, "monitor", 'G("valve.flow > 0" -> "valve.open")', "--trace", name) == [1, 1]


def test_a_name_with_other_characters_is_written_with_underscores(here, capsys):
    name = write("log.csv", [{"Pressure (bar)": 3}, {"Pressure (bar)": 6}], here)
    assert column(capsys, "monitor", 'G "Pressure_bar < 5"', "--trace", name) == [1, 0]


@pytest.mark.parametrize(("missing", "expected"), [("hold", [0, 1, 1, 1]), ("skip", [0, 1])])
def test_empty_cells_are_held_or_left_out(missing, expected, here, capsys):
    for file in ("log.csv", "log.jsonl"):
        rows = [{"p": 1, "note": None}, {"p": 8, "note": "x"}, {"p": None, "note": ""}, {"p": math.nan, "note": ""}]
        name = write(file, rows, here)
        assert column(capsys, "monitor", 'F "p > 5"', "--trace", name, "--missing", missing) == expected
        assert "should be" in error(capsys, "monitor", 'F "p > 5"', "--trace", name)


def test_there_is_nothing_to_hold_in_the_first_row(here, capsys):
    name = write("log.csv", [{"p": None, "q": 1}, {"p": 1, "q": 1}], here)
    message = error(capsys, "monitor", 'F "p > 5"', "--trace", name, "--missing", "hold")
    assert "log.csv, line 2: the first cell of 'p' is empty" in message


def test_seconds_ago_is_the_newest_row_that_is_as_old(here, capsys):
    times = [0, 1, 1.5, 4, 4.5, 10]
    rows = [{"stamp": t, "p": k} for k, t in enumerate(times)]
    name = write("log.csv", rows, here)
    words = ["monitor", 'now "p - p@3s"', "--trace", name, "--time", "stamp", "--semantics", "robustness"]
    (here / "spec.toml").write_text(
        'semantics = "robustness"\npairs = [["now rise", 1]]\natoms = { rise = "p - p@3s" }\n'
    )
    words[1] = "spec.toml"
    # 3 seconds before 4 is 1, before 4.5 is 1.5, and before 10 is 7, where the newest is 4.5.
    assert column(capsys, *words[:-2]) == [0, 1, 2, 3 - 1, 4 - 2, 5 - 4]


def test_times_may_be_dates(here, capsys):
    rows = [{"time": f"2026-01-01T00:00:{2 * k:02}", "p": k} for k in range(4)]
    name = write("log.csv", rows, here)
    assert column(capsys, "monitor", 'F[0s,4s] "p > 1"', "--trace", name) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("formula", "times", "message"),
    [
        ('F[0s,5s] "p > 1"', [0, 1, 3], "line 4: the row comes 2 seconds after the one before it"),
        ('F[0s,5s] "p > 1"', [0, 0, 3], "line 3: times should increase"),
        ('F "p@1s > 1"', [0, 2, 1], "line 4: times should increase"),
        ('F[0s,5s] "p > 1"', [0, "soon", 3], "line 3: a time should be a number of seconds or an ISO 8601 date"),
        ('F[3s,4s] "p > 1"', [0, 5, 10], "No step lies in the interval [3s,4s]"),
        ('X[3s] "p > 1"', [0, 2, 4], "3s in [3s] is 1.5 steps"),
        ('F "r > 1"', [0, 1, 2], "Unknown name 'r'"),
        ('F "p@0.5 > 1"', [0, 1, 2], "Steps are whole"),
        ('F "before.p@2 > 1"', [0, 1, 2], "has no earlier values"),
        ('F "next_obs[0] > 1"', [0, 1, 2], "which is no column of the record. It has: time, p"),
    ],
)
def test_mistakes_are_explained(formula, times, message, here, capsys):
    name = write("log.csv", [{"time": time, "p": 0} for time in times], here)
    assert message in error(capsys, "monitor", formula, "--trace", name)


def test_durations_need_a_column_of_times(here, capsys):
    name = write("log.csv", [{"p": 0, "t": 0}, {"p": 0, "t": 1}], here)
    assert "Name its column of times with --time; it has: p, t." in error(
        capsys, "monitor", "F[0s,5s] p", "--trace", name
    )
    assert "has no column 'tt'; it has: p, t. Did you mean 't'?" in error(
        capsys, "monitor", "F[0s,5s] p", "--trace", name, "--time", "tt"
    )


@pytest.mark.parametrize(
    ("text", "message"), [("", "is empty"), ("[1]\n", "should be a JSON object"), ("{", "not JSON")]
)
def test_bad_json_lines(text, message, here, capsys):
    (here / "log.jsonl").write_text(text)
    assert message in error(capsys, "monitor", "F p", "--trace", "log.jsonl")


def test_parquet_needs_its_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install '.[parquet]'" in error(capsys, "monitor", "F p", "--trace", "log.parquet")


def test_parquet(here, capsys):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = readings(0)
    parquet.write_table(pyarrow.Table.from_pylist(rows), here / "log.parquet")
    write("log.csv", rows, here)
    formula = 'G "p - p@4s < 8" & F[0s,9s] "q > 5"'
    values = [column(capsys, "monitor", formula, "--trace", name) for name in ("log.csv", "log.parquet")]
    assert values[0] == values[1]


def test_rows_are_read_as_they_come():
    def endless():
        for number in range(10**9):
            yield number, [str(number % 3)]

    trace = Trace(Table(["p"], endless()), "log")
    rows = trace.rows(trace.readings(["p@2 > p"]))
    assert [next(rows).labels["p@2 > p"] for _ in range(6)] == [0, 0, 0, 1, 1, 0]

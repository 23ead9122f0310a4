"""Records of sensors: `rewardspec monitor` and `explain` on columns that formulas and spec files compare."""

import datetime
import io
import json
import math
import random
import sys
import time

import pytest

import rewardspec as rs
from rewardspec.cli import main
from rewardspec.cli.trace_files import LabelKind, Table
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


def listed_violations(capsys, *words: str) -> list[dict]:
    assert main(["violations", *words, "--format", "json"]) == 1
    return json.loads(capsys.readouterr().out)


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
    name = write("log.csv", [{"Door Open": 1, "motor.on": 1}, {"Door Open": 0, "motor.on": 1}], here)
    for door in ("Door_Open", '"Door_Open"', '"Door Open"', '"Door_Open == 1"'):
        for motor in ("motor_on", '"motor_on"', '"motor.on"', '"motor_on == 1"', '"motor.on == 1"'):
            assert column(capsys, "monitor", f"G({door} & {motor})", "--trace", name) == [1, 0]
            assert column(capsys, "monitor", f"G({door} | {motor})", "--trace", name) == [1, 1]


def test_a_name_of_several_columns_is_refused_unless_one_is_so_written(here, capsys):
    name = write("log.csv", [{"a b": 1, "a-b": 0, "c d": 0, "c_d": 1}], here)
    for formula in ("G a_b", 'G "a_b == 1"', 'G "before.a_b == 1"'):
        message = error(capsys, "monitor", formula, "--trace", name)
        assert "'a_b' may be any of the columns 'a b', 'a-b'. Rename columns, so that one is left." in message
    assert column(capsys, "monitor", 'G("a b" & c_d & "c_d == 1")', "--trace", name) == [1]
    (here / "log.csv").write_text("a,a\n1,0\n")
    for formula in ("G a", 'G "a == 1"'):
        assert "may be any of the columns 'a', 'a'" in error(capsys, "monitor", formula, "--trace", name)


def test_an_atom_of_a_spec_file_is_no_column_that_is_merely_written_alike(here, capsys):
    (here / "spec.toml").write_text('pairs = [["G a_b", 1]]\natoms = { a_b = "x > 2" }\n')
    name = write("log.csv", [{"a b": 0, "a-b": 0, "x": 3}, {"a b": 1, "a-b": 1, "x": 1}], here)
    assert column(capsys, "monitor", "spec.toml", "--trace", name) == [1, 0]
    (here / "log.csv").write_text("a_b,a_b,x\n1,0,3\n")
    assert "may be any of the columns 'a_b', 'a_b'" in error(capsys, "monitor", "spec.toml", "--trace", name)


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("on", "off"), ("T", "F"), (" True", " false")])
def test_words_for_true_and_false_are_numbers(words, here, capsys):
    for file in ("log.csv", "log.jsonl"):
        name = write(file, [{"a": words[k % 3 != 0]} for k in range(6)], here)
        assert column(capsys, "monitor", "now a", "--trace", name) == [1, 0, 0, 1, 0, 0]
        assert column(capsys, "monitor", 'now "a == 1"', "--trace", name) == [1, 0, 0, 1, 0, 0]


def test_other_words_are_no_numbers(here, capsys):
    name = write("log.csv", [{"a": "open"}, {"a": "closed"}], here)
    for text in ('"a == 1"', "\"a > 0 and a == 'open'\""):
        message = error(capsys, "monitor", f"G {text}", "--trace", name)
        assert "line 2: the entry of 'a' should be a number. Received 'open'. Write one there. Of words only" in message
        assert message.endswith("Compare a column of other words in an expression: \"mode == 'auto'\".\n")


MODES = ("auto", "auto", "manual", "none", "manual", "Auto", " auto ", "off")


@pytest.mark.parametrize("file", ["log.csv", "log.jsonl", "log.parquet"])
def test_columns_are_compared_with_words(file, here, capsys):
    rows = [{"mode": mode, "Valve State": "open" if k % 2 else "shut", "p": k} for k, mode in enumerate(MODES)]
    if file.endswith(".parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), here / file)
    else:
        write(file, rows, here)
    said = [mode.strip() for mode in MODES]
    before = [said[0], *said[:-1]]
    two_ago = [said[0], said[0], *said[:-2]]
    for text, expected in {
        "mode == 'auto'": [word == "auto" for word in said],
        "'auto' != mode": [word != "auto" for word in said],
        "mode == 'none' or p > 6": [word == "none" or k > 6 for k, word in enumerate(said)],
        "Valve_State == 'open'": [k % 2 == 1 for k in range(8)],
        "not mode@2 == 'manual'": [word != "manual" for word in two_ago],
        "before.mode == 'auto' and mode != 'auto'": [a == "auto" != b for a, b in zip(before, said, strict=True)],
        "where(mode == ' auto ', 0.5, 1) > 0.7": [word != "auto" for word in said],
    }.items():
        assert column(capsys, "monitor", f'now "{text}"', "--trace", file) == expected, text
        margins = column(capsys, "monitor", f'now "{text}"', "--trace", file, "--semantics", "robustness")
        assert [margin > 0 for margin in margins] == expected, text
        if "p" not in text and "where" not in text:
            assert set(margins) == {-1.0, 1.0}  # words have no distance


def test_violations_of_rules_about_words(here, capsys):
    rows = [{"mode": mode, "p": 3 * k} for k, mode in enumerate(MODES)]
    name = write("log.csv", rows, here)
    found = listed_violations(capsys, 'G("mode == \'manual\'" -> "p < 12")', "--trace", name)
    assert [(one["step"], one["recovered_step"], one["by"]) for one in found] == [(4, 5, 0)]
    found = listed_violations(capsys, "G \"mode != 'none'\"", "--trace", name)
    assert [(one["step"], one["by"]) for one in found] == [(3, None)]


def test_a_word_that_never_occurs_is_told(here, capsys):
    name = write("log.csv", [{"mode": mode} for mode in MODES], here)
    assert main(["violations", "G !\"mode == 'atuo' or mode == 'off'\"", "--trace", name]) == 1
    told = "warning: 'mode' is never 'atuo' in this trace. Its first words are 'auto', 'manual', 'none', 'Auto', 'off'."
    assert capsys.readouterr().err.splitlines() == [told]


def test_empty_cells_of_words(here, capsys):
    rows = [{"mode": mode, "p": 1} for mode in ("auto", "", "none", "auto")]
    name = write("log.csv", rows, here)
    text = "now \"mode == 'auto'\""
    assert "the cell of 'mode' is empty. Write a word there" in error(capsys, "monitor", text, "--trace", name)
    assert column(capsys, "monitor", text, "--trace", name, "--missing", "hold") == [1, 1, 0, 1]
    assert column(capsys, "monitor", text, "--trace", name, "--missing", "skip") == [1, 0, 1]


@pytest.mark.parametrize("cell", [3, True, ["auto"]])
def test_what_is_no_text_is_not_compared_with_a_word(cell, here, capsys):
    name = write("log.jsonl", [{"mode": "auto"}, {"mode": cell}], here)
    message = error(capsys, "monitor", "G \"mode == 'auto'\"", "--trace", name)
    assert "log.jsonl, line 2: the entry of 'mode' is compared with the word 'auto', and should be text." in message
    assert f"Received {cell!r}." in message


@pytest.mark.parametrize(("missing", "expected"), [("hold", [0, 1, 1, 1]), ("skip", [0, 1])])
def test_empty_cells_are_held_or_left_out(missing, expected, here, capsys):
    for file in ("log.csv", "log.jsonl"):
        rows = [{"p": 1, "note": None}, {"p": 8, "note": "x"}, {"p": None, "note": ""}, {"p": math.nan, "note": ""}]
        name = write(file, rows, here)
        assert column(capsys, "monitor", 'F "p > 5"', "--trace", name, "--missing", missing) == expected
        message = error(capsys, "monitor", 'F "p > 5"', "--trace", name)
        assert "the cell of 'p' is empty. Write a number there, take the value of the row before" in message
        assert "--missing hold" in message
    name = write("log.csv", [{"p": 1}, {"p": "NA"}, {"p": math.nan}], here)
    assert "line 3: the cell of 'p' says 'NA'" in error(capsys, "monitor", 'F "p > 5"', "--trace", name)


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
        ('F[0s,5s] "p > 1"', [0, 1, 2, 3, 5, 6], "line 6: the row comes 2 seconds after the one before it, and rows"),
        ('F[0s,5s] "p > 1"', [0, 0, 3], "line 3: times should increase"),
        ('F "p@1s > 1"', [0, 2, 1], "line 4: times should increase"),
        ('F[0s,5s] "p > 1"', [0, "soon", 3], "line 3: a time should be a number or an ISO 8601 date"),
        ('F[6s,9s] "p > 1"', [0, 5, 10], "No row lies in the interval [6s,9s]"),
        ('X[3s] "p > 1"', [0, 2, 4], "3s in [3s] is 1.5 rows"),
        ('F[0s,5s] "p > 1"', [0, 1000, 2000], "rows are 1000 seconds apart"),
        ('F "r > 1"', [0, 1, 2], "Unknown name 'r'"),
        ('F "p@0.5 > 1"', [0, 1, 2], "Steps are whole"),
        ('F "before.p@2 > 1"', [0, 1, 2], "has no earlier values"),
        ('F "next_obs[0] > 1"', [0, 1, 2], "which is no column of the record. It has: time, p"),
    ],
)
def test_mistakes_are_explained(formula, times, message, here, capsys):
    name = write("log.csv", [{"time": time, "p": 0} for time in times], here)
    assert message in error(capsys, "monitor", formula, "--trace", name)


@pytest.mark.parametrize("rate", [3, 7, 30, 60, 64])
@pytest.mark.parametrize("decimals", [3, 4])
def test_intervals_are_those_of_the_times_however_these_are_rounded(rate, decimals, here, capsys):
    for first in (0, 1, 2, 5 * rate + 1):
        draw, length = random.Random(first), 25 * rate
        times = [round((first + k) / rate, decimals) for k in range(length)]
        labels = [(draw.random() < 0.3, draw.random() < 0.2 / rate) for _ in range(length)]
        rows = [
            {"time": f"{t:.{decimals}f}", "a": int(a), "b": int(b)} for t, (a, b) in zip(times, labels, strict=True)
        ]
        name = write("log.csv", rows, here)
        for low, high in ((0, 5), (0, 0.6), (1, 3), (0.4, 12)):
            near = 1.5 * 10**-decimals  # two times that are rounded
            main(["violations", f"G(a -> F[{low}s,{high}s] b)", "--trace", name, "--format", "json"])
            found = [row for row in json.loads(capsys.readouterr().out) if row["status"] == "violated"]
            broken = [k for row in found for k in range(row["step"], row["last_step"] + 1)]
            expected = [
                i
                for i, (a, _) in enumerate(labels)
                if a
                and not any(
                    b and low - near <= times[j] - times[i] <= high + near for j, (_, b) in enumerate(labels) if j >= i
                )
            ]
            judged = range(length - math.floor(high * rate + 1e-6))  # later ones are open
            assert [k for k in broken if k in judged] == [k for k in expected if k in judged], (first, low, high)


def test_a_long_deadline_is_that_of_the_whole_log(here, capsys):
    rows = [{"time": f"{k / 3:.3f}", "a": int(k == 20), "b": int(k == 1821)} for k in range(2000)]
    name = write("log.csv", rows, here)
    assert main(["violations", "G(a -> F[0s,10min] b)", "--trace", name]) == 1  # after 600.333 seconds
    assert main(["violations", "G(a -> F[0s,601s] b)", "--trace", name]) == 0


def test_times_may_be_off_by_half_a_row_and_earlier_values_are_exact(here, capsys):
    draw = random.Random(0)
    rows = [{"time": round(k + draw.uniform(-0.1, 0.1), 4), "p": k} for k in range(50)]
    assert column(capsys, "monitor", 'F[0s,5s] "p > 4"', "--trace", write("log.csv", rows, here))[-1] == 1
    rows = [{"time": f"{k / 10:.1f}", "p": k} for k in range(100)]
    words = ["monitor", 'now "p - p@5s > 50"', "--trace", write("log.csv", rows, here), "--semantics", "robustness"]
    assert set(column(capsys, *words)[50:]) == {0}  # although 8.1 - 5 is less than 3.1


def test_the_distance_of_rows_may_be_given(here, capsys):
    for stamp in ("", "soon", 0):
        name = write("log.csv", [{"time": stamp, "p": k} for k in range(30)], here)
        words = ["--trace", name, "--period", "1/3"]
        assert column(capsys, "monitor", 'F[0s,2s] "p > 6"', *words)[-1] == 0
        assert column(capsys, "monitor", 'F[0s,2s] "p > 5"', *words)[-1] == 1
        assert column(capsys, "monitor", 'now "p - p@2s == 6"', *words)[6:] == [1] * 24
    assert column(capsys, "monitor", 'now "p - p@1000000000000000000000s == p"', *words)[1:] == [1] * 29
    for period in ("0", "-1", "soon", "1/0", "inf", "nan", "1e999999999", f"1/{'9' * 400}"):
        with pytest.raises(SystemExit):
            main(["monitor", 'F[0s,2s] "p > 6"', "--trace", name, "--period", period])
        assert "--period: should be a number of seconds above 0" in capsys.readouterr().err


def test_a_pipe_needs_the_distance_of_rows(monkeypatch, capsys):
    def piped(*words):
        text = "time,p\n" + "".join(f"{k},{k}\n" for k in range(5))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return main(["monitor", 'F[0s,2s] "p > 1"', "--trace", "-", *words])

    assert piped() == 2
    assert "is a pipe, whose times are not known before its end. Give it: --period SECONDS." in capsys.readouterr().err
    assert piped("--period", "1") == 0


def test_times_have_a_unit(here, capsys):
    rows = [{"time": 500 * k, "p": k} for k in range(10)]
    words = ["monitor", 'F[0s,2s] "p - p@1s > 1"', "--trace", write("log.csv", rows, here)]
    assert "--time-unit" in error(capsys, *words)
    assert column(capsys, *words, "--time-unit", "ms")[:5] == [0, 0, 1, 1, 1]


def test_rows_may_not_be_left_out_where_durations_count_them(here, capsys):
    name = write("log.csv", [{"time": k, "p": None if k == 3 else k} for k in range(9)], here)
    message = error(capsys, "monitor", 'F[0s,2s] "p > 1"', "--trace", name, "--missing", "skip")
    assert "line 5: a cell is empty, and durations need every row." in message
    words = ["--trace", name, "--missing", "skip", "--period", "1"]
    assert "durations need every row" in error(capsys, "monitor", 'F "p > p@2s + 2"', *words)
    assert column(capsys, "monitor", 'F "p > p@2 + 2"', *words)[-1] == 1  # no duration


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


def test_parquet_times_may_be_in_nanoseconds(here, capsys):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    times = [1_700_000_000_000_000_001 + 500_000_000 * k for k in range(4)]
    columns = {
        "time": pyarrow.array(times, pyarrow.timestamp("ns", tz="UTC")),
        "at": pyarrow.array([1, 2001, None, 3001], pyarrow.time64("ns")),
        "took": pyarrow.array([1, 2001, None, 3001], pyarrow.duration("ns")),
        "p": [1, 2, 3, 9],
    }
    parquet.write_table(pyarrow.table(columns), here / "log.parquet")
    assert column(capsys, "monitor", 'now "p - p@1s > 1"', "--trace", "log.parquet")[2:] == [1, 1]
    (row,) = listed_violations(capsys, 'G[0s,2s] "p < 9"', "--trace", "log.parquet")
    assert row["time"] == "2023-11-14 22:13:21.500000+00:00"


def test_rows_are_read_as_they_come():
    def endless():
        for number in range(10**9):
            yield number, [str(number % 3)]

    trace = Trace(Table(["p"], endless()), "log")
    rows = trace.rows(trace.readings(["p@2 > p"]), LabelKind())
    assert [next(rows).labels["p@2 > p"] for _ in range(6)] == [0, 0, 0, 1, 1, 0]


@pytest.mark.parametrize("head", ["threshold = 0.9", "clip = true", "threshold = 0.9\nclip = true"])
def test_labels_are_turned_as_the_spec_file_says(head, capsys, here):
    (here / "spec.toml").write_text(
        f'{head}\npayment = "delta"\nobservation = ["x"]\natoms.near = "x / 10"\n'
        'pairs = [["F near", 1], ["now near", 2]]\n'
    )
    numbers = [0, 5, 9, 12 if "clip" in head else 10, 2]
    write("log.csv", [{"x": x} for x in numbers], here)
    spec = rs.Spec.load(here / "spec.toml")
    state = spec.start(spec.labels(None, None, [numbers[0]]))
    paid = []
    for x in numbers[1:]:
        state, reward = spec.step(state, spec.labels(None, 0, [x]))
        paid.append(pytest.approx(reward))
    assert main(["monitor", "spec.toml", "--trace", "log.csv"]) == 0
    assert [float(line.split(",")[-1]) for line in capsys.readouterr().out.splitlines()[2:]] == paid
    assert main(["explain", "spec.toml", "--trace", "log.csv", "--rows", "0"]) == 0
    assert [float(line.split()[1]) for line in capsys.readouterr().out.splitlines()[2:]] == paid


@pytest.mark.parametrize("command", ["monitor", "explain", "violations"])
def test_rules_about_things_that_appear_are_not_read_from_columns(command, capsys, here):
    (here / "orders.toml").write_text(
        'sorts = { order = "names" }\npairs = [["forall order: G !refund(order)", 1], ["F a", 1]]\n'
    )
    (here / "log.csv").write_text("a,refund(7)\n0,0\n1,1\n")
    assert main([command, "orders.toml", "--trace", "log.csv"]) == 2
    assert "the things of 'order' appear while an episode runs" in capsys.readouterr().err


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process cannot be set")
def test_dates_without_a_zone_are_read_alike_everywhere(zone, capsys, here, monkeypatch):
    first = datetime.datetime(2026, 3, 29, 1, 59, 30)  # where clocks in Berlin are put forward by an hour
    stamps = [(first + datetime.timedelta(seconds=10 * k)).isoformat() for k in range(12)]
    write("log.csv", [{"time": stamp, "x": k} for k, stamp in enumerate(stamps)], here)
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        found = column(capsys, "monitor", 'G "x - x@60s < 6.5"', "--trace", "log.csv")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert set(found) == {1.0}

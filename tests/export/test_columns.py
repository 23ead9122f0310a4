"""Expressions over columns in C, against Python: random expressions on random rows, and rules on a record."""

import ctypes
import itertools
import random
import shutil
import subprocess

import numpy as np
import pytest

from rewardspec.cli import main
from rewardspec.cli.trace_files import PastColumn
from rewardspec.errors import SpecError
from rewardspec.export.c_code import to_c
from rewardspec.export.c_columns import columns_to_c
from rewardspec.export.sources import source_of_monitor
from rewardspec.logic.durations import Pace
from rewardspec.spec.atoms.column_atoms import ColumnAtom
from rewardspec.synthesis.quantitative.synthesize import synthesize
from tests.export.agreement import FLAGS

COLUMNS = ["x", "y", "Pressure (bar)"]
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def compiled(text: str, folder, name: str) -> ctypes.CDLL:
    (folder / f"{name}.c").write_text(text)
    built = folder / f"{name}.so"
    command = ["gcc", *FLAGS, "-shared", "-fPIC", str(folder / f"{name}.c"), "-o", str(built), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(built))


def stepped(library: ctypes.CDLL, name: str, rows: np.ndarray) -> np.ndarray:
    """What the step of a record returns after each row."""
    step = getattr(library, f"{name}_record_step")
    step.restype = ctypes.c_double
    record = ctypes.create_string_buffer(1 << 20)
    getattr(library, f"{name}_record_reset")(record)
    rows = np.ascontiguousarray(rows, dtype=float)
    return np.array([step(record, row.ctypes.data_as(ctypes.c_void_p)) for row in rows])


def expression(draw: random.Random, depth: int) -> str:
    """A random expression of those whose results are the same in every library."""
    if depth == 0:
        name = draw.choice(("x", "y", "Pressure_bar"))
        kinds = [name, name, f"before.{name}", f"{name}@{draw.randint(1, 7)}", f"{name}@{draw.randint(1, 3) * 2}s"]
        return draw.choice([*kinds, str(draw.choice((0, 1, 2.5, 0.1, 7)))])
    kind = draw.randrange(9)
    a, b, c = (expression(draw, draw.randrange(depth)) for _ in range(3))
    if kind < 3:
        return f"({a} {draw.choice(('+', '-', '*', '/', '//', '%'))} {b})"
    if kind == 3:
        return f"({a} {draw.choice(('<', '<=', '>', '>=', '==', '!='))} {b})"
    if kind == 4:
        return f"({a} {draw.choice(('and', 'or'))} not {b})"
    if kind == 5:
        return f"{draw.choice(('abs', 'floor', 'sqrt'))}({a})"
    if kind == 6:
        return f"{draw.choice(('min', 'max'))}({a}, {b}, {c})"
    if kind == 7:
        return draw.choice((f"where({a}, {b}, {c})", f"clip({a}, {b}, {c})", f"({a}) ** {draw.randint(1, 8)}"))
    margin = draw.choice(("", ", 0.5", ", 2"))
    shapes = [f"at_least({a}, {b}{margin})", f"at_most({a}, {b}{margin})", f"inside({a}, -1, 2{margin})"]
    return draw.choice([*shapes, f"ramp({a}, 3, -1)", f"proximity({a}, {b}, 2)"])


@needs_gcc
@pytest.mark.parametrize("margin", [False, True])
def test_random_expressions_give_the_same_bits(margin, tmp_path):
    draw, period = random.Random(margin), 2.0
    texts = dict.fromkeys(expression(draw, draw.choice((1, 2, 3))) for _ in range(250))
    atoms = {f"e{number}": ColumnAtom(text, COLUMNS, margin) for number, text in enumerate(texts)}
    values = (0.0, -0.0, 1.0, -1.0, 2.5, 0.1, 1e-300, 1e300)
    rows = np.array([[draw.choice((draw.choice(values), draw.gauss(0, 3))) for _ in COLUMNS] for _ in range(40)])
    source = source_of_monitor(synthesize(f"now ({' & '.join(atoms)})", semantics="robustness"), "m")
    text = to_c(source) + columns_to_c(source, atoms, lambda: Pace(period))
    text += "const double *labels(const m_record *r);\nconst double *labels(const m_record *r) { return r->labels; }\n"
    library = compiled(text, tmp_path, "expressions")
    library.labels.restype = ctypes.POINTER(ctypes.c_double)
    record = ctypes.create_string_buffer(1 << 20)
    library.m_record_reset(record)
    order = sorted(range(3), key=lambda k: text.index(f"M_COLUMN_{('X', 'Y', 'PRESSURE_BAR')[k]} ="))
    in_c = []
    for row in np.ascontiguousarray(rows[:, order]):
        library.m_record_step(record, row.ctypes.data_as(ctypes.c_void_p))
        in_c.append(library.labels(record)[: len(atoms)])
    finite = 0
    for place, name in enumerate(source.program.atoms):
        atom, earlier = atoms[name], []
        for read in atom.reads:
            ago = int(read.ago / period) if read.timed else int(read.ago)
            column = rows[:, COLUMNS.index(read.column)].tolist()
            earlier.append([column[max(0, k - ago)] for k in range(len(rows))])
        # Row by row on floats, all rows at once on arrays, and in C.
        expected = np.array([atom(inputs) for inputs in zip(*earlier, strict=True)] or [atom([])] * len(rows))
        on_columns = np.broadcast_to(atom.on_columns([np.array(column) for column in earlier]), expected.shape)
        for way, found in (("arrays", on_columns), ("C", np.array([labels[place] for labels in in_c]))):
            same = (expected.view(np.uint64) == np.ascontiguousarray(found).view(np.uint64)) | (
                np.isnan(expected) & np.isnan(found)
            )
            assert same.all(), (way, atom.text, expected[~same][:2], found[~same][:2])
        finite += np.isfinite(expected).sum()
    assert finite > 5000


def test_earlier_values_are_the_same_in_blocks():
    draw = random.Random(0)
    column = np.array([draw.random() for _ in range(60)])
    times = np.cumsum([draw.choice((1.0, 2.0, 0.5)) for _ in range(60)])
    for read in ColumnAtom("x@3 + x@7 + before.x + x@4s + x@0.5s", ["x"]).reads:
        whole = PastColumn(read).step(column, times)
        if read.timed:
            expected = [max([0, *(j for j in range(k) if times[j] <= times[k] - read.ago)]) for k in range(60)]
        else:
            expected = [max(0, k - int(read.ago)) for k in range(60)]
        assert whole.tolist() == column[expected].tolist()
        edges = [0, *sorted(draw.sample(range(1, 60), 12)), 60]
        blocks = PastColumn(read)
        parts = [blocks.step(column[a:b], times[a:b]) for a, b in itertools.pairwise(edges)]
        assert np.concatenate(parts).tolist() == whole.tolist()


@needs_gcc
def test_whether_a_column_has_a_word_is_a_column_in_c(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    modes = ["auto", "off", "auto", "auto", "off", "*/ evil", "auto", "off"]
    (tmp_path / "log.csv").write_text("mode\n" + "\n".join(modes) + "\n")
    formula = "now \"mode == 'auto' and not mode@2 == 'off' or mode == '*/ evil'\""
    assert main(["export", formula, "--trace", "log.csv", "-o", "m.c"]) == 0
    assert main(["monitor", formula, "--trace", "log.csv"]) == 0
    printed = capsys.readouterr().out.splitlines()
    expected = [float(line.split(",")[1]) for line in printed[printed.index("step,value,lower,upper") + 1 :]]
    text = (tmp_path / "m.c").read_text()
    words = {"AUTO": "auto", "OFF": "off", "EVIL": "*/ evil"}
    order = sorted(words, key=lambda name: text.index(f"M_COLUMN_MODE_{name} ="))
    rows = np.array([[mode == words[name] for name in order] for mode in modes], dtype=float)
    assert stepped(compiled(text, tmp_path, "words"), "m", rows).tolist() == expected
    assert 0 < sum(expected) < len(modes)


@needs_gcc
def test_nested_powers_stay_short(tmp_path):
    text = "x"
    for _ in range(7):
        text = f"({text}) ** 8"
    atom = ColumnAtom(f"{text} > 2", ["x"])
    source = source_of_monitor(synthesize("now a"), "m")
    in_c = to_c(source) + columns_to_c(source, {"a": atom}, lambda: Pace(1.0))
    assert len(in_c) < 10_000
    library = compiled(in_c, tmp_path, "powers")
    rows = np.array([[0.99], [1.0], [1.0 + 1e-6], [1.0 + 1e-7]])
    assert stepped(library, "m", rows).tolist() == [atom([x]) for (x,) in rows] == [0.0, 0.0, 1.0, 0.0]


def test_what_cannot_be_exported_is_explained(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("time,x\n0,1\n2,1\n")
    for words, message in (
        (['G "x@3s > 1"', "-o", "m.c"], "3 seconds are 1.5 rows of this record"),
        (['G "x@9000000 > 1"', "-o", "m.c"], "at most 1,000,000 values"),
        (['G "x > 1"', "-o", "m.js"], "exported to C only"),
        (['F "x > 1"', "-o", "m.c", "--verdicts"], "need a rule `G φ`"),
        (['G "z > 1"', "-o", "m.c"], "Unknown name 'z'"),
    ):
        assert main(["export", *words, "--trace", "log.csv"]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SpecError):
        ColumnAtom("z > 1", ["x"])


def test_seconds_ago_are_rows_however_times_are_rounded(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("time,x\n" + "".join(f"{k / 3:.3f},{k}\n" for k in range(1, 90)))
    for seconds, rows in ((5, 15), (0.333, 1)):
        words = [f'G "x@{seconds}s > 1"', "--trace", "log.csv", "-o", "m.c"]
        assert main(["export", *words]) == 0
        assert f"double c0[{rows}];" in (tmp_path / "m.c").read_text()
        assert main(["export", *words, "--period", "1/30"]) == (0 if seconds == 5 else 2)


@needs_gcc
def test_seconds_ago_are_the_same_rows_under_a_period(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("x\n" + "".join(f"{k}\n" for k in range(6)))
    for seconds, rows in (("0.066666667", 2), ("0.1", 3), ("0.03333333333", 1)):
        for limit in range(1, 5):
            words = [f'now "x - x@{seconds}s < {limit}" & X X X now "x - x@{seconds}s < {limit}"', "--period", "1/30"]
            assert main(["monitor", *words, "--trace", "log.csv"]) == 0
            values = [float(line.split(",")[1]) for line in capsys.readouterr().out.splitlines()[1:]]
            assert values[-1] == (rows < limit)
            assert main(["export", *words, "--trace", "log.csv", "-o", "m.c"]) == 0
            capsys.readouterr()
            name = f"m{rows}{limit}"
            library = compiled((tmp_path / "m.c").read_text(), tmp_path, name)
            assert stepped(library, "m", np.arange(6.0)[:, None]).tolist() == values


@needs_gcc
@pytest.mark.parametrize("head", ["", "threshold = 0.6\n", "clip = true\n"])
def test_a_spec_is_paid_from_columns(head, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    rows = [(2.0 * k, draw.randrange(9), draw.randrange(2)) for k in range(50)]
    (tmp_path / "log.csv").write_text("time,p,open\n" + "".join(f"{t},{p},{o}\n" for t, p, o in rows))
    (tmp_path / "spec.toml").write_text(
        f'{head}pairs = [["G(high -> F[0s,6s] open)", 2], [\'F G "p - p@4s < 3"\', 1]]\n'
        f'atoms = {{ high = "p / {4 if "clip" in head else 8}" }}\n'
    )
    assert main(["monitor", "spec.toml", "--trace", "log.csv"]) == 0
    paid = [line.split(",")[-1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert main(["export", "spec.toml", "--trace", "log.csv", "-o", "spec.c"]) == 0
    text = (tmp_path / "spec.c").read_text()
    places = sorted(("P", "OPEN"), key=lambda name: text.index(f"SPEC_COLUMN_{name} ="))
    columns = {"P": [row[1] for row in rows], "OPEN": [row[2] for row in rows]}
    found = stepped(compiled(text, tmp_path, "spec"), "spec", np.array([columns[name] for name in places]).T)
    assert found[1:].tolist() == [float(value) for value in paid[1:]]
    assert found[0] == 0.0

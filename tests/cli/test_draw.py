"""`rewardspec draw`."""

from xml.etree import ElementTree

import pytest

from rewardspec.cli import main

FORMULA = "!a U (a & F b)"


def test_it_draws_the_monitor(tmp_path, capsys):
    target = tmp_path / "monitor.svg"
    assert main(["draw", FORMULA, "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"Wrote {target}: <Monitor of {FORMULA}: 3 registers, 1 control state>\n"
    assert "min[!a]" in "".join(ElementTree.parse(target).getroot().itertext())


SPEC = """
pairs = [["F G near", 2], { formula = "!a U (a & F b)", weight = 1, name = "first a, then b" }]
"""


def test_of_a_spec_file_it_draws_the_machine_of_each_pair(tmp_path, capsys):
    (tmp_path / "spec.toml").write_text(SPEC)
    assert main(["draw", str(tmp_path / "spec.toml"), "-o", str(tmp_path / "machine.svg")]) == 0
    first, second = tmp_path / "machine-1.svg", tmp_path / "machine-2.svg"
    assert capsys.readouterr().out == (
        f"Wrote {first}: pair 1, <Monitor of F G near: 0 registers, 1 control state>\n"
        f"Wrote {second}: pair 2 (first a, then b), <Monitor of {FORMULA}: 3 registers, 1 control state>\n"
    )
    assert "min[!a]" in "".join(ElementTree.parse(second).getroot().itertext())
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name, "spec.toml"]


def test_of_a_spec_file_with_one_pair_it_draws_one_picture(tmp_path, capsys):
    (tmp_path / "spec.toml").write_text('pairs = [["F near", 2]]')
    assert main(["draw", str(tmp_path / "spec.toml"), "--boolean", "-o", str(tmp_path / "machine.svg")]) == 0
    assert capsys.readouterr().out.startswith(f"Wrote {tmp_path / 'machine.svg'}: pair 1, <BooleanMonitor of F near")


@pytest.mark.parametrize(
    ("text", "message"), [("pairs = []", "has no pairs to draw"), (f"max_registers = 0\n{SPEC}", "max_registers")]
)
def test_a_spec_that_cannot_be_drawn_writes_nothing(text, message, tmp_path, capsys):
    (tmp_path / "spec.toml").write_text(text)
    assert main(["draw", str(tmp_path / "spec.toml"), "-o", str(tmp_path / "machine.svg")]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["spec.toml"]


@pytest.mark.parametrize("command", ["draw", "check", "monitor"])
def test_the_name_of_a_file_in_a_formulas_place_is_told(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("home\n1\n")
    options = {"draw": ["-o", "x.svg"], "check": [], "monitor": ["--trace", "x.csv"]}[command]
    for name in ("drone.tml", "specs/drone", "drone.json"):
        assert main([command, name, *options]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error: {name!r} looks like a file, and there is none of that name in '{tmp_path}'.")
        assert "Give a formula" in said
    (tmp_path / "drone.txt").write_text("F home")
    assert main([command, "drone.txt", *options]) == 2
    assert "'drone.txt' is a file, and a formula is wanted here." in capsys.readouterr().err
    assert main([command, "F (goal", *options]) == 2
    assert "looks like a file" not in capsys.readouterr().err


def test_it_draws_the_automaton(tmp_path, capsys):
    target = tmp_path / "automaton.svg"
    assert main(["draw", FORMULA, "--boolean", "-o", str(target)]) == 0
    assert "BooleanMonitor" in capsys.readouterr().out
    assert "min[!a]" not in "".join(ElementTree.parse(target).getroot().itertext())


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        ("png", b"\x89PNG"),
        ("pdf", b"%PDF"),
        ("dot", b"digraph"),
        ("gv", b"digraph"),
        ("mmd", b"flowchart"),
        ("md", b"```mermaid"),
    ],
)
def test_the_ending_chooses_the_format(ending, start, tmp_path):
    target = tmp_path / f"monitor.{ending}"
    assert main(["draw", FORMULA, "-o", str(target)]) == 0
    assert start in target.read_bytes()[:120]


def test_an_unknown_ending_lists_the_known_ones_and_the_nearest(tmp_path, capsys):
    assert main(["draw", FORMULA, "-o", str(tmp_path / "monitor.pngg")]) == 2
    assert capsys.readouterr().err == (
        "error: Cannot tell the picture's format from 'monitor.pngg'. "
        "Known endings: .svg, .png, .pdf, .dot, .gv, .mmd, .md. Did you mean '.png'?\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_named(tmp_path, capsys):
    target = tmp_path / "pictures" / "monitor.svg"
    assert main(["draw", FORMULA, "-o", str(target)]) == 2
    assert capsys.readouterr().err == (
        f"error: Cannot write '{target}': there is no directory '{target.parent}'. Make it first.\n"
    )


def test_spot_syntax(tmp_path, capsys):
    assert main(["draw", "X p", "--syntax", "spot", "-o", str(tmp_path / "monitor.svg")]) == 0
    assert "<Monitor of WX p:" in capsys.readouterr().out


def test_a_bad_formula_writes_nothing(tmp_path, capsys):
    assert main(["draw", "G(a -> F", "-o", str(tmp_path / "monitor.svg")]) == 2
    assert "stops too early" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_pairs_that_are_paid_for_progress_show_it(tmp_path, capsys):
    (tmp_path / "spec.toml").write_text('[[pairs]]\nformula = "F(a & F b)"\nweight = 1\nprogress = true\n')
    assert main(["draw", str(tmp_path / "spec.toml"), "-o", str(tmp_path / "spec.svg")]) == 0
    assert main(["draw", "F(a & F b)", "--progress", "-o", str(tmp_path / "formula.svg")]) == 0
    assert "progress = " in (tmp_path / "spec.svg").read_text(encoding="utf-8")
    assert (tmp_path / "spec.svg").read_text() == (tmp_path / "formula.svg").read_text()

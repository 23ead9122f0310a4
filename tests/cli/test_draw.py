"""`rewardspec draw`."""

from xml.etree import ElementTree

import pytest

from rewardspec.cli import main

FORMULA = "!a U (a & F b)"


def test_it_draws_the_monitor(tmp_path, capsys):
    target = tmp_path / "monitor.svg"
    assert main(["draw", FORMULA, "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"wrote {target}: <Monitor of {FORMULA}: 3 registers, 1 control state>\n"
    assert "min[!a]" in "".join(ElementTree.parse(target).getroot().itertext())


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

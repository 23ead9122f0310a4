"""What the README shows is what happens."""

import re
import shlex
from pathlib import Path

import pytest

import rewardspec as rs
from rewardspec.cli import main
from tests.markdown import ROOT, blocks, run_script

README = ROOT / "README.md"
COMMANDS = [part for block in blocks(README, "console") for part in block.split("$ ") if part]


@pytest.mark.parametrize("code", blocks(README, "python"))
def test_the_examples_run_and_print_what_they_say(code):
    run_script(code)


def test_it_starts_with_an_example_of_five_lines():
    lines = blocks(README, "python")[0].splitlines()
    assert len([line for line in lines if line]) == 5


@pytest.mark.parametrize("shown", COMMANDS, ids=lambda shown: shown.partition("\n")[0])
def test_the_commands_print_what_is_shown(shown, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    command, _, expected = shown.partition("\n")
    assert main(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out
    beginning, cut, _ = expected.partition("…\n")
    assert printed.startswith(beginning) if cut else printed == expected


def test_the_table_of_monitors_is_true():
    text = README.read_text(encoding="utf-8")
    table = text.partition("|---|---|---|\n")[2].partition("<!-- end of table -->")[0]
    rows = []
    for formula in ("F p", "G(a -> F b)", "a U b", "!a U (a & F b)"):
        monitor = rs.synthesize(formula)
        (node,) = monitor.diagram().nodes
        rows.append(f"| `{formula}` | {len(monitor.registers)} | {'<br>'.join(f'`{line}`' for line in node.lines)} |\n")
    assert table == "".join(rows)


def test_the_picture_is_what_its_command_draws(tmp_path):
    assert main(["draw", "!a U (a & F b)", "-o", str(tmp_path / "monitor.svg")]) == 0
    assert (tmp_path / "monitor.svg").read_bytes() == (ROOT / "docs" / "images" / "monitor.svg").read_bytes()


def test_every_link_leads_to_a_file():
    for page in (README, *sorted((ROOT / "docs").rglob("*.md"))):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / Path(target)).exists(), f"{page.name}: {target}"

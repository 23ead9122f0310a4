"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

from tests.markdown import ROOT, blocks, run_script

README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("code", blocks(README, "python"))
def test_the_examples_run_and_print_what_they_say(code):
    run_script(code)


def test_it_starts_with_an_example_of_at_most_ten_lines():
    lines = blocks(README, "python")[0].splitlines()
    assert len([line for line in lines if line]) <= 10


def test_its_numbers_were_measured():
    table = README.read_text(encoding="utf-8").split("<!-- numbers")[1].partition("\n")[2]
    shown = [cells.split("|")[2] for cells in table.splitlines()[2:] if cells.startswith("|")]
    numbers = re.findall(r"[\d.,]*\d%?", " ".join(shown).replace("C++", ""))
    measured = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks" / "results").glob("*.md"))
    assert len(numbers) >= 8
    assert [number for number in numbers if f" {number} " not in measured] == []


def test_its_result_in_locked_room_was_measured():
    page = (ROOT / "benchmarks" / "results" / "hard_exploration.md").read_text(encoding="utf-8")
    table = page.split("\n## Environments\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| LockedRoom \| (the [^|]+?) \| ([\d.]+) \[([\d.]+), ([\d.]+)\]", table, flags=re.MULTILINE)
    measured = {reward: [int(100 * float(number)) for number in numbers] for reward, *numbers in rows}
    text = " ".join(README.read_text(encoding="utf-8").split())
    shown = re.search(r"PPO solves (\d+)% .* it solves (\d+)% \(mean of ten seeds, 95% interval (\d+) to (\d+)\)", text)
    own, *formulas = map(int, shown.groups())
    assert own == measured["the environment's"][0]
    assert formulas == measured["the formula's, for progress"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page):
    text = re.sub(r"```.*?```|`[^`\n]*`|^>>> .*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert target.startswith("https://") or (page.parent / Path(target)).exists(), target

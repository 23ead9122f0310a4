"""The documentation's code, and the first look, run and print what the pages say."""

import importlib.util
import re
import sys
import tomllib

import pytest

import rewardspec as rs
from examples import first_look
from rewardspec.cli import main
from rewardspec.logic import timed_patterns
from rewardspec.spec import toml_reading
from rewardspec.spec.lint.linter import RULES
from tests.markdown import ROOT, blocks, run_commands, run_script, run_sessions, scripts
from tests.test_package import LAB, LIBRARY

DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "CONTRIBUTING.md"]
FOR_DEVELOPERS = {"test", "lint", "docs", "oracles", "bench", "browser"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_prints_what_the_page_says(page, tmp_path):
    for code in scripts(page):
        run_script(code)
    run_sessions(page)
    run_commands(page, tmp_path)


def test_every_guide_shows_something_that_runs():
    guides = set((DOCS / "guides").glob("*.md")) - {DOCS / "guides" / "index.md"}
    assert len(guides) >= 14
    assert [page.name for page in guides if not (blocks(page, "pycon") or blocks(page, "console"))] == []


def test_the_index_of_guides_says_what_each_is_about():
    index = (DOCS / "guides" / "index.md").read_text(encoding="utf-8")
    guides = {path.name for path in (DOCS / "guides").iterdir() if path.suffix in (".md", ".ipynb")} - {"index.md"}
    assert set(re.findall(r"^- \[.+\]\((\S+)\): \w.+$", index, flags=re.MULTILINE)) == guides
    listed = re.findall(r"^```\{toctree\}\n(?::.*\n)*\n((?:\w+\n)+)```$", index, flags=re.MULTILINE)
    assert sorted("".join(listed).split()) == sorted(name.partition(".")[0] for name in guides)


def test_start_names_every_extra():
    table = (DOCS / "start.md").read_text(encoding="utf-8").split("<!-- extras -->\n")[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r"^\| `([\w-]+)`", table, flags=re.MULTILINE)) == (
        set(project["optional-dependencies"]) - FOR_DEVELOPERS
    )


def test_the_extra_all_has_every_extra_but_those_that_are_large_or_clash():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (combined,) = extras["all"]
    named = re.fullmatch(r"rewardspec\[([\w,]+)\]", combined)[1].split(",")
    assert sorted(named) == sorted(set(extras) - FOR_DEVELOPERS - {"all", "envpool", "jax-envs", "pettingzoo"})


def test_the_table_of_monitors_is_true():
    text = (DOCS / "logic" / "synthesis.md").read_text(encoding="utf-8")
    table = text.partition("|---|---|---|\n")[2].partition("<!-- end of table -->")[0]
    rows = []
    for formula in ("F p", "G(a -> F b)", "a U b", "!a U (a & F b)"):
        monitor = rs.synthesize(formula)
        (node,) = monitor.diagram().nodes
        rows.append(f"| `{formula}` | {len(monitor.registers)} | {'<br>'.join(f'`{line}`' for line in node.lines)} |\n")
    assert table == "".join(rows)


def test_the_picture_of_a_monitor_is_what_its_command_draws(tmp_path):
    assert main(["draw", "!a U (a & F b)", "-o", str(tmp_path / "monitor.svg")]) == 0
    assert (tmp_path / "monitor.svg").read_bytes() == (DOCS / "images" / "monitor.svg").read_bytes()


def test_the_rules_of_lint_are_those_of_its_module():
    page = (DOCS / "api" / "spec.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    found = [(rule.__name__.replace("_", "-"), rule.__doc__.rstrip(".")) for rule in RULES]
    assert rows == [f"| `{name}` | {finds[0].lower()}{finds[1:]} |" for name, finds in found]


def script(name):
    """A script of the documentation, which may import others beside it."""
    if str(DOCS / "scripts") not in sys.path:
        sys.path.append(str(DOCS / "scripts"))
    found = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_about_files_has_every_key():
    page = (DOCS / "guides" / "files.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `\[*(\w+)\]*` \|", page, flags=re.MULTILINE)
    assert set(rows) == {*toml_reading.KEYS, *toml_reading._PAIR}
    assert all(f"{key} = " in page for key in toml_reading._ATOM)


def test_the_notebook_shows_what_its_cells_give():
    assert (DOCS / "guides" / "tour.ipynb").read_text(encoding="utf-8") == script("tour").notebook()


def test_every_option_of_every_command_is_on_the_page_of_the_command_line(capsys):
    page = script("commands").options()
    sections = dict(part.split("\n", 1) for part in page.split("## ")[1:])
    table = re.findall(
        r"^\| `rewardspec (\w+)", (DOCS / "api" / "commands.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(table) == set(sections)
    assert f"\n{(DOCS / 'api' / 'commands.md').read_text(encoding='utf-8')}".count("\n<!-- options -->\n") == 1
    assert len(sections) >= 12
    for name, section in sections.items():
        with pytest.raises(SystemExit):
            main([name, "--help"])
        shown = set(re.findall(r"(?<![\w`-])--[a-z][\w-]*", capsys.readouterr().out.split("\nexample:")[0])) - {
            "--help"
        }
        assert shown <= set(re.findall(r"--[a-z][\w-]*", section)), name
        assert "%(" not in section


def test_the_map_of_the_layers_is_true():
    architecture = script("architecture")
    assert (tuple(architecture.LIBRARY), tuple(architecture.LAB)) == (LIBRARY, LAB)
    assert (DOCS / "images" / "architecture.svg").read_text(encoding="utf-8") == architecture.picture()


def test_every_pattern_about_time_has_a_picture_that_is_true():
    pictures, page = script("timed_patterns"), (DOCS / "guides" / "time.md").read_text(encoding="utf-8")
    named = [
        name for name, one in vars(timed_patterns).items() if getattr(one, "__module__", "") == timed_patterns.__name__
    ]
    assert set(pictures.EXAMPLES) == {name for name in named if not name.startswith("_")}
    for name in pictures.EXAMPLES:
        assert f"(../images/{pictures.path(name).name})" in page
        assert pictures.path(name).read_text(encoding="utf-8") == pictures.picture(name)


def test_the_live_figures_are_what_their_script_writes():
    figures = script("live_figures")
    pages = figures.figures()
    assert {path.stem for path in figures.FOLDER.glob("*.html")} == set(pages)
    for name, text in pages.items():
        assert (figures.FOLDER / f"{name}.html").read_text(encoding="utf-8") == text
    shown = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "guides").glob("*.md"))
    assert all(f"_static/live/{name}.html" in shown for name in pages)


def test_a_site_is_searched_for_dead_links_and_for_what_it_loads(tmp_path):
    (tmp_path / "index.html").write_text('<p id="top"><a href="b.html#there">b</a><a href="https://elsewhere">c</a>')
    (tmp_path / "b.html").write_text('<p id="there"><script src="https://elsewhere/x.js"></script><a href="a.html#no">')
    assert script("check_site").problems(tmp_path) == [
        "b.html: a.html#no leads nowhere",
        "b.html: loads https://elsewhere/x.js from elsewhere",
    ]


def test_the_first_look_writes_pictures_and_a_report_that_needs_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(first_look, "OUTPUT", tmp_path)
    first_look.main()
    printed = capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == set(re.findall(r"[\w-]+\.(?:svg|html)", printed))
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.count("<svg") == 6
    assert not re.search(r"<(script|img|link|iframe)|\b(src|href)=\"(?!#)|@import|url\((?!#)", report)


def test_the_files_that_contributors_are_sent_to_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## What to touch")[2].partition("## What to keep in mind")[0]
    named = set(re.findall(r"`([\w/]+\.py)`", section))
    assert len(named) > 20
    missing = [name for name in named if not ((ROOT / "src" / "rewardspec" / name).exists() or (ROOT / name).exists())]
    assert not missing

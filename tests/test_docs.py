"""The documentation's code, and the examples, run and print what the pages say."""

import re

import pytest

from examples import demo
from tests.markdown import ROOT, blocks, run_script, run_sessions

PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_the_pages_are_there():
    assert {page.name for page in PAGES} >= {"logic.md", "monitors.md", "paper.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_prints_what_the_page_says(page):
    for code in blocks(page, "python"):
        run_script(code)
    run_sessions(page)


def test_the_demo_writes_pictures_and_a_report_that_needs_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "OUTPUT", tmp_path)
    demo.main()
    printed = capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == set(re.findall(r"[\w-]+\.(?:svg|html)", printed))
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.count("<svg") == 6
    assert not re.search(r"<(script|img|link|iframe)|\b(src|href)=\"(?!#)|@import|url\((?!#)", report)

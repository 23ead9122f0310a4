"""The code in Markdown files: found, run, and compared with what the text says that it prints."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def blocks(path: Path, language: str) -> list[str]:
    """The contents of the fenced blocks in one language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [code for name, code in fenced if name == language]


def run_script(code: str) -> None:
    """Run a block as it stands; what it prints should be what the comments behind its `print` calls say."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "<block>", "exec"), {"__name__": "__main__"})
    said = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
    assert output.getvalue().splitlines() == said


def run_sessions(path: Path) -> None:
    """Run the page's interactive sessions, one after the other and with the same variables."""
    sessions = "\n".join(blocks(path, "pycon"))
    names: dict[str, Any] = {}
    test = doctest.DocTestParser().get_doctest(sessions, names, path.name, str(path), 0)
    report = io.StringIO()
    doctest.DocTestRunner(verbose=False).run(test, out=report.write)
    assert not report.getvalue(), report.getvalue()

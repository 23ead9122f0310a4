"""The code in Markdown files: found, run, and compared with what the text says that it prints.

A page can hold

- `pycon` sessions, which share their variables from the first to the last;
- `python` blocks, each a script of its own; what they print is said in comments behind their `print` calls. One that
  starts with a comment `# needs package` is run where that is installed;
- files: `python` and `toml` blocks whose first line is a comment with the file's name, as `# cart.py`, and whole files
  of the repository, of which it may show parts with `literalinclude`;
- `console` blocks with commands behind `$` and their output, in which `…` stands for anything. Those that run
  `rewardspec`, or one of the page's files with `python`, are run in a folder that holds these files.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from rewardspec.cli import main

ROOT = Path(__file__).resolve().parent.parent
NOT_RUN = ("pip", "make", "cd", "tensorboard", "ray")  # commands that change the machine, or never end
_NAMED = re.compile(r"# ([\w-]+\.(?:py|toml))\n")


def blocks(path: Path, language: str) -> list[str]:
    """The contents of the fenced blocks in one language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [code for name, code in fenced if name == language]


def scripts(path: Path) -> list[str]:
    """The `python` blocks that are no files and need nothing that is not installed."""
    return [code for code in blocks(path, "python") if not _NAMED.match(code) and _has_what_it_needs(code)]


def _has_what_it_needs(code: str) -> bool:
    needed = re.match(r"# needs ([\w.]+)\n", code)
    if needed is None:
        return True
    try:
        importlib.import_module(needed[1])
    except ImportError:
        return False
    return True


def files(path: Path) -> dict[str, str]:
    """The files that a page shows."""
    named = [(_NAMED.match(code), code) for language in ("python", "toml") for code in blocks(path, language)]
    included = re.findall(r"^:::\{literalinclude\} (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name[1]: code for name, code in named if name} | {
        Path(name).name: (path.parent / name).read_text(encoding="utf-8") for name in included
    }


def commands(path: Path) -> list[tuple[str, str]]:
    """The commands that a page shows and that can be run, each with its output."""
    parts = [part for block in blocks(path, "console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    split = [(command, output) for command, _, output in (part.partition("\n") for part in parts)]
    return [(command, output) for command, output in split if command.split()[0] not in NOT_RUN]


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


def run_commands(path: Path, folder: Path) -> None:
    """Run the page's commands, in a folder that holds its files and the examples."""
    for name, text in files(path).items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "examples").symlink_to(ROOT / "examples")
    for command, expected in commands(path):
        printed = _output(shlex.split(command, comments=True), folder)
        pattern = "".join(
            r"(?:.*\n)*?" if line == "…\n" else ".*".join(map(re.escape, line.split("…")))
            for line in expected.splitlines(keepends=True)
        )
        assert re.fullmatch(pattern, printed), f"$ {command}\n{printed}"


def _output(command: list[str], folder: Path) -> str:
    if command[0] == "rewardspec":
        output = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(output):  # progress goes elsewhere
            found = (
                1 if command[1] in ("violations", "transcripts") else 0
            )  # the status of a check that found something
            assert main(command[1:]) in (0, found), f"{command} failed"
        return output.getvalue()
    assert command[0] == "python", f"a page shows a command that nothing runs: {command}"
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    result = subprocess.run(
        [sys.executable, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout

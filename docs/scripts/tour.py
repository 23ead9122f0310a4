"""Write docs/guides/tour.ipynb: a notebook of what formulas, monitors and explanations look like, with its outputs.

The cells are run here, without Jupyter, and what they show is stored, so that the notebook can be read where it is not
run: on the documentation's site and in a repository's viewer.

Run from anywhere: python docs/scripts/tour.py
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "guides" / "tour.ipynb"

# Text, and code: a cell of code ends in an expression, which it shows.
CELLS = (
    """# A tour in pictures

A notebook shows formulas, monitors and explanations as pictures and tables. This one needs only rewardspec.""",
    ("import rewardspec as rs", "", 'formula = rs.parse("!crash U (landed & F rest)")', "formula"),
    """## The monitor

The picture has one box for each control state, with the updates of the registers. The arrow from the left shows their
first values. A prime marks a value that was just computed.""",
    ("monitor = rs.synthesize(formula)", "monitor"),
    """## The automaton

This is the smallest automaton for labels that are 0 or 1. States with a double border accept.""",
    ("rs.synthesize_boolean(formula)",),
    """A formula with `X` needs additional control states:""",
    ('rs.synthesize("X X p")',),
    """## The value, step by step

Each row has the value after a step, and the smallest and the largest value that the episode can still end with. The
crash of 0.25 at step 2 lowers the largest value to 0.75.""",
    (
        'episode = {"crash": [0, 0, 0.25, 0, 0], "landed": [0, 0, 0, 0.5, 1], "rest": [0, 0, 0, 0, 1]}',
        "state, rows = monitor.initial_state(), []",
        "for step in range(5):",
        "    state, value = monitor.step(state, {atom: labels[step] for atom, labels in episode.items()})",
        "    rows.append((value, *monitor.bounds(state)))",
        "rows",
    ),
    """## Why a step paid what it paid

The formula that contributed most to the reward is bold. Steps after a veto are shaded.""",
    (
        'spec = rs.Spec([("F landed", 2), ("G !crash", 1)], penalty=-1)',
        'spec.explain({"crash": [0, 0, 0.25, 0, 1], "landed": [0, 0.25, 0.5, 1, 1]})',
    ),
    """## Before training

`lint` lists what looks wrong, with the reason and a remedy:""",
    (
        'suspicious = rs.Spec([("F landed & !crash", 10), ("G !crash", -10)])',
        "suspicious.lint()",
    ),
)
_RICH = {"text/latex": "_repr_latex_", "image/svg+xml": "_repr_svg_", "text/html": "_repr_html_"}


def main() -> None:
    """Write the notebook."""
    NOTEBOOK.write_text(notebook(), encoding="utf-8")
    print(f"wrote {NOTEBOOK.name}")


def notebook() -> str:
    """The notebook's text."""
    names: dict[str, Any] = {}
    cells: list[dict[str, Any]] = []
    count = 0
    for number, cell in enumerate(CELLS):
        common = {"id": f"cell-{number}", "metadata": {}}
        if isinstance(cell, str):
            cells.append({"cell_type": "markdown", **common, "source": _lines(cell)})
            continue
        count += 1
        source = "\n".join(cell)
        output = {
            "output_type": "execute_result",
            "execution_count": count,
            "metadata": {},
            "data": shown(run(source, names)),
        }
        cells.append(
            {
                "cell_type": "code",
                **common,
                "execution_count": count,
                "source": _lines(source),
                "outputs": [output],
            }
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell, and give the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), "a cell ends in what it shows"
    exec(compile(tree, "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def shown(value: Any) -> dict[str, list[str]]:
    """What Jupyter would show of a value."""
    data = {kind: getattr(value, method)() for kind, method in _RICH.items() if hasattr(value, method)}
    return {kind: _lines(text) for kind, text in data.items() if text} | {"text/plain": _lines(_plain(value))}


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",\n ".join(map(repr, value)) + "]"
    return repr(value)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    main()

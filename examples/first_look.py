"""A first look: formulas in; monitors, a table of values and pictures out.

    python examples/first_look.py

A drone delivers what people call for and then lands.  Each label in data/episode.csv is a degree between 0 and 1: how
urgent a `request` is, how fully it is answered (`grant`), how near the drone is to a `crash`, how firmly it has
`landed`.  It writes pictures and a report into first-look/, beside the folder of this file.
"""

from __future__ import annotations

import csv
import html
import textwrap
from pathlib import Path

import rewardspec as rs
from rewardspec.cli import main as rewardspec
from rewardspec.drawing.run_plot import plot_run, save

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parent / "first-look"

STORIES = {
    "G(request -> F grant)": (
        "Every request is granted, sooner or later. The value falls while a request waits and recovers with the grant: "
        "nothing is lost for good, so the bounds stay wide open."
    ),
    "!crash U landed": (
        "No crash until landed. The gust of wind at step 6 brings a crash within 0.35: from then on no landing, "
        "however good, is worth more than 0.65. The upper bound says so seven steps before the episode ends."
    ),
}


def main() -> None:
    """Tell both stories and write the report."""
    OUTPUT.mkdir(exist_ok=True)
    episode = read_episode(HERE / "data" / "episode.csv")
    sections, paths = [], []
    for number, (formula, story) in enumerate(STORIES.items(), start=1):
        print(f'$ rewardspec check "{formula}"\n')
        rewardspec(["check", formula])

        rows = run(rs.synthesize(formula), episode)
        print(f"\n{table(rows)}\n\n{textwrap.fill(story, 88)}\n")

        pictures = draw(formula, rows, str(number))
        paths.extend(pictures)
        sections.append(section(formula, story, rows, pictures))
    report = OUTPUT / "report.html"
    report.write_text(PAGE.format(sections="\n".join(sections)), encoding="utf-8")
    print("Written, for looking at:")
    for path in (*paths, report):
        print(f"  {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def read_episode(path: Path) -> list[dict[str, float]]:
    """The labels of each step."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{atom: float(label) for atom, label in row.items()} for row in csv.DictReader(file)]


def run(monitor: rs.Monitor, episode: list[dict[str, float]]) -> list[dict[str, float]]:
    """For each step the labels of the monitor's atoms, the value, and the bounds on what it can still become."""
    rows = []
    state = monitor.initial_state()
    for step, labels in enumerate(episode):
        state, value = monitor.step(state, labels)
        lower, upper = monitor.bounds(state)
        read = {atom: labels[atom] for atom in monitor.atoms}
        rows.append({"step": step, **read, "value": value, "lower": lower, "upper": upper})
    return rows


def table(rows: list[dict[str, float]]) -> str:
    """The rows as text, right-aligned."""
    lines = [list(rows[0]), *([f"{cell:.3g}" for cell in row.values()] for row in rows)]
    return "\n".join("  ".join(f"{cell:>7}" for cell in line) for line in lines)


def draw(formula: str, rows: list[dict[str, float]], name: str) -> list[Path]:
    """Pictures of the monitor, of the Boolean automaton, and of the run."""
    monitor, automaton = rs.synthesize(formula), rs.synthesize_boolean(formula)
    paths = [OUTPUT / f"{kind}-{name}.svg" for kind in ("monitor", "automaton", "run")]
    paths[0].write_text(monitor.to_svg(), encoding="utf-8")
    paths[1].write_text(automaton.to_svg(), encoding="utf-8")
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    labels = {atom: columns[atom] for atom in monitor.atoms}
    save(plot_run(formula, labels, columns["value"], columns["lower"], columns["upper"]), paths[2])
    return paths


# The report: one page, with everything it shows inside it.

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>rewardspec, a first look</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; color: #22223a; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
  h2 {{ border-top: 1px solid #e4e4ef; padding-top: 1.5rem }}
  table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px }}
  th, td {{ text-align: right; padding: .1rem .8rem }}
  tr:nth-child(even) {{ background: #f5f5fb }}
  td.value {{ font-weight: bold; color: #5b3fa8 }}
  figure {{ margin: 1.5rem 0 }}
  figcaption {{ color: #6a6a85; font-size: 14px }}
  svg {{ max-width: 100%; height: auto }}
</style>
<h1>An episode, judged by two formulas</h1>
<p>After every step, a monitor's value is the formula's value on the trace so far: a degree between 0 and 1. The bounds
say which values the episode can still end with.</p>
{sections}
</html>
"""
CAPTIONS = ("The monitor", "The automaton for Boolean labels", "The run: labels, value, and what is still possible")


def section(formula: str, story: str, rows: list[dict[str, float]], pictures: list[Path]) -> str:
    """One formula's part of the report."""
    figures = [
        # Only the picture itself: an XML prologue has no place inside a page.
        f"<figure>{svg[svg.index('<svg') :]}<figcaption>{caption}</figcaption></figure>"
        for svg, caption in zip((path.read_text(encoding="utf-8") for path in pictures), CAPTIONS, strict=True)
    ]
    head = "".join(f"<th>{html.escape(key)}</th>" for key in rows[0])
    body = "\n".join(
        "<tr>" + "".join(f'<td class="{html.escape(key)}">{cell:.3g}</td>' for key, cell in row.items()) + "</tr>"
        for row in rows
    )
    return "\n".join(
        [
            f"<h2><code>{html.escape(formula)}</code></h2>\n<p>{html.escape(story)}</p>",
            figures[2],
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>",
            *figures[:2],
        ]
    )


if __name__ == "__main__":
    try:
        main()
    except rs.Error as error:
        raise SystemExit(f"error: {error}") from None

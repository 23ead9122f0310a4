"""Take the outputs of a reproduction into the documentation.

    rewardspec reproduce -o results
    python docs/scripts/results.py results [WALL_TIME]

Copies table, figures and summaries to docs/results/, and writes docs/results/evaluation.md: what was run and how long
it took, the comparisons, for the finite environments the exact ceiling of what a learner that explores as much could
score, and the tables and figures. WALL_TIME is what `reproduce` printed in the end, where it ran in one go. Files
that begin with `_` are parts of docs/results.md. `as_paper.py` does the same for `--as-paper`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from ceiling import ceiling

from rewardspec.audit.auditing import audit_task
from rewardspec.lab.experiments.comparisons import Comparison, compare
from rewardspec.lab.experiments.results import open_results
from rewardspec.lab.experiments.study import BASE
from rewardspec.lab.experiments.summaries import Summaries, summarize
from rewardspec.lab.learning.settings import QLearning

TARGET = Path(__file__).resolve().parents[1] / "results"
FILES = ("table.csv", "table.tex", "curves.png", "curves.svg", "curves_own_criterion.png", "summaries.json")


def main(source: Path, wall_time: str | None = None) -> None:
    """Copy and write."""
    study, cells = open_results(source)
    results = Summaries(study, [summarize(cell, study) for cell in cells])
    TARGET.mkdir(exist_ok=True)
    table = (source / "table.md").read_text(encoding="utf-8").replace("### ", "## ")
    for name in FILES:
        shutil.copyfile(source / name, TARGET / name)
    write("_both_measures.md", by_both(results))
    sections = [run(results, wall_time), comparisons(results), ceilings(results), table, FIGURES]
    write("evaluation.md", "\n".join(sections))


def write(name: str, text: str) -> None:
    """Write a page into docs/results/."""
    (TARGET / name).write_text(text, encoding="utf-8")
    print(f"Wrote docs/results/{name}")


def by_both(results: Summaries) -> str:
    """Best beside the environment's own reward, by both measures."""
    lines = [
        "The environment's own reward → the fourth column, means over all of training; in brackets the 95 % interval",
        "of the difference, over runs.",
        "",
        "| environment | task completion, % | own criterion | what that is |",
        "|---|---|---|---|",
    ]
    study = results.study
    first, second = (
        {one.task: one for one in compare(results, contrast)}
        for contrast in study.contrasts
        if contrast.others == (BASE,)
    )
    for name, one in first.items():
        task, row = study.tasks[name], results.of(name)
        measure = task.measures["own_criterion"]
        base, best = (row[reward].completion_over_runs.value for reward in (BASE, "best"))
        own = [row[reward].further_measures["own_criterion"].value for reward in (BASE, "best")]
        scale, unit = (100, " %") if measure.share else (1, "")
        completion = f"{100 * base:.1f} → {100 * best:.1f}: {told(one)}"
        criterion = f"{scale * own[0]:.1f}{unit} → {scale * own[1]:.1f}{unit}: {told(second[name], scale)}"
        lines.append(f"| {task.title} | {completion} | {criterion} | {measure.words.rstrip('.')} |")
    both = sum(one.standing == second[name].standing == "ahead" for name, one in first.items())
    lines += ["", f"Ahead by both in {both} of {len(first)} environments."]
    return "\n".join(lines) + "\n"


FIGURES = """## Learning curves

![Task completion over training for the twelve environments and four rewards](curves.png)

Task completion during training, smoothed over 21 episodes of each run. Bands are 95 % intervals over runs.

![Each environment's own criterion over training, for each of its four rewards](curves_own_criterion.png)

The same by each environment's own criterion.
"""


def run(results: Summaries, wall_time: str | None) -> str:
    """What was run, on what, and how long it took."""
    cells = results.all()
    seconds = sum(cell.seconds for cell in cells)
    steps = sum(cell.steps for cell in cells)
    devices = sorted({device for cell in cells for device in cell.devices})
    versions = cells[0].versions
    packages = ", ".join(f"{name} {versions[name]}" for name in ("jax", "numpy", "gymnasium") if name in versions)
    took = "" if wall_time is None else f" in {wall_time}"
    return f"""# The evaluation, at the paper's budgets

`rewardspec reproduce` trained {len(cells)} cells, {sum(cell.runs for cell in cells):,} runs and {steps / 1e6:,.0f}
million environment steps{took}. The wall-clock times of its jobs, two at a time,
add up to {seconds / 3600:.1f} hours ({"; ".join(devices)}; {packages}).
`table.csv` has the data of the table. `summaries.json` has the summary, the settings and the command of every cell.
"""


def comparisons(results: Summaries) -> str:
    """Quantitative beside Boolean, and best beside the others and the paper."""
    lines = [
        "## Rewards compared",
        "",
        "Differences of mean task completion, in percentage points, with the 95 % interval over runs.",
        "",
        "| environment | quantitative − Boolean | best − best of the other three | best − best of the paper's table |",
        "|---|---|---|---|",
    ]
    study = results.study
    for first, second in zip(*(compare(results, contrast) for contrast in study.contrasts[:2]), strict=True):
        best = results.of(first.task)["best"].completion.value
        paper = max(cell.completion for cell in study.references[first.task].values())
        title = study.tasks[first.task].title
        lines.append(f"| {title} | {told(first)} | {told(second)} | {100 * best - paper:+.1f} |")
    return "\n".join(lines) + "\n"


def told(comparison: Comparison, scale: float = 100) -> str:
    """A comparison in a cell of the table."""
    difference = comparison.difference
    interval = f"{scale * difference.value:+.1f} [{scale * difference.low:+.1f}, {scale * difference.high:+.1f}]"
    return f"{interval} {comparison.standing}"


def ceilings(results: Summaries) -> str:
    """What an omniscient learner with the same exploration would score."""
    lines = [
        "## How far a learner could get",
        "",
        "Every episode of training counts, including those with exploration. The *ceiling* is the score of a learner",
        "that knows the environment from the start but has to explore as much as the paper's Q-learning. It is",
        "computed exactly, by dynamic programming (`docs/scripts/ceiling.py`). The audit is exact too: it says",
        "what every optimal policy for the spec of the column `best` does.",
        "",
        "| environment | ceiling, % | best, % | best of the paper's table, % | audit of the best spec |",
        "|---|---|---|---|---|",
    ]
    for name, task in results.study.tasks.items():
        if task.learner == "q-learning":
            paper = max(cell.completion for cell in results.study.references[name].values())
            best = 100 * results.of(name)["best"].completion.value
            [found] = audit_task(task, {"best": results.study.reward(task, "best").spec})
            limit = f"{100 * ceiling(task, QLearning()):.2f}"
            lines.append(f"| {task.title} | {limit} | {best:.2f} | {paper:.2f} | {found.verdict}: {found.sentence} |")
    lines += [
        "",
        "If the paper's number is above the ceiling, no choice of reward can explain it: its environment, its",
        "exploration or its measure must differ from its appendix.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results"), *sys.argv[2:3])

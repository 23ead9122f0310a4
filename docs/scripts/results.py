"""Take the outputs of a reproduction into the documentation.

    rewardspec reproduce -o results
    python docs/scripts/results.py results [WALL_TIME]
    rewardspec reproduce --as-paper
    python docs/scripts/results.py results/as-paper

Copies table, figures and summaries to docs/results/, and writes docs/results/evaluation.md: what was run and how long
it took, the comparisons, for the finite environments the exact ceiling of what a learner that explores as much could
score, and the tables and figures. WALL_TIME is what `reproduce` printed in the end, where it ran in one go. Of
`--as-paper` it writes docs/results/as_paper.md. The files that begin with `_` are parts of docs/results.md.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from rewardspec.audit.auditing import audit_task
from rewardspec.lab.experiments.comparisons import Comparison, compare
from rewardspec.lab.experiments.results import open_results
from rewardspec.lab.experiments.study import BASE
from rewardspec.lab.experiments.summaries import Summaries, summarize
from rewardspec.lab.experiments.table import differences_table, episode_text
from rewardspec.lab.experiments.table_formats import to_markdown
from rewardspec.lab.learning.settings import QLearning
from rewardspec.lab.paper.as_published import READINGS
from rewardspec.lab.paper.ceiling import ceiling

TARGET = Path(__file__).resolve().parents[1] / "results"
FILES = ("table.csv", "table.tex", "curves.png", "curves.svg", "curves_own_criterion.png", "summaries.json")


def main(source: Path, wall_time: str | None = None) -> None:
    """Copy and write."""
    study, cells = open_results(source)
    results = Summaries(study, [summarize(cell, study) for cell in cells])
    TARGET.mkdir(exist_ok=True)
    table = (source / "table.md").read_text(encoding="utf-8").replace("### ", "## ")
    if "as_published" in study.description:
        write("as_paper.md", AS_PAPER.format(readings=readings()) + table)
        write("_differences.md", finite(results) + to_markdown(differences_table(results)).partition("\n")[2])
        shutil.copyfile(source / "summaries.json", TARGET / "as_paper_summaries.json")
        return
    for name in FILES:
        shutil.copyfile(source / name, TARGET / name)
    write("_both_measures.md", by_both(results))
    sections = [run(results, wall_time), comparisons(results), ceilings(results), table, FIGURES]
    write("evaluation.md", "\n".join(sections))


def write(name: str, text: str) -> None:
    """Write a page into docs/results/."""
    (TARGET / name).write_text(text, encoding="utf-8")
    print(f"Wrote docs/results/{name}")


AS_PAPER = """# The paper's table, cell by cell

`rewardspec reproduce --as-paper` trains in the setting that the published numbers speak for. Every difference from the
paper's text is a named reading, and says how it is known. Those by fit were chosen among many because the numbers come
out, which is a weak reason; each speaks for a whole row at least, but for Pendulum's Boolean atoms.

| about | reading | known from |
|---|---|---|
{readings}

"""


def finite(results: Summaries) -> str:
    """How near the finite cells come, and how many cells of PPO converge as printed."""
    study = results.study
    apart = [
        abs(100 * cell.completion.value - study.references[cell.task][cell.reward].completion)
        for cell in results.all()
        if study.tasks[cell.task].learner == "q-learning"
    ]
    near = sum(one <= 3.0 for one in apart)
    printed = [
        episode_text(cell.convergence_episode) == episode_text(study.references[cell.task][cell.reward].episode)
        for cell in results.all()
        if study.tasks[cell.task].learner == "ppo"
    ]
    return (
        f"Of the {len(apart)} cells of finite environments, {near} come within 3 points of the paper's, and the mean "
        f"distance is {sum(apart) / len(apart):.2f} points.\n"
        f"When PPO's rewards converge comes out as printed in {sum(printed)} of {len(printed)} cells.\n"
    )


def readings() -> str:
    """The readings as the rows of a table."""
    return "\n".join(f"| {one.about} | {one.words} | {one.known_from} |" for one in READINGS)


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

Task completion while training, smoothed over 21 episodes of each run; bands are 95 % intervals over runs.

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
The table's data is in `table.csv`, and every cell's summary, with its settings and command, in `summaries.json`.
"""


def comparisons(results: Summaries) -> str:
    """Quantitative beside Boolean, and best beside the others and the paper."""
    lines = [
        "## Reward beside reward",
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
        "Every episode of training counts, the exploring ones included. The ceiling is what a learner would score that",
        "knew the environment from the start and had to explore as much as the paper's Q-learning does: exact, by",
        "dynamic programming (`rewardspec.lab.paper.ceiling`). The audit is exact as well: what every policy does",
        "that is optimal for the spec of the column `best`.",
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
        "Where the paper's number lies above the ceiling, its environment, its exploration or its measure must differ",
        "from what its appendix says; no choice of reward could explain it.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results"), *sys.argv[2:3])

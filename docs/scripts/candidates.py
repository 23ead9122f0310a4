"""Train every candidate for the column `best` on a smaller budget, and write what came of it.

    python docs/scripts/candidates.py [ENV …]

The budget is that of `trials.py`. The table is written to docs/results/fourth_column.md.
"""

from __future__ import annotations

import sys

from trials import ROOT, measure, told

from rewardspec import tasks
from rewardspec.experiments.paper.candidates import CANDIDATES, Candidate
from rewardspec.experiments.paper.evaluation import PAPER_REWARDS, paper_reward
from rewardspec.tasks.task import Task

TABLE = ROOT / "docs" / "results" / "fourth_column.md"

INTRODUCTION = """## What was tried for the fourth column

Each line was trained with the learner and the settings of the paper, on a smaller budget: 100 runs of Q-learning, or
3 runs of PPO with half the steps. Task completion is the mean over all episodes of training, then over the
last tenth of each run. The first line of each environment is the column `best`; the three rewards of the paper,
trained the same way, stand at the end.

Made by `python docs/scripts/candidates.py`.
"""

HEAD = """\
| reward | idea | task completion, % (± deviation of the runs) | last tenth, % | steps of an episode |
|---|---|---|---|---|"""


def rows(task: Task) -> list[str]:
    """The lines of one environment."""
    tried: list[tuple[str, str, Candidate | str]] = [(c.title, c.note, c) for c in CANDIDATES[task.name]]
    tried += [(reward, paper_reward(task, reward).note, reward) for reward in PAPER_REWARDS]
    lines = []
    for title, note, what in tried:
        setup = paper_reward(task, what) if isinstance(what, str) else None
        spec = setup.spec if setup else what.spec(task)
        observe = setup.observe if setup else what.observe
        result = measure(task, spec, observe, title)
        completion, late, length = told(result)
        print(f"{task.name:18} {completion:>12} {late:>6} {length:>6}  {title}", flush=True)
        shown = title if setup else f"`{title}`"
        lines.append(f"| {shown} | {note} | {completion} | {late} | {length} |")
    return lines


def main(names: list[str]) -> None:
    """Train and write."""
    sections = [INTRODUCTION]
    for name in names or tasks.names("paper"):
        task = tasks.get(name)
        sections.append(f"### {task.title}\n\n{HEAD}\n" + "\n".join(rows(task)) + "\n")
    if not names:
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        TABLE.write_text("\n".join(sections), encoding="utf-8")
        print(f"Wrote {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])

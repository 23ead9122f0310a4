"""Train every candidate for the column `best` on a smaller budget, and write what came of it.

    python docs/scripts/candidates.py [ENV …]

The budget is that of `trials.py`, or more where that shows nothing, and the seeds are none of the evaluation's: what is
chosen here is not reported on the runs that it was chosen by. The table is written to docs/results/fourth_column.md.
"""

from __future__ import annotations

import json
import sys

from reward_candidates import candidates
from trials import ROOT, measure, told, trial_budget

from rewardspec.lab.experiments.study import BASE, Reward, own_reward
from rewardspec.lab.paper.evaluation import paper_budget, paper_tasks
from rewardspec.lab.tasks.task import Task

TABLE = ROOT / "docs" / "results" / "fourth_column.md"
SUMMARIES = TABLE.parent / "summaries.json"
"""What the evaluation found of `best`."""
FIRST_SEED = 1000
ALL_STEPS = ("bipedal_walker",)
"""Trained with all their steps: the criterion is met late."""

INTRODUCTION = """# What was tried for the fourth column

The fourth column of the evaluation, `best`, has for each environment the best spec that was found. This page lists the
specs that were tried.

- Each line was trained with the learner and the settings of the evaluation, but on a smaller budget and other seeds:
  100 runs of Q-learning, or 3 runs of PPO with half the steps. Bipedal Walker was trained with all its steps, because
  its criterion is met late.
- Task completion (TC) and the environment's own criterion are means over all episodes of training, and over the last
  tenth of each run.
- The first line of each environment is the spec of the column `best`. The last line is the environment's own reward.
- ▲ marks the best spec by task completion alone, if it is another one. ⚑ marks a spec with an atom that counts the
  steps to the goal, which requires the map.
- The weights of the first lines of Bipedal Walker and Pendulum were chosen among a few that were tried on the same
  seeds. The others are not listed.

Made by `python docs/scripts/candidates.py`.
"""

ALONE = """## The best by task completion alone

In some environments another spec has a higher task completion, but is not better by both measures, or is better only
because it counts the steps to the goal. The table compares it with `best`, on the whole budget and the seeds of the
evaluation.

| environment | task completion, %: `best` | alone | own criterion: `best` | alone |
|---|---|---|---|---|
"""

HEAD = """\
| reward | idea | TC, % (± deviation of the runs) | last tenth | own criterion | last tenth | steps of an episode |
|---|---|---|---|---|---|---|"""


def rows(task: Task) -> list[str]:
    """The lines of one environment."""
    tried = []
    for one in candidates(task):
        note = one.note + " ⚑" * one.counts_steps(task)
        tried.append((one.title, Reward(one.spec(task), one.observe, note), one.by_completion))
    tried.append((BASE, own_reward(task, BASE), False))
    share = task.measures["own_criterion"].share
    config, seeds = trial_budget(task, FIRST_SEED)
    budget = (paper_budget(task).config if task.name in ALL_STEPS else config, seeds)
    lines = []
    for title, reward, by_completion in tried:
        result = measure(task, reward.spec, reward.observe, title, budget)
        completion, late, length = told(result)
        own = [f"{100 * result[name]:.1f} %" if share else f"{result[name]:.1f}" for name in ("own", "own_late")]
        print(f"{task.name:18} {completion:>12} {late:>6} {own[0]:>8} {own[1]:>8} {length:>6}  {title}", flush=True)
        shown = title if reward.spec is None else f"`{title}`".replace("|", "\\|") + " ▲" * by_completion
        lines.append(f"| {shown} | {reward.note} | {completion} | {late} | {own[0]} | {own[1]} | {length} |")
    return lines


def alone(task: Task) -> str:
    """A line that compares `best` with the best by task completion alone, on the whole budget; or nothing."""
    marked = [one for one in candidates(task) if one.by_completion]
    cells = json.loads(SUMMARIES.read_text(encoding="utf-8"))["cells"]
    best = [cell for cell in cells if (cell["task"], cell["reward"]) == (task.name, "best")]
    if not marked or not best:
        return ""
    budget = paper_budget(task)
    found = measure(
        task, marked[0].spec(task), marked[0].observe, marked[0].title, (budget.config, range(budget.seeds))
    )
    scale = 100 if task.measures["own_criterion"].share else 1
    own = best[0]["further_measures"]["own_criterion"]["value"]
    line = (
        f"| {task.title} | {100 * best[0]['completion']['value']:.1f} | {100 * found['completion']:.1f} "
        f"| {scale * own:.1f} | {scale * found['own']:.1f} |\n"
    )
    print(line, end="", flush=True)
    return line


def main(names: list[str]) -> None:
    """Train and write."""
    known = paper_tasks()
    chosen = [known[name] for name in names or known]
    sections = [f"## {task.title}\n\n{HEAD}\n" + "\n".join(rows(task)) + "\n" for task in chosen]
    sections = [INTRODUCTION, *sections, ALONE + "".join(map(alone, chosen))]
    if not names:
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        TABLE.write_text("\n".join(sections), encoding="utf-8")
        print(f"Wrote {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])

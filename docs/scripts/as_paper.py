r"""Write the pages about `rewardspec reproduce --as-paper`: docs/results/as_paper.md and docs/results/_differences.md.

    rewardspec reproduce --as-paper --envpool --seeds 20 -o results/as-paper \
        --envs acrobot cart-pole mountain-car pendulum bipedal-walker lunar-lander
    rewardspec reproduce --as-paper -o results/as-paper \
        --envs frozen-lake cliff-walking taxi island-navigation conveyor-belt sokoban
    python docs/scripts/as_paper.py results/as-paper
    python docs/scripts/as_paper.py                   # again, from the files in docs/results/

Of the directory it reads table.md and summaries.json, which it copies to docs/results/.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from rewardspec.lab.experiments.statistics import t_quantile
from rewardspec.lab.experiments.table_layout import episode_text
from rewardspec.lab.paper.as_published import READINGS
from rewardspec.lab.paper.evaluation import PUBLISHED, paper_budget, paper_study

TARGET = Path(__file__).resolve().parents[1] / "results"
STUDY = paper_study(as_published=True)
NEAR = 3.0
"""Points within which a cell counts as reproduced."""

INTRO = """# The paper's table, cell by cell

`rewardspec reproduce --as-paper` trains in the setting that fits the published numbers best. The paper's text leaves
details open. Each *reading* in the table fills in or changes one detail, and the last column says how it is known. A
reading by *fit* was chosen among many because it gives the published numbers, which is weak evidence.

The cells of Q-learning come out the same on every machine. Those of PPO do not: XLA rounds differently on another
processor, and the same runs then end differently, by about the standard error. The numbers on this page are those of
one training of all 36 cells, with Bipedal Walker and Lunar Lander from EnvPool (`--envpool`). The cells of PPO are
means of 20 runs, twice as many as the paper's, and those of Q-learning of 500, as many as the paper's.

| about | reading | known from |
|---|---|---|
"""

EXPLAINED = {
    ("acrobot", "boolean"): "The counter of `G true` is an input that grows to 500, and PPO does not learn with it.",
    ("lunar_lander", "boolean"): "The counter of `G true`, tried here once after it was found on Island Navigation.",
    ("island_navigation", "boolean"): "The counter of `G true`: what is learned at one step is not used at others.",
    ("island_navigation", "quantitative"): "The distinguished initial control state of the paper's figure.",
    ("sokoban", "boolean"): "Values are summed without a veto. The counter alone would fit slightly worse than none.",
    ("sokoban", "quantitative"): "The distinguished initial control state, and values summed without a veto.",
}
"""What explains cells that were open before these readings."""

OPEN = {
    ("mountain_car", "boolean"): "No reading was tried for it alone.",
    ("bipedal_walker", "quantitative"): "No reading that was tried explains it.",
    ("cart_pole", "boolean"): "No reading that was tried explains it.",
    ("cart_pole", "quantitative"): "If PPO observes the control state 0, 1, 2, 1, 2, …, this cell is explained, but "
    "Acrobot's quantitative cell is lost. So the reading is not adopted.",
    ("pendulum", "base"): "No reading that was tried explains it.",
    ("pendulum", "quantitative"): "No reading that was tried explains it.",
    (
        "cliff_walking",
        "base",
    ): "Only the scale of the measure is missing: no scale and no distance that was tried fits.",
    ("cliff_walking", "quantitative"): "No limit of steps, scale or distance that was tried explains it.",
    ("taxi", "boolean"): "No start and no subset of the observed automaton explains it.",
}
"""What is known about cells that are still open."""

RULED_OUT = """## What was tried and ruled out

- Next-step autoreset in the training loop
- One monitor shared by the four environments of a run
- Updates without the mask of finished episodes
- `G true` paying 0 or +1
- Water that is seen in Island Navigation
- Bootstrapped truncation
- Ties broken at random, or in favor of the last action
- A reward of zero
- Cliff Walking with limits of 150 to 500 steps, scales of 11 to 48, and six distances
- All 300 starts of Taxi, with every subset of the automaton observed
- Convergence of PPO as a relative change of at most 2 % (span 100): Acrobot's Boolean cell then converges at 600, as
  printed, but so do all runs of Mountain Car's quantitative cell and half of those of Acrobot's base cell, which the
  paper prints as None
- PPO observing the control state 0, 1, 2, 1, 2, … of quantitative monitors, which explains CartPole and costs Acrobot

"""


class Row(NamedTuple):
    """A cell beside the paper's, in percentage points.

    Attributes:
        task: Name of the environment.
        reward: Name of the reward.
        difference: Our task completion less the paper's.
        error: Standard error of the difference, with the spread of our runs for that of the paper's too.
        own_error: Standard error of our task completion alone.
        half_width: Half the width of our interval over episodes.
        converges: Whether the rewards converge when the paper says.
    """

    task: str
    reward: str
    difference: float
    error: float
    own_error: float
    half_width: float
    converges: bool

    @property
    def standing(self) -> str:
        """How near the cell is."""
        if abs(self.difference) <= NEAR:
            return "within 3 points"
        return "within two standard errors" if abs(self.difference) <= 2 * self.error else "open"

    @property
    def finite(self) -> bool:
        """Whether the environment is finite."""
        return STUDY.tasks[self.task].learner == "q-learning"

    @property
    def title(self) -> str:
        """Environment and reward."""
        return f"{STUDY.tasks[self.task].title}, {STUDY.rewards[self.reward]}"


def rows_of(summaries: Path) -> list[Row]:
    """Compare the cells of a summaries.json with the paper's."""
    found = []
    for cell in json.loads(summaries.read_text(encoding="utf-8"))["cells"]:
        paper = PUBLISHED[cell["task"]][cell["reward"]]
        runs, whole = cell["completion_over_runs"], cell["completion"]
        own_error = 100 * (runs["high"] - runs["low"]) / 2 / t_quantile(cell["runs"] - 1)
        found.append(
            Row(
                cell["task"],
                cell["reward"],
                100 * whole["value"] - paper.completion,
                own_error * math.sqrt(1 + cell["runs"] / paper_budget(STUDY.tasks[cell["task"]]).seeds),
                own_error,
                100 * (whole["high"] - whole["low"]) / 2,
                episode_text(cell["convergence_episode"]) == episode_text(paper.episode),
            )
        )
    return found


def counts(rows: list[Row]) -> str:
    """How many cells are reproduced."""
    finite, ppo = [row for row in rows if row.finite], [row for row in rows if not row.finite]
    near, near_finite = (sum(abs(row.difference) <= NEAR for row in some) for some in (rows, finite))
    printed = sum(row.converges for row in ppo)
    explained = sum(row.standing != "open" for row in rows)
    by_own = sum(abs(row.difference) <= max(NEAR, 2 * row.own_error) for row in rows)
    return (
        f"Of {len(rows)} cells, {near} come within 3 points of the paper's, and {explained} within 3 points or two\n"
        f"standard errors of the difference ({by_own} if only our runs had a spread). The mean distance is "
        f"{distance(rows):.2f} points.\n"
        f"Of the {len(finite)} cells of finite environments, {near_finite} come within 3 points, and their mean "
        f"distance is {distance(finite):.2f} points.\n"
        f"When PPO's rewards converge comes out as printed in {printed} of {len(ppo)} cells.\n"
    )


def distance(rows: list[Row]) -> float:
    """Mean distance in points."""
    return sum(abs(row.difference) for row in rows) / max(len(rows), 1)


def differences(rows: list[Row]) -> str:
    """The differences with their standard errors as a table."""
    by_cell = {(row.task, row.reward): row for row in rows}
    lines = [f"| | {' | '.join(STUDY.rewards.values())} |", "|---|" + "--:|" * len(STUDY.rewards)]
    for name, task in STUDY.tasks.items():
        cells = [by_cell.get((name, reward)) for reward in STUDY.rewards]
        shown = ["" if one is None else f"{one.difference:+.2f} ({one.error:.2f})" for one in cells]
        lines.append(f"| {task.title} | {' | '.join(shown)} |")
    lines += [
        "",
        "Our task completion less the paper's, in percentage points, and in brackets the standard error of this",
        "difference. It has two parts, the chance in our runs and in the paper's. The paper does not give the spread",
        "of its runs, so that of ours is taken for both, with the number of runs of each.",
    ]
    return "\n".join(lines) + "\n"


def half_widths(rows: list[Row]) -> str:
    """Half the widths of the intervals of finite cells, beside the paper's."""
    lines = [
        "## Half-widths of the finite cells",
        "",
        "Half the width of the 95 % interval over episodes, ours and the paper's, in percentage points.",
        "",
        "| cell | ours | paper |",
        "|---|--:|--:|",
    ]
    lines += [
        f"| {row.title} | {row.half_width:.3f} | {PUBLISHED[row.task][row.reward].half_width:.2f} |"
        for row in rows
        if row.finite
    ]
    return "\n".join(lines) + "\n\n"


def standings(rows: list[Row]) -> str:
    """A sentence for each cell that a reading explains, that is within noise, and that is open."""
    sections = {"Cells that the newer readings explain": EXPLAINED, "Cells that are still open": OPEN}
    parts = []
    for title, sentences in sections.items():
        wanted = "open" if sentences is OPEN else ""
        chosen = [
            row
            for row in rows
            if (row.standing == wanted if wanted else row.standing != "open" and (row.task, row.reward) in sentences)
        ]
        parts += [f"## {title}", ""]
        for row in chosen:
            words = sentences.get((row.task, row.reward), "No reading explains it.")
            parts.append(f"- {row.title} ({row.difference:+.2f}, standard error {row.error:.2f}): {words}")
        parts.append("" if chosen else "None.\n")
    noise = [row for row in rows if row.standing == "within two standard errors"]
    parts += [
        "## Cells within noise",
        "",
        "More than 3 points away, but within two standard errors of the difference:",
        "",
    ]
    parts += [f"- {row.title}: {row.difference:+.2f}, standard error {row.error:.2f}" for row in noise] or ["None."]
    return "\n".join(parts) + "\n\n"


def main(source: Path | None) -> None:
    """Copy the summaries and the tables, and write the pages."""
    kept = TARGET / "as_paper_summaries.json", TARGET / "_as_paper_tables.md"
    if source is not None:
        shutil.copyfile(source / "summaries.json", kept[0])
        kept[1].write_text((source / "table.md").read_text(encoding="utf-8").replace("### ", "## "), encoding="utf-8")
    rows = rows_of(kept[0])
    readings = "".join(f"| {one.about} | {one.words} | {one.known_from} |\n" for one in READINGS)
    compared = counts(rows) + "\n" + differences(rows)
    page = [INTRO, readings, "\n## Differences from the paper\n\n", compared, "\n", standings(rows), half_widths(rows)]
    text = "".join([*page, RULED_OUT, kept[1].read_text(encoding="utf-8")])
    (TARGET / "as_paper.md").write_text(text, encoding="utf-8")
    (TARGET / "_differences.md").write_text(compared, encoding="utf-8")
    print(f"Wrote docs/results/as_paper.md and docs/results/_differences.md\n\n{compared}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)

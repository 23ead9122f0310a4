"""The page of the tasks that need memory, with its figures.

    python benchmarks/reward_machines.py     # the curves, into benchmarks/results/reward_machines
    python docs/scripts/memory.py            # docs/memory.md and docs/images/memory

The audit's picture and the machine's are what their commands draw.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rewardspec.audit.solving import solve
from rewardspec.errors import Error
from rewardspec.finite.models import finite_model
from rewardspec.finite.products import build_product
from rewardspec.lab.tasks.worlds import FURTHER, further_task, machines
from rewardspec.spec.reward_machine import RewardMachine

ROOT = Path(__file__).parents[2]


def load(path: Path) -> Any:
    """A script of the repository, as a module."""
    name = f"{path.parent.name}_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


benchmark = load(ROOT / "benchmarks" / "reward_machines.py")
PAGE = ROOT / "docs" / "memory.md"
IMAGES = ROOT / "docs" / "images" / "memory"
COLORS = {"ql": "#8a6d3b", "crm": "#3b6ea5", "progress": "#6a9a3a", "nearness": "#c2452d", "no-memory": "#777788"}
NAMES = {
    "ql": "Q-learning",
    "crm": "counterfactual (CRM)",
    "progress": "CRM, guided by progress",
    "nearness": "CRM, guided by nearness",
    "straight": "CRM, guided by nearness as if there were no walls",
    "no-memory": "without memory",
}

TEXT = """# Tasks that need memory

Office World and Craft World are the benchmark of reward machines ([Toro Icarte et al., JAIR
2022](https://arxiv.org/abs/2010.03950)). They are grids with letters on them, and tasks such as "coffee, then the
office, and no plant on the way". To do such a task, an agent has to remember what it has done. The maps, machines,
settings and learning curves of the benchmark are published. This page reproduces them, shows a mistake in the
machines, and learns the tasks faster. If you know reward machines, [this guide](guides/reward_machines.md) explains
how to use them here.

## The published results, reproduced

We train tabular Q-learning, plain and with [counterfactual
experience](glossary.md#counterfactual-experience) (CRM). Settings, machines and rewards are those of the published
program. There are 60 runs in Office World, and 6 runs on each of the 11 maps of Craft World. Bands are the published
quartiles, dots are our medians.

![Learning curves in four panels: our medians lie in the published bands](images/memory/published.svg)

{published}

A published curve has no point at the very end, so the last point before it is compared. Made by `python
benchmarks/reward_machines.py` and `python docs/scripts/memory.py`.

For comparison, this is the CPU time of a plain loop with dictionaries and one update at a time, for 60 runs of Office
World:

{ratios}

## A mistake in the office machines

In the published program, events that no edge matches lead to the terminal state, and pay the reward of the task. So in
the last stage of each task, stepping on a plant pays 1. This was reported in 2022 ([issue
50](https://github.com/RodrigoToroIcarte/reward_machines/issues/50), with a fix in [pull request
51](https://github.com/RodrigoToroIcarte/reward_machines/pull/51)). The published optima and curves contain the
mistake. `rewardspec audit office-1` finds it by solving the world:

    base: misaligned. Every optimal policy breaks a plant, which pays more: 0.349 against 0.229 for the
      best way to do the task.
    formula: aligned. Every optimal policy does the task safely, after 15 steps.
    The machine and formula, !n U (f & !n U (g & !n)): differs on: f; n: the machine has paid, the formula is false

![Two maps: the machine's optimal path ends on a plant, the formula's in the office](images/memory/plant.png)

Made by `rewardspec audit office-1 --picture docs/images/memory/plant.png`; `office-2` to `office-4` are the other
tasks. This is the machine:

![The first machine of Office World](images/memory/machine.svg)

## The corrected machines

In the corrected machines, a plant ends the episode and pays nothing. They say the same as the formulas:
`machine.difference(formula)` finds no trace. The table has the number of steps until the median of 60 runs reaches
{learned} of the optimum. Guidance is explained in the next section.

{meant}

## Guided learners

This section uses the published machines again: all tasks, a new one in each episode. On top of counterfactual
experience, a potential guides the learner. There are two potentials:

- *Progress* counts what is still to be done. It needs only Boolean labels.
- *Nearness* says how near the next thing to be done is. It needs labels between 0 and 1
  ([guidance](guides/reward_machines.md#guide-the-learner)).

Both are computed from the machine or the formula and a labeling, and neither changes which policies are optimal.
Distances are counted around walls, which needs a map, or as if there were no walls, which does not. Craft World has no
inner walls. The learning rate, the discount, ε and the measure are the published ones. Values start at 0 with guidance,
and at 2 without, as published. The form of the potential, the mean nearness of what is to be done, was chosen by its
results among four that were tried on these tasks.

![Learning curves of Office World and Craft World: the guided learners rise first](images/memory/ahead.svg)

Steps until the median run reaches {learned} of the optimum:

{ahead}

In Office World, the guided learner stays slightly below the optimum for a while, because the formula does not say that
plants pay.

## A learner without memory

Both learners train on one task with the corrected machine. The one without memory sees only the cell, not how much of
the task is done. Everything else is the same.

![Learning curves: with memory the task is learned, without it is not](images/memory/no_memory.svg)

## What reward machines say only with many states

A formula can count, set deadlines, and use labels between 0 and 1. A reward machine needs a state for each count and
each step of a deadline, and cannot use labels between 0 and 1. The columns of the table:

- *states*: the states of the smallest reward machine for the formula, with Boolean labels
- *registers*: the registers of our monitor; a window counts as one
- *value* and *steps*: those of the best way to do the task, found by solving it with discount 0.99

{further}

`further_task(name)` in `rewardspec.lab.tasks.worlds` makes these tasks.
"""


def results() -> dict[str, Any]:
    """All that the benchmark has written, by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(benchmark.RESULTS.glob("*.json"))}


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def told(step: int | None, budget: int) -> str:
    """A number of steps, or that it was not reached."""
    return f"{step:,}" if step else f"not in {budget:,}"


def published_table(found: dict[str, Any]) -> str:
    """How many tenths of training lie within the published quartiles."""
    theirs = json.loads(benchmark.PUBLISHED.read_text(encoding="utf-8"))["curves"]
    rows, outside = [], []
    for cell in benchmark.cells():
        if cell.name not in found or cell.unmatched != "pays" or cell.method not in ("ql", "crm"):
            continue
        result = found[cell.name]
        compared = benchmark.compared(cell, result, theirs)
        inside = [low <= ours <= high for _, ours, (low, _, high) in compared]
        world = f"{cell.world.capitalize()}, {'one task' if cell.single else 'all tasks'}"
        tenths = f"{sum(inside)} of {len(inside)}"
        rows.append([world, NAMES[cell.method], str(result["runs"]), tenths, f"{result['cpu_seconds']:,.0f} s"])
        outside += [
            f"- {world}, {NAMES[cell.method]}, at {step:,} steps: {ours:.4f}, published {low:.4f} to {high:.4f}."
            for (step, ours, (low, _, high)), good in zip(compared, inside, strict=True)
            if not good
        ]
    head = ["", "learner", "runs", "tenths of training whose median is within the published quartiles", "CPU time"]
    return "\n".join([table(head, rows), *(["", "Outside:", "", *outside] if outside else [])])


def ratio_table(found: dict[str, Any]) -> str:
    """The CPU time of the plain loop, and of ours."""
    rows = [
        [NAMES[method], f"{row['plain_cpu_seconds']:,.0f} s", f"{row['our_cpu_seconds']:,.1f} s", f"{row['ratio']:g}"]
        for method, row in found["ratios"].items()
    ]
    return table(["", "plain loop", "here, all runs together", "ratio"], rows)


def steps_table(found: dict[str, Any], columns: dict[str, str], methods: list[str]) -> str:
    """Steps until learned, a row for each method."""
    rows = []
    for method in methods:
        row = [NAMES[method]]
        for start in columns:
            result = found.get(f"{start}-{method}")
            row.append("–" if result is None else told(benchmark.median_steps(result), result["cell"]["steps"]))
        rows.append(row)
    return table(["", *columns.values()], rows)


def further_table() -> str:
    """The tasks that go beyond the benchmark: sizes, and the best way to do each."""
    rows = []
    for name, (words, formula) in FURTHER.items():
        task = further_task(name)
        spec = task.spec("formula")
        try:
            states = str(len(RewardMachine.from_formula(formula).states) + 1)
        except Error:
            states = "–"
        states = "impossible" if name == "degrees" else states
        product = build_product(finite_model(task.make()), spec)
        optimal = solve(product, 0.99).optimal[0]
        node, total, steps = int(product.starts[0]), 0.0, 0
        for step in range(1, 101):
            action = int(optimal[node].argmax())
            rows_of_node = np.flatnonzero((product.node == node) & (product.model.action[product.row] == action))
            reward = float(product.reward[rows_of_node[0]])
            node, total = int(product.successor[rows_of_node[0]]), total + reward
            steps = step if reward > 0.0 else steps
        registers = str(len(spec.program.registers) + len(spec.program.windows))
        rows.append([words, f"`{formula}`", states, registers, f"{total:.3g}", str(steps)])
    return table(["task", "formula", "states", "registers", "value", "steps"], rows)


def page() -> str:
    """The page."""
    found = results()
    both = {"office-multi-meant": "all tasks", "office-single-meant": "task 3 alone"}
    ahead = {"office-multi-published": "Office World", "craft-multi-published": "Craft World"}
    return TEXT.format(
        published=published_table(found),
        ratios=ratio_table(found),
        learned=benchmark.LEARNED,
        meant=steps_table(found, both, ["ql", "crm", "progress", "straight", "nearness"]),
        ahead=steps_table(found, ahead, ["crm", "progress", "straight", "nearness"]),
        further=further_table(),
    )


# Figures.


def figure(columns: int, rows: int = 1) -> tuple[Any, Any]:
    """A figure in colors that are read on light and on dark pages."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(4.6 * columns, 3.1 * rows), layout="constrained")
    made.patch.set_facecolor("#ffffff")
    axes = made.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_ylim(-0.02, 1.08)
        axis.set_xlabel("thousands of steps")
        axis.set_ylabel("share of the optimum")
        axis.grid(alpha=0.25)
    return made, axes


def draw_curve(axis: Any, result: dict[str, Any], method: str, band: bool = True) -> None:
    """Our median, and the quartiles around it."""
    steps, low, median, high = np.array(result["curve"]).T
    axis.plot(steps / 1_000, median, color=COLORS[method], label=NAMES[method], linewidth=1.6)
    if band:
        axis.fill_between(steps / 1_000, low, high, color=COLORS[method], alpha=0.2, linewidth=0)


def figures() -> None:
    """Draw all figures."""
    from rewardspec.drawing.run_plot import save

    IMAGES.mkdir(parents=True, exist_ok=True)
    found = results()
    theirs = json.loads(benchmark.PUBLISHED.read_text(encoding="utf-8"))["curves"]
    made, axes = figure(2, 2)
    panels = [(world, single) for world in ("office", "craft") for single in (False, True)]
    for axis, (world, single) in zip(axes, panels, strict=True):
        for method in ("ql", "crm"):
            name = f"{world}-{'single' if single else 'multi'}-published-{method}"
            steps, low, _, high = np.array(theirs[f"{world}{'-single' if single else ''}-{method}"]).T
            axis.fill_between(
                steps, low, high, color=COLORS[method], alpha=0.35, linewidth=0.8, label=f"{NAMES[method]}, published"
            )
            if name in found:
                rows = np.array(found[name]["curve"])
                rows = rows[len(rows) // 40 :: len(rows) // 20]
                axis.plot(rows[:, 0] / 1_000, rows[:, 2], "o", color=COLORS[method], markersize=3.5, label="here")
        axis.set_title(f"{world.capitalize()} World, {'one task' if single else 'all tasks'}", loc="left", fontsize=10)
    axes[0].legend(fontsize=7, frameon=False, loc="center right")
    save(made, str(IMAGES / "published.svg"))

    made, axes = figure(2)
    for axis, world in zip(axes, ("office", "craft"), strict=True):
        for method in ("crm", "progress", "nearness"):
            if f"{world}-multi-published-{method}" in found:
                draw_curve(axis, found[f"{world}-multi-published-{method}"], method)
        axis.axhline(benchmark.LEARNED, color="#777788", linewidth=0.8, linestyle=":")
        axis.set_title(f"{world.capitalize()} World, all tasks", loc="left", fontsize=10)
        axis.set_xlim(0, 50 if world == "office" else 1_200)
    axes[0].legend(fontsize=7, frameon=False, loc="lower right")
    save(made, str(IMAGES / "ahead.svg"))

    made, axes = figure(1)
    for method in ("crm", "ql", "no-memory"):
        draw_curve(axes[0], found[f"office-single-meant-{method}"], method)
    axes[0].set_title("Office World, the third task", loc="left", fontsize=10)
    axes[0].legend(fontsize=7, frameon=False, loc="center left")
    save(made, str(IMAGES / "no_memory.svg"))
    (IMAGES / "machine.svg").write_text(machines("office", "pays")[0].to_svg(), encoding="utf-8")


def main() -> None:
    """Write the page and the figures."""
    figures()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

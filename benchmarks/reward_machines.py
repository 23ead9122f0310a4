"""Office World and Craft World of "Reward Machines" (Toro Icarte et al., JAIR 2022): curves, and steps until learned.

    python benchmarks/reward_machines.py                      # everything that is not there yet
    python benchmarks/reward_machines.py office               # cells whose name contains "office"
    python benchmarks/reward_machines.py --report             # the tables, from what is there

Each cell writes one small file into benchmarks/results/reward_machines, and is not run again while that is there.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from rewardspec.lab.learning.finite_tables import FiniteTables, finite_tables
from rewardspec.lab.learning.guidance import guided
from rewardspec.lab.learning.q_learning import learn_tables
from rewardspec.lab.learning.settings import QLearning
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.lab.tasks.worlds import machines, memory_task, office_world

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "reward_machines"
PUBLISHED = HERE / "published_reward_machines.json"
MAPS = 11
LEARNED = 0.95


@dataclasses.dataclass(frozen=True)
class Cell:
    """One curve: a world, one task or all, what a plant pays, and a method."""

    world: str
    single: bool
    unmatched: str
    method: str
    steps: int

    @property
    def name(self) -> str:
        meant = {"pays": "published", "ends": "meant"}[self.unmatched] if self.world == "office" else "published"
        return f"{self.world}-{'single' if self.single else 'multi'}-{meant}-{self.method}"

    @property
    def every(self) -> int:
        return 1_000 if self.world == "office" else 10_000

    @property
    def window(self) -> int:
        return 100 if self.single else 400 if self.world == "office" else 1_000


def cells() -> list[Cell]:
    """What is run: the published curves first, then the same as meant, then what goes beyond."""
    found = []
    for world, steps, guided_steps in (("office", 100_000, 100_000), ("craft", 2_000_000, 600_000)):
        for single in (False, True):
            found += [Cell(world, single, "pays", method, steps) for method in ("crm", "ql")]
        found.append(Cell(world, False, "pays", "nearness", guided_steps))
        found.append(Cell(world, False, "pays", "progress", max(1_000_000, steps) if world == "craft" else steps))
    for single in (False, True):
        found += [Cell("office", single, "ends", m, 100_000) for m in ("crm", "ql", "progress", "nearness")]
    found += [Cell("office", False, unmatched, "straight", 100_000) for unmatched in ("pays", "ends")]
    found += [Cell("office", single, "ends", "no-memory", 100_000) for single in (False, True)]
    return sorted(found, key=lambda cell: cell.steps)


def config(cell: Cell) -> QLearning:
    """The published settings; guided learners start at 0, since the potential says where to look."""
    is_guided = cell.method in ("nearness", "straight", "progress")
    counterfactual = is_guided or cell.method == "crm"
    return QLearning(
        steps=cell.steps,
        max_steps=1_000,
        learning_rate=0.5,
        discount=0.9,
        epsilon=0.1,
        epsilon_decay=1.0,
        epsilon_min=0.1,
        initial_value=0.0 if is_guided else 2.0,
        ties="random",
        starts="in turn",
        bootstrap_truncated=counterfactual,  # the published Q-learning takes the time limit for an ending
        counterfactual=counterfactual,
    )


def tables(cell: Cell, board: int) -> FiniteTables:
    """The world with its machines, and what guides the learner."""
    number = None if not cell.single else {"office": 3, "craft": 10}[cell.world]
    task = memory_task(cell.world, number, unmatched=cell.unmatched, board=board)  # type: ignore[arg-type]
    found = finite_tables(task, None, None)
    if cell.method == "no-memory":
        return found.without_memory()
    if cell.method not in ("nearness", "straight", "progress"):
        return found
    world: Any = task.make().unwrapped
    return guided(found, world, cell.method)  # type: ignore[arg-type]


def curve(log: TrainingLog, cell: Cell) -> np.ndarray:
    """The share of the optimum, a mean over the last episodes, at every so many steps; a row for each run."""
    points = np.arange(cell.every, cell.steps + 1, cell.every)
    found = np.zeros((log.runs, len(points)))
    for run in range(log.runs):
        rows = log.episodes_of(run)
        total = np.concatenate([[0.0], np.cumsum(log.measures["share_of_optimum"][rows])])
        last = np.searchsorted(log.end_step[rows], points, side="right")
        first = np.maximum(last - cell.window, 0)
        found[run] = (total[last] - total[first]) / np.maximum(last - first, 1)
    return found


def run(cell: Cell) -> dict[str, Any]:
    """Train all runs of a cell: 60 in Office World, 6 on each of the 11 maps of Craft World."""
    boards, seeds = (range(1, 2), 60) if cell.world == "office" else (range(1, MAPS + 1), 6)
    every = [tables(cell, board) for board in boards]
    began, used = time.perf_counter(), time.process_time()
    said = [0.0]

    def progress(done: int, total: int) -> None:
        if time.perf_counter() - said[0] > 20:
            said[0] = time.perf_counter()
            print(f"  {cell.name}: {done / total:.0%} after {said[0] - began:.0f} s", flush=True)

    log = TrainingLog.concatenate(learn_tables(one, config(cell), range(seeds), progress)[0] for one in every)
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    shares = curve(log, cell)
    quartiles = np.percentile(shares, [25, 50, 75], axis=0).T
    return {
        "cell": dataclasses.asdict(cell),
        "runs": log.runs,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "steps_to_learn": [first_step(row, cell.every) for row in shares],
        "steps_to_learn_median_curve": first_step(quartiles[:, 1], cell.every),
        "curve": [[(k + 1) * cell.every, *np.round(row, 4).tolist()] for k, row in enumerate(quartiles)],
    }


def first_step(shares: np.ndarray, every: int) -> int | None:
    """The first step at which so much of the optimum is reached."""
    reached = np.flatnonzero(shares >= LEARNED)
    return int((reached[0] + 1) * every) if reached.size else None


# The published program's loop, written plainly.


def plain_loop(counterfactual: bool, steps: int, seed: int = 0) -> float:
    """CPU seconds of one run in Office World, all tasks: dictionaries, one step and one update at a time."""
    grid, every = office_world(), machines("office", "pays")
    actions = range(4)
    moves = grid.successors.tolist()
    guards = [
        {u: [(e.target, _dnf(str(e.guard)), e.reward) for e in m.edges if e.source == u] for u in m.states}
        for m in every
    ]
    ends = [
        {u: [r for t, _, r in rows if t in m.terminal] for u, rows in g.items()}
        for m, g in zip(every, guards, strict=True)
    ]
    draw = random.Random(seed)

    def advance(task: int, state: int, events: frozenset[str]) -> tuple[int, float]:
        for target, terms, reward in guards[task][state]:
            if any(all((a in events) == wanted for a, wanted in term) for term in terms):
                return (-1 if target in every[task].terminal else target), reward
        return -1, (ends[task][state] or [0.0])[-1]

    table: dict[tuple[int, int, int], dict[int, float]] = {}

    def values(key: tuple[int, int, int]) -> dict[int, float]:
        if key not in table:
            table[key] = dict.fromkeys(actions, 2.0)
        return table[key]

    began = time.process_time()
    episode, step = 0, 0
    while step < steps:
        task, cell, length = episode % len(every), grid.start, 0
        state = every[task].initial
        while state != -1 and length < 1_000 and step < steps:
            own = values((task, state, cell))
            best = max(own.values())
            greedy = [a for a in actions if own[a] == best]
            action = draw.choice(list(actions)) if draw.random() < 0.1 else draw.choice(greedy)
            after = moves[cell][action]
            events = grid.events[after]
            pairs = [(t, u) for t, m in enumerate(every) for u in m.states] if counterfactual else [(task, state)]
            for t, u in pairs:
                v, reward = advance(t, u, events)
                here = values((t, u, cell))
                target = reward if v == -1 else reward + 0.9 * max(values((t, v, after)).values())
                here[action] += 0.5 * (target - here[action])
            state, _ = advance(task, state, events)
            cell, length, step = after, length + 1, step + 1
        episode += 1
    return time.process_time() - began


def _dnf(guard: str) -> list[list[tuple[str, bool]]]:
    terms = [[literal.strip(" ()") for literal in term.split("&")] for term in guard.split("|")]
    return [[(literal.strip("!"), not literal.startswith("!")) for literal in term] for term in terms]


def ratios() -> dict[str, Any]:
    """How much longer the plain loop takes for 60 runs of Office World than they take together here, in CPU time."""
    found: dict[str, Any] = {}
    for method in ("ql", "crm"):
        plain = plain_loop(method == "crm", 20_000) / 20_000 * 100_000 * 60
        ours = json.loads((RESULTS / f"office-multi-published-{method}.json").read_text())
        found[method] = {
            "plain_cpu_seconds": round(plain, 1),
            "our_cpu_seconds": ours["cpu_seconds"],
            "ratio": round(plain / ours["cpu_seconds"], 1),
        }
    return found


# Tables.


def published_name(cell: Cell) -> str:
    return f"{cell.world}{'-single' if cell.single else ''}-{cell.method}"


def compared(cell: Cell, result: dict[str, Any], published: dict[str, Any]) -> list[tuple[int, float, list[float]]]:
    """At every tenth of training our median and the published quartiles, which end one point before the budget."""
    theirs = {round(row[0] * 1_000): row[1:] for row in published[published_name(cell)]}
    ours = {row[0]: row[2] for row in result["curve"]}
    points = [cell.steps * k // 10 for k in range(1, 11)]
    points = [point if point in theirs else point - cell.every for point in points]
    return [(point, ours[point], theirs[point]) for point in points]


def median_steps(result: dict[str, Any]) -> int | None:
    """The steps after which more than half of the runs have learned; None where they do not."""
    return sorted((step or math.inf, step) for step in result["steps_to_learn"])[result["runs"] // 2][1]


def report() -> str:
    """The tables as Markdown."""
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))["curves"]
    found = {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    lines = ["# Office World and Craft World", "", "## As published", ""]
    lines += ["| | runs | median within the published quartiles | seconds | CPU seconds |", "|---|---|---|---|---|"]
    outside = []
    for cell in cells():
        result = found.get(cell.name)
        if result is None or cell.unmatched != "pays" or cell.method not in ("ql", "crm"):
            continue
        rows = compared(cell, result, published)
        inside = [low <= ours <= high for _, ours, (low, _, high) in rows]
        lines.append(
            f"| {cell.name} | {result['runs']} | at {sum(inside)} of {len(rows)} tenths | {result['seconds']:,.0f} "
            f"| {result['cpu_seconds']:,.0f} |"
        )
        outside += [
            f"- {cell.name} at {step:,} steps: {ours:.4f}; published {low:.4f}, {median:.4f}, {high:.4f}"
            for (step, ours, (low, median, high)), good in zip(rows, inside, strict=True)
            if not good
        ]
    lines += ["", *(["Outside:", "", *outside, ""] if outside else [])]
    lines += [f"## Steps until {LEARNED} of the optimum", "", "| | median curve | median run | runs that got there |"]
    lines.append("|---|---|---|---|")
    for name, result in found.items():
        if "curve" not in result:
            continue
        steps = [step for step in result["steps_to_learn"] if step is not None]
        budget = result["cell"]["steps"]
        median = median_steps(result)
        of_curve = result["steps_to_learn_median_curve"]
        lines.append(
            f"| {name} | {f'{of_curve:,}' if of_curve else f'not in {budget:,}'} "
            f"| {f'{median:,}' if median else f'not in {budget:,}'} | {len(steps)} of {result['runs']} |"
        )
    if "ratios" in found:
        lines += ["", "## CPU time of 60 runs of Office World, all tasks", ""]
        lines += ["| | the loop written plainly | here | ratio |", "|---|---|---|---|"]
        for method, row in found["ratios"].items():
            cpu = f"{row['plain_cpu_seconds']:,.0f} s | {row['our_cpu_seconds']:,.1f} s"
            lines.append(f"| {method} | {cpu} | {row['ratio']:g} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="?", default="", help="run cells whose name contains this")
    parser.add_argument("--report", action="store_true", help="print the tables, and run nothing")
    arguments = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    if not arguments.report:
        for cell in cells():
            target = RESULTS / f"{cell.name}.json"
            if arguments.only in cell.name and not target.exists():
                print(cell.name, flush=True)
                result = json.dumps(run(cell)).replace("], [", "],\n  [")
                partial = target.with_suffix(".part")
                partial.write_text(result + "\n", encoding="utf-8")
                partial.rename(target)
        target = RESULTS / "ratios.json"
        if arguments.only in "ratios" and not target.exists():
            target.write_text(json.dumps(ratios(), indent=2) + "\n", encoding="utf-8")
    text = report()
    (HERE / "results" / "reward_machines.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

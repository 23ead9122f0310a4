"""Write docs/paper/environments.md: the twelve environments, their specs, and where they differ from the paper.

Run from anywhere: python docs/scripts/environments.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rewardspec import tasks
from rewardspec.lab.cli.envs import atom_text
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.pairs import Pair

DOCS = Path(__file__).resolve().parent.parent

INTRODUCTION = """\
<!-- Written by docs/scripts/environments.py from the environments' own files; edit those. -->
# The twelve environments

The environments of the paper's evaluation (Adalat and Belardinelli, "Expressive Temporal Specifications for Reward
Monitoring", AAAI-26), each with its atoms, its two specifications, its own reward and its measure of task completion.
After `import rewardspec.lab`, `gymnasium.make("rewardspec/FrozenLake-v0")` makes one of them. `rewardspec envs
frozen-lake` shows it in the terminal.

```pycon
>>> from rewardspec import tasks
>>> task = tasks.get("frozen_lake")
>>> task.spec("quantitative").pairs
(Pair('F reach_goal', 10), Pair('G !reach_hole', 0, veto=True, penalty=-10), Pair('F G true', -1))
>>> env = task.make()
```

- *Task completion* is a number in [0, 1]. It is in `info["task_completion"]` at the last step of an episode. It is for
  evaluation, and no reward depends on it.
- A pair marked *safety* [vetoes](../guides/safety.md) every later reward of an episode once it is violated.
- The picture of each environment shows one short episode under its quantitative spec: the labels of the atoms, the
  values of the formulas, and the rewards. `python docs/scripts/episodes.py` makes the pictures.
- [The audit](audit.md) says what optimal policies do under the specs of the finite environments.

"""


def main() -> None:
    """Write the page."""
    (DOCS / "paper" / "environments.md").write_text(page(), encoding="utf-8")


def page() -> str:
    """The page's text."""
    every = [tasks.get(name) for name in tasks.names("paper")]
    parts = [INTRODUCTION, *_overview(every)]
    for task in every:
        parts.extend(_section(task))
    return "".join(parts)


def _overview(tasks: list[Task]) -> Iterator[str]:
    yield "| environment | family | steps | learner | goal |\n|---|---|--:|---|---|\n"
    for task in tasks:
        link = f"[{task.title}](#{task.title.lower().replace(' ', '-')})"
        yield f"| {link} | {task.family} | {task.max_episode_steps} | {task.learner} | {task.goal} |\n"


def _section(task: Task) -> Iterator[str]:
    yield f"\n## {task.title}\n\n{task.goal}\n\n"
    yield f"- Made by `gymnasium.make({task.id!r})`, {task.max_episode_steps} steps.\n"
    yield f"- Its own reward: {task.base_reward}\n"
    yield f"- Task completion: {task.measure.words}\n\n"
    boolean, quantitative = task.specs["boolean"], task.specs["quantitative"]
    if boolean.pairs == quantitative.pairs:
        yield from _pairs("Both specs", boolean.pairs)
    else:
        yield from _pairs("Boolean spec", boolean.pairs)
        yield from _pairs("Quantitative spec", quantitative.pairs)
    for pairs in dict.fromkeys(spec.pairs for spec in task.variants.values()):
        yield from _pairs("As printed in the paper", pairs)
    yield "| atom | in the Boolean spec | in the quantitative spec |\n|---|---|---|\n"
    for name in task.atoms:
        functions = [(spec.atom_functions or {}).get(name) for spec in task.specs.values()]
        cells = ["" if function is None else atom_text(function) for function in functions]
        cells[1] = "the same" if cells[0] == cells[1] else cells[1]
        yield f"| `{name}` | {cells[0]} | {cells[1]} |\n"
    for title, points in task.notes.items():
        yield f"\n{title}:\n\n"
        yield from (f"- {point}\n" for point in points)
    yield f"\n![An episode of {task.title}](../images/episodes/{task.name}.png)\n"


def _pairs(title: str, pairs: tuple[Pair, ...]) -> Iterator[str]:
    yield f"{title}:\n\n| weight | formula | |\n|--:|---|---|\n"
    for pair in pairs:
        penalty = "" if pair.penalty is None else f", penalty {pair.penalty:g}"
        formula = str(pair.formula).replace("|", "\\|")  # a bare bar would end the table's cell
        yield f"| {pair.weight:g} | `{formula}` | {'safety' if pair.vetoes else ''}{penalty} |\n"
    yield "\n"


if __name__ == "__main__":
    main()

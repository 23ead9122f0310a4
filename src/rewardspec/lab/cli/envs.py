"""`rewardspec envs [NAME]`: list tasks and their specifications."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from rewardspec.cli.options import command, importing_from_here
from rewardspec.errors import Error, MissingExtraError
from rewardspec.types import Array, Subparsers

if TYPE_CHECKING:
    from rewardspec.lab.tasks.task import Task
    from rewardspec.spec.atoms.functions import AtomFunction
    from rewardspec.spec.pairs import Pair
    from rewardspec.spec.spec import Spec

_WIDTH = 100
_INDENT = 14


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = command(
        commands,
        "envs",
        "list the tasks with their specifications, or show one in full",
        """
        rewardspec envs
        rewardspec envs frozen-lake --picture lake.png
        rewardspec envs my_tasks:MAZE
        """,
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="the task to show in full; module:NAME for one of your own"
    )
    parser.add_argument("--picture", metavar="FILE", help="write a picture of the environment's first state")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the list of tasks, or one task in full."""
    from rewardspec.lab import tasks

    if arguments.name is None:
        if arguments.picture is not None:
            raise Error("A picture shows one environment. Give its NAME.")
        print("\n".join(_list([tasks.get(name) for name in tasks.names()])))
        return 0
    with importing_from_here():
        task = tasks.get(arguments.name)
    for title, text in _full(task):
        print(f"{title:<{_INDENT - 1}} {textwrap.indent(text, ' ' * _INDENT)[_INDENT:]}")
    if arguments.picture is not None:
        _picture(task, arguments.picture)
        print(f"Wrote {arguments.picture}")
    return 0


def _list(tasks: list[Task]) -> Iterator[str]:
    family = None
    for task in tasks:
        if task.family != family:
            family = task.family
            yield f"{family}"
        yield f"  {task.name:<20}{task.goal}"
        for names, spec in _grouped(task.specs, lambda spec: spec.pairs):
            head = "both" if len(names) == len(task.specs) == 2 else " and ".join(names)
            # Break lines between pairs, and within a pair only if it is longer than a line.
            texts = map(pair_text, spec.pairs)
            pairs = ", ".join(text.replace(" ", "\0") if len(text) < _WIDTH - 20 else text for text in texts)
            lines = textwrap.fill(pairs, _WIDTH, initial_indent=f"    {head:<14}", subsequent_indent=" " * 18)
            yield lines.replace("\0", " ")
    yield ""
    yield "Show one in full: rewardspec envs NAME"


def _grouped(specs: Mapping[str, Spec], key: Callable[[Spec], object]) -> Iterator[tuple[list[str], Spec]]:
    """Group specs with equal keys; yield the names and one spec of each group."""
    for spec in specs.values():
        names = [name for name, other in specs.items() if key(other) == key(spec)]
        if spec is specs[names[0]]:
            yield names, spec


def _full(task: Task) -> Iterator[tuple[str, str]]:
    limit = "" if task.max_episode_steps is None else f" {task.max_episode_steps} steps;"
    yield task.title, f"{task.family}; {task.made_by};{limit} {task.learner}"
    if task.goal:
        yield "Goal", _filled(task.goal)
    if task.base_reward:
        yield "Base reward", _filled(task.base_reward)
    for name, measure in task.measures.items():
        yield "Completion" if name == "task_completion" else name.capitalize(), _filled(measure.words)
    for name, spec in task.specs.items():
        yield name.capitalize(), "\n".join(_pair_lines(spec.pairs))
    for names, spec in _grouped(task.variants, lambda spec: spec.pairs):
        yield "Variant", "\n".join([f"{', '.join(names)}:", *_pair_lines(spec.pairs)])
    for names, spec in _grouped(task.specs, lambda spec: spec.atom_functions):
        head = "Atoms" if len(names) == len(task.specs) else f"Atoms, {names[0][:4]}."
        yield head, "\n".join(_atom_lines(spec.atom_functions or {}))
    for title, points in task.notes.items():
        yield title.split()[0], "\n".join(_filled(f"- {point}", "  ") for point in points)


def _filled(text: str, subsequent: str = "") -> str:
    return textwrap.fill(text, _WIDTH - _INDENT, subsequent_indent=subsequent)


def pair_text(pair: Pair) -> str:
    """Format a pair on one line.

    Example:
        >>> from rewardspec.spec.pairs import Pair
        >>> pair_text(Pair("G !crash", 1, penalty=-5))
        '(G !crash, 1, veto, penalty -5)'
    """
    veto = ", veto" if pair.vetoes else ""
    penalty = "" if pair.penalty is None else f", penalty {pair.penalty:g}"
    return f"({pair.formula}, {pair.weight:g}{veto}{penalty})"


def _pair_lines(pairs: tuple[Pair, ...]) -> Iterator[str]:
    for pair in pairs:
        notes = "veto" if pair.vetoes else ""
        notes += "" if pair.penalty is None else f", penalty {pair.penalty:g}"
        yield f"{pair.weight:>5g}  {pair.formula}{f'  ({notes})' if notes else ''}"


def _atom_lines(atoms: Mapping[str, AtomFunction]) -> Iterator[str]:
    width = max(map(len, atoms)) + 2
    for name, atom in atoms.items():
        yield textwrap.fill(f"{name:<{width}}{atom_text(atom)}", _WIDTH - _INDENT, subsequent_indent=" " * width)


def atom_text(atom: AtomFunction) -> str:
    """Return the meaning of an atom: the first line of its function's docstring."""
    return (atom.__doc__ or "").strip().split("\n")[0]


def _picture(task: Task, path: str) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "Writing a picture") from None
    from rewardspec.drawing.run_plot import save

    env = task.make(render_mode="rgb_array")
    env.reset(seed=0)
    frame: Array = env.render()
    env.close()
    height, width = frame.shape[:2]
    figure = Figure(figsize=(width / 160, height / 160), dpi=160)  # the resolution of `save`, so that pixels are kept
    figure.figimage(frame)
    save(figure, path)

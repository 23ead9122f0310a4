"""`rewardspec explain SPEC`: why every step of an episode paid what it paid, of a recorded or a played one."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rewardspec.cli.options import add_formula, add_no_references, command, formula_of, importing_from_here, spec_in
from rewardspec.cli.traces import rows_of
from rewardspec.drawing.run_plot import check_picture_path, save
from rewardspec.errors import Error
from rewardspec.lab.cli.players import add_policy_options, player, task_and_policy
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import read_draft

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation
    from rewardspec.lab.tasks.task import Task

_ENDS = ("base_reward", "terminated", "truncated")
_STEPS = 10_000


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "explain",
        "say for every step of an episode which formula, atom and earlier step decided its reward",
        """
        rewardspec explain spec.toml --trace episode.csv
        rewardspec explain spec.toml --env CartPole-v1 --seed 3 -o episode.html
        rewardspec explain spec.toml --env CartPole-v1 --policy CartPole-v1-spec.npz
        rewardspec explain "F(key & F door)" --trace episode.csv
        """,
    )
    parser.epilog = (
        f"{parser.epilog}\n\nA trace has a column for each atom and a row for each step, the state after reset first;\n"
        "columns base_reward, terminated and truncated are read where there are any."
    )
    add_formula(parser)
    add_no_references(parser)
    source = parser.add_argument_group("the episode")
    source.add_argument("--trace", metavar="FILE.csv", help="a recorded one; '-' reads standard input")
    source.add_argument("--env", metavar="ENV", help="play one: a Gymnasium id, module:id, or one of `rewardspec envs`")
    source.add_argument(
        "--seed", metavar="N", type=int, default=0, help="seed of the played one (default: %(default)s)"
    )
    source.add_argument(
        "--max-steps", metavar="N", type=int, default=_STEPS, help="where to cut it off (default: %(default)s)"
    )
    add_policy_options(parser)
    parser.add_argument(
        "--rows", metavar="N", type=int, help="the most rows of the table; 0 for every step (default: 12)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="also write it: .html is a page with a slider, .png, .svg or .pdf a plot, .csv every step",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table, and write the file that was asked for."""
    if arguments.output is not None:
        _check_output(arguments.output)
    if (arguments.trace is None) == (arguments.env is None and arguments.policy is None):
        raise Error("Give an episode: either --trace FILE.csv, or --env ID to play one.")
    with importing_from_here():
        explanation, frames = (_recorded(arguments), None) if arguments.trace is not None else _played(arguments)
    if arguments.rows is None:
        print(explanation)
    else:
        print(explanation.to_text(arguments.rows or None))
    if arguments.output is not None:
        _write(explanation, frames, arguments.output)
        print(f"Wrote {arguments.output}", file=sys.stderr)
    return 0


def _check_output(path: str) -> None:
    """Raise an Error unless an explanation can be written to a file of this name."""
    if Path(path).suffix.lower() not in (".csv", ".html"):
        check_picture_path(path)


def _write(explanation: Explanation, frames: list[Any] | None, path: str) -> None:
    if Path(path).suffix.lower() == ".csv":
        explanation.to_csv(path)
    elif Path(path).suffix.lower() == ".html":
        explanation.to_html(path, frames)
    else:
        save(explanation.plot(), path)


def _recorded(arguments: argparse.Namespace) -> Explanation:
    from rewardspec.episodes.explanation import explain

    if arguments.formula.endswith(".toml"):
        draft = read_draft(arguments.formula, atoms=False)  # labels come from the trace
        spec = Spec(draft.pairs, **draft.options)
    else:
        spec = Spec([(formula_of(arguments), 1.0)], semantics=arguments.semantics)
    rows = list(rows_of(arguments.trace, spec.atoms, _ENDS, spec.semantics))
    episode: dict[str, Any] = {atom: [row.labels[atom] for row in rows] for atom in spec.atoms}
    ends = {
        name: [row.others[column] for row in rows[1:]]
        for name, column in zip(("rewards", "terminations", "truncations"), _ENDS, strict=True)
        if rows and column in rows[0].others and name not in spec.atoms
    }
    return explain(spec, episode | {name: np.array(column) for name, column in ends.items()})


def _played(arguments: argparse.Namespace) -> tuple[Explanation, list[Any] | None]:
    """The episode, and pictures of its states for a page, where the environment can draw itself."""
    from rewardspec.wrappers.monitor_reward import MonitorReward
    from rewardspec.wrappers.probing import play

    if not arguments.formula.endswith(".toml"):
        raise Error("To play an episode, give a spec file: it says how atoms are read. A formula alone needs --trace.")
    spec = spec_in(arguments.formula, arguments)
    task, policy = task_and_policy(arguments)
    spec = spec if spec.atom_functions or not task.atoms else spec.replace(atoms=task.atoms)
    drawn = Path(arguments.output or "").suffix.lower() == ".html" and _can_be_drawn(task)
    with contextlib.closing(task.make(**({"render_mode": "rgb_array_list"} if drawn else {}))) as env:
        wrapped = MonitorReward(env, spec, record=True)
        env.action_space.seed(arguments.seed)
        play(wrapped, player(arguments, task, policy, env, spec), arguments.seed, arguments.max_steps)
        explanation = wrapped.explain()
        frames = list(env.render() or ()) if drawn else []
        return explanation, frames if len(frames) == len(explanation) else None


def _can_be_drawn(task: Task) -> bool:
    """Whether the environment gives pictures, which may need more than is installed."""
    try:
        with contextlib.closing(task.make(render_mode="rgb_array")) as env:
            env.reset()
            return env.render() is not None
    except Exception:  # whatever an environment raises where it cannot
        return False

"""`rewardspec explain SPEC`: explain the reward of every step of a recorded or played episode."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rewardspec.cli.options import (
    add_env_arg,
    add_formula,
    add_no_references,
    command,
    formula_of,
    importing_from_here,
    spec_in,
)
from rewardspec.cli.trace_files import LabelKind
from rewardspec.cli.traces import TRACE_HELP, add_trace_options, opened_trace, read_record_spec
from rewardspec.drawing.run_plot import check_picture_path, save
from rewardspec.errors import Error
from rewardspec.lab.cli.players import add_policy_options, player, task_and_policy
from rewardspec.spec.spec import Spec
from rewardspec.types import Array, Subparsers

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation
    from rewardspec.lab.tasks.task import Task

_ENDS = ("base_reward", "terminated", "truncated")
_STEPS = 10_000
_LONG = 2_000  # steps of an episode, above which its length is told


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
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
        f"{TRACE_HELP} Its\nfirst row is the state after reset; "
        "columns base_reward, terminated and truncated are read where there are any.",
    )
    add_formula(parser)
    add_no_references(parser)
    source = parser.add_argument_group("the episode")
    add_trace_options(source, required=False)
    source.add_argument("--env", metavar="ENV", help="play one: a Gymnasium id, module:id, or one of `rewardspec envs`")
    source.add_argument(
        "--seed", metavar="N", type=int, default=0, help="seed of the played one (default: %(default)s)"
    )
    source.add_argument(
        "--max-steps", metavar="N", type=int, default=_STEPS, help="where to cut it off (default: %(default)s)"
    )
    add_env_arg(parser)
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
    """Print the table and write the output file."""
    if arguments.output is not None and Path(arguments.output).suffix.lower() not in (".csv", ".html"):
        check_picture_path(arguments.output)
    if (arguments.trace is None) == (arguments.env is None and arguments.policy is None):
        raise Error("Give an episode: either --trace FILE.csv, or --env ID to play one.")
    with importing_from_here():
        explanation, frames = (_recorded(arguments), None) if arguments.trace is not None else _played(arguments)
    if arguments.rows is None:
        print(explanation)
    else:
        print(explanation.to_text(arguments.rows or None))
    if arguments.output is not None:
        _write(explanation, frames, arguments.output, _title(arguments))
        print(f"Wrote {arguments.output}", file=sys.stderr)
    return 0


def _title(arguments: argparse.Namespace) -> str:
    """Name the record, or the environment or policy with the seed."""
    if arguments.trace is not None:
        return Path(arguments.trace).name
    return f"{arguments.env or Path(arguments.policy).name}, seed {arguments.seed}"


def _write(explanation: Explanation, frames: list[Array] | None, path: str, title: str) -> None:
    if Path(path).suffix.lower() == ".csv":
        explanation.to_csv(path)
    elif Path(path).suffix.lower() == ".html":
        explanation.to_html(path, frames, title)
    else:
        save(explanation.plot(), path)


def _recorded(arguments: argparse.Namespace) -> Explanation:
    from rewardspec.episodes.explanation import explain

    with opened_trace(arguments) as trace:
        if arguments.formula.endswith(".toml"):
            spec, entries, kind = read_record_spec(arguments.formula, trace.in_steps)
        else:
            spec = Spec([(formula_of(arguments, trace.in_steps), 1.0)], semantics=arguments.semantics)
            entries, kind = {}, LabelKind(spec.semantics)
        readings = trace.readings(spec.atoms, entries, margin=spec.semantics == "robustness")
        rows = list(trace.rows(readings, kind, _ENDS))
    episode: dict[str, Array] = {atom: [row.labels[atom] for row in rows] for atom in spec.atoms}
    ends = {
        name: [row.others[column] for row in rows[1:]]
        for name, column in zip(("rewards", "terminations", "truncations"), _ENDS, strict=True)
        if rows and column in rows[0].others and name not in spec.atoms
    }
    return explain(spec, episode | {name: np.array(column) for name, column in ends.items()})


def _played(arguments: argparse.Namespace) -> tuple[Explanation, list[Array] | None]:
    """Play an episode; for a page, also render its states if the environment can."""
    from rewardspec.wrappers.monitor_reward import MonitorReward
    from rewardspec.wrappers.probing import RandomActions, play

    if not arguments.formula.endswith(".toml"):
        raise Error("To play an episode, give a spec file: it says how atoms are read. A formula alone needs --trace.")
    spec = spec_in(arguments.formula, arguments)
    task, policy = task_and_policy(arguments)
    spec = task.with_atoms(spec)
    drawn = Path(arguments.output or "").suffix.lower() == ".html" and _can_be_drawn(task)
    with contextlib.closing(task.make(**({"render_mode": "rgb_array_list"} if drawn else {}))) as env:
        wrapped = MonitorReward(env, spec, record=True)
        plays = player(arguments, task, policy, env, spec) or RandomActions(env, arguments.seed)
        play(wrapped, plays, arguments.seed, arguments.max_steps)
        explanation = wrapped.explain()
        _tell_length(len(explanation) - 1, arguments.max_steps)
        frames = env.render() if drawn else None
        return explanation, frames if isinstance(frames, list) and len(frames) == len(explanation) else None


def _tell_length(steps: int, most: int) -> None:
    """Say how long an episode is if it is long, and how to shorten it."""
    if steps > _LONG:
        how = "as many as --max-steps allows" if steps == most else "and --max-steps N would keep only the first N"
        print(f"The episode has {steps:,} steps, {how}.", file=sys.stderr)


def _can_be_drawn(task: Task) -> bool:
    """Return whether the environment can be rendered, which may need optional packages."""
    try:
        with contextlib.closing(task.make(render_mode="rgb_array")) as env:
            env.reset()
            return env.render() is not None
    except Exception:  # the type depends on the environment
        return False

"""`rewardspec audit ENV`: what a reward really asks for, found by solving the environment exactly."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rewardspec.cli.options import command, importing_from_here
from rewardspec.drawing.run_plot import check_picture_path
from rewardspec.errors import Error


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "audit",
        "solve a finite environment exactly, and say what each of its rewards really asks for",
        """
        rewardspec audit frozen-lake
        rewardspec audit sokoban --picture paths.png
        rewardspec audit taxi --spec my-spec.toml --discount 0.99
        rewardspec audit my_module:MyEnv-v0 --spec my-spec.toml --goal done --hazard crashed
        """,
    )
    parser.add_argument(
        "env", metavar="ENV", help="one of the six finite environments, or a Gymnasium id with a --spec"
    )
    parser.add_argument("--spec", metavar="FILE", help="audit this spec, a TOML file, instead of the environment's own")
    parser.add_argument("--discount", type=float, metavar="D", help="the learner's discount (default: 0.9)")
    parser.add_argument(
        "--payment",
        choices=("value", "delta", "potential", "final"),
        help="how the specs pay (default: value, or what FILE says)",
    )
    parser.add_argument("--goal", metavar="ATOM", help="for other environments: the spec's atom that holds at the goal")
    parser.add_argument("--hazard", metavar="ATOM", help="for other environments: the atom of what must not happen")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the episode that is drawn (default: 0)"
    )
    parser.add_argument("--picture", metavar="FILE", help="draw the optimal paths into this file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Audit, print the table, and draw the paths."""
    from rewardspec.audit.audit import DISCOUNTS, LEARNER_DISCOUNT
    from rewardspec.audit.subjects import subject_of

    discount = LEARNER_DISCOUNT if arguments.discount is None else arguments.discount
    if not 0.0 <= discount <= 1.0:
        raise Error(f"`--discount` should be in [0, 1]. Received {discount:g}.")
    if arguments.picture is not None:
        check_picture_path(arguments.picture)  # before the work, not after it
    with importing_from_here():
        subject = subject_of(arguments.env, arguments.spec, arguments.payment, arguments.goal, arguments.hazard)
    discounts = sorted({*DISCOUNTS, discount})
    by_reward = [subject.audit(name, discounts) for name in subject.rewards]
    findings = [next(f for f in group if f.discount == discount) for group in by_reward]
    print("\n".join(_table(subject.title, discount, findings)))
    print()
    for finding in findings:
        text = f"{finding.reward}: {finding.verdict}. {finding.sentence}"
        print(textwrap.fill(text, 100, subsequent_indent="  "))
    print()
    print("\n".join(_by_discount(discounts, by_reward)))
    episodes = [subject.play(finding, arguments.seed) for finding in findings]
    print()
    print("\n".join(_paths(subject, findings, episodes)))
    if arguments.picture is not None:
        from rewardspec.drawing.run_plot import save

        save(subject.picture(findings, episodes), arguments.picture)
        print(f"Wrote {arguments.picture}")
    return 0


def _table(title: str, discount: float, findings: Sequence[Any]) -> Iterator[str]:
    yield f"{title}, discount {discount:g}"
    yield ""
    yield from aligned(
        [
            (
                "reward",
                "optimal return",
                "discounted",
                "task completion",
                "steps to goal",
                "unsafe",
                "nodes",
                "verdict",
            ),
            *(
                (
                    f.reward,
                    f"{f.best.total:,.2f}",
                    f"{f.best.discounted:,.2f}",
                    completion_of(f),
                    steps_of(f),
                    unsafe_of(f),
                    f"{len(f.product)}",
                    f.verdict,
                )
                for f in findings
            ),
        ]
    )


def _by_discount(discounts: Sequence[float], by_reward: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield "How the verdict changes with the discount (at 1, the plain sum over an episode, policies see the clock)"
    yield ""
    heads = ("reward", *(f"{discount:g}" for discount in discounts))
    yield from aligned([heads, *((group[0].reward, *(f.verdict for f in group)) for group in by_reward)])


def _paths(subject: Any, findings: Sequence[Any], episodes: Sequence[Any]) -> Iterator[str]:
    from rewardspec.audit.maps import draw_path

    colour = sys.stdout.isatty()
    for finding, episode in zip(findings, episodes, strict=True):
        yield (
            f"{finding.reward}: rolled out, {len(episode.actions)} steps earned {episode.total:,.2f}, "
            f"of {episode.expected:,.2f} expected"
        )
        board = subject.map(episode.states[0])
        if board is not None:
            lines = draw_path(board, episode.states, (lambda mark: f"\033[1;31m{mark}\033[0m") if colour else str)
            yield from (f"  {line}" for line in lines)
            yield f"  {board.legend}" if board.legend else ""


def completion_of(finding: Any) -> str:
    """Task completion, as a range where optimal policies differ."""
    low, high = finding.spread.completion
    return f"{high:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"


def steps_of(finding: Any) -> str:
    """Steps to the goal of the kindest optimal policy."""
    return "never" if finding.best.steps != finding.best.steps else f"{finding.best.steps:.4g}"


def unsafe_of(finding: Any) -> str:
    """Whether optimal policies do what must not happen."""
    low, high = finding.spread.hazard
    if high < 1e-6:
        return "no"
    return "yes" if low > 1.0 - 1e-6 else "may be" if low < 1e-6 else "in part"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines, their columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()

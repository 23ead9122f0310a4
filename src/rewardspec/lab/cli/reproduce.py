"""`rewardspec reproduce`: run the paper's evaluation, from training to the report."""

from __future__ import annotations

import argparse

from rewardspec.cli.options import command
from rewardspec.lab.cli.options import device_of, options_for
from rewardspec.lab.cli.studies import add_running_options, run_study, source_of
from rewardspec.types import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = command(
        commands,
        "reproduce",
        "train every environment with every reward, and write the table, the curves and the report",
        """
        rewardspec reproduce --quick
        rewardspec reproduce -o results
        rewardspec reproduce --as-paper
        rewardspec reproduce --envs frozen-lake taxi --rewards boolean quantitative --seeds 100
        rewardspec reproduce --engine ray --address 10.0.0.1:6379
        """,
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="where results go (default: results, or in it quick, as-paper)"
    )
    parser.add_argument("--quick", action="store_true", help="small budgets: everything in about two minutes")
    parser.add_argument(
        "--as-paper",
        action="store_true",
        help="the environments, settings and counting that the paper's published numbers speak for",
    )
    parser.add_argument("--envs", nargs="+", metavar="ENV", help="these environments alone (default: all twelve)")
    parser.add_argument(
        "--rewards", nargs="+", metavar="REWARD", help="of base, boolean, quantitative, best (default: all)"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="runs of each cell (default: the paper's 500 or 10)")
    add_running_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run pending jobs, then write tables, curves and the report."""
    from rewardspec.lab import tasks
    from rewardspec.lab.paper.evaluation import paper_study

    study = paper_study(as_published=arguments.as_paper)
    names = None if arguments.envs is None else [tasks.get(name).name for name in arguments.envs]
    with options_for(seeds="--seeds", block="--seeds-per-job"):
        jobs = study.jobs(
            names,
            arguments.rewards,
            quick=arguments.quick,
            seeds=arguments.seeds,
            block=arguments.seeds_per_job,
            source=source_of(arguments),
            device=device_of(arguments),
        )
    parts = ["results", *["as-paper"] * arguments.as_paper, *["quick"] * arguments.quick]
    return run_study(arguments, study, jobs, arguments.output or "/".join(parts))

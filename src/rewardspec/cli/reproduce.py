"""`rewardspec reproduce`: the paper's evaluation, from training to the report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardspec.cli.options import command, options_for
from rewardspec.errors import Error

if TYPE_CHECKING:
    from rewardspec.experiments.engines import Engine
    from rewardspec.learning.env_batches import Source

_ENGINES = ("local", "ray")


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "reproduce",
        "train every environment with every reward, and write the table, the curves and the report",
        """
        rewardspec reproduce --quick
        rewardspec reproduce -o results
        rewardspec reproduce --envs frozen-lake taxi --rewards boolean quantitative --seeds 100
        rewardspec reproduce --engine ray --address 10.0.0.1:6379
        """,
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="where results go (default: results, or results/quick)")
    parser.add_argument("--quick", action="store_true", help="small budgets: everything in about two minutes")
    parser.add_argument("--envs", nargs="+", metavar="ENV", help="these environments alone (default: all twelve)")
    parser.add_argument(
        "--rewards", nargs="+", metavar="REWARD", help="of base, boolean, quantitative, best (default: all)"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="runs of each cell (default: the paper's 500 or 10)")
    parser.add_argument(
        "--seeds-per-job", type=int, metavar="N", help="runs trained together; fewer make more, smaller jobs"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes of engine local (default: one for each core)"
    )
    parser.add_argument(
        "--envpool",
        action="store_true",
        help="take Lunar Lander and Bipedal Walker from EnvPool: two to three times as quick, other random numbers",
    )
    parser.add_argument("--engine", choices=_ENGINES, default="local", help="where jobs run (default: %(default)s)")
    parser.add_argument("--address", metavar="ADDRESS", help="the Ray cluster, for engine ray (default: this machine)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do what is not done yet, and write everything down."""
    from rewardspec import tasks
    from rewardspec.cli.report import write_report
    from rewardspec.experiments.display import duration
    from rewardspec.experiments.evaluation import jobs_of
    from rewardspec.experiments.provenance import command_line
    from rewardspec.experiments.running import Interrupted, reproduce
    from rewardspec.experiments.trainer import Trainer
    from rewardspec.learning.training import check_extras

    directory = arguments.output or ("results/quick" if arguments.quick else "results")
    source: Source = "envpool" if arguments.envpool else "gymnasium"
    with options_for(seeds="--seeds", block="--seeds-per-job"):
        jobs = jobs_of(
            arguments.envs,
            arguments.rewards,
            quick=arguments.quick,
            seeds=arguments.seeds,
            block=arguments.seeds_per_job,
            source=source,
        )
    if arguments.address is None:
        # Jobs run on this machine. The nodes of a cluster need these libraries, and this machine does not.
        extras = ["reproduce", *["ray"] * (arguments.engine == "ray"), *["envpool"] * arguments.envpool]
        chosen = [tasks.get(name) for name in dict.fromkeys(job.task for job in jobs)]
        check_extras(chosen, source=source, extra=",".join(extras))
    _check_directory(directory)
    trainer = Trainer(command_line(arguments.argv))
    try:
        summary = reproduce(directory, jobs, _engine(arguments), trainer)
    except Interrupted as error:
        print(error, file=sys.stderr)
        return 130
    if summary.done:
        print(f"{summary.done} of {len(jobs)} jobs done in {duration(summary.seconds)}.", file=sys.stderr)
    if summary.done or summary.skipped:
        write_report(directory)
    if summary.failed:
        labels = "; ".join(event.job.label for event in summary.failed)
        print(
            f"error: {len(summary.failed)} of {len(jobs)} jobs failed and are missing above: {labels}. "
            "Run the same command again to try them again.",
            file=sys.stderr,
        )
        return 1
    return 0


def _check_directory(directory: str) -> None:
    """Raise an Error where a file stands in the directory's place; the rest is seen when it is made."""
    path = Path(directory)
    for place in (path, *path.parents):
        if place.exists():
            if not place.is_dir():
                raise Error(
                    f"Cannot write into {directory!r}: {str(place)!r} is a file. Nothing was trained. "
                    "Give a directory with -o."
                )
            return


def _engine(arguments: argparse.Namespace) -> Engine:
    if arguments.engine == "ray":
        from rewardspec.experiments.engines.ray import Ray

        if arguments.workers is not None:
            raise Error("`--workers` is about processes of this machine. A Ray cluster knows how many cores it has.")
        return Ray(arguments.address)
    from rewardspec.experiments.engines.local import Local

    if arguments.address is not None:
        raise Error("`--address` is that of a Ray cluster. Add: --engine ray")
    with options_for(workers="--workers"):
        return Local(arguments.workers)

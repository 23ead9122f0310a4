"""Shared by `reproduce` and `compare`: options for running jobs, and the run from jobs to the report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rewardspec.errors import Error
from rewardspec.lab.cli.options import add_device, is_accelerated, options_for

if TYPE_CHECKING:
    from rewardspec.lab.experiments.engines import Engine
    from rewardspec.lab.experiments.jobs import Job
    from rewardspec.lab.experiments.study import Study
    from rewardspec.lab.learning.env_batches import Source


def add_running_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the engine."""
    parser.add_argument(
        "--seeds-per-job", type=int, metavar="N", help="runs trained together; fewer make more, smaller jobs"
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes of engine local (default: one for each core, or one in all with --device gpu or tpu)",
    )
    add_device(parser)
    parser.add_argument(
        "--envpool",
        action="store_true",
        help="take Lunar Lander and Bipedal Walker from EnvPool: two to three times as quick, other random numbers",
    )
    parser.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="where jobs run (default: %(default)s)"
    )
    parser.add_argument("--address", metavar="ADDRESS", help="the Ray cluster, for engine ray (default: this machine)")


def source_of(arguments: argparse.Namespace) -> Source:
    """Return the source of environments."""
    return "envpool" if arguments.envpool else "gymnasium"


def run_study(arguments: argparse.Namespace, study: Study, jobs: list[Job], directory: str) -> int:
    """Run pending jobs, write tables, curves and the report, and return the exit status.

    Extras and the output directory are checked before training.
    """
    from rewardspec.lab.cli.report import write_report
    from rewardspec.lab.experiments.display import duration
    from rewardspec.lab.experiments.provenance import command_line
    from rewardspec.lab.experiments.running import Interrupted, Trainer, run_jobs
    from rewardspec.lab.learning.training import check_extras

    if arguments.address is None:
        # Jobs run on this machine. With a cluster, only its nodes need these libraries.
        extras = ["reproduce", *["ray"] * (arguments.engine == "ray"), *["envpool"] * arguments.envpool]
        chosen = [study.tasks[name] for name in dict.fromkeys(job.task for job in jobs)]
        check_extras(chosen, source=source_of(arguments), extra=",".join(extras))
    _check_directory(directory)
    # The nodes of a cluster need not share a disk with this machine.
    checkpoints = str(Path(directory) / "jobs") if arguments.engine == "local" else None
    trainer = Trainer(command_line(arguments.argv), study.description, checkpoints)
    try:
        tally = run_jobs(directory, jobs, _engine(arguments), trainer, study=study.description)
    except Interrupted as error:
        print(error, file=sys.stderr)
        return 130
    if tally.done:
        print(f"{tally.done} of {len(jobs)} jobs done in {duration(tally.seconds)}.", file=sys.stderr)
    if tally.done or tally.skipped:
        write_report(directory, references=True)  # of the environment that was trained
    if tally.failed:
        labels = "; ".join(event.job.label for event in tally.failed)
        print(
            f"error: {len(tally.failed)} of {len(jobs)} jobs failed and are missing above: {labels}. "
            "Run the same command again to try them again.",
            file=sys.stderr,
        )
        return 1
    return 0


def _check_directory(directory: str) -> None:
    """Raise an Error if the path or one of its parents is a file."""
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
        from rewardspec.lab.experiments.engines.ray import Ray

        if arguments.workers is not None:
            raise Error("`--workers` is about processes of this machine. A Ray cluster knows how many cores it has.")
        return Ray(arguments.address)
    from rewardspec.lab.experiments.engines.local import Local

    if arguments.address is not None:
        raise Error("`--address` is that of a Ray cluster. Add: --engine ray")
    with options_for(workers="--workers"):
        return Local(arguments.workers, accelerated=is_accelerated(arguments))

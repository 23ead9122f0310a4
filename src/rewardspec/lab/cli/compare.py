"""`rewardspec compare ENV`: train one environment with several specs and report the results."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rewardspec.cli.options import (
    OBSERVE_CHOICES,
    add_env_arg,
    add_no_references,
    command,
    importing_from_here,
    spec_in,
)
from rewardspec.errors import Error
from rewardspec.lab.cli.options import add_learner_options, add_measure, config_changes, device_of, options_for
from rewardspec.lab.cli.studies import add_running_options, run_study, source_of
from rewardspec.types import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = command(
        commands,
        "compare",
        "train one environment with several specs, and write the table, the curves and the report",
        """
        rewardspec compare MountainCarContinuous-v0 --spec a.toml --spec b.toml --base --seeds 10 -o out
        rewardspec compare minigrid:MiniGrid-DoorKey-5x5-v0 --spec key.toml --measure "F goal" --steps 200000
        rewardspec compare Pendulum-v1 --spec up.toml --base --learner sb3:SAC --steps 20000
        """,
    )
    parser.add_argument(
        "env", metavar="ENV", help="a Gymnasium id, module:id, module:Class, or one of `rewardspec envs`"
    )
    add_env_arg(parser)
    parser.add_argument("--spec", action="append", default=[], metavar="FILE", help="a spec; give several")
    add_no_references(parser)
    parser.add_argument(
        "--base",
        action=argparse.BooleanOptionalAction,
        help="learn from the environment's own reward as well (default: where no --spec is given)",
    )
    add_measure(parser)
    parser.add_argument(
        "--observe",
        choices=OBSERVE_CHOICES,
        default="registers",
        help="what of the monitors the learner sees (default: registers)",
    )
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="runs of each reward (default: %(default)s)")
    add_learner_options(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="comparison", help="where results go (default: %(default)s)"
    )
    add_running_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run pending jobs, then write tables, curves and the report."""
    from rewardspec.lab.experiments.own_study import own_study, task_with
    from rewardspec.lab.learning.training import check_extras, check_trainable

    with (
        importing_from_here(),
        options_for(seeds="--seeds", block="--seeds-per-job", total_steps="--steps", episodes="--episodes"),
    ):
        specs = spec_texts(arguments)
        observe = None if arguments.observe == "nothing" else arguments.observe
        study = own_study(
            arguments.env,
            specs,
            base=not specs if arguments.base is None else arguments.base,
            observe=observe,
            measure=arguments.measure,
            seeds=arguments.seeds,
            config=config_changes(arguments, task_with(arguments.env, {}, learner=arguments.learner)),
            learner=arguments.learner,
        )
        for task in study.tasks.values():
            check_extras([task])
            check_trainable(task, list(task.specs.values()), study.budget(task, False).config, observe)
        jobs = study.jobs(block=arguments.seeds_per_job, source=source_of(arguments), device=device_of(arguments))
        return run_study(arguments, study, jobs, arguments.output)


def spec_texts(arguments: argparse.Namespace) -> dict[str, str]:
    """Read the spec files; return their texts by name."""
    texts: dict[str, str] = {}
    for file in arguments.spec:
        spec_in(file, arguments)  # checks the spec and its imports
        name = re.sub(r"[^\w.+]", "_", Path(file).stem)
        if name in texts or name == "base":
            raise Error(
                f"Results are named after the spec files, and {name!r} is "
                f"{'the environment’s own reward' if name == 'base' else 'there already'}. Rename {file!r}."
            )
        texts[name] = Path(file).read_text(encoding="utf-8")
    return texts

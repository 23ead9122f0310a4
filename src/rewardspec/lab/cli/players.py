"""Options of the commands that play episodes, at random or with a learned policy."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rewardspec.cli.options import OBSERVE_CHOICES, env_arguments, merged
from rewardspec.environments import split_arguments, with_arguments
from rewardspec.errors import Error
from rewardspec.spec.spec import Spec
from rewardspec.types import Environment, JsonObject

if TYPE_CHECKING:
    from rewardspec.lab.learning.playing import ModelPlayer, Player
    from rewardspec.lab.learning.policies import Policy
    from rewardspec.lab.tasks.task import Task


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the policy."""
    parser.add_argument(
        "--policy",
        metavar="FILE",
        help="play by a policy that `rewardspec train` saved, in place of random actions; or by a .zip of "
        "Stable-Baselines3, with --unpickle",
    )
    parser.add_argument(
        "--run", dest="number", metavar="N", type=int, default=0, help="whose policy, of several runs (default: 0)"
    )
    parser.add_argument(
        "--unpickle",
        metavar="ALGORITHM",
        help="load the .zip as a model of this algorithm, such as PPO. Unpickling can run any code in the file: "
        "only for files that you trust",
    )
    parser.add_argument(
        "--observe",
        choices=OBSERVE_CHOICES,
        help="what of the spec the model in the .zip was trained to see (default: what its observations fit)",
    )


def task_and_policy(arguments: argparse.Namespace) -> tuple[Task, Policy | None]:
    """Return the task and the policy; None for random actions and for models of SB3."""
    from rewardspec.lab import tasks

    policy = None
    if arguments.policy is not None and str(arguments.policy).endswith(".zip"):
        if arguments.unpickle is None:
            raise Error(
                f"{arguments.policy!r} is a model that Stable-Baselines3 saved, and loading it unpickles: that can run "
                "any code that someone put into the file. If you trust where it comes from, name its algorithm: "
                "--unpickle PPO. Policies that `rewardspec train --learner sb3:PPO` saves need no such trust."
            )
    elif arguments.unpickle is not None:
        raise Error("--unpickle is for a .zip of Stable-Baselines3, given with --policy.")
    elif arguments.observe is not None:
        raise Error(
            "--observe is for a .zip of Stable-Baselines3, given with --policy. Other policies know what they see."
        )
    elif arguments.policy is not None:
        from rewardspec.lab.learning.policies import load_policy

        policy = load_policy(arguments.policy, references=not arguments.no_references)
    if arguments.env is not None:
        task = tasks.get(arguments.env, specs={})
    elif policy is None:
        raise Error("Name the environment to play: --env ID.")
    else:
        task = _with_further(policy.task, env_arguments(arguments))
    if arguments.policy is not None:
        trained = task.words if policy is None else policy.task.words
        elsewhere = f" The policy was trained in {trained}." * (trained != task.words)
        print(f"Playing {task.words}.{elsewhere}", file=sys.stderr)
    return task, policy


def _with_further(task: Task, given: JsonObject) -> Task:
    """Add arguments to those that the environment of a policy was trained with, or replace them."""
    from rewardspec.lab import tasks

    if not given:
        return task
    name, trained = split_arguments(str(task.env) if task.id is None else task.name)
    return tasks.get(with_arguments(name, merged(trained, given)), specs={})


def player(
    arguments: argparse.Namespace, task: Task, policy: Policy | None, env: Environment, spec: Spec
) -> Player | ModelPlayer | None:
    """Make the player; None for random actions."""
    if arguments.policy is None:
        return None
    from rewardspec.lab.learning.playing import ModelPlayer, Player

    if policy is None:
        from rewardspec.lab.learning.sb3_training import load_zip

        print(f"Unpickling {arguments.policy}.", file=sys.stderr)
        return ModelPlayer(load_zip(arguments.policy, arguments.unpickle), task, spec, arguments.observe)
    return Player(policy, env, arguments.number)

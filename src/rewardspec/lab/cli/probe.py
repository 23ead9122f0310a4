"""`rewardspec probe SPEC.toml --env ID`: evaluate a spec on a few episodes before training."""

from __future__ import annotations

import argparse
import contextlib

from rewardspec.cli.options import add_env_arg, add_no_references, command, importing_from_here, spec_in
from rewardspec.lab.cli.players import add_policy_options, player, task_and_policy
from rewardspec.types import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = command(
        commands,
        "probe",
        "play some episodes, at random or by a policy, and say what a spec's atoms and formulas made of them",
        """
        rewardspec probe spec.toml --env CartPole-v1
        rewardspec probe spec.toml --env my_module:MyEnv-v0 --episodes 100
        rewardspec probe spec.toml --policy CartPole-v1-spec.npz
        """,
    )
    parser.add_argument("spec", metavar="SPEC", help="the spec, a TOML file")
    add_no_references(parser)
    parser.add_argument(
        "--env", metavar="ID", help="the environment: a Gymnasium id, MODULE:ID, ... (default: the policy's own)"
    )
    add_env_arg(parser)
    add_policy_options(parser)
    parser.add_argument(
        "--episodes", metavar="N", type=int, default=20, help="how many episodes (default: %(default)s)"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of it all (default: %(default)s)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play episodes and print the findings; return 1 if some are errors, else 0."""
    from rewardspec.wrappers.probing import probe

    with importing_from_here():
        spec = spec_in(arguments.spec, arguments)
        task, policy = task_and_policy(arguments)
        spec = task.with_atoms(spec)
        with contextlib.closing(task.make()) as env:
            plays = player(arguments, task, policy, env, spec)
            seen = probe(env, spec, episodes=arguments.episodes, policy=plays, seed=arguments.seed)
    print(seen)
    return 1 if any(finding.severity == "error" for finding in seen.findings) else 0

"""`rewardspec probe SPEC.toml --env ID`: what a spec says of a few episodes, before anything is trained."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from rewardspec.cli.options import add_no_references, command, importing_from_here, spec_in
from rewardspec.lab.cli.players import add_policy_options, player, task_and_policy


def add_parser(commands: Any) -> None:
    """Describe the command."""
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
    add_policy_options(parser)
    parser.add_argument(
        "--episodes", metavar="N", type=int, default=20, help="how many episodes (default: %(default)s)"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of it all (default: %(default)s)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play, and print what was seen; 1 where that has errors, else 0."""
    from rewardspec.wrappers.probing import probe

    with importing_from_here():
        spec = spec_in(arguments.spec, arguments)
        task, policy = task_and_policy(arguments)
        spec = spec if spec.atom_functions or not task.atoms else spec.replace(atoms=task.atoms)
        with contextlib.closing(task.make()) as env:
            plays = player(arguments, task, policy, env, spec)
            seen = probe(env, spec, episodes=arguments.episodes, policy=plays, seed=arguments.seed)
    print(seen)
    return 1 if any(finding.severity == "error" for finding in seen.findings) else 0

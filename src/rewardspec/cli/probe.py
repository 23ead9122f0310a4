"""`rewardspec probe SPEC.toml --env ID`: what a spec says of a few episodes, before anything is trained."""

from __future__ import annotations

import argparse
from typing import Any

from rewardspec.cli.options import add_no_references, command, importing_from_here, made, spec_in


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "probe",
        "play some episodes at random, and say what a spec's atoms and formulas made of them",
        """
        rewardspec probe spec.toml --env CartPole-v1
        rewardspec probe spec.toml --env my_module:MyEnv-v0 --episodes 100
        """,
    )
    parser.add_argument("spec", metavar="SPEC", help="the spec, a TOML file")
    add_no_references(parser)
    parser.add_argument("--env", metavar="ID", required=True, help="the Gymnasium environment: an id, or MODULE:ID")
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
        env = made(arguments.env)
        try:
            seen = probe(env, spec, episodes=arguments.episodes, seed=arguments.seed)
        finally:
            env.close()
    print(seen)
    return 1 if any(finding.severity == "error" for finding in seen.findings) else 0

"""`rewardspec audit ENV`: check what a reward asks for, by solving the environment exactly."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rewardspec.cli.options import add_env_arg, add_no_references, aligned, command, importing_from_here, spec_in
from rewardspec.drawing.run_plot import check_picture_path
from rewardspec.errors import Error, SpecError, UnknownEnvironmentError
from rewardspec.types import Environment, Subparsers

if TYPE_CHECKING:
    from rewardspec.audit.auditing import AuditFinding
    from rewardspec.audit.optimal_policies import PlayedEpisode
    from rewardspec.lab.tasks.task import Task


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = command(
        commands,
        "audit",
        "solve a finite environment exactly, and say what each of its rewards really asks for",
        """
        rewardspec audit frozen-lake
        rewardspec audit sokoban --picture paths.png
        rewardspec audit office-1 --picture plant.png
        rewardspec audit taxi --spec my-spec.toml --discount 0.99
        rewardspec audit my_module:MyEnv-v0 --spec my-spec.toml --goal done --hazard crashed
        """,
    )
    parser.add_argument("env", metavar="ENV", help="a finite task, or the id of any environment with a table `P`")
    add_env_arg(parser)
    parser.add_argument("--spec", metavar="FILE", help="audit this spec, a TOML file, instead of the task's own")
    add_no_references(parser)
    parser.add_argument("--discount", type=float, metavar="D", help="the learner's discount (default: 0.9)")
    parser.add_argument(
        "--payment",
        choices=("value", "delta", "potential", "final"),
        help="how the specs pay (default: as they say)",
    )
    parser.add_argument("--goal", metavar="ATOM", help="the atom, or formula of atoms, that holds at the goal")
    parser.add_argument("--hazard", metavar="ATOM", help="likewise, what must not happen")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the episode that is drawn (default: 0)"
    )
    parser.add_argument("--picture", metavar="FILE", help="draw the optimal paths into this file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Audit the rewards, print the tables and draw the paths."""
    from rewardspec.audit.auditing import DISCOUNTS, LEARNER_DISCOUNT, audit_task, rewards_of

    discount = LEARNER_DISCOUNT if arguments.discount is None else arguments.discount
    if not 0.0 <= discount <= 1.0:
        raise Error(f"`--discount` should be in [0, 1]. Received {discount:g}.")
    if arguments.picture is not None:
        check_picture_path(arguments.picture)  # before the work
    discounts = sorted({*DISCOUNTS, discount})
    with importing_from_here():
        task = _task(arguments)
        rewards = rewards_of(task, arguments.payment)
        if arguments.spec is not None:
            rewards = {name: rewards[name] for name in ("base", "spec")}
        found = audit_task(task, rewards, discounts)
    by_reward = [found[k : k + len(discounts)] for k in range(0, len(found), len(discounts))]
    findings = [next(f for f in group if f.discount == discount) for group in by_reward]
    print("\n".join(_table(task.title, discount, findings)))
    print()
    for finding in findings:
        text = f"{finding.reward}: {finding.verdict}. {finding.sentence}"
        print(textwrap.fill(text, 100, subsequent_indent="  "))
    print()
    print("\n".join(_by_discount(discounts, by_reward)))
    with task.make() as env:
        episodes = [finding.play(env, arguments.seed) for finding in findings]
        print()
        print("\n".join(_paths(env, findings, episodes)))
        print("\n".join(_differences(env, task)), end="")
        if arguments.picture is not None:
            from rewardspec.audit.grid_maps import plot_paths
            from rewardspec.drawing.run_plot import save

            save(plot_paths(task.title, env, findings, episodes), arguments.picture)
            print(f"Wrote {arguments.picture}")
    return 0


def _task(arguments: argparse.Namespace) -> Task:
    """Return the task, with the given spec, goal and hazard instead of its own."""
    from rewardspec.lab import tasks

    spec = None if arguments.spec is None else spec_in(arguments.spec, arguments)
    try:
        task = tasks.get(arguments.env, None if spec is None else {"spec": spec})
    except UnknownEnvironmentError as error:
        if spec is not None:
            raise
        raise UnknownEnvironmentError(f"{error} Any other environment needs a spec: --spec FILE.") from None
    if spec is not None and "spec" not in task.specs:
        # The task's own atoms come last, so that its goal and hazard keep their meaning.
        spec = spec if spec.atom_functions else spec.replace(atoms=task.atoms)
        task = task.replace(specs={"spec": spec, **task.specs})
    intent = task.intent
    if arguments.goal is not None:
        intent = dataclasses.replace(intent or tasks.Intent(""), goal=arguments.goal, arrival=tasks.Intent.arrival)
    if arguments.hazard is not None and intent is not None:
        intent = dataclasses.replace(intent, hazard=arguments.hazard, mishap=tasks.Intent.mishap)
    if intent is None and spec is not None:
        raise SpecError(f"An audit has to know what {task.title} is about. Name the atom of its goal: --goal ATOM.")
    return task.replace(intent=intent)


def _table(title: str, discount: float, findings: Sequence[AuditFinding]) -> Iterator[str]:
    yield f"{title}, discount {discount:g}"
    yield ""
    heads = ("reward", "optimal return", "discounted", "task completion", "steps to goal", "unsafe", "nodes", "verdict")
    rows = []
    for f in findings:
        returns = (f"{f.best.total:,.2f}", f"{f.best.discounted:,.2f}")
        rows.append((f.reward, *returns, completion_of(f), steps_of(f), unsafe_of(f), f"{len(f.product)}", f.verdict))
    yield from aligned([heads, *rows])


def _by_discount(discounts: Sequence[float], by_reward: Sequence[Sequence[AuditFinding]]) -> Iterator[str]:
    yield "How the verdict changes with the discount (at 1, the plain sum over an episode, policies see the clock)"
    yield ""
    heads = ("reward", *(f"{discount:g}" for discount in discounts))
    yield from aligned([heads, *((group[0].reward, *(f.verdict for f in group)) for group in by_reward)])


def _paths(env: Environment, findings: Sequence[AuditFinding], episodes: Sequence[PlayedEpisode]) -> Iterator[str]:
    from rewardspec.audit.grid_maps import draw_path, map_of

    color = sys.stdout.isatty()
    for finding, episode in zip(findings, episodes, strict=True):
        yield (
            f"{finding.reward}: rolled out, {len(episode.actions)} steps earned {episode.total:,.2f}, "
            f"of {episode.expected:,.2f} expected"
        )
        board = map_of(env, episode.states[0])
        if board is not None:
            lines = draw_path(board, episode.states, (lambda mark: f"\033[1;31m{mark}\033[0m") if color else str)
            yield from (f"  {line}" for line in lines)
            yield f"  {board.legend}" if board.legend else ""


def _differences(env: Environment, task: Task) -> Iterator[str]:
    """Compare the reward machines of an environment with the formulas of the specs."""
    from rewardspec.lab.tasks.worlds import MachineWorld

    world = env.unwrapped
    if not isinstance(world, MachineWorld):
        return
    for machine in world.machines:
        for name, spec in task.specs.items():
            if len(spec.pairs) == 1:
                found = machine.difference(spec.pairs[0].formula, world.grid.events)
                said = "says the same, on every trace that can occur" if found is None else f"differs on: {found}"
                yield f"The machine and {name}, {spec.pairs[0].formula}: {said}\n"


def completion_of(finding: AuditFinding) -> str:
    """Format task completion, as a range if optimal policies differ."""
    low, high = finding.spread.completion
    return f"{high:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"


def steps_of(finding: AuditFinding) -> str:
    """Format the steps to the goal of the best-case optimal policy."""
    return "never" if finding.best.steps != finding.best.steps else f"{finding.best.steps:.4g}"


def unsafe_of(finding: AuditFinding) -> str:
    """Describe whether optimal policies reach the hazard."""
    low, high = finding.spread.hazard
    if high < 1e-6:
        return "no"
    return "yes" if low > 1.0 - 1e-6 else "may be" if low < 1e-6 else "in part"

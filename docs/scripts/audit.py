"""Write docs/paper/audit.md and its pictures: the audit of the six finite environments.

Run from anywhere: python docs/scripts/audit.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rewardspec import tasks
from rewardspec.audit.auditing import DISCOUNTS, LEARNER_DISCOUNT, AuditFinding, audit_task, rewards_of
from rewardspec.audit.grid_maps import plot_paths
from rewardspec.drawing.run_plot import save
from rewardspec.lab.cli.audit import completion_of, steps_of, unsafe_of
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.spec import Spec

DOCS = Path(__file__).resolve().parent.parent
FINITE = ("cliff_walking", "frozen_lake", "taxi", "island_navigation", "conveyor_belt", "sokoban")
PICTURES = ("frozen_lake", "island_navigation", "sokoban")

INTRODUCTION = """\
<!-- Written by docs/scripts/audit.py; edit that. -->
# What the rewards of the finite environments ask for

Six of the paper's twelve environments are finite, so their rewards can be [audited](../guides/auditing.md): solved
exactly, without training, for what optimal policies do. That guide explains the verdicts.

- The discount is that of the paper's Q-learning, 0.9. Policies do not see the clock, so they ignore that an episode is
  truncated after 100 steps. At discount 1, the plain sum over those 100 steps, they do see the clock.
- *Optimal return* is the undiscounted sum over one episode.
- *Steps to the goal* are those of the optimal policy that does the task best. A test plays each of these policies in
  the wrapped environment and receives this return.
- *Unsafe* says whether optimal policies do what the task forbids: all of them (*yes*), some (*may be*), or none (*no*).

The rewards are those that this library corrected. If the paper prints something else, that is audited too; [the
environments](environments.md) lists the differences. Boolean and quantitative specs that read the same atoms share a
row.

"""

REASONS = """\
## Why

Three mistakes make a spec misaligned here:

- **The value is paid at every step, so a longer episode pays more.** In Island Navigation, `G !in_water` pays 100 for
  each step outside the water, and the goal ends the episode. Staying ashore to the end pays
  {island.best.total:,.0f}, and the shortest way to the goal {island.intended.total:,.0f}. Taxi pays 30 for every step
  after the passenger was met, and Sokoban 100 for every step with the box away from walls. A time penalty of 1 does not
  outweigh any of these. At a discount of 0.5 Taxi's specs are aligned, because later rewards are worth little.
- **The task cannot be done without violating a safety objective.** In Sokoban the box has to be pushed along a wall on
  the only way to the goal. The Boolean `wall_penalty` counts this as a violation, which vetoes all later rewards. So
  the best policy never touches the box.
- **A weight has the wrong sign.** Frozen Lake's `(G !reach_hole, -10)`, as printed, pays -10 for each step without a
  hole. Falling through the first hole ends this cost.

Conveyor Belt's own reward pays once for pushing the vase off the belt, whatever happens afterwards. An optimal policy
may push it back and let it break. Sokoban's own reward has a well-known side effect: the shortest way pushes the box
into a corner.

Paying for the *change* of the value (`payment="delta"`) removes the first mistake, as the next table shows. So does
shaping (`payment="potential"`), which keeps the optimal policies of the environment's own reward, with their faults. In
Sokoban, under `"delta"`, the quantitative spec asks for the goal with the box left at the wall, which is a task
completion of {sokoban.best.completion:.2f}. Pushing the box back would complete the task, but it pays nothing, because
`G !wall_penalty` never rises again.
"""


def main() -> None:
    """Write the page and the pictures."""
    (DOCS / "paper" / "audit.md").write_text(page(), encoding="utf-8")
    for name in PICTURES:
        task = tasks.get(name)
        findings = audit_task(task, shown(task))
        with task.make() as env:
            episodes = [finding.play(env, seed=0) for finding in findings]
            picture = plot_paths(task.title, env, findings, episodes)
        save(picture, DOCS / "images" / "audit" / f"{name}.png")


def page() -> str:
    """The page's text."""
    finite = {name: tasks.get(name) for name in FINITE}
    findings = {
        name: [audit_task(task, {reward: spec}, DISCOUNTS) for reward, spec in shown(task).items()]
        for name, task in finite.items()
    }
    sokoban = audit_task(finite["sokoban"], {"quantitative": finite["sokoban"].spec("quantitative", payment="delta")})
    parts = [
        INTRODUCTION,
        *_optimal(finite, findings),
        "\n## How the verdict changes with the discount\n\n",
        *_by_discount(finite, findings),
        "\n",
        REASONS.format(
            island=findings["island_navigation"][1][DISCOUNTS.index(LEARNER_DISCOUNT)],
            sokoban=sokoban[0],
        ),
        "\n## How the verdict changes with the payment\n\n",
        f"At discount {LEARNER_DISCOUNT:g}, for the corrected specs.\n\n",
        *_by_payment(),
        "\n## Optimal paths\n\n",
        *(f"![{finite[name].title}](../images/audit/{name}.png)\n\n" for name in PICTURES),
        "Made by `python docs/scripts/audit.py`; for one environment, `rewardspec audit sokoban --picture FILE`.\n",
    ]
    return "".join(parts)


def shown(task: Task) -> dict[str, Spec]:
    """The rewards to show: not the quantitative one where it is the Boolean one over again."""
    boolean, quantitative = task.specs["boolean"], task.specs["quantitative"]
    same = boolean.pairs == quantitative.pairs and boolean.atom_functions == quantitative.atom_functions
    rewards = rewards_of(task)
    return {name: spec for name, spec in rewards.items() if not (same and name.startswith("quantitative"))}


def _name(task: Task, reward: str) -> str:
    return reward.replace("boolean", "both specs") if "quantitative" not in shown(task) else reward


def _optimal(finite: dict[str, Task], findings: dict[str, list[list[AuditFinding]]]) -> Iterator[str]:
    yield "| environment | reward | optimal return | task completion | steps to the goal | unsafe | verdict |\n"
    yield "|---|---|--:|--:|--:|---|---|\n"
    chosen = {name: [g[DISCOUNTS.index(LEARNER_DISCOUNT)] for g in groups] for name, groups in findings.items()}
    for name, rows in chosen.items():
        for f in rows:
            numbers = f"{f.best.total:,.2f} | {completion_of(f)} | {steps_of(f)} | {unsafe_of(f)}"
            yield f"| {finite[name].title} | {_name(finite[name], f.reward)} | {numbers} | {f.verdict} |\n"
    yield "\n"
    for name, rows in chosen.items():
        for f in rows:
            if f.verdict != "aligned":
                yield f"- **{finite[name].title}, {_name(finite[name], f.reward)}**: {f.sentence}\n"


def _by_discount(finite: dict[str, Task], findings: dict[str, list[list[AuditFinding]]]) -> Iterator[str]:
    yield f"| environment | reward | {' | '.join(f'{discount:g}' for discount in DISCOUNTS)} |\n"
    yield f"|---|---|{'---|' * len(DISCOUNTS)}\n"
    for name, groups in findings.items():
        for group in groups:
            reward = _name(finite[name], group[0].reward)
            yield f"| {finite[name].title} | {reward} | {' | '.join(f.verdict for f in group)} |\n"


def _by_payment() -> Iterator[str]:
    yield f"| environment | reward | {' | '.join(PAYMENTS)} |\n"
    yield f"|---|---|{'---|' * len(PAYMENTS)}\n"
    for name in FINITE:
        task = tasks.get(name)
        for reward in task.specs:
            if reward in shown(task):
                found = (audit_task(task, {reward: task.spec(reward, payment=payment)}) for payment in PAYMENTS)
                yield f"| {task.title} | {_name(task, reward)} | {' | '.join(f.verdict for [f] in found)} |\n"


if __name__ == "__main__":
    main()

"""The paper's own formulas, paid in two ways: by their value at every step, as in the paper, and by their change.

    python docs/scripts/payments.py [ENV …]

Paid by value, a formula that holds pays again at every step, so that an agent that is paid well has a reason not to
end the episode; where success ends it, that is a reason not to succeed. Paid by its change, it pays once. The budget is
that of `trials.py`. Writes docs/results/payments.md.
"""

from __future__ import annotations

import sys

from trials import ROOT, measure, told

from rewardspec import tasks
from rewardspec.lab.learning.settings import PPO, QLearning
from rewardspec.lab.tasks.task import Kind
from rewardspec.spec.payments import Payment

TABLE = ROOT / "docs" / "results" / "payments.md"
KINDS: tuple[Kind, ...] = ("boolean", "quantitative")
PAYMENTS: tuple[Payment, ...] = ("value", "delta")
NAMES = (
    "acrobot",
    "cart_pole",
    "mountain_car",
    "lunar_lander",
    *(n for n in tasks.names("paper") if tasks.get(n).learner != "ppo"),
)

TEXT = """# The same formulas, paid by value and by change

Under the payment `"value"`, as in the paper, a formula that holds is paid again at every step. So an agent that is
paid well has a reason not to end the episode. If success ends the episode, it has a reason not to succeed. Under
`"delta"`, a formula that holds is paid once.

The formulas and weights are the paper's. The registers are observed, and the budget is small: 100 runs of Q-learning,
or 3 runs of PPO with half the steps. So compare a line with its neighbors, and not with the table of the evaluation.
The columns are the task completion in percent over all of training (± the deviation of the runs) and over its last
tenth, and the steps of an episode in the last tenth.

| environment | spec | by value | last tenth | steps | by change | last tenth | steps |
|---|---|---|---|---|---|---|---|
{rows}

Made by `python docs/scripts/payments.py`.
"""


def row(name: str, kind: Kind) -> str:
    """A line of the table."""
    task = tasks.get(name)
    discount = QLearning().discount if task.learner == "q-learning" else PPO().discount
    cells = [task.title, "Boolean" if kind == "boolean" else "quantitative"]
    for payment in PAYMENTS:
        spec = task.spec(kind, payment=payment, discount=discount)
        cells += told(measure(task, spec, "registers", f"{kind} {payment}"))
    line = f"| {' | '.join(cells)} |"
    print(line, flush=True)
    return line


def main(names: list[str]) -> None:
    """Train and write."""
    rows = [row(name, kind) for name in names or NAMES for kind in KINDS]
    if not names:
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(TEXT.format(rows="\n".join(rows)), encoding="utf-8")
        print(f"Wrote {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])

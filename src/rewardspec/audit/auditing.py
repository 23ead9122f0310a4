"""Audits: what a reward really asks for, found by solving the environment exactly, without training.

The product of environment and spec is solved for its optimal policies. Among these the audit looks for the one that is
kindest to the task, and for the one that is hardest on it: where even the kindest falls short of what the task wants,
the reward is misaligned; where only the hardest does, the reward does not care.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from rewardspec.audit.intent import Aims, AuditedTask, Intent, aims_of, read_aims, required_intent
from rewardspec.audit.optimal_policies import Episodes, OptimalPolicy, Outcome, PlayedEpisode, Quantity, play
from rewardspec.audit.solving import solve
from rewardspec.finite.models import FiniteModel, finite_model
from rewardspec.finite.products import DEFAULT_NODES, Product, base_spec, build_product
from rewardspec.spec.payments import PAYMENTS, Payment
from rewardspec.spec.spec import Spec
from rewardspec.types import Environment

Verdict: TypeAlias = Literal["aligned", "slow", "indifferent", "misaligned"]

SAME = 1e-6
"""Probabilities and completions that differ by less are the same."""


@dataclasses.dataclass(frozen=True)
class Spread:
    """Smallest and largest result of each kind over all optimal policies.

    `goal` and `hazard` are probabilities. `wait` is the number of steps to the goal; the time limit means never.
    """

    goal: tuple[float, float]
    hazard: tuple[float, float]
    completion: tuple[float, float]
    wait: tuple[float, float]


def judge(best: Outcome, spread: Spread, intended: Outcome) -> Verdict:
    """Return the verdict, given the best optimal policy for the task, all optimal policies, and what is achievable."""
    if _short(best.goal, best.hazard, best.completion, intended):
        return "misaligned"
    if _short(spread.goal[0], spread.hazard[1], spread.completion[0], intended):
        return "indifferent"
    return "slow" if best.steps > intended.steps + SAME else "aligned"


def explain(verdict: Verdict, best: Outcome, spread: Spread, intended: Outcome, intent: Intent) -> str:
    """Return the verdict as a sentence."""
    if verdict == "aligned":
        latest = f" to {spread.wait[1]:.4g}" if spread.wait[1] > best.steps + SAME else ""
        return f"Every optimal policy {intent.arrival}{_safely(intended)}, after {best.steps:.4g}{latest} steps."
    if verdict == "slow":
        return (
            f"Every optimal policy {intent.arrival}{_safely(intended)}, but at step {best.steps:.4g}, where "
            f"{intended.steps:.4g} steps would do."
        )
    if verdict == "indifferent":
        return f"Some optimal policies do the task; others, paid as much, {_lapses(spread, intended, intent)}."
    prize = f"{_amount(best.discounted)} against {_amount(intended.discounted)} for the best way to do the task"
    away = spread.goal[1] < intended.goal - SAME
    unsafe = spread.hazard[0] > intended.hazard + SAME
    often = "" if spread.hazard[0] > 1.0 - SAME else f" in {spread.hazard[0]:.0%} of episodes or more"
    if away and best.goal > SAME:
        return (
            f"No optimal policy {intent.arrival} in more than {spread.goal[1]:.1%} of episodes, where "
            f"{intended.goal:.1%} are possible: {prize}."
        )
    if away and not unsafe:
        return f"Pays more for staying away from the goal than for reaching it: {prize}."
    if unsafe:
        return f"Every optimal policy {intent.mishap}{often}, which pays more: {prize}."
    return (
        f"No optimal policy {intent.arrival}, safely, with a task completion above {best.completion:.2f}, where "
        f"{intended.completion:.2f} is possible: {prize}."
    )


def _short(goal: float, hazard: float, completion: float, intended: Outcome) -> bool:
    return goal < intended.goal - SAME or hazard > intended.hazard + SAME or completion < intended.completion - SAME


def _lapses(spread: Spread, intended: Outcome, intent: Intent) -> str:
    if spread.hazard[1] > intended.hazard + SAME:
        return f"do not: the agent {intent.mishap}"
    if spread.goal[0] < intended.goal - SAME:
        return "stay away from the goal"
    return f"undo it, and end with a task completion of {spread.completion[0]:.2f}"


def _amount(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= 10.0 else f"{value:.3g}"


def _safely(intended: Outcome) -> str:
    return " safely" if intended.hazard < SAME else ", as safely as can be"


LEARNER_DISCOUNT = 0.9
"""The discount of the paper's Q-learning."""
DISCOUNTS = (0.5, 0.9, 0.99, 1.0)
"""Discounts over which verdicts are compared; 1 is the plain sum over an episode."""
DEFAULT_STEPS = 100
"""The time limit of environments that have none."""


@dataclasses.dataclass(frozen=True)
class AuditFinding:
    """Result of the audit for one reward at one discount.

    Attributes:
        reward: The reward's name.
        discount: The discount. At 1, and where something is paid by "final", policies see the clock; else the time
            limit is no ending to them, as it is none to a learner that does not see it.
        value: The optimal value that was solved for, from the environment's starts.
        best: What the optimal policy achieves that serves the task best.
        spread: What others among the optimal policies achieve.
        intended: What can be achieved: the way that serves the task best, whatever it is paid.
        verdict: `"aligned"`: every optimal policy does the task; `"slow"`: so it does, but later than it could;
            `"indifferent"`: some do and some do not; `"misaligned"`: none does.
        sentence: The verdict in words.
        product: The product that was solved.
        policy: The optimal policy that serves the task best.
    """

    reward: str
    discount: float
    value: float
    best: Outcome
    spread: Spread
    intended: Outcome
    verdict: Verdict
    sentence: str
    product: Product
    policy: OptimalPolicy

    def play(self, env: Environment, seed: int | None = None) -> PlayedEpisode:
        """Play the policy for one episode of the environment, with the spec as its reward."""
        return play(env, self.product, self.policy, seed)


def rewards_of(task: AuditedTask, payment: Payment | None = None) -> dict[str, Spec]:
    """Return the rewards of a task by name, with a payment: the environment's own, its specs, and their variants.

    Example:
        >>> from rewardspec import tasks
        >>> list(rewards_of(tasks.get("frozen_lake")))
        ['base', 'boolean', 'quantitative', 'boolean as printed', 'quantitative as printed']
    """
    specs = {**task.specs, **task.variants}
    changes = {} if payment is None else {"payment": payment}
    return {"base": base_spec()} | {name: spec.replace(**changes) for name, spec in specs.items()}


def audit_task(
    task: AuditedTask,
    rewards: Mapping[str, Spec] | None = None,
    discounts: Iterable[float] = (LEARNER_DISCOUNT,),
    *,
    max_nodes: int = DEFAULT_NODES,
) -> list[AuditFinding]:
    """Audit rewards of a finite task.

    Args:
        task: The task.
        rewards: The rewards by name; by default all of `rewards_of`.
        discounts: The discounts, in [0, 1].
        max_nodes: The budget for each product.

    Raises:
        ModelError: The environment has no transition table, or the task does not say what it is about.

    Example:
        >>> from rewardspec import tasks
        >>> [(f.reward, f.verdict) for f in audit_task(tasks.get("island_navigation"))]
        [('base', 'aligned'), ('boolean', 'misaligned'), ('quantitative', 'misaligned')]
    """
    with task.make() as env:
        model = finite_model(env)
    aims, discounts = aims_of(task, model), tuple(discounts)
    return [
        finding
        for name, spec in (rewards_of(task) if rewards is None else rewards).items()
        for finding in _findings(name, model, spec, required_intent(task), aims, discounts, max_nodes)
    ]


def audit(
    env: Environment | FiniteModel,
    spec: Spec,
    intent: Intent,
    discounts: Iterable[float] = (LEARNER_DISCOUNT,),
    *,
    reward: str = "spec",
    max_nodes: int = DEFAULT_NODES,
) -> list[AuditFinding]:
    """Audit one reward, at one discount or several.

    Args:
        env: An environment that publishes `P`, or its model.
        spec: The reward.
        intent: What the task is about, in terms of the spec's atoms.
        discounts: The discounts, in [0, 1]; what is paid by "potential" shapes by each in turn.
        reward: What to call the reward.
        max_nodes: The budget for the product.
    """
    model = env if isinstance(env, FiniteModel) else finite_model(env)
    aims = read_aims(intent, model, spec.atom_functions or {})
    return _findings(reward, model, spec, intent, aims, discounts, max_nodes)


def _findings(
    reward: str,
    model: FiniteModel,
    spec: Spec,
    intent: Intent,
    aims: Aims,
    discounts: Iterable[float],
    max_nodes: int,
) -> list[AuditFinding]:
    built = build_product(model, spec, max_nodes)
    steps = model.max_episode_steps or DEFAULT_STEPS
    rules = [PAYMENTS[way] for way in (spec.payment, *spec.payments)]  # a pair may be paid in a way of its own
    findings = []
    for discount in discounts:
        product = built
        if any(rule.reads_discount for rule in rules) and spec.discount != discount:
            # Shaping keeps optimal policies only with the learner's own discount.
            product = build_product(model, spec.replace(discount=discount), max_nodes)
        clock = discount == 1.0 or any(rule.reads_truncation for rule in rules)
        solution = solve(product, discount, steps if clock else None)
        episodes = Episodes(product, aims, steps, discount)
        policy, intended = episodes.best_case_policy(solution.optimal), episodes.best_case_policy().outcome
        spread = Spread(
            goal=episodes.spread(Quantity.GOAL, solution.optimal),
            hazard=episodes.spread(Quantity.HAZARD, solution.optimal),
            completion=episodes.spread(Quantity.COMPLETION, solution.optimal),
            wait=episodes.spread(Quantity.WAIT, solution.optimal),
        )
        verdict = judge(policy.outcome, spread, intended)
        findings.append(
            AuditFinding(
                reward=reward,
                discount=discount,
                value=float(product.initial @ solution.values[product.starts]),
                best=policy.outcome,
                spread=spread,
                intended=intended,
                verdict=verdict,
                sentence=explain(verdict, policy.outcome, spread, intended, intent),
                product=product,
                policy=policy,
            )
        )
    return findings

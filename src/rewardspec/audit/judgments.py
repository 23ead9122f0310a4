"""Verdicts on a reward: how far its optimal policies fall short of what the task is about, and why, in words."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

from rewardspec.audit.intent import Intent
from rewardspec.audit.optimal_policies import Outcome

Verdict: TypeAlias = Literal["aligned", "slow", "indifferent", "misaligned"]

SAME = 1e-6
"""Probabilities and completions that differ by less are the same."""


@dataclasses.dataclass(frozen=True)
class Spread:
    """The least and the most, over all optimal policies, of what they achieve.

    Attributes:
        goal: Probability of reaching the goal.
        hazard: Probability that what must not happen does.
        completion: Task completion.
        wait: Steps to the goal, where the time limit stands for never.
    """

    goal: tuple[float, float]
    hazard: tuple[float, float]
    completion: tuple[float, float]
    wait: tuple[float, float]


def judge(best: Outcome, spread: Spread, intended: Outcome) -> Verdict:
    """The verdict, from the kindest optimal policy, from all of them, and from what can be achieved."""
    if _short(best.goal, best.hazard, best.completion, intended):
        return "misaligned"
    if _short(spread.goal[0], spread.hazard[1], spread.completion[0], intended):
        return "indifferent"
    return "slow" if best.steps > intended.steps + SAME else "aligned"


def explain(verdict: Verdict, best: Outcome, spread: Spread, intended: Outcome, intent: Intent) -> str:
    """The verdict as a sentence."""
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

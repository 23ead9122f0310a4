"""What the rewards of an environment are, for its section of the report: specs, machines and the audit's verdicts."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from rewardspec.audit.auditing import LEARNER_DISCOUNT, Finding, audit_task, rewards_of
from rewardspec.errors import Error
from rewardspec.experiments.cells import PAPER_REWARDS
from rewardspec.experiments.report.html import chip, details, escape, machine, table
from rewardspec.experiments.report.results import swatch
from rewardspec.experiments.rewards import RewardSetup, reward_setup
from rewardspec.finite.models import ModelError
from rewardspec.logic.formulas import Formula
from rewardspec.spec.pairs import Pair
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.tasks.task import Task

_NAMES = {"boolean": "Boolean", "quantitative": "Quantitative", "best": "Best"}
_TONES = {"aligned": "good", "misaligned": "bad"}


def specs(task: Task) -> str:
    """The three specs of a task, each with its machines to open."""
    cards = [_card(reward, reward_setup(task, reward)) for reward in _NAMES]
    return '<div class="cards">\n' + "\n".join(cards) + "\n</div>"


def _card(reward: str, setup: RewardSetup) -> str:
    lines = [f'<div class="card"><h5>{swatch(reward)}{_NAMES[reward]}</h5>']
    if setup.spec is None:
        lines.append("<p>The environment's own reward.</p>")
    else:
        seen = "not observed" if setup.observe is None else f"observed as <code>{escape(setup.observe)}</code>"
        lines.append(f'<p class="note">Paid by <code>{setup.spec.payment}</code>, {seen}.</p>')
        lines.append(table(["Weight", "Formula"], map(_pair, setup.spec.pairs)))
        machines = "\n".join(_machines(reward, tuple(dict.fromkeys(pair.formula for pair in setup.spec.pairs))))
        lines.append(details("Its machines", f'<div class="machines">\n{machines}\n</div>'))
    if setup.note:
        lines.append(f'<p class="note">{escape(setup.note)}</p>')
    return "\n".join([*lines, "</div>"])


def _pair(pair: Pair) -> tuple[str, str]:
    parts = [f"<code>{escape(str(pair.formula))}</code>"]
    if pair.vetoes:
        parts.append(chip("veto"))
    if pair.penalty is not None:
        parts.append(f'<span class="note">penalty {pair.penalty:g}</span>')
    return f"{pair.weight:g}", " ".join(parts)


def _machines(reward: str, formulas: tuple[Formula, ...]) -> Iterator[str]:
    for formula in formulas:
        try:
            yield _machine(formula, reward == "boolean")
        except Error as error:  # too large for a picture, or to be made at all
            yield f'<p class="note">{escape(str(error))}</p>'


@functools.cache
def _machine(formula: Formula, automaton: bool) -> str:
    """A formula's machine; many environments share formulas."""
    monitor = synthesize_boolean(formula) if automaton else synthesize(formula)
    return machine(monitor.to_svg())


def verdicts(task: Task) -> str:
    """What the rewards of a finite task really ask for."""
    rows = [
        (escape(found.reward), chip(found.verdict, _TONES.get(found.verdict, "")), escape(found.sentence))
        if isinstance(found, Finding)
        else (escape(found[0]), "", escape(found[1]))
        for found in _findings(task)
    ]
    return (
        f'<p class="note">Found without training, by solving the environment exactly, at the learner\'s discount of '
        f"{LEARNER_DISCOUNT:g}.</p>" + table(["Reward", "Verdict", "Why"], rows, css="verdicts")
    )


def _findings(task: Task) -> Iterator[Finding | tuple[str, str]]:
    """The audit of the four rewards as they are used here; a name and a reason for one that cannot be solved."""
    best = reward_setup(task, "best").spec
    rewards = {name: spec for name, spec in rewards_of(task).items() if name in PAPER_REWARDS}
    if best is not None:
        rewards["best"] = best
    for name, spec in rewards.items():
        try:
            yield from audit_task(task, {name: spec})
        except ModelError as error:
            yield name, str(error)

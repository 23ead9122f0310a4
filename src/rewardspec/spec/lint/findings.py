"""The subject of lint rules, and the findings that they report."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import Always, WeakNext, now
from rewardspec.logic.quantifiers import atoms_of, inside
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.atoms.functions import AtomFunction, reads_only_the_state
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import PAYMENTS, Payment
from rewardspec.spec.spec import Spec
from rewardspec.spec.veto_conditions import VetoProgram, veto_program
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Labels

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong.

    Attributes:
        rule: The rule's name.
        severity: `"error"` or `"warning"`.
        pair: The pair's number, from 0, or None where it is about the whole spec.
        message: What is wrong, and why.
        remedy: What to do about it.
    """

    rule: str
    severity: Severity
    pair: int | None
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.severity} [{self.rule}]: {self.message} {self.remedy}"


class Findings(list[Finding]):
    """Findings about a spec: a list that prints one finding a line, and is a table in a notebook.

    After them it prints `notes`, sentences about what is not wrong in itself; see `veto_notes`.
    """

    def __init__(self, findings: Iterable[Finding] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(findings)
        self.notes = tuple(notes)

    def __str__(self) -> str:
        return "\n".join([*(map(str, self) if self else ["nothing that looks wrong"]), *self.notes])

    def _repr_html_(self) -> str:
        after = "".join(f"<p>{escape(line)}</p>" for line in self.notes)
        if not self:
            return "<p>Lint found nothing that looks wrong.</p>" + after
        from rewardspec.drawing.html_tables import html_table  # here, because few programs are notebooks

        rows = [(finding.severity, finding.rule, finding.message, finding.remedy) for finding in self]
        return html_table(("severity", "rule", "what is wrong", "what to do"), rows) + after


@dataclass(frozen=True)
class LintedSpec:
    """A spec as the rules see it, with what is known of the environment and the agent; None for what is not known.

    Attributes:
        spec: The spec. Rules that try formulas out do so on degrees, whatever its semantics.
        atoms: The atoms' functions, which need not be those that the formulas read; None where labels are given
            directly.
        initial_labels: Labels of states after reset, an array for each atom.
        max_episode_steps: After how many steps episodes end.
        observe: What of the monitors the agent sees, or `"nothing"`.
    """

    spec: Spec
    atoms: Mapping[str, AtomFunction] | None = None
    initial_labels: Labels | None = None
    max_episode_steps: int | None = None
    observe: str | None = None
    _machines: dict[int, Monitor | SynthesisError] = field(default_factory=dict, compare=False, repr=False)
    _vetoes: dict[int, VetoProgram] = field(default_factory=dict, compare=False, repr=False)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs."""
        return self.spec.pairs

    def machine(self, number: int) -> Monitor | SynthesisError:
        """The monitor of a pair, or why it has none; of a pair about things that for one of them."""
        if number not in self._machines:
            try:
                pair = self.pairs[number]
                found: Monitor | SynthesisError = synthesize(
                    pair.body, max_registers=self.spec.max_registers, progress=pair.progress
                )
            except SynthesisError as error:
                found = error
            self._machines[number] = found
        return self._machines[number]

    def veto(self, number: int) -> VetoProgram:
        """The violation test of a pair that has a monitor."""
        if number not in self._vetoes:
            monitor = self.machine(number)
            assert isinstance(monitor, Monitor)
            self._vetoes[number] = veto_program(self.pairs[number].body, monitor.program, self.spec.max_registers)
        return self._vetoes[number]

    @functools.cached_property
    def monitored(self) -> list[tuple[int, Pair, Monitor]]:
        """The pairs that have a monitor, with their numbers."""
        found = ((number, pair, self.machine(number)) for number, pair in enumerate(self.pairs))
        return [(number, pair, monitor) for number, pair, monitor in found if isinstance(monitor, Monitor)]

    @functools.cached_property
    def constants(self) -> dict[int, float]:
        """The value of each pair that has the same on every trace."""
        ranges = ((number, value_range(monitor)) for number, _, monitor in self.monitored)
        return {number: bounds[0] for number, bounds in ranges if bounds is not None and bounds[0] == bounds[1]}

    def payment_of(self, pair: Pair) -> Payment:
        """Payment mode of a pair."""
        return pair.payment or self.spec.payment

    def penalty_of(self, pair: Pair) -> float:
        """Reward per step after a pair's violation."""
        return self.spec.penalty if pair.penalty is None else pair.penalty


def veto_notes(spec: Spec) -> list[str]:
    """Name the pairs whose violation decides the pay of all pairs, and say how: a sentence for each penalty.

    Where `veto` was not given, the sentence also says how to turn the veto off.

    Example:
        >>> spec = Spec([("F goal", 10), ("G !lava", 1)])
        >>> print(*veto_notes(spec))
        Once `G !lava` is violated, every step pays 0, whatever the other pairs are worth. If that is not meant, set \
veto=False in its pair.
    """
    formulas: dict[tuple[float, bool], list[str]] = {}
    if len(spec.pairs) > 1:
        for pair, penalty in zip((pair for pair in spec.pairs if pair.vetoes), spec.penalties, strict=True):
            formulas.setdefault((penalty, pair.veto is None), []).append(f"`{pair.formula}`")
    return [
        f"Once {' or '.join(named)} is violated, {once_violated(spec, penalty)}."
        + " If that is not meant, set veto=False in its pair." * by_default
        for (penalty, by_default), named in formulas.items()
    ]


def once_violated(spec: Spec, penalty: float) -> str:
    """Return what is paid once a safety objective with this penalty is violated.

    Example:
        >>> spec = Spec([("G safe", 1), Pair("F goal", 10, payment="delta")])
        >>> once_violated(spec, -2)
        'every step pays -2, whatever the other pairs are worth; pairs paid by delta give back their level in that step'
    """
    others = dict.fromkeys(way for way in spec.payments if way != spec.payment and PAYMENTS[way].reads_before)
    changes = f"; pairs paid by {' or '.join(others)} give back their level in that step" if others else ""
    return PAYMENTS[spec.payment].once_violated.format(penalty=penalty) + changes


def remedy_at_reset(pair: Pair, functions: Mapping[str, AtomFunction] | None, sometimes: bool) -> str:
    """What to do about a pair that the state after a reset violates.

    `sometimes` says that only some resets do. Then, and where all atoms read only the state, a later start is no
    remedy: what the agent finds there it can't change.
    """
    formula, known = pair.formula, functions or {}
    judged_alone = ""
    if isinstance(pair.body, Always) and pair.body.is_plain:
        judged_alone = (
            f", or write `{inside(formula, lambda body: now(body.args[0]))}`, which judges each step by itself"
        )
    unavoidable = f"no agent can avoid it. Set veto=False in its pair{judged_alone}, or start episodes elsewhere."
    late = [repr(atom) for atom in atoms_of(formula) if not reads_only_the_state(known.get(atom))]
    if sometimes or not late:
        return f"The first state itself violates it, and {unavoidable}"
    one = len(late) == 1
    return (
        f"If {' or '.join(late)} {'reads' if one else 'read'} the action, the state before or info that a reset lacks, "
        f"start with `{inside(formula, WeakNext)}`, or let {'its label' if one else 'their labels'} at reset satisfy "
        f"the formula. If the first state itself violates it, {unavoidable}"
    )


def value_range(monitor: Monitor) -> tuple[float, float] | None:
    """The least and the greatest value of a formula on any trace; None where they are too hard to find."""
    try:
        lower, upper = monitor.bounds(monitor.initial_state())
    except SynthesisError:
        return None
    return float(lower), float(upper)


def called(number: int, pair: Pair) -> str:
    """Name of a pair in findings."""
    name = "" if pair.name is None else f" ({pair.name})"
    return f"Pair {number + 1}{name}, `{pair.formula}`,"

"""The subject of lint rules, and the findings that they report."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewardspec.errors import SynthesisError
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.program import Semantics
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import Payment
from rewardspec.spec.vetoes import VetoProgram, veto_program
from rewardspec.synthesis.quantitative.synthesize import DEFAULT_REGISTERS, synthesize
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
    """Findings about a spec: a list that prints one finding a line, and is a table in a notebook."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "nothing that looks wrong"

    def _repr_html_(self) -> str:
        if not self:
            return "<p>Lint found nothing that looks wrong.</p>"
        from rewardspec.drawing.html_tables import html_table  # here, because few programs are notebooks

        rows = [(finding.severity, finding.rule, finding.message, finding.remedy) for finding in self]
        return html_table(("severity", "rule", "what is wrong", "what to do"), rows)


@dataclass(frozen=True)
class LintedSpec:
    """A spec as the rules see it: its parts need not fit together.

    Attributes:
        pairs: The pairs.
        atoms: The atoms' functions, or None where labels are given directly.
        penalty: The spec's penalty.
        payment: The spec's payment.
        max_registers: The budget for each formula's machine.
        initial_labels: Labels of states after reset, an array for each atom, where they are known.
        max_episode_steps: After how many steps episodes end, where that is known.
        observe: What of the monitors the agent sees, or `"nothing"`; None where that is not known.
        semantics: What labels and values are. Rules that try formulas out do so on degrees.
        bound: The largest absolute value that is paid, for robustness, or None.
        sorts: The things of each sort.
    """

    pairs: Sequence[Pair]
    atoms: Mapping[str, AtomFunction] | None = None
    penalty: float = 0.0
    payment: Payment = "value"
    max_registers: int = DEFAULT_REGISTERS
    initial_labels: Labels | None = None
    max_episode_steps: int | None = None
    observe: str | None = None
    semantics: Semantics = "degree"
    bound: float | None = None
    sorts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _machines: dict[int, Monitor | SynthesisError] = field(default_factory=dict, compare=False, repr=False)
    _vetoes: dict[int, VetoProgram] = field(default_factory=dict, compare=False, repr=False)

    def machine(self, number: int) -> Monitor | SynthesisError:
        """The monitor of a pair, or why it has none; of a pair about things that for one of them."""
        if number not in self._machines:
            try:
                pair = self.pairs[number]
                found: Monitor | SynthesisError = synthesize(
                    pair.body, max_registers=self.max_registers, progress=pair.progress
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
            self._vetoes[number] = veto_program(self.pairs[number].body, monitor.program, self.max_registers)
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
        return pair.payment or self.payment

    def penalty_of(self, pair: Pair) -> float:
        """Reward per step after a pair's violation."""
        return self.penalty if pair.penalty is None else pair.penalty


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

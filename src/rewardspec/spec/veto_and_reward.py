"""The head of a spec's program: from the values of formulas to the reward, with veto, penalty and payment.

The program's outputs are what each pair is paid for, the value of its formula or its progress, and for each pair that
can veto a number that is positive while the value still can be. From the first violation on the level is the penalty,
the lowest of those violated. Pairs that are paid in a way of their own have a level of their own, which is 0 from then
on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewardspec.machines.program import Program, Semantics, side_by_side
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.vetoes import veto_program
from rewardspec.synthesis.quantitative.compiler import Synthesis
from rewardspec.synthesis.quantitative.progress import value_and_progress, with_progress
from rewardspec.synthesis.quantitative.register_names import with_names

NO_PENALTY = math.inf  # what the penalty is while nothing is violated
PENALTY, LEVELS, VALUES = 0, 1, 2  # where the memory of a state holds them
_LONGEST_SUM = 200  # terms in one expression: Python's compiler recurses over them


def compose(pairs: Sequence[Pair], max_registers: int, semantics: Semantics = "degree") -> Program:
    """One program for all formulas of a spec: registers and subexpressions that they share exist once.

    Its outputs are what each pair is paid for, and for each pair that can veto a number that is positive while the
    pair's value still can be; see `rewardspec.spec.vetoes`.

    Raises:
        SynthesisError: A formula needs more registers than the budget.
    """
    synthesis = Synthesis(max_registers)
    programs, vetoes = [], []
    for pair in pairs:
        program = synthesis.program(pair.formula)
        if pair.vetoes:
            vetoes.append(veto_program(pair.formula, program, max_registers).program)
        if pair.progress and semantics == "degree":
            program = value_and_progress(with_progress(program, pair.formula, synthesis)).output(1)
        programs.append(program)
    joint = side_by_side([*programs, *vetoes])
    if not pairs:
        return joint
    atoms = tuple(dict.fromkeys(atom for pair in pairs for atom in pair.formula.atoms))
    paid = joint.with_outputs([step.outputs[: len(pairs)] for step in joint.steps])
    named = with_names(paid, [f"value[{pair}]" for pair in pairs])
    return replace(joint, registers=named.registers, atoms=atoms, semantics=semantics)


class RewardHead:
    """Weights, veto, penalties and payments, as lines of generated code.

    A state remembers the lowest penalty in force, the level of each way to pay, and the value of each formula.

    Args:
        pairs: The pairs.
        penalties: The penalty of each pair that can veto, in order.
        payment: The spec's way to pay; a pair may have its own.
        discount: The learner's discount.
        semantics: Whether values are degrees, of which 0 is a violation, or robustness, where less than 0 is one.
        bound: Values are paid as if they were at most this, and at least minus this.

    Attributes:
        payments: The ways to pay, the spec's own first.
        weights: For each way to pay the weight of each pair, 0 where it is paid otherwise.
        count: How many pairs there are.
        hopeless: What tells of the largest value that a veto can still reach that it is a violation.
    """

    parameters = (("base_reward", "0.0"), ("terminated", "False"), ("truncated", "False"))

    def __init__(
        self,
        pairs: Sequence[Pair],
        penalties: Sequence[float],
        payment: str,
        discount: float,
        semantics: Semantics = "degree",
        bound: float = math.inf,
    ) -> None:
        self.bound = bound
        self.hopeless = "<= 0.0" if semantics == "degree" else "< 0.0"
        self.discount = float(discount)
        self.penalties = tuple(penalties)
        self.payments = tuple(dict.fromkeys([payment, *(pair.payment or payment for pair in pairs)]))
        self.weights = [
            [pair.weight if (pair.payment or payment) == way else 0.0 for pair in pairs] for way in self.payments
        ]
        self.count = len(pairs)
        self.memory = (NO_PENALTY, (0.0,) * len(self.payments), (0.0,) * self.count)
        self.names: dict[str, Any] = {
            "none": NO_PENALTY,
            "discount": discount,
            "copyto": np.copyto,
            "count_nonzero": np.count_nonzero,
        }

    def unpacked(self) -> Sequence[str]:
        """The penalty and, where something reads them, the levels before the step."""
        befores = "".join(f"before{k}, " for k in range(len(self.payments)))
        needed = any(PAYMENTS[way].reads_before for way in self.payments)
        return ("penalty", f"({befores})" if needed else "_", "_")

    def scalar_lines(self, outputs: Sequence[str]) -> tuple[list[str], Sequence[str], str]:
        """Lines for one episode, the new memory, and the reward."""
        outputs, uppers = outputs[: self.count], outputs[self.count :]
        low, high = -self.bound, self.bound
        values, lines = self.bounded(
            outputs, lambda v: f"{low!r} if {v} < {low!r} else {high!r} if {v} > {high!r} else {v}"
        )
        lines += [
            f"if {upper} {self.hopeless} and {penalty!r} < penalty: penalty = {penalty!r}"
            for upper, penalty in zip(uppers, self.penalties, strict=True)
        ]
        for k, weights in enumerate(self.weights):
            lines.extend(_weighted(f"level{k}", weights, values, "0.0"))
            if uppers:
                lines.append(f"if penalty != none: level{k} = {'penalty' if k == 0 else '0.0'}")
        return lines, self._memory(values), self._reward(_scalar_choice)

    def array_lines(self, outputs: Sequence[str], reuse: bool) -> tuple[list[str], Sequence[str], str]:
        """Lines for a batch, the new memory, and the rewards."""
        outputs, uppers = outputs[: self.count], outputs[self.count :]
        values, lines = self.bounded(outputs, lambda value: f"xp.clip({value}, {-self.bound!r}, {self.bound!r})")

        def overwrite(name: str, value: str, where: str, worthwhile: str) -> None:
            # Where arrays can be looked into, looking whether there is anything to do costs less than doing it.
            quick = f"if {worthwhile}: {name} = {name}.copy(); copyto({name}, {value}, where={where})"
            lines.append(quick if reuse else f"{name} = where({where}, {value}, {name})")

        for upper, penalty in zip(uppers, self.penalties, strict=True):
            milder = "" if penalty == min(self.penalties) else f" & (penalty > {penalty!r})"
            hopeless = f"({upper} {self.hopeless})"
            # Zeros are counted quickly; of robustness any number may be below.
            some = f"count_nonzero({upper}) < {upper}.size" if "=" in self.hopeless else f"{hopeless}.any()"
            overwrite("penalty", repr(penalty), f"{hopeless}{milder}", some)
        if uppers:
            lines.append("in_force = xp.isfinite(penalty)")
        for k, weights in enumerate(self.weights):
            lines.extend(_weighted(f"level{k}", weights, values, "xp.zeros_like(penalty)"))
            if uppers:
                overwrite(f"level{k}", "penalty" if k == 0 else "0.0", "in_force", "count_nonzero(in_force)")
        if any("terminated" in PAYMENTS[way].pays for way in self.payments):
            lines.append("terminated, truncated = xp.asarray(terminated), xp.asarray(truncated)")
        return lines, self._memory(values), self._reward(lambda text: text)

    def bounded(self, values: Sequence[str], clip: Callable[[str], str]) -> tuple[Sequence[str], list[str]]:
        """Variables that hold the values inside the bound, and the lines that compute them, if it is finite."""
        if math.isinf(self.bound):
            return values, []
        names = [f"bounded{k}" for k in range(len(values))]
        return names, [f"{name} = {clip(value)}" for name, value in zip(names, values, strict=True)]

    def _memory(self, values: Sequence[str]) -> Sequence[str]:
        levels = "".join(f"level{k}, " for k in range(len(self.payments)))
        return ("penalty", f"({levels})", f"({''.join(f'{value}, ' for value in values)})")

    def _reward(self, choice: Any) -> str:
        terms = ["base_reward"] if PAYMENTS[self.payments[0]].adds_base else []
        for k, way in enumerate(self.payments):
            paid = re.sub(r"\b(level|before)\b", rf"\g<1>{k}", PAYMENTS[way].pays)
            terms.append(choice(paid))
        return " + ".join(terms)


def _scalar_choice(text: str) -> str:
    """`where(condition, a, b)` for one episode."""
    text = text.replace("terminated | truncated", "terminated or truncated")
    return re.sub(r"where\(([^,]*), ([^,]*), ([^,]*)\)", r"(\2 if \1 else \3)", text)


def _weighted(name: str, weights: Sequence[float], values: Sequence[str], zero: str) -> list[str]:
    """Lines that compute the weighted sum of values, from left to right."""
    terms = [
        value if weight == 1.0 else f"{weight!r} * {value}"
        for weight, value in zip(weights, values, strict=True)
        if weight != 0.0
    ]
    lines = [f"{name} = {' + '.join(terms[:_LONGEST_SUM]) or zero}"]
    lines.extend(
        f"{name} = {' + '.join([name, *terms[first : first + _LONGEST_SUM]])}"
        for first in range(_LONGEST_SUM, len(terms), _LONGEST_SUM)
    )
    return lines

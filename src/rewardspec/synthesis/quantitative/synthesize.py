"""`synthesize`: from a formula to its quantitative monitor."""

from __future__ import annotations

from dataclasses import replace

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import FormulaLike, as_formula
from rewardspec.logic.semantics import domain_of
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.program import Semantics
from rewardspec.synthesis.quantitative.compiler import Synthesis
from rewardspec.synthesis.quantitative.register_names import with_names

DEFAULT_REGISTERS = 256


def synthesize(
    formula: FormulaLike, *, semantics: Semantics = "degree", max_registers: int = DEFAULT_REGISTERS
) -> Monitor:
    """The quantitative monitor of a formula.

    Args:
        formula: The formula or its text.
        semantics: `"degree"`, for labels in [0, 1]; or `"robustness"`, for labels that are any real numbers, where
            the negation of x is -x: discrete-time signal temporal logic.
        max_registers: The budget: a formula that needs more registers is refused.

    Raises:
        SynthesisError: The budget does not suffice; the message names the subformula that is too large.

    Example:
        >>> monitor = synthesize("G(request -> F grant)")
        >>> state = monitor.initial_state()
        >>> state, value = monitor.step(state, {"request": 0.75, "grant": 0.0})
        >>> value
        0.25
        >>> state, value = monitor.step(state, {"request": 0.0, "grant": 0.5})
        >>> value
        0.5
    """
    formula = as_formula(formula)
    if isinstance(max_registers, bool) or not isinstance(max_registers, int) or max_registers < 0:
        raise SynthesisError(f"`max_registers` should be a non-negative integer. Received {max_registers!r}.")
    domain_of(formula, semantics)  # refuses what has no meaning as robustness
    program = with_names(Synthesis(max_registers).program(formula))
    return Monitor(formula, replace(program, atoms=formula.atoms, semantics=semantics))

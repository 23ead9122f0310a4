"""`synthesize`: from a formula to its quantitative monitor."""

from __future__ import annotations

from dataclasses import replace

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import Formula, FormulaLike, as_formula
from rewardspec.logic.printing import to_string
from rewardspec.logic.semantics import domain_of
from rewardspec.machines.effort_limit import DEFAULT_REGISTERS
from rewardspec.machines.expressions import Expression
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.program import Program, Semantics, merge_equivalent_registers
from rewardspec.synthesis.diagnosis import require_unquantified
from rewardspec.synthesis.quantitative.compiler import Synthesis
from rewardspec.synthesis.quantitative.progress import with_progress
from rewardspec.synthesis.quantitative.register_names import with_names


def synthesize(
    formula: FormulaLike,
    *,
    semantics: Semantics = "degree",
    max_registers: int = DEFAULT_REGISTERS,
    progress: bool = False,
) -> Monitor:
    """The quantitative monitor of a formula.

    Args:
        formula: The formula or its text.
        semantics: `"degree"`, for labels in [0, 1]; or `"robustness"`, for labels that are any real numbers, where
            the negation of x is -x: discrete-time signal temporal logic.
        max_registers: The budget: a formula that needs more registers is refused.
        progress: Whether the monitor should have the registers that `Monitor.progress` needs, where these are more than
            those of the value. For most formulas they are not, and this changes nothing.

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
    require_unquantified(formula)
    synthesis = Synthesis(max_registers)
    program = replace(synthesis.program(formula), atoms=formula.atoms, semantics=semantics)
    if progress:
        program = with_progress(program, formula, synthesis)
    return Monitor(formula, with_names(program))


def progress_from_value(formula: Formula, program: Program) -> tuple[Expression, ...]:
    """For each control state of a formula's program its progress, where it is more than the value.

    Raises:
        SynthesisError: It needs registers or control states that the program of the value does not have.
    """
    if program.progress is not None:
        return program.progress
    joint = with_progress(program, formula, Synthesis(max(DEFAULT_REGISTERS, 2 * len(program.registers))))
    ours, theirs = ([len(p.registers), len(p.windows), len(p.steps)] for p in (program, joint))
    if ours != theirs or merge_equivalent_registers(program) is not program:
        raise SynthesisError(
            f"The progress of `{to_string(formula, longest=80)}` needs registers that its value does not, and this "
            "monitor does not have them. Make it with synthesize(formula, progress=True)."
        )
    assert joint.progress is not None
    return joint.progress

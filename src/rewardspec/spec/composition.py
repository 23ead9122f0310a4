"""From the pairs of a spec to its one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewardspec.machines.program import Program, side_by_side
from rewardspec.spec.pairs import Pair
from rewardspec.spec.sorts import Sorts, for_each_thing, things_of
from rewardspec.spec.veto_conditions import veto_program
from rewardspec.synthesis.quantitative.compiler import Synthesis
from rewardspec.synthesis.quantitative.progress import value_and_progress, with_progress
from rewardspec.synthesis.quantitative.register_names import with_names
from rewardspec.types import Semantics


def compose(
    pairs: Sequence[Pair], max_registers: int, semantics: Semantics, sorts: Sorts, atoms: Sequence[str]
) -> Program:
    """One program for all formulas of a spec, that reads these atoms: what they share exists once.

    Its outputs are what each pair is paid for, and for each pair that can veto a number that is positive while the
    pair's value still can be; see `rewardspec.spec.veto_conditions`. A pair about things has one output a thing. The
    budget is for each formula's machine, for one thing.
    """
    synthesis = Synthesis(max_registers)
    programs, vetoes, names = [], [], []
    for pair in pairs:
        if not things_of(pair.formula, sorts):
            continue  # a pair about names is followed elsewhere
        paid, veto = pair_programs(pair, synthesis, semantics)
        programs += for_each_thing(paid, pair.formula, sorts)
        if veto is not None:
            vetoes += for_each_thing(veto, pair.formula, sorts)
        names += [f"value[{pair}]{f' of {thing}' if thing else ''}" for thing in things_of(pair.formula, sorts)]
    joint = side_by_side([*programs, *vetoes])
    if not pairs:
        return joint
    paid = joint.with_outputs([step.outputs[: len(programs)] for step in joint.steps])
    named = with_names(paid, names)
    return replace(joint, registers=named.registers, atoms=tuple(atoms), semantics=semantics)


def pair_programs(pair: Pair, synthesis: Synthesis, semantics: Semantics = "degree") -> tuple[Program, Program | None]:
    """The program of what a pair is paid for, and the one of its veto; None if it cannot veto.

    Both are about one thing, if the pair is about things.
    """
    program = synthesis.program(pair.body)
    veto = veto_program(pair.body, program, synthesis.max_registers).program if pair.vetoes else None
    if pair.progress and semantics == "degree":
        program = value_and_progress(with_progress(program, pair.body, synthesis)).output(1)
    return program, veto

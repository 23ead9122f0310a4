"""Deciders, causes and waited-for literals of one formula on every prefix of a trace."""

import numpy as np

from rewardspec.episodes.causes import Causes, decider_of
from rewardspec.episodes.traced_program import ProvenanceRun
from rewardspec.episodes.waiting import Outstanding
from rewardspec.logic.formulas import as_formula
from rewardspec.logic.semantics import read_trace
from rewardspec.machines.effort_limit import DEFAULT_REGISTERS
from rewardspec.synthesis.quantitative.synthesize import synthesize


def decide_prefixes(formula, trace, semantics="degree"):
    """Return the value on every prefix of a trace, and the label that each value is."""
    monitor = synthesize(formula, semantics=semantics)
    run = ProvenanceRun(monitor.program, monitor.formula, newest_first=True)
    labels, length = read_trace(monitor.formula, trace, semantics)
    state, values, deciders = run.initial, [], []
    for step in range(length):
        state, (value, rank) = run.step(state, run.literals_of([labels[atom][step] for atom in monitor.atoms], step))
        values.append(value)
        deciders.append(decider_of(run, rank, step))
    return np.array(values), deciders


def cause_prefixes(formula, trace, semantics="degree"):
    """Return the value on every prefix of a trace, and the cause of each."""
    monitor = synthesize(formula, semantics=semantics)
    causes = Causes(monitor, Outstanding(monitor.formula, semantics, DEFAULT_REGISTERS))
    labels, length = read_trace(monitor.formula, trace, semantics)
    read = [causes.read({atom: column[step] for atom, column in labels.items()}) for step in range(length)]
    return np.array([value for value, _ in read]), [cause for _, cause in read]


def waited_for(formula, trace, semantics="degree"):
    """Return the literals that a formula waits for on every prefix of a trace; none where its value is not low."""
    formula = as_formula(formula)
    outstanding = Outstanding(formula, semantics, DEFAULT_REGISTERS)
    labels, length = read_trace(formula, trace, semantics)
    state, found = outstanding.initial, []
    for step in range(length):
        state, owed = outstanding.step(state, {atom: column[step] for atom, column in labels.items()})
        found.append(outstanding.waited_for(owed))
    return found

"""Random formulas through the commands: each is answered, or refused by name. `benchmarks/limits.py` runs many more."""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

import rewardspec as rs
from rewardspec.machines import bounds
from rewardspec.machines.windows import MOST_HELD
from rewardspec.synthesis.boolean import automata
from rewardspec.synthesis.quantitative import compiler

SCRIPT = Path(__file__).parent.parent.parent / "benchmarks" / "limits.py"
REFUSALS = {"FormulaError", "SynthesisError", "SpecError", "DiagramError", "Error"}


@pytest.fixture(scope="module")
def limits():
    spec = importlib.util.spec_from_file_location("limits_script", SCRIPT)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def a_tenth_of_the_effort(monkeypatch):
    """More formulas are refused for the work they take, and none takes long."""
    monkeypatch.setattr(compiler, "_EFFORT", compiler._EFFORT // 10)
    monkeypatch.setattr(compiler, "_EFFORT_FOR_ONE", compiler._EFFORT_FOR_ONE // 10)
    monkeypatch.setattr(bounds, "_EFFORT", bounds._EFFORT // 10)
    monkeypatch.setattr(automata, "_EFFORT_PER_STATE", automata._EFFORT_PER_STATE // 10)


@pytest.mark.usefixtures("a_tenth_of_the_effort")
@pytest.mark.parametrize(("command", "count"), [("check", 80), ("draw", 40), ("export", 40), ("monitor", 40)])
def test_random_formulas_are_answered_or_refused_by_name(command, count, limits, tmp_path):
    kinds = {limits.run_one(command, text, tmp_path) for text in formulas(limits, count)}
    assert "answered" in kinds
    assert {kind for kind in kinds if not kind.startswith("answered")} <= REFUSALS


@pytest.mark.usefixtures("a_tenth_of_the_effort")
def test_the_machines_of_random_formulas_are_within_the_limits(limits):
    made = 0
    for text in formulas(limits, 200):
        try:
            program = rs.synthesize(text).program
        except rs.Error:
            continue
        made += 1
        assert len(program.registers) <= 256, text
        assert sum(window.length for window in program.windows) <= MOST_HELD, text
    assert made > 50


def formulas(limits, count):
    found = limits.different_formulas(random.Random(5), count)
    assert max(map(len, found)) <= limits.LONGEST
    return found

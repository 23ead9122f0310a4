"""Random monitors and specs on random traces, run in Python, in C compiled by gcc, and in JavaScript by node.

python -m tests.export.agreement 1000000     # this many prefixes, and a Markdown table of what was compared
"""

from __future__ import annotations

import ctypes
import json
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rewardspec.errors import SpecError, SynthesisError
from rewardspec.export.c_code import to_c
from rewardspec.export.js_code import js_object
from rewardspec.export.sources import Source, source_of_monitor, source_of_spec
from rewardspec.logic.formulas import Atom
from rewardspec.machines.bounds import Bounds
from rewardspec.machines.expressions import all_parts, label, maximum, pushed, register, window
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.program import Program, Push, Step, Window
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.spec import Spec
from rewardspec.synthesis.quantitative.synthesize import synthesize
from tests.strategies import ATOMS, MONITORABLE, ROBUST, random_formula

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
LONG = (
    "G(a -> F[{i},{k}] b)",
    "F(a & F[0,{k}] b)",
    "G(a -> (b U[0,{k}] c))",
    "F G H[{i},{k}] a",
    "F G (a S[{i},{k}] b)",
    "G(a -> G[{i},{k}] b) & F[0,{k}] c",
    "now O[{i},{k}](a & Y[2] b)",
    "G(X[{k}] a | b)",
    "G(a -> F[0,{k};0.9] b)",
)
MISSING = ("gcc", "node")  # what this needs; see `missing`


def missing() -> str:
    """Which of the compilers are not there, in words; empty where all are."""
    return ", ".join(tool for tool in MISSING if shutil.which(tool) is None)


@dataclass
class Case:
    """A machine and a trace, and what Python makes of it: a row for each prefix."""

    kind: str
    text: str
    source: Source
    machine: Any
    letters: list[dict[str, float]]
    ends: list[tuple[float, bool, bool]]
    rows: list[list[float]] = field(default_factory=list)

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return 4 + (len(self.machine.pairs) if self.source.is_spec else 0)


def random_case(rng: random.Random, number: int, length: int) -> Case:
    """A case that can be synthesized and paid."""
    while True:
        kind = rng.choice(("formula", "formula", "robustness", "window", "long window", "spec", "spec"))
        try:
            return case_of(rng, _machine(rng, kind), f"m{number}", length, kind)
        except (SynthesisError, SpecError):  # the robustness of a formula may be infinite at some step
            continue


def case_of(rng: random.Random, machine: Monitor | Spec, name: str, length: int, kind: str = "given") -> Case:
    """A machine on a random trace.

    Raises:
        SynthesisError: It cannot be synthesized.
    """
    source = _source(machine, kind, name)
    real = source.program.semantics == "robustness"
    letters = [{atom: _label(rng, real) for atom in source.program.atoms} for _ in range(length)]
    ends = [(rng.uniform(-1, 1), rng.random() < 0.1, rng.random() < 0.1) for _ in range(length)]
    case = Case(kind, str(source.formulas), source, machine, letters, ends)
    case.rows = rows_in_python(case)
    return case


def _source(machine: Monitor | Spec, kind: str, name: str) -> Source:
    if isinstance(machine, Spec):
        return source_of_spec(machine, name)
    if kind != "window":
        return source_of_monitor(machine, name)
    # Windows are read after the step by specs alone, so that bounds do not know that.
    if any(part.op == "pushed" for part in all_parts(machine.program.expressions())):
        return Source(name, ("window",), machine.program)
    bounds = Bounds(machine.program)
    return Source(name, ("window",), machine.program, lower=bounds.lower, upper=bounds.upper)


def _machine(rng: random.Random, kind: str) -> Monitor | Spec:
    if kind == "formula":
        return synthesize(random_formula(rng, rng.choice((2, 3, 3)), ATOMS, MONITORABLE), max_registers=32)
    if kind == "robustness":
        return synthesize(
            random_formula(rng, rng.choice((2, 3, 3)), ATOMS, ROBUST_MONITORABLE),
            max_registers=32,
            semantics="robustness",
        )
    if kind == "window":
        return Monitor(Atom("x"), window_program(rng))
    if kind == "long window":
        text = rng.choice(LONG).format(i=rng.choice((0, 1, 3)), k=rng.randint(4, 60))
        return synthesize(text, semantics=rng.choice(("degree", "robustness")) if ";" not in text else "degree")
    robust = rng.random() < 0.3
    language = ROBUST_MONITORABLE if robust else MONITORABLE
    pairs = []
    for _ in range(rng.randint(0, 4)):
        weight, veto = rng.choice((1.0, 2.0, -0.7, 0.3, 0.0)), rng.choice((None, None, True))
        pair = Pair(
            random_formula(rng, rng.choice((1, 2, 2, 3)), ATOMS, language),
            weight,
            veto=veto,
            payment=rng.choice((None, None, *PAYMENTS)),
            progress=not robust and rng.random() < 0.3,
        )
        pairs.append(pair)
        if pair.vetoes and rng.random() < 0.5:
            pairs[-1] = Pair(pair.formula, weight, veto, rng.uniform(-2, 0), None, pair.payment, pair.progress)
    return Spec(
        pairs,
        penalty=rng.choice((0.0, -1.0)),
        payment=rng.choice(tuple(PAYMENTS)),
        discount=rng.choice((0.99, 1.0)),
        max_registers=32,
        semantics="robustness" if robust else "degree",
    )


ROBUST_MONITORABLE = type(ROBUST)(past=True, intervals=True, counts=True, monitorable=True)


def window_program(rng: random.Random) -> Program:
    """A program around one window of any kind, with a guard or without, in one or two control states."""
    op, neutral = rng.choice((("max", 0.0), ("min", 1.0), ("last", 0.0), ("last", 1.0)))
    guards = [rng.choice((None, label("g"))) for _ in range(rng.choice((1, 1, 2)))]
    output = maximum(rng.choice((window(0), pushed(0))), register(0)) if rng.random() < 0.5 else window(0)
    steps = tuple(Step((label("x"),), (output,), (Push(label("x"), guard),)) for guard in guards)
    length = rng.choice((1, 2, 3, 4, 5, 8, 13, 40))
    return Program(
        *(("x", "g"), ("r",), (0.0,), steps, 0),
        *((Window("w", length, op, neutral),), rng.choice(("degree", "robustness"))),
    )


def _label(rng: random.Random, real: bool) -> float:
    roll = rng.random()
    if real:
        return rng.choice((0.0, -0.0, 1.0, -1.0)) if roll < 0.3 else rng.gauss(0, 3)
    return rng.choice((0.0, 1.0, -0.0, 0.5)) if roll < 0.6 else rng.random()


def rows_in_python(case: Case) -> list[list[float]]:
    """What the steps of Python give."""
    machine, rows = case.machine, []
    if isinstance(machine, Spec):
        state = machine.start(case.letters[0])
        for position, (letter, end) in enumerate(zip(case.letters, case.ends, strict=True)):
            reward = 0.0
            if position:
                state, reward = machine.step(state, letter, *end)
            told = machine.level(state), machine.violated(state), machine.penalty_in_force(state)
            rows.append([reward, *told, *machine.values(state)])
        return rows
    state = machine.initial_state()
    for letter in case.letters:
        state, value = machine.step(state, letter)
        bounds = (np.nan, np.nan) if case.source.upper is None else machine.bounds(state)
        progress = np.nan if case.source.progress is None else machine.progress(state)
        rows.append([value, *bounds, progress])
    return rows


def rows_in_c(cases: Sequence[Case]) -> list[np.ndarray]:
    """What the compiled steps give."""
    parts = ["#include <math.h>"]
    for case in cases:
        parts += [to_c(case.source), _driver(case)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "monitors.c")
        path.write_text("\n".join(parts), encoding="utf-8")
        built = Path(folder, "monitors.so")
        command = ["gcc", *FLAGS, "-shared", "-fPIC", str(path), "-o", str(built), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr)
        library = ctypes.CDLL(str(built))
        results = []
        for case in cases:
            atoms = case.source.program.atoms
            labels = np.array([[letter[a] for a in atoms] or [0.0] for letter in case.letters], dtype=float)
            ends = np.array([[float(x) for x in end] for end in case.ends])
            out = np.zeros((len(case.letters), case.width))
            pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (labels, ends, out))
            getattr(library, f"run_{case.source.name}")(len(case.letters), *pointers)
            results.append(out)
        return results


def _driver(case: Case) -> str:
    m, stride = case.source.name, max(1, len(case.source.program.atoms))
    if not case.source.is_spec:
        bounds = "o[1] = NAN; o[2] = NAN;" if case.source.upper is None else f"{m}_bounds(&s, o + 1, o + 2);"
        progress = "NAN" if case.source.progress is None else f"{m}_progress(&s)"
        start, body = f"{m}_reset(&s);", f"o[0] = {m}_step(&s, labels + k * {stride}); {bounds} o[3] = {progress};"
    else:
        start = f"{m}_start(&s, labels);"
        values = " ".join(f"o[{4 + k}] = s.values[{k}];" for k in range(len(case.machine.pairs)))
        ended = "ends[3 * k], ends[3 * k + 1] > 0.0, ends[3 * k + 2] > 0.0"
        step = f"k == 0 ? 0.0 : {m}_step(&s, labels + k * {stride}, {ended})"
        body = f"o[0] = {step}; o[1] = {m}_level(&s); o[2] = {m}_violated(&s); o[3] = s.penalty; {values}"
    return f"""
void run_{m}(int n, const double *labels, const double *ends, double *out);
void run_{m}(int n, const double *labels, const double *ends, double *out)
{{
    {m}_state s;
    int k;
    (void)ends;
    {start}
    for (k = 0; k < n; k++) {{ double *o = out + k * {case.width}; {body} }}
}}
"""


_NODE = """
const { readFileSync, writeFileSync } = require("fs");
const traces = JSON.parse(readFileSync(process.argv[2]));
const found = [];
machines.forEach((m, number) => {
  const { letters, ends, isSpec } = traces[number];
  let s = isSpec ? m.start(letters[0]) : m.reset();
  letters.forEach((labels, k) => {
    if (isSpec) {
      const [baseReward, terminated, truncated] = ends[k];
      const next = k === 0 ? s : m.step(s, labels, { baseReward, terminated, truncated });
      s = next;
      found.push(s.reward, m.level(s), m.violated(s) ? 1 : 0, s.penalty, ...s.values);
    } else {
      s = m.step(s, labels);
      found.push(s.value, ...(m.bounds === null ? [NaN, NaN] : m.bounds(s)));
      found.push(m.progress === null ? NaN : m.progress(s));
    }
  });
});
writeFileSync(process.argv[3], Buffer.from(Float64Array.from(found).buffer));
"""


def rows_in_js(cases: Sequence[Case]) -> list[np.ndarray]:
    """What the steps of JavaScript give."""
    with tempfile.TemporaryDirectory() as folder:
        script, traces, results = (Path(folder, name) for name in ("run.cjs", "traces.json", "results.bin"))
        objects = ",\n".join(js_object(case.source) for case in cases)
        script.write_text(f"const machines = [{objects}];\n{_NODE}", encoding="utf-8")
        data = [{"letters": case.letters, "ends": case.ends, "isSpec": case.source.is_spec} for case in cases]
        traces.write_text(json.dumps(data), encoding="utf-8")
        command = ["node", str(script), str(traces), str(results)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr)
        numbers = np.fromfile(results)
    sizes = [len(case.letters) * case.width for case in cases]
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    return [part.reshape(len(case.letters), case.width) for part, case in zip(parts, cases, strict=True)]


def differences(cases: Sequence[Case], found: Sequence[np.ndarray]) -> list[str]:
    """What is not the same, bit by bit; NaN is NaN, and the zeros of bounds and progress have no sign."""
    told = []
    for case, rows in zip(cases, found, strict=True):
        expected = np.array(case.rows, dtype=float)
        if not case.source.is_spec:  # zeros of either sign are the same labels, of which windows keep any
            rows = np.column_stack([rows[:, :1], rows[:, 1:] + 0.0])
            expected = np.column_stack([expected[:, :1], expected[:, 1:] + 0.0])
        same = (expected.view(np.uint64) == rows.view(np.uint64)) | (np.isnan(expected) & np.isnan(rows))
        if not same.all():
            position, column = np.argwhere(~same)[0]
            ours, theirs = expected[position, column], rows[position, column]
            told.append(f"{case.kind} {case.text}, step {position}, column {column}: {ours!r} and {theirs!r}")
    return told


def main(prefixes: int) -> int:
    """Compare so many prefixes, in batches, and print a table."""
    began, rng, length = time.time(), random.Random(0), 800
    kinds: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    wrong: list[str] = []
    machines = 0
    while sum(kinds.values()) < prefixes:
        cases = [random_case(rng, number, length) for number in range(100)]
        for find in (rows_in_c, rows_in_js):
            found = [f"{find.__name__}: {text}" for text in differences(cases, find(cases))]
            print(*found, sep="\n", end="\n" * bool(found), file=sys.stderr)
            wrong += found
        for case in cases:
            kinds[case.kind] += length
            machines += 1
            numbers[case.kind] += length * case.width
        print(f"{sum(kinds.values()):,} prefixes, {len(wrong)} differ", file=sys.stderr, flush=True)
    print(f"{machines:,} random formulas and specs on random traces of {length} steps: every value, bound, progress,")
    print("reward, level, veto and penalty ", end="")
    print("after every prefix, compared bit by bit with Python; of bounds and progress, but for the sign of a zero.\n")
    print("    python -m tests.export.agreement", prefixes, "\n")
    print("| | prefixes | numbers compared, in each language |\n|---|---|---|")
    for kind, count in sorted(kinds.items()):
        print(f"| {kind} | {count:,} | {numbers[kind]:,} |")
    print(f"| **together** | **{sum(kinds.values()):,}** | **{sum(numbers.values()):,}** |\n")
    print(f"Machines that differ in C or JavaScript: {len(wrong)}. ({time.time() - began:.0f} s, seed 0;")
    gcc = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    node = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    print(f"{gcc} with `{' '.join(FLAGS)}`; node {node}; Python {platform.python_version()}.)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

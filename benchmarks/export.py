"""How long one step takes in C and in JavaScript, beside Python and reelay, in one run.

    python benchmarks/export.py

Figures are nanoseconds for each step of one trace, in processor time, the median of several rounds, once windows are
full; gcc and node have to be there.  The step in C is called from another file, so that nothing of it is inlined.
reelay, whose monitors are C++, is called from Python, the only way that its package offers, and gets past formulas with
the same value, as in `benchmarks/time.py`.  Values are compared: those of the last step, and with reelay of every step.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

import rewardspec as rs

# Each formula, and one of the past with the same value, as reelay reads it; None where that is long.
CASES = {
    "G(a -> F b)": "!(!{b > 0} since ({a > 0} && !{b > 0}))",
    "G(a -> F[0,1000] b)": "!(once(once[1000:1000]{a > 0} && historically[0:1000](!{b > 0})) || "
    "(!{b > 0} since[0:1000] ({a > 0} && !{b > 0})))",
    "G(a -> (b U[0,1000] c))": None,
}
LETTERS, ROUNDS = 4_096, 15

_MAIN = """
#define M_INTERFACE_ONLY
#include "m.c"
#include <stdio.h>
#include <time.h>

static const double trace[%(letters)d][%(atoms)d] = {%(numbers)s};

int main(void)
{
    static m_state s;
    double sum = 0.0;
    int round;
    m_reset(&s);
    for (round = -2; round < %(rounds)d; round++) {
        struct timespec from, to;
        int lap, k;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        for (lap = 0; lap < 100; lap++) {
            for (k = 0; k < %(letters)d; k++) { sum += m_step(&s, trace[k]); }
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        if (round >= 0) {
            const double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
            printf("%%.6f\\n", ns / (100.0 * %(letters)d));
        }
    }
    printf("%%.17g %%d %%g\\n", s.value, (int)sizeof s, sum);
    return 0;
}
"""

_NODE = """
import { reset, step } from "./m.mjs";
import { readFileSync } from "fs";
const trace = JSON.parse(readFileSync("trace.json"));
let s = reset();
const times = [];
for (let round = -5; round < %d; round++) {
  const from = process.cpuUsage();
  for (let lap = 0; lap < 20; lap++) for (const labels of trace) s = step(s, labels);
  const used = process.cpuUsage(from);
  if (round >= 0) times.push(1e3 * (used.user + used.system) / (20 * trace.length));
}
console.log(JSON.stringify([times, s.value]));
"""


def in_c(monitor: rs.Monitor, rows: np.ndarray, folder: Path) -> tuple[float, float, int]:
    (folder / "m.c").write_text(monitor.to_c(), encoding="utf-8")
    numbers = ",".join("{" + ",".join(map(repr, row)) + "}" for row in rows.tolist())
    filled = _MAIN % {"letters": len(rows), "atoms": rows.shape[1], "numbers": numbers, "rounds": ROUNDS}
    (folder / "main.c").write_text(f"#define _POSIX_C_SOURCE 199309L\n{filled}", encoding="utf-8")
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
    subprocess.run(["gcc", *flags, "main.c", "m.c", "-o", "run", "-lm"], cwd=folder, check=True)
    told = subprocess.run(["./run"], cwd=folder, check=True, capture_output=True, text=True).stdout
    *times, last = told.splitlines()
    value, size, _ = last.split()
    return statistics.median(map(float, times)), float(value), int(size)


def in_js(monitor: rs.Monitor, letters: list[dict[str, float]], folder: Path) -> tuple[float, float]:
    (folder / "m.mjs").write_text(monitor.to_js(), encoding="utf-8")
    (folder / "trace.json").write_text(json.dumps(letters), encoding="utf-8")
    (folder / "run.mjs").write_text(_NODE % ROUNDS, encoding="utf-8")
    done = subprocess.run(["node", "run.mjs"], cwd=folder, check=True, capture_output=True, text=True)
    times, value = json.loads(done.stdout)
    return statistics.median(times), value


def in_python(monitor: rs.Monitor, letters: list[dict[str, float]]) -> tuple[float, float]:
    state, step, times = monitor.initial_state(), monitor.step, []
    for _ in range(ROUNDS):
        began = time.process_time()
        for letter in letters:
            state, value = step(state, letter)
        times.append((time.process_time() - began) / len(letters))
    return statistics.median(times) * 1e9, value


def in_reelay(pattern: str | None, letters: list[dict[str, float]], ours: list[float]) -> str:
    if pattern is None:
        return "–"
    import reelay

    rows = [{atom: label - 0.5 for atom, label in letter.items()} for letter in letters]
    times = []
    for _ in range(3):
        monitor = reelay.discrete_timed_monitor(pattern=pattern, semantics="robustness", condense=False)
        began = time.process_time()
        values = [monitor.update(row)["value"] for row in rows]
        times.append((time.process_time() - began) / len(rows))
    same = np.abs(np.clip(np.asarray(values) + 0.5, 0.0, 1.0) - ours).max() < 1e-9
    return f"{statistics.median(times) * 1e9:,.0f}{'' if same else ' (differs!)'}"


def main() -> None:
    has_reelay = importlib.util.find_spec("reelay") is not None
    peers = f", reelay {version('reelay')}" if has_reelay else ""
    gcc = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    node = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    print(
        f"Nanoseconds for a step of one trace ({platform.machine()}, {os.cpu_count()} cores; {gcc}, -O2; node {node};"
    )
    print(f"Python {platform.python_version()}{peers}).\n")
    print("    python benchmarks/export.py\n")
    header = [
        "formula",
        "C",
        "state in C, bytes",
        "JavaScript",
        "Python",
        *(["reelay (C++, from Python)"] * has_reelay),
    ]
    print("| " + " | ".join(header) + " |\n|---|" + "--:|" * (len(header) - 1))
    for formula, past in CASES.items():
        monitor = rs.synthesize(formula)
        rows = np.random.default_rng(0).random((LETTERS, len(monitor.atoms)))
        letters = [dict(zip(monitor.atoms, row, strict=True)) for row in rows.tolist()]
        with tempfile.TemporaryDirectory() as folder:
            c, value_c, size = in_c(monitor, rows, Path(folder))
            js, value_js = in_js(monitor, letters, Path(folder))
        python, value = in_python(monitor, letters)
        first = monitor.run({atom: [letter[atom] for letter in letters] for atom in monitor.atoms})
        if not value == value_c == value_js:
            raise SystemExit(f"{formula}: {value} in Python, {value_c} in C, {value_js} in JavaScript")
        cells = [f"`{formula}`", f"{c:.1f}", f"{size:,}", f"{js:.0f}", f"{python:,.0f}"]
        print(
            "| " + " | ".join([*cells, *(in_reelay(past, letters, first) for _ in range(has_reelay))]) + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()

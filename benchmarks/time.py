"""How long one step of a monitor with a time window takes, beside RTAMT, reelay and mstlo, in one run.

    python benchmarks/time.py               # the whole table
    python benchmarks/time.py --quick       # k = 5 and 1,000, fewer rounds

Figures are nanoseconds for each step of each trace, in processor time (JAX: by the clock, since it uses threads), once
the windows are full; the median of several rounds.  Synthesis is in seconds.

RTAMT and reelay monitor the past, so they get past formulas with the same value, which is compared with ours after
every step; `start` is a label that is true in the first step alone.  mstlo has bounded formulas of the future alone,
whose value it gives k steps late: it gets what stands under the outermost operator, and its values are not compared.  A
peer that is not installed is left out.  A step of RTAMT may take seconds at large bounds: it is measured for few steps.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

import rewardspec as rs


class Case(NamedTuple):
    """A formula, with K for its bound, as each monitor reads it; atoms of the past form are in angle brackets."""

    ours: str
    past: str
    mstlo: str | None


_OPEN = "((not <{c}>) since[0:K] (<a> and not <{c}>))"  # an `a` of the last steps that still waits for b, or c
_MISSED = "once(once[K:K]<a> and historically[0:K](not <{c}>))"  # one that waited in vain

CASES = (
    Case("F[0,K] p", "once(<p> and once[0:K]<start>)", "F[0,K](p > 0)"),
    Case(
        "G(a -> F[0,K] b)",
        f"not({_MISSED.format(c='b')} or {_OPEN.format(c='b')})",
        "(a > 0) -> (F[0,K](b > 0))",
    ),
    Case("G(a -> G[0,K] b)", "historically((not (once[0:K]<a>)) or <b>)", "(a > 0) -> (G[0,K](b > 0))"),
    Case("F(a & F[0,K] b)", "once(<b> and once[0:K]<a>)", "(a > 0) && (F[0,K](b > 0))"),
    Case(
        "G(a -> (b U[0,K] c))",
        f"not(once(((not <b>) and (not <c>)) and {_OPEN.format(c='c')}) or {_MISSED.format(c='c')} "
        f"or {_OPEN.format(c='c')})",
        "(a > 0) -> ((b > 0) U[0,K] (c > 0))",
    ),
    Case("F G H[0,K] p", "historically[0:K]<p>", None),
    Case("F G (a S[0,K] b)", "<a> since[0:K] <b>", None),
)
BOUNDS = (5, 50, 1_000, 5_000)
BATCH = 4_096
ATOMS = ("p", "a", "b", "c", "start")
PATIENCE = 2.0  # seconds for one figure of a peer


Run = Callable[[], float]  # measures once, and gives seconds


def median(measure: Run, rounds: int) -> float:
    return statistics.median(measure() for _ in range(rounds))


def in_turns(runs: list[Run], rounds: int) -> list[float]:
    """The median of each, measured in turns, since a machine is not as quick at one time as at another."""
    return [statistics.median(column) for column in zip(*([run() for run in runs] for _ in range(rounds)), strict=True)]


def one_trace(monitor: rs.Monitor, bound: int) -> Run:
    rng = np.random.default_rng(0)
    letters = [dict(zip(monitor.atoms, row, strict=True)) for row in rng.random((5_000, len(monitor.atoms))).tolist()]
    state, step = monitor.initial_state(), monitor.step

    def run() -> float:
        nonlocal state
        start = time.process_time()
        for letter in letters:
            state, _ = step(state, letter)
        return (time.process_time() - start) / len(letters)

    for _ in range(2 * bound // len(letters) + 1):
        run()  # until the window is full
    return run


def numpy_batch(monitor: rs.Monitor, bound: int, steps: int = 500) -> Run:
    rng = np.random.default_rng(0)
    letters = [{atom: rng.random(BATCH) for atom in monitor.atoms} for _ in range(4)]
    state, step = monitor.initial_state(batch=BATCH), monitor.step

    def run() -> float:
        nonlocal state
        start = time.process_time()
        for k in range(steps):
            state, _ = step(state, letters[k % 4])
        return (time.process_time() - start) / (steps * BATCH)

    for _ in range(2 * bound // steps + 1):
        run()  # until the window is full
    return run


def jax_batch(monitor: rs.Monitor, bound: int, steps: int = 500) -> Run:
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    letters = {atom: jnp.asarray(rng.random((4, BATCH)), dtype=jnp.float32) for atom in monitor.atoms}

    def several(state: Any) -> Any:
        def one(state: Any, k: Any) -> Any:
            return monitor.step(state, {atom: labels[k % 4] for atom, labels in letters.items()})[0], None

        return jax.lax.scan(one, state, jnp.arange(steps))[0]

    compiled = jax.jit(several, donate_argnums=0)
    # The first state's arrays are one and the same in places, which cannot be given away twice.
    state = jax.tree.map(jnp.array, monitor.initial_state(batch=BATCH, xp=jnp))

    def run() -> float:
        nonlocal state
        start = time.perf_counter()
        state = jax.block_until_ready(compiled(state))
        return (time.perf_counter() - start) / (steps * BATCH)

    for _ in range(2 * bound // steps + 1):
        run()  # until the window is full
    return run


def synthesis(formula: str, rounds: int) -> float:
    def run() -> float:
        start = time.process_time()
        rs.synthesize(formula)
        return time.process_time() - start

    return median(run, min(rounds, 3))


def letters(steps: int) -> list[dict[str, float]]:
    rng = np.random.default_rng(0)
    rows = rng.random((steps, len(ATOMS))).tolist()
    return [{**dict(zip(ATOMS, row, strict=True)), "start": float(k == 0)} for k, row in enumerate(rows)]


def timed(update: Callable[[int], Any], steps: int) -> tuple[float, list[Any]]:
    """Seconds for each step once the window is full, or those that patience allows, and all results."""
    results: list[Any] = []
    start = began = time.process_time()
    while len(results) < steps and time.process_time() - began < PATIENCE:
        if len(results) == steps // 2:
            start = time.process_time()
        results.append(update(len(results)))
    measured = len(results) - steps // 2 if len(results) > steps // 2 else len(results)
    return (time.process_time() - start) / measured, results


def shown(seconds: float, formula: str, values: list[float], trace: list[dict[str, float]]) -> str:
    """Nanoseconds, with a word where the values are not ours."""
    monitor = rs.synthesize(formula)
    ours = monitor.run({atom: [letter[atom] for letter in trace[: len(values)]] for atom in monitor.atoms})
    same = np.abs(np.clip(np.asarray(values) + 0.5, 0.0, 1.0) - ours).max() < 1e-9
    return f"{nanoseconds(seconds)}{'' if same else ' (differs!)'}"


def rtamt(case: Case, bound: int, steps: int) -> str:
    import rtamt

    text = case.past.replace("K", str(bound)).replace("<", "(").replace(">", ")")
    specification = rtamt.StlDiscreteTimeSpecification()
    for name in (*ATOMS, "out"):
        specification.declare_var(name, "float")
    specification.spec = f"out = {text}"
    specification.parse()
    trace = letters(steps)
    rows = [[(atom, label - 0.5) for atom, label in letter.items()] for letter in trace]
    seconds, values = timed(lambda k: specification.update(k, rows[k]), steps)
    return shown(seconds, case.ours.replace("K", str(bound)), values, trace)


def reelay(case: Case, bound: int, steps: int) -> str:
    import reelay

    pattern = case.past.replace("K", str(bound)).replace(">", " > 0}").replace("<", "{")
    monitor = reelay.discrete_timed_monitor(pattern=pattern, semantics="robustness", condense=False)
    trace = letters(steps)
    rows = [{atom: label - 0.5 for atom, label in letter.items()} for letter in trace]
    seconds, results = timed(lambda k: monitor.update(rows[k]), steps)
    values = [result["value"] for result in results]
    return shown(seconds, case.ours.replace("K", str(bound)), values, trace)


def mstlo(case: Case, bound: int, steps: int, semantics: str = "DelayedQuantitative") -> str:
    import mstlo_python

    if case.mstlo is None:
        return "no past"
    monitor = mstlo_python.Monitor(mstlo_python.parse_formula(case.mstlo.replace("K", str(bound))), semantics=semantics)
    names = sorted(monitor.get_signal_identifiers())
    rows = [[letter[name] - 0.5 for name in names] for letter in letters(steps)]

    def update(k: int) -> None:
        for name, value in zip(names, rows[k], strict=True):
            output = monitor.update(name, value, float(k))
        output.verdicts()

    return nanoseconds(timed(update, steps)[0])


PEERS: Mapping[str, tuple[str, str, Callable[[Case, int, int], str]]] = {
    "RTAMT": ("rtamt", "rtamt", rtamt),
    "reelay": ("reelay", "reelay", reelay),
    "mstlo, k steps late": ("mstlo_python", "mstlo-python", mstlo),
}


def nanoseconds(seconds: float) -> str:
    return f"{seconds * 1e9:,.0f}" if seconds >= 1e-7 else f"{seconds * 1e9:.3g}"


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def steps_table(bounds: tuple[int, ...], rounds: int, peers: list[str], has_jax: bool) -> Iterator[str]:
    header = ["formula", "k", "one trace", f"NumPy {BATCH:,}", *([f"JAX {BATCH:,}"] * has_jax), "synthesis, s", *peers]
    yield row(header)
    yield "|---|" + "--:|" * (len(header) - 1)
    for case in CASES:
        monitors = [(rs.synthesize(case.ours.replace("K", str(bound))), bound) for bound in bounds]
        measures = (one_trace, numpy_batch, *([jax_batch] * has_jax))
        columns = [in_turns([measure(*each) for each in monitors], rounds) for measure in measures]
        for bound, seconds in zip(bounds, zip(*columns, strict=True), strict=True):
            cells = [f"`{case.ours.replace('K', 'k')}`", f"{bound:,}", *map(nanoseconds, seconds)]
            cells.append(f"{synthesis(case.ours.replace('K', str(bound)), rounds):.2g}")
            yield row([*cells, *(PEERS[peer][2](case, bound, 4 * bound + 2_000) for peer in peers)])


def bounds_table(bound: int, steps: int) -> Iterator[str]:
    """Bounds after each step, beside mstlo's intervals, which speak of each of the last k steps."""
    has_mstlo = importlib.util.find_spec("mstlo_python") is not None
    header = [
        "formula",
        "k",
        "once, ms",
        "one trace, ns",
        f"NumPy {BATCH:,}, ns",
        *["mstlo's intervals, ns"] * has_mstlo,
    ]
    yield row(header)
    yield "|---|" + "--:|" * (len(header) - 1)
    rng = np.random.default_rng(0)
    for case in CASES:
        monitor = rs.synthesize(case.ours.replace("K", str(bound)))
        cells = [f"`{case.ours.replace('K', 'k')}`", f"{bound:,}"]
        start = time.process_time()
        monitor.bounds(monitor.initial_state())
        cells.append(f"{(time.process_time() - start) * 1e3:.2g}")
        for batch in (None, BATCH):
            state, spent = monitor.initial_state(batch=batch), []
            for k in range(bound + steps if batch is None else 2 * steps):
                labels = {atom: rng.random(batch) for atom in monitor.atoms}
                state, _ = monitor.step(state, labels)
                if k >= bound or batch:
                    start = time.process_time()
                    monitor.bounds(state)
                    spent.append(time.process_time() - start)
            cells.append(nanoseconds(statistics.median(spent) / (batch or 1)))
        if has_mstlo:
            cells.append(mstlo(case, bound, 4 * bound, "Rosi"))
        yield row(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="k = 5 and 1,000, fewer rounds")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # RTAMT's parser imports what Python is about to lose
    has_jax = importlib.util.find_spec("jax") is not None
    peers = [name for name, (module, _, _) in PEERS.items() if importlib.util.find_spec(module) is not None]
    versions = [f"{package} {version(package)}" for name, (_, package, _) in PEERS.items() if name in peers]
    versions = [f"NumPy {np.__version__}", *(["JAX " + version("jax")] if has_jax else []), *versions]
    began = os.getloadavg()[0]
    print(f"nanoseconds per step and trace · Python {platform.python_version()} · {' · '.join(versions)}\n")
    for line in steps_table((5, 1_000) if quick else BOUNDS, 3 if quick else 9, peers, has_jax):
        print(line, flush=True)
    print("\nBounds after each step:\n")
    for line in bounds_table(1_000 if quick else BOUNDS[-1], 100):
        print(line, flush=True)
    print(f"\n{os.cpu_count()} cores; load when it began {began:.1f}, when it ended {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()

"""How long one step of a monitor takes, beside RTAMT's and reelay's online monitors, in one run.

    python benchmarks/monitor_step.py            # one trace, NumPy and JAX batches, and the peers
    python benchmarks/monitor_step.py --gpu      # JAX on a GPU, as a share of the memory bandwidth

Figures are nanoseconds for each step of each trace, the best of several repetitions.  Every step checks that its labels
lie in [0, 1]; "checked before" is a batch whose labels a spec has checked already, as the wrappers' are.  The peers
monitor only the past, so they get past formulas with the same value: `G a` is "historically a", `G(a -> F b)` is
"not (not b since (a and not b))", and so on.  RTAMT and reelay are measured where the `bench` extra is installed and
they can express the formula.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import rewardspec as rs
from rewardspec.machines.label_checks import CheckedLabels

FORMULAS = {
    "F p": "F p",
    "G(a -> F b)": "G(a -> F b)",
    "!a U (a & F b)": "!a U (a & F b)",
    "F(a & F(b & F c))": "F(a & F(b & F c))",
    "G(a -> (b U (c & F(d | G e))))": "G(a -> (b U (c & F(d | G e))))",
}

# Past formulas with the same value at every step; atoms are shifted by -0.5, so that negation is a change of sign.
RTAMT = {
    "F p": "out = once(p)",
    "G(a -> F b)": "out = not((not b) since (a and not b))",
    "!a U (a & F b)": "out = once(b and once(a and prev(historically(not a))))",
}
REELAY = {
    "F p": "once{p > 0}",
    "G(a -> F b)": "!(!{b > 0} since ({a > 0} && !{b > 0}))",
}

BATCHES = (64, 4_096, 65_536)


def best_of(run: Callable[[], None], *, calls: int, repeats: int = 7) -> float:
    """Seconds for one call, in the best of several repetitions."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best / calls


def one_trace(monitor: rs.Monitor, steps: int = 20_000) -> float:
    rng = np.random.default_rng(0)
    letters = [dict(zip(monitor.atoms, row, strict=True)) for row in rng.random((steps, len(monitor.atoms))).tolist()]

    def run() -> None:
        state, step = monitor.initial_state(), monitor.step
        for letter in letters:
            state, _ = step(state, letter)

    return best_of(run, calls=steps)


def numpy_batch(monitor: rs.Monitor, size: int, *, checked: bool = False) -> float:
    rng = np.random.default_rng(0)
    steps = max(20, 2_000_000 // size)
    kind = CheckedLabels if checked else dict
    letters = [kind({atom: rng.random(size) for atom in monitor.atoms}) for _ in range(4)]

    def run() -> None:
        state, step = monitor.initial_state(batch=size), monitor.step
        for k in range(steps):
            state, _ = step(state, letters[k % 4])

    return best_of(run, calls=steps * size)


def jax_batch(monitor: rs.Monitor, size: int) -> float:
    import jax
    import jax.numpy as jnp

    length = max(16, 1_000_000 // size)
    rng = np.random.default_rng(0)
    trace = {atom: jnp.asarray(rng.random((length, size)), dtype=jnp.float32) for atom in monitor.atoms}
    scan = jax.jit(lambda labels: monitor.run(labels)[-1])
    scan(trace).block_until_ready()
    return best_of(lambda: scan(trace).block_until_ready(), calls=length * size)


def rtamt_online(formula: str, atoms: tuple[str, ...], steps: int = 2_000) -> tuple[float, float] | None:
    """Seconds for each step, and the largest difference from our values."""
    if formula not in RTAMT or importlib.util.find_spec("rtamt") is None:
        return None
    import rtamt

    rng = np.random.default_rng(0)
    rows = rng.random((steps, len(atoms)))

    def specification() -> Any:
        spec = rtamt.StlDiscreteTimeSpecification()
        for atom in (*atoms, "out"):
            spec.declare_var(atom, "float")
        spec.spec = RTAMT[formula]
        spec.parse()
        return spec

    letters = [[(atom, value - 0.5) for atom, value in zip(atoms, row, strict=True)] for row in rows.tolist()]
    best, values = float("inf"), []
    for _ in range(3):
        spec = specification()
        start = time.perf_counter()
        values = [spec.update(time_step, letter) for time_step, letter in enumerate(letters)]
        best = min(best, time.perf_counter() - start)
    ours = rs.synthesize(formula).run({atom: rows[:, k] for k, atom in enumerate(atoms)})
    return best / steps, float(np.abs(np.array(values) + 0.5 - ours).max())


def reelay_online(formula: str, atoms: tuple[str, ...], steps: int = 20_000) -> float | None:
    """Seconds for each step of reelay's robustness monitor, which is written in C++."""
    if formula not in REELAY or importlib.util.find_spec("reelay") is None:
        return None
    import reelay

    rng = np.random.default_rng(0)
    letters = [dict(zip(atoms, row, strict=True)) for row in (rng.random((steps, len(atoms))) - 0.5).tolist()]
    best = float("inf")
    for _ in range(5):
        monitor = reelay.discrete_timed_monitor(pattern=REELAY[formula], semantics="robustness", condense=False)
        start = time.perf_counter()
        for letter in letters:
            monitor.update(letter)
        best = min(best, time.perf_counter() - start)
    return best / steps


def table() -> None:
    has_jax = importlib.util.find_spec("jax") is not None
    header = [
        "formula",
        "registers",
        "one trace",
        *(f"NumPy {size:,}" for size in BATCHES),
        "NumPy 4,096, checked before",
    ]
    header += [f"JAX {size:,}" for size in BATCHES[1:]] if has_jax else []
    header += ["RTAMT", "reelay"]
    print(f"nanoseconds per step and trace · Python {platform.python_version()} · NumPy {np.__version__}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for name, formula in FORMULAS.items():
        monitor = rs.synthesize(formula)
        cells = [f"`{name.replace('|', chr(92) + '|')}`", str(len(monitor.registers))]
        seconds = [one_trace(monitor), *(numpy_batch(monitor, size) for size in BATCHES)]
        seconds.append(numpy_batch(monitor, 4_096, checked=True))
        if has_jax:
            seconds += [jax_batch(monitor, size) for size in BATCHES[1:]]
        cells += [f"{s * 1e9:.3g}" for s in seconds]
        rtamt = rtamt_online(name, monitor.atoms)
        cells.append("–" if rtamt is None else f"{rtamt[0] * 1e9:,.0f}{'' if rtamt[1] < 1e-9 else ' (differs!)'}")
        reelay = reelay_online(name, monitor.atoms)
        cells.append("–" if reelay is None else f"{reelay * 1e9:,.0f}")
        print("| " + " | ".join(cells) + " |", flush=True)


def gpu(size: int = 2**24) -> None:
    """Steps per second on an accelerator, as a share of what its memory bandwidth allows."""
    import jax
    import jax.numpy as jnp

    device = jax.devices()[0]
    print(f"{device.device_kind} · JAX {jax.__version__} · batch of 2^24 = {size:,} traces\n")

    def timed(function: Callable[..., Any], *args: Any, calls: int = 50) -> float:
        jax.block_until_ready(function(*args))
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            result = args
            for _ in range(calls):
                result = function(*args)
            jax.block_until_ready(result)
            best = min(best, time.perf_counter() - start)
        return best / calls

    key = jax.random.key(0)
    source = jax.random.uniform(key, (16 * size,))  # a gigabyte for a batch of 2^24: far more than any cache holds
    copy = jax.jit(lambda x: x + 1.0)
    bandwidth = 2 * 4 * 16 * size / timed(copy, source)
    del source
    print(f"bandwidth of one kernel that copies a gigabyte, measured: {bandwidth / 1e12:.2f} TB/s\n")
    print("| formula | steps/s | bytes per step | share of bandwidth |\n|---|---|---|---|")
    for formula in FORMULAS:
        monitor = rs.synthesize(formula)
        keys = jax.random.split(key, len(monitor.atoms))
        labels = {atom: jax.random.uniform(k, (size,)) for atom, k in zip(monitor.atoms, keys, strict=True)}
        state = monitor.initial_state(batch=size, xp=jnp)
        # The results that differ: the new registers, and the value where no register holds it.
        separate = any(step.outputs[0] not in step.updates for step in monitor.program.steps)

        def step(state: Any, labels: Any, monitor: rs.Monitor = monitor, separate: bool = separate) -> Any:
            new, value = monitor.step(state, labels)
            return new.registers, value if separate else None

        seconds = timed(jax.jit(step), state, labels)
        moved = 4 * (len(monitor.atoms) + 2 * len(monitor.registers) + separate)
        share = moved * size / seconds / bandwidth
        print(f"| `{formula.replace('|', chr(92) + '|')}` | {size / seconds:.3g} | {moved} | {share:.0%} |", flush=True)
    traces, length = size // 64, 200
    print(f"\nwindows, in a `lax.scan` of {length} steps over {traces:,} traces\n")
    print("| formula | steps/s |\n|---|---|")
    for formula in (f"G(a -> F[0,{bound}] b)" for bound in (5, 50, 1000)):
        monitor = rs.synthesize(formula)
        labels = {atom: jax.random.uniform(key, (length, traces)) for atom in monitor.atoms}
        start = monitor.initial_state(batch=traces, xp=jnp)
        scan = jax.jit(lambda labels, start=start, monitor=monitor: jax.lax.scan(monitor.step, start, labels)[1][-1])
        seconds = timed(scan, labels, calls=1)
        print(f"| `{formula}` | {traces * length / seconds:.3g} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="measure JAX on a GPU instead")
    if parser.parse_args().gpu:
        gpu()
    else:
        table()

"""Seconds and memory of explanations of long episodes: of one windowed rule, of its page, and of a window of the past.

    python benchmarks/explain.py [--quick]

Memory is the peak of what Python allocates, measured in a run of its own, which it slows down.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import rewardspec as rs

RULE = "G(alarm -> F[0,30](closed W reset))"
PAST = "G(alarm -> O[0,1000] closed)"


def episode(spec: rs.Spec, rows: int, *, boolean: bool) -> dict[str, list[float]]:
    """Random labels: an alarm now and then, a valve that is mostly closed, and a few resets; or any degrees."""
    rng = np.random.default_rng(0)
    often = {"alarm": 0.01, "closed": 0.9, "reset": 0.05}
    draws = {atom: rng.random(rows) for atom in spec.atoms}
    if boolean:
        draws = {atom: (values < often[atom]).astype(float) for atom, values in draws.items()}
    return {atom: values.tolist() for atom, values in draws.items()}


def seconds(run: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    start = time.process_time()
    result = run(*args)
    return time.process_time() - start, result


def peak(run: Callable[..., Any], *args: Any) -> float:
    """The peak of allocated memory in MiB."""
    tracemalloc.start()
    run(*args)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 2**20


def table(cases: list[tuple[str, int, bool]]) -> Iterator[str]:
    yield "| formula | rows | labels | explain, s | explain, MiB | table, s | page, s | page, MiB | page's size, MB |"
    yield "|---|--:|---|--:|--:|--:|--:|--:|--:|"
    for formula, rows, boolean in cases:
        spec = rs.Spec([(formula, 1)])
        trace = episode(spec, rows, boolean=boolean)
        explaining, explanation = seconds(spec.explain, trace)
        printing, _ = seconds(str, explanation)
        drawing, page = seconds(explanation.to_html)
        cells = [f"`{formula}`", f"{rows:,}", "0 or 1" if boolean else "in [0, 1]"]
        cells += [f"{explaining:.2f}", f"{peak(spec.explain, trace):.0f}", f"{printing:.2f}"]
        cells += [f"{drawing:.2f}", f"{peak(explanation.to_html):.0f}", f"{len(page.encode()) / 1e6:.2f}"]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,000 rows alone")
    quick = parser.parse_args().quick
    sizes = (1_000,) if quick else (1_000, 5_000, 20_000)
    cases = [(RULE, rows, boolean) for boolean in (True, False) for rows in sizes]
    cases += [(PAST, 1_000 if quick else 8_000, boolean) for boolean in (True, False)]
    began = os.getloadavg()[0]
    print(f"seconds of processor time · Python {platform.python_version()} · NumPy {np.__version__}\n")
    for line in table(cases):
        print(line, flush=True)
    print(f"\n{os.cpu_count()} cores; load when it began {began:.1f}, when it ended {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()

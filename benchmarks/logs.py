"""Check logs with the commands alone: planted violations in 20,000 rows, and a million rows in bounded memory.

    python -m benchmarks.logs

A log has a row for each second of a plant. `tests/cli/planted_log.py` writes it: the rules are kept narrowly, except
for violations that are known. Times are those of whole commands, from the start of Python; other work on the
machine makes them longer, but not those of the processor. Memory is the largest resident set. The exported C is
compiled by `cc`.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

from tests.cli.planted_log import RULES, rules_file, verdicts_in_c, write_log

# Runs a command, and tells how long it took and how much memory it needed.
_MEASURED = """
import resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w"))
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


class Run(NamedTuple):
    """A command that was run: its exit status, seconds of time and of the processor, and largest memory in MiB."""

    status: int
    seconds: float
    processor: float
    memory: float


def run(output: Path, *words: str) -> Run:
    """Run a command of rewardspec."""
    command = [sys.executable, "-c", _MEASURED, str(output), sys.executable, "-m", "rewardspec", *words]
    status, *numbers = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return Run(int(status), *map(float, numbers))


def planted(folder: Path, length: int) -> None:
    """Find planted violations by the command, and by the exported C."""
    log, rules, output = folder / "plant.csv", folder / "plant.toml", folder / "found.json"
    known = write_log(log, length)
    rules.write_text(rules_file())
    done = run(output, "violations", str(rules), "--trace", str(log), "--format", "json")
    keys = ("rule", "step", "last_step", "certain_step", "recovered_step", "by")
    found = [tuple(row[key] for key in keys) for row in json.loads(output.read_text())]
    same = [
        one[:5] == other[:5] and (one[5] is None) == (other.by is None) and abs((one[5] or 0) - (other.by or 0)) < 1e-9
        for one, other in zip(found, known, strict=False)
    ]
    with redirect_stdout(open(os.devnull, "w")):
        in_c = verdicts_in_c(log, folder)
    print(f"{length:,} rows with {len(known)} planted violations: {len(found)} found in {done.processor:.2f} s of the")
    print(f"processor ({done.seconds:.2f} s in all).")
    print(f"Rule, trigger, last step, certain, recovered and margin are as planted for {sum(same)} of {len(known)}.\n")
    print("| rule | planted | found | broken steps, by the command | by the exported C | the same |")
    print("|---|---|---|---|---|---|")
    for name, rule in RULES.items():
        own = [row for row in found if row[0] == name]
        steps = {step for row in own for step in range(row[1], row[2] + 1)}
        there = {step for step, _ in in_c[name]}
        count = sum(each.rule == name for each in known)
        agreed = "yes" if steps == there else "no"
        print(f"| `{rule}` | {count} | {len(own)} | {len(steps):,} | {len(there):,} | {agreed} |")
    print()


def long_records(folder: Path) -> None:
    """The time and memory of 100,000 and of a million rows."""
    print("| command | rows | seconds of the processor | seconds in all | MiB |\n|---|---|---|---|---|")
    rules, output = folder / "plant.toml", folder / "output"
    for length in (100_000, 1_000_000):
        log = folder / "long.csv"
        write_log(log, length)
        monitors = [("monitor", str(rules)), ("monitor", RULES["pressure"])]
        for command in [("violations", str(rules)), *(monitors if length == 100_000 else [])]:
            done = run(output, *command, "--trace", str(log))
            given = Path(command[1]).name if command[1].endswith(".toml") else f"'{command[1]}'"
            times = f"{done.processor:.1f} | {done.seconds:.1f}"
            print(f"| `rewardspec {command[0]} {given}` | {length:,} | {times} | {done.memory:.0f} |", flush=True)


def main() -> None:
    """Print the tables."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores.\n")
    with tempfile.TemporaryDirectory() as name:
        planted(Path(name), 20_000)
        long_records(Path(name))


if __name__ == "__main__":
    main()

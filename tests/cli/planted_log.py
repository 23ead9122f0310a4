"""A log of a plant with planted violations of three rules, and what should be found in it."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import NamedTuple

from rewardspec.cli import main

RULES = {
    "alarm": 'G("alarm == 1" -> F[0s,30s] "valve == 0")',
    "pressure": 'G !G[0s,10s] "pressure > 5"',
    "temperature": 'G "abs(temperature - temperature@60s) <= 3"',
}
ROOM = 400  # rows for each violation


class Planted(NamedTuple):
    """A violation: its rule, and what `rewardspec violations` should say of it."""

    rule: str
    step: int
    last: int
    certain: int
    recovered: int
    by: float | None


def rules_file() -> str:
    """The spec file of the rules."""
    return "".join(f"[[pairs]]\nname = \"{name}\"\nformula = '{rule}'\nweight = 1\n\n" for name, rule in RULES.items())


def write_log(path: Path, length: int, seed: int = 0) -> list[Planted]:
    """Write a log with a row for each second, and return the violations in it, in the order of rules and steps.

    Between violations the rules are kept with little to spare: valves close after 30 seconds, the pressure is high for
    10 seconds, and the temperature rises by 2.9 degrees a minute.
    """
    draw = random.Random(seed)
    alarm, valve = [0] * length, [1] * length
    pressure, temperature = [4 + round(draw.random(), 3) for _ in range(length)], [60.0] * length
    planted: list[Planted] = []
    for start in range(0, length - ROOM, ROOM):
        at = start + 100 + draw.randrange(60)
        kind = draw.choice(("none", *RULES))
        late = 31 + draw.randrange(40) if kind == "alarm" else draw.randrange(31)
        alarm[at], valve[at + late] = 1, 0
        if kind == "alarm":
            planted.append(Planted("alarm", at, at, at + 30, at + late, None))
        rows = 11 + draw.randrange(30) if kind == "pressure" else draw.randrange(11)
        high = [5 + round(0.125 + 3 * draw.random(), 3) for _ in range(rows)]
        pressure[at : at + rows] = high
        if kind == "pressure":
            # In each stretch of 11 seconds the lowest pressure counts, and of these the highest.
            by = max(min(high[k : k + 11]) for k in range(rows - 10)) - 5
            planted.append(Planted("pressure", at, at + rows - 11, at + 10, at + rows, by))
        jump = 3.25 + draw.randrange(8) / 4 if kind == "temperature" else 2.9
        for k in range(at, at + 60):
            temperature[k] = 60.0 + jump  # and falls back just as a minute is over
        for k in range(at + 60, at + 120):
            temperature[k] = 60.0 + jump / 2
        if kind == "temperature":
            planted.append(Planted("temperature", at, at + 59, at, at + 60, jump - 3))
    with path.open("w") as file:
        file.write("time,alarm,valve,pressure,temperature\n")
        for k in range(length):
            file.write(f"{k},{alarm[k]},{valve[k]},{pressure[k]:.3f},{temperature[k]}\n")
    return sorted(planted, key=lambda each: (list(RULES).index(each.rule), each.step))


_MAIN = """
#include "verdict.c"
#include "margin.c"
#include <stdio.h>

int main(void)
{
    static verdict_record verdict;
    static margin_record margin;
    double row[5], given[5], held, by;
    long k;
    verdict_record_reset(&verdict);
    margin_record_reset(&margin);
    while (getchar() != '\\n') { }
    for (k = 0; scanf("%lf,%lf,%lf,%lf,%lf", row, row + 1, row + 2, row + 3, row + 4) == 5; k++) {
GIVEN
        held = verdict_record_step(&verdict, given);
        by = -margin_record_step(&margin, given);
        if (k >= DELAY && held < 0.5) { printf("%ld %.17g\\n", k - DELAY, by); }
    }
    return 0;
}
"""


def verdicts_in_c(log: Path, folder: Path) -> dict[str, list[tuple[int, float]]]:
    """For each rule the steps at which the exported C finds it broken, and by how much."""
    found = {}
    columns = log.read_text().split("\n", 1)[0].split(",")
    for name, rule in RULES.items():
        for file, semantics in (("verdict", "degree"), ("margin", "robustness")):
            words = ["export", rule, "--trace", str(log), "--verdicts", "--semantics", semantics]
            assert main([*words, "-o", str(folder / f"{file}.c")]) == 0
        text = (folder / "verdict.c").read_text()
        given = [
            f"        given[VERDICT_COLUMN_{column.upper()}] = row[{k}];"
            for k, column in enumerate(columns)
            if f"VERDICT_COLUMN_{column.upper()} =" in text
        ]
        delay = {"alarm": "30", "pressure": "10", "temperature": "0"}[name]
        source = _MAIN.replace("GIVEN", "\n".join(given)).replace("DELAY", delay)
        (folder / "main.c").write_text(source)
        command = ["cc", "-std=c99", "-O2", str(folder / "main.c"), "-o", str(folder / "check"), "-lm"]
        subprocess.run(command, check=True)
        with log.open() as file_in:
            done = subprocess.run([str(folder / "check")], stdin=file_in, capture_output=True, text=True, check=True)
        lines = (line.split() for line in done.stdout.splitlines())
        found[name] = [(int(step), float(by)) for step, by in lines]
    return found

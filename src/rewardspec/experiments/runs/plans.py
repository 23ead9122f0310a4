"""The plan of a directory of results: which jobs make which cell.

One directory may hold results of several configurations of a cell, after a change of budget or of the spec. The plan
says which of them the last `reproduce` was about; a cell that it was not about keeps the plan it had.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rewardspec.atomic_files import write_whole
from rewardspec.experiments.runs.jobs import Job

FILE = "plan.json"
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which jobs make which cell.

    Attributes:
        cells: The keys of the jobs of each (environment, reward).
    """

    cells: Mapping[tuple[str, str], tuple[str, ...]]

    @classmethod
    def of(cls, jobs: Iterable[Job]) -> Plan:
        """The plan of some jobs."""
        cells: dict[tuple[str, str], tuple[str, ...]] = {}
        for job in jobs:
            cells[job.task, job.reward] = (*cells.get((job.task, job.reward), ()), job.key)
        return cls(cells)

    def over(self, older: Plan | None) -> Plan:
        """This plan, and for the cells that it does not know an older one."""
        return self if older is None else Plan({**older.cells, **self.cells})


def write_plan(directory: Path, plan: Plan) -> None:
    """Write the plan of a directory."""
    cells = [{"task": task, "reward": reward, "jobs": keys} for (task, reward), keys in plan.cells.items()]
    text = json.dumps({"format": _FORMAT, "cells": cells}, indent=1)
    write_whole(directory / FILE, text.encode())


def read_plan(directory: Path, report: Callable[[str], None]) -> Plan | None:
    """The plan of a directory; None where there is none, or, which is reported, where it cannot be read."""
    path = directory / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        cells = {(str(c["task"]), str(c["reward"])): tuple(map(str, c["jobs"])) for c in content["cells"]}
        return Plan(cells)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        report(f"{FILE!r} cannot be read ({error}); of each cell, the configuration with the most seeds is taken.")
        return None

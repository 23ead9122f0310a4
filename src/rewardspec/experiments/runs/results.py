"""The directory of a reproduction: one file for each job that is done, and the plan of which belong to which cell.

Files are written whole or not at all, by one process at a time, so that killing it loses the jobs in flight and nothing
else. What is damaged is told and kept aside, never used and never deleted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rewardspec import tasks
from rewardspec.atomic_files import remove_leftovers, write_whole
from rewardspec.errors import Error
from rewardspec.experiments.cells import Cell
from rewardspec.experiments.rewards import REWARDS
from rewardspec.experiments.runs.directories import check_writable
from rewardspec.experiments.runs.jobs import Job
from rewardspec.experiments.runs.locks import locked
from rewardspec.experiments.runs.plans import Plan, read_plan, write_plan
from rewardspec.experiments.runs.result_files import Name, Result, ResultFileError, read
from rewardspec.learning.logs import TrainingLog

Report = Callable[[str], None]
"""Takes a message for people."""


def to_stderr(message: str) -> None:
    """Print a message where it does not mix with output."""
    print(message, file=sys.stderr)


class Results:
    """The results in one directory.

    Args:
        directory: Where they are, or will be.
        report: Told of what is damaged, foreign or left out.
    """

    def __init__(self, directory: str | os.PathLike[str], report: Report = to_stderr) -> None:
        self.directory = Path(directory)
        self.jobs = self.directory / "jobs"
        self.report = report

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """While this lasts, no other process writes here.

        Raises:
            Error: Another process is writing here, or nothing can be written here.
        """
        check_writable(self.jobs)
        with locked(self.directory / ".lock"):
            # Whoever left these is gone: it would hold the lock.
            remove_leftovers(self.jobs)
            remove_leftovers(self.directory)
            yield

    def path(self, job: Job) -> Path:
        """Where a job's result belongs."""
        return self.jobs / f"{job.key}.npz"

    def is_done(self, job: Job) -> bool:
        """Whether a job has a sound result here. A damaged one is renamed, so that the job can be done again."""
        path = self.path(job)
        if not path.exists():
            return False
        try:
            read(path)
        except ResultFileError as error:
            aside = _free_name(path)
            path.rename(aside)
            self.report(f"{error} It is kept as {aside.name!r}, and {job.label} is done again.")
            return False
        return True

    def store(self, job: Job, content: bytes) -> None:
        """Write a job's result.

        Raises:
            OSError: It cannot be written; no part of it is left.
        """
        write_whole(self.path(job), content)

    def plan(self, jobs: Iterable[Job]) -> None:
        """Note which jobs make which cells, in place of what was planned for these cells before."""
        old = read_plan(self.directory, self.report)
        write_plan(self.directory, Plan.of(jobs).over(old))

    def cells(self) -> Iterator[Cell]:
        """What is done, cell by cell, in the order of the table; of a cell in the plan, the planned jobs alone."""
        plan = read_plan(self.directory, self.report) or Plan({})
        found = self._by_cell()
        for task in tasks.names():
            for reward in REWARDS:
                stored = found.get((task, reward), [])
                planned = plan.cells.get((task, reward))
                chosen = _largest_group(stored) if planned is None else _planned(stored, planned)
                results = list(self._sound(chosen))
                if planned is not None and len(results) < len(planned):
                    self.report(f"{task} {reward}: {len(results)} of {len(planned)} jobs are done.")
                if results:
                    yield _merged(results)

    def _by_cell(self) -> dict[tuple[str, str], list[Path]]:
        found: dict[tuple[str, str], list[Path]] = {}
        for path in sorted(self.jobs.glob("*.npz")):
            name = Name.of(path.stem)
            if name is None or name.task not in tasks.names() or name.reward not in REWARDS:
                self.report(f"{path.name!r} is not the result of a known job; it is left alone.")
            else:
                found.setdefault((name.task, name.reward), []).append(path)
        return found

    def _sound(self, paths: Iterable[Path]) -> Iterator[Result]:
        for path in paths:
            try:
                yield read(path)
            except ResultFileError as error:
                self.report(f"{error} It is left out.")


def each_cell(directory: str | os.PathLike[str], *, report: Report = to_stderr) -> Iterator[Cell]:
    """The cells of the results in a directory, one after the other, so that not all have to be in memory.

    Args:
        directory: The directory of a reproduction.
        report: Told of files that are damaged, foreign or left out.

    Raises:
        Error: There is no such directory, or it holds no results; said when the first cell is asked for.
    """
    results = Results(directory, report)
    if not results.directory.is_dir():
        raise Error(f"There is no directory {str(directory)!r}. Make results with: rewardspec reproduce -o {directory}")
    empty = True
    for cell in results.cells():
        empty = False
        yield cell
    if empty:
        raise Error(f"There are no results in {str(directory)!r}. Make some with: rewardspec reproduce -o {directory}")


def _planned(stored: Sequence[Path], planned: Sequence[str]) -> list[Path]:
    by_key = {path.stem: path for path in stored}
    return [by_key[key] for key in planned if key in by_key]


def _largest_group(stored: Sequence[Path]) -> list[Path]:
    """Of the files of one cell, those of the configuration with the most seeds, no seed twice."""
    groups: dict[str, list[tuple[Name, Path]]] = {}
    for path in stored:
        name = Name.of(path.stem)
        if name is not None:
            groups.setdefault(name.digest, []).append((name, path))
    best: list[Path] = []
    most = 0
    for group in groups.values():
        chosen, covered, next_free = [], 0, 0
        for name, path in sorted(group, key=lambda pair: (pair[0].first, -pair[0].last)):
            if name.first >= next_free:
                chosen.append(path)
                covered += name.last - name.first + 1
                next_free = name.last + 1
        if covered > most:
            best, most = chosen, covered
    return best


def _merged(results: Sequence[Result]) -> Cell:
    results = sorted(results, key=lambda result: result.first)
    head = results[0]
    names = dict.fromkeys(name for result in results for name in result.versions)
    return Cell(
        task=head.task,
        reward=head.reward,
        log=TrainingLog.concatenate(result.log for result in results),
        seconds=sum(result.seconds for result in results),
        config=head.config,
        observe=head.setup.get("observe"),
        payment=head.setup.get("payment"),
        commands=tuple(dict.fromkeys(result.command for result in results)),
        versions={name: ", ".join(dict.fromkeys(r.versions.get(name, "none") for r in results)) for name in names},
        devices=tuple(dict.fromkeys(result.device for result in results)),
    )


def _free_name(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged{number}")
    return aside

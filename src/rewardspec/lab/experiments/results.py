"""The directory of a study's results: one file for each job that is done, and the plan of which belong to which cell.

Files are written whole or not at all, by one process at a time, so that killing it loses the jobs in flight and nothing
else. What is damaged is told and kept aside, never used and never deleted.

One directory may hold results of several configurations of a cell, after a change of budget or of a spec. The plan says
which of them the last call was about; a cell that it was not about keeps the plan it had.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardspec.atomic_files import remove_leftovers, write_whole
from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.experiments.result_files import Name, Result, ResultFileError, read
from rewardspec.lab.experiments.study import Cell, Study, merged_description, study_of
from rewardspec.lab.learning.training_log import TrainingLog

PLAN = "plan.json"
_PLAN_FORMAT = 1
_PAPER = {"study": "paper"}
"""The study of a directory that does not say which."""
Notify = Callable[[str], None]
"""Callback that takes a message for the user."""
Plan = Mapping[tuple[str, str], tuple[str, ...]]
"""The keys of the jobs that make each cell, by (task, reward)."""


def to_stderr(message: str) -> None:
    """Print a message where it does not mix with output."""
    print(message, file=sys.stderr)


class Results:
    """The results in one directory.

    Args:
        directory: Where they are, or will be.
        report: Told of what is damaged, foreign or left out.
        references: Whether the module of the environment that the plan names may be imported to read the results.
    """

    def __init__(
        self, directory: str | os.PathLike[str], report: Notify = to_stderr, *, references: bool = False
    ) -> None:
        self.references = references
        self.directory = Path(directory)
        self.jobs = self.directory / "jobs"
        self.report = report

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Context in which no other process writes here.

        Raises:
            Error: Another process is writing here, or nothing can be written here.
        """
        _check_writable(self.jobs)
        with _locked(self.directory):
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

    def plan(self, jobs: Iterable[Job], study: Mapping[str, Any]) -> None:
        """Note which jobs make which cells, in place of what was planned for these cells before.

        Args:
            jobs: The jobs.
            study: The description of the study that they belong to.

        Raises:
            Error: The directory holds the results of another study.
        """
        old, planned = self._read_plan()
        cells = dict(planned)
        for job in jobs:
            cells[job.task, job.reward] = ()
        for job in jobs:
            cells[job.task, job.reward] += (job.key,)
        content = {
            "format": _PLAN_FORMAT,
            "study": merged_description(old, study) if planned else study,
            "cells": [{"task": task, "reward": reward, "jobs": keys} for (task, reward), keys in cells.items()],
        }
        write_whole(self.directory / PLAN, json.dumps(content, indent=1).encode())

    def study(self) -> Study:
        """The study whose results these are, to be shown: functions that its specs name are not imported."""
        return self._shown(self._read_plan()[0])

    def _shown(self, description: Mapping[str, Any]) -> Study:
        return study_of(description, show=True, references=self.references)

    def cells(self) -> Iterator[Cell]:
        """Finished cells in the order of the table; where there is a plan of a cell, of its planned jobs alone."""
        description, plan = self._read_plan()
        known = self._shown(description).cells
        found = self._by_cell(known)
        for cell in known:
            stored, planned = found.get(cell, []), plan.get(cell)
            chosen = _largest_group(stored) if planned is None else _planned(stored, planned)
            results = list(self._sound(chosen))
            if planned is not None and len(results) < len(planned):
                self.report(f"{' '.join(cell)}: {len(results)} of {len(planned)} jobs are done.")
            if results:
                yield _merged(results)

    def _read_plan(self) -> tuple[Mapping[str, Any], Plan]:
        """The study, and the plan; empty where there is none, or, which is reported, where it cannot be read."""
        try:
            content = json.loads((self.directory / PLAN).read_text(encoding="utf-8"))
            if content["format"] != _PLAN_FORMAT:
                raise ValueError(f"its format is {content['format']!r}")
            cells = {(str(c["task"]), str(c["reward"])): tuple(map(str, c["jobs"])) for c in content["cells"]}
            return dict(content.get("study", _PAPER)), cells
        except FileNotFoundError:
            return _PAPER, {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.report(f"{PLAN!r} cannot be read ({error}); of each cell, the largest configuration is taken.")
            return _PAPER, {}

    def _by_cell(self, known: Collection[tuple[str, str]]) -> dict[tuple[str, str], list[Path]]:
        found: dict[tuple[str, str], list[Path]] = {}
        for path in sorted(self.jobs.glob("*.npz")):
            name = Name.of(path.stem)
            if name is None or (name.task, name.reward) not in known:
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


def open_results(
    directory: str | os.PathLike[str], *, report: Notify = to_stderr, references: bool = False
) -> tuple[Study, Iterator[Cell]]:
    """The study of the results in a directory, and its cells one after the other, so that not all are in memory.

    Args:
        directory: The directory.
        report: Told of files that are damaged, foreign or left out.
        references: Whether the module of an environment `module:…` may be imported, which runs its code. Functions that
            specs name are never imported for this.

    Raises:
        Error: There is no such directory, it holds no results, or those of an environment that may not be imported.
    """
    results = Results(directory, report, references=references)
    how = f"with: rewardspec reproduce -o {directory}"
    if results.directory.is_file():
        raise Error(f"{str(directory)!r} is a file. Give the directory where `rewardspec reproduce` put its results.")
    if not results.directory.is_dir():
        raise Error(f"There is no directory {str(directory)!r}. Make results {how}")
    cells = results.cells()
    first = next(cells, None)
    if first is None:
        raise Error(f"There are no results in {str(directory)!r}. Make some {how}")
    return results.study(), itertools.chain((first,), cells)


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


def _check_writable(directory: Path) -> None:
    """Make a directory, and write something into it to see that this can be done, before anything is trained."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / ".probe"
        write_whole(probe, bytes(1 << 16))
        probe.unlink()
    except OSError as error:
        raise Error(
            f"Cannot write into {str(directory)!r}: {error.strerror}. Nothing was trained. "
            "Make room or set its permissions, or give another directory."
        ) from None


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the directory's lock, which the system releases when the process ends, however it ends."""
    try:
        import filelock
    except ImportError:
        raise MissingExtraError("filelock", "learn", "Training into a directory") from None
    holder = directory / ".holder"  # the lock file itself cannot be read on Windows while it is held
    lock = filelock.FileLock(directory / ".lock", blocking=False)
    try:
        lock.acquire()
    except filelock.Timeout:
        number = holder.read_text(encoding="ascii") if holder.exists() else "?"
        raise Error(
            f"Another process (number {number}) is writing into {str(directory)!r}. "
            "Wait until it has finished, end it, or give another directory."
        ) from None
    with lock:
        holder.write_text(str(os.getpid()), encoding="ascii")
        yield

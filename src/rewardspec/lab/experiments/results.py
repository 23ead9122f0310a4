"""Directory of a study's results: one file for each finished job, and a plan that assigns jobs to cells.

Files are written atomically, by one process at a time, so killing it loses only the running jobs. Damaged files are
reported and renamed, never used or deleted.

A directory may hold results of several configurations of a cell, after a change of budget or spec. The plan lists the
jobs of the last call; cells outside that call keep their former plan.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rewardspec.atomic_files import remove_leftovers, write_whole
from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.experiments.result_files import ResultFileError, parsed_name, read
from rewardspec.lab.experiments.study import Cell, Study, merged_description, study_of
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.types import JsonObject

PLAN = "plan.json"
_PLAN_FORMAT = 1
_PAPER: JsonObject = {"study": "paper"}  # the study of a directory without a description
Notify = Callable[[str], None]
"""Callback that takes a message for the user."""
Plan = Mapping[tuple[str, str], tuple[str, ...]]
"""The keys of the jobs that make each cell, by (task, reward)."""


def to_stderr(message: str) -> None:
    """Print a message to the standard error stream."""
    print(message, file=sys.stderr)


class Results:
    """The results in one directory.

    `report` is called with a message for each damaged, foreign or ignored file. `references` says whether the module of
    the plan's environment may be imported to read the results.
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
        """Hold the lock of the directory, in which nobody else writes meanwhile."""
        _check_writable(self.jobs)
        with _locked(self.directory):
            # The process that left these has ended: it would hold the lock.
            remove_leftovers(self.jobs)
            remove_leftovers(self.directory)
            yield

    def path(self, job: Job) -> Path:
        """Return the path of a job's result."""
        return self.jobs / f"{job.key}.npz"

    def is_done(self, job: Job) -> bool:
        """Return whether a job has a valid result. Rename a damaged one, so that the job runs again."""
        path = self.path(job)
        if not path.exists():
            return False
        try:
            read(path)
        except ResultFileError as error:
            aside = _free_name(path)
            path.rename(aside)
            self.report(f"{error} It is kept as {aside.name!r}, and {job.label} runs again.")
            return False
        return True

    def store(self, job: Job, content: bytes) -> None:
        """Write a job's result, as a whole or, with an OSError, not at all."""
        write_whole(self.path(job), content)

    def plan(self, jobs: Iterable[Job], study: JsonObject) -> None:
        """Write the plan: replace the jobs of the given cells. `study` is the description of the study."""
        jobs = list(jobs)
        old, planned = self._read_plan()
        merged = merged_description(old, study) if planned else study
        cells = dict(planned)
        if merged.get("study") == "own" and jobs:
            again = {(job.task, job.reward) for job in jobs}
            self._check_kept({cell: keys for cell, keys in planned.items() if cell not in again}, jobs)
        for job in jobs:
            cells[job.task, job.reward] = ()
        for job in jobs:
            cells[job.task, job.reward] += (job.key,)
        content = {
            "format": _PLAN_FORMAT,
            "study": merged,
            "cells": [{"task": task, "reward": reward, "jobs": keys} for (task, reward), keys in cells.items()],
        }
        write_whole(self.directory / PLAN, json.dumps(content, indent=1).encode())

    def _check_kept(self, kept: Plan, jobs: Sequence[Job]) -> None:
        """Raise an Error if cells that stay in the table have other settings, or another number of seeds."""
        one = jobs[0]
        seeds = sum(job.count for job in jobs if job.reward == one.reward)
        for (_, reward), keys in kept.items():
            names = [name for name in map(parsed_name, keys) if name is not None]
            runs = sum(int(name["last"]) - int(name["first"]) + 1 for name in names)
            for stored in self._sound(path for key in keys if (path := self.jobs / f"{key}.npz").exists()):
                _check_equal(one.reward, {**one.settings, "seeds": seeds}, reward, {**stored.config, "seeds": runs})

    def study(self) -> Study:
        """Load the study, without importing the functions that its specs refer to."""
        return study_of(self._read_plan()[0], show=True, references=self.references)

    def cells(self) -> Iterator[Cell]:
        """Yield the finished cells in the order of the table; a planned cell has only its planned jobs."""
        description, plan = self._read_plan()
        known = study_of(description, show=True, references=self.references).cells
        found = self._by_cell(known)
        first: Cell | None = None
        for cell in known:
            stored, planned = found.get(cell, []), plan.get(cell)
            chosen = _largest_group(stored) if planned is None else _planned(stored, planned)
            results = list(self._sound(chosen))
            if planned is not None and len(results) < len(planned):
                self.report(f"{' '.join(cell)}: {len(results)} of {len(planned)} jobs are done.")
            if results:
                merged = _merged(results)
                first = first or merged
                if description.get("study") == "own":
                    _check_equal(merged.reward, merged.config, first.reward, first.config)
                yield merged

    def _read_plan(self) -> tuple[JsonObject, Plan]:
        """Read the study and the plan; the plan is empty if the file is missing or, with a report, unreadable."""
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
            name = parsed_name(path.stem)
            if name is None or (name["task"], name["reward"]) not in known:
                self.report(f"{path.name!r} is not the result of a known job; it is ignored.")
            else:
                found.setdefault((name["task"], name["reward"]), []).append(path)
        return found

    def _sound(self, paths: Iterable[Path]) -> Iterator[Cell]:
        for path in paths:
            try:
                yield read(path)
            except ResultFileError as error:
                self.report(f"{error} It is ignored.")


def open_results(
    directory: str | os.PathLike[str], *, report: Notify = to_stderr, references: bool = False
) -> tuple[Study, Iterator[Cell]]:
    """Open a directory of results: its study, and an iterator over the cells that loads one at a time.

    `report` is called with a message for each damaged, foreign or ignored file. `references` says whether the module of
    an environment `module:…` may be imported, which runs its code. Functions that specs refer to are never imported.
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


def _check_equal(one: str, settings: JsonObject, other: str, others: JsonObject) -> None:
    """Raise an Error that names the first setting in which two rewards of a comparison differ."""
    for name in {**settings, **others}:
        here, there = settings.get(name), others.get(name)
        if here != there:
            raise Error(
                f"Only results of equal settings are compared, and `{name}` is {here!r} for {one!r} and {there!r} for "
                f"{other!r}, whose results are in the directory. Repeat the settings, name all specs again to train "
                "them anew, or give another directory with -o."
            )


def _planned(stored: Sequence[Path], planned: Sequence[str]) -> list[Path]:
    by_key = {path.stem: path for path in stored}
    return [by_key[key] for key in planned if key in by_key]


def _largest_group(stored: Sequence[Path]) -> list[Path]:
    """Choose the files of the configuration with the most seeds, without duplicate seeds."""
    groups: dict[str, list[tuple[int, int, Path]]] = {}
    for path in stored:
        name = parsed_name(path.stem)
        if name is not None:
            groups.setdefault(name["digest"], []).append((int(name["first"]), int(name["last"]), path))
    best: list[Path] = []
    most = 0
    for group in groups.values():
        chosen, covered, next_free = [], 0, 0
        for first, last, path in sorted(group, key=lambda named: (named[0], -named[1])):
            if first >= next_free:
                chosen.append(path)
                covered += last - first + 1
                next_free = last + 1
        if covered > most:
            best, most = chosen, covered
    return best


def _merged(results: Sequence[Cell]) -> Cell:
    """Merge the results of the jobs of a cell."""
    results = sorted(results, key=lambda result: result.first)
    names = dict.fromkeys(name for result in results for name in result.versions)
    return dataclasses.replace(
        results[0],
        log=TrainingLog.concatenate(result.log for result in results),
        seconds=sum(result.seconds for result in results),
        commands=tuple(dict.fromkeys(command for result in results for command in result.commands)),
        versions={name: ", ".join(dict.fromkeys(r.versions.get(name, "none") for r in results)) for name in names},
        devices=tuple(dict.fromkeys(device for result in results for device in result.devices)),
    )


def _free_name(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged{number}")
    return aside


def _check_writable(directory: Path) -> None:
    """Create the directory and check that files can be written, before anything is trained."""
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
    """Hold the directory's lock, which the system releases when the process ends."""
    try:
        import filelock
    except ImportError:
        raise MissingExtraError("filelock", "learn", "Training into a directory") from None
    holder = directory / ".holder"  # a held lock file cannot be read on Windows
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

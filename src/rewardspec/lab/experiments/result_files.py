"""The file of one job's result: the columns of its log and a header, as NumPy arrays in a zip file.

Any tool that reads `.npz` can read one. Nothing is pickled, and the same result is the same file, byte for byte.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardspec.errors import Error
from rewardspec.lab.experiments.jobs import Job, digest
from rewardspec.lab.learning.array_files import ArrayFile, DamagedFileError, Declared, write_arrays
from rewardspec.lab.learning.training_log import TrainingLog

FORMAT = 1
_KIND = "rewardspec result"
_NAME = re.compile(r"(?P<task>[\w.+-]+)-(?P<reward>[\w.+]+)-seeds(?P<first>\d+)-(?P<last>\d+)-(?P<digest>[0-9a-f]{8})")


class ResultFileError(Error, ValueError):
    """A result file that is damaged, foreign, of another version, or not what its name says."""


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a job, as its file holds it: the log of its runs, and where it comes from.

    Attributes:
        task: The task's name.
        reward: The reward's name.
        first: The first seed.
        count: How many seeds.
        config: The learner's settings.
        setup: What the reward was.
        log: What the runs did.
        seconds: Wall-clock seconds of training.
        command: The command that asked for it.
        versions: The versions of what it was trained with.
        device: What it was trained on, in general words.
    """

    task: str
    reward: str
    first: int
    count: int
    config: Mapping[str, Any]
    setup: Mapping[str, Any]
    log: TrainingLog
    seconds: float
    command: str
    versions: Mapping[str, str]
    device: str

    @property
    def key(self) -> str:
        """The name under which it belongs."""
        last = self.first + self.count - 1
        return f"{self.task}-{self.reward}-seeds{self.first}-{last}-{digest(self.config, self.setup)}"


@dataclasses.dataclass(frozen=True)
class Name:
    """What the name of a result file says."""

    task: str
    reward: str
    first: int
    last: int
    digest: str

    @classmethod
    def of(cls, stem: str) -> Name | None:
        """Read a name without its ending; None for one that no job has.

        Example:
            >>> Name.of("taxi-base-seeds0-499-0123abcd").last
            499
            >>> Name.of("notes") is None
            True
        """
        found = _NAME.fullmatch(stem)
        if found is None or int(found["last"]) < int(found["first"]):
            return None
        return cls(found["task"], found["reward"], int(found["first"]), int(found["last"]), found["digest"])


def encode(
    job: Job, log: TrainingLog, *, seconds: float, command: str, versions: Mapping[str, str], device: str
) -> bytes:
    """The content of a job's result file."""
    header = {
        "kind": _KIND,
        "format": FORMAT,
        "task": job.task,
        "reward": job.reward,
        "first": job.first,
        "count": job.count,
        "config": job.settings,
        "setup": dict(job.setup),
        "seconds": seconds,
        "command": command,
        "versions": dict(versions),
        "device": device,
    }
    return write_arrays(header, log.columns())


def read(path: Path) -> Result:
    """The result in a file, every byte of it checked.

    Raises:
        ResultFileError: It is not a whole result of this version, or not the one its name promises.
    """
    try:
        with ArrayFile(path) as file:
            result = _without_log(path, file)
            _check_declared(result, file.declared)
            return dataclasses.replace(result, log=TrainingLog.of(result.count, file.read()))
    except OSError as error:
        raise ResultFileError(f"{path.name!r} cannot be read: {error.strerror or error}.") from None
    except DamagedFileError as error:
        raise ResultFileError(f"{path.name!r} is damaged or no result at all: {error}.") from None
    except ResultFileError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ResultFileError(f"{path.name!r} is incomplete or inconsistent: {error}") from None


def _without_log(path: Path, file: ArrayFile) -> Result:
    """The result that a file's header describes."""
    foreign = f"{path.name!r} is not a result of rewardspec"
    try:
        header = file.header()
    except DamagedFileError as error:
        raise ResultFileError(f"{foreign}: {error}.") from None
    if not isinstance(header, dict) or header.get("kind") != _KIND:
        raise ResultFileError(f"{foreign}: its header is another program's.")
    if header.get("format") != FORMAT:
        raise ResultFileError(
            f"{path.name!r} is of format {header.get('format')!r}, and this version of rewardspec reads {FORMAT}. "
            "Use the version that wrote it."
        )
    result = Result(
        task=str(header["task"]),
        reward=str(header["reward"]),
        first=int(header["first"]),
        count=int(header["count"]),
        config=dict(header["config"]),
        setup=dict(header["setup"]),
        log=TrainingLog.empty(int(header["count"]), ["unread"]),
        seconds=float(header["seconds"]),
        command=str(header["command"]),
        versions=dict(header["versions"]),
        device=str(header["device"]),
    )
    if result.key != path.stem:
        raise ResultFileError(f"{path.name!r} holds the result of another job, {result.key!r}.")
    return result


def _check_declared(result: Result, declared: Mapping[str, Declared]) -> None:
    """Raise ValueError where a column cannot be that of the job: it cannot have had so many episodes."""
    most = result.count * int(result.config["episodes" if "episodes" in result.config else "total_steps"])
    for column, (shape, dtype) in declared.items():
        if len(shape) != 1 or shape[0] > most or dtype.kind not in "fiub":
            raise ValueError(
                f"its column {column!r} has shape {shape} of {dtype}, not one number for each of at most {most} "
                "episodes."
            )

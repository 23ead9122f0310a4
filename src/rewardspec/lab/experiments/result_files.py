"""Result files of jobs: the columns of a log and a header, as NumPy arrays in an `.npz` file.

Nothing is pickled, and equal results give byte-identical files.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from rewardspec.errors import Error
from rewardspec.lab.experiments.jobs import Job, digest
from rewardspec.lab.learning.array_files import ArrayFile, DamagedFileError, Declared, write_arrays
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.types import JsonObject

FORMAT = 1
_KIND = "rewardspec result"
_NAME = re.compile(r"(?P<task>[\w.+-]+)-(?P<reward>[\w.+]+)-seeds(?P<first>\d+)-(?P<last>\d+)-(?P<digest>[0-9a-f]{8})")


class ResultFileError(Error, ValueError):
    """A result file that is damaged, foreign, of another version, or does not match its name."""


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a job: the log of its runs and its provenance.

    Attributes:
        task: Name of the task.
        reward: Name of the reward.
        first: The first seed.
        count: Number of seeds.
        config: Settings of the learner.
        setup: Description of the reward.
        log: The episodes.
        seconds: Wall-clock seconds of training.
        command: The command line.
        versions: Versions of the packages.
        device: The kind of machine.
    """

    task: str
    reward: str
    first: int
    count: int
    config: JsonObject
    setup: JsonObject
    log: TrainingLog
    seconds: float
    command: str
    versions: Mapping[str, str]
    device: str

    @property
    def key(self) -> str:
        """Name of its file."""
        last = self.first + self.count - 1
        return f"{self.task}-{self.reward}-seeds{self.first}-{last}-{digest(self.config, self.setup)}"


@dataclasses.dataclass(frozen=True)
class Name:
    """The parts of the name of a result file."""

    task: str
    reward: str
    first: int
    last: int
    digest: str

    @classmethod
    def of(cls, stem: str) -> Name | None:
        """Parse a file name without its suffix; return None if it is not the name of a result.

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
    """Encode the result file of a job."""
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
    """Read and check a result file.

    Raises:
        ResultFileError: It is not a complete result of this version, or does not match its name.
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
    """Read the header of a result file."""
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
    """Raise a ValueError if a column does not have one number for each possible episode."""
    most = result.count * int(result.config["episodes" if "episodes" in result.config else "total_steps"])
    for column, (shape, dtype) in declared.items():
        if len(shape) != 1 or shape[0] > most or dtype.kind not in "fiub":
            raise ValueError(
                f"its column {column!r} has shape {shape} of {dtype}, not one number for each of at most {most} "
                "episodes."
            )

"""Result files of jobs: the columns of a log and a header, as NumPy arrays in an `.npz` file.

Nothing is pickled, and equal results give byte-identical files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rewardspec.errors import Error
from rewardspec.lab.experiments.jobs import Job, key_of
from rewardspec.lab.experiments.study import Cell
from rewardspec.lab.learning.array_files import ArrayFile, DamagedFileError, Declared, write_arrays
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.types import JsonObject

FORMAT = 1
_KIND = "rewardspec result"
_NAME = re.compile(r"(?P<task>[\w.+-]+)-(?P<reward>[\w.+]+)-seeds(?P<first>\d+)-(?P<last>\d+)-(?P<digest>[0-9a-f]{8})")


class ResultFileError(Error, ValueError):
    """A result file that is damaged, foreign, of another version, or does not match its name."""


def parsed_name(stem: str) -> re.Match[str] | None:
    """Parse the name of a result file, without its suffix; return None if it is not the name of a result.

    Example:
        >>> parsed_name("taxi-base-seeds0-499-0123abcd")["last"], parsed_name("notes")
        ('499', None)
    """
    found = _NAME.fullmatch(stem)
    return None if found is None or int(found["last"]) < int(found["first"]) else found


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


def read(path: Path) -> Cell:
    """Read and check a result file: a cell with the runs of one job."""
    try:
        with ArrayFile(path) as file:
            header = _header(path, file)
            count, config = int(header["count"]), dict(header["config"])
            _check_declared(count, config, file.declared)
            return Cell(
                task=str(header["task"]),
                reward=str(header["reward"]),
                log=TrainingLog.from_columns(count, file.read()),
                seconds=float(header["seconds"]),
                config=config,
                observe=header["setup"].get("observe"),
                payment=header["setup"].get("payment"),
                commands=(str(header["command"]),),
                versions=dict(header["versions"]),
                devices=(str(header["device"]),),
                first=int(header["first"]),
            )
    except OSError as error:
        raise ResultFileError(f"{path.name!r} cannot be read: {error.strerror or error}.") from None
    except DamagedFileError as error:
        raise ResultFileError(f"{path.name!r} is damaged or no result at all: {error}.") from None
    except ResultFileError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ResultFileError(f"{path.name!r} is incomplete or inconsistent: {error}") from None


def _header(path: Path, file: ArrayFile) -> JsonObject:
    """Read the header of a result file, and check that it belongs there."""
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
    config, setup = dict(header["config"]), dict(header["setup"])
    key = key_of(header["task"], header["reward"], header["first"], header["count"], config, setup)
    if key != path.stem:
        raise ResultFileError(f"{path.name!r} holds the result of another job, {key!r}.")
    return header


def _check_declared(count: int, config: JsonObject, declared: Mapping[str, Declared]) -> None:
    """Raise a ValueError if a column does not have one number for each possible episode."""
    most = count * int(config["episodes" if "episodes" in config else "total_steps"])
    for column, (shape, dtype) in declared.items():
        if len(shape) != 1 or shape[0] > most or dtype.kind not in "fiub":
            raise ValueError(
                f"its column {column!r} has shape {shape} of {dtype}, not one number for each of at most {most} "
                "episodes."
            )

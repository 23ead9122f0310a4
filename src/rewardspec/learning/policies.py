"""Learnt policies: what acts, and how it is kept in a file."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, PolicyFileError
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml import loads_spec
from rewardspec.spec.toml_writing import dumps_spec

FORMAT = "rewardspec policy 1"
Kind: TypeAlias = Literal["table", "network"]


@dataclasses.dataclass(frozen=True)
class Policy:
    """The policies that several runs learnt for one task under one reward.

    Attributes:
        kind: `"table"` for learnt values of every observation and action, `"network"` for an actor's layers.
        task: The task's name.
        spec: The spec that paid, or None for the environment's own reward.
        observe: What of the monitor the policy sees.
        seeds: The seed of each run.
        arrays: The numbers, the runs first: `table`; or `w0`, `b0`, …, and `mean` and `variance` where observations are
            normalised, and `log_std` where actions are continuous.
    """

    kind: Kind
    task: str
    spec: Spec | None
    observe: str | None
    seeds: tuple[int, ...]
    arrays: dict[str, NDArray[Any]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in one move, so that nobody ever sees half of it.

        Raises:
            SpecError: An atom of the spec cannot be saved.
            PolicyFileError: The file cannot be written.
        """
        header = {
            "format": FORMAT,
            "kind": self.kind,
            "task": self.task,
            "spec": None if self.spec is None else dumps_spec(self.spec),
            "observe": self.observe,
            "seeds": list(self.seeds),
        }
        target = Path(path).resolve()
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as file:
                arrays: dict[str, Any] = {"header": np.array(json.dumps(header)), **self.arrays}
                np.savez_compressed(file, **arrays)
            os.replace(temporary, target)
        except OSError as error:
            raise PolicyFileError(f"Cannot write the policy {os.fspath(path)!r}: {error.strerror}.") from None
        finally:
            temporary.unlink(missing_ok=True)


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy in a file.

    Like a spec's TOML file, it may name functions for its atoms, which are imported: load only files whose modules you
    trust. Nothing else in it is run.

    Raises:
        PolicyFileError: The file cannot be read, or is damaged or foreign.
    """
    name = os.fspath(path)
    try:
        # Opened here: NumPy would leave a damaged archive open.
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != FORMAT:
            raise PolicyFileError(f"{name!r} has the format {header['format']!r}, not {FORMAT!r}.")
        policy = Policy(
            kind=header["kind"],
            task=str(header["task"]),
            spec=None if header["spec"] is None else loads_spec(header["spec"]),
            observe=header["observe"],
            seeds=tuple(map(int, header["seeds"])),
            arrays=arrays,
        )
    except Error:
        raise
    except OSError as error:
        reason = error.strerror or "it is no NumPy archive"
        raise PolicyFileError(f"Cannot read the policy {name!r}: {reason}.") from None
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise PolicyFileError(
            f"{name!r} is not a policy that rewardspec saved, or is damaged ({type(error).__name__}). Train it again "
            "with `rewardspec train`."
        ) from None
    needed = {"table": {"table"}, "network": {"w0", "b0", "w1", "b1", "w2", "b2"}}.get(policy.kind)
    if needed is None or not needed <= set(arrays) or any(len(a) != len(policy.seeds) for a in arrays.values()):
        raise PolicyFileError(f"{name!r} is damaged: its arrays are not those of {len(policy.seeds)} policies.")
    return policy

"""Learned policies, and their files."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import re
from typing import Literal, TypeAlias, get_args

from rewardspec.atomic_files import write_whole
from rewardspec.environments import imports_module
from rewardspec.episodes.features import Features
from rewardspec.errors import Error, MissingExtraError, PolicyFileError
from rewardspec.lab.learning.array_files import ArrayFile, DamagedFileError, Declared, write_arrays
from rewardspec.lab.learning.finite_tables import finite_tables
from rewardspec.lab.learning.networks import HIDDEN
from rewardspec.lab.learning.settings import SB3
from rewardspec.lab.learning.spaces import Actions, counts_steps, features_of, observation_size
from rewardspec.lab.tasks import task_lookup
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import loads_spec
from rewardspec.spec.toml_writing import dumps_spec
from rewardspec.types import Array, Json, JsonObject
from rewardspec.wrappers.monitor_reward import readable

FORMAT = "rewardspec policy 1"
_LARGEST = 2**26  # numbers of a network that a file may ask for
Kind: TypeAlias = Literal["table", "network", "sb3"]


@dataclasses.dataclass(frozen=True)
class Policy:
    """The policies of several runs, for one task and one reward.

    Attributes:
        kind: `"table"` for a table of action values, `"network"` for an actor network, `"sb3"` for a policy of
            Stable-Baselines3.
        task: The task.
        spec: The spec, or None for the environment's own reward.
        observe: Part of the monitor's state that the policy observes.
        seeds: The seed of each run.
        arrays: Parameters by name, with the runs as first axis: `table`; or `w0`, `b0`, …, with `mean` and `variance`
            of normalized observations and `log_std` of continuous actions; or the parameters of an SB3 policy.
        learner: Settings of a policy of Stable-Baselines3.
        scale_actions: Whether outputs of a network in [-1, 1] are mapped onto the bounds of the actions.
    """

    kind: Kind
    task: Task
    spec: Spec | None
    observe: str | None
    seeds: tuple[int, ...]
    arrays: dict[str, Array]
    learner: SB3 | None = None
    scale_actions: bool = False

    def __repr__(self) -> str:
        runs = f"{len(self.seeds)} run{'s' * (len(self.seeds) != 1)}"
        paid = "the environment's own reward" if self.spec is None else repr(self.spec)
        seen = "" if self.observe is None else f", observing {self.observe}"
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays.items())
        return f"<Policy for {self.task.name}: {self.kind} of {runs}, paid by {paid}{seen}; {shapes}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file, atomically.

        Raises:
            SpecError: An atom of the spec cannot be saved.
            PolicyFileError: The file cannot be written.
        """
        header = {
            "format": FORMAT,
            "kind": self.kind,
            "task": _reference(self.task),
            "spec": None if self.spec is None else dumps_spec(self.spec),
            "observe": self.observe,
            "seeds": list(self.seeds),
            **({} if self.learner is None else {"learner": _rebuilding(dataclasses.asdict(self.learner))}),
            "scale_actions": self.scale_actions,
        }
        try:
            write_whole(path, write_arrays(header, self.arrays))
        except OSError as error:
            raise PolicyFileError(f"Cannot write the policy {os.fspath(path)!r}: {error.strerror}.") from None


def load_policy(path: str | os.PathLike[str], *, references: bool = True) -> Policy:
    """Load a policy from a file.

    Args:
        path: The file.
        references: Whether the spec may refer to functions of its atoms. Their modules are imported, which runs their
            code: pass False for an untrusted file. Nothing else in the file is executed.

    Raises:
        PolicyFileError: The file cannot be read, or is damaged or foreign.
        MissingExtraError: The policy's environment needs an optional package.
    """
    name = os.fspath(path)
    try:
        with ArrayFile(path) as file:
            policy = _without_arrays(file.header(), references)
            _check_declared(policy, file.declared)
            return dataclasses.replace(policy, arrays=file.read())
    except MissingExtraError:
        raise
    except OSError as error:
        raise PolicyFileError(f"Cannot read the policy {name!r}: {error.strerror or error}.") from None
    except DamagedFileError as error:
        raise PolicyFileError(
            f"{name!r} is not a policy that rewardspec saved, or is damaged: {error}. Train it again with "
            "`rewardspec train`."
        ) from None
    except Error as error:
        raise PolicyFileError(f"The policy {name!r} cannot be used: {error}") from error


def _without_arrays(header: Json, references: bool) -> Policy:
    """Make the policy of a header, without its arrays."""
    try:
        if header["format"] != FORMAT:
            if header.get("kind") == "rewardspec result":
                raise PolicyFileError(
                    f"It is a result of `rewardspec compare` or `reproduce`: the episodes of {header['task']} with the "
                    f"reward {header['reward']}, without the policies, which they do not keep. Train one with: "
                    "rewardspec train ENV --spec FILE -o policy.npz"
                )
            raise PolicyFileError(f"It has the format {header['format']!r}, and this version reads {FORMAT!r}.")
        return Policy(
            kind=header["kind"],
            task=_task_of(str(header["task"]), references),
            spec=None if header["spec"] is None else readable(loads_spec(header["spec"], references)),
            observe=header["observe"],
            seeds=tuple(map(int, header["seeds"])),
            arrays={},
            learner=SB3(**_rebuilding(header["learner"])) if header["kind"] == "sb3" else None,
            scale_actions=bool(header.get("scale_actions", False)),  # older files have none
        )
    except Error:
        raise
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise DamagedFileError(f"its header cannot be read ({type(error).__name__})") from None


def _reference(task: Task) -> str:
    """Return the argument with which `rewardspec.lab.tasks.get` finds the task in another process."""
    if task.name in task_lookup.names():
        return task.name
    if isinstance(task.env, str):
        return task.env
    raise PolicyFileError(
        f"The environment of {task.title} is made by a function, which a file cannot name. Give the task an `env` of "
        "the form 'module:function', or register it with Gymnasium."
    )


def _task_of(reference: str, references: bool) -> Task:
    if imports_module(reference) and not references:
        raise PolicyFileError(f"Its environment is {reference!r}, whose module would be imported, which was refused.")
    return task_lookup.get(reference, specs={})


def _check_declared(policy: Policy, declared: dict[str, Declared]) -> None:
    """Check the declared arrays against the task, the spec and the number of runs."""
    if policy.kind not in get_args(Kind):
        raise DamagedFileError(f"it is of the kind {policy.kind!r}, not one of {', '.join(get_args(Kind))}")
    needed = _needed_shapes(policy, "mean" in declared)
    if set(declared) != set(needed):
        found, known = (", ".join(sorted(names)) or "none" for names in (declared, needed))
        raise DamagedFileError(f"its arrays are {found}, and should be {known}")
    for name, shape in needed.items():
        (found_shape, dtype), whole = declared[name], (len(policy.seeds), *shape)
        if found_shape != whole or dtype.kind != "f":
            raise DamagedFileError(f"{name!r} has shape {found_shape} of {dtype}, not {whole} of floats")


def _needed_shapes(policy: Policy, normalized: bool) -> dict[str, tuple[int, ...]]:
    if policy.kind == "table":
        tables = finite_tables(policy.task, policy.spec, policy.observe)
        return {"table": (tables.observations, tables.successor.shape[1])}
    if policy.learner is None:
        return _network_shapes(policy, normalized)
    from rewardspec.lab.learning.sb3_training import parameter_shapes

    return parameter_shapes(policy.task, policy.spec, policy.observe, policy.learner)


def _rebuilding(settings: JsonObject) -> JsonObject:
    """Select the settings of SB3 that determine its policy's parameters; refuse too large networks."""
    kwargs = dict(settings["options"]).get("policy_kwargs", {})
    sizes = [int(size[:9]) for size in re.findall(r"\d+", json.dumps(kwargs))]
    if sum(size * size for size in sizes) > _LARGEST:
        raise PolicyFileError("The layers of its network are too large.")
    options = {"policy_kwargs": kwargs} if kwargs else {}
    return {"algorithm": str(settings["algorithm"]), "policy": str(settings["policy"]), "options": options}


def _network_shapes(policy: Policy, normalized: bool) -> dict[str, tuple[int, ...]]:
    with contextlib.closing(policy.task.make()) as env:
        actions, inputs = Actions(env.action_space), observation_size(env.observation_space)
    outputs, continuous = actions.outputs, actions.continuous
    if policy.spec is not None and policy.observe is not None:
        inputs += len(Features(policy.spec, features_of(policy.observe)).names) + counts_steps(policy.observe)
    shapes: dict[str, tuple[int, ...]] = {}
    for k, (rows, columns) in enumerate(itertools.pairwise((inputs, *HIDDEN, outputs))):
        shapes |= {f"w{k}": (rows, columns), f"b{k}": (columns,)}
    if continuous:
        shapes["log_std"] = (outputs,)
    if normalized:
        shapes |= {"mean": (inputs,), "variance": (inputs,)}
    return shapes

"""Labels of a batch of transitions: each atom is called once for the batch, and all labels are checked at once."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import LabelError, shown
from rewardspec.machines.label_checks import TOLERANCE, CheckedLabels, as_labels, in_range, into_range
from rewardspec.machines.machine import batch_of
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.program import Semantics
from rewardspec.spec.atoms.batch_checks import NUMBERS, BatchAtom, check_elements
from rewardspec.spec.atoms.batch_info import BatchInfo
from rewardspec.spec.atoms.functions import AtomFunction, reads_only_the_state, takes_info, with_info
from rewardspec.spec.atoms.labeling import StepNumber, at_step, atom_raised, out_of_range
from rewardspec.spec.sorts import LabelAxes
from rewardspec.types import Action, Array, Floats, Info, Observation

_CHECKS = 4  # how often labels of a batch are compared with those of its elements


class BatchPart(NamedTuple):
    """Transitions, or first states, of some elements of a batch, as `BatchReader.read` takes them.

    Attributes:
        info: Infos of the whole batch, as a vector environment gives them; or a view of those of these elements.
        where: Indices of the elements, shape (elements,); None for the whole batch.
        atoms: Atoms to read; None for all.
    """

    obs: Observation
    action: Action
    next_obs: Observation
    info: BatchInfo | Info | None = None
    where: NDArray[np.intp] | None = None
    atoms: Sequence[BatchAtom] | None = None


_Part: TypeAlias = tuple[
    Observation, Action, Observation, BatchInfo | Info | None, NDArray[np.intp] | None, Sequence[BatchAtom] | None
]
"""A `BatchPart`, or a tuple of its fields, which is quicker to make."""


class BatchReader:
    """Reader of the labels of batches. Reading changes nothing but the count of comparisons.

    The labels of all atoms form one matrix of shape (atoms, batch), so that one pass tells whether each is in [0, 1]:
    in a batch of dozens of environments, calls cost more than arithmetic.

    An atom that reads the wrong axis, as `next_obs[2]` does, may give labels of the right shape. So the first labels of
    each atom are compared with those that it gives for single elements of the batch.

    Without `axes`, no atom is about things, and labels are of shape (batch,) and not (batch, things). `takes_info` says
    whether any atom reads `info`.

    Example:
        >>> reader = BatchReader({"near": lambda obs, action, next_obs: 1.0 - abs(next_obs)})
        >>> reader.read(None, 0, np.array([0.0, 0.25, 0.5]), batch=3)
        {'near': array([1.  , 0.75, 0.5 ])}
    """

    def __init__(
        self,
        atoms: Mapping[str, AtomFunction],
        clip: bool = False,
        semantics: Semantics = "degree",
        axes: LabelAxes | None = None,
    ) -> None:
        self._functions = atoms
        self._axes = axes
        names = dict.fromkeys(atoms, ()) if axes is None else axes.labels_of
        self._atoms: list[BatchAtom] = []
        row = 0
        for name, function in atoms.items():
            call = with_info(function) if takes_info(function) else None
            things = len(names[name]) if axes is not None and name in axes.sort_of else 0
            rows = slice(row, row + things) if things else row
            self._atoms.append(BatchAtom(name, function, call, rows, things))
            row += things or 1
        self._names = tuple(atoms) if axes is None else axes.names
        self._clip = clip
        self._semantics = semantics
        self._checks: dict[object, int] = {}  # how often each kind of batch was compared with its elements
        self.takes_info = any(atom.call is not None for atom in self._atoms)

    def __reduce__(self) -> tuple[type[BatchReader], tuple[object, ...]]:
        return BatchReader, (self._functions, self._clip, self._semantics, self._axes)

    @functools.cached_property
    def of_states(self) -> list[BatchAtom]:
        """Atoms whose labels depend on `next_obs` alone; they are read once, whether episodes go on or begin."""
        return [atom for atom in self._atoms if reads_only_the_state(atom.function)]

    @functools.cached_property
    def of_transitions(self) -> list[BatchAtom]:
        """All other atoms."""
        return [atom for atom in self._atoms if not reads_only_the_state(atom.function)]

    def read(
        self,
        obs: Observation,
        action: Action,
        next_obs: Observation,
        batch: int,
        info: BatchInfo | Info | None = None,
        *,
        step: StepNumber = None,
        envs: Sequence[int] | NDArray[np.intp] | None = None,
        on_device: bool = False,
    ) -> dict[str, Array]:
        """Return the labels of a batch as arrays of shape (batch,), in range; the arguments are those of `Spec.labels`.

        Labels are NumPy's. With `on_device`, those that atoms compute in JAX and torch stay on their device; then all
        are arrays of that library, and are not checked to be in range, since a value may be known only when compiled
        code runs. Rounding errors are clipped.

        Raises:
            LabelError: An atom raised, gave no array of numbers of the right shape, mixes elements of the batch up, or
                gave a label that is NaN or out of range. Names the atom, the value, the step and the environment.
        """
        matrix = (np.zeros if on_device else np.empty)((len(self._names), batch))
        found: dict[str, Array] = {}
        self._fill(matrix, (obs, action, next_obs, info, None, None), step, found if on_device else None)
        labels: dict[str, Array] = self._checked(matrix, step, envs)
        if not found:
            return labels
        found = self._split(found, batch, step)
        like, xp = batch_of(found, tuple(found))
        like = xp.broadcast_to(like, (batch,))
        labels = {name: as_labels(name, values, like, xp) for name, values in {**labels, **found}.items()}
        for name, values in labels.items() if self._semantics == "degree" else ():
            inside = xp.clip(values, 0.0, 1.0)
            labels[name] = inside if self._clip else xp.where(abs(values - inside) <= TOLERANCE, inside, values)
        return labels

    def read_parts(self, batch: int, parts: Iterable[BatchPart], *, step: StepNumber = None) -> CheckedLabels:
        """Return the labels of a batch that is read in several parts, as NumPy arrays; see `read`."""
        matrix = np.zeros((len(self._names), batch))
        for part in parts:
            self._fill(matrix, part, step, None)
        return self._checked(matrix, step, None)

    def _split(self, on_device: dict[str, Array], batch: int, step: StepNumber) -> dict[str, Array]:
        """Labels on a device, by the names that a program knows."""
        found: dict[str, Array] = {}
        for atom in self._atoms:
            if atom.name not in on_device:
                continue
            values, shape = on_device[atom.name], (batch, atom.things) if atom.things else (batch,)
            if tuple(values.shape) != shape and (atom.things or values.shape or batch > 1):
                raise _misshapen(atom.name, tuple(values.shape), shape, step)
            if atom.things and self._axes is not None:
                found |= self._axes.of_things(atom.name, values)
            else:
                found[atom.name] = values
        return found

    def _fill(self, matrix: Floats, part: _Part, step: StepNumber, on_device: dict[str, Array] | None) -> None:
        """Write the labels of a part into the matrix; collect arrays of other libraries in `on_device`, if given."""
        obs, action, next_obs, info, where, atoms = part
        size = matrix.shape[1]
        count = size if where is None else len(where)
        if info is not None and self.takes_info and not isinstance(info, BatchInfo):
            info = BatchInfo(info, size, where)
        kind = action is None, getattr(next_obs, "shape", ())[1:], atoms[0].name if atoms else None
        checks = self._checks.get(kind, 0)
        comparing = checks < _CHECKS and count > 1
        plain = (count,)
        for atom in self._atoms if atoms is None else atoms:
            name, function, call, rows, things = atom
            try:
                values = function(obs, action, next_obs) if call is None else call(obs, action, next_obs, info)
            except Exception as error:
                raise atom_raised(name, error, step, next_obs, None if call is None else info) from error
            shape = (count, things) if things else plain
            # The usual case first and in place, because a call would cost more.
            if values.__class__ is not np.ndarray or values.shape != shape or values.dtype.kind not in NUMBERS:
                if on_device is not None and namespace_of(values) not in (None, np):
                    on_device[name] = values
                    continue
                values = _array_of_numbers(name, values, shape, step)
                if not values.shape and count > 1 and not comparing:  # one for all: a constant, or a mean over them
                    check_elements(atom, values, (obs, action, next_obs), info, size, where, step)
            if comparing:
                check_elements(atom, values, (obs, action, next_obs), info, size, where, step)
            if things:
                values = values.T
            if where is None:
                matrix[rows] = values
            else:
                matrix[rows, where] = values
        if comparing:
            self._checks[kind] = checks + 1

    def _checked(
        self, matrix: Floats, step: StepNumber, envs: Sequence[int] | NDArray[np.intp] | None
    ) -> CheckedLabels:
        if self._clip:
            np.clip(matrix, 0.0, 1.0, out=matrix)
        if not in_range(matrix, self._semantics):
            rounded = into_range(matrix, self._semantics)
            if rounded is None:
                raise self._out_of_range(matrix, step, envs)
            matrix = rounded
        labels = CheckedLabels()
        for number, name in enumerate(self._names):  # quicker than to iterate over the matrix
            labels[name] = matrix[number]
        return labels

    def _out_of_range(
        self, matrix: Floats, step: StepNumber, envs: Sequence[int] | NDArray[np.intp] | None
    ) -> LabelError:
        bad = ~np.isfinite(matrix)
        if self._semantics == "degree":
            bad = ~((matrix >= -TOLERANCE) & (matrix <= 1.0 + TOLERANCE))
        number, index = np.argwhere(bad)[0].tolist()
        where = f"{at_step(step, index)} in environment {index if envs is None else int(envs[index])}"
        return out_of_range(self._names[number], where, float(matrix[number, index]), self._semantics)


def _array_of_numbers(name: str, values: object, shape: tuple[int, ...], step: StepNumber) -> NDArray[np.generic]:
    """The labels of one atom as an array of the given shape, or for an atom about no things as one number for all."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in NUMBERS:
        raise LabelError(
            f"The atom {name!r} gave {shown(values)}{at_step(step)}; an atom should give a number in [0, 1] for each "
            "environment, as an array."
        )
    if array.shape != shape and (array.shape or len(shape) > 1):
        raise _misshapen(name, array.shape, shape, step)
    return array


def _misshapen(name: str, received: tuple[int, ...], shape: tuple[int, ...], step: StepNumber) -> LabelError:
    return LabelError(
        f"The labels of {name!r}{at_step(step)} should have shape {shape}, one for each environment"
        f"{' and thing' * (len(shape) > 1)}. Received shape {received}. Write atoms with array operations on the last "
        "axis, such as `obs[..., 0]`."
    )

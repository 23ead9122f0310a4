"""Labels of a batch of transitions: each atom is called once for the batch, and all labels are checked at once."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
from rewardspec.types import Action, Array, Floats, Info, Observation

if TYPE_CHECKING:
    from rewardspec.spec.sorts import LabelAxes

_CHECKS = 4  # how often labels of a batch are compared with those of its elements


class BatchPart(NamedTuple):
    """Transitions, or first states, of some elements of a batch.

    Attributes:
        obs: Observations before the actions; the first observations at reset.
        action: Actions; None at reset.
        next_obs: Observations after the actions.
        info: Infos that came with `next_obs`, of the whole batch, as a vector environment gives them; or a view of
            those of these elements.
        where: Indices of the elements, shape (elements,); None for the whole batch.
        atoms: Atoms to read; None for all.
    """

    obs: Observation
    action: Action
    next_obs: Observation
    info: BatchInfo | Info | None = None
    where: NDArray[np.intp] | None = None
    atoms: Sequence[BatchAtom] | None = None


class BatchReader:
    """Reader of the labels of batches. Reading changes nothing but the count of comparisons.

    The labels of all atoms form one matrix of shape (atoms, batch), so that one pass tells whether each is in [0, 1]:
    in a batch of dozens of environments, calls cost more than arithmetic.

    An atom that reads the wrong axis, as `next_obs[2]` does, may give labels of the right shape. So the first labels of
    each atom are compared with those that it gives for single elements of the batch.

    Args:
        atoms: Functions of `(obs, action, next_obs)`, or of these and `info`.
        clip: Whether to clip labels into [0, 1].
        semantics: Whether labels are degrees in [0, 1] or, as robustness, any finite numbers.
        axes: Which atoms are about things, and give labels of shape (batch, things); None where none is.

    Attributes:
        takes_info: Whether any atom reads `info`.
        of_states: Atoms whose labels depend on `next_obs` alone.
        of_transitions: All other atoms.

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
            self._atoms.append(BatchAtom(name, function, call, row, things))
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
        """Atoms whose labels depend on `next_obs` alone."""
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
    ) -> CheckedLabels:
        """Return the labels of a batch as NumPy arrays of shape (batch,), in range.

        Args:
            obs: Observations before the actions; the first observations at reset.
            action: Actions; None at reset.
            next_obs: Observations after the actions.
            batch: Size of the batch.
            info: Infos that came with `next_obs`.
            step: Number of the step, for error messages.
            envs: Number of each element's environment, for error messages, if it is not its index in the batch.

        Raises:
            LabelError: An atom raised, gave no array of numbers of the right shape, mixes elements of the batch up, or
                gave a label that is NaN or out of range. Names the atom, the value, the step and the environment.
        """
        matrix = np.empty((len(self._names), batch))
        self._fill(matrix, obs, action, next_obs, info, step=step)
        return self._checked(matrix, step, envs)

    def read_parts(self, batch: int, parts: Iterable[BatchPart], *, step: StepNumber = None) -> CheckedLabels:
        """Return the labels of a batch that is read in several parts; see `read`."""
        matrix = np.zeros((len(self._names), batch))
        for part in parts:
            self._fill(matrix, *part, step=step)
        return self._checked(matrix, step, None)

    def read_on_device(
        self,
        obs: Observation,
        action: Action,
        next_obs: Observation,
        batch: int,
        info: BatchInfo | Info | None = None,
        *,
        step: StepNumber = None,
        envs: Sequence[int] | NDArray[np.intp] | None = None,
    ) -> dict[str, Array]:
        """Return the labels of a batch as arrays of the library that the atoms compute in.

        Labels of JAX and torch stay on their device and are not checked to be in range, since a value may be known only
        when compiled code runs; rounding errors are clipped. If every label is NumPy's, this is `read`.
        """
        matrix = np.zeros((len(self._names), batch))
        on_device: dict[str, Array] = {}
        self._fill(matrix, obs, action, next_obs, info, step=step, on_device=on_device)
        labels: dict[str, Array] = self._checked(matrix, step, envs)
        if not on_device:
            return labels
        on_device = self._split(on_device, batch, step)
        like, xp = batch_of(on_device, tuple(on_device))
        like = xp.broadcast_to(like, (batch,))
        labels = {name: as_labels(name, values, like, xp) for name, values in {**labels, **on_device}.items()}
        for name, values in labels.items() if self._semantics == "degree" else ():
            inside = xp.clip(values, 0.0, 1.0)
            labels[name] = inside if self._clip else xp.where(abs(values - inside) <= TOLERANCE, inside, values)
        return labels

    def _split(self, on_device: dict[str, Array], batch: int, step: StepNumber) -> dict[str, Array]:
        """Labels on a device, by the names that a program knows."""
        found: dict[str, Array] = {}
        for atom in self._atoms:
            if atom.name not in on_device:
                continue
            values, shape = on_device[atom.name], (batch, atom.things) if atom.things else (batch,)
            if tuple(values.shape) != shape and (atom.things or values.shape):
                raise _misshapen(atom.name, tuple(values.shape), shape, step)
            if atom.things and self._axes is not None:
                found |= self._axes.of_things(atom.name, values)
            else:
                found[atom.name] = values
        return found

    def _fill(
        self,
        matrix: Floats,
        obs: Observation,
        action: Action,
        next_obs: Observation,
        info: BatchInfo | Info | None,
        where: NDArray[np.intp] | None = None,
        atoms: Sequence[BatchAtom] | None = None,
        *,
        step: StepNumber,
        on_device: dict[str, Array] | None = None,
    ) -> None:
        """Write the labels of a part into the matrix; collect arrays of other libraries in `on_device`, if given."""
        size = matrix.shape[1]
        shape = (size,) if where is None else where.shape
        if info is not None and self.takes_info and not isinstance(info, BatchInfo):
            info = BatchInfo(info, size, where)
        kind = action is None, getattr(next_obs, "shape", ())[1:], atoms[0].name if atoms else None
        checks = self._checks.get(kind, 0)
        comparing = checks < _CHECKS and shape[0] > 1
        for atom in self._atoms if atoms is None else atoms:
            name, function, call, number, things = atom
            try:
                values = function(obs, action, next_obs) if call is None else call(obs, action, next_obs, info)
            except Exception as error:
                raise atom_raised(name, error, step, next_obs, None if call is None else info) from error
            if things:
                self._fill_things(matrix, atom, values, where, step, on_device)
                if comparing and name not in (on_device or ()):
                    labels = matrix[number : number + things, slice(None) if where is None else where].T
                    check_elements(atom, labels, (obs, action, next_obs), info, size, where, step)
                continue
            # The usual case first and in place, because a call would cost more.
            if values.__class__ is not np.ndarray or values.shape != shape or values.dtype.kind not in NUMBERS:
                if on_device is not None and namespace_of(values) not in (None, np):
                    on_device[name] = values
                    continue
                values = _array_of_numbers(name, values, shape, step)
                if not values.shape and shape[0] > 1 and not comparing:  # one for all: a constant, or a mean over them
                    check_elements(atom, values, (obs, action, next_obs), info, size, where, step)
            if comparing:
                check_elements(atom, values, (obs, action, next_obs), info, size, where, step)
            if where is None:
                matrix[number] = values
            else:
                matrix[number, where] = values
        if comparing:
            self._checks[kind] = checks + 1

    def _fill_things(
        self,
        matrix: Floats,
        atom: BatchAtom,
        values: object,
        where: NDArray[np.intp] | None,
        step: StepNumber,
        on_device: dict[str, Array] | None,
    ) -> None:
        """Write the labels of an atom about things into its rows of the matrix."""
        if on_device is not None and namespace_of(values) not in (None, np):
            on_device[atom.name] = values
            return
        shape = (matrix.shape[1] if where is None else len(where), atom.things)
        array = _array_of_numbers(atom.name, values, shape, step)
        if not array.shape:
            raise _misshapen(atom.name, (), shape, step)
        matrix[atom.number : atom.number + atom.things, slice(None) if where is None else where] = array.T

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
    """Convert the labels of one atom to an array that can be written into a batch of the given shape."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in NUMBERS:
        raise LabelError(
            f"The atom {name!r} gave {shown(values)}{at_step(step)}; an atom should give a number in [0, 1] for each "
            "environment, as an array."
        )
    if array.shape not in ((), shape):
        raise _misshapen(name, array.shape, shape, step)
    return array


def _misshapen(name: str, received: tuple[int, ...], shape: tuple[int, ...], step: StepNumber) -> LabelError:
    return LabelError(
        f"The labels of {name!r}{at_step(step)} should have shape {shape}, one for each environment"
        f"{' and thing' * (len(shape) > 1)}. Received shape {received}. Write atoms with array operations on the last "
        "axis, such as `obs[..., 0]`."
    )

"""Labels of a batch of transitions: each atom is called once for all of it, and all labels are checked at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import LabelError, shown
from rewardspec.machines.label_checks import (
    TOLERANCE,
    CheckedLabels,
    as_bits,
    as_labels,
    bits_inside,
    in_range,
    into_range,
)
from rewardspec.machines.machine import batch_of
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.program import Semantics
from rewardspec.spec.atoms.batch_checks import NUMBERS, BatchAtom, check_elements
from rewardspec.spec.atoms.batch_info import BatchInfo
from rewardspec.spec.atoms.functions import AtomFunction, reads_only_the_state, takes_info, with_info
from rewardspec.spec.atoms.labeling import at_step, atom_raised, out_of_range

DOUBLE = np.dtype(np.float64)
_CHECKS = 4  # how often labels of a batch are compared with those of its elements


class BatchLabels:
    """The labels of a batch, which are read into the same arrays step by step.

    The labels of all atoms lie in one matrix, so that one pass tells whether every one of them is in [0, 1]: in a batch
    of dozens of environments, calls cost more than the arithmetic.

    An atom that reads the wrong axis, as `next_obs[2]` does, may give labels of the right shape. So the first labels of
    each atom are compared with those that it gives for single elements of the batch.

    Args:
        atoms: The functions of `(obs, action, next_obs)`, or of these and `info`.
        batch: The number of environments.
        clip: Whether to clip labels into [0, 1].
        keep: Whether labels that an atom gives as arrays of another library, such as JAX, are kept as they are; else
            they become NumPy's.
        checks: How often each kind of batch was compared with its elements; readers of the same atoms may share it.
        semantics: Whether labels are degrees in [0, 1] or, as robustness, any finite numbers.

    Attributes:
        kept: The labels that were kept, by atom.

    Example:
        >>> labels = BatchLabels({"near": lambda obs, action, next_obs: 1.0 - abs(next_obs)}, batch=3)
        >>> labels.read(None, 0, np.array([0.0, 0.25, 7.0]))
        >>> labels.read(None, None, np.array([0.5]), where=np.array([2]))
        >>> labels.checked()
        {'near': array([1.  , 0.75, 0.5 ])}
    """

    def __init__(
        self,
        atoms: Mapping[str, AtomFunction],
        batch: int,
        clip: bool = False,
        keep: bool = False,
        checks: dict[Any, int] | None = None,
        semantics: Semantics = "degree",
    ) -> None:
        self._matrix = np.zeros((len(atoms), batch), dtype=DOUBLE)
        self._bits = as_bits(self._matrix)
        self._labels = CheckedLabels(zip(atoms, self._matrix, strict=True))
        self._atoms = [
            BatchAtom(name, function, with_info(function) if takes_info(function) else None, self._labels[name])
            for name, function in atoms.items()
        ]
        self._takes_info = any(atom.call is not None for atom in self._atoms)
        self._everyone = (batch,)
        self._clip = clip
        self._keep = keep
        self._semantics = semantics
        self._checks: dict[Any, int] = {} if checks is None else checks
        self.kept: dict[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Made anew: in copies, the rows would no longer be those of the matrix.
        atoms = {atom.name: atom.function for atom in self._atoms}
        return BatchLabels, (atoms, *self._everyone, self._clip, self._keep, None, self._semantics)

    @functools.cached_property
    def of_states(self) -> list[BatchAtom]:
        """The atoms that surely look at `next_obs` alone."""
        return [atom for atom in self._atoms if reads_only_the_state(atom.function)]

    @functools.cached_property
    def of_transitions(self) -> list[BatchAtom]:
        """The other ones."""
        return [atom for atom in self._atoms if not reads_only_the_state(atom.function)]

    def read(
        self,
        obs: Any,
        action: Any,
        next_obs: Any,
        where: NDArray[np.intp] | None = None,
        step: Any = None,
        atoms: Sequence[BatchAtom] | None = None,
        info: BatchInfo | Mapping[str, Any] | None = None,
    ) -> None:
        """Read the labels of transitions, or of first states; `checked` looks at their values, all at once.

        Args:
            obs: The observations before the actions; at reset the first ones.
            action: The actions; None at reset.
            next_obs: The observations after them.
            where: The places in the batch of which these are; None for all of it.
            step: The step's number, for error messages: one, one for each environment, or a function that gives them.
            atoms: Which atoms; None for all of them.
            info: The infos that came with `next_obs`, of all of the batch, as a vector environment gives them; or a
                view of those of the elements that are read.

        Raises:
            LabelError: An atom raised, gave no array of numbers of the right shape, or mixes elements of the batch up.
        """
        shape = self._everyone if where is None else where.shape
        place: Any = ... if where is None else where
        if info is not None and self._takes_info and not isinstance(info, BatchInfo):
            info = BatchInfo(info, self._everyone[0], where)
        kind = action is None, getattr(next_obs, "shape", ())[1:], atoms[0].name if atoms else None
        checks = self._checks.get(kind, 0)
        comparing = checks < _CHECKS and shape[0] > 1
        for atom in self._atoms if atoms is None else atoms:
            name, function, call, row = atom
            try:
                values = function(obs, action, next_obs) if call is None else call(obs, action, next_obs, info)
            except Exception as error:
                raise atom_raised(name, error, step, next_obs, None if call is None else info) from error
            # The usual case first and in place, because a call would cost more.
            if values.__class__ is not np.ndarray or values.shape != shape or values.dtype.kind not in NUMBERS:
                if self._keep and namespace_of(values) not in (None, np):
                    self.kept[name] = values
                    continue
                values = _array_of_numbers(name, values, shape, step)
                if not values.shape and shape[0] > 1 and not comparing:  # one for all: a constant, or a mean over them
                    check_elements(atom, values, (obs, action, next_obs), info, where, step)
            if comparing:
                check_elements(atom, values, (obs, action, next_obs), info, where, step)
            if values.dtype is not DOUBLE:
                values = values.astype(DOUBLE)  # several times quicker than leaving it to the next line
            row[place] = values
        if comparing:
            self._checks[kind] = checks + 1

    def of(
        self, obs: Any, action: Any, next_obs: Any, step: Any = None, envs: Any = None, info: Any = None
    ) -> CheckedLabels:
        """`read` and `checked` in one, for all of the batch."""
        self.read(obs, action, next_obs, step=step, info=info)
        return self.checked(step, envs)

    def together(self, step: Any = None, envs: Any = None) -> dict[str, Any]:
        """All labels as arrays of the library in which some were kept, and in which `Spec.step` will go on.

        What was kept is not checked to be in [0, 1], for a value may be known only when compiled code runs; rounding
        errors are clipped.

        Raises:
            LabelError: Labels have the wrong shape, or one that was not kept is not in [0, 1].
        """
        found = {**self.checked(step, envs), **self.kept}
        for name, values in self.kept.items():
            if tuple(values.shape) not in ((), self._everyone):
                raise _misshapen(name, tuple(values.shape), self._everyone, step)
        like, xp = batch_of(self.kept, tuple(self.kept))
        like = xp.broadcast_to(like, self._everyone)
        labels = {name: as_labels(name, values, like, xp) for name, values in found.items()}
        for name, values in labels.items() if self._semantics == "degree" else ():
            inside = xp.clip(values, 0.0, 1.0)
            labels[name] = inside if self._clip else xp.where(abs(values - inside) <= TOLERANCE, inside, values)
        return labels

    def checked(self, step: Any = None, envs: Any = None) -> CheckedLabels:
        """The labels, all of them in range, in arrays that the next `read` writes over.

        Args:
            step: The step's number, for error messages: one, one for each element, or a function that gives them.
            envs: The number of each element's environment, for error messages, where it is not its place in the batch.

        Raises:
            LabelError: A label is NaN or out of range. Names the atom, the value, the step and the environment.
        """
        if self._clip:
            np.clip(self._matrix, 0.0, 1.0, out=self._matrix)
        usual = self._semantics == "degree" and bits_inside(self._bits)
        if not usual and not in_range(self._matrix, self._semantics):
            rounded = into_range(self._matrix, self._semantics)
            if rounded is None:
                raise self._out_of_range(step, envs)
            np.copyto(self._matrix, rounded)
        return self._labels

    def _out_of_range(self, step: Any, envs: Any) -> LabelError:
        bad = ~np.isfinite(self._matrix)
        if self._semantics == "degree":
            bad = ~((self._matrix >= -TOLERANCE) & (self._matrix <= 1.0 + TOLERANCE))
        number, index = np.argwhere(bad)[0].tolist()
        atom = self._atoms[number]
        where = f"{at_step(step, index)} in environment {index if envs is None else int(envs[index])}"
        return out_of_range(atom.name, where, float(atom.row[index]), self._semantics)


def _array_of_numbers(name: str, values: Any, shape: tuple[int, ...], step: Any) -> NDArray[Any]:
    """The labels of one atom as an array that can be written into a batch of the given shape."""
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


def _misshapen(name: str, received: tuple[int, ...], shape: tuple[int, ...], step: Any) -> LabelError:
    return LabelError(
        f"The labels of {name!r}{at_step(step)} should have shape {shape}, one for each environment. "
        f"Received shape {received}. Write atoms with array operations on the last axis, such as `obs[..., 0]`."
    )

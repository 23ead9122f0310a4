"""Checks that an atom gives a batch the labels that it gives each element alone.

An atom that was written for one environment may read the wrong axis of a batch, as `next_obs[2]` does, or take the mean
over all environments, and still give labels of the right shape. Only a comparison tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, LabelError, shown
from rewardspec.spec.atoms.batch_info import BatchInfo
from rewardspec.spec.atoms.functions import AtomFunction, with_info
from rewardspec.spec.atoms.labeling import StepNumber, at_step, atom_raised
from rewardspec.types import Info, LabelFunction, Tree

NUMBERS = "fbiu"  # the kinds of NumPy's types of real numbers
_TOLERANCE = 1e-3  # some functions of NumPy round arrays and numbers differently


class BatchAtom(NamedTuple):
    """An atom of a batch.

    Attributes:
        name: Its name.
        function: Its function.
        call: The function as one of `(obs, action, next_obs, info)`, where it looks at `info`; else None.
        rows: The place of its label among all labels; of an atom about things the slice of its labels.
        things: How many things it is about; 0 for an atom that is about none.
    """

    name: str
    function: AtomFunction
    call: LabelFunction | None
    rows: int | slice
    things: int = 0


def check_elements(
    atom: BatchAtom,
    labels: np.ndarray,
    transition: tuple[Any, Any, Any],
    info: Info | None,
    batch: int,
    where: NDArray[np.intp] | None,
    step: StepNumber,
) -> None:
    """Compare an atom's labels of a batch with those of its first, middle and last element alone.

    Labels are one for each element, or one for all; for an atom about things, one for each element and thing. `where`
    has the number of each element's environment, if it is not its place in the batch of that size.

    Raises:
        LabelError: They differ.
    """
    if transition[2] is None:
        return  # labels of nothing that could be taken apart
    size = batch if where is None else len(where)
    for index in sorted({0, size // 2, size - 1}):
        try:
            alone = [_element(batch, index, size) for batch in transition]
            among_none = [_element(batch, slice(index, index + 1), size) for batch in transition]
        except (IndexError, KeyError, TypeError):
            return
        views = (info.row(index), info.part(index)) if isinstance(info, BatchInfo) else (None, None)
        expected = []
        try:
            expected.append(_labels(atom, alone, views[0]))
        except Error as error:  # an expression says itself what it cannot read
            raise atom_raised(atom.name, error, step, alone[2], views[0]) from error
        except Exception as error:  # it may be written for batches only
            if not labels.shape:
                what = f"it gave one label for {size} environments, and cannot read one alone ({error})"
                raise _mixed_up(atom.name, what, step) from error
        if not expected or index == 0:  # once at least: what reads another axis stumbles here, whatever the numbers
            try:
                expected.append(_labels(atom, among_none, views[1]))
            except Exception as error:
                raise _mixed_up(atom.name, f"it cannot read a batch of one ({error})", step) from error
        own = np.ravel(labels[index] if labels.shape else labels).astype(float).tolist()
        for others in expected:
            for label, other in zip(own, others, strict=True):
                if not (abs(label - other) <= _TOLERANCE * max(1.0, abs(other)) or label != label or label == other):
                    number = index if where is None else int(where[index])
                    what = f"it gave {label!r} for environment {number} in a batch, and {other!r} for it alone"
                    raise _mixed_up(atom.name, what, step)


def _labels(atom: BatchAtom, transition: list[Any], info: Info | None) -> list[float]:
    obs, action, next_obs = transition
    with np.errstate(all="ignore"):  # the call for all of the batch has warned already
        found = np.asarray(with_info(atom.function)(obs, action, next_obs, info))
    if found.size != (atom.things or 1) or found.dtype.kind not in NUMBERS:
        raise ValueError(f"it gave {shown(found)}")
    return [float(label) for label in found.ravel()]


def _element(batch: Tree, index: int | slice, size: int) -> Tree:
    """One element of a batch of observations or actions; of a slice, a batch of that alone."""
    if batch is None or isinstance(batch, int | float | np.generic):
        return batch
    if isinstance(batch, Mapping):
        return {key: _element(part, index, size) for key, part in batch.items()}
    if isinstance(batch, tuple) and all(hasattr(part, "shape") for part in batch):
        return tuple(_element(part, index, size) for part in batch)
    if isinstance(batch, tuple) or len(batch) != size:
        raise TypeError  # a tuple of other things may be the parts of an observation, or whole observations
    return batch[index]


def _mixed_up(name: str, what: str, step: StepNumber) -> LabelError:
    return LabelError(
        f"The atom {name!r} mixes environments up{at_step(step)}: {what}. Write it for the last axis, as "
        "next_obs[..., 2] and np.max(next_obs, axis=-1) are, so that it serves one environment and a batch of them."
    )

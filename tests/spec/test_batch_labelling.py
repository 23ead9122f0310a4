"""The labels of a batch: read in parts, checked together, and the first bad one named."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.spec.atoms.batch_labelling import BatchLabels


def given(obs: Any, action: Any, next_obs: Any) -> Any:
    return next_obs


def halved(obs: Any, action: Any, next_obs: Any) -> Any:
    return np.asarray(next_obs) * 0.5


def batch_labels(count: int = 3, clip: bool = False) -> BatchLabels:
    return BatchLabels({"a": given, "b": halved}, count, clip)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.uint8, np.int64, np.bool_, float])
def test_labels_of_any_kind_become_doubles(kind: Any) -> None:
    labels = batch_labels()
    labels.read(None, 0, kind(1) if kind is float else np.ones(3, dtype=kind))
    found = labels.checked()
    assert {name: row.tolist() for name, row in found.items()} == {"a": [1.0] * 3, "b": [0.5] * 3}
    assert all(row.dtype == np.float64 for row in found.values())


def test_parts_are_read_one_after_the_other() -> None:
    labels = batch_labels()
    labels.read(None, 0, np.array([0.25, 9.0, 0.75], dtype=np.float32))
    labels.read(None, None, np.array([0.5]), np.array([1]))  # what was not in [0, 1] is written over
    assert labels.checked()["a"].tolist() == [0.25, 0.5, 0.75]


def test_a_part_may_be_read_by_some_atoms_only() -> None:
    labels = BatchLabels({"a": given, "b": lambda obs, action, next_obs: next_obs * 0.5 + obs * 0.0}, 2)
    assert [[name for name, *_ in atoms] for atoms in (labels.of_states, labels.of_transitions)] == [["a"], ["b"]]
    labels.read(None, None, np.array([0.5, 1.0]), atoms=labels.of_states)
    assert {name: row.tolist() for name, row in labels.checked().items()} == {"a": [0.5, 1.0], "b": [0.0, 0.0]}


def test_minus_zero_is_a_label() -> None:
    labels = batch_labels()
    labels.read(None, 0, np.array([-0.0, 0.0, 1.0]))
    assert labels.checked()["a"].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1, np.inf, -np.inf])
def test_a_bad_label_names_atom_value_step_and_environment(bad: float) -> None:
    labels = BatchLabels({"good": halved, "a": given}, 3)
    labels.read(None, 0, np.array([0.25, 0.5, 0.75]))
    labels.read(None, 0, np.array([bad]), np.array([1]), atoms=labels._atoms[1:])
    for step in (np.array([4, 7, 9]), lambda: np.array([4, 7, 9])):
        with pytest.raises(rs.LabelError, match=f"'a' at step 7 in environment 1 should .* Received {bad:g}"):
            labels.checked(step)
    with pytest.raises(rs.LabelError, match="'a' at step 2 in environment 30 should"):
        labels.checked(2, envs=[20, 30, 40])


def test_clipping_leaves_nan() -> None:
    labels = batch_labels(clip=True)
    labels.read(None, 0, np.array([-1.0, 0.5, 4.0]))
    assert labels.checked()["a"].tolist() == [0.0, 0.5, 1.0]
    labels.read(None, 0, np.array([0.5, np.nan, 0.5]))
    with pytest.raises(rs.LabelError, match="nan"):
        labels.checked()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda labels: pickle.loads(pickle.dumps(labels))])
def test_a_copy_checks_what_it_reads(copied: Any) -> None:
    labels = copied(batch_labels())
    labels.read(None, 0, np.array([0.5, 7.0, 0.5]))
    with pytest.raises(rs.LabelError, match=r"environment 1 .* Received 7"):
        labels.checked()

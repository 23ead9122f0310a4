"""The labels of a batch: read in parts, checked together, and the first bad one named."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs
from rewardspec.spec.atoms.batch_info import BatchInfo, with_final_info
from rewardspec.spec.atoms.batch_labeling import BatchPart, BatchReader
from rewardspec.spec.atoms.functions import with_info
from rewardspec.spec.atoms.labeling import read_labels


def given(obs: Any, action: Any, next_obs: Any) -> Any:
    return next_obs


def halved(obs: Any, action: Any, next_obs: Any) -> Any:
    return np.asarray(next_obs) * 0.5


def two_atoms(clip: bool = False) -> BatchReader:
    return BatchReader({"a": given, "b": halved}, clip)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.uint8, np.int64, np.bool_, float])
def test_labels_of_any_kind_become_doubles(kind: Any) -> None:
    found = two_atoms().read(None, 0, kind(1) if kind is float else np.ones(3, dtype=kind), 3)
    assert {name: row.tolist() for name, row in found.items()} == {"a": [1.0] * 3, "b": [0.5] * 3}
    assert all(row.dtype == np.float64 for row in found.values())


def test_parts_are_read_one_after_the_other() -> None:
    everyone = BatchPart(None, 0, np.array([0.25, 9.0, 0.75], dtype=np.float32))
    second = BatchPart(None, None, np.array([0.5]), where=np.array([1]))  # overwrites what was not in [0, 1]
    assert two_atoms().read_parts(3, [everyone, second])["a"].tolist() == [0.25, 0.5, 0.75]


def test_labels_are_not_changed_by_reading_others() -> None:
    reader = two_atoms()
    first = reader.read(None, 0, np.array([0.25, 0.5]), 2)
    reader.read(None, 0, np.array([1.0, 1.0]), 2)
    assert first["a"].tolist() == [0.25, 0.5]


def test_a_part_may_be_read_by_some_atoms_only() -> None:
    reader = BatchReader({"a": given, "b": lambda obs, action, next_obs: next_obs * 0.5 + obs * 0.0})
    assert [[atom.name for atom in atoms] for atoms in (reader.of_states, reader.of_transitions)] == [["a"], ["b"]]
    found = reader.read_parts(2, [BatchPart(None, None, np.array([0.5, 1.0]), atoms=reader.of_states)])
    assert {name: row.tolist() for name, row in found.items()} == {"a": [0.5, 1.0], "b": [0.0, 0.0]}


def test_minus_zero_is_a_label() -> None:
    assert two_atoms().read(None, 0, np.array([-0.0, 0.0, 1.0]), 3)["a"].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1, np.inf, -np.inf])
def test_a_bad_label_names_atom_value_step_and_environment(bad: float) -> None:
    reader = BatchReader({"good": lambda obs, action, next_obs: 0.5, "a": given})
    labels = np.array([0.25, bad, 0.75])
    for step in (np.array([4, 7, 9]), lambda: np.array([4, 7, 9])):
        with pytest.raises(rs.LabelError, match=f"'a' at step 7 in environment 1 should .* Received {bad:g}"):
            reader.read(None, 0, labels, 3, step=step)
    with pytest.raises(rs.LabelError, match="'a' at step 2 in environment 30 should"):
        reader.read(None, 0, labels, 3, step=2, envs=[20, 30, 40])


def test_clipping_leaves_nan() -> None:
    reader = two_atoms(clip=True)
    assert reader.read(None, 0, np.array([-1.0, 0.5, 4.0]), 3)["a"].tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(rs.LabelError, match="nan"):
        reader.read(None, 0, np.array([0.5, np.nan, 0.5]), 3)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda reader: pickle.loads(pickle.dumps(reader))])
def test_a_copy_checks_what_it_reads(copied: Any) -> None:
    with pytest.raises(rs.LabelError, match=r"environment 1 .* Received 7"):
        copied(two_atoms()).read(None, 0, np.array([0.5, 7.0, 0.5]), 3)


# Rounding errors, and what is no number.


@pytest.mark.parametrize("label", [1.0000001, 1.000001, -1e-9, -1e-6])
def test_labels_that_miss_the_unit_interval_by_a_rounding_error_are_clipped(label: float) -> None:
    spec = rs.Spec([("F a", 1), ("F b", 1)], atoms={"a": given, "b": lambda obs, action, next_obs: next_obs * 0.0})
    clipped = min(max(label, 0.0), 1.0)
    assert spec.labels(None, 0, label)["a"] == clipped
    assert spec.labels(None, 0, np.array([0.5, label]), batch=2)["a"].tolist() == [0.5, clipped]
    assert spec.batch_reader.read(None, 0, np.array([0.5, label]), 2)["a"].tolist() == [0.5, clipped]
    torch = pytest.importorskip("torch")
    assert spec.labels(None, 0, torch.tensor([0.5, label]).double(), batch=2)["a"].tolist() == [0.5, clipped]


@pytest.mark.parametrize("label", [1.0000011, -1.1e-6, 1.0001])
def test_a_label_that_misses_by_more_is_told_with_all_its_digits(label: float) -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": given})
    with pytest.raises(rs.LabelError, match=re.escape(f"Received {label!r}. Scale it")):
        spec.labels(None, 0, label)
    with pytest.raises(rs.LabelError, match=re.escape(f"Received {label!r}. Scale it")):
        spec.labels(None, 0, np.array([0.5, label]), batch=2)


@pytest.mark.parametrize("label", [1.0 + 0.0j, np.complex128(1.0), "1", np.array("1"), np.array(1.0, dtype=object)])
def test_what_is_no_real_number_is_no_label(label: Any) -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: label})
    with pytest.raises(rs.LabelError, match=r"'a' gave .*; an atom should give a number"):
        spec.labels(None, 0, 0)
    many = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: np.array([label, label])})
    with pytest.raises(rs.LabelError, match=r"'a' gave .*; an atom should give a number"):
        many.labels(None, 0, np.zeros(2), batch=2)


@pytest.mark.parametrize("label", [-3.5, 0.0, 7.0, 1e300])
def test_as_robustness_labels_are_any_finite_numbers(label: float) -> None:
    atoms = {"a": given}
    assert read_labels({"a": with_info(given)}, None, 0, label, semantics="robustness") == {"a": label}
    reader = BatchReader(atoms, semantics="robustness")
    for labels in (reader, copy.deepcopy(reader)):
        assert labels.read(None, 0, np.array([label, 1.0000001]), 2)["a"].tolist() == [label, 1.0000001]


@pytest.mark.parametrize("label", [np.inf, -np.inf, np.nan])
def test_as_robustness_labels_are_finite(label: float) -> None:
    with pytest.raises(rs.LabelError, match=f"'a' at step 3 should be finite. Received {label:g}. A division by zero"):
        read_labels({"a": with_info(given)}, None, 0, label, step=3, semantics="robustness")
    with pytest.raises(rs.LabelError, match=f"environment 1 should be finite. Received {label:g}. A division by zero"):
        BatchReader({"a": given}, semantics="robustness").read(None, 0, np.array([0.5, label]), 2)


# Atoms that mix environments up.

COMPONENTS = np.linspace(0.1, 0.9, 16).reshape(4, 4)


@pytest.mark.parametrize(
    ("atom", "obs"),
    [
        (lambda obs, action, next_obs: abs(next_obs[2]), COMPONENTS),
        (lambda obs, action, next_obs: abs(next_obs[2]), np.zeros((4, 4))),
        (lambda obs, action, next_obs: abs(next_obs[0]), np.zeros((4, 4))),
        (lambda obs, action, next_obs: next_obs.mean(), COMPONENTS),
        (lambda obs, action, next_obs: np.linalg.norm(next_obs) / 4, COMPONENTS),
        (lambda obs, action, next_obs: next_obs[..., 0] / next_obs[..., 0].max(), COMPONENTS),
        (lambda obs, action, next_obs: next_obs[:, 0] / next_obs[:, 0].max(), COMPONENTS),
        (lambda obs, action, next_obs: next_obs["x"][1], {"x": COMPONENTS}),
        (lambda obs, action, next_obs: next_obs[1][3], (COMPONENTS, COMPONENTS)),
        (lambda obs, action, next_obs: next_obs[0] / 500, np.array([3, 7, 3, 3])),
        (lambda obs, action, next_obs: next_obs[0] / 500, np.array([3, 3, 3, 3])),
        (lambda obs, action, next_obs: next_obs[1] / 500, np.array([3, 3, 3, 3])),
        (lambda obs, action, next_obs, info: info["x"][0], COMPONENTS),
    ],
)
def test_an_atom_that_mixes_environments_up_is_named_with_the_remedy(atom: Any, obs: Any) -> None:
    spec = rs.Spec([("F fine", 1), ("F a", 1)], atoms={"fine": lambda obs, action, next_obs: 0.5, "a": atom})
    for read in (spec.labels, spec.batch_reader.read):
        with pytest.raises(rs.LabelError, match=r"'a' mixes environments up.*next_obs\[..., 2\]"):
            read(obs, np.zeros(4), obs, info={"x": np.full((4, 4), 0.25)}, batch=4)


def test_a_mean_over_environments_is_noticed_when_they_begin_to_differ() -> None:
    reader = BatchReader({"a": lambda obs, action, next_obs: next_obs.mean()})
    for _ in range(9):
        assert reader.read(None, 0, np.full((4, 2), 0.5), 4)["a"].tolist() == [0.5] * 4
    with pytest.raises(rs.LabelError, match=r"gave 0\.625 for environment 0 in a batch, and 0\.5 for it alone"):
        reader.read(None, 0, np.array([[0.5, 0.5]] * 3 + [[1.0, 1.0]]), 4)


@pytest.mark.parametrize(
    "atom",
    [
        lambda obs, action, next_obs: next_obs[..., 2],
        lambda obs, action, next_obs: next_obs[:, 2],
        lambda obs, action, next_obs: np.max(next_obs, axis=1),
        lambda obs, action, next_obs: 0.25 if action is None else np.where(action > 0, next_obs[:, 0], 1.0),
        lambda obs, action, next_obs: np.zeros(len(next_obs)),
        lambda obs, action, next_obs: np.sin(np.exp(next_obs.astype(np.float32)[..., 0])),
        lambda obs, action, next_obs, info: info["x"] * 1.0,
    ],
)
def test_atoms_that_keep_environments_apart_pass(atom: Any) -> None:
    reader = BatchReader({"a": atom})
    for action in (None, np.arange(4)):
        reader.read(COMPONENTS, action, COMPONENTS, 4, {"x": np.array([True, False, True, True])})


def test_a_component_of_an_observation_that_is_one_number_is_an_error_in_a_batch_too() -> None:
    """CartPole's spec in Taxi: every environment would have the labels of the first."""
    spec = rs.Spec([("G up", 1)], atoms={"up": "1 - min(abs(next_obs[0]) / 500, 1)"})
    for states in ([3, 7, 9], [3, 3, 3]):
        with pytest.raises(
            rs.LabelError, match=r"number 0, from 0, of the observation, which is a single number\. Was"
        ):
            spec.labels(np.array(states), np.zeros(3), np.array(states), batch=3)


def test_a_batch_is_compared_with_its_elements_only_at_first() -> None:
    calls: list[int] = []

    def counted(obs: Any, action: Any, next_obs: Any) -> Any:
        calls.append(np.size(next_obs))
        return next_obs[..., 0]

    spec = rs.Spec([("F a", 1)], atoms={"a": counted})
    for _ in range(20):
        spec.batch_reader.read(COMPONENTS, 0, COMPONENTS, 4)
    assert calls.count(16) == 20
    assert 1 <= calls.count(4) <= 16


# `info` of a batch.


def lives(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
    return info["lives"] / 4


def test_the_info_of_a_batch_is_an_array_for_each_key() -> None:
    spec = rs.Spec(
        [("F a", 1), ("F b", 1), ("F c", 1)],
        atoms={"a": lives, "b": "info.place[1] / 8", "c": "info.agent.speed"},
    )
    place = np.full(3, None, dtype=object)  # as Gymnasium keeps what is neither a number nor an array
    place[:] = [(1, 2), (3, 4), (5, 6)]
    everyone = np.ones(3, dtype=bool)
    infos = {"lives": np.array([1, 2, 3]), "_lives": everyone, "place": place, "_place": everyone}
    infos |= {"agent": {"speed": np.array([0.5, 0.25, 1.0]), "_speed": everyone}, "_agent": everyone}
    expected = {"a": [0.25, 0.5, 0.75], "b": [0.25, 0.5, 0.75], "c": [0.5, 0.25, 1.0]}
    found = spec.labels(np.zeros(3), np.zeros(3), np.zeros(3), infos, batch=3)
    assert {name: column.tolist() for name, column in found.items()} == expected
    for k in range(3):
        info = {"lives": infos["lives"][k], "place": place[k], "agent": {"speed": infos["agent"]["speed"][k]}}
        assert spec.labels(0, 0, 0, info) == {name: column[k] for name, column in expected.items()}


def test_an_environment_without_the_key_is_an_error_and_not_a_zero() -> None:
    reader = BatchReader({"a": lives})
    infos = {"lives": np.array([1, 0, 3]), "_lives": np.array([True, False, True])}
    with pytest.raises(rs.LabelError, match="'a' cannot be read at step 5: info has no 'lives' in environment 1, and"):
        reader.read(np.zeros(3), np.zeros(3), np.zeros(3), 3, infos, step=5)
    parts = [
        BatchPart(np.zeros(2), np.zeros(2), np.zeros(2), infos, np.array([0, 2])),  # which all have the entry
        BatchPart(np.zeros(1), None, np.zeros(1), infos | {"_lives": np.array([False, True, False])}, np.array([1])),
    ]
    assert reader.read_parts(3, parts)["a"].tolist() == [0.25, 0.0, 0.75]
    with pytest.raises(rs.LabelError, match=r"raised KeyError at step 5: 'lives'. info is a BatchInfo with no keys"):
        reader.read(np.zeros(3), np.zeros(3), np.zeros(3), 3, {}, step=5)


def test_a_default_counts_in_the_environments_without_the_key() -> None:
    infos = {"x": np.array([0.5, 0.0]), "_x": np.array([True, False])}
    reader = BatchReader({"a": lambda obs, action, next_obs, info: info.get("x", 1.0)})
    assert reader.read(np.zeros(2), None, np.zeros(2), 2, infos)["a"].tolist() == [0.5, 1.0]
    assert reader.read(np.zeros(2), None, np.zeros(2), 2, {})["a"].tolist() == [1.0, 1.0]
    view = BatchInfo(infos, 2)
    assert (list(view), len(view), "y" in view, "_x" in view) == (["x"], 1, False, False)
    for ask in (lambda: "x" in view, lambda: view.get("x")):
        with pytest.raises(rs.LabelError, match="in environment 1"):
            ask()


def test_infos_of_another_size_are_refused() -> None:
    with pytest.raises(rs.LabelError, match=r"info\['lives'\] should have one entry for each of the 2 .*shape \(3,\)"):
        BatchReader({"a": lives}).read(np.zeros(2), None, np.zeros(2), 2, {"lives": np.zeros(3)})
    with pytest.raises(rs.LabelError, match="should be a dict of arrays"):
        BatchReader({"a": lives}).read(np.zeros(2), None, np.zeros(2), 2, [{}, {}])


class Counting(gym.Env[Any, int]):
    """Says in its info, and only there, how many steps it has taken; every third episode says less."""

    observation_space, action_space = gym.spaces.Box(0, 1, (1,)), gym.spaces.Discrete(2)
    episodes = 0

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        super().reset(**kwargs)
        self.steps, self.episodes = 0, self.episodes + 1
        return np.zeros(1, dtype=np.float32), {"steps": 0}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        info = {"steps": self.steps, "nested": {"last": self.steps >= 3}}
        return np.zeros(1, dtype=np.float32), 0.0, self.steps >= 3 + action, False, info


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP"])
def test_the_infos_of_final_transitions_take_the_place_of_those_of_the_reset(mode: str) -> None:
    envs = gym.vector.SyncVectorEnv([Counting] * 2, autoreset_mode=gym.vector.AutoresetMode[mode])
    envs.reset(seed=0)
    for step in range(1, 4):
        _, _, terminated, _, infos = envs.step(np.array([0, 1]))
        if mode == "SAME_STEP":
            infos = with_final_info(infos, terminated)
        view = BatchInfo(infos, 2)
        assert view["steps"].tolist() == [step, step]
        assert view["nested"]["last"].tolist() == [step == 3] * 2
        assert terminated.tolist() == [step == 3, False]
        assert view.row(1) == {"steps": step, "nested": {"last": step == 3}}

"""Specs with formulas about things: how sorts and labels are given, and what is refused."""

import re

import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs
from rewardspec.errors import LabelError, SpecError
from rewardspec.spec.toml_reading import loads_spec
from rewardspec.spec.toml_writing import dumps_spec

SPEC = rs.Spec(
    [("forall box: G(held(box) -> F[0,3] placed(box))", 1, False), ("mean box: F placed(box)", 2), ("G safe", 1)],
    sorts={"box": 3},
    penalty=-1,
)
FIRST = {"held": [0.0, 1.0, 0.0], "placed": [0.0, 0.0, 0.0], "safe": 1.0}


def then(**labels):
    return {"held": [0.0] * 3, "placed": [0.0] * 3, "safe": 1.0, **labels}


def test_values_rewards_and_single_things():
    state = SPEC.start(FIRST)
    assert SPEC.values(state) == (0.0, 0.0, 1.0)
    assert SPEC.thing_values(state, 0) == {"0": 1.0, "1": 0.0, "2": 1.0}
    state, reward = SPEC.step(state, then(placed=[0.0, 1.0, 0.5]))
    assert SPEC.values(state) == (1.0, 0.5, 1.0)
    assert SPEC.thing_values(state, 1) == {"0": 0.0, "1": 1.0, "2": 0.5}
    assert reward == 1.0 + 2 * 0.5 + 1.0
    assert SPEC.thing_values(state, 2) == {}


@pytest.mark.parametrize(
    "held",
    [
        [0.0, 1.0, 0.0],
        (0, True, 0),
        np.array([0.0, 1.0, 0.0]),
        {"0": 0.0, "1": 1.0, "2": 0.0},
        {0: 0.0, 1: 1.0, 2: 0.0},
    ],
)
def test_labels_of_things_may_be_arrays_sequences_and_mappings(held):
    assert SPEC.start({**FIRST, "held": held}) == SPEC.start(FIRST)
    named = {
        "held(0)": 0.0,
        "held(1)": 1.0,
        "held(2)": 0.0,
        "safe": 1.0,
        **dict.fromkeys(["placed(0)", "placed(1)", "placed(2)"], 0),
    }
    assert SPEC.start(named) == SPEC.start(FIRST)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (
            {"held": [0.0, 1.0]},
            "'held' should have 3 numbers on their last axis, one for each box. Received shape (2,)",
        ),
        ({"held": 1.0}, "Received shape ()"),
        ({"held": [[0.0], [1.0, 2.0]]}, "one for each box"),
        ({"held": {"0": 0.0, "1": 0.0}}, "no label of 'held' for box '2'"),
        ({"held": [0.0, 0.0, 7.0]}, "'held(2)' should be in [0, 1]. Received 7.0"),
    ],
)
def test_other_labels_are_refused(labels, told):
    with pytest.raises(LabelError, match=re.escape(told)):
        SPEC.start({**FIRST, **labels})


def test_batches_have_things_on_the_last_axis():
    first = {"held": np.zeros((2, 3)), "placed": np.zeros((2, 3)), "safe": np.ones(2)}
    state = SPEC.start(first)
    placed = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    state, reward = SPEC.step(state, {**first, "placed": placed})
    assert reward.tolist() == [1 + 2 * (2 / 3) + 1, 2.0]
    assert [column.tolist() for column in SPEC.thing_values(state, 1).values()] == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    with pytest.raises(LabelError, match="one for each box"):
        SPEC.step(state, {**first, "placed": placed.T})


def read_boxes(obs, action, next_obs):
    return next_obs[..., :3]


def test_functions_give_one_label_for_each_thing():
    atoms = {"placed": read_boxes, "near": lambda obs, action, next_obs: next_obs[..., 3]}
    spec = rs.Spec([("mean box: F(near & placed(box))", 1)], atoms, sorts={"box": 3})
    obs = np.array([0.0, 0.5, 1.0, 1.0])
    assert spec.labels(obs, None, obs) == {"near": 1.0, "placed(0)": 0.0, "placed(1)": 0.5, "placed(2)": 1.0}
    found = spec.labels(obs[None].repeat(2, 0), None, obs[None].repeat(2, 0), batch=2)
    assert {name: labels.tolist() for name, labels in found.items()} == {
        "near": [1.0, 1.0], "placed(0)": [0.0, 0.0], "placed(1)": [0.5, 0.5], "placed(2)": [1.0, 1.0]
    }  # fmt: skip
    few = rs.Spec(spec.pairs, atoms | {"placed": lambda obs, action, next_obs: next_obs[..., :2]}, sorts={"box": 3})
    with pytest.raises(LabelError, match=r"'placed' cannot be read: .* 3 numbers on their last axis"):
        few.labels(obs, None, obs)
    with pytest.raises(LabelError, match=r"should have shape \(2, 3\), one for each environment and thing"):
        few.labels(obs[None].repeat(2, 0), None, obs[None].repeat(2, 0), batch=2)
    mixed = rs.Spec(spec.pairs, atoms | {"placed": lambda obs, action, next_obs: next_obs.T[:3]}, sorts={"box": 3})
    square = np.arange(9.0).reshape(3, 3) / 9
    with pytest.raises(LabelError, match="mixes environments up"):
        rs.Spec([("mean box: F placed(box)", 1)], {"placed": lambda o, a, n: n.T}, sorts={"box": 3}).labels(
            square, None, square, batch=3
        )
    assert mixed.labels(obs, None, obs)["placed(1)"] == 0.5


def test_labels_are_clipped_and_thresholded_for_each_thing():
    spec = rs.Spec([("mean box: F placed(box)", 1)], {"placed": read_boxes}, clip=True, sorts={"box": 3})
    obs = np.array([-1.0, 0.5, 2.0])
    assert list(spec.labels(obs, None, obs).values()) == [0.0, 0.5, 1.0]
    state, _ = spec.transition(spec.start(dict.fromkeys(spec.atoms, 0.0)), obs, 0, obs, {}, 0.0, False, False)
    assert spec.values(state) == (0.5,)
    assert list(spec.boolean(0.5).labels(obs, None, obs).values()) == [0.0, 1.0, 1.0]
    with pytest.raises(LabelError, match="Received -1"):
        spec.replace(clip=False).boolean(0.5).labels(obs, None, obs)


@pytest.mark.parametrize(
    ("sorts", "told"),
    [
        (None, "The sort 'box' of `forall box: G held(box)` is not declared; declared: none."),
        ({"boxes": 3}, "declared: boxes. Did you mean 'boxes'?"),
        ({"box": 0}, "a number of things from 1 to 1,000"),
        ({"box": np.array(["red", "blue"])}, "a number of things from 1 to 1,000"),
        ({"box": True}, "Received True"),
        ({"box": "three"}, "Received 'three'"),
        ({"box": ["a", "a"]}, "different names"),
        ({"box": 10**6}, "Received 1000000"),
        (["box"], "`sorts` should map each sort to its things"),
    ],
)
def test_sorts_that_do_not_fit_are_refused(sorts, told):
    with pytest.raises(SpecError, match=re.escape(told)):
        rs.Spec([("forall box: G held(box)", 1)], sorts=sorts)


def test_an_atom_is_about_things_of_one_sort_everywhere():
    with pytest.raises(SpecError, match="about a box in one formula and about none in `G held`"):
        rs.Spec([("forall box: G held(box)", 1), ("G held", 1)], sorts={"box": 2})
    with pytest.raises(SpecError, match="about things of two sorts, 'box' and 'crate'"):
        rs.Spec([("forall box: G held(box)", 1), ("forall crate: G held(crate)", 1)], sorts={"box": 2, "crate": 2})
    with pytest.raises(SpecError, match=r"No function is given for atom 'held', which the formula `forall box: G held"):
        rs.Spec([("forall box: G held(box)", 1)], {"a": read_boxes}, sorts={"box": 2})


def test_no_label_is_that_of_two_atoms():
    with pytest.raises(SpecError, match=r"The label 'held\(0\)' is that of two atoms, 'held' and 'held\(0\)'"):
        rs.Spec([("forall box: G held(box)", 1), ('F "held(0)"', 1)], sorts={"box": 2})
    rs.Spec([("forall box: G held(box)", 1), ('F "held(2)"', 1)], sorts={"box": 2})


def test_a_spec_is_saved_with_its_sorts():
    for sorts in ({"box": 3}, {"box": ["red", "blue"], "agent": 2}):
        spec = rs.Spec([("forall box: G(held(box) -> F placed(box))", 1)], sorts=sorts)
        assert loads_spec(dumps_spec(spec)) == spec
    assert 'sorts = { box = ["red", "blue"], agent = 2 }' in dumps_spec(spec)
    assert spec.replace(penalty=-1).sorts == spec.sorts
    assert "sorts={'box': 2, 'agent': 2}" in repr(spec)
    with pytest.raises(SpecError, match="a number of things"):
        loads_spec('sorts = { box = "x" }\npairs = [["forall box: G held(box)", 1]]')


def test_a_spec_about_single_things():
    assert SPEC.about(box=1).pairs[1].formula == rs.parse("F p").rebuild(SPEC.pairs[1].formula.about("1").args[0])
    with pytest.raises(SpecError, match="There is no box '3'; there are: 0, 1, 2"):
        SPEC.about(box=3)
    with pytest.raises(SpecError, match="There is no crate '0'; there are: box"):
        SPEC.about(crate=0)


def test_a_spec_about_single_things_survives_a_file():
    spec = SPEC.about(box=1)
    again = loads_spec(dumps_spec(spec))
    assert dumps_spec(again) == dumps_spec(spec)
    first, later = ({"held(1)": held, "placed(1)": 0.0, "safe": 1.0} for held in (1.0, 0.5))
    assert again.step(again.start(first), later) == spec.step(spec.start(first), later)


@pytest.mark.parametrize("things", [2, "names"])
def test_a_threshold_is_that_of_each_thing(things):
    atoms = {"near": lambda obs, action, next_obs: {"0": next_obs, "1": 0.25}}
    spec = rs.Spec([("mean box: F near(box)", 1)], atoms, sorts={"box": things}).boolean(0.5)
    state = spec.start(spec.labels(0.75, None, 0.75))
    assert spec.thing_values(state, 0) == {"0": 1.0, "1": 0.0}


@pytest.mark.parametrize("as_what", [list, tuple])
def test_a_threshold_takes_the_labels_of_things_as_a_list(as_what):
    atoms = {"near": lambda obs, action, next_obs: as_what([next_obs[0], next_obs[1]])}
    spec = rs.Spec([("forall box: F near(box)", 1)], atoms, sorts={"box": 2}).boolean(0.9)
    assert spec.labels(None, None, np.array([0.2, 0.95])) == {"near(0)": 0.0, "near(1)": 1.0}


@pytest.mark.parametrize("things", [{"x", 0.5}, ["x", 0.5], None])
def test_a_threshold_leaves_the_things_for_which_an_atom_holds(things):
    atoms = {"near": lambda obs, action, next_obs: things}
    spec = rs.Spec([("forall box: G !near(box)", 1)], atoms, sorts={"box": "names"})
    assert spec.boolean(0.9).labels(None, None, 0) == spec.labels(None, None, 0)


def test_lint_knows_sorts_and_variables():
    def rules(pairs, **options):
        return [finding.rule for finding in rs.Spec(pairs, **options).lint()]

    assert rules([("forall box: F held(box)", 1)], sorts={"box": 2}) == []
    assert rules([("forall box: F held(box)", 1)], sorts={"box": 2, "agent": 3}) == ["unused-sort"]
    assert rules([("forall box: F goal", 1)], sorts={"box": 2}) == ["unused-variable"]
    unread = {"held": read_boxes, "goal": read_boxes}
    assert rules([("forall box: F held(box)", 1)], atoms=unread, sorts={"box": 2}) == ["unused-atom"]
    # The same body says something else under another quantifier.
    assert rules([("forall box: F held(box)", 1), ("exists box: F held(box)", 1)], sorts={"box": 2}) == []
    assert rules([("mean box: F held(box)", 1), ("mean box: F held(box)", 1)], sorts={"box": 2}) == ["redundant"]
    assert rules([("mean box: F held(box)", 1), ("mean box: G !held(box)", 1, False)], sorts={"box": 2}) == [
        "redundant"
    ]
    assert rules([("forall box: F held(box)", 1), ("forall box: G !held(box)", 1, False)], sorts={"box": 2}) == []
    assert rules([("forall box: held(box)", 1, False)], sorts={"box": 2}) == ["first-state-only"]


def test_explanations_name_the_thing():
    labels = {
        "held": [[0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]],
        "placed": [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]],
        "safe": [1, 1, 1, 1, 1],
    }
    found = SPEC.explain(labels)
    deciders = [str(row.deciders[0]) for row in found]
    assert deciders == ["box 1: end@0", "box 1: end@1", "box 1: placed@2", "box 0: !held@3", "box 0: !held@3"]
    assert found[1].waiting[0] == ("placed(1)",)
    assert found[2].deciders[1].thing == ("box", "0")  # which pulls the mean down
    assert "← box 1: placed@2" in str(found)
    alone = found.about(box=1)
    assert [row.values[0] for row in alone] == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert "placed(1)" in alone.to_html()
    assert "forall box" in found.to_html()


def test_wrappers_name_the_worst_thing():
    near = {"near": lambda obs, action, next_obs: 1 - np.minimum(abs(next_obs[..., :3]), 1)}
    spec = rs.Spec([("forall axis: G near(axis)", 1, False, None, "near")], near, sorts={"axis": 3})
    env = rs.wrappers.MonitorReward(gym.make("CartPole-v1"), spec)
    envs = rs.wrappers.vector.MonitorReward(gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"), spec)
    _, info = env.reset(seed=0)
    _, infos = envs.reset(seed=0)
    assert infos["worst_things"]["near"][0] == info["worst_things"]["near"]
    for _ in range(3):
        info, infos = env.step(1)[-1], envs.step(np.array([1, 0]))[-1]
        values = spec.thing_values(env.monitor_state, 0)
        assert values[info["worst_things"]["near"]] == min(values.values())
        assert infos["worst_things"]["near"][0] == info["worst_things"]["near"]
        assert infos["_worst_things"].all()

"""Formulas about things that appear while an episode runs."""

import random
import re

import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs
from rewardspec.episodes.relabeling import relabel
from rewardspec.errors import LabelError, RecordingError, SpecError
from rewardspec.spec.toml_reading import loads_spec
from rewardspec.spec.toml_writing import dumps_spec
from tests.named_cases import compare, random_named_case

SPEC = rs.Spec([("forall order: G(placed(order) -> F[0,2] paid(order))", 1, False)], sorts={"order": "names"})
SETTLED = rs.Spec([("forall order: G(placed(order) -> F paid(order))", 1)], sorts={"order": "names"})


def test_values_penalties_and_rewards_are_those_of_the_definition():
    rng, compared = random.Random(5), 0
    while compared < 1_200:
        case = random_named_case(rng)
        compared += 0 if case is None else compare(case)


def test_a_thing_counts_from_the_step_that_names_it():
    state = SPEC.start({})
    assert SPEC.values(state) == (1.0,)
    state, _ = SPEC.step(state, {"placed": {"a": 0.75, "b": 0.0}})
    assert SPEC.values(state) == (0.25,)
    assert SPEC.worst_things(state) == {str(SPEC.pairs[0].formula): "a"}
    state, _ = SPEC.step(state, {"paid": ["a"]})
    assert SPEC.values(state) == (1.0,)
    assert SPEC.worst_things(state) == {str(SPEC.pairs[0].formula): None}


def test_a_mean_is_over_the_things_that_any_atom_of_the_sort_has_named():
    pairs = [("mean order: F paid(order)", 1), ("forall order: G !lost(order)", 1, False)]
    spec = rs.Spec(pairs, sorts={"order": "names"})
    state = spec.start({})
    assert spec.values(state)[0] == 0.0  # over nothing it is the value for an unnamed one
    for labels, value in (({"paid": [1]}, 1.0), ({"lost": {2: 0.0}}, 0.5), ({"paid": {1: 0.0, 2: 0.5}}, 0.75)):
        state, _ = spec.step(state, labels)
        assert spec.values(state)[0] == value


def test_what_is_settled_is_forgotten():
    state = SETTLED.start({})
    for number in range(3_000):
        state, _ = SETTLED.step(state, {"placed": [number]})
        state, _ = SETTLED.step(state, {"paid": [number]})
        (things,) = SETTLED.machine.populations(state)
        assert len(things.where) + len(things.recent) + len(things.classes) + len(things.merged) <= 200
    assert SETTLED.values(state) == (1.0,)
    for number in range(500):
        state, _ = SETTLED.step(state, {"placed": [number]})
    (things,) = SETTLED.machine.populations(state)
    assert (len(SETTLED.thing_values(state, 0)), len(things.classes)) == (500, 1)  # all in one state
    state, _ = SETTLED.step(state, {"paid": set(range(500))})
    (things,) = SETTLED.machine.populations(state)
    assert not things.where
    assert not things.recent


def test_windows_that_hold_the_same_are_the_same():
    spec = rs.Spec([("forall order: G(placed(order) -> F[0,40] paid(order))", 1, False)], sorts={"order": "names"})
    state = spec.start({})
    state, _ = spec.step(state, {"placed": {"a": 1.0}})
    state, _ = spec.step(state, {"paid": {"a": 1.0}})
    for _ in range(45):
        state, _ = spec.step(state, {})
    assert not spec.machine.populations(state)[0].classes


@pytest.mark.parametrize(
    ("quantifier", "values"), [("forall", (0.0, 0.0)), ("exists", (1.0, 0.0)), ("mean", (0.5, 0.0))]
)
def test_things_in_one_state_may_differ_in_value(quantifier, values):
    """The state of `now paid(x)` keeps nothing of the label that the value is."""
    spec = rs.Spec([(f"{quantifier} x: now paid(x)", 1, False)], sorts={"x": "names"})
    state = spec.start({"paid": {"a": 1.0, "b": 0.0}})
    assert spec.values(state) == values[:1]
    assert spec.values(spec.step(state, {})[0]) == values[1:]


def test_states_are_not_changed_by_steps():
    first, _ = SPEC.step(SPEC.start({}), {"placed": ["a"]})
    for labels, value in (({"paid": ["a"]}, 1.0), ({}, 0.0), ({"placed": ["b"], "paid": ["a"]}, 0.0)):
        assert SPEC.values(SPEC.step(first, labels)[0]) == (value,)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ({"placed": 1.0}, "should be a mapping from things to numbers, or the things for which it holds. Received 1.0"),
        ({"placed": "a"}, "Received 'a'"),
        (
            {"placed": [["a"]]},
            "The things of 'placed' should be hashable, as texts, numbers and tuples are. Received ['a']",
        ),
        ({"placed": {"a": 1.5}}, "'placed(a)' should be in [0, 1]. Received 1.5"),
        ({"placed": {"a": "x"}}, "'placed(a)' should be a number"),
    ],
)
def test_other_labels_are_refused_by_name(labels, told):
    with pytest.raises(LabelError, match=re.escape(told)):
        SPEC.step(SPEC.start({}), labels)


def test_what_has_no_axis_is_refused_by_name():
    spec = rs.Spec([*SPEC.pairs, ("G safe", 1)], sorts={"order": "names"})
    obs = np.zeros((2, 1))
    functions = {name: lambda obs, action, next_obs: {} for name in ("placed", "paid")} | {"safe": lambda *_: 1.0}
    reading = rs.Spec(spec.pairs, functions, sorts={"order": "names"})
    for attempt in (
        lambda: spec.initial_state(batch=2),
        lambda: spec.start({"safe": np.ones(2)}),
        lambda: spec.to_c(),
        lambda: spec.to_js(),
        lambda: reading.labels(obs, None, obs, batch=2),
        lambda: relabel(reading, obs, np.zeros(1), [True]),
        lambda: rs.wrappers.vector.MonitorReward(gym.make_vec("CartPole-v1", num_envs=2), reading).reset(),
    ):
        with pytest.raises(SpecError, match="sort of names runs one episode at a time"):
            attempt()
    with pytest.raises(SpecError, match="should not be 'registers'"):
        rs.wrappers.MonitorReward(gym.make("CartPole-v1"), reading, observe="registers")
    with pytest.raises(SpecError, match="needs semantics='degree'"):
        spec.replace(semantics="robustness")
    with pytest.raises(LabelError, match="There is no label for atom 'safe'"):
        spec.start({})


def test_a_wrapper_reads_things_and_explains_them():
    """Every step places the order of its number, and pays for the one before while the pole goes left."""
    clock = {"t": 0}

    def placed(obs, action, next_obs):
        clock["t"] = 0 if action is None else clock["t"] + 1
        return {clock["t"]: 1.0}

    def paid(obs, action, next_obs):
        return {} if action is None or action == 1 else [clock["t"] - 1]

    spec = rs.Spec(SPEC.pairs, {"placed": placed, "paid": paid}, sorts={"order": "names"})
    env = rs.wrappers.MonitorReward(gym.make("CartPole-v1"), spec, record=True)
    env.reset(seed=0)
    rewards = [env.step(action)[1] for action in (0, 0, 1, 1, 0)]
    found = env.explain()
    assert [row.reward for row in found][1:] == rewards
    assert found[4].deciders[0].thing[0] == "order"
    state = spec.start({"placed": {0: 1.0}})
    again = [
        {"placed": {t: 1.0}, "paid": [t - 1] if action == 0 else []} for t, action in enumerate((0, 0, 1, 1, 0), 1)
    ]
    for labels, reward in zip(again, rewards, strict=True):
        state, value = spec.step(state, labels)
        assert value == reward


@pytest.mark.parametrize("record", [False, True])
def test_atoms_about_names_read_the_observation_before_and_the_action(record):
    def moved(obs, action, next_obs):
        return {} if action is None else {int(obs): float(next_obs != obs), "right": float(action == 2)}

    spec = rs.Spec([("mean cell: F moved(cell)", 1)], {"moved": moved}, sorts={"cell": "names"})
    env = rs.wrappers.MonitorReward(gym.make("FrozenLake-v1", is_slippery=False), spec, record=record)
    env.reset(seed=0)
    assert [env.step(action)[1] for action in (0, 2, 1)] == [0.0, 1.0, 1.0]
    env.reset(seed=0)
    assert [env.step(action)[1] for action in (1, 0, 0)] == [0.5, 1 / 3, 1 / 3]


def test_explanations_are_of_the_things_named_and_one_more():
    episode = {"placed": [{}, ["a"], ["b"], {}, {}], "paid": [{}, {}, {"a": 1.0}, {}, {}]}
    found = SPEC.explain(episode)
    assert [row.values[0] for row in found] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert str(found[2].deciders[0]) == "order b: !placed@2"
    assert [row.values[0] for row in found.about(order="a")] == [1.0, 0.0, 1.0, 1.0, 1.0]
    with pytest.raises(RecordingError, match="is explained from its labels"):
        SPEC.explain({"observations": np.zeros((2, 1)), "actions": np.zeros(1)})


def test_labels_of_things_are_clipped():
    atoms = {"near": lambda obs, action, next_obs: {"a": next_obs, "b": -0.5, "c": 0.25}}
    spec = rs.Spec([("mean order: F near(order)", 1)], atoms, clip=True, sorts={"order": "names"})
    assert spec.labels(1.5, None, 1.5) == {"near": {"a": 1.0, "b": 0.0, "c": 0.25}}
    with pytest.raises(LabelError, match=r"near\(a\)"):
        spec.labels(np.nan, None, np.nan)
    with pytest.raises(LabelError, match=r"near\(a\)"):
        spec.replace(clip=False).labels(1.5, None, 1.5)


def test_a_mean_is_explained_by_a_thing_that_it_is_over():
    spec = rs.Spec([("mean order: F paid(order)", 1)], sorts={"order": "names"})
    steps = [{}, {"a": 0.5}, {"a": 0.0, "b": 0.0}, {"b": 1.0}]
    found = spec.explain({"paid": steps})
    assert [str(row.deciders[0]) for row in found] == [
        "order any other: end@0",
        "order a: paid@1",
        "order b: end@2",
        "order a: paid@1",
    ]
    assert [row.waiting[0] for row in found] == [("paid(any other)",), (), ("paid(b)",), ()]


@pytest.mark.parametrize("name", ["", "any other"])
def test_a_thing_may_have_any_name(name):
    found = SPEC.explain({"placed": [{}, [name], {}], "paid": [{}, {}, {}]})
    assert str(found[1].deciders[0]) == f"order {name!r}: !placed@1"


def test_the_progress_of_a_mean_is_over_the_things_named_so_far():
    pairs = [("mean order: F(placed(order) & F paid(order))", 1), ("F goal", 1)]
    spec = rs.Spec(pairs, sorts={"order": "names"})
    found = spec.explain({"placed": [{}, ["a"], [], ["b"]], "paid": [{}, {}, ["a"], {}], "goal": [0.0, 0.0, 0.5, 0.0]})
    assert found.progress(0) == [0.0, 0.5, 1.0, 0.75]
    assert found.progress(1) == [0.0, 0.0, 0.5, 0.5]
    assert [row.values[0] for row in found] == [0.0, 0.0, 1.0, 0.5]
    found.plot()


def test_an_explanation_about_one_thing_leaves_the_means_over_others_as_they_are():
    pairs = [("forall order: G(placed(order) -> F paid(order))", 1, False), ("mean item: F done(item)", 2)]
    spec = rs.Spec(pairs, sorts={"order": "names", "item": "names"})
    episode = {
        "placed": [{}, ["a"], [], ["b"]],
        "paid": [{}, {}, ["a"], {}],
        "done": [{}, {"x": 1.0}, {"y": 0.5}, {}],
    }
    found = spec.explain(episode).about(order="a")
    assert [row.values for row in found] == [(1.0, 0.0), (0.0, 1.0), (1.0, 0.75), (1.0, 0.75)]
    assert [row.reward for row in found[1:]] == [2.0, 2.5, 2.5]
    found = found.about(item="y")
    assert [row.values for row in found] == [(1.0, 0.0), (0.0, 0.0), (1.0, 0.5), (1.0, 0.5)]
    assert "done(y)" in found.to_html()
    found.plot()


def test_a_formula_that_does_not_use_its_variable_is_explained():
    spec = rs.Spec([("forall order: F goal", 1)], sorts={"order": "names"})
    found = spec.explain({"goal": [0.0, 0.5]})
    assert [(row.values, str(row.deciders[0])) for row in found] == [
        ((0.0,), "order any other: end@0"),
        ((0.5,), "order any other: goal@1"),
    ]


def test_a_sort_of_names_is_saved_and_linted():
    assert loads_spec(dumps_spec(SPEC)) == SPEC
    assert "sorts={'order': 'names'}" in repr(SPEC)

    def rules(formula):
        return [finding.rule for finding in rs.Spec([(formula, 1, False)], sorts={"order": "names"}).lint()]

    assert rules("forall order: F paid(order)") == ["unnamed-things"]
    assert rules("exists order: G !lost(order)") == ["unnamed-things"]
    assert rules("forall order: G(placed(order) -> F paid(order))") == []
    assert rules("mean order: F paid(order)") == []


@pytest.mark.parametrize(
    ("episode", "told"),
    [
        ({"safe": [1, 1]}, "There is no label for atom 'broken'; there are: safe."),
        ({"safe": [1, 1], "brokn": [[], ["x"]]}, "Did you mean 'brokn'?"),
        ({"safe": [1, 1], "broken": [[]]}, "the same number of labels. Received {'safe': 2, 'broken': 1}"),
        ({"safe": [1, 1], "broken": [[], [], []]}, "Received {'safe': 2, 'broken': 3}"),
        ({"safe": [1, 1], "broken": 1.0}, "The labels of 'broken' should be a sequence, one for each step"),
        ({"broken": [[]]}, "no labels for atom 'safe'"),
    ],
)
def test_an_episode_without_all_labels_is_not_explained(episode, told):
    spec = rs.Spec([("forall order: G !broken(order)", 1), ("G safe", 1)], sorts={"order": "names"})
    with pytest.raises(LabelError, match=re.escape(told)):
        spec.explain(episode)


@pytest.mark.parametrize("episode", [{}, {"safe": [1]}, {"broken": []}, {"rewards": [1.0]}])
def test_an_episode_without_things_is_not_explained(episode):
    with pytest.raises(LabelError, match=r"no label for atom 'broken'|The trace is empty"):
        rs.Spec([("forall order: G !broken(order)", 1)], sorts={"order": "names"}).explain(episode)


def test_an_episode_of_too_many_things_is_not_explained():
    spec = rs.Spec([("mean x: G(a(x) -> F b(x))", 1)], sorts={"x": "names"})
    labels = {"a": [dict.fromkeys(range(1000), 1.0)], "b": [{}]}
    with pytest.raises(RecordingError, match="fewer than 1,000 things of a sort"):
        spec.explain(labels)


def test_a_misspelt_atom_is_told_of_once_and_atoms_of_other_specs_are_not(recwarn):
    spec = rs.Spec([*SPEC.pairs, ("forall box: G !held(box)", 1)], sorts={"order": "names", "box": 2})
    state = spec.start({"held": [0, 0]})
    for labels in ({"paid": []}, {"placed": [], "goal": 1.0}, {"placed": [], "paid": [], "payed": []}):
        state, _ = spec.step(state, {"held": [0, 0], **labels})
    assert not recwarn.list
    for _ in range(2):
        state, _ = spec.step(state, {"held": [0, 0], "plced": ["order 7"]})
    assert [str(one.message) for one in recwarn.list] == [
        "No formula has the atom 'plced', so that its labels are not read. Did you mean 'placed'? This step leaves out "
        "placed, paid."
    ]
    assert recwarn.list[0].filename == __file__


def test_lint_does_not_advise_registers_which_cannot_be_shown():
    late = rs.Spec([("forall order: G(placed(order) -> F[0,400] paid(order))", 1, False)], sorts={"order": "names"})
    found = {finding.rule: finding.remedy for spec in (SETTLED, late) for finding in spec.lint(observe="nothing")}
    policy = "Give it a policy with memory, or the last observations."
    assert found["unseen-window"] == found["unseen-register"] == policy

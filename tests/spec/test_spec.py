"""Specs pay what their formulas are worth."""

import copy
import math
import pickle
import random
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import rewardspec as rs
from rewardspec.errors import LabelError, SpecError
from tests.strategies import random_formula, random_trace

ATOMS = ("a", "b", "c")


def level_by_definition(spec, trace, step):
    """The level after a step, from the definition alone; safety objectives here are G of something propositional."""
    violated = []
    for t in range(step + 1):
        prefix = {name: labels[: t + 1] for name, labels in trace.items()}
        broken = [pair for pair in spec.pairs if pair.vetoes and rs.evaluate(pair.formula, prefix) == 0.0]
        violated.extend(spec.penalty if pair.penalty is None else pair.penalty for pair in broken)
    if violated:
        return min(violated)
    prefix = {name: labels[: step + 1] for name, labels in trace.items()}
    return sum(pair.weight * rs.evaluate(pair.formula, prefix) for pair in spec.pairs)


def random_spec(rng, **options):
    pairs = [(random_formula(rng, 3, ATOMS), rng.choice([-2, -0.5, 0, 1, 4]), False) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.7:
        pairs.append(rs.Pair("G(a | b)", rng.choice([0.5, 2]), penalty=-rng.randint(0, 3)))
    if rng.random() < 0.5:
        pairs.append(rs.Pair("G !(b & c)", 0, veto=True, penalty=-4))
    return rs.Spec(pairs, penalty=-1, **options)


def test_levels_are_the_weighted_values_or_the_latched_penalty():
    rng = random.Random(0)
    vetoes = 0
    for _ in range(80):
        spec, trace = random_spec(rng), random_trace(rng, length=6, atoms=ATOMS)
        state = spec.start({name: labels[0] for name, labels in trace.items()})
        assert spec.level(state) == pytest.approx(level_by_definition(spec, trace, 0))
        for t in range(1, 6):
            state, reward = spec.step(state, {name: labels[t] for name, labels in trace.items()})
            assert reward == spec.level(state) == pytest.approx(level_by_definition(spec, trace, t)), str(spec)
            vetoes += spec.violated(state)
    assert vetoes > 50, "the random specs should violate safety now and then"


def test_values_are_those_of_the_single_monitors():
    rng = random.Random(1)
    for _ in range(40):
        spec, trace = random_spec(rng), random_trace(rng, length=5, atoms=ATOMS)
        state = spec.start({name: labels[0] for name, labels in trace.items()})
        for t in range(1, 5):
            state, _ = spec.step(state, {name: labels[t] for name, labels in trace.items()})
            prefix = {name: labels[: t + 1] for name, labels in trace.items()}
            assert spec.values(state) == tuple(rs.evaluate(formula, prefix) for formula in spec.formulas)


@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
def test_payments(payment):
    rng = random.Random(2)
    for _ in range(25):
        spec = random_spec(rng, payment=payment, discount=0.9)
        trace = random_trace(rng, length=6, atoms=ATOMS)
        levels = [level_by_definition(spec, trace, t) for t in range(6)]
        state = spec.start({name: labels[0] for name, labels in trace.items()})
        for t in range(1, 6):
            letter = {name: labels[t] for name, labels in trace.items()}
            state, reward = spec.step(state, letter, base_reward=10.0, terminated=t == 5)
            expected = {
                "value": levels[t],
                "delta": levels[t] - (levels[t - 1] if t > 1 else 0.0),
                "potential": 10.0 + 0.9 * levels[t] * (t < 5) - levels[t - 1],
                "final": levels[t] * (t == 5),
            }[payment]
            assert reward == pytest.approx(expected)


def test_delta_rewards_add_up_to_the_final_level():
    spec = rs.Spec([("F a", 2), ("F G b", 1)], payment="delta")
    state, total = spec.start({"a": 0.5, "b": 1.0}), 0.0
    for a, b in [(0.25, 0.0), (0.75, 0.5), (0.0, 0.25)]:
        state, reward = spec.step(state, {"a": a, "b": b})
        total += reward
    assert total == 2 * 0.75 + 0.25


def test_a_truncated_episode_keeps_its_potential_and_is_paid_its_final_level():
    letters = [{"a": 0.5}, {"a": 1.0}]
    spec = rs.Spec([("F a", 1)], payment="potential", discount=0.5)
    _, reward = spec.step(spec.start(letters[0]), letters[1], base_reward=3.0, truncated=True)
    assert reward == 3.0 + 0.5 * 1.0 - 0.5
    spec = spec.replace(payment="final")
    assert spec.step(spec.start(letters[0]), letters[1], truncated=True)[1] == 1.0
    assert spec.step(spec.start(letters[0]), letters[1])[1] == 0.0


@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_batches_pay_what_single_episodes_do(payment, xp):
    rng = random.Random(3)
    for _ in range(12):
        spec = random_spec(rng, payment=payment)
        traces = [random_trace(rng, length=5, atoms=ATOMS) for _ in range(4)]
        batch = {name: np.array([t[name] for t in traces], dtype=float).T for name in spec.atoms}
        if not batch:
            continue
        state = spec.start({name: xp.asarray(labels[0]) for name, labels in batch.items()})
        singles = [spec.start({name: float(labels[0, k]) for name, labels in batch.items()}) for k in range(4)]
        for t in range(1, 5):
            ended = np.array([t == 4, False, t == 4, False])
            letter = {name: xp.asarray(labels[t]) for name, labels in batch.items()}
            state, rewards = spec.step(state, letter, base_reward=xp.ones(4), terminated=xp.asarray(ended))
            for k in range(4):
                one = {name: float(labels[t, k]) for name, labels in batch.items()}
                singles[k], reward = spec.step(singles[k], one, base_reward=1.0, terminated=bool(ended[k]))
                assert float(rewards[k]) == pytest.approx(reward, abs=1e-5)
                assert bool(spec.violated(state)[k]) == spec.violated(singles[k])


def test_specs_run_inside_a_scan_over_many_environments():
    spec = rs.Spec([("F goal", 2), ("G safe", 1)], penalty=-1)
    rng = np.random.default_rng(0)
    labels = {name: rng.integers(0, 5, (7, 100)) / 4 for name in ("goal", "safe")}

    @jax.jit
    def rollout(labels):
        state = spec.start({name: values[0] for name, values in labels.items()})
        return jax.lax.scan(spec.step, state, {name: values[1:] for name, values in labels.items()})[1]

    rewards = rollout({name: jnp.asarray(values) for name, values in labels.items()})
    state = spec.start({name: values[0] for name, values in labels.items()})
    for t in range(1, 7):
        state, expected = spec.step(state, {name: values[t] for name, values in labels.items()})
        assert (np.asarray(rewards[t - 1]) == expected).all()


def test_part_of_a_batch_can_restart():
    spec = rs.Spec([("F a", 1), ("G b", 1)], penalty=-5, payment="delta")
    state = spec.start({"a": np.array([0.5, 0.5]), "b": np.ones(2)})
    state, _ = spec.step(state, {"a": np.array([0.0, 0.75]), "b": np.array([0.0, 1.0])})
    assert spec.violated(state).tolist() == [True, False]
    state = spec.reset(state, {"a": np.array([0.25, 0.0]), "b": np.ones(2)}, np.array([True, False]))
    assert spec.violated(state).tolist() == [False, False]
    state, rewards = spec.step(state, {"a": np.array([0.0, 1.0]), "b": np.ones(2)})
    assert rewards.tolist() == [0.25 + 1.0, 0.25]


def test_what_formulas_share_exists_once():
    spec = rs.Spec([("F(a & F b)", 1), ("F(a & F c)", 1), ("F a", 1)])
    assert len(spec.registers) == 3
    assert "max[a]" in spec.registers


def test_a_negative_weight_never_vetoes():
    # Read literally, the paper's Lunar Lander pair (G outside_viewport, -20) would silence every episode.
    spec = rs.Spec([("G outside", -20), ("F landed", 1)])
    state = spec.start({"outside": 0.0, "landed": 0.0})
    assert not spec.violated(state)
    assert spec.step(state, {"outside": 0.0, "landed": 1.0})[1] == 1.0


def test_the_lowest_penalty_of_the_violated_counts():
    spec = rs.Spec([rs.Pair("G a", 1, penalty=-1), rs.Pair("G b", 1, penalty=-5)], penalty=-3)
    state = spec.start({"a": 1.0, "b": 1.0})
    state, first = spec.step(state, {"a": 0.0, "b": 1.0})
    state, second = spec.step(state, {"a": 1.0, "b": 0.0})
    _, third = spec.step(state, {"a": 1.0, "b": 1.0})
    assert (first, second, third) == (-1.0, -5.0, -5.0)


def test_a_veto_waits_until_nothing_can_make_the_formula_positive():
    # Violated means that no continuation can help: with weak next, not before the step in question.
    spec = rs.Spec([("WX a", 1)], penalty=-1)
    state = spec.start({"a": 0.0})
    assert not spec.violated(state)
    assert spec.violated(spec.step(state, {"a": 0.0})[0])


def test_safety_can_be_forced_and_forbidden():
    labels = {"a": 0.0}
    assert not rs.Spec([("G a", 1, False)]).violated(rs.Spec([("G a", 1, False)]).start(labels))
    forced = rs.Spec([rs.Pair("!F a", 0, veto=True, penalty=-10)])
    assert forced.step(forced.start(labels), {"a": 1.0})[1] == -10.0


def test_boolean_versions_threshold_the_same_atoms():
    spec = rs.Spec([("F near", 1)], atoms={"near": lambda obs, action, next_obs: next_obs})
    boolean = spec.boolean(threshold=0.9)
    assert spec.labels(0.0, None, 0.95) == {"near": 0.95}
    assert boolean.labels(0.0, None, 0.95) == {"near": 1.0}
    assert boolean.labels(0.0, None, 0.85) == {"near": 0.0}
    assert boolean.labels(None, None, np.array([0.85, 0.95]), batch=2)["near"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("label", [2.5, -1.0, math.nan, np.float32(2.5), True + 1])
def test_a_threshold_refuses_what_is_no_label(label):
    spec = rs.Spec([("F near", 1)], atoms={"near": lambda obs, action, next_obs: next_obs}).boolean(0.9)
    with pytest.raises(LabelError, match=r"The label of 'near' should be in \[0, 1\]\. Received"):
        spec.labels(None, None, label)
    with pytest.raises(ValueError, match="out of range"):
        spec.transition(spec.start({"near": 0.0}), None, 0, label, {}, 0.0, False, False)
    with pytest.raises(LabelError, match="in environment 1 should be in"):
        spec.labels(None, None, np.array([0.5, label]), batch=2)
    for array in (torch.tensor, jnp.array):
        state = spec.start(spec.labels(None, None, array([0.5, float(label)]), batch=2))
        assert spec.invalid_labels(state)["near"].tolist() == [False, True]
    if not math.isnan(label):
        assert spec.replace(clip=True).labels(None, None, label) == {"near": float(label > 0)}


def test_a_threshold_takes_any_number_and_names_what_is_none():
    spec = rs.Spec([("F near", 1)], atoms={"near": lambda obs, action, next_obs: next_obs}).boolean(0.9)
    for label in (True, 1, np.float32(1.0), np.bool_(True), np.array(1.0), torch.tensor(1.0), 1.0 + 1e-9):
        assert spec.labels(None, None, label) == {"near": 1.0}
    with pytest.raises(LabelError, match="gave None"):
        spec.labels(None, None, None)


def test_robustness_has_no_threshold():
    spec = rs.Spec([("F near", 1)], atoms={"near": "next_obs[0] > 1"}, semantics="robustness")
    with pytest.raises(SpecError, match=r"neither true nor false. Received 0.9 for the atom 'near'"):
        spec.boolean(0.9)


def test_an_empty_spec_pays_nothing():
    spec = rs.Spec([])
    assert spec.step(spec.start({}), {})[1] == 0.0
    state = spec.start({}, batch=3)
    assert spec.step(state, {})[1].tolist() == [0.0, 0.0, 0.0]


def test_specs_can_be_copied():
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: 1.0}, penalty=-2)
    again = copy.deepcopy(spec)
    assert again.labels(None, None, None) == {"a": 1.0}
    assert again.pairs == spec.pairs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": "F a"}, "list of pairs"),
        ({"pairs": ["F a"]}, "A pair is"),
        ({"pairs": [("F a",)]}, "A pair is"),
        ({"pairs": [("F a", "high")]}, "`weight` should be a finite number"),
        ({"pairs": [("F a", float("nan"))]}, "`weight` should be a finite number"),
        ({"pairs": [("F a", 1)], "payment": "deltas"}, "Did you mean 'delta'"),
        ({"pairs": [("F a", 1)], "discount": 1.5}, r"`discount` should be in \[0, 1\]"),
        ({"pairs": [("F a", 1)], "penalty": float("inf")}, "`penalty` should be a finite number"),
        ({"pairs": [("F goal", 1)], "atoms": {"gaol": abs}}, "Did you mean 'gaol'"),
        ({"pairs": [("F a", 1)], "atoms": {"a": 3}}, "should be a function"),
        ({"pairs": [("F a", 1)], "atoms": [abs]}, "`atoms` should map"),
        ({"pairs": [("F a", 1, None, -5)]}, "is no safety objective"),
        ({"pairs": [("F a", 1, "yes")]}, "`veto` should be"),
        ({"pairs": [("F a", 10**400)]}, "`weight` should be a finite number"),
        ({"pairs": [("F a", 1)], "clip": "no"}, "`clip` should be"),
        ({"pairs": [("F a", 1)], "max_registers": -1}, "`max_registers` should be a non-negative integer"),
    ],
)
def test_bad_specs_are_refused(arguments, message):
    with pytest.raises(rs.SpecError, match=message):
        rs.Spec(**arguments)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "'a' at step 7 should be in .* Received nan. A division by zero, or the root"),
        (-0.1, "'a' at step 7 should be in .* Received -0.1"),
        (1.1, "'a' at step 7 should be in .* Received 1.1"),
        ("high", "'a' gave 'high' at step 7; an atom should give a number in"),
        ([0.1, 0.2], r"'a' gave \[0.1, 0.2\] at step 7; .* Join its numbers to one"),
        ([[0.1], [0.2, 0.3]], "Join its numbers to one"),
        (np.zeros(3), r"'a' gave array\(\[0., 0., 0.\]\) at step 7; .* Join its numbers to one"),
        ({}, "'a' gave {} at step 7; an atom should give a number in"),
        (1j, "'a' gave 1j at step 7; an atom should give a number in"),
        (None, "'a' gave None at step 7; .* End it with `return` and a number"),
    ],
)
def test_bad_labels_of_one_environment_name_atom_value_and_step(value, message):
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: value})
    with pytest.raises(rs.LabelError, match=message):
        spec.labels(None, None, None, step=7)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([0.5, np.nan]), "'a' at step 7 in environment 1 .* Received nan"),
        (np.array([-0.1, 0.5]), "'a' at step 7 in environment 0 .* Received -0.1"),
        (np.zeros((2, 4)), r"'a' at step 7 should have shape \(2,\)"),
        ("high", "'a' gave 'high' at step 7; an atom should give a number in .* for each environment"),
    ],
)
def test_bad_labels_of_a_batch_name_the_environment_too(value, message):
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: value})
    with pytest.raises(rs.LabelError, match=message):
        spec.labels(None, None, None, step=7, batch=2)


@pytest.mark.parametrize(
    ("atom", "batch", "remedy"),
    [
        (lambda obs, next_obs: 1.0, None, "An atom is a function of (obs, action, next_obs), or of"),
        (lambda obs, action, next_obs: action * 1.0, None, "At reset `action` is None: say what the label is then."),
        (lambda obs, action, next_obs: next_obs.speed, None, "next_obs is an array of shape (4, 2)."),
        (lambda obs, action, next_obs: next_obs["speed"], 4, "next_obs is an array of shape (4, 2)."),
        (
            lambda obs, action, next_obs: next_obs[9],
            4,
            "Written for the last axis, as next_obs[..., 2], an atom serves",
        ),
        (lambda obs, action, next_obs: 1.0 if next_obs[..., 0] > 0 else 0.0, 4, "use operations on arrays instead of"),
    ],
)
def test_an_atom_that_goes_wrong_in_a_usual_way_gets_a_remedy(atom, batch, remedy):
    spec, obs = rs.Spec([("F a", 1)], atoms={"a": atom}), np.ones((4, 2))
    with pytest.raises(rs.LabelError, match=re.escape(remedy)):
        spec.labels(obs, None, obs, step=0, batch=batch)


@pytest.mark.parametrize(
    ("obs", "said"),
    [
        (
            np.zeros(2),
            "IndexError at step 1: index 5 is out of bounds for axis 0 with size 2. next_obs is an array of "
            "shape (2,).",
        ),
        ({"speed": 1.0, "place": 2.0}, "KeyError at step 1: 5. next_obs is a dict with the keys 'speed', 'place'."),
        (7, "TypeError at step 1: 'int' object is not subscriptable. next_obs is 7, of type int."),
        ((1.0, 2.0), "IndexError at step 1: tuple index out of range. next_obs is a tuple of 2."),
    ],
)
def test_an_atom_that_misreads_its_observation_is_told_what_it_was_given(obs, said):
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: next_obs[5]})
    with pytest.raises(rs.LabelError) as caught:
        spec.labels(obs, 0, obs, step=1)
    assert str(caught.value) == f"The atom 'a' raised {said}"


def test_an_atom_that_raises_is_named_and_its_error_kept():
    def broken(obs, action, next_obs):
        raise KeyError("velocity")

    spec = rs.Spec([("F a", 1)], atoms={"a": broken})
    with pytest.raises(rs.LabelError, match="'a' raised KeyError at step 3") as caught:
        spec.labels(None, None, None, step=3)
    assert isinstance(caught.value.__cause__, KeyError)


def test_labels_can_be_clipped_but_nan_cannot():
    values = iter([-0.5, 1.5, float("nan")])
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: next(values)}, clip=True)
    assert spec.labels(None, None, None) == {"a": 0.0}
    assert spec.labels(None, None, None) == {"a": 1.0}
    with pytest.raises(rs.LabelError, match="nan"):
        spec.labels(None, None, None)


@pytest.mark.parametrize("kind", [bool, int, np.bool_, np.uint8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
def test_any_kind_of_number_is_a_label(kind, payment):
    spec = rs.Spec([("F p", 1), ("F G p", 1)], payment=payment)
    rewards = {}
    for read in (float, kind):
        state, rewards[read] = spec.start({"p": read(1)}), []
        for label in (1, 0, 1):
            state, reward = spec.step(state, {"p": read(label)}, terminated=False, truncated=True)
            assert type(reward) is float
            rewards[read].append(reward)
    assert rewards[kind] == rewards[float]


@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
def test_a_partial_reset_in_jax_lets_no_nan_of_the_others_through(payment):
    spec = rs.Spec([("F p", 1), ("G(p -> F q)", 2), ("G q", 1)], payment=payment)
    state = spec.start({"p": jnp.array([0.75, 0.25]), "q": jnp.ones(2)})
    mask = jnp.array([True, False])

    def rewarded(labels):
        new = spec.reset(state, {"p": labels, "q": labels}, mask)
        return spec.step(new, {"p": jnp.array([0.5, 0.5]), "q": jnp.array([1.0, 1.0])}, 0.0, True, False)[1].sum()

    value, slope = jax.value_and_grad(rewarded)(jnp.array([0.5, jnp.nan]))
    assert jnp.isfinite(value)
    assert jnp.isfinite(slope).all()
    assert slope[1] == 0.0


def test_a_partial_reset_does_not_read_the_others():
    spec = rs.Spec([("F p", 1)])
    state = spec.start({"p": np.array([0.75, 0.25])})
    state = spec.reset(state, {"p": np.array([0.5, np.nan])}, np.array([True, False]))
    assert spec.values(state)[0].tolist() == [0.5, 0.25]
    with pytest.raises(rs.SpecError, match=r"batch's shape, \(2,\). Received shape \(1,\)"):
        spec.reset(state, {"p": np.zeros(2)}, np.array([True]))
    with pytest.raises(rs.SpecError, match="Call start"):
        spec.reset(spec.start({"p": 0.5}), {"p": 0.5}, True)


def test_equal_specs_are_equal():
    assert rs.Spec([("F p", 1)]) == rs.Spec([("F p", 1)])
    assert rs.Spec([("F p", 1)]) != rs.Spec([("F p", 2)])
    assert hash(rs.Spec([("F p", 1)])) == hash(rs.Spec([("F p", 1)]))


@pytest.mark.parametrize(
    ("pairs", "options", "text"),
    [
        ([("F goal", 2), ("G safe", 1)], {}, "Spec([('F goal', 2), ('G safe', 1)], payment='value', penalty=0)"),
        (
            [rs.Pair("G !hole", 0, veto=True, penalty=-10)],
            {},
            "Spec([Pair('G !hole', 0, veto=True, penalty=-10)], payment='value', penalty=0)",
        ),
        (
            [("G a", 1, False, None, "stay"), ("F b", 1)],
            {"penalty": -1},
            "Spec([Pair('G a', 1, veto=False, name='stay'), ('F b', 1)], payment='value', penalty=-1)",
        ),
        (
            [("F a", 1)],
            {"payment": "potential", "discount": 0.9},
            "Spec([('F a', 1)], payment='potential', penalty=0, discount=0.9)",
        ),
    ],
)
def test_what_is_printed_tells_what_is_paid(pairs, options, text):
    spec = rs.Spec(pairs, **options)
    assert repr(spec) == text
    assert eval(repr(spec), {"Spec": rs.Spec, "Pair": rs.Pair}) == spec


def test_atoms_may_be_expressions(tmp_path):
    spec = rs.Spec(
        [("G up", 1), ("F goal", 1), ("F pushes", 1), ("F near", 1)],
        atoms={
            "up": "1 - abs(next_obs[2]) / 0.25",
            "goal": "next_obs[0] > obs[0]",
            "pushes": {"expression": "action == 1", "at_reset": 0},
            "near": "tests.spec.test_spec:near",
        },
    )
    before, after = np.zeros(4), np.array([1.0, 0.0, 0.125, 0.0])
    expected = {"up": 0.5, "goal": 1.0, "pushes": 1.0, "near": 0.75}
    spec.save(tmp_path / "spec.toml")
    for again in (spec, pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec), rs.Spec.load(tmp_path / "spec.toml")):
        assert again == spec
        assert again.labels(before, 1, after) == expected
        batch = again.labels(np.stack([before] * 2), np.ones(2), np.stack([after] * 2), batch=2)
        assert {name: column.tolist() for name, column in batch.items()} == {a: [v] * 2 for a, v in expected.items()}


def near(obs, action, next_obs):
    return 0.75 * np.ones(np.shape(next_obs)[:-1])


@pytest.mark.parametrize(
    ("atom", "message"),
    [
        ("abs(theta) < 1", r"In atom 'a': Unknown name 'theta'(.|\n)*next_obs\[0\]"),
        ("action == 1", r"In atom 'a': .*'at_reset': 0"),
        ("next_obs[0] <", r"In atom 'a': The expression stops too early"),
        ("no_such_module:atom", r"In atom 'a': There is no module 'no_such_module'"),
        ({"expresion": "1"}, r"Did you mean 'expression'"),
        (3, r"'a' should be a function of \(obs, action, next_obs\), or an expression such as .* Got 3"),
    ],
)
def test_an_atom_that_is_no_function_says_what_to_write(atom, message):
    with pytest.raises(rs.SpecError, match=message):
        rs.Spec([("F a", 1)], atoms={"a": atom})


def test_a_dict_of_weights_is_answered_with_the_list_to_write():
    with pytest.raises(rs.SpecError, match=r"Received a dict\. Write its items as a list: \[\('G up', 1\), …\]"):
        rs.Spec({"G up": 1, "F goal": 10})


def test_robustness_pays_signed_margins_and_vetoes_below_zero():
    spec = rs.Spec([('G "next_obs[0] < 2"', 1), ('F "next_obs[1] > 0.5"', 2)], semantics="robustness", penalty=-9)
    assert spec == spec.replace()
    states, rewards = [spec.start(spec.labels(np.zeros(2), None, np.zeros(2)))], []
    for point in ([1.0, 0.0], [1.5, 1.0], [2.25, 3.0], [0.0, 9.0]):
        labels = spec.labels(None, 0, np.array(point))
        state, reward = spec.step(states[-1], labels)
        states.append(state)
        rewards.append(reward)
    assert rewards == [1.0 - 1.0, 0.5 + 1.0, -9.0, -9.0]
    assert [spec.violated(state) for state in states] == [False, False, False, True, True]
    batch = spec.start({name: np.array([2.0, -1.0]) for name in spec.atoms})
    assert spec.violated(batch).tolist() == [False, True]
    with pytest.raises(rs.FormulaError, match="Robustness has no scales"):
        rs.Spec([("0.5 * F a", 1)], semantics="robustness")


def test_a_notebook_shows_a_spec_as_a_table_with_its_formulas_in_words():
    spec = rs.Spec([rs.Pair("G !crash", 1, penalty=-2), rs.Pair('F "x < 1"', 2, name="reach")], payment="delta")
    text = spec._repr_html_()
    assert "paid by delta" in text
    assert "at every step: not crash" in text
    assert "vetoes, then -2 a step" in text
    assert "reach: F &quot;x &lt; 1&quot;" in text
    assert "paid by</th>" not in text  # no pair has its own payment
    assert "paid by</th>" in rs.Spec([rs.Pair("F a", 1, payment="value")], payment="delta")._repr_html_()

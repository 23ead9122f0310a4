"""The expression language of atoms."""

import math
import pickle
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import rewardspec as rs
from rewardspec.errors import LabelError, SpecError
from rewardspec.spec.atoms.column_atoms import ColumnAtom
from rewardspec.spec.atoms.components import read_components, reader
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom, predicate_atom
from rewardspec.spec.atoms.operations import ARITIES, REDUCTIONS

XY = {"x": (0,), "y": (1,)}


def value(text: str, x: float = 0.0, y: float = 0.0) -> float:
    return ExpressionAtom(text, XY)(None, 0, np.array([x, y]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clip(1 - abs(x - 2) / 4, 0, 1)", 0.75),
        ("1 + 2 * 3 - 4 / 2", 5.0),
        ("10 - 2 - 3", 5.0),
        ("2 ** 3 ** 2", 512.0),
        ("-2 ** 2", -4.0),
        ("2 ** -1", 0.5),
        ("- - x", 3.0),
        ("+x", 3.0),
        ("7 // 2 + 7 % 4", 6.0),
        ("-7 // 2", -4.0),
        ("-7 % 4", 1.0),
        ("x > 2", 1.0),
        ("x == 3", 1.0),
        ("x != 3", 0.0),
        ("0 < y <= x < 4", 1.0),
        ("0 < x < 2", 0.0),
        ("x > 2 and y > 2", 0.0),
        ("x > 2 or y > 2", 1.0),
        ("not x > 2", 0.0),
        ("not not 0.25", 0.25),
        ("x > 2 && !(y > 2) || 0", 1.0),
        ("0.25 and 0.5 or 0.125", 0.25),
        ("where(x > 2, 0.25, 0.75)", 0.25),
        ("min(x, y, 2)", 1.0),
        ("max(x, y, 2)", 3.0),
        ("hypot(x, 4)", 5.0),
        ("sqrt(16)", 4.0),
        ("floor(-1.5)", -2.0),
        ("exp(0) + log(1)", 1.0),
        ("cos(pi)", -1.0),
        ("atan2(1, 0) * 2 / pi", 1.0),
        ("tanh(0) + sin(0) + tan(0)", 0.0),
        (".5 + 1. + 1e-1 * 0", 1.5),
        ("ramp(x, 2, 6)", 0.25),
        ("proximity(x, 2, 4)", 0.75),
        ("inside(x, 0, 2)", 0.0),
        ("inside(x, 0, 2, 4)", 0.75),
        ("at_least(x, 3)", 1.0),
        ("at_most(x, 2, 2)", 0.5),
        ("(\n x\n + y )", 4.0),
    ],
)
def test_expressions_mean_what_they_say(text, expected):
    assert value(text, x=3.0, y=1.0) == expected


ARRAY_TEXTS = [
    "clip(1 - abs(x - 2) / 4, 0, 1)",
    "x > 0 and not y > 0 or x * y < -0.5",
    "x ** 3 - y ** 2 + 2 ** x",
    "exp(-x * x) * cos(y) + tanh(x) * sin(y)",
    "hypot(x, y) / 4",
    "atan2(y, 2) + atan2(1, x)",
    "min(x, y, 0.5) + max(x, 0.25)",
    "where(x > 0, sqrt(abs(y)), floor(x))",
    "where(x, 1, 0)",
    "x % 0.75 + x // 0.5",
    "-0.5 <= x < 0.5",
    "ramp(x, -1, 1) + proximity(y, 0, 2)",
    "inside(x, -1, 1, 0.5) - at_least(y, 0) + at_most(0.25, y)",
    "log(abs(x) + 1) + tan(y / 4)",
    "exp(1) + x",
]


@pytest.mark.parametrize("text", ARRAY_TEXTS)
def test_a_batch_gives_to_the_last_bit_what_each_environment_gives(text):
    atom = ExpressionAtom(text, XY)
    batch = np.random.default_rng(0).normal(size=(67, 2)).astype(np.float32)
    assert atom(None, 0, batch).tolist() == [atom(None, 0, row) for row in batch]


@pytest.mark.parametrize("text", ARRAY_TEXTS)
def test_jax_and_torch_agree_with_numpy(text):
    atom = ExpressionAtom(text, XY)
    batch = np.random.default_rng(1).normal(size=(31, 2)).astype(np.float32)
    expected = atom(None, 0, batch)
    traced = jax.jit(lambda obs: atom(obs, 0, obs))(jnp.asarray(batch))
    np.testing.assert_allclose(traced, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(atom(None, 0, torch.tensor(batch)), expected, rtol=1e-4, atol=1e-5)
    one = jax.jit(lambda obs: atom(obs, 0, obs))(jnp.asarray(batch[0]))
    np.testing.assert_allclose(one, expected[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", ["x / y", "x // y", "x % y", "sqrt(x)", "log(x)", "x ** 0.5", "2 ** x", "exp(x)"])
@pytest.mark.parametrize("x", [-1.0, 0.0, 1e6])
def test_nothing_raises_and_floats_follow_numpy(text, x):
    atom = ExpressionAtom(text, XY)
    alone, batch = atom(None, 0, np.array([x, 0.0])), atom(None, 0, np.array([[x, 0.0]]))
    assert alone == batch[0] or (math.isnan(alone) and math.isnan(batch[0]))


@pytest.mark.parametrize("text", ["min(x, 1)", "max(1, x)", "clip(x, 0, 1)", "x and 1", "ramp(x, 0, 1)"])
def test_nan_is_not_hidden(text):
    assert math.isnan(value(text, x=math.nan))


@given(st.integers(0, 255), st.integers(0, 255))
def test_small_integers_do_not_wrap_around(a, b):
    atom = ExpressionAtom("x - y", XY)
    assert atom(None, 0, np.array([a, b], dtype=np.uint8)) == a - b
    assert atom(None, 0, np.array([[a, b]], dtype=np.uint8)).tolist() == [a - b]


# What is read, and when.


def test_names_read_the_state_after_the_step_and_before_the_one_before():
    atom = ExpressionAtom("x - before.x", XY)
    assert atom(np.array([1.0, 0.0]), 0, np.array([3.5, 0.0])) == 2.5


def test_the_action_is_read_whole_or_by_component():
    whole = ExpressionAtom("action == 1", {}, at_reset=0)
    assert whole(None, 1, None) == 1.0
    assert whole(None, np.int64(0), None) == 0.0
    assert whole(None, np.array([1, 0, 1]), None).tolist() == [1.0, 0.0, 1.0]
    part = ExpressionAtom("action[1] > 0", {}, at_reset=0)
    assert part(None, np.array([0.0, 1.0]), None) == 1.0
    assert part(None, np.array([[0.0, 1.0], [1.0, 0.0]]), None).tolist() == [1.0, 0.0]


def test_at_reset_there_is_no_action_and_the_declared_label_counts():
    atom = ExpressionAtom("action == 1 and x > 0", XY, at_reset=0.5)
    assert atom(np.zeros(2), None, np.zeros(2)) == 0.5
    assert atom(np.zeros(2), 1, np.ones(2)) == 1.0


def test_reading_the_action_without_a_label_at_reset_is_refused_at_once():
    with pytest.raises(SpecError, match=r"reads the action, and after reset there is none. Declare .* at_reset = 0"):
        ExpressionAtom("action == 1", {})


@pytest.mark.parametrize("at_reset", [math.inf, math.nan, True, "0"])
def test_a_label_at_reset_is_a_number(at_reset):
    with pytest.raises(SpecError, match=r"`at_reset` should be a (finite )?number"):
        ExpressionAtom("x", XY, at_reset=at_reset)


@pytest.mark.parametrize("at_reset", [-0.1, 1.1])
@pytest.mark.parametrize("text", ["action", "action > 0"])
def test_a_label_at_reset_is_a_degree_in_a_spec_of_degrees(text, at_reset):
    atoms = {"a": {"expression": text, "at_reset": at_reset}}
    with pytest.raises(SpecError, match=r"`at_reset` of the atom 'a' should be a label in \[0, 1\].* Received"):
        rs.Spec([("F a", 1)], atoms=atoms)
    spec = rs.Spec([("F a", 1)], atoms=atoms, semantics="robustness")
    assert spec.labels(None, None, np.zeros(1)) == {"a": at_reset}
    assert rs.Spec.from_toml(spec.to_toml()) == spec


def test_as_robustness_a_comparison_that_is_false_at_reset_does_not_hold():
    atoms = {"push": {"expression": "action > 0.5", "at_reset": 0}, "force": {"expression": "action", "at_reset": 0}}
    spec = rs.Spec([("F push", 1), ("F force", 0)], atoms=atoms, semantics="robustness")
    assert spec.labels(None, None, np.zeros(1)) == {"push": -1.0, "force": 0.0}
    state = spec.start(spec.labels(None, None, np.zeros(1)))
    assert spec.step(state, spec.labels(np.zeros(1), -3.0, np.zeros(1)))[1] == -1.0  # nothing was pushed
    assert spec.replace(semantics="degree", clip=True).labels(None, None, np.zeros(1)) == {"push": 0.0, "force": 0.0}
    assert rs.Spec.from_toml(spec.to_toml()) == spec
    assert spec.batch_reader.read(None, None, np.zeros((2, 1)), 2)["push"].tolist() == [-1.0, -1.0]
    assert ColumnAtom("x > 2", ["x"], margin=True, at_reset=0).at_reset == -1.0
    assert ColumnAtom("x + 2", ["x"], margin=True, at_reset=0).at_reset == 0.0


@pytest.mark.parametrize("text", ["max(0, x)", "max(x, 0)", "min(0, x)", "min(x, 0)", "clip(x, 0, 1)"])
def test_a_batch_takes_the_zero_that_one_environment_takes(text):
    atom = ExpressionAtom(f"1 / ({text}) > 5", XY)
    for zero in (-0.0, 0.0):
        alone = atom(None, 0, np.array([zero, 0.0]))
        for size in (1, 3, 64):
            assert atom(None, 0, np.full((size, 2), zero)).tolist() == [alone] * size


@pytest.mark.parametrize(("condition", "chosen"), [("1 > 0", 0.25), ("0", 0.75)])
@pytest.mark.parametrize("array", [np.array, jnp.array, torch.tensor])
def test_a_choice_by_a_constant_is_one_in_every_library(array, condition, chosen):
    for text in (f"where({condition}, x, y)", f"where({condition}, x, 0.75)", f"where({condition}, 0.25, y)"):
        atom = ExpressionAtom(text, XY)
        assert atom(None, 0, np.array([0.25, 0.75])) == chosen
        assert atom(None, 0, array([[0.25, 0.75]] * 3)).tolist() == [chosen] * 3


def test_discrete_observations_are_read_whole():
    row = ExpressionAtom("cell // 12", {"cell": ()})
    assert row(None, 0, 25) == 2.0
    assert row(None, 0, np.int64(25)) == 2.0
    assert row(None, 0, np.array([25, 47])).tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "components", "obs", "said"),
    [
        ("y", {"x": (0,), "y": (1,)}, np.zeros(1), "'y' is number 1, from 0, of the observation, which has 1 number."),
        (
            "y",
            {"y": (1,)},
            np.zeros((2, 1)),
            "'y' is number 1, from 0, of the observation, which has the shape (2, 1).",
        ),
        ("y", {"y": (1,)}, np.int64(3), "'y' is number 1, from 0, of the observation, which is a single number."),
        ("next_obs[4] > 0", {}, np.zeros(3), "a part of 'next_obs[4] > 0' is number 4, from 0, of the observation,"),
        ("y", {"y": ("b",)}, {"a": 1}, "'y' is the entry 'b' of the observation, which has the keys 'a'."),
        ("y", {"y": ("a", 3)}, {"a": np.zeros(2)}, "'y' is number 3, from 0, of the observation's 'a', which has 2"),
        (
            "y",
            {"y": (0, 3)},
            np.zeros((2, 2)),
            "'y' is the place [0, 3] of the observation, which has the shape (2, 2).",
        ),
    ],
)
def test_a_component_that_is_not_there_is_named_with_what_there_is(text, components, obs, said):
    with pytest.raises(SpecError, match=re.escape(said)) as caught:
        ExpressionAtom(text, components)(obs, 0, obs)
    assert str(caught.value).endswith("Was the spec written for another environment?")


def test_an_action_that_has_no_such_component_is_told():
    with pytest.raises(SpecError, match=r"is number 1, from 0, of the action, which has 1 number\."):
        ExpressionAtom("action[1] > 0", {}, at_reset=0)(None, np.zeros(1), None)


def test_dict_and_tuple_observations_are_read_by_path():
    components = read_components({"clock": "time", "agent": {"x": 0, "y": 1}, "second": [1, 0], "grid": ["map", 1, 0]})
    one = {"time": 3, "agent": np.array([1.0, 2.0]), "map": np.arange(4).reshape(2, 2)}
    two = {"time": np.array([3, 4]), "agent": np.ones((2, 2)), "map": np.arange(8).reshape(2, 2, 2)}
    assert ExpressionAtom("clock + agent.x + before.agent.y + grid", components)(one, 0, one) == 8.0
    assert ExpressionAtom("clock + agent.x + grid", components)(two, 0, two).tolist() == [6.0, 11.0]
    assert ExpressionAtom("second", components)(None, 0, (np.zeros(1), np.array([0.5]))) == 0.5
    assert ExpressionAtom("pos[1]", {"pos": ("agent",)})(None, 0, one) == 2.0


def test_an_expression_without_components_is_a_constant():
    assert ExpressionAtom("0.25", {})(None, 0, np.zeros((5, 2))) == 0.25


def test_atoms_can_be_compared_and_pickled():
    atom = ExpressionAtom("action == 1", XY, at_reset=0.0)
    copy = pickle.loads(pickle.dumps(atom))
    assert copy == atom
    assert hash(copy) == hash(atom)
    assert copy(None, 1, None) == 1.0
    assert atom != ExpressionAtom("action == 1", XY, at_reset=1.0)
    assert repr(atom) == "<atom 'action == 1', at_reset=0>"


def test_info_is_read_by_its_keys():
    info = {"carrying": True, "position": [3, 4], "agent": {"speed": np.array([0.5, 0.25])}}
    assert ExpressionAtom("info.carrying", {})(None, 0, None, info) == 1.0
    assert ExpressionAtom("info.position[1] - info.position[0]", {})(None, 0, None, info) == 1.0
    assert ExpressionAtom("info.agent.speed[1] + x", XY)(None, 0, np.ones(2), info) == 1.25
    assert ExpressionAtom("x", XY).takes_info is False
    with pytest.raises(SpecError, match="which has 2 numbers"):
        ExpressionAtom("info.agent.speed[5]", {})(None, 0, None, info)
    with pytest.raises(SpecError, match=r"Say which entry, for example 'info.carrying'"):
        ExpressionAtom("info", {})


# Errors.


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("x +", (1, 4), "Finish the expression."),
        ("(x", (1, 3), r"close every '\('"),
        ("x)", (1, 2), "closes nothing"),
        ("x = 2", (1, 3), "Equality is '=='."),
        ("x < 'fast'", (1, 3), "compared with a column of a record by == or !="),
        ("x + 'fast' > 2", (1, 5), "compared with a column of a record by == or !="),
        ("(x == ('fast'))", (1, 8), "compared with a column of a record by == or !="),
        ("action == 'fast'", (1, 11), "compared with a column of a record by == or !="),
        ("x + 1 == 'fast'", (1, 10), "compared with a column of a record by == or !="),
        ("'fast' == 'slow'", (1, 1), "compared with a column of a record by == or !="),
        ("'fast'", (1, 1), "compared with a column of a record by == or !="),
        ("x == ' '", (1, 6), "Empty cells are read with --missing"),
        ("x == 'fast", (1, 6), "compared with a column of a record by == or !="),
        ("x ^ 2", (1, 3), r"A power is '\*\*'."),
        ("x\n+ y y", (2, 5), "Expected an operator"),
        ("x + * y", (1, 5), "Expected a number, a component, a function"),
        ("x + 'a'", (1, 5), "component is named without quotes, and a key after a dot: info.carrying"),
        ("x[1.5]", (1, 3), "Expected a whole number"),
        ("lambda o, a, n: abs(n[2])", (1, 1), "leave 'lambda' and all up to its ':' out. next_obs\\[0\\] is a number"),
        ("np.abs(x)", (1, 1), r"called by its name alone: abs\(…\)"),
        ("1 - numpy.minimum(x, 1)", (1, 5), r"called by its name alone: min\(…\)"),
        ("next_obs.argmax()", (1, 1), "called by its name alone. Known: abs, all, any, at_least"),
        ("next_obs[..., 2]", (1, 9), r"reads the last axes by itself: write next_obs\[2\]"),
        ("1 if x > 2 else 0", (1, 3), "where\\(condition, then, otherwise\\)"),
        ("x > 2 and True", (1, 11), "Write 1."),
        ("os:system", (1, 3), "package.module:function"),
        ("x_dto", (1, 1), "Did you mean 'x_dot'"),
        ("abs(x_dto)", (1, 5), "Known components: x, x_dot."),
        ("before", (1, 1), "before.x"),
        ("before.z", (1, 1), "Known components"),
        ("abs", (1, 1), "call it with its arguments"),
        ("clp(x, 0, 1)", (1, 1), "Did you mean 'clip'"),
        ("__import__(x)", (1, 1), "Known functions: abs, "),
        ("x.__class__", (1, 1), "Known components"),
        ("clip(x, 0)", (1, 1), "clip takes 3 arguments and has 2"),
        ("min(x)", (1, 1), "min of two or more arguments compares them"),
        ("inside(x, 0)", (1, 1), "inside takes 3 to 4 arguments and has 2"),
        ("at_least(x, 0, x)", (1, 1), "margin of at_least should be a number"),
    ],
)
def test_errors_show_the_place_and_a_remedy(text, place, remedy):
    with pytest.raises(SpecError, match=remedy) as caught:
        ExpressionAtom(text, {"x": (0,), "x_dot": (1,), "y": (2,)})
    line, column = place
    head, shown, caret = (part for part in str(caught.value).split("\n")[:4] if part)
    assert f"at line {line}, column {column}." in head
    assert shown == "    " + text.split("\n")[line - 1]
    assert caret == " " * (4 + column - 1) + "^"


def test_long_lines_are_cut_around_the_place():
    with pytest.raises(SpecError) as caught:
        ExpressionAtom("x + " * 40 + "z" + " + x" * 20, XY)
    _, _, shown, caret, _ = str(caught.value).split("\n")
    assert len(shown) < 100
    assert shown[caret.index("^")] == "z"


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_expression_is_answered_with_an_example(text):
    with pytest.raises(SpecError, match="for example"):
        ExpressionAtom(text, XY)


def test_names_without_declared_components_say_how_to_declare_them():
    with pytest.raises(SpecError, match=r"observation = \['x', 'y'\]"):
        ExpressionAtom("x", {})


def test_text_is_required():
    with pytest.raises(SpecError, match=r"should be text\. Received 3"):
        ExpressionAtom(3, XY)


@pytest.mark.parametrize("text", ["ramp(x, 1, 1)", "proximity(x, 0, -1)", "inside(x, 2, 1)", "at_least(x, 0, -1)"])
def test_shapes_with_senseless_limits_are_refused_before_any_episode(text):
    with pytest.raises(SpecError):
        ExpressionAtom(text, XY)


LIMITS = {"x": (0,), "low": (1,), "high": (2,)}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("ramp(x, low, high)", 0.25),
        ("inside(x, low, high)", 1.0),
        ("inside(x, low + 0.75, high - 0.25)", 0.0),
        ("proximity(x, low, high)", 0.75),
        ("proximity(x, low, high - low)", 0.75),
    ],
)
def test_limits_may_be_read_from_the_observation(text, label):
    atom = ExpressionAtom(text, LIMITS)
    obs = np.array([0.25, 0.0, 1.0])
    assert atom(None, 0, obs) == label
    assert atom(None, 0, np.stack([obs, obs])).tolist() == [label, label]
    assert float(atom(None, 0, jnp.asarray(obs))) == label


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ramp(x, low, high)", "between two different numbers. Received 0.5 for both"),
        ("inside(x, high, low - 1)", "takes the low end first. Received 0.5 and -0.5"),
        ("proximity(x, 0, high - low)", "tolerance of proximity should be a positive number. Received 0."),
    ],
)
def test_senseless_limits_of_an_observation_are_errors_for_one_and_in_a_batch_and_nan_in_compiled_code(text, said):
    atom = ExpressionAtom(text, LIMITS)
    good, bad = np.array([0.25, 0.5, 2.0]), np.array([0.25, 0.5, 0.5])
    if "high, low" in text:
        good = np.array([0.25, 2.0, 0.5])
    assert 0.0 <= atom(None, 0, good) <= 1.0
    for obs in (bad, np.stack([good, bad, good])):
        with pytest.raises(SpecError, match=re.escape(said)):
            atom(None, 0, obs)
    for labels in (
        jax.jit(lambda obs: atom(obs, 0, obs))(jnp.stack([good, bad])),
        atom(None, 0, torch.tensor(np.stack([good, bad]))),
    ):
        assert np.isnan(np.asarray(labels)).tolist() == [False, True]


@pytest.mark.parametrize("text", ["(" * 4_000 + "x" + ")" * 4_000, "-" * 4_000 + "x", "x" + " + x" * 2_000])
def test_very_deep_expressions_are_refused_and_not_a_crash(text):
    with pytest.raises(SpecError, match="more than 200 deep"):
        ExpressionAtom(text, XY)


def test_a_text_of_a_hundred_thousand_characters_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr("rewardspec.spec.atoms.expression_language._parser", None)  # which would take seconds
    with pytest.raises(SpecError, match=r"at most 10,000 characters\. Received 100,001\. Write the atom as a function"):
        ExpressionAtom("max(" + "x," * 49_998 + "x", XY)


@pytest.mark.parametrize("text", [f"next_obs[{'9' * 5_000}]", f"x < next_obs[-{'9' * 10}]"])
def test_an_index_of_thousands_of_digits_is_refused(text):
    with pytest.raises(SpecError, match="This index is too large for any observation"):
        ExpressionAtom(text, XY)


@given(st.text(alphabet="xy+-*/%<>=!&|()[]., 012.eabsmincliporndt\n'\"", max_size=30))
@example("obs")
@example("x + 1")
def test_any_text_is_either_an_atom_or_a_spec_error(text):
    try:
        atom = ExpressionAtom(text, XY, at_reset=0)
    except SpecError:
        return
    # `obs` is the whole observation, which is one number in some environments.
    assert np.shape(atom(np.zeros(2), 0, np.zeros(2))) in ((2,) if "obs" in text else (), ())


def test_nested_powers_stay_small():
    assert value("(((((((x ** 8) ** 8) ** 8) ** 8) ** 8) ** 8) ** 8) ** 8", x=1.0) == 1.0


def test_every_function_has_a_floats_and_an_arrays_form():
    for name, (least, most) in ARITIES.items():
        arguments = {"ramp": "0, 1", "inside": "0, 1", "proximity": "0, 1"}.get(name, ", ".join(["1"] * (least - 1)))
        first = "next_obs[:]" if name in REDUCTIONS else "x"
        atom = ExpressionAtom(f"{name}({', '.join(filter(None, [first, arguments]))})", XY)
        assert most is None or most >= least
        assert atom(None, 0, np.array([[0.5, 0.0]]))[0] == atom(None, 0, np.array([0.5, 0.0]))


# Comparisons as atoms of formulas.


@pytest.mark.parametrize(
    ("text", "holds", "margin"),
    [
        ("x < 4", 1.0, 1.0),
        ("x <= 2", 0.0, -1.0),
        ("x > 2.5", 1.0, 0.5),
        ("abs(x - 5) >= 3", 0.0, -1.0),
        ("x == 3", 1.0, 1.0),
        ("x != 3", 0.0, -1.0),
        ("x == 5", 0.0, -2.0),
        ("x != 5", 1.0, 2.0),
        ("2 < x < 3.5", 1.0, 0.5),
        ("x > 2 and y > 2", 0.0, -1.0),
        ("x > 2 or y > 2", 1.0, 1.0),
        ("not x > 2", 0.0, -1.0),
        ("not (x > 2 and y > 2)", 1.0, 1.0),
        ("before.x < next_obs[0] + info.lives", 1.0, 5.0),
    ],
)
def test_a_comparison_is_an_atom_and_has_a_margin(text, holds, margin):
    transition = np.array([0.0, 0.0]), 0, np.array([3.0, 1.0]), {"lives": 2}
    assert predicate_atom(text, XY)(*transition) == holds
    assert predicate_atom(text, XY, margin=True)(*transition) == margin
    assert pickle.loads(pickle.dumps(predicate_atom(text, XY, margin=True)))(*transition) == margin
    assert predicate_atom(text, XY) != predicate_atom(text, XY, margin=True)


@given(st.floats(-9, 9), st.floats(-9, 9))
def test_the_margin_is_positive_only_where_the_comparison_holds(x, y):
    equalities = ("x != y", "x == y", "not x == y", "floor(x) == floor(y)")
    for text in (*equalities, "x < y", "x >= y", "x < y or y < 2", "-1 < x <= 1 and not y > x"):
        holds, margin = (predicate_atom(text, XY, margin=m)(None, 0, np.array([x, y])) for m in (False, True))
        assert holds == 1.0 if margin > 0 else holds == 0.0 if margin < 0 else True


@pytest.mark.parametrize("text", ["x", "abs(x)", "0.5 * (x > 2)", "x > 2 and y", "proximity(x, 0, 1)", "1"])
def test_other_expressions_are_no_comparisons(text):
    with pytest.raises(SpecError, match=r"is no comparison\. Compare two quantities"):
        predicate_atom(text, XY)


def test_a_formula_may_hold_comparisons_that_need_no_entry_in_atoms():
    both = rs.Spec([('G "abs(next_obs[0]) < 2.4"', 1), ("F goal", 1)], atoms={"goal": "next_obs[1]"})
    assert both.labels(None, 0, np.array([2.0, 0.5])) == {"abs(next_obs[0]) < 2.4": 1.0, "goal": 0.5}
    alone = rs.Spec([('G "abs(next_obs[0]) < 2.4"', 1)])
    batch = alone.labels(None, 0, np.array([[2.0], [3.0]]), batch=2)
    assert [column.tolist() for column in batch.values()] == [[1.0, 0.0]]
    given = rs.Spec([('G "abs(next_obs[0]) < 2.4"', 1)], atoms={"abs(next_obs[0]) < 2.4": "0.25"})
    assert given.labels(None, 0, np.array([2.0]))["abs(next_obs[0]) < 2.4"] == 0.25


def test_a_name_that_is_no_comparison_is_left_to_those_who_give_labels():
    assert rs.Spec([('F "x > 2"', 1)]).atom_functions is None  # there is no x
    assert rs.Spec([('F "next_obs[0] > 2" & F b', 1)]).atom_functions is None
    with pytest.raises(
        SpecError, match="'x > 2' has no function, and cannot be read as a comparison: Unknown name 'x'"
    ):
        rs.Spec([('F "x > 2"', 1)], atoms={})
    with pytest.raises(SpecError, match="No function is given for atom 'b'"):
        rs.Spec([('F "next_obs[0] > 2" & F b', 1)], atoms={})


# Components.


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (["x", 3], "should hold names. Received 3"),
        (["x", "x"], "'x' is named twice"),
        ("x", "should be a list of names, or a table"),
        ({"x": 1.5}, "an index, a key, or a list of them. Received 1.5"),
        ({"x": True}, "Received True"),
        ({"x-dot": 1}, "should be an identifier"),
        ({"action": 0}, "means something else in expressions"),
        ({"before": 0}, "means something else in expressions"),
        ({"pi": 0}, "means something else in expressions"),
    ],
)
def test_components_that_cannot_be_are_refused(table, complaint):
    with pytest.raises(SpecError, match=complaint):
        read_components(table)


def test_a_component_on_the_last_axis_of_anything_with_axes():
    assert float(reader((1,))(np.array([1.0, 2.0]))) == 2.0
    assert reader((1,))(np.ones((3, 2))).shape == (3,)
    assert reader((-1,))(jnp.ones((3, 2))).shape == (3,)


def test_observations_can_be_named_themselves():
    one = {"agent": np.array([3.0, 4.0]), "time": 2.0}
    atom = ExpressionAtom("next_obs.agent[1] - obs.agent[0] + next_obs.time", {})
    assert atom({"agent": np.array([1.0, 0.0]), "time": 0.0}, 0, one) == 5.0
    assert ExpressionAtom("next_obs == 15", {})(3, 0, 15) == 1.0
    assert ExpressionAtom("next_obs[-1]", {})(None, 0, np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [2.0, 4.0]
    assert ExpressionAtom("obs[0] < next_obs[0]", {}).reads_only_the_state is False
    assert ExpressionAtom("next_obs[0]", {}).reads_only_the_state is True


@pytest.mark.parametrize("name", ["obs", "next_obs"])
def test_no_component_is_called_as_the_observations_are(name):
    with pytest.raises(SpecError, match="means something else"):
        read_components([name])


def test_as_robustness_a_comparison_is_its_margin_wherever_it_is_written():
    atoms = {"fast": "next_obs[0] > 2", "height": "next_obs[1]", "calm": {"expression": "action < 1", "at_reset": 1}}
    spec = rs.Spec([('G(fast & "next_obs[1] < 3" & height & calm)', 1)], atoms=atoms, semantics="robustness")
    transition = None, 0.25, np.array([2.5, 7.0])
    assert spec.labels(*transition) == {"fast": 0.5, "next_obs[1] < 3": -4.0, "height": 7.0, "calm": 0.75}
    degrees = spec.replace(semantics="degree", clip=True)
    assert degrees.labels(*transition) == {"fast": 1.0, "next_obs[1] < 3": 0.0, "height": 1.0, "calm": 1.0}


def test_what_only_reset_lacks_is_told_apart_from_what_is_missing():
    spec = rs.Spec([("now covered", 1)], atoms={"covered": "info.coverage"})
    with pytest.raises(LabelError, match="at_reset = 0"):
        spec.labels(np.zeros(2), None, np.zeros(2), {"other": 1})
    with pytest.raises(LabelError, match="written for another environment"):
        spec.labels(np.zeros(2), 1, np.zeros(2), {"other": 1})


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('info.get("coverage", 0)', "at_reset = 0"),
        ("norm(action[:] - before.action[:])", "put that into the observation"),
        ("norm(action[:] - previous_action[:])", "put that into the observation"),
    ],
)
def test_what_an_atom_cannot_read_has_a_remedy(text, remedy):
    with pytest.raises(SpecError, match=remedy):
        ExpressionAtom(text, {})

"""Specs as TOML files."""

import functools
import os
import pickle
import sys
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardspec.errors import SpecError
from rewardspec.spec import Pair, Spec
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom
from rewardspec.spec.atoms.functions import reads_only_the_state
from rewardspec.spec.atoms.per_agent import per_agent
from rewardspec.spec.toml_reading import load_spec, loads_spec
from rewardspec.spec.toml_writing import dumps_spec

FULL = """
payment = "delta"
penalty = -1
discount = 0.9
clip = true
max_registers = 64
observation = ["x", "x_dot"]

[atoms]
near = "proximity(x, 2, 4)"
still = { function = "tests.spec.test_toml:still" }
pushes = { expression = "action == 1", at_reset = 0 }

[[pairs]]
name = "arrive"
formula = "F G near"
weight = 2

[[pairs]]
formula = "G(still | !pushes)"
weight = 0
veto = true
penalty = -5.5
"""


def still(obs, action, next_obs):
    return abs(next_obs[..., 1]) < 0.1


class Collection:
    @staticmethod
    def inside(obs, action, next_obs):
        return 1.0


NOT_A_FUNCTION = 3


class Within:
    """An atom with a setting, as a module may hold several of."""

    reads_only_the_state = True
    at_reset = 0.0

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def __call__(self, obs, action, next_obs):
        return abs(next_obs[..., 0]) < self.limit


def beyond(limit, obs, action, next_obs):
    return abs(next_obs[..., 0]) > limit


WITHIN = Within(2.0)
BEYOND = functools.partial(beyond, 1.0)
POSITIVE = lambda obs, action, next_obs: next_obs[..., 0] > 0.0  # noqa: E731 -- a lambda is what is tested


def fields(spec: Spec) -> dict:
    names = ("pairs", "penalty", "payment", "discount", "clip", "max_registers")
    return {name: getattr(spec, name) for name in names} | {
        "atoms": None if spec.atom_functions is None else dict(spec.atom_functions)
    }


def test_a_file_says_all_that_a_spec_can_be_told(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(FULL)
    spec = load_spec(path)
    assert spec.pairs == (
        Pair("F G near", 2, name="arrive"),
        Pair("G(still | !pushes)", 0, veto=True, penalty=-5.5),
    )
    assert (spec.payment, spec.penalty, spec.discount, spec.clip, spec.max_registers) == ("delta", -1, 0.9, True, 64)
    obs = np.array([3.0, 0.0])
    assert spec.labels(obs, 1, obs) == {"near": 0.75, "still": 1.0, "pushes": 1.0}
    assert spec.labels(obs, None, obs) == {"near": 0.75, "still": 1.0, "pushes": 0.0}
    batch = spec.labels(np.ones((3, 2)), np.array([0, 1, 0]), np.ones((3, 2)), batch=3)
    assert {name: array.tolist() for name, array in batch.items()} == {
        "near": [0.75] * 3,
        "still": [0.0] * 3,
        "pushes": [0.0, 1.0, 0.0],
    }


def test_everything_but_the_pairs_may_be_left_out():
    spec = loads_spec('pairs = [["F goal", 2], ["G safe", 1]]')
    assert fields(spec) == fields(Spec([("F goal", 2), ("G safe", 1)]))


def test_a_threshold_makes_the_labels_boolean():
    spec = loads_spec('threshold = 0.5\nobservation.x = 0\natoms.a = "x"\npairs = [["F a", 1]]')
    assert [spec.labels(None, 0, np.array([x]))["a"] for x in (0.4, 0.5, 0.6)] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "spec",
    [
        Spec([]),
        Spec([("F goal", 2), Pair("G !crash", 1, penalty=-5, name='say "no" \\ to\ncrashes \x7f')]),
        Spec([('G "a b.c" & F"ü"', 0.1)], atoms={"a b.c": still, "ü": Collection.inside}, payment="final"),
        Spec([("F a", 1), Pair("F G true", -1, payment="value")], payment="delta"),
        Spec([Pair("G a", 1, veto=False)], penalty=-2, payment="potential", discount=0.5, clip=True, max_registers=9),
        Spec([("F a", 1)], atoms={"a": still, "unused": still}).boolean(0.75),
        Spec(
            [("F a", 1e-300), ("G b", 1e22)],
            atoms={
                "a": ExpressionAtom("agent.x - clock", {"agent.x": ("agent", 0), "clock": ("time",), "größe": ()}),
                "b": ExpressionAtom("action > 0", {"grid": ("map", 1, 2)}, at_reset=0.25),
            },
        ),
        loads_spec(FULL),
        loads_spec("observation = ['x']\natoms.y = 'x / 2'\npairs = [['G \"abs(x) < 2.4\" & F y', 1]]"),
        Spec([('F "next_obs[0] > 0.45"', 1)], atoms={"next_obs[1] > 2": "next_obs[1] > 2"}).boolean(0.5),
    ],
    ids=range(10),
)
def test_what_is_saved_comes_back(spec, tmp_path):
    spec.save(tmp_path / "spec.toml")
    again = load_spec(tmp_path / "spec.toml")
    assert dumps_spec(again) == dumps_spec(spec)
    before, after = fields(spec), fields(again)
    thresholds = [
        {name: getattr(f, "threshold", None) for name, f in (a["atoms"] or {}).items()} for a in (before, after)
    ]
    assert thresholds[0] == thresholds[1]
    plain = [{name: getattr(f, "function", f) for name, f in (a.pop("atoms") or {}).items()} for a in (before, after)]
    assert list(plain[0]) == list(plain[1])
    for one, other in zip(plain[0].values(), plain[1].values(), strict=True):
        # Atoms of one file share its components.
        assert one is other or (one.text, one.at_reset, one.reads) == (other.text, other.at_reset, other.reads)
    assert before == after


@given(
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    weight=st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_name_and_weight_can_be_saved(name, weight):
    pair = Pair("F goal", weight, name=name)
    assert loads_spec(dumps_spec(Spec([pair]))).pairs == (pair,)


def test_the_text_is_plain_toml():
    table = tomllib.loads(dumps_spec(loads_spec(FULL)))
    assert table["observation"] == {"x": 0, "x_dot": 1}
    assert table["atoms"]["pushes"] == {"expression": "action == 1", "at_reset": 0.0}
    assert table["atoms"]["still"] == "tests.spec.test_toml:still"


# Saving what cannot be saved.


def make_local():
    def local(obs, action, next_obs):
        return 1.0

    return local


def in_main(obs, action, next_obs):
    return 1.0


def renamed(obs, action, next_obs):
    return 1.0


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda obs, action, next_obs: 1.0, "a lambda cannot be imported by name"),
        (make_local(), "defined inside another function"),
        (functools.partial(still, 1), "a partial object has no name"),
    ],
)
def test_functions_without_an_importable_name_are_refused(function, reason):
    with pytest.raises(
        SpecError, match=f"The atom 'a' cannot be saved: .*{reason}.* Move it to the top of an importable"
    ):
        dumps_spec(Spec([("F a", 1)], atoms={"a": function}))


def test_functions_of_the_running_script_are_refused(monkeypatch):
    monkeypatch.setattr(in_main, "__module__", "__main__")
    with pytest.raises(SpecError, match="'a' cannot be saved: 'in_main' belongs to the script that is running"):
        dumps_spec(Spec([("F a", 1)], atoms={"a": in_main}))


def test_functions_whose_name_means_another_by_now_are_refused(monkeypatch):
    old = renamed
    monkeypatch.setitem(globals(), "renamed", still)
    with pytest.raises(SpecError, match="is something else by now"):
        dumps_spec(Spec([("F a", 1)], atoms={"a": old}))


def test_atoms_that_mean_different_things_by_one_name_are_refused():
    atoms = {"a": ExpressionAtom("x", {"x": (0,)}), "b": ExpressionAtom("x", {"x": (1,)})}
    with pytest.raises(SpecError, match=r"'b' means .* by 'x' and another atom"):
        dumps_spec(Spec([("F a", 1), ("F b", 1)], atoms=atoms))


def test_components_that_no_file_can_declare_are_refused():
    with pytest.raises(SpecError, match="cannot be written to a file"):
        dumps_spec(Spec([("F a", 1)], atoms={"a": ExpressionAtom("agent.x", {"agent.x": (0,)})}))


def test_mixed_thresholds_are_refused():
    boolean = Spec([("F a", 1)], atoms={"a": still}).boolean(0.5)
    with pytest.raises(SpecError, match="a file has one for all"):
        dumps_spec(boolean.replace(atoms={**boolean.atom_functions, "b": still}))


REFERENCES = {name: f"tests.spec.test_toml:{name}" for name in ("WITHIN", "BEYOND", "POSITIVE")}
REFERRING = "pairs = [['F G WITHIN', 1], ['F (BEYOND & POSITIVE)', 1]]\n" + "".join(
    f"atoms.{name} = '{reference}'\n" for name, reference in REFERENCES.items()
)


@pytest.mark.parametrize("threshold", ["", "threshold = 0.5\n"])
def test_what_was_loaded_by_reference_is_saved_by_it(threshold):
    spec = loads_spec(threshold + REFERRING)
    text = dumps_spec(spec)
    assert tomllib.loads(text)["atoms"] == REFERENCES
    again = loads_spec(text)
    assert dumps_spec(again) == text
    obs = np.array([1.5, 0.0])
    assert again.labels(obs, 0, obs) == {"WITHIN": 1.0, "BEYOND": 1.0, "POSITIVE": 1.0}
    if not threshold:
        assert again == spec


def test_an_atom_loaded_by_reference_says_of_itself_what_its_function_does():
    within, beyond, positive = loads_spec(REFERRING).atom_functions.values()
    assert [reads_only_the_state(atom) for atom in (within, beyond, positive)] == [True, False, True]
    assert (within.at_reset, beyond.at_reset) == (0.0, None)
    assert pickle.loads(pickle.dumps(within)).function.limit == 2.0


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text("old")
    with pytest.raises(SpecError):
        Spec([("F a", 1)], atoms={"a": lambda *_: 1.0}).save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["spec.toml"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(SpecError, match=r"Cannot write the spec .*missing.*No such file or directory"):
        Spec([("F a", 1)]).save(tmp_path / "missing" / "spec.toml")
    with pytest.raises(SpecError, match=r"Cannot write the spec"):
        Spec([("F a", 1)]).save(tmp_path)
    assert os.listdir(tmp_path) == []


# Files that say something wrong.

PAIR = 'pairs = [["F a", 1]]\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("clip = 1\npairs = 1 2", "This is not valid TOML: .*line 2"),
        ("", "A spec needs pairs: a table .*Received None"),
        ("pairs = 3", "A spec needs pairs"),
        ("pairs = [3]", "pair 1 should be a table, or a list of formula, weight and, if wanted, veto. Received 3"),
        ('pairs = [["F a"]]', "pair 1 should be a table"),
        ('pairs = [{formula = "F a", weigth = 1}]', "Unknown key 'weigth' in pair 1; .*Did you mean 'weight'"),
        ('pairs = [["F a", 1], {formula = "F a"}]', "pair 2 has no weight. Add a line `weight = …`"),
        ("pairs = [{weight = 1}]", "pair 1 has no formula"),
        ('pairs = [["F a", "1"]]', "`weight` of pair 1 should be a number. Received '1'"),
        ('pairs = [["F a", true]]', "`weight` of pair 1 should be a number. Received True"),
        ("pairs = [[1, 1]]", "`formula` of pair 1 should be text. Received 1"),
        ('pairs = [["F a", inf]]', "In pair 1: `weight` should be a finite number"),
        ('pairs = [["F (a", 1]]', r"In pair 1: The formula stops too early at line 1, column 5"),
        ('pairs = [{formula = "G a", weight = 1, veto = "yes"}]', "`veto` of pair 1 should be true or false"),
        ('pairs = [{formula = "F a", weight = 1, penalty = -1}]', "In pair 1: .* is no safety objective"),
        ('paymet = "value"\n' + PAIR, "Unknown key 'paymet' in the spec; .*Did you mean 'payment'"),
        ('payment = "vlaue"\n' + PAIR, "`payment` should be one of .*Did you mean 'value'"),
        ("payment = 3\n" + PAIR, "`payment` should be text. Received 3"),
        ('penalty = "big"\n' + PAIR, "`penalty` should be a number. Received 'big'"),
        ("discount = 2\n" + PAIR, r"`discount` should be in \[0, 1\]"),
        ("clip = 1\n" + PAIR, "`clip` should be true or false. Received 1"),
        ("max_registers = 1.5\n" + PAIR, "`max_registers` should be a whole number. Received 1.5"),
        ("threshold = 0.5\n" + PAIR, "has no atoms' functions to turn into Boolean ones"),
        ("atoms = 3\n" + PAIR, "`atoms` should be a table"),
        ("atoms.a = 3\n" + PAIR, "In atom 'a': an atom is an expression .* or a function .*Received 3"),
        ("atoms.a = {}\n" + PAIR, "In atom 'a': an atom has either an expression or a function"),
        ('atoms.a = {expresion = "1"}\n' + PAIR, "In atom 'a': Unknown key 'expresion' .*Did you mean 'expression'"),
        ('atoms.a = {function = "os:getcwd", at_reset = 0}\n' + PAIR, "`at_reset` is for expressions"),
        ('atoms.a = {expression = "x > 1", per_agent = 1}\n' + PAIR, "`per_agent` should be"),
        ('atoms.a = {function = "getcwd"}\n' + PAIR, "named as 'package.module:function'. Received 'getcwd'"),
        ('atoms.a = "x +"\n' + PAIR, "In atom 'a': The expression stops too early at line 1, column 4"),
        ('atoms.a = "x"\n' + PAIR, "In atom 'a': Unknown name 'x'"),
        ('atoms.a = "no_such.module:f"\n' + PAIR, "In atom 'a': There is no module 'no_such', .*Install it"),
        ('atoms.a = "tests.spec.test_toml:stil"\n' + PAIR, "has no 'stil', .*Did you mean 'still'"),
        ('atoms.a = "tests.spec.test_toml:Collection.no"\n' + PAIR, "has no 'Collection.no'"),
        ('atoms.a = "tests.spec.test_toml:NOT_A_FUNCTION"\n' + PAIR, "should name a function .* It is a int"),
        ('atoms.b = "1"\n' + PAIR, "No function is given for atom 'a', which the formula `F a` reads"),
        ('pairs = [["F a", "3"]]', "`weight` of pair 1 should be a number. Received '3'. Write 3, without quotes."),
        ('pairs = [["F a", "high"]]', r"`weight` of pair 1 should be a number. Received 'high'\.$"),
        ('clip = "true"\n' + PAIR, "`clip` should be true or false. Received 'true'. Write true, without quotes."),
        ('observation = "x"\n' + PAIR, "`observation` should be a list of names, or a table"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_a_remedy(text, complaint, tmp_path):
    with pytest.raises(SpecError, match=f"(?s){complaint}"):
        loads_spec(text)
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match=f"(?s)wrong.toml: .*{complaint}"):
        load_spec(path)


@pytest.mark.parametrize(
    ("key", "entry"),
    [
        ("payment", '"delta"'),
        ("penalty", "-1"),
        ("clip", "true"),
        ("observation", '["x"]'),
        ("pairs", '[["F goal", 1]]'),
    ],
)
def test_a_key_of_the_file_below_the_atoms_is_told_where_it_belongs(key, entry):
    above = "" if key == "pairs" else 'pairs = [["F goal", 1]]\n'
    with pytest.raises(SpecError, match=rf"the spec's `{key}`, write it above \[atoms\]"):
        loads_spec(f'{above}[atoms]\ngoal = "next_obs[0] > 1"\n{key} = {entry}\n')


def test_an_atom_may_have_the_name_of_a_key():
    spec = loads_spec('pairs = [["G !penalty", 1]]\n[atoms]\npenalty = "next_obs[0] > 1"\n')
    assert spec.labels(None, 0, [2.0]) == {"penalty": 1.0}


def test_a_module_that_raises_is_named_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "broken_atoms.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SpecError, match=r"'broken_atoms' .* cannot be imported: ZeroDivisionError: division by zero"):
        loads_spec('atoms.a = "broken_atoms:f"\n' + PAIR)


def test_files_that_cannot_be_read_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match=r"Cannot read the spec 'missing.toml': No such file .* Looked for '/.*toml'"):
        load_spec("missing.toml")
    (tmp_path / "latin.toml").write_bytes(b'payment = "\xe9"')
    with pytest.raises(SpecError, match="is not UTF-8 text"):
        load_spec(tmp_path / "latin.toml")


HUGE = "0x" + "f" * 4_000


@pytest.mark.parametrize(
    "text",
    [
        f"pairs = [['F a', {HUGE}]]",
        f"pairs = [{HUGE}]",
        f"pairs = {HUGE}",
        f"pairs = [['F a', [{HUGE}]]]",
        f"penalty = {HUGE}\npairs = [['F a', 1]]",
        f"payment = {HUGE}\npairs = [['F a', 1]]",
        f"threshold = {HUGE}\natoms.a = '1'\npairs = [['F a', 1]]",
        f"atoms.a = {HUGE}\npairs = [['F a', 1]]",
        f"atoms.a = {{ expression = '1', at_reset = {HUGE} }}\npairs = [['F a', 1]]",
        f"observation = {HUGE}\npairs = [['F a', 1]]",
        f"observation = [{HUGE}]\npairs = [['F a', 1]]",
        f"observation.x = {HUGE}\natoms.a = 'x'\npairs = [['F a', 1]]",
    ],
)
def test_a_number_of_thousands_of_digits_is_refused_like_any_other(text):
    with pytest.raises(SpecError, match="Received"):
        loads_spec(text)


def test_references_can_be_refused(tmp_path, monkeypatch):
    (tmp_path / "atoms_that_must_not_run.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(tmp_path)
    text = "atoms.a = '{}'\npairs = [['F a', 1]]"
    path = tmp_path / "spec.toml"
    for reference in ("atoms_that_must_not_run:f", "os:system"):
        path.write_text(text.format(reference))
        for load in (lambda: Spec.load(path, references=False), lambda: loads_spec(path.read_text(), references=False)):
            with pytest.raises(SpecError, match=f"In atom 'a': it names the function '{reference}'.* refused here"):
                load()
    assert "atoms_that_must_not_run" not in sys.modules
    path.write_text(text.format("next_obs[0] / 2"))
    assert Spec.load(path, references=False) == Spec.load(path)


def test_a_file_names_its_comparisons_by_its_components():
    spec = loads_spec("observation = ['x', 'v']\npairs = [['G \"abs(v) < 2\"', 1]]")
    assert spec.labels(None, 0, np.array([9.0, 1.0])) == {"abs(v) < 2": 1.0}
    assert "[atoms]" not in dumps_spec(spec)
    assert loads_spec(dumps_spec(spec)) == spec


def test_a_text_is_required():
    with pytest.raises(SpecError, match=r"should be a string. Received a NoneType"):
        loads_spec(None)


def test_nothing_in_a_file_is_run_as_python():
    with pytest.raises(SpecError, match="Unknown function '__import__'"):
        loads_spec("atoms.a = '__import__(1)'\n" + PAIR)


def test_a_spec_of_robustness_survives_a_file():
    spec = Spec([('G "next_obs[0] < 2"', 1)], semantics="robustness")
    again = loads_spec(dumps_spec(spec))
    assert again == spec
    assert again.labels(None, 0, [0.5]) == {"next_obs[0] < 2": 1.5}


def test_an_infinite_bound_of_numpy_survives_a_file():
    spec = Spec([("F[2,5] a", 1)], semantics="robustness", bound=np.float64("inf"))
    assert loads_spec(dumps_spec(spec)) == spec


def test_atoms_about_every_agent_are_saved():
    atoms = {
        "low": per_agent("next_obs[0] < 0.2"),
        "pushes": per_agent(ExpressionAtom("action > x", {"x": (1,)}, at_reset=0.25)),
        "still": per_agent(still),
    }
    spec = Spec(
        [("forall agent: G(low(agent) -> pushes(agent))", 1), ("mean agent: F still(agent)", 1)],
        atoms,
        sorts={"agent": ["a_0", "a_1"]},
    )
    text = dumps_spec(spec)
    assert tomllib.loads(text)["atoms"] == {
        "low": {"expression": "next_obs[0] < 0.2", "per_agent": True},
        "pushes": {"expression": "action > x", "at_reset": 0.25, "per_agent": True},
        "still": {"function": "tests.spec.test_toml:still", "per_agent": True},
    }
    again = loads_spec(text)
    assert dumps_spec(again) == text
    seen = {"a_0": np.array([0.1, 0.0]), "a_1": np.array([0.9, 3.0])}
    for action in (None, {"a_0": 1.0, "a_1": 2.0}):
        assert again.labels(seen, action, seen) == spec.labels(seen, action, seen)
    unnamed = Spec(
        [("forall agent: G a(agent)", 1)], {"a": per_agent(lambda obs, action, next_obs: 1.0)}, sorts={"agent": 2}
    )
    with pytest.raises(SpecError, match="The atom 'a' cannot be saved"):
        dumps_spec(unnamed)


def test_a_pair_in_a_list_may_say_whether_it_vetoes():
    spec = loads_spec('pairs = [["G !crash", 1, false], ["G up", 2]]')
    assert [(pair.weight, pair.vetoes) for pair in spec.pairs] == [(1, False), (2, True)]
    with pytest.raises(SpecError, match="`veto` of pair 1"):
        loads_spec('pairs = [["G !crash", 1, -1.0]]')


def test_a_threshold_is_refused_with_robustness():
    with pytest.raises(SpecError, match="Leave one of `threshold` and `semantics` out"):
        Spec.from_toml('threshold = 0.5\nsemantics = "robustness"\npairs = [["F a", 1]]\n')


@pytest.mark.parametrize(
    "line", ['payment = "delta"', "penalty = -1", "threshold = 1", "bound = 3", "max_registers = 9"]
)
def test_a_key_of_the_spec_below_observation_is_refused(line):
    key = line.split(" =")[0]
    rest = '[atoms]\ngoal = "x > 1"\n\n[[pairs]]\nformula = "F goal"\nweight = 1\n'
    with pytest.raises(SpecError, match=r"write it above \[observation\]"):
        loads_spec(f"[observation]\nx = 0\n{line}\n\n{rest}")
    read = rest.replace("x > 1", f"x > {key}")  # then it is a component that is called so
    assert loads_spec(f"[observation]\nx = 0\n{key} = 1\n\n{read}").atom_functions is not None
    named = loads_spec(f'observation = ["x", "{key}"]\n\n{rest}')
    assert loads_spec(dumps_spec(named)) == named

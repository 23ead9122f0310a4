"""Quantified formulas are read, printed, judged and evaluated as their bodies are, thing by thing."""

import pickle
import random

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.errors import FormulaError, LabelError, SynthesisError
from rewardspec.logic.formulas import Always, And
from rewardspec.logic.normal_form import negate
from rewardspec.logic.quantifiers import AtomOf, Exists, Forall, Mean, atoms_of, inside
from rewardspec.logic.words import paraphrase
from tests.definition import bound, over_things, value_by_definition
from tests.spec_cases import random_quantified
from tests.strategies import LABELS, MONITORABLE, random_batch


def quantified(count, seed=0):
    rng = random.Random(seed)
    return [random_quantified(rng, rng.choice((1, 2, 3)), MONITORABLE) for _ in range(count)]


@pytest.mark.parametrize("style", ["ascii", "unicode"])
def test_what_is_printed_is_read_back(style):
    for formula in quantified(300):
        assert rs.parse(formula.to_string(style)) == formula


def test_forms():
    formula = rs.parse("forall box: G(held(box) -> F[0,20] placed(box) & safe)")
    assert formula == Forall(
        Always(
            AtomOf("held", "box")
            >> rs.parse("F[0,20] p & safe").rebuild(rs.formulas.Eventually(AtomOf("placed", "box"), 0, 20), "safe")
        ),
        "box",
    )
    assert rs.parse("∀ box : □(held(box) → ◇[0,20]placed(box) ∧ safe)") == formula
    assert formula.to_string("unicode") == "∀box: □(held(box) → ◇[0,20]placed(box) ∧ safe)"
    assert formula.to_string("latex").startswith(r"\forall \mathit{box}\colon \Box (\mathit{held}(\mathit{box})")
    assert formula.atoms == ("held(box)", "placed(box)", "safe")
    assert atoms_of(formula) == ("held", "placed", "safe")
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert formula.about("3").atoms == ("held(3)", "placed(3)", "safe")
    assert paraphrase("mean box: F placed(box)") == "on average over every box: sooner or later: placed(box)"
    assert str(rs.parse('exists box: F "x < 3"(box)')) == 'exists box: F "x < 3"(box)'


def test_the_words_stay_free_for_atoms():
    assert rs.parse("F(forall & exists & mean)").atoms == ("forall", "exists", "mean")
    assert rs.parse("exists exists: F mean(exists)") == Exists(
        rs.formulas.Eventually(AtomOf("mean", "exists")), "exists"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("G(forall box: held(box))", "in front of a whole formula"),
        ("forall box: F(exists x: held(x))", "in front of a whole formula"),
        ("forall box: a & exists box: b", "in front of a whole formula"),
        ("forall box: G held(crate)", "The quantifier's variable is 'box'"),
        ("G held(box)", "the variable of a quantifier alone: 'forall box: G held(box)'"),
        ("forall box G held(box)", "in front of a whole formula"),
        ("forall box:", "stops too early"),
        ("GF(p)", "did you mean 'G F'"),
    ],
)
def test_what_is_no_quantified_formula_is_refused(text, told):
    with pytest.raises(FormulaError, match=told.replace("(", r"\(").replace(")", r"\)")):
        rs.parse(text)


def test_a_quantifier_can_stand_in_no_other_formula():
    inner = rs.parse("forall box: held(box)")
    for build in (lambda: Always(inner), lambda: And("a", inner), lambda: ~inner, lambda: Mean(inner, "box")):
        with pytest.raises(FormulaError, match="in front of a whole formula"):
            build()
    with pytest.raises(FormulaError, match="should be about 'box'"):
        Forall(AtomOf("held", "crate"), "box")
    with pytest.raises(FormulaError, match="A variable should be a name"):
        Forall("a", "3")


def test_a_monitor_of_one_is_refused_by_name():
    for synthesize in (rs.synthesize, rs.synthesize_boolean):
        with pytest.raises(SynthesisError, match="about every box"):
            synthesize("forall box: G held(box)")
    with pytest.raises(FormulaError, match="Robustness has no means"):
        rs.evaluate("mean box: held(box)", {"held": [[0.0]]}, semantics="robustness")


def test_kinds_and_normal_form_are_those_of_the_body():
    for formula in quantified(200, seed=1):
        assert rs.is_safe(formula) == rs.is_safe(formula.body)
        assert rs.is_cosafe(formula) == rs.is_cosafe(formula.body)
        assert rs.to_nnf(formula) == inside(formula, rs.to_nnf)
        assert rs.simplify(formula) == inside(formula, rs.simplify)
    assert str(negate("forall box: G held(box)")) == "exists box: F !held(box)"
    assert str(negate("mean box: F held(box)")) == "mean box: G !held(box)"


@pytest.mark.parametrize("things", [1, 2, 5])
def test_values_are_those_of_the_definition_thing_by_thing(things):
    rng = random.Random(things)
    for formula in quantified(60, seed=things):
        names = tuple(f"{p}({k})" for p in ("p", "q", "r") for k in range(things))
        labels = {name: column[:, 0] for name, column in random_batch(rng, 5, 1, ("a", "b", *names), LABELS).items()}
        trace = {p: np.stack([labels[f"{p}({k})"] for k in range(things)], 1) for p in ("p", "q", "r")}
        trace |= {"a": labels["a"], "b": labels["b"]}
        if not formula.predicates:
            with pytest.raises(LabelError, match="no atom is about one"):
                rs.evaluate(formula, trace)
            continue
        columns = {name: column[:, None] for name, column in labels.items()}
        each = [value_by_definition(formula.body, bound(columns, formula.variable, str(k))) for k in range(things)]
        assert rs.evaluate(formula, trace) == over_things(formula, each)[0]


def test_labels_of_another_shape_are_refused():
    with pytest.raises(LabelError, match="no labels for atom 'held'"):
        rs.evaluate("forall box: held(box)", {"a": [1.0]})
    for held in ([1.0, 0.0], [[[1.0]]], np.zeros((2, 0))):
        with pytest.raises(LabelError, match="positions, things"):
            rs.evaluate("forall box: held(box)", {"held": held})

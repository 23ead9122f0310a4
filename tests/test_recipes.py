"""The page of recipes: each formula keeps its promise on the two episodes that the page shows."""

import itertools

import numpy as np
import pytest

import rewardspec as rs
from tests.definition import value_by_definition
from tests.test_docs import DOCS, script

recipes = script("recipes")
EACH = pytest.mark.parametrize("recipe", recipes.RECIPES, ids=lambda recipe: recipe.name)


def prefixes(formula, trace):
    steps = len(next(iter(trace.values())))
    return [value_by_definition(formula, {a: v[: n + 1] for a, v in trace.items()}) for n in range(steps)]


def test_the_page_and_its_pictures_are_what_the_script_writes():
    assert len(recipes.RECIPES) == 25
    assert (DOCS / "recipes.md").read_text(encoding="utf-8") == recipes.page()
    for recipe in recipes.RECIPES:
        assert recipes.path(recipe).read_text(encoding="utf-8") == recipes.picture(recipe)
    assert {path.name for path in (DOCS / "images").glob("recipe-*.svg")} == {
        recipes.path(recipe).name for recipe in recipes.RECIPES
    }


@EACH
def test_the_values_of_both_episodes_are_those_of_the_definition(recipe):
    formula = rs.parse(recipe.formula)
    ends = []
    for labels in (recipe.wanted, recipe.unwanted):
        expected = prefixes(formula, recipes.trace(labels))
        assert [row[0] for row in recipes.rows(formula, labels)] == pytest.approx(expected)
        ends.append(np.mean(expected) if recipe.formula.startswith("now ") else expected[-1])
    assert ends[0] > ends[1]
    if recipe.captions == ("kept", "broken"):
        assert ends == [1, 0]


@EACH
def test_a_value_is_certain_from_the_step_on_that_the_page_says(recipe):
    """Tried on continuations: none changes it from that step on, and some does from the step before."""
    formula = rs.parse(recipe.formula)
    rng = np.random.default_rng(0)
    for labels in (recipe.wanted, recipe.unwanted):
        trace = recipes.trace(labels)
        certain = recipes.certain_from(recipes.rows(formula, labels))
        if certain is not None:
            assert len(set(ends(formula, trace, certain, rng))) == 1
        before = (len(next(iter(trace.values()))) if certain is None else certain) - 1
        assert len(set(ends(formula, trace, before, rng))) > 1


def ends(formula, trace, step, rng):
    """The values at the end of continuations: events alone, in every order, and at random."""
    begun = {atom: list(labels[: step + 1]) for atom, labels in trace.items()}
    orders = list(itertools.permutations(trace))
    tried = [{a: [float(order.index(a) == n) for n in range(len(order))] for a in trace} for order in orders]
    tried += [{a: [float(level)] * length for a in trace} for level in (0, 1) for length in (1, 8)]
    tried += [{a: rng.integers(0, 2, 8).astype(float).tolist() for a in trace} for _ in range(30)]
    return [value_by_definition(formula, {a: begun[a] + more[a] for a in trace}) for more in tried]


def test_the_recipe_for_an_average_pays_exactly_the_average():
    rng = np.random.default_rng(0)
    labels = rng.random(101)
    spec = rs.Spec([rs.Pair("now fast", 1 / 100, payment="value"), ("F goal", 1)], payment="delta")
    paid = spec.explain({"fast": labels, "goal": np.zeros(101)})
    assert sum(row.reward for row in paid[1:]) == pytest.approx(labels[1:].mean())


def test_a_run_of_retries_can_count_as_one():
    run = [0, 1, 1, 1, 1, 0, 1, 0, 1]
    assert rs.evaluate("G{3} !retry", {"retry": run}) == 0
    assert rs.evaluate("G{3} !(retry & WY !retry)", {"retry": run}) == 1
    assert rs.evaluate("G{3} !(retry & WY !retry)", {"retry": [*run, 0, 1]}) == 0


def test_a_deadline_that_forgives_what_is_still_due_at_the_end_counts_only_missed_deadlines():
    """By the definition, and for every prefix, also that of the recipe that looks back."""
    pays = {recipe.name: recipe.pays for recipe in recipes.RECIPES}
    forgiving, strict = "G(call -> F[0,3] answer | WX[3] false)", "G(!stable -> F[0,3] stable)"
    assert f"`{forgiving}` forgives it" in pays["answer"]
    assert f"`{strict}` counts it as missed" in pays["recover"]
    looks_back = next(recipe.formula for recipe in recipes.RECIPES if recipe.name == "recover")
    for trace in np.random.default_rng(0).choice([0.0, 0.3, 1.0], (200, 2, 9)):
        call, answer = trace
        for n in range(1, 10):
            due = [max(1 - call[k], *answer[k : k + 4]) for k in range(n - 3)]
            whole = {"call": call[:n], "answer": answer[:n]}
            assert value_by_definition(rs.parse(forgiving), whole) == min(due, default=1.0)
            runs = [max(call[k : k + 4]) for k in range(n - 3)]
            assert value_by_definition(rs.parse(looks_back), {"stable": call[:n]}) == min(runs, default=1.0)


def test_the_patterns_that_the_page_names_write_its_formulas():
    formulas = {recipe.name: rs.parse(recipe.formula) for recipe in recipes.RECIPES}
    assert formulas["patrol"] == rs.patterns.patrol("a", "b", rounds=2)
    assert formulas["recharge"] == rs.patterns.recurrence_within("charge", 5)


def test_the_atom_for_smoothness_reads_two_observations():
    smooth = next(recipe for recipe in recipes.RECIPES if recipe.name == "smooth").pays.split('"')[1]
    spec = rs.Spec([("now smooth", 1)], atoms={"smooth": smooth})
    assert spec.labels(np.array([0.0, 1.0]), 0, np.array([0.0, 1.25])) == {"smooth": 0.5}
    assert spec.labels(np.array([0.0, 1.0]), None, np.array([0.0, 1.0])) == {"smooth": 1.0}

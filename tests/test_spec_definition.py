"""The definition of what a spec pays holds water, and what the library has in its place agrees with it."""

import itertools
import random

import numpy as np
import pytest

from rewardspec.logic.continuations import possible
from rewardspec.logic.parsing import parse
from rewardspec.spec import Pair, Spec
from tests.definition import value_by_definition
from tests.spec_cases import QUANTIFIED, ROBUST, read, recomputed, vetoes_at_once
from tests.spec_definition import Paid, can_hold, horizon
from tests.strategies import LABELS, MONITORABLE, REALS, random_batch, random_formula

LANGUAGES = {"degree": (MONITORABLE, LABELS), "robustness": (ROBUST, (REALS, (-1.0, 0.0, 1.0)))}


@pytest.mark.parametrize(("semantics", "levels"), [("degree", (0.0, 0.5, 1.0)), ("robustness", (-1.0, 0.0, 1.0))])
def test_no_continuation_is_better_than_one_that_makes_every_literal_hold(semantics, levels):
    """All continuations by up to three letters, over every combination of three labels for each of two atoms."""
    rng = random.Random(3)
    letters = list(itertools.product(levels, repeat=2))
    for _ in range(60):
        formula = random_formula(rng, rng.choice((1, 2, 3)), ("a", "b"), LANGUAGES[semantics][0])
        prefix = random_batch(rng, rng.randint(1, 3), 4, ("a", "b"), LANGUAGES[semantics][1])
        middle = [np.zeros((0, 4))] * 2
        for length in range(4):
            tried = np.array(list(itertools.product(letters, repeat=length))).reshape(len(letters) ** length, length, 2)
            # Every prefix with every continuation: one batch of shape (steps, 4 * continuations).
            trace = {
                atom: np.vstack([np.repeat(prefix[atom], len(tried), axis=1), np.tile(tried[:, :, k].T, 4)])
                for k, atom in enumerate("ab")
            }
            best = value_by_definition(formula, trace, semantics).reshape(4, len(tried)).max(axis=1)
            middle = [np.full((length, 4), levels[1])] * 2
            trace = {atom: np.vstack([prefix[atom], rest]) for atom, rest in zip("ab", middle, strict=True)}
            value = value_by_definition(formula, trace, semantics)
            holds = (value > 0, best > 0) if semantics == "degree" else (value >= 0, best >= 0)
            assert (holds[0] == holds[1]).all(), formula


def test_the_cases_on_file_are_what_the_definition_says():
    for case in [*read(), *read(QUANTIFIED)][::15]:
        now = recomputed(case)
        for kind in ("paid", "paid_ending"):
            for name in Paid.__dataclass_fields__:
                assert np.array_equal(getattr(getattr(case, kind), name), getattr(getattr(now, kind), name)), case.spec


def test_every_feature_meets_every_other_in_the_cases_on_file():
    features = {
        "robustness": lambda spec, pair: spec.semantics == "robustness",
        "progress": lambda spec, pair: pair.progress and spec.semantics == "degree",
        "veto": lambda spec, pair: pair.vetoes,
        "own penalty": lambda spec, pair: pair.penalty is not None,
        "own payment": lambda spec, pair: pair.payment not in (None, spec.payment),
        "time": lambda spec, pair: "[" in str(pair.formula),
        "counts": lambda spec, pair: "{" in str(pair.formula),
        "discount": lambda spec, pair: ";" in str(pair.formula),
        "info": lambda spec, pair: "b" in pair.formula.atoms,
        **{
            p: lambda spec, pair, p=p: (pair.payment or spec.payment) == p
            for p in ("value", "delta", "potential", "final")
        },
    }
    met = {
        frozenset(both)
        for case in [*read(), *read(QUANTIFIED)]
        for pair in case.spec.pairs
        for both in itertools.combinations([name for name, has in features.items() if has(case.spec, pair)], 2)
    }
    never = {("robustness", "progress"), ("robustness", "discount")}  # robustness has neither
    payments = ("value", "delta", "potential", "final")
    never |= set(itertools.combinations(payments, 2))
    missing = [both for both in itertools.combinations(features, 2) if frozenset(both) not in met and both not in never]
    assert not missing


@pytest.mark.parametrize("semantics", ["degree", "robustness"])
def test_what_is_possible_is_what_some_continuation_makes_true(semantics):
    rng, exact = random.Random(11), 0
    language, kinds = LANGUAGES[semantics]
    for _ in range(250):
        formula = random_formula(rng, rng.choice((1, 2, 3, 4)), language=language)
        if horizon(formula) > 40:
            continue
        found = possible(formula)
        trace = random_batch(rng, rng.randint(1, 6), 16, kinds=kinds)
        value = value_by_definition(found.formula, trace, semantics)
        says, holds = value > 0 if semantics == "degree" else value >= 0, can_hold(formula, trace, semantics)
        exact += found.exact
        assert not (holds & ~says).any(), formula  # never too short
        assert not found.exact or (says == holds).all(), formula
        rough = value_by_definition(possible(formula, approximate=True).formula, trace, semantics)
        assert not (holds & ~(rough > 0 if semantics == "degree" else rough >= 0)).any(), formula
    assert exact > 200


LONG = [
    "X[100] a",
    "F[2,100] a",
    "F[60,90] a",
    "a U[5,100] b",
    "F[3,66] a",
    "G(a -> F[0,100] b)",
    "G(a -> F[5,100] b)",
    "G(a -> X[100] b)",
    "F[0,70](a & F[0,70] b)",
    "G F[0,80] a",
    "G(a -> H[1,90] b)",
    "G O[0,90] a",
    "F[0,10] H[0,20] a",
]


@pytest.mark.parametrize("text", LONG)
def test_windows_of_any_length_veto_when_the_definition_says_so(text):
    """A5: the prefixes just before and just after a deadline, and some in between."""
    formula, rng = parse(text), random.Random(text)
    assert vetoes_at_once(formula)
    spec = Spec([Pair(formula, 1, veto=True)])
    longest = max(int(number) for number in text.replace("]", ",").replace("[", ",").split(",") if number.isdigit())
    length = longest + 12
    kinds = ((0.0,), (1.0,), (0.0, 0.0, 0.0, 1.0), (0.0, 0.5, 1.0))
    episodes = [{atom: rng.choices(rng.choice(kinds), k=length) for atom in "ab"} for _ in range(8)]
    labels = {atom: np.array([episode[atom] for episode in episodes]).T for atom in "ab"}
    state = spec.start({atom: labels[atom][0] for atom in spec.atoms})
    found = [spec.violated(state)]
    for n in range(1, length):
        state, _ = spec.step(state, {atom: labels[atom][n] for atom in spec.atoms})
        found.append(spec.violated(state))
    changes = [n for n in range(1, length) if (found[n] != found[n - 1]).any()]
    for n in {0, length - 1, longest, *(m for change in changes[:3] for m in (change - 1, change))}:
        # None of these formulas loses by a longer continuation, so that the longest decides.
        prefix = {atom: column[: n + 1] for atom, column in labels.items()}
        holds = can_hold(formula, prefix, lengths=(0, 1, horizon(formula)))
        assert (found[n] == ~holds).all(), n

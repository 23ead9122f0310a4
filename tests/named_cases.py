"""Random specs about things that appear while episodes run, and what the definition says they pay.

The definition knows all things in advance: those that some step names, and one that none does. A thing's labels are 0
wherever a step does not name it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardspec.errors import SynthesisError
from rewardspec.spec import Pair, Spec
from tests.definition import bound, over_things
from tests.spec_cases import LABELS, MONITORABLE, random_formula, random_quantified, vetoes_at_once
from tests.spec_definition import Floats, Judged, Paid, _of_one, can_hold, horizon, paid_by_definition
from tests.synthesis.progress_definition import TooManyError

NOBODY = "nobody"
THINGS = ("7", "order 8", "left", "x")
PREDICATES = {"p": "x", "q": "x", "r": "y"}
STEPS, EPISODES = 8, 12  # of each episode, and of each case unless told


@dataclass(frozen=True)
class NamedCase:
    """A spec, episodes of equal length, and what they pay.

    Attributes:
        spec: The spec.
        letters: For each episode and step the labels: numbers, and mappings from things to numbers.
        base_rewards: Shape (steps, episodes).
        terminated: Likewise.
        truncated: Likewise.
        paid: What the definition says.
    """

    spec: Spec
    letters: list[list[dict[str, Any]]]
    base_rewards: Floats
    terminated: Any
    truncated: Any
    paid: Paid


def random_named_spec(rng: random.Random) -> Spec:
    """A spec of one to three pairs, most of them about things of two sorts of names."""
    payments = ("value", "delta", "potential", "final")
    pairs = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        if rng.random() < 0.8:
            formula = random_quantified(rng, rng.choice((1, 2, 2, 3)), MONITORABLE)
        else:
            formula = random_formula(rng, 2, ("a", "b"), MONITORABLE)
        options = {"payment": rng.choice((None, None, *payments)), "progress": rng.random() < 0.25}
        pairs.append(Pair(formula, rng.choice((1, 2, 0.5, -1)), veto=rng.choice((None, None, True, False)), **options))
    sorts = {"x": "names", "y": "names"}
    return Spec(pairs, penalty=rng.choice((0, -1)), payment=rng.choice(payments), discount=0.9, sorts=sorts)


def random_named_case(rng: random.Random, episodes: int = EPISODES) -> NamedCase | None:
    """A case; None where the spec is too large to monitor, to veto at once, or to evaluate by the definition."""
    spec = random_named_spec(rng)
    if any(horizon(pair.body) > 40 for pair in spec.pairs):
        return None
    try:
        _ = spec.machine
        if not all(vetoes_at_once(pair.body) for pair in spec.pairs if pair.vetoes):
            return None
        letters = [_episode(rng) for _ in range(episodes)]
        judged = _judged(spec, letters)
    except (SynthesisError, TooManyError):
        return None
    last = np.arange(STEPS)[:, None] == STEPS - 1
    ends = (last & np.array([rng.random() < 0.5 for _ in range(episodes)]) for _ in range(2))
    terminated, truncated = ends
    base = np.array([[rng.choice((-1.0, 0.0, 1.0)) for _ in range(episodes)] for _ in range(STEPS)])
    paid = paid_by_definition(spec, judged, base, terminated, truncated)
    return NamedCase(spec, letters, base, terminated, truncated, paid)


def _episode(rng: random.Random) -> list[dict[str, Any]]:
    """Labels over time: most steps name one thing or none, some many."""
    labels, often = rng.choice(LABELS), rng.choice((0.15, 0.4, 0.9))
    return [
        {
            "a": rng.choice(labels),
            "b": rng.choice(labels),
            **{p: {thing: rng.choice(labels) for thing in THINGS if rng.random() < often} for p in PREDICATES},
        }
        for _ in range(STEPS + 1)
    ]


def _judged(spec: Spec, episodes: list[list[dict[str, Any]]]) -> Judged:
    everyone = (*THINGS, NOBODY)
    dense: dict[str, Floats] = {a: np.array([[step[a] for step in e] for e in episodes]).T for a in ("a", "b")}
    for p in PREDICATES:
        for thing in everyone:
            dense[f"{p}({thing})"] = np.array([[step[p].get(thing, 0.0) for step in e] for e in episodes]).T
    # A thing has appeared once an atom of its sort, in any formula, names it.
    read = {p for pair in spec.pairs if pair.formula.quantifier for p in pair.formula.predicates}
    of_sort = {sort: [p for p in read if PREDICATES[p] == sort] for sort in ("x", "y")}
    seen = {
        sort: np.array([[[any(t in step[p] for p in own) for t in THINGS] for step in e] for e in episodes])
        for sort, own in of_sort.items()
    }
    prefixes = [{atom: column[: n + 1] for atom, column in dense.items()} for n in range(STEPS + 1)]
    values = np.empty((len(spec.pairs), STEPS + 1, len(episodes)))
    penalty = np.full((STEPS + 1, len(episodes)), np.inf)
    for k, pair in enumerate(spec.pairs):
        formula = pair.formula
        things = everyone if formula.quantifier else ("",)
        variable = formula.variable if formula.quantifier else ""
        of_things = []
        for thing in things:
            own = [bound(prefix, variable, thing) for prefix in prefixes]
            of_things.append(_of_one(pair.body, pair.progress, spec, bound(dense, variable, thing), own))
        each = np.array(of_things)
        if formula.quantifier == "mean":
            appeared = np.maximum.accumulate(seen[variable], axis=1).transpose(2, 1, 0)  # things, steps, episodes
            total = appeared.sum(axis=0)
            values[k] = np.where(total == 0, each[-1], (each[:-1] * appeared).sum(axis=0) / np.maximum(total, 1))
        else:
            values[k] = over_things(formula, list(each)) if formula.quantifier else each[0]
        if pair.vetoes:
            own = spec.penalty if pair.penalty is None else pair.penalty
            for n, prefix in enumerate(prefixes):
                hopeless = np.array([~can_hold(pair.body, bound(prefix, variable, t)) for t in things])
                lost = hopeless.any(axis=0) if formula.quantifier in ("", "forall") else hopeless.all(axis=0)
                penalty[n:, lost] = np.minimum(penalty[n:, lost], own)
    return Judged(values, penalty)


def compare(case: NamedCase) -> int:
    """Compare a spec's values, penalties and rewards with the definition; how many prefixes."""
    spec, paid, count = case.spec, case.paid, 0
    for e, letters in enumerate(case.letters):
        state = spec.start(letters[0])
        for t in range(STEPS + 1):
            if t:
                ends = bool(case.terminated[t - 1, e]), bool(case.truncated[t - 1, e])
                before = state
                state, reward = spec.step(before, letters[t], float(case.base_rewards[t - 1, e]), *ends)
                assert spec.step(before, letters[t], float(case.base_rewards[t - 1, e]), *ends)[1] == reward
                assert abs(reward - paid.rewards[t - 1, e]) <= 1e-9, (spec, t, reward, paid.rewards[t - 1, e])
            assert np.allclose(spec.values(state), paid.values[:, t, e], rtol=0, atol=1e-12), (spec, t)
            assert spec.penalty_in_force(state) == paid.penalty[t, e], (spec, t)
            count += 1
    return count

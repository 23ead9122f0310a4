"""On labels that are 0 or 1, the quantitative and the Boolean monitor say the same."""

import random

import rewardspec as rs
from tests.strategies import random_formula

ATOMS = ("a", "b", "c")


def machines(seed, count, depth):
    rng = random.Random(seed)
    while count:
        formula = random_formula(rng, depth=rng.randint(1, depth), atoms=ATOMS)
        try:
            yield rng, formula, rs.synthesize(formula), rs.synthesize_boolean(formula)
        except rs.SynthesisError:
            continue
        count -= 1


def test_values_agree():
    for rng, formula, quantitative, boolean in machines(seed=0, count=150, depth=5):
        trace = {name: [float(rng.random() < 0.5) for _ in range(10)] for name in ATOMS}
        assert quantitative.run(trace).tolist() == boolean.run(trace).tolist(), str(formula)


def test_verdicts_agree():
    # Only where the quantitative bounds are those of truth: a formula such as `p & !p` can reach 0.5, but not hold.
    agreed = 0
    for rng, formula, quantitative, boolean in machines(seed=1, count=100, depth=4):
        one, other = quantitative.initial_state(), boolean.initial_state()
        for _ in range(6):
            letter = {name: float(rng.random() < 0.5) for name in ATOMS}
            one, _ = quantitative.step(one, letter)
            other, _ = boolean.step(other, letter)
            bounds = quantitative.bounds(one)
            assert bounds[0] <= boolean.bounds(other)[0] <= boolean.bounds(other)[1] <= bounds[1], str(formula)
            if set(bounds) <= {0.0, 1.0}:
                assert quantitative.verdict(one) == boolean.verdict(other), str(formula)
                agreed += 1
    assert agreed > 300


def test_the_four_verdicts():
    monitor = rs.synthesize("G(a -> X b)")
    state = monitor.initial_state()
    seen = []
    for a, b in [(0, 0), (1, 0), (0, 1), (1, 0), (0, 0)]:
        state, _ = monitor.step(state, {"a": a, "b": b})
        seen.append(monitor.verdict(state))
    verdict = rs.Verdict
    assert seen == [
        verdict.CURRENTLY_SATISFIED,
        verdict.CURRENTLY_VIOLATED,
        verdict.CURRENTLY_SATISFIED,
        verdict.CURRENTLY_VIOLATED,
        verdict.PERMANENTLY_VIOLATED,
    ]

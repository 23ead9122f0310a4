"""The algebra of maxima of minima."""

import random

from rewardspec.machines import polynomials as p


def value(polynomial, assignment):
    return max((min((assignment[v] for v in p.bits(term)), default=1) for term in polynomial), default=0)


def random_polynomial(rng, variables=5):
    return p.absorb(rng.randrange(1 << variables) for _ in range(rng.randint(0, 4)))


def test_operations_compute_minima_and_maxima():
    rng = random.Random(0)
    for _ in range(500):
        x, y = random_polynomial(rng), random_polynomial(rng)
        assignment = [rng.random() for _ in range(5)]
        assert value(p.maximum(x, y), assignment) == max(value(x, assignment), value(y, assignment))
        assert value(p.minimum(x, y), assignment) == min(value(x, assignment), value(y, assignment))


def test_the_form_is_canonical():
    rng = random.Random(1)
    for _ in range(300):
        x, y, z = (random_polynomial(rng) for _ in range(3))
        assert p.minimum(x, p.maximum(y, z)) == p.maximum(p.minimum(x, y), p.minimum(x, z))
        assert p.maximum(x, p.minimum(y, z)) == p.minimum(p.maximum(x, y), p.maximum(x, z))
        assert p.maximum(x, p.minimum(x, y)) == x


def test_substitution_fixes_variables():
    rng = random.Random(2)
    for _ in range(300):
        x = random_polynomial(rng)
        zeros = rng.randrange(32)
        ones = rng.randrange(32) & ~zeros
        assignment = [rng.random() for _ in range(5)]
        fixed = [0 if zeros >> k & 1 else 1 if ones >> k & 1 else v for k, v in enumerate(assignment)]
        assert value(p.substitute(x, zeros, ones), assignment) == value(x, fixed)

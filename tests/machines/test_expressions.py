"""Expressions of register programs."""

import random

import pytest

from rewardspec.machines import expressions
from rewardspec.machines.expressions import (
    ONE,
    ZERO,
    affine,
    complement,
    constant,
    dual,
    label,
    maximum,
    minimum,
    register,
    substitute,
)


def scaled(*args):
    return affine(minimum(*args), 0.5, 0.25)


def random_expression(rng, depth=4):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([label("a"), label("b"), complement("a"), register(0), register(1), ZERO, ONE])
    operation = rng.choice([minimum, maximum, scaled])
    return operation(*(random_expression(rng, depth - 1) for _ in range(rng.randint(1, 3))))


def evaluate(expression, labels, registers):
    def leaf(part):
        match part.op:
            case "constant":
                return part.args[0]
            case "label":
                return labels[part.args[0]]
            case "complement":
                return 1.0 - labels[part.args[0]]
        return registers[part.args[0]]

    return expression.evaluate(leaf)


def random_values(rng):
    return {"a": rng.randrange(257) / 256, "b": rng.randrange(257) / 256}, {0: rng.random(), 1: rng.random()}


def test_constants_are_folded_and_equal_arguments_merged():
    a = label("a")
    assert minimum(a, ONE) == a
    assert minimum(a, ZERO) == ZERO
    assert maximum(a, ZERO, a) == a
    assert maximum() == ZERO
    assert minimum() == ONE
    assert minimum(a, minimum(register(0), a)) == minimum(a, register(0))


def test_the_dual_is_one_minus_the_value():
    rng = random.Random(0)
    for _ in range(200):
        expression = random_expression(rng)
        labels, registers = random_values(rng)
        opposite = {number: 1.0 - value for number, value in registers.items()}
        found = evaluate(dual(expression), labels, opposite)
        assert found == pytest.approx(1.0 - evaluate(expression, labels, registers))


def test_substitution_replaces_leaves():
    rng = random.Random(1)
    for _ in range(200):
        expression, replacement = random_expression(rng), random_expression(rng, 2)
        labels, registers = random_values(rng)
        inner = registers | {0: evaluate(replacement, labels, registers)}
        changed = substitute(expression, {register(0): replacement})
        assert evaluate(changed, labels, registers) == pytest.approx(evaluate(expression, labels, inner))


def test_expressions_read_as_mathematics():
    expression = maximum(label("b"), minimum(register(0), complement("a")))
    assert str(expression) == "max(b, min(r0, !a))"
    assert expression.to_string({0: "value"}, {complement("a"): "calm"}) == "max(b, min(value, calm))"
    assert str(constant(0.5)) == "0.5"


def exclusive_or(count):
    """As many atoms, of which an odd number should hold: a small expression with very many paths."""
    odd, even = label("a0"), complement("a0")
    for k in range(1, count):
        one, other = label(f"a{k}"), complement(f"a{k}")
        odd, even = (
            maximum(minimum(odd, other), minimum(even, one)),
            maximum(minimum(odd, one), minimum(even, other)),
        )
    return odd


def test_shared_parts_are_compared_once():
    assert exclusive_or(60) == exclusive_or(60)  # two to the power of 60 paths
    assert exclusive_or(60) != exclusive_or(61)


def test_text_is_cut_where_shared_parts_would_make_it_too_long():
    assert len(exclusive_or(60).to_string()) < 20_000
    assert "…" not in exclusive_or(4).to_string()


def test_a_substitution_rebuilds_each_part_once(monkeypatch):
    built = []
    monkeypatch.setattr(expressions, "minimum", lambda *args: built.append(args) or minimum(*args))
    change = expressions.Substitution({label("a0"): register(0), complement("a0"): register(1)})
    deep = exclusive_or(40)
    change(deep)
    change(maximum(deep, label("b")))
    assert 0 < len(built) <= 4 * 40

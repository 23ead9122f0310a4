"""Expressions that read slices, compared with NumPy on random expressions: one environment, batches, JAX and torch."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.errors import LabelError, SpecError
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom, predicate_atom

ROWS, COLUMNS = 5, 4
Value = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of obs and next_obs of one environment


def place(rng: random.Random, length: int) -> tuple[str, int | slice]:
    """An index or a slice, as text and as NumPy takes it; a slice is never empty."""
    if rng.random() < 0.5:
        index = rng.randrange(-length, length)
        return str(index), index
    start = rng.choice([None, *range(length - 1)])
    stop = rng.choice([None, *range((start or 0) + 1, length + 3)])
    step = rng.choice([None, None, 1, 2])
    text = f"{'' if start is None else start}:{'' if stop is None else stop}{'' if step is None else f':{step}'}"
    return text, slice(start, stop, step)


def numbers(rng: random.Random, shape: tuple[int, ...], depth: int) -> tuple[str, Value]:
    """A random expression whose value has the given shape, as text and as a function that uses NumPy alone."""
    kind = rng.choice(["read", "arithmetic", "function", "truth"]) if depth else "read"
    if kind == "read" and not shape:
        return reduced(rng, depth - 1) if depth > 0 and rng.random() < 0.6 else read(rng, ())
    if kind == "read":
        return read(rng, shape)
    left, a = numbers(rng, shape, depth - 1)
    right, b = numbers(rng, rng.choice([shape, ()]), depth - 1)
    if kind == "arithmetic":
        sign, function = rng.choice([("+", np.add), ("-", np.subtract), ("*", np.multiply)])
        return f"({left} {sign} {right})", lambda o, n: function(a(o, n), b(o, n))
    if kind == "truth":
        sign, function = rng.choice([("<", np.less), (">=", np.greater_equal)])
        return f"({left} {sign} {right})", lambda o, n: function(a(o, n), b(o, n)) * 1.0
    name, function = rng.choice([("min", np.minimum), ("max", np.maximum)])
    return f"{name}({left}, {right})", lambda o, n: function(a(o, n), b(o, n))


def read(rng: random.Random, shape: tuple[int, ...]) -> tuple[str, Value]:
    """A part of an observation with the given shape."""
    while True:
        places = [place(rng, ROWS), place(rng, COLUMNS)]
        index = tuple(found for _, found in places)
        if np.zeros((ROWS, COLUMNS))[index].shape == shape:
            break
    text = ", ".join(found for found, _ in places)
    if rng.random() < 0.5:
        return f"obs[{text}]", lambda o, n: o[index]
    return f"next_obs[{text}]", lambda o, n: n[index]


def reduced(rng: random.Random, depth: int) -> tuple[str, Value]:
    """A random expression that makes one number of several."""
    names: dict[str, Callable[..., np.ndarray]] = {
        "any": np.max, "all": np.min, "min": np.min, "max": np.max, "mean": np.mean, "sum": np.sum,
        "norm": lambda x, axis=None: np.sqrt(np.sum(x * x, axis=axis)),
    }  # fmt: skip
    name, outer = rng.choice([*names]), rng.choice([*names])
    shape = rng.choice([(3,), (4,), (2, 3), (5, 4), (5, 2)])
    text, value = numbers(rng, shape, depth)
    if len(shape) == 2 and rng.random() < 0.5:
        axis = rng.choice([-2, -1, 0, 1])
        return (
            f"{outer}({name}({text}, axis={axis}))",
            lambda o, n: names[outer](names[name](value(o, n), axis=axis)),
        )
    return f"{name}({text})", lambda o, n: names[name](value(o, n))


@pytest.mark.parametrize("seed", range(150))
def test_random_expressions_of_slices_are_as_in_numpy(seed: int) -> None:
    rng = random.Random(seed)
    text, value = reduced(rng, 3)
    atom = ExpressionAtom(text, {})
    arrays = np.random.default_rng(seed)
    obs, next_obs = arrays.uniform(-2, 2, (2, 6, ROWS, COLUMNS))
    alone = np.array([atom(o, 0, n) for o, n in zip(obs, next_obs, strict=True)])
    np.testing.assert_allclose(alone, [value(o, n) for o, n in zip(obs, next_obs, strict=True)], rtol=1e-12)
    np.testing.assert_array_equal(atom(obs, np.zeros(6), next_obs), alone)  # a batch gives just what each alone gives


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_slices_in_other_libraries(library: str) -> None:
    module = pytest.importorskip({"jax": "jax.numpy", "torch": "torch"}[library])
    arrays = np.random.default_rng(0)
    obs, next_obs = arrays.uniform(-2, 2, (2, 6, ROWS, COLUMNS)).astype(np.float32)
    for seed in range(40):
        text, _ = reduced(random.Random(seed), 3)
        if "<" in text or ">=" in text:
            continue  # a comparison of nearly equal numbers may turn with the precision
        atom = ExpressionAtom(text, {})
        given = atom(module.asarray(obs), None, module.asarray(next_obs))
        np.testing.assert_allclose(np.asarray(given), atom(obs, None, next_obs), rtol=2e-4, atol=2e-4, err_msg=text)


def test_keys_are_written_in_quotes_or_after_a_dot() -> None:
    obs = {"achieved goal": np.array([3.0, 0.0]), "desired": np.array([0.0, 4.0])}
    for text in ('norm(next_obs["achieved goal"][:] - next_obs.desired[:])', "norm(next_obs['desired'][:]) + 1"):
        assert ExpressionAtom(text, {})(obs, 0, obs) == 5.0
    assert ExpressionAtom('info["position"][1]', {})(None, 0, None, {"position": [1.0, 0.5]}) == 0.5


def test_the_margin_of_any_is_the_largest_margin() -> None:
    atom = predicate_atom("any(next_obs[:, 0] > 0.5) and not all(next_obs[:, 1] > 2)", {}, margin=True)
    table = np.array([[0.75, 3.0], [0.25, 2.25]])
    assert atom(table, 0, table) == -0.25
    spec = rs.Spec([('G "any(next_obs[:, 0] > 0.5)"', 1)], semantics="robustness", bound=9)
    assert list(spec.labels(table, 0, table).values()) == [0.25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("next_obs[:]", "gives several numbers"),
        ("mean(next_obs)", "Write a slice for each axis"),
        ("max(next_obs[0])", "compares them"),
        ("next_obs[1:][0]", "Nothing can follow a slice"),
        ("any(next_obs[:, 1], axis=1)", "There is no axis 1"),
        ("abs(next_obs[0], axis=0)", "abs has no axis"),
        ("max(next_obs[:] + next_obs[:, :])", "slices of 1 and of 2 axes"),
        ("max(next_obs[::-1])", "step of a slice should be above 0"),
        ("max(next_obs[:9999999999])", "too large"),
        ("next_obs[..., 2]", "reads the last axes by itself"),
        ("next_obs[0.5]", "between the brackets"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ExpressionAtom(text, {})


def test_an_empty_slice_is_an_error() -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": "any(next_obs[7:] > 1)"})
    with pytest.raises(LabelError, match="holds no numbers"):
        spec.labels(np.zeros(3), 0, np.zeros(3))

"""Every way to run a spec pays what the definition says."""

from __future__ import annotations

import functools
import warnings

import pytest

from tests.agreement.paths import PATHS
from tests.export.agreement import missing
from tests.spec_cases import QUANTIFIED, Case, read

# How many cases, and how many rewards at least: some are slow. `make agreement` takes more of them.
SOME = {
    "jax": (27, 20_000),
    "jax_environments": (3, 5_000),
    "sb3_buffer": (40, 20_000),
    "engine_numpy": (150, 20_000),
    "engine_torch": (75, 20_000),
    "vector_torch": (8, 1_000),
    "vector_jax": (1, 100),
}


SOME_QUANTIFIED = {
    "jax": (4, 2_000),
    "jax_environments": (1, 500),
    "sb3_buffer": (2, 200),
    "counterfactual": (20, 1_000),
    "vector_torch": (4, 500),
    "vector_jax": (1, 100),
}


@functools.cache
def cases() -> list[Case]:
    return read()


@functools.cache
def quantified_cases() -> list[Case]:
    return read(QUANTIFIED)


@pytest.mark.parametrize("name", PATHS)
def test_a_path_pays_what_the_definition_says_of_formulas_about_things(name):
    if name.startswith("exported") and missing():
        pytest.skip(f"needs {missing()}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        count, least = SOME_QUANTIFIED.get(name, (12, 500))
        assert PATHS[name](quantified_cases()[:count]) >= least


@pytest.mark.parametrize("name", PATHS)
def test_a_path_pays_what_the_definition_says(name):
    if name.startswith("exported") and missing():
        pytest.skip(f"needs {missing()}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of violated first states, and of ends that are never seen
        count, least = SOME.get(name, (None, 20_000))
        assert PATHS[name](cases()[:count]) >= least

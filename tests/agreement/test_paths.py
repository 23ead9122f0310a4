"""Every way to run a spec pays what the definition says."""

from __future__ import annotations

import functools
import warnings

import pytest

from tests.agreement.paths import PATHS
from tests.export.agreement import missing
from tests.spec_cases import Case, read

# How many cases, and how many rewards at least: some are slow. `make agreement` takes more of them.
SOME = {"jax": (30, 20_000), "sb3_buffer": (40, 20_000)}


@functools.cache
def cases() -> list[Case]:
    return read()


@pytest.mark.parametrize("name", PATHS)
def test_a_path_pays_what_the_definition_says(name):
    if name.startswith("exported") and missing():
        pytest.skip(f"needs {missing()}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of violated first states, and of ends that are never seen
        count, least = SOME.get(name, (None, 20_000))
        assert PATHS[name](cases()[:count]) >= least

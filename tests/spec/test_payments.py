"""A way to pay is a row of a table, and nothing more: a new one works on every path."""

from __future__ import annotations

import dataclasses
import functools
import typing

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.machines.expressions import less, where
from rewardspec.spec.payments import BEFORE, DISCOUNT, LEVEL, PAYMENTS, TRUNCATED, Payment, PaymentRule
from tests import spec_definition
from tests.agreement.paths import PATHS
from tests.export.agreement import missing
from tests.spec_cases import Case, read
from tests.spec_definition import Judged, paid_by_definition

GAIN = PaymentRule(
    where(less(BEFORE, LEVEL) | TRUNCATED, (LEVEL - BEFORE) * DISCOUNT, -0.25) + 0.125,
    "the level's discounted gain, a little of its own, and a cost where nothing is gained",
    "the level is {penalty:g}",
)


def gain_by_definition(level, before, terminated, truncated, discount):
    return np.where((before < level) | truncated, discount * (level - before), -0.25) + 0.125


@pytest.fixture
def gain(monkeypatch):
    monkeypatch.setitem(PAYMENTS, "gain", GAIN)
    monkeypatch.setitem(spec_definition.PAYMENTS, "gain", gain_by_definition)


@functools.cache
def cases() -> list[Case]:
    return read()[:24]


def paid_by_gain(case: Case, number: int) -> Case:
    """The case with the spec, or with its first pair, paid by the new row."""
    spec = case.spec
    if number % 2:
        spec = spec.replace(payment="gain")
    else:
        spec = spec.replace(pairs=[dataclasses.replace(spec.pairs[0], payment="gain"), *spec.pairs[1:]])
    judged = Judged(case.paid.values, case.paid.penalty)
    paid, ending = (
        paid_by_definition(
            spec, judged, case.base_rewards, case.terminated, case.truncated, terminate_on_violation=ends
        )
        for ends in (False, True)
    )
    return dataclasses.replace(case, spec=spec, paid=paid, paid_ending=ending)


@pytest.mark.filterwarnings("ignore:The safety objective:UserWarning")
@pytest.mark.parametrize("path", ["scalar", "wrapper_that_ends", "numpy", "torch", "jax", "exported_c", "exported_js"])
def test_a_new_row_pays_on_every_path_as_its_definition(path, gain):
    if path.startswith("exported") and missing():
        pytest.skip(f"needs {missing()}")
    found = [paid_by_gain(case, number) for number, case in enumerate(cases()[: 4 if path == "jax" else None])]
    assert PATHS[path](found) > 50 * len(found)


def test_what_a_row_reads_follows_from_its_expression(gain):
    rule = PAYMENTS["gain"]
    assert rule.reads_before
    assert rule.pays_from_start
    assert rule.reads_ending
    assert not PAYMENTS["value"].reads_before
    assert not PAYMENTS["delta"].pays_from_start
    assert [way for way, row in PAYMENTS.items() if row.reads_truncation] == ["final", "gain"]
    assert [way for way, row in PAYMENTS.items() if row.reads_discount] == ["potential", "gain"]


def test_a_row_that_reads_no_array_pays_every_element(monkeypatch):
    monkeypatch.setitem(
        PAYMENTS, "ending", PaymentRule(where(TRUNCATED, 1.0, 0.0), "1 where the episode is cut off", "")
    )
    spec = rs.Spec([("F a", 1)], payment="ending")
    state = spec.start({"a": np.zeros(3)})
    _, reward = spec.step(state, {"a": np.ones(3)}, truncated=True)
    assert reward.tolist() == [1.0, 1.0, 1.0]
    _, reward = spec.step(state, {"a": np.ones(3)})
    assert reward.tolist() == [0.0, 0.0, 0.0]


def test_the_type_of_payments_names_the_rows():
    assert typing.get_args(Payment) == tuple(PAYMENTS)

"""Laws that the atoms and measures of all twelve environments obey."""

from __future__ import annotations

import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.logic.parsing import parse

KINDS = ("boolean", "quantitative")
CASES = [(name, kind) for name in tasks.names("paper") for kind in KINDS]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_atom_stays_in_the_unit_interval(name, kind, recording):
    play = recording(name)
    assert len(play.obs) == 10_000
    for atom, function in tasks.get(name).specs[kind].atom_functions.items():
        for values in (function(play.obs, play.action, play.next_obs), function(play.first, None, play.first)):
            assert np.all((values >= 0.0) & (values <= 1.0)), atom
            if kind == "boolean":
                assert set(np.unique(values)) <= {0.0, 1.0}, atom


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_one_transition_and_a_batch_get_the_same_labels(name, kind, recording):
    play = recording(name)
    for atom, function in tasks.get(name).specs[kind].atom_functions.items():
        batch = function(play.obs, play.action, play.next_obs)
        at_reset = function(play.first, None, play.first)
        assert batch.shape == (10_000,), atom
        assert at_reset.shape == (len(play.first),), atom
        for i in range(0, 10_000, 997):
            assert float(function(play.obs[i], play.action[i], play.next_obs[i])) == pytest.approx(batch[i], abs=1e-6)
        assert float(function(play.first[0], None, play.first[0])) == pytest.approx(at_reset[0], abs=1e-6)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_leading_axes_are_all_batch_axes(name, kind, recording):
    play = recording(name)
    obs, action, next_obs = (column[:6] for column in (play.obs, play.action, play.next_obs))
    folded = (column.reshape(2, 3, *column.shape[1:]) for column in (obs, action, next_obs))
    folded_obs, folded_action, folded_next_obs = folded
    for function in tasks.get(name).specs[kind].atom_functions.values():
        values = function(folded_obs, folded_action, folded_next_obs)
        assert values.shape == (2, 3)
        assert values.ravel().tolist() == function(obs, action, next_obs).tolist()


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_atoms_and_measures_trace_under_jax(name, kind, recording):
    jax = pytest.importorskip("jax")
    play, task = recording(name), tasks.get(name)
    obs, action, next_obs = (column[:50] for column in (play.obs, play.action, play.next_obs))
    for atom, function in task.specs[kind].atom_functions.items():
        stepped = jax.jit(jax.vmap(function))(obs, action, next_obs)
        np.testing.assert_allclose(stepped, function(obs, action, next_obs), atol=1e-5, err_msg=atom)
        at_reset = jax.jit(lambda first, function=function: function(first, None, first))(play.first[0])
        np.testing.assert_allclose(at_reset, function(play.first[0], None, play.first[0]), atol=1e-5, err_msg=atom)
    np.testing.assert_allclose(jax.jit(task.measure.of)(next_obs), task.measure.of(next_obs), atol=1e-5)


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_task_completion_stays_in_the_unit_interval(name, recording):
    play, task = recording(name), tasks.get(name)
    for obs in (play.next_obs, play.last):
        values = task.measure.of(obs)
        assert np.all((values >= 0.0) & (values <= 1.0))
    assert play.completions == pytest.approx(np.asarray(task.measure.of(play.last)).tolist(), abs=1e-6)
    assert len(play.completions) > 3


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_formulas_parse_and_use_defined_atoms(name):
    task = tasks.get(name)
    for spec in (*task.specs.values(), *task.variants.values()):
        for pair in spec.pairs:
            parse(str(pair.formula), atoms=spec.atom_functions)


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_every_environment_documents_itself(name):
    task = tasks.get(name)
    module = __import__(f"rewardspec.lab.tasks.environments.{name}", fromlist=["TASK"])
    assert module.TASK is task
    assert "AAAI-26" in module.__doc__
    points = [point for points in task.notes.values() for point in points]
    assert points
    assert all(point.endswith(".") for point in points)
    for function in task.atoms.values():
        assert function.__doc__

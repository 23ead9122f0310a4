"""Choices and tables of `benchmarks/hard_exploration.py`, and its formulas beside the environments' own criterion."""

import importlib
import json

import numpy as np
import pytest


@pytest.fixture
def script():
    return importlib.import_module("hard_exploration")


def results_of(script, jobs, success):
    """Results of jobs with the same success in all seeds."""
    return [
        {
            "job": job,
            "success": [success(job)] * len(job["seeds"]),
            "training_success": [0.5] * len(job["seeds"]),
            "length": [10.0] * len(job["seeds"]),
            "seconds": 1.0,
            "played": {"success": [[0.0, success(job)]] * len(job["seeds"])},
            "machine": "a machine",
        }
        for job in jobs
    ]


def test_the_settings_with_most_success_are_chosen_among_those_tried_with_all_rewards(script):
    jobs = script.tuning_jobs(100)
    first, second, *_ = script.SETTINGS
    own = script.PROGRESS
    means = {(first, own): 0.4, (second, own): 0.9}
    results = results_of(script, jobs, lambda job: means.get((job["settings"], job["reward"]), 0.1))
    choice = script.chosen(script.tuning(results, 100))
    assert choice[own] == second
    assert choice["the environment's"] == first  # the first of equals
    missing = [
        one for one in results if (one["job"]["settings"], one["job"]["reward"]) != (second, "the environment's")
    ]
    assert script.chosen(script.tuning(missing, 100))[own] == first
    assert script.chosen(script.tuning(results, 200)) == {}  # other steps are another tuning


def test_seeds_in_parts_are_one_result(script, tmp_path):
    (job, *_) = script.jobs_of("main", dict.fromkeys(script.REWARDS, "some"), 100, 5, 0)
    assert job["seeds"] == [0, 1, 2, 3, 4]
    path = tmp_path / "results.jsonl"
    known = results_of(script, [{**job, "seeds": [2, 3]}, {**job, "seeds": [0]}], lambda job: min(job["seeds"]) / 10)
    path.write_text("".join(json.dumps(one) + "\n" for one in known))
    assert [part["seeds"] for part in script.parts(job, known, 1)] == [[1], [4]]
    (whole,) = script.load_all_seeds(path)
    assert whole["job"]["seeds"] == [0, 2, 3]
    assert whole["success"] == [0.0, 0.2, 0.2]
    assert whole["played"]["success"] == [[0.0, 0.0], [0.0, 0.2], [0.0, 0.2]]
    assert whole["seconds"] == 2.0


def test_the_first_run_stays_beside_the_second(script, tmp_path, capsys):
    settings = dict.fromkeys(script.REWARDS, next(iter(script.SETTINGS)))
    old = [{**job, "stage": "first main"} for job in script.jobs_of("main", settings, 100, 5, 0)]
    new = script.jobs_of("main", settings, 100, 5, script.FIRST_SEED)
    path = tmp_path / "results.jsonl"
    rows = results_of(script, old, lambda job: 0.25) + results_of(script, new, lambda job: 0.75)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    script.report(path, 100)
    printed = capsys.readouterr().out
    second, first = printed.split("## Environments")[1:]
    assert "seeds 100 to 104" in second
    assert second.count("0.750 [0.75, 0.75]") == len(new)
    assert first.startswith(", first run")
    assert "seeds 0 to 4" in first
    assert first.count("0.250 [0.25, 0.25]") == len(old)
    overview = printed.split("\n## ")[1]
    assert overview.startswith("Success\n")
    assert overview.count("0.750 [0.75, 0.75]") == len(new)
    assert "0.250" not in overview


@pytest.mark.jaxenvs
@pytest.mark.filterwarnings("ignore")  # the packages' own warnings
@pytest.mark.parametrize("name", ["DoorKey-5x5", "KeyCorridorS3R3"])
def test_an_episode_succeeds_when_its_formula_is_true(script, name, monkeypatch):
    """Random play: what the environment pays for is the formula, and its parts come in their order."""
    jax = pytest.importorskip("jax")
    pytest.importorskip("xminigrid")
    import rewardspec as rs

    monkeypatch.setitem(script.ENVS, "DoorKey-5x5", script.World("MiniGrid-DoorKey-5x5"))
    if name.startswith("KeyCorridor"):
        pytest.importorskip("navix")
        monkeypatch.delitem(script.ENVS, name, raising=False)
    trial = script.trial_of(name, script.PROGRESS)
    envs = trial.make(512)

    def step(carry, key):
        state, _ = carry
        keys = jax.random.split(key)
        state, obs, _, terminated, truncated, info = envs.step(
            keys[0], state, rs.jax.sample_actions(envs.action_space, keys[1], 512)
        )
        (value,) = info["formula_values"].values()
        return (state, obs), (value, info["base_reward"] > 0, terminated, terminated | truncated)

    keys = jax.random.split(jax.random.key(0), 2_000)
    rows = jax.jit(lambda carry: jax.lax.scan(step, carry, keys)[1])(envs.reset(jax.random.key(1)))
    value, paid, terminated, done = map(np.asarray, rows)
    assert paid.sum() > 20
    assert np.array_equal(paid, terminated)
    assert (value[paid] == 1.0).all()
    assert (value[~paid] < 1.0).all()
    assert np.round(np.unique(value) * 3, 5).tolist() == [0, 1, 2, 3]  # no part is skipped, and none is lost
    inside = ~done[:-1]
    assert (np.diff(value, axis=0)[inside] >= 0).all()


@pytest.mark.jaxenvs
@pytest.mark.filterwarnings("ignore")  # the packages' own warnings
def test_one_in_sixteen_worlds_of_blocked_unlock_pick_up_has_no_key():
    jax = pytest.importorskip("jax")
    xminigrid = pytest.importorskip("xminigrid")
    from xminigrid.core.constants import Tiles

    env, params = xminigrid.make("MiniGrid-BlockedUnlockPickUp")
    first = jax.jit(jax.vmap(lambda key: env.reset(params, key).state.grid))(jax.random.split(jax.random.key(0), 8_192))
    share = float((np.asarray(first)[..., 0] == Tiles.KEY).any(axis=(1, 2)).mean())
    assert share == pytest.approx(15 / 16, abs=0.01)

"""Training, playing and summaries of `benchmarks/device_trials.py`."""

import importlib
import json

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.lab.learning.settings import PPO

jax = pytest.importorskip("jax")
jnp = jax.numpy

LENGTH, LIMIT = 6, 14


@pytest.fixture
def trials():
    return importlib.import_module("device_trials")


def coin_env():
    """An environment whose episodes have LENGTH steps, and pay at the end if every action was 1."""

    def seen(state):
        return jnp.stack([state[0] / LENGTH, state[1] * 1.0])

    def reset(key):
        state = (jnp.int32(0), jnp.bool_(True))
        return state, seen(state)

    def step(key, state, action):
        state = (state[0] + 1, state[1] & (action == 1))
        ended = state[0] == LENGTH
        return state, seen(state), 1.0 * (ended & state[1]), ended, jnp.bool_(False), {}

    return rs.jax.FunctionalEnvironment(reset, step, rs.jax.Discrete(2))


def trial(trials):
    spec = rs.Spec([("F done", 1)], {"done": lambda obs, action, next_obs: next_obs[..., 0] >= 1}, payment="final")
    return trials.Trial(
        lambda count: rs.jax.SpecReward(coin_env(), spec, count, limit=LIMIT),
        lambda info: {"success": info["base_reward"] > 0},
        LIMIT,
        hidden=(8,),
    )


def always(runs, probability):
    """Parameters of policies that choose action 1 with so much probability, whatever they see."""
    zeros = {"w0": jnp.zeros((runs, 2, 8)), "b0": jnp.zeros((runs, 8)), "w1": jnp.zeros((runs, 8, 2))}
    logits = jnp.log(jnp.array([1 - probability, probability]))
    return {"actor": {**zeros, "b1": jnp.broadcast_to(logits, (runs, 2))}}


@pytest.mark.parametrize("probability", [0.0, 0.9, 1.0])
def test_players_play_first_episodes_to_their_end(trials, probability):
    from rewardspec.lab.learning.networks import flat_encoder

    one = trial(trials)
    envs = one.make(500)
    play = trials.make_player(one, envs, flat_encoder(envs.observation_struct), [0, 1])
    found = play(always(2, probability), 7)
    assert found["success"].shape == (2, 500)
    assert (found["length"] == LENGTH).all()  # and not that of the next episode too
    assert set(np.unique(found["success"])) <= {0.0, 1.0}
    assert found["success"].mean() == pytest.approx(probability**LENGTH, abs=0.05)
    others = play(always(2, probability), 8)
    assert np.array_equal(others["success"], found["success"]) == (probability in (0.0, 1.0))


def test_policies_are_played_at_ten_points_of_training(trials, capsys):
    config = PPO(total_steps=32 * 8 * 25 + 100, rollout_steps=32, envs=8)
    result = trials.train({"seeds": [3, 4]}, "a name", trial(trials), config, 16).result
    assert result["trained_steps"] == 32 * 8 * 25
    assert len(result["played_steps"]) == 10
    assert result["played_steps"][-1] == result["trained_steps"]
    assert np.diff(result["played_steps"]).min() > 0
    for name in ("success", "length"):
        assert np.array(result["played"][name]).shape == (2, 10)
        assert len(result[name]) == 2
    assert result["length"] == [LENGTH, LENGTH]
    assert capsys.readouterr().out.count("a name: ") == 10


def test_a_job_that_was_interrupted_goes_on(trials, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(trials, "SAVE_EVERY", 0.0)
    config = PPO(total_steps=32 * 8 * 20, rollout_steps=32, envs=8)
    make_player, played = trials.make_player, []

    def interrupted(*arguments):
        player = make_player(*arguments)

        def play(parameters, steps):
            played.append(steps)
            if steps == 32 * 8 * 10:
                raise KeyboardInterrupt
            return player(parameters, steps)

        return play

    def one(job, checkpoint):
        return trials.train(job, "a name", trial(trials), config, 16, checkpoint).result

    def run(*seeds):
        arguments = trials.parser("", 100, 1).parse_args(["--out", str(tmp_path / "out.jsonl")])
        arguments.job = json.dumps({"seeds": seeds})
        return trials.run(arguments, "no script", [], one)

    monkeypatch.setattr(trials, "make_player", interrupted)
    for seeds in ([3], [4]):
        with pytest.raises(KeyboardInterrupt):
            run(*seeds)
    assert len(list(tmp_path.glob("out-*.npz"))) == 2  # a file for each job
    monkeypatch.setattr(trials, "make_player", make_player)
    run(3)
    assert len(list(tmp_path.glob("out-*.npz"))) == 1
    (resumed,) = trials.load_all_seeds(tmp_path / "out.jsonl")
    whole = trials.train({"seeds": [3]}, "a name", trial(trials), config, 16).result
    for name in ("success", "length", "played", "played_steps", "training_success"):
        assert resumed[name] == whole[name]
    lines = capsys.readouterr().out.splitlines()
    assert sum("a name: " in line for line in lines) == 4 + 4 + 6 + 10  # ten evaluations, four of them not again


def test_intervals_are_those_of_the_mean(trials):
    assert trials.interval([0.5] * 6) == (0.5, 0.5)
    values = np.random.default_rng(1).normal(3.0, 2.0, 400)
    low, high = trials.interval(values)
    assert low == pytest.approx(values.mean() - 1.96 * values.std() / 20, abs=0.03)
    assert high == pytest.approx(values.mean() + 1.96 * values.std() / 20, abs=0.03)
    lows, highs = trials.interval(np.stack([values, values + 1], axis=1))
    assert (lows[1] - lows[0], highs[1] - highs[0]) == pytest.approx((1.0, 1.0))
    assert trials.mean_words([0.0, 0.25]) == "0.125"  # too few for an interval
    assert trials.mean_words([1.0] * 5) == "1.000 [1.00, 1.00]"

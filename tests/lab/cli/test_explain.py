"""`rewardspec explain`: recorded and played episodes, by policies of ours and of Stable-Baselines3."""

import importlib

import gymnasium as gym
import numpy as np
import pytest

from rewardspec.cli import main

TRACE = "key,door\n0,1\n1,0\n0,0\n0,1\n"
SPEC = """
observation = ["x", "v", "angle", "spin"]
atoms.up = "1 - clip(abs(angle) / 0.21, 0, 1)"
pairs = [["F G up", 1]]
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.csv").write_text(TRACE)
    (tmp_path / "keys.toml").write_text('pairs = [["F(key & F door)", 2]]\n')
    (tmp_path / "pole.toml").write_text(SPEC)
    (tmp_path / "still.toml").write_text('atoms.one = "next_obs[0] > 0"\npairs = [["F one", 1]]')
    return tmp_path


def run(capsys, *arguments):
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


def test_a_trace_is_explained_under_a_formula_and_a_spec(here, capsys):
    assert run(capsys, "F(key & F door)", "--trace", "trace.csv").splitlines() == [
        "step  reward  F(key & F door)",
        "0     –       0, waiting for key *",
        "1–2   0       0, waiting for door *",
        "3     1       1 ← door@3 *",
    ]
    out = run(capsys, "keys.toml", "--trace", "trace.csv", "--rows", "0", "-o", "rows.csv")
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [["0", "–"], ["1", "0"], ["2", "0"], ["3", "2"]]
    assert (here / "rows.csv").read_text().splitlines()[-1].startswith("3,2.0,2.0,,F(key & F door),door,3,1.0,door,3")


@pytest.mark.parametrize("ends", ["", ",terminated", ",truncated", ",terminated,truncated"])
@pytest.mark.parametrize("last", [0, 1])
def test_the_end_of_a_trace_is_that_of_rewardspec_monitor(here, capsys, ends, last):
    (here / "final.toml").write_text('payment = "final"\npairs = [["F key", 1]]\n')
    rows = ["0", "1", "1"]
    flags = ["," + str(last if k == 2 else 0) for k in range(3)]
    text = "\n".join(row + flag * ends.count(",") for row, flag in zip(rows, flags, strict=True))
    (here / "trace.csv").write_text(f"key{ends}\n{text}\n")
    table = run(capsys, "final.toml", "--trace", "trace.csv", "--rows", "0")
    explained = [line.split()[1] for line in table.splitlines()[-2:]]
    assert main(["monitor", "final.toml", "--trace", "trace.csv"]) == 0
    monitored = [line.split(",")[-1] for line in capsys.readouterr().out.splitlines()[-2:]]
    assert [float(reward) for reward in explained] == [float(reward) for reward in monitored]
    assert float(monitored[-1]) == ("truncated" not in ends or last)


def test_what_a_trace_tells_of_its_end_is_read(here, capsys):
    (here / "shaped.toml").write_text('payment = "final"\npairs = [["F key", 1]]\n')
    (here / "trace.csv").write_text("key,terminated,base_reward\n0,0,0\n1,1,5\n")
    assert run(capsys, "shaped.toml", "--trace", "trace.csv").splitlines()[-1].split()[:2] == ["1", "1"]


def test_a_played_episode_is_explained_and_drawn(here, capsys):
    first = run(capsys, "pole.toml", "--env", "CartPole-v1", "--seed", "3", "-o", "pole.svg")
    assert first.startswith("step")
    assert "<svg" in (here / "pole.svg").read_text()
    assert run(capsys, "pole.toml", "--env", "CartPole-v1", "--seed", "3") == first
    assert len(run(capsys, "pole.toml", "--env", "CartPole-v1", "--max-steps", "4", "--rows", "0").splitlines()) == 6


def test_the_length_of_a_long_episode_is_told(capsys):
    def told(steps, *options):
        given = "--env", "Pendulum-v1", "--env-arg", f"max_episode_steps={steps}", *options
        assert main(["explain", "still.toml", *given]) == 0
        return capsys.readouterr().err

    assert told(2000) == ""
    assert told(2001) == "The episode has 2,001 steps, and --max-steps N would keep only the first N.\n"
    assert told(9000, "--max-steps", "2500") == "The episode has 2,500 steps, as many as --max-steps allows.\n"


def test_policies_play_and_probe(here, capsys):
    pytest.importorskip("stable_baselines3")
    small = ("--set", "n_steps=32", "--set", "batch_size=32", "--set", "n_epochs=1")
    options = ("--learner", "sb3:PPO", "--steps", "64", *small, "-o", "pole.npz")
    assert main(["train", "CartPole-v1", "--spec", "pole.toml", *options]) == 0
    assert "1 run of 64 steps" in capsys.readouterr().out
    assert run(capsys, "pole.toml", "--policy", "pole.npz") == run(
        capsys, "pole.toml", "--policy", "pole.npz", "--env", "CartPole-v1"
    )
    assert main(["probe", "pole.toml", "--policy", "pole.npz", "--episodes", "2"]) == 0
    assert capsys.readouterr().out.startswith("2 episodes")

    import gymnasium as gym
    from stable_baselines3 import PPO

    PPO("MlpPolicy", gym.make("CartPole-v1"), n_steps=64, seed=0, device="cpu").save(here / "model.zip")
    assert main(["explain", "pole.toml", "--policy", "model.zip", "--env", "CartPole-v1"]) == 2
    assert "can run any code" in capsys.readouterr().err
    assert run(capsys, "pole.toml", "--policy", "model.zip", "--env", "CartPole-v1", "--unpickle", "PPO")


def test_a_policy_plays_in_its_own_environment_or_in_the_one_that_is_named(here, capsys):
    (here / "lake.toml").write_text('atoms.goal = "next_obs == 15"\npairs = [["F goal", 1]]\n')
    options = ("--env-arg", "is_slippery=false", "--episodes", "400", "--spec", "lake.toml", "-o", "lake.npz")
    assert main(["train", "FrozenLake-v1", *options]) == 0
    capsys.readouterr()
    played = ["explain", "lake.toml", "--policy", "lake.npz", "--rows", "0"]
    dry = ("--env", "FrozenLake-v1", "--env-arg", "is_slippery=false")
    seen = set()
    for seed in ("1", "2", "3"):
        for more in ((), dry):
            assert main([*played, "--seed", seed, *more]) == 0
            captured = capsys.readouterr()
            assert captured.err == "Playing FrozenLake-v1 (is_slippery=false).\n"
            seen.add(captured.out)
    assert len(seen) == 1  # nothing is left to chance
    # The policy is a table that does not list where slipping leads.
    for slippery in (("--env", "FrozenLake-v1"), ("--env-arg", "is_slippery=true")):
        assert 2 in [main([*played, "--seed", str(seed), *slippery]) for seed in range(5)]
    trained = "The policy was trained in FrozenLake-v1 (is_slippery=false)."
    assert f"Playing FrozenLake-v1 (is_slippery=true). {trained}\n" in capsys.readouterr().err
    assert main([*played, "--env-arg", "success_rate=0.5"]) == 0
    assert capsys.readouterr().err == f"Playing FrozenLake-v1 (is_slippery=false, success_rate=0.5). {trained}\n"


def test_a_picture_in_place_of_a_list_of_them_is_no_film(here, capsys, monkeypatch):
    from gymnasium.envs.registration import EnvSpec

    monkeypatch.setitem(gym.registry, "test/Still-v0", EnvSpec("test/Still-v0", Still))
    run(capsys, "still.toml", "--env", "test/Still-v0", "-o", "still.html")
    assert (here / "still.html").exists()


class Still(gym.Env):
    """An environment that renders one array, whatever the render mode."""

    metadata = {"render_modes": ["rgb_array", "rgb_array_list"]}  # noqa: RUF012
    observation_space = gym.spaces.Box(0, 9, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.ones(1, np.float32), 0.0, True, False, {}

    def render(self):
        return np.ones((4, 4, 3), np.uint8)


@pytest.mark.parametrize("observe", [None, "registers"])
def test_a_model_with_dict_observations_plays(observe, here, capsys, monkeypatch):
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import DQN

    import rewardspec as rs

    (here / "pairs_of_numbers.py").write_text(
        "import gymnasium as gym\n"
        "class Pair(gym.ObservationWrapper):\n"
        "    def __init__(self):\n"
        "        super().__init__(gym.make('CartPole-v1'))\n"
        "        box = self.env.observation_space\n"
        "        self.observation_space = gym.spaces.Dict(\n"
        "            cart=gym.spaces.Box(box.low[:2], box.high[:2]), pole=gym.spaces.Box(box.low[2:], box.high[2:])\n"
        "        )\n"
        "    def observation(self, observation):\n"
        "        return {'cart': observation[:2], 'pole': observation[2:]}\n"
    )
    (here / "dict.toml").write_text('atoms.up = "abs(next_obs.pole[0]) < 0.2"\npairs = [["G up", 1]]\n')
    monkeypatch.syspath_prepend(str(here))
    env = importlib.import_module("pairs_of_numbers").Pair()
    if observe is not None:
        env = rs.wrappers.MonitorReward(env, "dict.toml", observe=observe)
    DQN("MultiInputPolicy", env, buffer_size=100, seed=0, device="cpu").save(here / "dqn.zip")
    played = ("dict.toml", "--policy", "dqn.zip", "--unpickle", "DQN", "--env", "pairs_of_numbers:Pair")
    assert "G up" in run(capsys, *played)


ABOUT_THINGS = """
sorts = { end = ["left", "right"] }
atoms.near = "ends:near"
pairs = [["exists end: F near(end)", 1], ["mean end: F[0,3] near(end)", 1]]
"""
ENDS = """
import numpy as np

def near(obs, action, next_obs):
    return np.clip([0.1 - next_obs[0], 0.1 + next_obs[0]], 0, 1)
"""


@pytest.mark.parametrize("observe", ["registers", "values"])
def test_a_model_plays_that_observed_a_spec_about_things(observe, here, capsys, monkeypatch):
    pytest.importorskip("stable_baselines3")
    import gymnasium as gym
    from stable_baselines3 import PPO

    import rewardspec as rs
    from rewardspec.lab import tasks
    from rewardspec.lab.learning.playing import ModelPlayer

    (here / "ends.py").write_text(ENDS)
    (here / "ends.toml").write_text(ABOUT_THINGS)
    monkeypatch.syspath_prepend(str(here))
    env = rs.wrappers.MonitorReward(gym.make("CartPole-v1"), "ends.toml", observe=observe)
    model = PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu")
    model.save(here / "model.zip")
    played = ("ends.toml", "--policy", "model.zip", "--unpickle", "PPO", "--env", "CartPole-v1", "--observe")
    assert "exists end: F near(end)" in run(capsys, *played, observe)
    assert main(["explain", *played, "nothing"]) == 2
    assert "With --observe nothing" in capsys.readouterr().err

    player = ModelPlayer(model, tasks.get("CartPole-v1", specs={}), rs.Spec.load("ends.toml"), observe)
    obs, info = env.reset(seed=1)
    player.begin(obs[:4], info)
    over = False
    while not over:
        action = int(model.predict(obs, deterministic=True)[0])
        assert int(player(obs[:4])) == action
        after, paid, terminated, truncated, info = env.step(action)
        assert player.saw(obs[:4], action, after[:4], info, 1.0, terminated, truncated) == paid
        obs, over = after, terminated or truncated


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["keys.toml"], "either --trace FILE.csv, or --env ID"),
        (["keys.toml", "--trace", "trace.csv", "--env", "CartPole-v1"], "either --trace FILE.csv, or --env ID"),
        (["keys.toml", "--trace", "trace.csv", "-o", "x.jpeg2"], "x.jpeg2"),
        (["F key", "--env", "CartPole-v1"], "give a spec file"),
        (["keys.toml", "--env", "CartPole-v1"], "no functions for its atoms"),
        (["pole.toml", "--policy", "absent.npz"], "Cannot read the policy 'absent.npz'"),
        (["pole.toml", "--env", "CartPole-v1", "--unpickle", "PPO"], "--unpickle is for a .zip"),
    ],
)
def test_bad_input_is_refused(arguments, message, capsys):
    assert main(["explain", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_played_episode_is_a_page_with_pictures(here, capsys):
    assert main(["explain", "pole.toml", "--env", "CartPole-v1", "--max-steps", "5", "-o", "episode.html"]) == 0
    assert "Wrote episode.html" in capsys.readouterr().err
    page = (here / "episode.html").read_text(encoding="utf-8")
    assert "<title>CartPole-v1, seed 0: " in page
    assert page.count("data:image/png;base64,") == 6

"""The callback for Stable-Baselines3 logs what the wrapper paid, however environments are put together."""

import csv
import json
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize

from rewardspec.sb3 import FormulaLogger
from rewardspec.wrappers import MonitorReward

SPEC = rs.Spec(
    [rs.Pair("F G upright", 1, name="upright"), rs.Pair("G[2,] level", 1, penalty=-1)],
    atoms={
        "upright": lambda obs, action, next_obs: 1 - np.minimum(abs(next_obs[..., 2]) / 0.3, 1),
        "level": lambda obs, action, next_obs: (abs(next_obs[..., 2]) < 0.05) * 1.0,
    },
)
NAMES = ("upright", "G[2:] level")  # commas would break SB3's CSV files


def cartpole():
    return gym.make("CartPole-v1", max_episode_steps=11)


def monitor_outside():
    return Monitor(MonitorReward(cartpole(), SPEC))


def monitor_inside():
    return MonitorReward(Monitor(cartpole()), SPEC)


class Transitions(BaseCallback):
    """Keeps what the steps brought, by environment."""

    def _on_training_start(self):
        self.steps = []

    def _on_step(self):
        kept = zip(self.locals["rewards"], self.locals["dones"], self.locals["infos"], strict=True)
        self.steps.append([(float(reward), bool(done), dict(info)) for reward, done, info in kept])
        return True


def logged(tmp_path, envs, model=None, steps=64):
    """The one line that a training writes, and the transitions that it saw."""
    model = model or PPO("MlpPolicy", envs, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.set_logger(configure(str(tmp_path), ["stdout", "log", "csv", "json"]))
    seen = Transitions()
    model.learn(steps, callback=[FormulaLogger(), seen])
    model.logger.close()
    envs.close()
    lines = [json.loads(line) for line in (tmp_path / "progress.json").read_text().splitlines()]
    return lines[0], seen.steps


def expected(steps):
    """Every mean by its definition, from all transitions of one rollout."""
    flat = [step for row in steps for step in row]
    ended = [info for _, done, info in flat if done]
    returns, base_returns = [], []
    for column in zip(*steps, strict=True):
        total = base = 0.0
        for reward, done, info in column:
            total, base = total + reward, base + info["base_reward"]
            if done:
                returns.append(total)
                base_returns.append(base)
                total = base = 0.0
    found = {
        "reward": [reward for reward, _, _ in flat],
        "base_reward": [info["base_reward"] for _, _, info in flat],
        "cost": [info["cost"] for _, _, info in flat],
        "violated": [info["violated"] for info in ended],
        "return": returns,
        "base_return": base_returns,
    }
    for key, name in zip(NAMES, SPEC.names, strict=True):
        found[f"value/{key}"] = [info["formula_values"][name] for _, _, info in flat]
        found[f"final/{key}"] = [info["formula_values"][name] for info in ended]
    return {f"rewardspec/{key}": np.mean(values) for key, values in found.items()}


def of_the_spec(line):
    return {key: value for key, value in line.items() if key.startswith("rewardspec/")}


@pytest.mark.parametrize("make", [monitor_outside, monitor_inside])
@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_logs_the_means_of_a_rollout_whatever_holds_the_environments(tmp_path, make, kind):
    line, steps = logged(tmp_path, kind([make, make]))
    assert sum(done for row in steps for _, done, _ in row) > 2
    assert of_the_spec(line) == pytest.approx(expected(steps), rel=1e-5)
    assert line["rewardspec/violated"] > 0


def test_takes_environments_as_make_vec_env_gives_them_in_either_way(tmp_path):
    outside = make_vec_env(lambda: MonitorReward(cartpole(), SPEC), n_envs=2, seed=0)
    inside = make_vec_env(cartpole, n_envs=2, seed=0, wrapper_class=MonitorReward, wrapper_kwargs={"spec": SPEC})
    lines = [of_the_spec(logged(tmp_path / str(k), envs)[0]) for k, envs in enumerate((outside, inside))]
    assert lines[0] == lines[1]
    assert set(lines[0]) >= {f"rewardspec/value/{name}" for name in NAMES}


def test_rewards_are_those_before_normalization(tmp_path):
    plain, _ = logged(tmp_path / "plain", DummyVecEnv([monitor_outside]), steps=32)
    normalized = VecNormalize(DummyVecEnv([monitor_outside]), norm_obs=False)
    line, steps = logged(tmp_path / "normalized", normalized, steps=32)
    assert line["rewardspec/reward"] == pytest.approx(plain["rewardspec/reward"])
    assert line["rewardspec/reward"] != pytest.approx(np.mean([reward for row in steps for reward, _, _ in row]))


def test_off_policy_learners_log_all_steps_since_they_last_wrote(tmp_path):
    envs = DummyVecEnv([monitor_outside])
    model = DQN("MlpPolicy", envs, learning_starts=20, buffer_size=500, seed=0, device="cpu")
    line, steps = logged(tmp_path, envs, model, steps=120)  # which writes after four episodes
    ends = [k for k, row in enumerate(steps) if row[0][1]]
    assert of_the_spec(line) == pytest.approx(expected(steps[: ends[3] + 1]), rel=1e-5)


def test_long_formulas_that_begin_alike_are_told_apart_in_every_format(tmp_path):
    formulas = [f"F(upright & F(upright & F(upright & {atom})))" for atom in ("upright", "level", "!level")]
    spec = rs.Spec([(formula, 1) for formula in formulas], atoms=SPEC.atom_functions)
    line, _ = logged(tmp_path, DummyVecEnv([lambda: MonitorReward(cartpole(), spec)]))
    keys = [key for key in line if key.startswith("rewardspec/value/")]
    assert len(keys) == 3
    with (tmp_path / "progress.csv").open(newline="") as file:
        (row, *_) = csv.DictReader(file)
    assert all(float(row[key]) == line[key] for key in keys)
    assert (tmp_path / "log.txt").read_text().count("value/") >= 3


def test_environments_without_a_spec_are_refused():
    model = PPO("MlpPolicy", DummyVecEnv([cartpole]), n_steps=8, batch_size=8, device="cpu")
    with pytest.raises(rs.Error, match=r"Wrap the environments in rewardspec\.wrappers\.MonitorReward"):
        model.learn(8, callback=FormulaLogger())


def test_the_front_loads_it_when_asked_and_names_the_extra_where_it_is_missing():
    assert rs.sb3.FormulaLogger is FormulaLogger
    code = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "import rewardspec as rs\nfrom rewardspec import *\n"
        "try: rs.sb3\nexcept rs.MissingExtraError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "needs stable-baselines3" in printed
    assert "pip install 'rewardspec[sb3]'" in printed


class TestCounterfactualReplayBuffer:
    def made(self, algorithm="DQN", env_id="CartPole-v1", n_envs=1, **kwargs):
        import stable_baselines3 as sb3
        from stable_baselines3.common.vec_env import DummyVecEnv

        atoms = {
            "left": lambda obs, action, next_obs: next_obs[..., 1] < 0.0,
            "right": lambda obs, action, next_obs: next_obs[..., 1] > 0.0,
        }
        spec = rs.Spec([("F(left & F(right & F left))", 1)], atoms=atoms, payment="delta")
        envs = DummyVecEnv(
            [lambda: rs.wrappers.MonitorReward(gym.make(env_id), spec, observe="registers") for _ in range(n_envs)]
        )
        options = {"learning_starts": 20, "buffer_size": 5_000, "seed": 0, "device": "cpu", "batch_size": 16}
        options |= {"policy_kwargs": {"net_arch": [8]}}
        model = getattr(sb3, algorithm)(
            "MlpPolicy",
            envs,
            replay_buffer_class=rs.sb3.CounterfactualReplayBuffer,
            replay_buffer_kwargs={"spec": spec, **kwargs},
            **options,
        )
        return model, spec

    @pytest.mark.parametrize(
        ("algorithm", "env_id"), [("DQN", "CartPole-v1"), ("SAC", "Pendulum-v1"), ("TD3", "Pendulum-v1")]
    )
    def test_it_learns_from_what_happened_and_from_what_would_have(self, algorithm, env_id):
        model, _ = self.made(algorithm, env_id)
        model.learn(60)
        assert model.replay_buffer.size() > 2 * 60
        assert 2 <= len(model.replay_buffer.pool) <= 16

    @pytest.mark.parametrize("n_envs", [1, 3])
    def test_every_row_pays_what_the_spec_pays_from_the_state_that_it_shows(self, n_envs):
        model, spec = self.made(n_envs=n_envs)
        model.learn(90)
        buffer = model.replay_buffer
        atoms = spec.atom_functions
        own = buffer.observations.shape[-1] - len(rs.episodes.features.Features(spec, "registers").names)
        # With labels of 0 and 1 the numbers shown tell the stage: which of the three has been met so far.
        stages = {}
        trace = [("left", 1), ("right", 2), ("left", 3)]
        features = rs.episodes.features.Features(spec, "registers")
        for first in (0.0, 1.0):  # the first state's label is read too
            state = spec.start({"left": first, "right": 0.0})
            stages[features.read(state)] = int(first)
            for name, stage in trace[int(first) :]:
                state, _ = spec.step(state, {n: float(n == name) for n in atoms})
                stages[features.read(state)] = stage
        seen = set()
        for row in range(buffer.size()):
            for env in range(n_envs):
                obs, after = buffer.observations[row, env], buffer.next_observations[row, env]
                stage = stages[tuple(float(number) for number in obs[own:])]
                labels = {name: float(atom(None, None, after[:own])) for name, atom in atoms.items()}
                wanted = {0: "left", 1: "right", 2: "left"}.get(stage)
                met = wanted is not None and labels[wanted] == 1.0
                assert stages[tuple(float(number) for number in after[own:])] == stage + met
                assert buffer.rewards[row, env] == (1.0 if met and stage == 2 else 0.0)
                seen.add((stage, met))
        assert {(0, True), (1, True), (2, True)} <= seen

    def test_other_observations_are_refused(self):
        spec = rs.Spec([("F(a & F b)", 1)])
        space = gym.spaces.Discrete(4)
        with pytest.raises(rs.Error, match="flat Box"):
            rs.sb3.CounterfactualReplayBuffer(10, space, space, spec=spec)

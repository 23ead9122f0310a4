"""The callback for Stable-Baselines3 logs what the wrapper paid, however environments are put together."""

import csv
import functools
import itertools
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
    assert "pip install '.[sb3]'" in printed


class Letters(gym.Env):
    """Random letters: an observation is the labels of `a` and `b` and the number of its step; `info` has `b` too."""

    observation_space = gym.spaces.Box(0.0, 1e6, (3,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, seed):
        self.rng, self.told = np.random.default_rng(seed), []

    @staticmethod
    def of_obs(k, obs, action, next_obs):
        return next_obs[..., k] * 1.0

    @staticmethod
    def of_info(obs, action, next_obs, info):
        return info["b"] * 1.0

    def letter(self):
        return float(self.rng.random() < 0.3), float(self.rng.random() < 0.8)

    def shown(self, terminated=False, truncated=False, first=0.0):
        a, b = self.letter()
        b = max(b, first)
        base = float(self.rng.integers(9))
        self.told.append(({"a": a, "b": b}, base, terminated, truncated))
        return np.array([a, b, len(self.told) - 1], dtype=np.float32), {"b": b}

    def reset(self, *, seed=None, options=None):
        return self.shown(first=1.0)  # which violates nothing

    def step(self, action):
        ends = bool(self.rng.random() < 0.2), bool(self.rng.random() < 0.2)
        obs, info = self.shown(*ends)
        return obs, self.told[-1][1], *ends, info


class Scripted(Letters):
    """Given letters, in an episode that does not end."""

    def __init__(self, letters):
        super().__init__(0)
        self.letters = iter(letters)

    def letter(self):
        return next(self.letters)

    def step(self, action):
        obs, info = self.shown()
        return obs, 0.0, False, False, info


def shown_states(spec, names):
    """The states of one episode by the numbers that are shown of them, as the buffer keeps these."""
    features = rs.episodes.features.Features(spec, "registers")
    letters = [dict(zip(names, letter, strict=True)) for letter in itertools.product((0.0, 1.0), repeat=len(names))]
    frontier, found = [spec.start(letter) for letter in letters], {}
    while frontier:
        fresh = {}
        for state in frontier:
            numbers = tuple(np.array(features.read(state), dtype=np.float32))
            if numbers not in found:
                found[numbers] = fresh[numbers] = state
        frontier = [spec.step(state, letter)[0] for state in fresh.values() for letter in letters]
    return found


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

    @pytest.mark.parametrize("terminates", [True, False])
    @pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
    @pytest.mark.parametrize("own", [None, "final", "potential"])
    @pytest.mark.parametrize("reads_info", [False, True])
    def test_every_row_ends_and_pays_as_an_episode_in_its_own_state_would(self, terminates, payment, own, reads_info):
        """Compared with the spec of one environment, started in the state that the row shows."""
        names = ("a", "b")
        atoms = {name: functools.partial(Letters.of_obs, k) for k, name in enumerate(names)}
        if reads_info:
            atoms["b"] = Letters.of_info
        pairs = [rs.Pair("F a", 2), rs.Pair("G b", 1, penalty=-3), rs.Pair("F(a & F !b)", 1, payment=own)]
        spec = rs.Spec(pairs, atoms=atoms, payment=payment, discount=0.9)
        letters = [Letters(seed) for seed in range(2)]
        envs = DummyVecEnv(
            [
                functools.partial(MonitorReward, env, spec, observe="registers", terminate_on_violation=terminates)
                for env in letters
            ]
        )
        buffer = rs.sb3.CounterfactualReplayBuffer(
            8000, envs.observation_space, envs.action_space, "cpu", 2, spec=spec, terminate_on_violation=terminates
        )
        obs = envs.reset()
        for _ in range(120):
            after, rewards, dones, infos = envs.step(np.zeros(2, dtype=np.int64))
            last = np.array([info.get("terminal_observation", one) for one, info in zip(after, infos, strict=True)])
            buffer.add(obs, last, np.zeros((2, 1)), rewards, dones, infos)
            obs = after
        states = shown_states(spec, names)
        seen = set()
        for row, env in itertools.product(range(buffer.size()), range(2)):
            before, after = buffer.observations[row, env], buffer.next_observations[row, env]
            labels, base, terminated, truncated = letters[env].told[int(after[2])]
            state = states[tuple(before[3:])]
            following, reward = spec.step(state, labels, base, terminated, truncated)
            if terminates and spec.violated(following) and not terminated:
                terminated = True
                _, reward = spec.step(state, labels, base, terminated, truncated)
            found = buffer.rewards[row, env], buffer.dones[row, env], buffer.timeouts[row, env]
            assert found == (np.float32(reward), terminated or truncated, truncated and not terminated)
            assert states[tuple(after[3:])][-3:-1] == following[-3:-1]
            seen.add((letters[env].told[int(after[2])][2], terminated, truncated))
        assert len(seen) == (6 if terminates else 4)  # of each kind, also rows that end where the real episode did not

    def test_an_episode_that_only_its_real_violation_ended_goes_on_in_other_states(self):
        atoms = {name: functools.partial(Letters.of_obs, k) for k, name in enumerate("ab")}
        spec = rs.Spec([("G(a -> WX b)", 1)], atoms=atoms, payment="final")
        env = MonitorReward(Scripted([(1, 1), (0, 0), (0, 0)]), spec, observe="registers", terminate_on_violation=True)
        buffer = rs.sb3.CounterfactualReplayBuffer(
            10, env.observation_space, env.action_space, "cpu", spec=spec, terminate_on_violation=True
        )
        fresh = spec.start({"a": np.zeros(1), "b": np.zeros(1)})
        buffer.pool.add(rs.episodes.counterfactual.rows_of(spec, fresh))  # which owes nothing
        obs, _ = env.reset()
        after, reward, terminated, truncated, info = env.step(0)
        assert (terminated, truncated, info["base_terminated"]) == (True, False, False)
        buffer.add(*(np.array([one]) for one in (obs, after, [0], reward, terminated)), [info])
        assert buffer.dones[: buffer.size(), 0].tolist() == [1.0, 0.0]

    @pytest.mark.parametrize("terminates", [True, False])
    def test_a_wrapper_that_was_made_otherwise_is_refused(self, terminates):
        atoms = {"b": functools.partial(Letters.of_obs, 1)}
        spec = rs.Spec([("G b", 1)], atoms=atoms)
        env = MonitorReward(Letters(0), spec, observe="registers", terminate_on_violation=not terminates)
        buffer = rs.sb3.CounterfactualReplayBuffer(
            10, env.observation_space, env.action_space, "cpu", spec=spec, terminate_on_violation=terminates
        )
        obs, _ = env.reset()
        after, reward, terminated, _, info = env.step(0)
        with pytest.raises(rs.Error, match=f"of the buffer is {terminates}, and of the wrapper it is not"):
            buffer.add(*(np.array([one]) for one in (obs, after, [0], reward, terminated)), [info])

    def test_it_learns_with_atoms_that_read_info(self):
        spec = rs.Spec([("F(a & F b)", 1)], atoms={"a": functools.partial(Letters.of_obs, 0), "b": Letters.of_info})
        model = DQN(
            "MlpPolicy",
            MonitorReward(Letters(0), spec, observe="registers"),
            replay_buffer_class=rs.sb3.CounterfactualReplayBuffer,
            replay_buffer_kwargs={"spec": spec},
            learning_starts=20,
            buffer_size=500,
            policy_kwargs={"net_arch": [8]},
            device="cpu",
        )
        model.learn(60)
        assert model.replay_buffer.size() > 60

    def test_labels_of_a_reset_that_nobody_tells_are_asked_for(self):
        spec = rs.Spec([("F b", 1)], atoms={"b": Letters.of_info})
        env = MonitorReward(Letters(0), spec, observe="registers")
        buffer = rs.sb3.CounterfactualReplayBuffer(10, env.observation_space, env.action_space, "cpu", spec=spec)
        obs, _ = env.reset()
        after, reward, terminated, _, info = env.step(0)
        del info["reset_labels"]
        with pytest.raises(rs.Error, match="no 'reset_labels'"):
            buffer.add(*(np.array([one]) for one in (obs, after, [0], reward, terminated)), [info])

    @pytest.mark.parametrize(
        "space",
        [
            gym.spaces.Discrete(4),
            gym.spaces.Dict(observation=gym.spaces.Box(0, 255, (4,), np.uint8), monitor=gym.spaces.Box(0, 1, (2,))),
            gym.spaces.Box(0, 1, (7, 7)),
            gym.spaces.Box(0, 1, (2,)),  # the spec's numbers alone
        ],
        ids=["Discrete", "Dict", "table", "too short"],
    )
    def test_other_observations_are_refused(self, space):
        spec = rs.Spec([("F(a & F b)", 1)])
        with pytest.raises(rs.Error, match=r"flat Box.*FlattenObservation"):
            rs.sb3.CounterfactualReplayBuffer(10, space, gym.spaces.Discrete(4), spec=spec)

    def test_a_buffer_without_next_observations_is_refused(self):
        shared = {"spec": rs.Spec([("F(a & F b)", 1)]), "handle_timeout_termination": False}
        space = gym.spaces.Box(0, 1, (5,))
        with pytest.raises(rs.Error, match="optimize_memory_usage=False"):
            rs.sb3.CounterfactualReplayBuffer(
                10, space, gym.spaces.Discrete(4), "cpu", optimize_memory_usage=True, **shared
            )

    @pytest.mark.parametrize(("tasks", "given"), [(2, 0), (2, 1), (0, 2)], ids=["one", "a list of one", "two"])
    def test_specs_that_are_not_those_of_the_environment_are_refused(self, tasks, given):
        specs = [rs.Spec([(formula, 1)], atoms={"b": "next_obs[0] > 0"}) for formula in ("F b", "F !b")]
        cart = gym.make("CartPole-v1")
        env = (
            rs.wrappers.MultiTask(cart, specs[:tasks])
            if tasks
            else rs.wrappers.MonitorReward(cart, specs[0], observe="registers")
        )
        buffer = rs.sb3.CounterfactualReplayBuffer(
            10, env.observation_space, env.action_space, "cpu", spec=specs[:given] if given else specs[0]
        )
        obs, _ = env.reset(seed=0, options={"task": 1} if tasks else None)
        after, reward, terminated, _, info = env.step(0)
        with pytest.raises(rs.Error, match="Give `replay_buffer_kwargs`"):
            buffer.add(*(np.array([one]) for one in (obs, after, [0], reward, terminated)), [info])

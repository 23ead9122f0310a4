"""The wrapper around one environment pays exactly what the definition says, and follows Gymnasium's conventions."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence

import rewardspec as rs
from rewardspec.spec import Pair, Spec
from rewardspec.wrappers import MonitorReward
from tests.synthesis.progress_definition import progress_by_definition
from tests.wrappers.specs import OBSERVES, PAYMENTS, PLACES, cartpole, cartpole_spec, lake, lake_spec


class Recorded(gym.Wrapper):
    """Keeps what an atom could see, and the environment's own rewards."""

    def reset(self, **kwargs: Any) -> Any:
        obs, info = super().reset(**kwargs)
        self.transitions = [(copy.copy(obs), None, copy.copy(obs))]
        self.rewards: list[float] = []
        return obs, info

    def step(self, action: Any) -> Any:
        obs, reward, *rest = super().step(action)
        self.transitions.append((self.transitions[-1][2], action, copy.copy(obs)))
        self.rewards.append(float(reward))
        return obs, reward, *rest


def levels_by_definition(spec: Spec, transitions: list[Any]) -> tuple[list[list[float]], list[float], list[bool]]:
    """The formulas' values, the level and the verdict after every prefix."""
    assert spec.atom_functions is not None
    trace = {a: [float(spec.atom_functions[a](*transition)) for transition in transitions] for a in spec.atoms}
    prefixes = [{a: row[: n + 1] for a, row in trace.items()} for n in range(len(transitions))]
    progress = [progress_by_definition(pair.formula, trace) if pair.progress else [] for pair in spec.pairs]
    values = [
        [own[n] if own else rs.evaluate(pair.formula, prefix) for pair, own in zip(spec.pairs, progress, strict=True)]
        for n, prefix in enumerate(prefixes)
    ]
    levels, violated, penalty = [], [], np.inf
    for row in values:
        for value, pair in zip(row, spec.pairs, strict=True):
            # All safety objectives here have the form G, whose value never rises: it is violated once it is 0.
            if pair.vetoes and value == 0.0:
                penalty = min(penalty, spec.penalty if pair.penalty is None else pair.penalty)
        levels.append(penalty if penalty < np.inf else sum(p.weight * v for p, v in zip(spec.pairs, row, strict=True)))
        violated.append(penalty < np.inf)
    return values, levels, violated


@pytest.mark.parametrize("payment", PAYMENTS)
@pytest.mark.parametrize("place", PLACES)
def test_every_reward_is_the_definition_on_the_labels_so_far(place: str, payment: str) -> None:
    make, make_spec = PLACES[place]
    spec = make_spec(payment=payment)
    recorded = Recorded(make())
    env = MonitorReward(recorded, spec)
    env.action_space.seed(0)
    verdicts = set()
    for seed in range(12):
        _, info = env.reset(seed=seed)
        infos, rewards, ended = [info], [], False
        while not ended:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            assert type(reward) is float
            assert type(info["base_reward"]) is float
            assert type(info["violated"]) is bool
            rewards.append(reward)
            infos.append(info)
            ended = terminated or truncated
        values, levels, violated = levels_by_definition(spec, recorded.transitions)
        np.testing.assert_array_equal([list(info["formula_values"].values()) for info in infos], values)
        assert [info["violated"] for info in infos] == violated
        assert [info["base_reward"] for info in infos[1:]] == recorded.rewards
        before, after = levels[:-1], levels[1:]
        expected = {
            "value": after,
            "delta": [b - a for a, b in zip([0.0, *before[1:]], after, strict=True)],
            "potential": [
                r + (0.0 if terminated and t == len(after) - 1 else 0.9 * b) - a
                for t, (r, a, b) in enumerate(zip(recorded.rewards, before, after, strict=True))
            ],
            "final": [0.0] * (len(after) - 1) + after[-1:],
        }[payment]
        np.testing.assert_allclose(rewards, expected, rtol=0, atol=1e-12)
        verdicts.add(violated[-1])
    assert verdicts == {True, False}  # both kinds of episode were seen


UNRELATED = (
    "is different from the unwrapped version",  # the checker is meant for wrappers too
    "A Box observation space minimum value is -infinity",  # CartPole's own bounds
    "A Box observation space maximum value is infinity",
)


@pytest.mark.parametrize("observe", OBSERVES)
@pytest.mark.parametrize("payment", PAYMENTS)
@pytest.mark.parametrize("place", PLACES)
def test_gymnasiums_checker_accepts_every_choice(place: str, payment: str, observe: Any) -> None:
    make, make_spec = PLACES[place]
    with warnings.catch_warnings():
        for message in UNRELATED:
            warnings.filterwarnings("ignore", message=f".*{message}")
        check_env(MonitorReward(make(), make_spec(payment=payment), observe), skip_render_check=True)


def test_observing_nothing_can_be_said_in_words():
    make, make_spec = next(iter(PLACES.values()))
    named, left_out = MonitorReward(make(), make_spec(), observe="nothing"), MonitorReward(make(), make_spec())
    assert named.observation_space == left_out.observation_space


@pytest.mark.parametrize("observe", OBSERVES)
def test_gym_make_rebuilds_the_wrapped_environment(observe: Any) -> None:
    env = MonitorReward(cartpole(), cartpole_spec(), observe)
    again = gym.make(gym.wrappers.TimeAwareObservation(env).spec)
    again = again.env
    assert isinstance(again, MonitorReward)
    assert again.observation_space == env.observation_space
    assert again.reward_spec.pairs == env.reward_spec.pairs
    env.reset(seed=3)
    again.reset(seed=3)
    for action in (0, 1, 1, 0):
        np.testing.assert_equal(env.step(action), again.step(action))


def test_a_spec_from_a_file_survives_json(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(
        'observation = ["x", "v", "angle", "spin"]\n'
        '[atoms]\nupright = "1 - min(abs(angle) / 0.25, 1)"\n'
        '[[pairs]]\nformula = "G upright"\nweight = 2\n'
    )
    env = MonitorReward(cartpole(), str(path), observe="values")
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    env.reset(seed=3)
    again.reset(seed=3)
    for action in (0, 1, 1, 0):
        np.testing.assert_equal(env.step(action), again.step(action))


def test_seeds_and_options_are_passed_on() -> None:
    class Spy(gym.Wrapper):
        def reset(self, **kwargs: Any) -> Any:
            self.seen = kwargs
            return super().reset(**kwargs)

    spy = Spy(cartpole())
    MonitorReward(spy, cartpole_spec()).reset(seed=5, options={"low": -0.01, "high": 0.01})
    assert spy.seen == {"seed": 5, "options": {"low": -0.01, "high": 0.01}}


def test_stepping_before_reset_is_gymnasiums_own_error() -> None:
    with pytest.raises(gym.error.ResetNeeded, match=r"Cannot call env.step\(\) before calling env.reset\(\)"):
        MonitorReward(cartpole(), cartpole_spec()).step(0)
    lake_without_checks = MonitorReward(lake().unwrapped, lake_spec())
    with pytest.raises((gym.error.ResetNeeded, AttributeError)):
        lake_without_checks.step(0)


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1, "x", None])
def test_after_a_bad_label_the_environment_can_be_reset_and_used(bad: Any) -> None:
    calls = []

    def flaky(obs: Any, action: Any, next_obs: Any) -> Any:
        calls.append(action)
        return bad if broken else 0.5

    broken = False
    env = MonitorReward(cartpole(), Spec([("F flaky", 1)], atoms={"flaky": flaky}))
    env.reset(seed=0)
    env.step(0)
    broken = True
    with pytest.raises(rs.LabelError, match=r"flaky.* at step 2"):
        env.step(1)
    with pytest.raises(gym.error.ResetNeeded, match="no episode"):
        env.step(1)  # the spec has missed a letter
    with pytest.raises(rs.LabelError, match=r"flaky.* at step 0"):
        env.reset()
    broken = False
    env.reset()
    assert env.step(1)[1] == 0.5


def test_an_atom_that_raises_is_named() -> None:
    def late(obs: Any, action: Any, next_obs: Any) -> float:
        return 1.0 if action is None else {}[action]

    env = MonitorReward(cartpole(), Spec([("F late", 1)], atoms={"late": late}))
    env.reset(seed=0)
    with pytest.raises(rs.LabelError, match=r"'late' raised KeyError at step 1"):
        env.step(0)


def test_labels_are_clipped_where_the_spec_says_so() -> None:
    atoms = {"high": lambda *_: 1.5, "low": lambda *_: -2}
    env = MonitorReward(cartpole(), Spec([("G high", 1), ("F low", 2)], atoms=atoms, clip=True))
    env.reset(seed=0)
    assert env.step(0)[1] == 1.0
    nan = MonitorReward(cartpole(), Spec([("F bad", 1)], atoms={"bad": lambda o, a, n: np.nan if a else 0}, clip=True))
    nan.reset(seed=0)
    with pytest.raises(rs.LabelError, match="nan"):
        nan.step(1)


def test_an_observation_buffer_that_is_reused_does_not_hide_the_previous_observation() -> None:
    class Reusing(gym.Env):
        observation_space = gym.spaces.Box(0, 9, (1,))
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            self.buffer = np.zeros(1, dtype=np.float32)
            return self.buffer, {}

        def step(self, action: int) -> Any:
            self.buffer[0] += 1
            return self.buffer, 0.0, False, False, {}

    atoms = {"moved": lambda obs, action, next_obs: float(next_obs[0] - obs[0])}
    env = MonitorReward(Reusing(), Spec([("F G moved", 1)], atoms=atoms))
    env.reset()
    assert [env.step(0)[1] for _ in range(4)] == [1.0] * 4


def test_a_spec_that_reads_nothing_pays_nothing() -> None:
    env = MonitorReward(cartpole(), Spec([]))
    _, info = env.reset(seed=0)
    _, reward, _, _, info = env.step(0)
    assert (reward, info["base_reward"], info["formula_values"], info["violated"]) == (0.0, 1.0, {}, False)


def test_what_cannot_be_wrapped_is_refused() -> None:
    with pytest.raises(rs.SpecError, match=r"no functions for its atoms goal"):
        MonitorReward(cartpole(), Spec([("F goal", 1)]))
    with pytest.raises(rs.SpecError, match=r"`spec` should be a rewardspec.Spec or a file. Received a list"):
        MonitorReward(cartpole(), ["F goal"])  # type: ignore[arg-type]
    with pytest.raises(rs.SpecError, match=r"Received 'register'. Did you mean 'registers'\?"):
        MonitorReward(cartpole(), cartpole_spec(), "register")  # type: ignore[arg-type]


def test_stable_baselines_takes_the_wrapper() -> None:
    make_vec_env = pytest.importorskip("stable_baselines3.common.env_util").make_vec_env
    spec = cartpole_spec()
    envs = make_vec_env(
        "CartPole-v1", n_envs=2, seed=0, wrapper_class=lambda env: MonitorReward(env, spec, "registers")
    )
    envs.reset()
    observations, _, _, infos = envs.step(np.array([0, 1]))
    assert observations.shape == (2, *envs.observation_space.shape)
    assert [info["base_reward"] for info in infos] == [1.0, 1.0]
    envs.close()


PICKLED = Spec(
    [
        Pair("F(left & X X(slow & F[0,5] right))", 2, progress=True),  # control states, a window, progress
        Pair("G[2,] slow", 1, penalty=-1),
        Pair("F G slow", 1, payment="value"),
    ],
    atoms={"left": "next_obs[0] < 0", "right": "next_obs[0] > 0", "slow": "1 - clip(abs(next_obs[1]), 0, 1)"},
    payment="delta",
)


@pytest.mark.parametrize("observe", OBSERVES)
def test_a_wrapped_environment_can_be_pickled_in_the_middle_of_an_episode(observe: Any) -> None:
    env = MonitorReward(cartpole(), PICKLED, observe=observe, record=True)
    env.reset(seed=0)
    for action in (0, 1, 1):
        env.step(action)
    other = pickle.loads(pickle.dumps(env))
    assert other.observation_space == env.observation_space
    for action in (0, 1, 0, 0):
        assert data_equivalence(env.step(action), other.step(action))
    assert str(env.explain()) == str(other.explain())
    assert data_equivalence(env.reset(seed=1), other.reset(seed=1))


def test_a_time_limit_outside_is_noticed_where_only_the_end_pays() -> None:
    def play(payment: Any, episodes: int) -> None:
        spec = Spec([("F G slow", 1)], atoms={"slow": "1 - clip(abs(next_obs[1]), 0, 1)"}, payment=payment)
        env = gym.wrappers.TimeLimit(MonitorReward(gym.make("Pendulum-v1"), spec), 3)
        for _ in range(episodes):
            env.reset(seed=0)
            while not env.step(env.action_space.sample())[3]:
                pass

    play("value", 8)
    play("final", 5)
    with pytest.warns(UserWarning, match=r"A time limit has to be inside: MonitorReward\(TimeLimit"):
        play("final", 6)


@pytest.mark.parametrize("payment", PAYMENTS)
@pytest.mark.parametrize("observe", OBSERVES)
def test_explains_a_recorded_episode_as_it_was_paid(payment: Any, observe: Any) -> None:
    env = MonitorReward(lake(), lake_spec(payment=payment), observe=observe, record=True)
    same = MonitorReward(lake(), lake_spec(payment=payment), observe=observe)
    env.action_space.seed(3)
    for seed in range(4):  # a new episode forgets the one before
        assert str(env.reset(seed=seed)) == str(same.reset(seed=seed))
        rewards, values, ended = [], [], False
        while not ended:
            action = env.action_space.sample()
            step, again = env.step(action), same.step(action)
            assert str(step) == str(again)
            rewards.append(step[1])
            values.append(tuple(step[4]["formula_values"].values()))
            ended = step[2] or step[3]
        explanation = env.explain()
        assert [row.reward for row in explanation[1:]] == rewards
        assert [row.values for row in explanation[1:]] == values


def test_explains_atoms_written_for_one_observation_and_what_is_no_function_of_it() -> None:
    numbers = iter(np.linspace(0.0, 1.0, 100))
    spec = Spec(
        [("F tall", 1), ("F G number", 1)],
        atoms={
            "tall": lambda obs, action, next_obs: 1.0 if next_obs[2] > 0 else 0.0,  # fails on a batch
            "number": lambda obs, action, next_obs: next(numbers),
        },
    )
    env = MonitorReward(gym.make("CartPole-v1"), spec, record=True)
    env.reset(seed=0)
    rewards = [env.step(1)[1] for _ in range(5)]
    assert [row.reward for row in env.explain()[1:]] == rewards


def test_a_recorded_episode_survives_copying() -> None:
    env = MonitorReward(cartpole(), cartpole_spec(), record=True)
    env.reset(seed=0)
    env.step(1)
    twin = copy.deepcopy(env)
    twin.step(0)
    assert (len(env.explain()), len(twin.explain())) == (2, 3)


def test_says_why_there_is_nothing_to_explain() -> None:
    env = MonitorReward(cartpole(), cartpole_spec())
    env.reset(seed=0)
    with pytest.raises(rs.Error, match="record=True"):
        env.explain()
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        MonitorReward(cartpole(), cartpole_spec(), record=True).explain()


def test_names_the_wrapper_for_vector_environments() -> None:
    vector = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    with pytest.raises(rs.Error, match=r"rewardspec\.wrappers\.vector\.MonitorReward"):
        MonitorReward(vector, cartpole_spec())
    with pytest.raises(rs.Error, match=r"rewardspec\.wrappers\.MonitorReward"):
        rs.wrappers.vector.MonitorReward(gym.make("CartPole-v1"), cartpole_spec())


def test_refuses_an_environment_that_resets_itself_within_a_step() -> None:
    inner = gym.wrappers.TimeAwareObservation(gym.wrappers.Autoreset(cartpole()))
    with pytest.raises(rs.SpecError, match=r"Autoreset\. Put that outside: Autoreset\(MonitorReward\(env, spec\)\)"):
        MonitorReward(inner, cartpole_spec())


def test_autoreset_outside_restarts_the_spec() -> None:
    spec = Spec([("G inside", 1)], atoms={"inside": lambda obs, action, next_obs: float(abs(next_obs[2]) < 0.15)})
    env = gym.wrappers.Autoreset(MonitorReward(cartpole(), spec, record=True))
    _, info = env.reset(seed=0)
    violated = [info["violated"]]
    for _ in range(25):
        _, _, terminated, truncated, info = env.step(1)
        violated.append(info["violated"])
        if terminated or truncated:
            break
    assert violated[0] is False
    assert violated[-1] is True
    _, reward, _, _, info = env.step(1)  # resets
    assert (reward, info["violated"]) == (0.0, False)
    assert env.step(1)[1] == 1.0


class OfTwoObjectives(gym.Env):
    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return 0, {}

    def step(self, action: int) -> Any:
        return 1, np.array([1.0, -0.5]), False, False, {}


def test_a_reward_of_several_numbers_is_named() -> None:
    spec = Spec([("F there", 1)], atoms={"there": lambda obs, action, next_obs: next_obs})
    env = MonitorReward(OfTwoObjectives(), spec)
    env.reset()
    with pytest.raises(
        rs.Error, match=r"reward of OfTwoObjectives .* Received array\(\[ 1. , -0.5\]\).*TransformReward"
    ):
        env.step(0)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    mended = MonitorReward(gym.wrappers.TransformReward(OfTwoObjectives(), lambda reward: float(reward[0])), spec)
    mended.reset()
    assert mended.step(0)[1] == 1.0


@pytest.mark.parametrize("text", ["G up", "up", "F(a & F b)"])
def test_a_formula_is_no_path_and_the_error_says_what_to_write(text: str) -> None:
    with pytest.raises(rs.SpecError, match=r"no file\. To pay for a formula, pass Spec\(\[\(") as caught:
        MonitorReward(cartpole(), text)
    assert f"Spec([({text!r}, 1)], atoms=" in str(caught.value)


def test_a_missing_file_is_called_one() -> None:
    with pytest.raises(rs.SpecError, match=r"Cannot read the spec 'missing\.toml'"):
        MonitorReward(cartpole(), "missing.toml")


def pushes(obs: Any, action: Any, next_obs: Any) -> Any:
    return np.zeros(np.shape(next_obs)[:-1]) if action is None else np.equal(action, 1) * 1.0


def test_a_reset_that_vetoes_the_episode_warns_once() -> None:
    env = MonitorReward(cartpole(), Spec([("F G true", 2), Pair("G pushes", 1, penalty=-3)], atoms={"pushes": pushes}))
    message = r"`G pushes` is violated by the state after reset, where pushes is 0, .* penalty, -3, .*`WX G pushes`"
    with pytest.warns(UserWarning, match=message) as caught:
        _, info = env.reset(seed=0)
    assert info["violated"]
    assert [Path(warning.filename).name for warning in caught] == ["test_monitor_reward.py"]
    env.reset(seed=1)  # pytest makes every further warning an error


def test_the_warning_names_the_pair_that_is_violated() -> None:
    atoms = {"a": lambda obs, action, next_obs: 1.0, "b": lambda obs, action, next_obs: 0.0}
    pairs = [("G a", 1), ("X G b", 1), Pair("a & b", 1, name="both")]
    env = MonitorReward(cartpole(), Spec(pairs, atoms=atoms))
    with pytest.warns(UserWarning, match=r"`a & b` \(both\) is violated .* where a is 1, b is 0, .*veto=False"):
        env.reset(seed=0)


@pytest.mark.parametrize("pair", [("X G pushes", 1), ("WX G pushes", 1), ("G pushes", 1, False), ("G !pushes", 1)])
def test_what_the_warning_suggests_helps(pair: Any) -> None:
    env = MonitorReward(cartpole(), Spec([pair], atoms={"pushes": pushes}))
    assert env.reset(seed=0)[1]["violated"] is False
    env.step(0 if pair[0].startswith("G !") else 1)
    assert env.step(0 if pair[0].startswith("G !") else 1)[4]["violated"] is False

"""The vector wrapper gives, environment by environment, exactly what the single wrapper gives."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space

import rewardspec as rs
from rewardspec.spec import Spec
from rewardspec.wrappers import MonitorReward as Single
from rewardspec.wrappers.vector import MonitorReward
from tests.wrappers.specs import OBSERVES, PAYMENTS, PLACES, cartpole, cartpole_spec, lake, lake_spec
from tests.wrappers.test_monitor_reward import PICKLED
from tests.wrappers.test_observations import SPACES, Sampled

COUNT = 5
MODES = list(AutoresetMode)


def rollout(envs: Any, steps: int, seed: int = 0) -> Iterator[tuple[Any, ...]]:
    """All that a vector environment returns; what has ended is reset where the environment does not do it."""
    disabled = envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    envs.action_space.seed(seed)
    yield envs.reset(seed=seed)
    for _ in range(steps):
        result = envs.step(envs.action_space.sample())
        yield result
        ended = result[2] | result[3]
        if disabled and ended.any():
            yield envs.reset(options={"reset_mask": ended})


@pytest.mark.parametrize("observe", OBSERVES)
@pytest.mark.parametrize("payment", PAYMENTS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", PLACES)
def test_one_wrapper_around_all_is_one_around_each(place: str, mode: AutoresetMode, payment: str, observe: Any) -> None:
    make, make_spec = PLACES[place]
    spec = make_spec(payment=payment)
    around_each = SyncVectorEnv([lambda: Single(make(), spec, observe)] * COUNT, autoreset_mode=mode)
    around_all = MonitorReward(SyncVectorEnv([make] * COUNT, autoreset_mode=mode), spec, observe)
    assert around_all.single_observation_space == around_each.single_observation_space
    assert around_all.observation_space == around_each.observation_space
    episodes = 0
    for expected, found in zip(rollout(around_each, 80), rollout(around_all, 80), strict=True):
        assert len(expected) == len(found)
        assert all(data_equivalence(e, f, exact=True) for e, f in zip(expected, found, strict=True))
        assert around_all.observation_space.contains(found[0])
        if len(found) == 5:
            assert found[1].dtype == np.float64
            episodes += int((found[2] | found[3]).sum())
    assert episodes > 2 * COUNT


@pytest.mark.parametrize("mode", MODES)
def test_each_episode_is_that_of_the_single_wrapper(mode: AutoresetMode) -> None:
    """Without Gymnasium's vector environment on the other side: actions and seeds are replayed one by one."""
    spec = cartpole_spec(payment="delta")
    envs = MonitorReward(SyncVectorEnv([cartpole] * COUNT, autoreset_mode=mode), spec)
    singles = [Single(cartpole(), spec) for _ in range(COUNT)]
    envs.reset(seed=7)
    for k, single in enumerate(singles):
        single.reset(seed=7 + k)
    ended = np.zeros(COUNT, dtype=bool)
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.integers(2, size=COUNT)
        _, rewards, terminations, truncations, _ = envs.step(actions)
        for k, single in enumerate(singles):
            if mode is AutoresetMode.NEXT_STEP and ended[k]:
                single.reset()
                assert rewards[k] == 0.0
            else:
                assert single.step(int(actions[k]))[1] == rewards[k]
                if (terminations[k] or truncations[k]) and mode is not AutoresetMode.NEXT_STEP:
                    single.reset()
        ended = terminations | truncations
        if mode is AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("mode", MODES)
def test_batches_of_any_observation_are_cut_and_joined(kind: str, mode: AutoresetMode) -> None:
    def make() -> gym.Env[Any, Any]:
        return gym.wrappers.TimeLimit(Sampled(SPACES[kind]), 3)

    spec = Spec([("F G a", 1), ("F a", 2)], atoms={"a": lambda o, action, n: 0.25 if action is None else action * 0.5})
    around_each = SyncVectorEnv([lambda: Single(make(), spec, "values")] * 3, autoreset_mode=mode)
    around_all = MonitorReward(SyncVectorEnv([make] * 3, autoreset_mode=mode), spec, "values")
    assert around_all.observation_space == around_each.observation_space
    for envs in (around_each, around_all):
        # Episodes that end at different times.
        envs.unwrapped.envs[1].set_wrapper_attr("_max_episode_steps", 2)
    for expected, found in zip(rollout(around_each, 12), rollout(around_all, 12), strict=True):
        assert all(data_equivalence(e, f, exact=True) for e, f in zip(expected, found, strict=True))


def test_environments_in_other_processes_are_wrapped_alike() -> None:
    spec = lake_spec()
    here, there = (
        MonitorReward(kind([lake] * 2, autoreset_mode=AutoresetMode.SAME_STEP), spec, "registers")
        # Spawned, not forked: another test may have left threads of JAX in this process, which a fork could not bear.
        for kind in (SyncVectorEnv, functools.partial(AsyncVectorEnv, context="spawn"))
    )
    assert isinstance(there.single_observation_space, spaces.Discrete)
    for expected, found in zip(rollout(here, 20), rollout(there, 20), strict=True):
        assert all(data_equivalence(e, f, exact=True) for e, f in zip(expected, found, strict=True))
    there.close()


def test_environments_written_for_vectors_are_wrapped() -> None:
    envs = MonitorReward(
        gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point"), cartpole_spec(), "registers"
    )
    assert envs.observation_space == batch_space(envs.single_observation_space, 3)
    resets = 0
    for result in rollout(envs, 100):
        assert envs.observation_space.contains(result[0])
        if len(result) == 5:
            paid = result[4].get("_base_reward", np.zeros(3, dtype=bool))
            assert (result[1][~paid] == 0.0).all()
            resets += int((~paid).sum())
    assert resets > 3


def test_observations_that_are_overwritten_do_not_hide_the_previous_ones() -> None:
    spec = cartpole_spec()
    copying, reusing = (MonitorReward(SyncVectorEnv([cartpole] * 3, copy=copy), spec) for copy in (True, False))
    for expected, found in zip(rollout(copying, 40), rollout(reusing, 40), strict=True):
        assert all(data_equivalence(e, f, exact=True) for e, f in zip(expected[1:], found[1:], strict=True))


def test_a_learner_may_write_into_what_it_gets() -> None:
    spec = cartpole_spec(payment="delta")
    untouched, scribbled = (MonitorReward(SyncVectorEnv([cartpole] * 3), spec) for _ in range(2))
    for expected, found in zip(rollout(untouched, 40), rollout(scribbled, 40), strict=True):
        assert all(data_equivalence(e, f, exact=True) for e, f in zip(expected, found, strict=True))
        for part in (found[0], *found[1:-1], *found[-1].values()):
            if isinstance(part, np.ndarray) and part.dtype != object:
                part[...] = 1


def test_no_reset_leaves_the_callers_options_alone() -> None:
    envs = MonitorReward(SyncVectorEnv([cartpole] * 2, autoreset_mode=AutoresetMode.DISABLED), cartpole_spec())
    envs.reset(seed=[4, 5])
    options = {"reset_mask": np.array([True, False])}
    _, infos = envs.reset(options=options)
    assert list(options) == ["reset_mask"]
    np.testing.assert_array_equal(infos["_formula_values"], [True, False])


def test_gymnasiums_statistics_work_on_top() -> None:
    envs = gym.wrappers.vector.RecordEpisodeStatistics(MonitorReward(SyncVectorEnv([cartpole] * 2), cartpole_spec()))
    returns = np.zeros(2)
    envs.reset(seed=0)
    for _ in range(60):
        _, rewards, _, _, infos = envs.step(np.array([0, 1]))
        returns += rewards
        for k in np.flatnonzero(infos.get("_episode", np.zeros(2))):
            assert infos["episode"]["r"][k] == pytest.approx(returns[k])
            returns[k] = 0.0


@pytest.mark.parametrize("mode", MODES)
def test_a_spec_that_reads_nothing_pays_nothing(mode: AutoresetMode) -> None:
    envs = MonitorReward(SyncVectorEnv([cartpole] * 2, autoreset_mode=mode), Spec([]))
    for result in rollout(envs, 40):
        assert len(result) == 2 or not result[1].any()


@pytest.mark.parametrize("mode", MODES)
def test_a_bad_label_names_the_environment_and_its_step(mode: AutoresetMode) -> None:
    def late(obs: Any, action: Any, next_obs: Any) -> Any:
        return np.where(np.abs(next_obs[..., 2]) > 0.2, 1.5, 0.5) if broken else 0.5

    broken = True
    make = lambda: gym.make("CartPole-v1")  # noqa: E731
    envs = MonitorReward(SyncVectorEnv([make] * 3, autoreset_mode=mode), Spec([("F late", 1)], atoms={"late": late}))
    envs.reset(seed=0)
    for step in range(1, 100):
        try:
            observations, *_ = envs.step(np.array([step % 2, 0, step % 2]))
        except rs.LabelError as error:
            assert f"'late' at step {step} in environment 1" in str(error)  # noqa: PT017 (which step is not known)
            break
        assert (np.abs(observations[:, 2]) <= 0.2).all()
    else:
        pytest.fail("no label was bad")
    if mode is not AutoresetMode.DISABLED:  # there Gymnasium's own assertion comes first
        with pytest.raises(gym.error.ResetNeeded):
            envs.step(np.array([0, 0, 0]))
    broken = False
    envs.reset()
    assert (envs.step(np.array([0, 0, 0]))[1] == 0.5).all()


def test_a_bad_label_in_a_part_of_the_batch_names_the_environment() -> None:
    def first(obs: Any, action: Any, next_obs: Any) -> Any:
        return -0.1 if action is None and broken else 0.5

    broken = False
    envs = MonitorReward(SyncVectorEnv([cartpole] * 3), Spec([('F "first"', 1)], atoms={"first": first}))
    envs.reset(seed=0)
    ended = np.zeros(3, dtype=bool)
    while not ended[2] or ended[:2].any():
        _, _, terminations, truncations, _ = envs.step(np.array([0, 1, 0]))
        ended = terminations | truncations
    broken = True
    with pytest.raises(rs.LabelError, match=r"'first' at step 0 in environment 2 .*-0\.1"):
        envs.step(np.array([0, 1, 0]))


def test_stepping_before_reset_is_an_error() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        MonitorReward(SyncVectorEnv([cartpole] * 2), cartpole_spec()).step(np.array([0, 0]))


@pytest.mark.parametrize("mode", [None, "NextStep"])
def test_an_unknown_autoreset_mode_is_refused(mode: Any) -> None:
    envs = SyncVectorEnv([cartpole] * 2)
    envs.metadata = {} if mode is None else {"autoreset_mode": mode}
    with pytest.raises(rs.SpecError, match=r"`metadata\['autoreset_mode'\]` should be"):
        MonitorReward(envs, cartpole_spec())


def test_a_missing_final_observation_is_an_error() -> None:
    class Forgetful(gym.vector.VectorWrapper):
        def step(self, actions: Any) -> Any:
            *result, infos = super().step(actions)
            infos.pop("final_obs", None)
            return *result, infos

    envs = MonitorReward(
        Forgetful(SyncVectorEnv([cartpole] * 2, autoreset_mode=AutoresetMode.SAME_STEP)), cartpole_spec()
    )
    with pytest.raises(rs.Error, match="no 'final_obs'"):
        list(rollout(envs, 40))


def test_an_atom_is_shown_only_what_happened() -> None:
    seen: list[tuple[bool, int]] = []

    def pushed(obs: Any, action: Any, next_obs: Any) -> Any:
        first = action is None
        seen.append((first, len(next_obs)))
        assert (obs == next_obs).all() if first else (obs != next_obs).any(axis=1).all()
        return np.full(len(next_obs), 0.25) if first else action * 0.5

    def upright(obs: Any, action: Any, next_obs: Any) -> Any:
        calls.append(len(next_obs))
        return np.abs(next_obs[..., 2]) < 0.15

    calls: list[int] = []
    spec = Spec([("F pushed", 1), ("G upright", 1)], atoms={"pushed": pushed, "upright": upright})
    envs = MonitorReward(SyncVectorEnv([cartpole] * COUNT), spec)
    beginning = sum(len(result) == 5 and (result[1] == 0.0).any() for result in rollout(envs, 80))
    assert beginning > COUNT
    assert {size for first, size in seen if first} >= {1, COUNT}
    # What looks at the state alone is called once for all in every step, whether or not an episode begins in it.
    assert calls.count(COUNT) == 81
    assert len(seen) > 81


def test_a_copy_of_the_wrapper_goes_its_own_way() -> None:
    envs = MonitorReward(SyncVectorEnv([cartpole] * 2), cartpole_spec())
    envs.reset(seed=0)
    other = copy.deepcopy(envs)
    first, second = (e.step(np.array([0, 1]))[1] for e in (envs, other))
    np.testing.assert_array_equal(first, second)


def pushes(obs: Any, action: Any, next_obs: Any) -> Any:
    return np.zeros(np.shape(next_obs)[:-1]) if action is None else np.equal(action, 1) * 1.0


def test_a_reset_that_vetoes_every_environment_warns_once() -> None:
    envs = MonitorReward(SyncVectorEnv([cartpole] * 2), Spec([("G pushes", 1)], atoms={"pushes": pushes}, penalty=-3))
    message = r"`G pushes` is violated by the state after reset, where pushes is 0, .* penalty, -3, .*`WX G pushes`"
    with pytest.warns(UserWarning, match=message) as caught:
        _, infos = envs.reset(seed=0)
    assert infos["violated"].tolist() == [True, True]
    assert caught[0].filename == __file__
    envs.reset(seed=1)  # pytest makes every further warning an error


def test_some_unlucky_first_states_are_no_reason_to_warn() -> None:
    spec = Spec([("G far", 1)], atoms={"far": lambda obs, action, next_obs: (next_obs[..., 0] > 0) * 1.0})
    envs = MonitorReward(SyncVectorEnv([cartpole] * 8), spec)
    violated = envs.reset(seed=0)[1]["violated"]
    assert violated.any()
    assert not violated.all()


def test_rewards_of_several_numbers_are_named() -> None:
    class OfTwoObjectives(gym.vector.VectorWrapper):
        def step(self, actions: Any) -> Any:
            observations, rewards, *rest = super().step(actions)
            return observations, np.stack([rewards, rewards], axis=1), *rest

    envs = MonitorReward(OfTwoObjectives(SyncVectorEnv([cartpole] * 3)), cartpole_spec())
    envs.reset(seed=0)
    with pytest.raises(rs.Error, match=r"should have shape \(3,\).*Received shape \(3, 2\).*TransformReward"):
        envs.step(np.array([0, 1, 0]))


def test_atoms_in_jax_are_read_as_numpy_and_checked() -> None:
    jnp = pytest.importorskip("jax.numpy")
    spec = Spec([("G high", 1)], atoms={"high": lambda obs, action, next_obs: jnp.asarray(next_obs[..., 0]) * 0 + 0.5})
    envs = MonitorReward(SyncVectorEnv([cartpole] * 2), spec)
    envs.reset(seed=0)
    rewards = envs.step(np.array([0, 1]))[1]
    assert type(rewards) is np.ndarray
    assert rewards.tolist() == [0.5, 0.5]
    with pytest.raises(rs.LabelError, match=r"should be in \[0, 1\]"):
        MonitorReward(
            SyncVectorEnv([cartpole] * 2),
            Spec([("G high", 1)], atoms={"high": lambda obs, action, next_obs: jnp.asarray(next_obs[..., 0]) + 2.0}),
        ).reset(seed=0)


@pytest.mark.parametrize("payment", PAYMENTS)
@pytest.mark.parametrize("mode", MODES)
def test_explains_the_episodes_of_chosen_environments_as_they_were_paid(mode: AutoresetMode, payment: Any) -> None:
    spec = cartpole_spec(payment=payment)
    envs = MonitorReward(SyncVectorEnv([cartpole] * COUNT, autoreset_mode=mode), spec, record=[0, 3])
    disabled, same_step = mode is AutoresetMode.DISABLED, mode is AutoresetMode.SAME_STEP
    envs.action_space.seed(0)
    envs.reset(seed=0)
    paid: dict[int, list[float]] = {0: [], 3: []}
    over, explained = np.zeros(COUNT, dtype=bool), 0
    for _ in range(80):
        if disabled and over.any():
            envs.reset(options={"reset_mask": over})
        _, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
        for k, column in paid.items():
            if over[k]:
                column.clear()
            if not over[k] or disabled or same_step:  # the others began an episode instead
                column.append(rewards[k])
            explanation = envs.explain(k)
            if column:
                assert [row.reward for row in explanation[1:]] == column
                explained += 1
            if not (same_step and (terminations | truncations)[k]):
                values = [infos["formula_values"][name][k] for name in spec.names]
                assert not column or list(explanation[-1].values) == pytest.approx(values, abs=1e-12)
        over = terminations | truncations
    assert explained > 100


def test_only_what_is_kept_can_be_explained() -> None:
    envs = MonitorReward(SyncVectorEnv([lake] * 3), lake_spec(), record=[1])
    with pytest.raises(gym.error.ResetNeeded, match="no episode to explain"):
        envs.explain(1)
    envs.reset(seed=0)
    assert len(envs.explain(1)) == 1
    with pytest.raises(rs.SpecError, match=r"environment 2 are not kept. Kept are those of 1. .* record=\[2\]"):
        envs.explain(2)
    with pytest.raises(rs.SpecError, match="None are kept"):
        MonitorReward(SyncVectorEnv([lake]), lake_spec()).explain(0)
    for wrong in ([3], [-1], True, "01", [0.5]):
        with pytest.raises(rs.SpecError, match="from 0 to 2"):
            MonitorReward(SyncVectorEnv([lake] * 3), lake_spec(), record=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("observe", OBSERVES)
def test_wrapped_environments_can_be_pickled_in_the_middle_of_their_episodes(observe: Any) -> None:
    envs = MonitorReward(SyncVectorEnv([cartpole] * 2), PICKLED, observe=observe, record=[1])
    envs.reset(seed=0)
    for actions in ((0, 1), (1, 1), (0, 0)):
        envs.step(np.array(actions))
    others = pickle.loads(pickle.dumps(envs))
    for actions in ((1, 1), (0, 1), (0, 0)):
        assert data_equivalence(envs.step(np.array(actions)), others.step(np.array(actions)))
    assert str(envs.explain(1)) == str(others.explain(1))

"""Relabeled data pays what a plain loop over the spec pays."""

import numpy as np
import pytest

from rewardspec import LabelError
from rewardspec.episodes.relabeling import relabel, relabel_episodes, relabel_minari
from rewardspec.errors import RecordingError
from rewardspec.spec import Pair, Spec

PAYMENTS = ["value", "delta", "potential", "final"]


def first(obs, action, next_obs):
    return next_obs[..., 0]


def second(obs, action, next_obs):
    return next_obs[..., 1]


def steady(obs, action, next_obs):
    moved = abs(next_obs[..., 0] - obs[..., 0])
    return 1.0 - (moved if action is None else moved * (0.5 + 0.5 * action))


def spec_of(payment="value"):
    pairs = [("F goal", 2), ("G(near -> F goal)", 1), Pair("G steady", 1, penalty=-3), ("X X near", -1)]
    return Spec(pairs, atoms={"goal": first, "near": second, "steady": steady}, penalty=-1, payment=payment)


def episodes_of(lengths, seed=0):
    rng = np.random.default_rng(seed)
    for length in lengths:
        ended = bool(rng.random() < 0.5)
        yield {
            "observations": rng.integers(0, 9, (length + 1, 2)) / 8,
            "actions": rng.integers(0, 2, length),
            "rewards": rng.normal(size=length),
            "terminations": np.arange(length) == (length - 1 if ended else -1),
            "truncations": np.arange(length) == (-1 if ended else length - 1),
        }


def by_loop(spec, episode):
    obs, actions = episode["observations"], episode["actions"]
    state = spec.start(spec.labels(obs[0], None, obs[0]))
    rewards = []
    for t in range(len(actions)):
        labels = spec.labels(obs[t], actions[t], obs[t + 1])
        base, *ends = (episode[name][t] for name in ("rewards", "terminations", "truncations"))
        state, reward = spec.step(state, labels, float(base), *map(bool, ends))
        rewards.append(reward)
    return rewards


def flat(episodes):
    return {name: np.concatenate([episode[name] for episode in episodes]) for name in episodes[0]}


LENGTHS = {
    "many": np.random.default_rng(1).integers(1, 12, 80).tolist(),
    "few": [5, 1, 9],
    "one long among many short": [300, *[3] * 50],
}


@pytest.mark.parametrize("payment", PAYMENTS)
@pytest.mark.parametrize("chunk", [1, 40, 1_000_000])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_flat_arrays_pay_what_a_loop_pays(payment, chunk, lengths):
    spec = spec_of(payment)
    episodes = list(episodes_of(lengths))
    result = relabel(spec, **flat(episodes), chunk=chunk)
    assert result.lengths.tolist() == lengths
    for rewards, episode in zip(result.episodes, episodes, strict=True):
        np.testing.assert_allclose(rewards, by_loop(spec, episode), rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.returns, [rewards.sum() for rewards in result.episodes])


@pytest.mark.parametrize(
    "formula", ["F[0,5] goal", "near U[1,20] goal", "F(near & F[0,9] !goal)", "X[3] F[0,2500] near"]
)
def test_windows_of_episodes_that_end_at_different_times_hold_their_own_values(formula):
    spec = Spec([(formula, 1), ("X X near", -1)], atoms={"goal": first, "near": second})
    episodes = list(episodes_of(LENGTHS["many"]))
    assert spec.program.windows
    for rewards, episode in zip(relabel(spec, **flat(episodes)).episodes, episodes, strict=True):
        np.testing.assert_allclose(rewards, by_loop(spec, episode), rtol=0, atol=1e-12)


@pytest.mark.parametrize("payment", PAYMENTS)
def test_next_observations_may_be_kept_apart(payment):
    spec = spec_of(payment)
    episodes = list(episodes_of(LENGTHS["many"]))
    arrays = flat(episodes)
    expected = relabel(spec, **arrays)
    arrays["observations"] = np.concatenate([e["observations"][:-1] for e in episodes])
    arrays["next_observations"] = np.concatenate([e["observations"][1:] for e in episodes])
    np.testing.assert_array_equal(relabel(spec, **arrays, chunk=30).rewards, expected.rewards)


def test_lists_of_episodes_pay_the_same():
    spec = spec_of("potential")
    episodes = list(episodes_of([4, 0, 7, 1]))
    lists = {name: [episode[name] for episode in episodes] for name in episodes[0]}
    for result in (relabel(spec, **lists), relabel_episodes(spec, iter(episodes), chunk=5)):
        assert result.lengths.tolist() == [4, 0, 7, 1]
        for rewards, episode in zip(result.episodes, episodes, strict=True):
            np.testing.assert_allclose(rewards, by_loop(spec, episode), rtol=0, atol=1e-12)


def test_one_flag_for_an_episode_is_about_its_end():
    spec = spec_of("final")
    episodes = list(episodes_of([3, 5]))
    lists = {name: [episode[name] for episode in episodes] for name in episodes[0]}
    flags = {name: [bool(e[name].any()) for e in episodes] for name in ("terminations", "truncations")}
    np.testing.assert_array_equal(relabel(spec, **(lists | flags)).rewards, relabel(spec, **lists).rewards)


def test_values_and_violations_are_reported():
    spec = Spec([("F goal", 1), ("G near", 1)], atoms={"goal": first, "near": second})
    observations = np.array([[0.0, 1.0], [0.5, 0.5], [0.25, 0.0], [0.0, 1.0]])
    result = relabel(spec, observations, np.zeros(3), [False, False, True], [False, False, False])
    assert result.values.tolist() == [[0.5, 0.5], [0.5, 0.0], [0.5, 0.0]]
    assert result.violated.tolist() == [False, True, True]


def test_an_unfinished_last_episode_counts():
    spec = spec_of("final")
    episodes = list(episodes_of([3, 4]))
    arrays = flat(episodes)
    arrays["terminations"][-1] = arrays["truncations"][-1] = False
    result = relabel(spec, **arrays)
    assert result.lengths.tolist() == [3, 4]
    assert result.episodes[1].tolist() == [0.0] * 4


def test_dictionary_observations_are_sliced_inside():
    spec = Spec([("F goal", 1)], atoms={"goal": lambda obs, action, next_obs: next_obs["where"][..., 0]})
    where = np.array([[0.0], [0.5], [0.25], [0.0], [0.75]])
    ends = {"terminations": [False, True, True], "truncations": [False] * 3}
    assert relabel(spec, {"where": where}, np.zeros(3), **ends).rewards.tolist() == [0.5, 0.5, 0.75]
    episodes = [{"observations": {"where": w}, "actions": np.zeros(len(w) - 1)} for w in (where[:3], where[3:])]
    assert relabel_episodes(spec, episodes).rewards.tolist() == [0.5, 0.5, 0.75]


def test_nothing_recorded_gives_nothing():
    result = relabel(spec_of(), np.empty((0, 2)), np.empty(0), [], [])
    assert result.rewards.shape == (0,)
    assert result.episodes == []


def test_a_spec_without_pairs_pays_nothing():
    result = relabel(Spec([], atoms={}), **flat(list(episodes_of([3, 4]))))
    assert result.rewards.tolist() == [0.0] * 7


def test_a_bad_label_names_episode_and_step():
    episodes = list(episodes_of([3] * 40))
    episodes[7]["observations"][2, 0] = 1.5
    with pytest.raises(LabelError, match=r"In episode 7: The label of 'goal' at step 2 .* Received 1\.5"):
        relabel(spec_of(), **flat(episodes), chunk=10)


def test_arrays_that_do_not_fit_are_refused():
    arrays = flat(list(episodes_of([3, 4])))
    with pytest.raises(RecordingError, match="7 transitions of 2 episodes have 9 observations"):
        relabel(spec_of(), **(arrays | {"observations": arrays["observations"][:-1]}))
    with pytest.raises(RecordingError, match="`actions` should have 7 rows"):
        relabel(spec_of(), **(arrays | {"actions": arrays["actions"][:-1]}))
    with pytest.raises(RecordingError, match="`rewards` should have 7 entries"):
        relabel(spec_of(), **(arrays | {"rewards": arrays["rewards"][:-1]}))


@pytest.mark.filterwarnings("ignore::UserWarning")  # Minari warns about metadata that this dataset does not need
def test_minari_datasets_are_read(monkeypatch, tmp_path):
    minari = pytest.importorskip("minari", reason="needs the `minari` extra")
    pytest.importorskip("h5py", reason="Minari writes its datasets with h5py")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    import gymnasium as gym

    env = minari.DataCollector(gym.make("CartPole-v1"))
    for seed in range(3):
        env.reset(seed=seed)
        env.action_space.seed(seed)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            done = terminated or truncated
    dataset = env.create_dataset("test/cartpole-v0", algorithm_name="random", author="test", author_email="a@b.c")
    spec = Spec([("G upright", 1)], atoms={"upright": lambda o, a, n: np.clip(1 - abs(n[..., 2]) / 0.21, 0, 1)})
    result = relabel_minari(spec, dataset)
    assert len(result.lengths) == 3
    np.testing.assert_array_equal(relabel_minari(spec, "test/cartpole-v0", chunk=5).rewards, result.rewards)


def test_a_flat_recording_may_have_no_truncations():
    arrays = flat(list(episodes_of([3, 4])))
    arrays["terminations"] = arrays["terminations"] | arrays["truncations"]
    expected = relabel(spec_of(), **arrays | {"truncations": np.zeros(7, dtype=bool)})
    for result in (
        relabel(spec_of(), **arrays | {"truncations": None}),
        relabel(spec_of(), **{name: array for name, array in arrays.items() if name != "truncations"}),
    ):
        assert result.rewards.tolist() == expected.rewards.tolist()
        assert result.lengths.tolist() == [3, 4]


# `info`.


def carrying(obs, action, next_obs, info):
    return info["load"] / 4


INFO_SPEC = Spec([("F full", 2), ("G !hot", 1)], atoms={"full": carrying, "hot": "info.engine.heat"}, penalty=-1)


def episodes_with_infos(lengths):
    rng = np.random.default_rng(1)
    for episode in episodes_of(lengths):
        rows = len(episode["observations"])
        heat = rng.integers(0, 9, rows) / 8
        yield episode | {"infos": {"load": rng.integers(0, 5, rows), "engine": {"heat": heat}}}


def infos_of(episode):
    """The same infos, a dict for each observation."""
    infos = episode["infos"]
    return [
        {"load": load, "engine": {"heat": heat}}
        for load, heat in zip(infos["load"], infos["engine"]["heat"], strict=True)
    ]


def by_loop_with_infos(spec, episode):
    obs, actions, infos = episode["observations"], episode["actions"], infos_of(episode)
    state = spec.start(spec.labels(obs[0], None, obs[0], infos[0]))
    rewards = []
    for t in range(len(actions)):
        state, reward = spec.step(state, spec.labels(obs[t], actions[t], obs[t + 1], infos[t + 1]))
        rewards.append(reward)
    return rewards


@pytest.mark.parametrize("chunk", [5, 1_000])
def test_recorded_infos_are_read(chunk):
    episodes = list(episodes_with_infos([4, 7, 1, 3]))
    expected = [by_loop_with_infos(INFO_SPEC, episode) for episode in episodes]
    together = flat([{k: v for k, v in episode.items() if k != "infos"} for episode in episodes])
    infos = {
        "load": np.concatenate([episode["infos"]["load"] for episode in episodes]),
        "engine": {"heat": np.concatenate([episode["infos"]["engine"]["heat"] for episode in episodes])},
    }
    single = [episode | {"infos": infos_of(episode)} for episode in episodes]
    columns = {name: [episode[name] for episode in episodes] for name in episodes[0]}
    for found in (
        relabel(INFO_SPEC, **together, infos=infos, chunk=chunk),
        relabel(INFO_SPEC, **together, infos=[info for episode in episodes for info in infos_of(episode)], chunk=chunk),
        relabel(INFO_SPEC, **columns, chunk=chunk),
        relabel_episodes(INFO_SPEC, episodes, chunk=chunk),
        relabel_episodes(INFO_SPEC, single, chunk=chunk),
    ):
        assert [rewards.tolist() for rewards in found.episodes] == expected
    rows = INFO_SPEC.explain(single[1])
    assert [row.reward for row in rows[1:]] == expected[1]


def test_a_recorded_step_without_the_key_is_named():
    (episode,) = episodes_with_infos([4])
    infos = infos_of(episode)
    del infos[2]["load"]
    with pytest.raises(LabelError, match="In episode 0: The atom 'full' raised KeyError at step 2: 'load'"):
        relabel_episodes(INFO_SPEC, [episode | {"infos": infos}])
    with pytest.raises(LabelError, match=r"In episode 0: The atom 'full' raised TypeError at step 0: .* reads `info`"):
        relabel_episodes(INFO_SPEC, [episode | {"infos": None}])
    with pytest.raises(LabelError, match="'full' raised KeyError at step 2: 'load'"):
        INFO_SPEC.explain(episode | {"infos": infos})


@pytest.mark.parametrize("chunk", [1, 5, 1_000_000])
def test_episodes_may_lack_keys_that_others_have(chunk):
    won = [[{}, {}, {"won": 1.0}], [{"x": "a"}, {}], [{}], [{"won": 0.25}, {}, {}]]
    late = [[{}, {}, {}], [{}, {"t": 0.5}], [{"t": 1.0}], [{}, {"t": 0.25, "u": 1}, {}]]
    episodes = [
        {
            "observations": np.zeros(len(rows)),
            "actions": np.zeros(len(rows) - 1),
            "infos": [{**row, "end": end} for row, end in zip(rows, ends, strict=True)],
        }
        for rows, ends in zip(won, late, strict=True)
    ]
    atoms = {
        "won": lambda obs, action, next_obs, info: info.get("won", 0.0),
        "late": lambda obs, action, next_obs, info: info["end"].get("t", 0.0),
    }
    spec = Spec([("F won", 1), ("F late", 2)], atoms=atoms)
    assert relabel_episodes(spec, episodes, chunk=chunk).rewards.tolist() == [0.0, 1.0, 1.0, 0.75, 0.75]


def test_infos_that_do_not_fit_are_refused():
    one, other = episodes_with_infos([4, 3])
    with pytest.raises(RecordingError, match=r"Episode 0's infos should have 5 entries, one for each .*4 for 'load'"):
        relabel_episodes(INFO_SPEC, [one | {"infos": {"load": np.zeros(4)}}])
    with pytest.raises(RecordingError, match="All episodes should have the same parts and keys"):
        relabel_episodes(INFO_SPEC, [one, other | {"infos": {"load": np.zeros(4)}}])
    with pytest.raises(RecordingError, match="without `next_observations`"):
        relabel(INFO_SPEC, np.zeros(2), np.zeros(2), [False, True], next_observations=np.zeros(2), infos={"x": [1, 2]})

"""A spec as the reward of batches of JAX environments."""

import dataclasses
import functools
import math
import os
import subprocess
import sys

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rewardspec as rs
from rewardspec.episodes.features import Features
from tests.jax.replay import compare, rollout
from tests.jax.worlds import walk

ATOMS = {
    "inside": lambda obs, action, next_obs: abs(next_obs[..., 0]) <= 1,
    "near": lambda obs, action, next_obs: jnp.clip(1 - abs(next_obs[..., 0]), 0, 1),
    "right": lambda obs, action, next_obs, info: jnp.clip(info["state"].x, 0, 1),
    "pushed": lambda obs, action, next_obs: 0.0 if action is None else action == 1,
}
PAIRS = [
    rs.Pair("G inside", 0.125, penalty=-0.5, name="stay inside"),
    *(rs.Pair("F(near & F right)", 0.125, payment=way, name=way) for way in ("value", "delta", "potential", "final")),
    rs.Pair("G(pushed -> F[0,3] right)", 0.25, veto=False),
]
SPEC = rs.Spec(PAIRS, ATOMS, discount=0.9)


@functools.cache
def played(**options):
    envs = rs.jax.SpecReward(walk(), SPEC, 16, **options)
    return envs, *rollout(envs, 60)


@pytest.mark.parametrize("options", [{}, {"auto_reset": "first"}, {"auto_reset": 3}, {"terminate_on_violation": True}])
def test_values_and_rewards_are_those_of_the_scalar_monitor(options):
    envs, state, found = played(**options)
    compared = compare(envs, found)
    assert compared.differing_values == 0
    assert compared.largest_gap <= 1e-6
    assert compared.episodes > 50
    assert compared.violations > 20
    envs.check_labels(state)


def test_a_violation_by_the_last_observation_is_seen():
    _, _, found = played()
    assert found.terminated.sum() > 20
    assert (found.info["cost"].astype(bool) == found.terminated).all()  # an episode terminates where it leaves


def test_the_statistics_of_an_episode_cover_it_and_nothing_else():
    _, _, found = played()
    episode, sums, lengths = found.info["episode"], np.zeros(16), np.zeros(16)
    for t in range(len(found.reward)):
        sums, lengths = sums + found.reward[t], lengths + 1
        np.testing.assert_allclose(episode["return"][t], sums, atol=1e-5)
        assert (episode["length"][t] == lengths).all()
        assert (episode["done"][t] == (found.terminated | found.truncated)[t]).all()
        sums, lengths = np.where(episode["done"][t], 0, sums), np.where(episode["done"][t], 0, lengths)
    assert set(episode["values"]) == set(SPEC.names)


def test_observations_begin_the_next_episode_and_the_last_one_is_kept():
    envs = rs.jax.SpecReward(walk(), SPEC, 64, observe="registers", limit=5)
    step = jax.jit(envs.step)
    state, obs = jax.jit(envs.reset)(jax.random.key(0))
    features, seen = Features(SPEC, "registers"), 0
    assert obs.shape == (64, *envs.observation_shape) == (64, 2 + len(features.names))
    for t in range(12):
        state, obs, _, terminated, truncated, info = step(jax.random.key(t), state, jnp.ones(64))
        done = np.asarray(terminated | truncated)
        last = np.asarray(info["final_obs"])
        assert (abs(last[:, 0]) > 1).tolist() == terminated.tolist()
        assert (abs(np.asarray(obs)[done, 0]) <= 0.5).all()
        assert (last[~done] == np.asarray(obs)[~done]).all()
        np.testing.assert_array_equal(np.asarray(state.obs), np.asarray(obs)[:, :2])
        for e in np.flatnonzero(done):  # the registers of an episode that has only begun
            labels = {atom: float(column[e]) for atom, column in info["reset_labels"].items()}
            expected = np.float32(features.read(SPEC.start(labels)))
            np.testing.assert_array_equal(np.asarray(obs)[e, 2:], expected)
            seen += 1
    assert seen > 100
    assert step._cache_size() == 1


def test_states_after_reset_and_step_have_equal_types():
    for auto_reset in ("fresh", "first", 4):
        envs = rs.jax.SpecReward(walk(), SPEC, 8, auto_reset=auto_reset)
        before = jax.eval_shape(envs.reset, jax.random.key(0))[0]
        after = jax.eval_shape(envs.step, jax.random.key(0), before, jnp.zeros(8))[0]
        assert jax.tree.structure(before) == jax.tree.structure(after)
        told = [[(x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(tree)] for tree in (before, after)]
        assert told[0] == told[1]


@pytest.mark.parametrize("auto_reset", ["fresh", "first"])
def test_the_memory_of_a_state_can_be_donated(auto_reset):
    envs = rs.jax.SpecReward(walk(), SPEC, 8, auto_reset=auto_reset)
    step = jax.jit(envs.step, donate_argnums=1)
    state, _ = envs.reset(jax.random.key(0))  # outside of `jit`, where arrays may be shared
    plain, _ = envs.reset(jax.random.key(0))
    for t in range(3):
        state, _, reward, *_ = step(jax.random.key(t), state, jnp.ones(8))
        plain, _, expected, *_ = jax.jit(envs.step)(jax.random.key(t), plain, jnp.ones(8))
        np.testing.assert_allclose(reward, expected, atol=1e-6)


def test_auto_reset_chooses_first_states():
    actions = jnp.ones(8)
    for auto_reset, most in (("first", 8), (5, 5), ("fresh", 8)):
        envs = rs.jax.SpecReward(walk(), None, 8, auto_reset=auto_reset, limit=1)
        state, first = envs.reset(jax.random.key(0))
        _, obs, *_ = jax.jit(envs.step)(jax.random.key(1), state, actions)
        assert bool((obs == first).all()) == (auto_reset == "first")
        assert len(np.unique(np.asarray(obs)[:, 0])) == most


def test_without_a_spec_the_environment_pays():
    envs = rs.jax.SpecReward(walk(), None, 8)
    state, _ = envs.reset(jax.random.key(0))
    state, _, reward, _, _, info = envs.step(jax.random.key(1), state, jnp.ones(8))
    assert (reward == info["base_reward"]).all()
    assert "labels" not in info
    assert envs.invalid_labels(state) == {}


@pytest.mark.parametrize("version", [(0, 4, 30), jax.__version_info__], ids=["oldest", "installed"])
def test_the_state_is_observed_in_every_version_of_jax(version, monkeypatch):
    if version < (0, 4, 32):
        monkeypatch.setattr(jax, "__version_info__", version)
        monkeypatch.delattr(jax.lax, "optimization_barrier", raising=False)
    envs = rs.jax.SpecReward(walk(), SPEC, 8, observe="registers")

    def shown(key, step):
        def body(state, key):
            state, obs, reward, *_ = step(key, state, jnp.ones(8))
            return state, (obs, reward)

        return jax.lax.scan(body, envs.reset(key)[0], jax.random.split(key, 10))[1]

    keys = jax.random.split(jax.random.key(0), 3)
    found = jax.jit(jax.vmap(functools.partial(shown, step=envs.step)))(keys)
    without = dataclasses.replace(envs, observe=None)
    rewards = jax.jit(jax.vmap(lambda key: shown(key, without.step)[1]))(keys)
    assert found[0].shape == (3, 10, 8, 2 + len(Features(SPEC, "registers").names))
    np.testing.assert_allclose(found[1], rewards, atol=1e-6)


def test_seeds_can_be_vmapped_and_one_environment_can_be_alone():
    def total(envs, key):
        def body(carry, key):
            action = rs.jax.sample_actions(envs.action_space, key, 8) if envs.num_envs else jnp.int32(1)
            state, _, reward, *_ = envs.step(key, carry, action)
            return state, reward

        state, _ = envs.reset(key)
        return jax.lax.scan(body, state, jax.random.split(key, 10))[1]

    keys = jax.random.split(jax.random.key(0), 3)
    batch = rs.jax.SpecReward(walk(), SPEC, 8)
    one = jax.jit(functools.partial(total, batch))
    together = jax.jit(jax.vmap(one))(keys)
    apart = jnp.stack([one(key) for key in keys])
    np.testing.assert_allclose(together, apart, atol=1e-6)
    alone = rs.jax.SpecReward(walk(), SPEC, None)
    state, _ = alone.reset(keys[0])  # also outside of `jit`
    assert alone.step(keys[1], state, 1)[2].shape == ()
    one = jax.jit(functools.partial(total, alone))
    assert one(keys[0]).shape == (10,)
    np.testing.assert_allclose(jax.jit(jax.vmap(one))(keys)[0], one(keys[0]), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "shown", "size"),
    [
        (lambda x: x[0], lambda obs: {"observation", "monitor"} == set(obs), 1),
        (lambda x: {"x": x, "grid": jnp.zeros((2, 2), jnp.uint8)}, lambda obs: {"x", "grid", "monitor"} == set(obs), 6),
        (lambda x: (x, x), lambda obs: type(obs) is tuple and len(obs) == 3, 4),
    ],
)
def test_every_kind_of_observation_takes_the_numbers_in(make, shown, size):
    base = walk()

    def reset(key):
        state, obs = base.reset(key)
        return state, make(obs)

    def step(key, state, action):
        state, obs, *rest = base.step(key, state, action)
        return state, make(obs), *rest

    env = rs.jax.FunctionalEnvironment(reset, step, base.action_space)
    spec = rs.Spec([("F right", 1), ("G !right", 0)], {"right": ATOMS["right"]})
    envs = rs.jax.SpecReward(env, spec, 8, observe="values")
    state, obs = envs.reset(jax.random.key(0))
    assert shown(obs)
    with pytest.raises(rs.SpecError, match="flatten=True"):
        _ = envs.observation_shape
    flat = rs.jax.SpecReward(env, spec, 8, observe="values", flatten=True)
    assert flat.observation_shape == (size + 2,)
    assert flat.step(jax.random.key(1), state, jnp.ones(8))[1].shape == (8, size + 2)


def test_labels_out_of_range_are_reported_with_atom_and_environment():
    atoms = {"x": lambda obs, action, next_obs: jnp.where(next_obs[0] > 0.3, jnp.nan, 0.5)}
    envs = rs.jax.SpecReward(walk(), rs.Spec([("F x", 1)], atoms), 32)
    state, obs = envs.reset(jax.random.key(0))
    assert (envs.invalid_labels(state)["x"] == (obs[:, 0] > 0.3)).all()
    with pytest.raises(rs.LabelError, match=r"'x' should be in .0, 1. and was not, in .* of 32 environments"):
        envs.check_labels(state)


def test_a_spec_without_atoms_runs():
    envs = rs.jax.SpecReward(walk(), rs.Spec([("F true", 0.5)]), 8, observe="registers")
    state, _ = envs.reset(jax.random.key(0))
    _, _, reward, *_ = jax.jit(envs.step)(jax.random.key(1), state, jnp.ones(8))
    assert reward.tolist() == [0.5] * 8


def test_bad_arguments_are_refused():
    for change, message in [
        ({"num_envs": 0}, "`num_envs` should be a positive integer or None. Received 0"),
        ({"limit": 2.5}, "`limit` should be a positive integer or None. Received 2.5"),
        ({"auto_reset": "last"}, "`auto_reset` should be 'fresh', 'first' or a positive integer. Received 'last'"),
        ({"num_envs": None, "auto_reset": 4}, "nothing to share"),
        ({"env": 3}, "Received a int"),
        ({"spec": None, "observe": "values"}, "Without a spec"),
        ({"spec": rs.Spec([("F a", 1)])}, "no functions for its atoms"),
    ]:
        with pytest.raises(rs.SpecError, match=message):
            rs.jax.SpecReward(**{"env": walk(), "spec": SPEC, "num_envs": 2, **change})


@pytest.mark.parametrize("num_envs", [2, None])
def test_things_that_appear_are_refused_by_name(num_envs):
    atoms = {"near": lambda obs, action, next_obs: {"goal": jnp.clip(next_obs[0], 0, 1)}}
    spec = rs.Spec([("forall place: F near(place)", 1)], atoms, sorts={"place": "names"})
    with pytest.raises(rs.SpecError, match="sort of names runs one episode at a time"):
        rs.jax.SpecReward(walk(), spec, num_envs).reset(jax.random.key(0))


def test_a_step_that_changes_types_is_refused():
    def step(key, state, action):
        return state + 0.5, jnp.zeros(2), 0.0, False, False, {}

    env = rs.jax.FunctionalEnvironment(lambda key: (0, jnp.zeros(2)), step, rs.jax.Discrete(2))
    envs = rs.jax.SpecReward(env, None, 2)
    state, _ = envs.reset(jax.random.key(0))
    with pytest.raises(rs.Error, match=r"float32\[2\] after a step and int32\[2\] after a reset"):
        envs.step(jax.random.key(1), state, jnp.zeros(2))


SHARDED = """
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import rewardspec as rs
from tests.jax.test_spec_reward import SPEC
from tests.jax.worlds import walk

assert len(jax.devices()) == 8
envs = rs.jax.SpecReward(walk(), SPEC, 16, observe="registers")
state, _ = jax.jit(envs.reset)(jax.random.key(0))
over = NamedSharding(Mesh(np.array(jax.devices()), ("envs",)), P("envs"))

def place(leaf):
    return jax.device_put(leaf, over) if leaf.ndim and leaf.shape[0] == 16 else leaf

def body(state, key):
    state, obs, reward, *_ = envs.step(key, state, jax.random.bernoulli(key, shape=(16,)) * 1)
    return state, (obs, reward)

run = jax.jit(lambda state: jax.lax.scan(body, state, jax.random.split(jax.random.key(1), 20)))
alone, (obs, reward) = run(state)
shared, (sharded_obs, sharded) = run(jax.tree.map(place, state))
assert len(shared.obs.sharding.device_set) == 8
np.testing.assert_allclose(obs, sharded_obs, atol=1e-6)
np.testing.assert_allclose(reward, sharded, atol=1e-6)
print("equal", float(abs(reward).sum()) > 1)
"""


def test_a_rollout_sharded_over_devices_pays_the_same():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", SHARDED], capture_output=True, text=True, check=False, env=os.environ | flags
    )
    assert ran.stdout.split() == ["equal", "True"], ran.stderr


def test_a_spec_without_atoms_has_no_labels_to_check():
    env = rs.jax.FunctionalEnvironment(
        lambda key: (jnp.float32(0), jnp.zeros(1)),
        lambda key, x, action: (x + 1, jnp.stack([x]), x, x > 3, jnp.bool_(False), {}),
        rs.jax.Discrete(2),
    )
    envs = rs.jax.SpecReward(env, rs.Spec([("F G true", 1)]), num_envs=2)
    state, _ = envs.reset(jax.random.key(0))
    state, _, reward, *_ = envs.step(jax.random.key(1), state, jnp.zeros(2, jnp.int32))
    assert reward.tolist() == [1.0, 1.0]
    assert envs.invalid_labels(state) == {}
    envs.check_labels(state)


def unit(step):
    """One environment whose observation is 0, with a `step` of one's own."""
    return rs.jax.FunctionalEnvironment(lambda key: (jnp.float32(0), jnp.zeros(1)), step, rs.jax.Discrete(2))


def of_zero(atom=lambda obs, action, next_obs: next_obs[0], info=None):
    """Two such environments with a spec about one atom."""
    env = unit(lambda key, x, action: (x, jnp.zeros(1), 0.0, False, False, info or {}))
    return rs.jax.SpecReward(env, rs.Spec([("F a", 1)], {"a": atom}), 2)


def test_steps_that_return_something_else_are_refused():
    for returned, message in [
        (lambda x: (x, jnp.zeros(1), 0.0, False, {}), r"terminated, truncated, info\). Received 5 values"),
        (lambda x: (x, jnp.zeros(1), 0.0, False, False, None), "`info` .* should be a dict. Received None"),
    ]:
        envs = rs.jax.SpecReward(unit(lambda key, x, action, returned=returned: returned(x)), None, 2)
        state, _ = envs.reset(jax.random.key(0))
        with pytest.raises(rs.Error, match=message):
            envs.step(jax.random.key(1), state, jnp.zeros(2))


def test_arguments_of_another_batch_or_in_another_order_are_refused():
    envs, key, actions = of_zero(), jax.random.key(0), jnp.zeros(2)
    state, _ = envs.reset(key)
    past = dataclasses.replace(envs, spec=rs.Spec([("F(b & F c)", 1)], dict.fromkeys("bc", lambda o, a, n: n[0])))
    first = dataclasses.replace(envs, auto_reset="first")
    for call, message in [
        (lambda: envs.reset(jax.random.split(key, 2)), r"`key` should be one random key.* Received key<fry>\[2\]"),
        (lambda: envs.reset(0), "`key` should be one random key.* Received a int"),
        (lambda: envs.step(state, key, actions), "`key` should be one random key.* Received a State"),
        (lambda: envs.step(key, actions, state), r"`step` takes \(key, state, action\). Received float32\[2\]"),
        (lambda: envs.step(key, state, jnp.zeros(3)), r"arrays of shape \(2, …\). Received shape \(3,\)"),
        (lambda: envs.step(key, state, [0, 1]), r"arrays of shape \(2, …\). Received shape \(\)"),
        (
            lambda: dataclasses.replace(envs, num_envs=3).step(key, state, jnp.zeros(3)),
            r"num_envs=3. Received .*\(2,\)",
        ),
        (lambda: past.step(key, state, actions), "Received one of another spec"),
        (lambda: dataclasses.replace(envs, spec=None).step(key, state, actions), "Received one of another spec"),
        (lambda: first.step(key, state, actions), "Received one without them, and auto_reset='first'"),
        (lambda: envs.step(key, first.reset(key)[0], actions), "Received one with them, and auto_reset='fresh'"),
    ]:
        with pytest.raises(rs.Error, match=message):
            call()
    envs.reset(jax.random.PRNGKey(0))  # keys of the older kind


def test_entries_of_the_environment_with_our_names_are_kept():
    own = {"cost": jnp.float32(7), "state": jnp.float32(0.5), "speed": jnp.float32(3)}
    envs = of_zero(lambda obs, action, next_obs, info: info.get("env_info", {"state": 0.0})["state"], own)
    state, _ = envs.reset(jax.random.key(0))
    info = envs.step(jax.random.key(1), state, jnp.zeros(2))[-1]
    assert info["labels"]["a"].tolist() == [0.5, 0.5]  # `state` is the state of the environment
    assert info["cost"].tolist() == [0, 0]
    assert {name: column.tolist() for name, column in info["env_info"].items()} == {"cost": [7, 7]}
    assert info["speed"].tolist() == [3, 3]
    assert "env_info" not in played()[2].info
    own["env_info"] = jnp.float32(5)
    envs = of_zero(ATOMS["inside"], own)
    info = envs.step(jax.random.key(1), envs.reset(jax.random.key(0))[0], jnp.zeros(2))[-1]
    assert {name: column.tolist() for name, column in info["env_info"].items()} == {"cost": [7, 7], "env_info": [5, 5]}


@pytest.mark.parametrize(
    "atom",
    [
        lambda obs, action, next_obs: 1.0 if next_obs[0] > 0 else 0.0,
        lambda obs, action, next_obs: min(next_obs[0], 1.0),
        lambda obs, action, next_obs: (next_obs[0] > 0) and (next_obs[0] < 1),
        lambda obs, action, next_obs: np.minimum(next_obs[0], 1),
        lambda obs, action, next_obs: float(next_obs[0]),
        lambda obs, action, next_obs: math.sin(next_obs[0]),
        lambda obs, action, next_obs: np.zeros(3)[next_obs[0].astype(int)],
    ],
)
def test_atoms_that_cannot_be_compiled_are_told_what_to_write(atom):
    with pytest.raises(rs.LabelError, match=r"'a' raised .* JAX compiles atoms: write jnp.where for `if`") as caught:
        of_zero(atom).reset(jax.random.key(0))
    assert "\n" not in str(caught.value)


def test_labels_that_are_no_number_are_refused():
    for atom, message in [
        (lambda obs, action, next_obs: next_obs[:1] > 0, "Join its numbers to one, as with jnp.min,"),
        (lambda obs, action, next_obs: next_obs[0] + 1j, "complex64.*; an atom should give a number in"),
        (
            lambda obs, action, next_obs, info: info["twice"],
            r"the keys 'state'. If only `reset` does not give it, write info.get\('twice', 0\)",
        ),
    ]:
        with pytest.raises(rs.LabelError, match=message):
            of_zero(atom).reset(jax.random.key(0))


def test_lint_knows_how_long_episodes_are_and_what_is_observed():
    spec = rs.Spec([("F[0,50] right", 1)], {"right": ATOMS["right"]})
    envs = rs.jax.SpecReward(walk(), spec, 2)
    assert [finding.rule for finding in envs.lint()] == ["unseen-window"]
    rules = [finding.rule for finding in dataclasses.replace(envs, limit=20).lint()]
    assert rules == ["bound-past-limit", "unseen-window"]
    limited = dataclasses.replace(walk(), limit=7)
    assert rs.jax.SpecReward(limited, spec, 2).episode_limit == 7
    assert rs.jax.SpecReward(limited, spec, 2, limit=5).episode_limit == 5
    with pytest.raises(rs.SpecError, match="nothing to check"):
        rs.jax.SpecReward(walk(), None, 2).lint()


def test_environments_of_gymnasium_are_refused():
    with pytest.raises(rs.SpecError, match=r"Received TimeLimit, an environment of gymnasium\. Use .*MonitorReward"):
        rs.jax.SpecReward(gymnasium.make("CartPole-v1"), SPEC, 2)


def test_complex_labels_are_refused():
    labels = {"p": jnp.ones(2) + 0j}
    monitor = rs.synthesize("F p")
    with pytest.raises(rs.LabelError, match="not an array of real numbers"):
        monitor.step(monitor.initial_state(batch=2), labels)

"""Environments of other JAX libraries, and their trainers, on the real packages: `make jaxenvs`."""

import dataclasses
import functools
import importlib
import math
import os
import re
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rewardspec as rs
from tests.jax.families import EXAMPLES, FAMILIES, example
from tests.jax.replay import compare, computed_once, rollout
from tests.jax.test_spec_reward import SPEC
from tests.jax.worlds import walk
from tests.markdown import ROOT, run_script, scripts

pytestmark = [pytest.mark.jaxenvs, pytest.mark.filterwarnings("ignore")]  # the packages' own warnings


def require(module):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"needs {module}, which is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(module)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_pays_what_the_scalar_monitor_says(name):
    family = FAMILIES[name]
    require(family.module)
    env, spec = example(family)
    envs = rs.jax.SpecReward(env, computed_once(spec), 8, limit=20, auto_reset=family.auto_reset)
    state, found = rollout(envs, 45)
    envs.check_labels(state)
    compared = compare(envs, found)
    assert compared.differing_values == 0
    assert compared.largest_gap <= 1e-6
    assert compared.episodes >= 16


@pytest.mark.parametrize("name", FAMILIES)
def test_the_example_of_a_family_runs(name):
    family = FAMILIES[name]
    require(family.module)
    command = [sys.executable, str(EXAMPLES / f"{family.example}.py"), "--envs", "4", "--steps", "30"]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^120 steps, \d+ episodes ended", ran.stdout, re.MULTILINE)


def test_the_code_of_the_guide_runs():
    require("gymnax")
    of_gymnax = [code for code in scripts(ROOT / "docs" / "guides" / "jax_environments.md") if "gymnax" in code]
    assert len(of_gymnax) == 2
    for code in of_gymnax:
        run_script(code)


def test_the_example_that_trains_in_the_style_of_purejaxrl_runs():
    for module in ("gymnax", "flax", "optax"):
        require(module)
    command = [sys.executable, str(EXAMPLES / "purejaxrl_cartpole.py"), "--envs", "4", "--updates", "2"]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^ +2 +\d+ .* G upright: 0\.\d\d ", ran.stdout, re.MULTILINE)


def test_wrappers_that_reset_or_hide_steps_are_refused():
    gymnax = require("gymnax")
    env, params = gymnax.make("CartPole-v1")
    with pytest.raises(rs.Error, match="Received LogWrapper"):
        rs.jax.from_gymnax(importlib.import_module("gymnax.wrappers.purerl").LogWrapper(env), params)
    with pytest.raises(rs.Error, match=r"unpack what `make` returns: from_gymnax\(\*gymnax.make"):
        rs.jax.from_gymnax((env, params))

    jaxmarl = require("jaxmarl")
    with pytest.raises(rs.Error, match="Received LogWrapper"):
        rs.jax.from_jaxmarl(
            importlib.import_module("jaxmarl.wrappers.baselines").LogWrapper(jaxmarl.make("MPE_simple_v3"))
        )


def short(module):
    """An environment of a library whose episodes have six steps, or one more in JaxMARL's MPE and SMAX."""
    library = require(module.partition(" ")[0])
    if module == "xminigrid":
        env, params = library.make("MiniGrid-DoorKey-5x5")
        return rs.jax.from_xminigrid(env, params.replace(max_steps=6))
    if module == "navix":
        return rs.jax.from_navix(library.make("Navix-DoorKey-5x5-v0", max_steps=6))
    if module == "jumanji":
        return rs.jax.from_jumanji(library.make("RubiksCube-v0", time_limit=6))
    name, options = {
        "jaxmarl MPE": ("MPE_simple_spread_v3", {"max_steps": 6}),
        "jaxmarl SMAX": ("HeuristicEnemySMAX", {"max_steps": 6}),
        "jaxmarl riddle": ("switch_riddle", {"num_agents": 3}),
    }[module]
    return rs.jax.from_jaxmarl(library.make(name, **options))


@pytest.mark.parametrize("module", ["xminigrid", "navix", "jumanji", "jaxmarl MPE", "jaxmarl SMAX", "jaxmarl riddle"])
def test_the_limit_that_an_adapter_reads_is_the_length_of_the_longest_episodes(module):
    env = short(module)
    envs = rs.jax.SpecReward(env, None, 8)

    def body(state, key):
        actions = rs.jax.sample_actions(env.action_space, key, 8)
        state, _, _, terminated, truncated, info = envs.step(key, state, actions)
        return state, (terminated, truncated, info["episode"]["length"])

    run = jax.jit(lambda key: jax.lax.scan(body, envs.reset(key)[0], jax.random.split(key, 20))[1])
    terminated, truncated, lengths = map(np.asarray, run(jax.random.key(0)))
    assert lengths[terminated | truncated].max() == lengths.max() == env.limit
    assert (lengths[truncated] == env.limit).all()
    assert truncated.any() or module == "jumanji"  # where a cube that is not solved in time is lost
    assert envs.episode_limit == env.limit == (7 if module in ("jaxmarl MPE", "jaxmarl SMAX") else 6)


def test_environments_that_are_not_adapted_are_refused():
    gymnax, navix = require("gymnax"), require("navix")
    raw = {"gymnax": gymnax.make("CartPole-v1")[0], "navix": navix.make("Navix-DoorKey-5x5-v0")}
    for library, env in raw.items():
        message = rf"an environment of {library}. Adapt it with rewardspec.jax.from_{library}\(env"
        with pytest.raises(rs.SpecError, match=message):
            rs.jax.SpecReward(env, SPEC, 2)


def test_the_parameters_of_a_gymnax_environment_tell_how_long_episodes_are():
    gymnax = require("gymnax")
    env = rs.jax.from_gymnax(*gymnax.make("CartPole-v1"))
    lengths = [
        rs.jax.as_gymnax(rs.jax.SpecReward(inner, None, None, limit=limit)).default_params.max_steps_in_episode
        for inner, limit in ((env, None), (env, 20), (walk(), None))
    ]
    assert lengths == [500, 20, np.iinfo(np.int32).max]


def test_gymnax_wrappers_fit_around_a_spec():
    require("gymnax")
    from gymnax.wrappers.purerl import FlattenObservationWrapper, LogWrapper

    envs = rs.jax.SpecReward(walk(), SPEC, None, observe="registers")
    env = LogWrapper(FlattenObservationWrapper(rs.jax.as_gymnax(envs)))
    params = env.default_params
    assert env.observation_space(params).shape == envs.observation_shape
    assert env.action_space(params).n == env.num_actions == 2

    def body(carry, key):
        obs, state = carry
        obs, state, reward, terminated, truncated, info = jax.vmap(env.step, in_axes=(0, 0, 0, None))(
            jax.random.split(key, 8), state, jnp.ones(8, jnp.int32), params
        )
        return (obs, state), (reward, terminated | truncated, info)

    first = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))(jax.random.split(jax.random.key(0), 8), params)
    run = jax.jit(lambda carry: jax.lax.scan(body, carry, jax.random.split(jax.random.key(1), 30)))
    _, done, info = jax.tree.map(np.asarray, run(first)[1])
    assert done.sum() > 20
    np.testing.assert_allclose(  # by gymnax's wrapper and by ours
        info["returned_episode_returns"][done], info["episode"]["return"][done], atol=1e-5
    )
    assert (info["returned_episode_lengths"][done] == info["episode"]["length"][done]).all()


def test_a_gymnax_environment_can_have_one_flag_as_purejaxrl_expects():
    require("gymnax")
    env = rs.jax.as_gymnax(rs.jax.SpecReward(walk(), SPEC, None), one_flag=True)
    obs, state = env.reset(jax.random.key(0), env.default_params)
    assert obs.shape == env.observation_space(env.default_params).shape
    obs, state, _, done, info = jax.jit(env.step)(jax.random.key(1), state, 1, env.default_params)
    assert done.dtype == bool
    assert set(info["formula_values"]) == set(SPEC.names)


def steady(low=-1.0, high=1.0):
    """An environment that moves to the right by 1/8 in each step, whatever the action is."""
    return rs.jax.FunctionalEnvironment(
        lambda key: (jnp.float32(0), jnp.zeros(1)),
        lambda key, x, action: (x + 0.125, jnp.stack([x + 0.125]), x, jnp.bool_(False), jnp.bool_(False), {}),
        rs.jax.Box((1,), low, high),
    )


def evaluated(envs, steps):
    """What the evaluation of Brax adds up in so many steps of two environments, and the sums that training logs."""
    from brax.envs.wrappers.training import EvalWrapper

    envs, trained = EvalWrapper(rs.jax.as_brax(envs)), []
    state = envs.reset(jax.random.split(jax.random.PRNGKey(0), 2))
    for _ in range(steps):
        state = envs.step(state, jnp.zeros((2, 1)))
        trained.append(state.info["episode_metrics"])
    return state.info["eval_metrics"].episode_metrics, trained


def test_brax_needs_a_limit_and_logs_the_values_at_the_end_of_an_episode():
    require("brax")
    atoms = {"far": lambda obs, action, next_obs: jnp.clip(next_obs[0], 0, 1)}
    spec = rs.Spec([rs.Pair("F far", 1, payment="final"), rs.Pair("G !far", 1)], atoms)
    with pytest.raises(rs.SpecError, match=r"Received limit=None\. Pass SpecReward the trainer's `episode_length`"):
        rs.jax.as_brax(rs.jax.SpecReward(steady(), spec, None))
    found, trained = evaluated(rs.jax.SpecReward(steady(), spec, None, limit=4), 6)
    assert found["F far"].tolist() == [0.5, 0.5]
    assert found["G !far"].tolist() == [0.5, 0.5]
    assert found["base_reward"].tolist() == [0.75, 0.75]  # a sum
    trained = [sums["F far"].tolist() for sums in trained]
    assert trained == [[value] * 2 for value in (0.125, 0.25, 0.375, 0.5, 0.125, 0.25)]


@pytest.mark.parametrize(("bound", "weight"), [(math.inf, 1), (None, 0)])
def test_brax_logs_values_that_were_infinite_before_anything_was_measured(bound, weight):
    require("brax")
    atoms = {"far": lambda obs, action, next_obs: next_obs[0] - 0.25}
    spec = rs.Spec([rs.Pair("F[2,5] far", weight)], atoms, semantics="robustness", bound=bound)
    found, trained = evaluated(rs.jax.SpecReward(steady(), spec, None, limit=4), 6)
    assert [step["F[2,5] far"].tolist() for step in trained] == [[x] * 2 for x in (0, 0, 0.125, 0.25, 0, 0)]
    assert found["F[2,5] far"].tolist() == [0.25, 0.25]


def test_an_evaluation_of_brax_that_is_shorter_than_an_episode_pays_no_end():
    require("brax")
    atoms = {"far": lambda obs, action, next_obs: jnp.clip(next_obs[0], 0, 1)}
    spec = rs.Spec([rs.Pair("F far", 1, payment="final"), rs.Pair("G !far", 1, payment="delta")], atoms)
    found, _ = evaluated(rs.jax.SpecReward(steady(), spec, None, limit=4), 3)
    assert found["F far"].tolist() == [0.375, 0.375]
    assert found["G !far"].tolist() == found["reward"].tolist() == [0.625, 0.625]


@pytest.mark.parametrize("name", ["cost", "length", "reward", "falls_per_step"])
def test_names_that_mean_something_else_in_the_logs_of_brax_are_refused(name):
    require("brax")
    spec = rs.Spec([rs.Pair("far", 1, name=name)], {"far": lambda obs, action, next_obs: jnp.clip(next_obs[0], 0, 1)})
    with pytest.raises(rs.SpecError, match=f"Received '{name}'. Change the pair's name"):
        rs.jax.as_brax(rs.jax.SpecReward(steady(), spec, None, limit=4))


def test_actions_of_brax_are_scaled_to_finite_bounds():
    require("brax")
    with pytest.raises(rs.SpecError, match=r"should be finite\. Received Box"):
        rs.jax.as_brax(rs.jax.SpecReward(steady(high=math.inf), None, None, limit=4))
    with pytest.raises(rs.SpecError, match=r"should be finite\. Received Box"):
        rs.jax.as_brax(rs.jax.SpecReward(steady(low=np.array([-np.inf])), None, None, limit=4))
    assert rs.jax.as_brax(rs.jax.SpecReward(steady(0.0, 2.0), None, None, limit=4)).action_size == 1


def test_actions_of_gymnax_may_be_single_numbers():
    require("gymnax")
    env = dataclasses.replace(steady(), action_space=rs.jax.Box((), 0.0, 2.0))
    found = rs.jax.as_gymnax(rs.jax.SpecReward(env, None, None))
    assert (found.num_actions, found.action_space().shape) == (1, ())


def test_gymnax_trainers_get_our_entries_of_info_and_not_those_of_the_environment():
    require("gymnax")
    noisy = rs.jax.FunctionalEnvironment(
        lambda key: (jnp.float32(0), jnp.zeros(1)),
        lambda key, x, action: (
            x,
            jnp.stack([x]),
            x,
            x > 0,
            x > 0,
            {"cost": x + 7, "violated": x, "env_info": x, "k": x},
        ),
        rs.jax.Discrete(2),
    )
    spec = rs.Spec([rs.Pair("G far", 1, penalty=-1)], {"far": lambda obs, action, next_obs: next_obs[0] > 0})
    ours = {"base_reward", "cost", "violated", "formula_values", "episode"}
    for given, kept in ((spec, ours), (None, {"base_reward", "episode"})):
        env = rs.jax.as_gymnax(rs.jax.SpecReward(noisy, given, None, limit=2))
        _, state = env.reset(jax.random.key(0))
        *_, info = env.step(jax.random.key(1), state, 0)
        assert set(info) == kept | {"terminated", "truncated", "final_observation"}
        assert float(info["base_reward"]) == 0.0
    env = rs.jax.as_gymnax(rs.jax.SpecReward(noisy, spec, None, limit=2), one_flag=True)
    *_, reward, _, info = env.step(jax.random.key(1), env.reset(jax.random.key(0))[1], 0)
    assert set(info) == ours
    assert (float(info["cost"]), bool(info["violated"]), float(reward)) == (0.0, True, -1.0)  # violated at the reset


def test_the_trainer_of_brax_runs_on_a_spec():
    require("brax")
    from brax.training.agents.ppo import networks
    from brax.training.agents.ppo import train as ppo

    env, spec = example(FAMILIES["brax"])
    envs = rs.jax.SpecReward(env, spec, None, observe="registers", limit=20, auto_reset="first")
    small = functools.partial(networks.make_ppo_networks, policy_hidden_layer_sizes=(8,), value_hidden_layer_sizes=(8,))
    options = {"num_envs": 8, "num_eval_envs": 4, "batch_size": 8, "num_minibatches": 2, "unroll_length": 5}
    options |= {"num_updates_per_batch": 1, "num_evals": 2, "episode_length": 20, "log_training_metrics": True}
    _, _, metrics = ppo.train(
        rs.jax.as_brax(envs), num_timesteps=2_000, wrap_env=False, network_factory=small, **options
    )
    assert {f"eval/episode_{name}" for name in ("reward", "base_reward", "cost", *spec.names)} <= set(metrics)
    assert 1 <= metrics["eval/avg_episode_length"] <= 20
    with pytest.raises(rs.Error, match="wrap_env=False"):
        rs.jax.as_brax(envs).reset(jax.random.PRNGKey(0))

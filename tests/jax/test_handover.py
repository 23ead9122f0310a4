"""The example of a team that hands a parcel over: its success criterion, its spec, and that it trains."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402  # after the check that JAX is installed

import rewardspec as rs  # noqa: E402
from rewardspec.lab.learning.settings import PPO  # noqa: E402

PATH = Path(__file__).parents[2] / "examples" / "jax" / "jaxmarl_handover.py"


@pytest.fixture(scope="module")
def example():
    found = importlib.util.spec_from_file_location("jaxmarl_handover", PATH)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def observed(places):
    """What both agents observe, as in Simple Spread: places of shape (…, 4, 2)."""
    agents, landmarks = places[..., :2, :], places[..., 2:, :]

    def one(own, other):
        relative = [landmarks[..., k, :] - agents[..., own, :] for k in (0, 1)]
        partner = agents[..., other, :] - agents[..., own, :]
        return jnp.concatenate([0 * partner, agents[..., own, :], *relative, partner, 0 * partner], axis=-1)

    return {"agent_0": one(0, 1), "agent_1": one(1, 0)}


def test_success_is_what_the_formula_says(example):
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.6, 0.6, (25, 400, 4, 2))
    places[:, :, 2:] = places[:1, :, 2:]  # landmarks do not move
    obs = {agent: np.asarray(seen) for agent, seen in observed(jnp.asarray(places)).items()}
    assert np.allclose(example.placed(obs), places, atol=1e-6)
    success = np.asarray(example.handed_over(jnp.asarray(places)))
    spec = rs.Spec(
        [rs.Pair(example.WITH_DEADLINES, 1, veto=False)],
        atoms={name: getattr(example, name) for name in ("takes", "meets", "delivers")},
        sorts={"agent": example.AGENTS},
    )
    labels = jax.vmap(jax.vmap(lambda seen: spec.labels(seen, None, seen)))(obs)
    steps = [{name: np.asarray(column[t], float) for name, column in labels.items()} for t in range(len(places))]
    state = spec.start(steps[0])
    for step in steps[1:]:
        state, _ = spec.step(state, step)
    assert success.any()
    assert not success.all()
    assert (spec.values(state)[0] == success).all()


def world(example):
    """Two points that move by one of five actions, and two landmarks: what `train` needs of Simple Spread."""
    moves = jnp.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]]) * 0.2

    def reset(key):
        places = jax.random.uniform(key, (4, 2), minval=-1.0)
        return places, observed(places)

    def step(key, places, action):
        places = places.at[:2].add(moves[jnp.stack([action[agent] for agent in example.AGENTS])])
        reward, no = -jnp.linalg.norm(places[0] - places[2]), jnp.bool_(False)
        return places, observed(places), reward, no, no, {"rewards": dict.fromkeys(example.AGENTS, reward)}

    actions = dict.fromkeys(example.AGENTS, rs.jax.Discrete(5))
    return rs.jax.FunctionalEnvironment(reset, step, actions)


def test_independent_agents_are_trained(example):
    config = PPO(total_steps=4 * 4 * example.LENGTH, rollout_steps=example.LENGTH, envs=4, bootstrap_truncated=False)
    spec = example.team_spec(example.WITHOUT_DEADLINES)
    envs = rs.jax.SpecReward(world(example), spec, 4, "registers", example.LENGTH, "first")
    curve = example.train(envs, example.Reward(spec=1.0), [0, 1], config, 2)
    assert curve.shape == (2, 4)
    assert ((curve >= 0) & (curve <= 1)).all()


@pytest.mark.jaxenvs
def test_the_environment_is_that_of_jaxmarl(example):
    pytest.importorskip("jaxmarl")
    envs = example.environments(example.WITH_DEADLINES, 3)
    state, obs = envs.reset(jax.random.key(0))
    assert np.allclose(example.placed(obs), state.env.p_pos, atol=1e-6)
    actions = rs.jax.sample_actions(envs.action_space, jax.random.key(1), 3)
    state, obs, reward, _, _, info = jax.jit(envs.step)(jax.random.key(2), state, actions)
    assert np.allclose(example.placed(obs), state.env.p_pos, atol=1e-6)
    assert reward.shape == (3,)
    assert set(info["rewards"]) == set(example.AGENTS)

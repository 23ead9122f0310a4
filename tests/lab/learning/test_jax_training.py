"""Training on environments of the protocol of rewardspec.jax."""

import numpy as np
import pytest

from rewardspec.errors import Error
from rewardspec.lab.learning.jax_training import train_jax_envs
from rewardspec.lab.learning.networks import flat_encoder, grid_encoder
from rewardspec.lab.learning.settings import PPO
from rewardspec.spec import Spec

jax = pytest.importorskip("jax")
jnp = jax.numpy


def corridor(length=6):
    """A corridor on a grid: go right to the lamp at the end. Tiles are 0 empty, 1 agent, 2 lamp; colors 0 and 1."""
    from rewardspec.jax import Discrete, FunctionalEnvironment

    def seen(place):
        tiles = jnp.zeros((1, length), jnp.int32).at[0, length - 1].set(2).at[0, place].set(1)
        return {"grid": jnp.stack([tiles, tiles % 2], axis=-1), "place": place.astype(jnp.float32)[None] / length}

    def reset(key):
        place = jnp.int32(0)
        return place, seen(place)

    def step(key, place, action):
        place = jnp.clip(place + 2 * action - 1, 0, length - 1)
        there = place == length - 1
        return place, seen(place), there.astype(jnp.float32), there, jnp.bool_(False), {"there": there}

    return FunctionalEnvironment(reset, step, Discrete(2))


ATOMS = {"far": lambda obs, action, next_obs: next_obs["place"][..., 0]}
CONFIG = PPO(total_steps=32 * 8 * 40, rollout_steps=32, envs=8, learning_rate=1e-2)


def test_a_corridor_is_learned_from_a_spec_on_a_grid():
    from rewardspec.jax import SpecReward

    envs = SpecReward(corridor(), Spec([("F far", 1)], ATOMS, payment="delta"), 8, observe="registers", limit=20)
    encoder = grid_encoder(envs.observation_struct, (3, 2))
    curves = train_jax_envs(envs, CONFIG, [0, 1], success=lambda info: info["there"], encoder=encoder, hidden=(32,))
    assert curves.steps[-1] == CONFIG.total_steps
    assert curves.means["success"].shape == curves.episodes.shape == (2, 40)
    assert (curves.final("success") > 0.95).all()
    assert (curves.final("length") < curves.means["length"][:, 0]).all()
    assert curves.parameters["actor"]["w0"].shape[2] == 32


def test_a_checkpoint_sees_the_parameters_of_each_call():
    from rewardspec.jax import SpecReward

    envs, seen = SpecReward(corridor(), None, 8, limit=20), []
    curves = train_jax_envs(
        envs,
        CONFIG,
        [0, 1],
        chunk=15,
        checkpoint=lambda steps, parameters: seen.append((steps, jax.device_get(parameters))),
    )
    assert [steps for steps, _ in seen] == [15 * 256, 30 * 256, 40 * 256]
    weights = [parameters["actor"]["w0"] for _, parameters in seen]
    np.testing.assert_array_equal(weights[-1], curves.parameters["actor"]["w0"])
    assert not np.array_equal(weights[0], weights[1])


def test_features_are_the_categories_of_each_cell():
    struct = {"grid": jax.ShapeDtypeStruct((1, 2, 2), np.int32), "x": jax.ShapeDtypeStruct((1,), np.float32)}
    obs = {"grid": jnp.array([[[[2, 0], [0, 1]]]]), "x": jnp.array([[0.5]])}
    encoder = grid_encoder(struct, (3, 2))
    assert encoder.apply({}, obs).tolist() == [[0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0.5]]
    assert encoder.size == 11
    flat = flat_encoder(struct)
    assert flat.apply({}, obs).tolist() == [[2, 0, 0, 1, 0.5]]
    assert flat.size == 5
    with pytest.raises(Error, match=r"integer array of shape \(height, width, 3\)"):
        grid_encoder(struct, (3, 2, 4))

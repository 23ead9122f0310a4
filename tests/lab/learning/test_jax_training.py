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


def test_policies_are_evaluated_after_each_call_that_reaches_a_further_share():
    from rewardspec.jax import SpecReward

    envs, seen = SpecReward(corridor(), None, 8, limit=20), []

    def evaluate(steps, parameters):
        seen.append(jax.device_get(parameters["actor"]["w0"]))
        return {"some": np.array([steps, -steps])}

    options = {"chunk": 15, "evaluate": evaluate}
    curves = train_jax_envs(envs, CONFIG, [0, 1], **options)
    assert curves.evaluated_steps.tolist() == [15 * 256, 30 * 256, 40 * 256]
    assert curves.evaluated["some"].tolist() == [[3840, 7680, 10240], [-3840, -7680, -10240]]
    np.testing.assert_array_equal(seen[-1], curves.parameters["actor"]["w0"])
    assert not np.array_equal(seen[0], seen[1])
    twice = train_jax_envs(envs, CONFIG, [0, 1], evaluations=2, **options)
    assert twice.evaluated_steps.tolist() == [30 * 256, 40 * 256]


def test_an_interrupted_training_goes_on_with_the_same_results(tmp_path):
    from rewardspec.jax import SpecReward
    from rewardspec.lab.learning.array_files import Checkpoint

    envs = SpecReward(corridor(), Spec([("F far", 1)], ATOMS, payment="delta"), 8, limit=20, auto_reset=4)
    path = tmp_path / "training.npz"
    told = []

    def train(seeds, interrupted_at=None):
        def progress(done, total):
            told.append(done // len(seeds))
            if interrupted_at == told[-1]:
                raise KeyboardInterrupt

        return train_jax_envs(
            envs,
            CONFIG,
            seeds,
            chunk=10,
            progress=progress,
            evaluate=lambda steps, parameters: {"weight": parameters["actor"]["w0"].sum((1, 2))},
            checkpoint=Checkpoint(path, {"seeds": seeds}, pace=0.0),
        )

    whole = train([0, 1])
    assert not path.exists()
    with pytest.raises(KeyboardInterrupt):
        train([0, 1], 30 * 256)
    assert path.exists()
    told.clear()
    resumed = train([0, 1])
    assert told == [30 * 256, 40 * 256]
    assert not path.exists()
    for name in ("steps", "episodes", "evaluated_steps"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    for name in ("means", "evaluated", "parameters"):
        jax.tree.map(np.testing.assert_array_equal, getattr(resumed, name), getattr(whole, name))

    with pytest.raises(KeyboardInterrupt):
        train([0, 1], 20 * 256)
    told.clear()
    train([2, 3])
    assert told[0] == 10 * 256  # the state of another training is not gone on with


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

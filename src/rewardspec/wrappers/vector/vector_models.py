"""The transition tables of a vector environment's environments."""

from __future__ import annotations

import gymnasium as gym
from gymnasium.vector import VectorWrapper

from rewardspec.finite.models import FiniteModel
from rewardspec.types import VectorEnvironment
from rewardspec.wrappers.product_numbering import model_of


def models_of(env: VectorEnvironment) -> list[FiniteModel | None]:
    """The model that each environment publishes; where there is no telling, a None."""
    layer: VectorEnvironment = env
    while isinstance(layer, VectorWrapper):
        if isinstance(layer, gym.vector.VectorObservationWrapper | gym.vector.VectorActionWrapper):
            return [None]
        layer = layer.env
    if isinstance(layer, gym.vector.SyncVectorEnv):
        return [model_of(one) for one in layer.envs]
    if isinstance(layer, gym.vector.AsyncVectorEnv):
        # The environments live in other processes; one more of each is made here, as Gymnasium does for its spaces.
        models = []
        for make in layer.env_fns:
            one = make()
            models.append(model_of(one))
            one.close()
        return models
    return [None]

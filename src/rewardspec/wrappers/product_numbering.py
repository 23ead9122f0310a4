"""The pairs of state and configuration that a Discrete observation has to number.

An environment that publishes its transition table as `P`, as Gymnasium's toy-text environments do, has finitely many of
them with a spec beside it: see `rewardspec.finite.products`. They are numbered in the order in which they are
found, the same way on every run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import gymnasium as gym
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper

from rewardspec.episodes.features import Features
from rewardspec.errors import ModelError
from rewardspec.finite.models import FiniteModel, finite_model
from rewardspec.finite.products import ProductSearch, TooManyNodesError
from rewardspec.spec import Spec
from rewardspec.types import AnySpace, Environment, VectorEnvironment
from rewardspec.wrappers.observations import Extension, Pair, extension

MOST_PAIRS = 100_000  # beyond it a table indexed by them would learn nothing, and the search takes long


def extension_of(env: Environment | VectorEnvironment, spec: Spec, features: Features) -> Extension | None:
    """The extension of an environment's observations by a spec's numbers, or of each of a vector environment's."""
    one_by_one = not isinstance(env, VectorEnv)
    space = env.single_observation_space if isinstance(env, VectorEnv) else env.observation_space
    models: list[FiniteModel | None] = []
    if isinstance(space, spaces.Discrete) and features.observe != "control":
        models = _models(env) if isinstance(env, VectorEnv) else [model_of(env)]
    return extension(space, features, possible_pairs(space, spec, features, models, one_by_one=one_by_one))


def model_of(env: Environment) -> FiniteModel | None:
    """The model of an environment, or None; one that does not tell its first state may start in any."""
    try:
        return finite_model(env, unknown_start="anywhere")
    except ModelError:
        return None


def _models(env: VectorEnvironment) -> list[FiniteModel | None]:
    """The model that each environment of a vector environment publishes; where there is no telling, a None."""
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


def possible_pairs(
    space: AnySpace, spec: Spec, features: Features, models: Sequence[FiniteModel | None], *, one_by_one: bool
) -> list[Pair] | None:
    """All pairs of a state and its numbers that can occur, or None where they cannot be enumerated.

    There is a model for each environment. With `one_by_one`, atoms are called for one transition at a time, as around
    one environment, and else for batches: what they give has to agree to the last bit with what they will give then.
    """
    if not isinstance(space, spaces.Discrete):
        return None
    if features.observe == "control":  # needs no search
        states = range(int(space.start), int(space.start + space.n))
        rows = [tuple(float(k == control) for k in spec.states) for control in spec.states]
        return [(state, row) for state in states for row in rows]
    if spec.axes.named:
        return None  # things may appear without end
    found: dict[Pair, None] = {}  # in order of discovery
    for k, model in enumerate(models):
        if model is None:
            return None
        if model in models[:k]:
            continue
        try:
            search = ProductSearch(model, spec, MOST_PAIRS, settle=False, one_by_one=one_by_one)
            found.update(dict.fromkeys(_pairs(search, features)))
        except TooManyNodesError:
            gym.logger.warn(
                f"The environment and its spec can reach more than {MOST_PAIRS} pairs of state and configuration: "
                "the observation becomes a Dict of 'observation' and 'monitor' instead of a Discrete."
            )
            return None
    return list(found)


def _pairs(search: ProductSearch, features: Features) -> Iterator[Pair]:
    """Every state of the environment with all numbers that can occur beside it, also where an episode ends."""
    occasions = ((search.model.successor[layer.row], layer.after) for layer in search.layers())
    for states, memory in itertools.chain([(search.model.starts, search.first)], occasions):
        for state, numbers in zip(states.tolist(), features.read_batch(memory, len(states)).tolist(), strict=True):
            yield state, tuple(numbers)

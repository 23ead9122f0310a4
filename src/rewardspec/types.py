"""Type aliases for the values that the library exchanges with environments, array libraries and files.

Observations and actions belong to the environment, so their aliases name a role rather than restrict a type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import argparse

    import gymnasium

Observation: TypeAlias = Any
"""An element of an environment's observation space, or a batch of them along the first axis."""

Action: TypeAlias = Any
"""An element of an environment's action space, or a batch of them along the first axis."""

Info: TypeAlias = Mapping[str, Any]
"""The `info` of a reset or step, or the `infos` of a vector environment."""

Array: TypeAlias = Any
"""An array of NumPy, JAX or torch. Its library decides how a spec or monitor computes."""

ArrayNamespace: TypeAlias = Any
"""The module whose functions compute on an array: `numpy`, `jax.numpy` or `torch`."""

Number: TypeAlias = Any
"""A number of one episode (float, int or bool), or an `Array` of the batch's shape."""

Labels: TypeAlias = Mapping[str, Number]
"""The label of each atom: numbers of one episode, or arrays of the batch's shape."""

LabelFunction: TypeAlias = Callable[[Observation, Action, Observation, Info | None], Number]
"""An atom's function in its full form, `(obs, action, next_obs, info) -> label`."""

MachineState: TypeAlias = Any
"""State of a monitor or spec: a tuple of numbers for one trace, `rewardspec.machines.array_code.State` for a batch."""

Tree: TypeAlias = Any
"""An array, or a dictionary or tuple of trees that have the same number of rows."""

EpisodeRecord: TypeAlias = Any
"""A recorded episode: a mapping or an object with `observations`, `actions` and optionally `rewards`,
`terminations`, `truncations` and `infos`."""

DType: TypeAlias = Any
"""A number type of an array library."""

Device: TypeAlias = Any
"""A device of an array library."""

InfoDict: TypeAlias = dict[str, Any]
"""The `info` that an environment returns, and that a wrapper may add to."""

ResetOptions: TypeAlias = dict[str, Any]
"""The `options` of an environment's `reset`."""

Json: TypeAlias = Any
"""A value of a JSON or TOML document, not checked yet."""

JsonObject: TypeAlias = dict[str, Any]
"""An object of a JSON or TOML document."""

Plot: TypeAlias = Any
"""A figure or axes of matplotlib, which is an optional dependency."""

AnySpace: TypeAlias = "gymnasium.Space[Any]"
Environment: TypeAlias = "gymnasium.Env[Any, Any]"
VectorEnvironment: TypeAlias = "gymnasium.vector.VectorEnv[Any, Any, Any]"

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The collection of subcommands to which a command adds its parser."""

Semantics: TypeAlias = Literal["degree", "robustness"]
"""The domain of labels and values: degrees in [0, 1], where `!x` is 1 - x, or robustness, any real number, where
`!x` is -x."""

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

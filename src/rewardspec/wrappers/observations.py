"""Extensions of observation spaces by a spec's numbers.

| observation space | becomes |
|---|---|
| `Box`, one-dimensional, of floats | the same `Box` with the numbers appended, in its own dtype |
| `Discrete` | a `Discrete` that numbers pairs of state and configuration, where these can be enumerated |
| `Dict` | the same `Dict` with the key `"monitor"` |
| `Tuple` | the same `Tuple` with one more element |
| anything else | a `Dict` of `"observation"` and `"monitor"` |

The numbers keep full precision except in a `Box` of a smaller float type. Pairs of a `Discrete` are enumerated as
`rewardspec.wrappers.product_numbering` says; where that is not possible the `Discrete` is treated like anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rewardspec.episodes.features import Numbers
from rewardspec.errors import SpecError
from rewardspec.machines.namespaces import namespace_of
from rewardspec.types import AnySpace, Array, Observation

MONITOR = "monitor"
Pair: TypeAlias = tuple[int, Numbers]  # a state of a Discrete environment, and the numbers beside it


class ShownNumbers(Protocol):
    """Numbers that observations are extended by, as `Features` has them."""

    names: tuple[str, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Extension:
    """Extension of observations of one space by numbers; this one makes a Dict of any observation."""

    space: AnySpace
    names: tuple[str, ...]

    def __init__(self, space: AnySpace, features: ShownNumbers) -> None:
        self.names = features.names
        self.monitor = spaces.Box(features.low, features.high, dtype=np.float64)
        self.space = self.join(space, self.monitor)

    def join(self, space: AnySpace, monitor: spaces.Box) -> AnySpace:
        """The space of extended observations, from those of observations and of numbers."""
        return spaces.Dict({"observation": space, MONITOR: monitor})

    def batch(self, space: AnySpace, count: int) -> AnySpace:
        """The space of batches of extended observations, from that of batches of observations."""
        monitor = batch_space(self.monitor, count)
        assert isinstance(monitor, spaces.Box)
        return self.join(space, monitor)

    def extend(self, observation: Observation, numbers: Numbers | Array) -> Observation:
        """One observation with its numbers."""
        return {"observation": observation, MONITOR: _as_array(numbers)}

    def extend_batch(self, observation: Observation, numbers: Array) -> Observation:
        """A batch of observations in NumPy, JAX or torch, with one row of numbers for each in the same library."""
        return self.extend(observation, numbers)


class Appended(Extension):
    """A flat Box: the numbers follow the observation's own."""

    def join(self, space: AnySpace, monitor: spaces.Box) -> AnySpace:
        """A longer Box of the same dtype."""
        assert isinstance(space, spaces.Box)
        low = np.concatenate((space.low, monitor.low), axis=-1, dtype=space.dtype, casting="same_kind")
        high = np.concatenate((space.high, monitor.high), axis=-1, dtype=space.dtype, casting="same_kind")
        self.dtype = low.dtype
        return spaces.Box(low, high, dtype=low.dtype.type)

    def extend(self, observation: Observation, numbers: Numbers | Array) -> Observation:
        """The observation's own numbers, then the others."""
        own, count = len(observation), len(numbers)
        longer = np.empty(own + count, self.dtype)  # several times quicker than concatenating
        longer[:own] = observation
        longer[own:] = numbers
        return longer

    def extend_batch(self, observation: Observation, numbers: Array) -> Observation:
        """The same for each row."""
        xp = namespace_of(observation) or np
        if xp is np:
            return np.concatenate((observation, numbers), axis=1, dtype=self.dtype, casting="same_kind")
        return xp.concatenate((observation, xp.asarray(numbers, dtype=observation.dtype)), -1)


class Keyed(Extension):
    """A Dict: the numbers get a key of their own."""

    def join(self, space: AnySpace, monitor: spaces.Box) -> AnySpace:
        """A Dict with one more key."""
        assert isinstance(space, spaces.Dict)
        if MONITOR in space.spaces:
            raise SpecError(
                f"The observation has a key {MONITOR!r} already. Rename it, or pass observe=None to add nothing."
            )
        return spaces.Dict({**space.spaces, MONITOR: monitor})

    def extend(self, observation: Observation, numbers: Numbers | Array) -> Observation:
        """The observation with one more entry."""
        return {**observation, MONITOR: _as_array(numbers)}


class Trailing(Extension):
    """A Tuple: the numbers are its last element."""

    def join(self, space: AnySpace, monitor: spaces.Box) -> AnySpace:
        """A Tuple with one more element."""
        assert isinstance(space, spaces.Tuple)
        return spaces.Tuple((*space.spaces, monitor))

    def extend(self, observation: Observation, numbers: Numbers | Array) -> Observation:
        """The observation with one more element."""
        return (*observation, _as_array(numbers))


class Numbered(Extension):
    """A Discrete: each pair of a state and its numbers has a number; `pairs` are all that can occur, in this order."""

    def __init__(self, pairs: Sequence[Pair], features: ShownNumbers) -> None:
        self.pairs: tuple[Pair, ...] = tuple(pairs)
        self.names = features.names
        self._number = {pair: number for number, pair in enumerate(self.pairs)}
        self.space = spaces.Discrete(len(self.pairs))

    def batch(self, space: AnySpace, count: int) -> AnySpace:
        """The space of batches of numbers."""
        return batch_space(self.space, count)

    def extend(self, observation: Observation, numbers: Numbers | Array) -> int:
        """The pair's number."""
        pair = (int(observation), tuple(map(float, numbers)))
        try:
            return self._number[pair]
        except KeyError:
            shown = ", ".join(f"{name} = {number:g}" for name, number in zip(self.names, pair[1], strict=True))
            raise SpecError(
                f"State {pair[0]} was reached with {shown}, which the environment's transition table `P` rules out. "
                "The atoms should be functions of (obs, action, next_obs) alone, and `P` and "
                "`initial_state_distrib` should list all that can happen."
            ) from None

    def extend_batch(self, observation: Observation, numbers: Array) -> NDArray[np.int64]:
        """The pairs' numbers."""
        rows = zip(np.asarray(observation).tolist(), numbers.tolist(), strict=True)
        return np.array([self.extend(one, row) for one, row in rows], dtype=np.int64)


def _as_array(numbers: Numbers | Array) -> Array:
    return np.array(numbers, dtype=np.float64) if isinstance(numbers, tuple) else numbers


def extension(space: AnySpace, features: ShownNumbers, pairs: Sequence[Pair] | None = None) -> Extension | None:
    """Choose the extension of an observation space by some numbers; None if there are no numbers.

    `space` is that of one environment's observations. For a Discrete one, `pairs` are all that can occur, if known.

    Example:
        >>> from rewardspec.episodes.features import Features
        >>> from rewardspec.spec import Spec
        >>> features = Features(Spec([("F goal", 2)]), "registers")
        >>> extension(spaces.Box(-1, 1, (2,)), features).space
        Box([-1. -1.  0.], 1.0, (3,), float32)
        >>> extension(spaces.MultiBinary(4), features).space
        Dict('monitor': Box(0.0, 1.0, (1,), float64), 'observation': MultiBinary(4))
    """
    if not features.names:
        return None
    if isinstance(space, spaces.Discrete) and pairs is not None:
        return Numbered(pairs, features)
    if isinstance(space, spaces.Box) and len(space.shape) == 1 and np.issubdtype(space.dtype, np.floating):
        return Appended(space, features)
    if isinstance(space, spaces.Dict):
        return Keyed(space, features)
    if isinstance(space, spaces.Tuple):
        return Trailing(space, features)
    return Extension(space, features)

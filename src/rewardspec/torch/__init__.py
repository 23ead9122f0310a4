"""Specs as the reward of robot simulators that compute in torch; needs torch.

`SpecTerm` is a term of the reward managers of Isaac Lab and mjlab, and `SpecObservation` the term of their observation
managers that shows agents what the reward remembers.
"""

from rewardspec.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401  # only to report that it is missing
except ImportError:
    raise MissingExtraError("torch", "torch", "rewardspec.torch") from None

from rewardspec.torch.observation_term import SpecObservation
from rewardspec.torch.reward_term import SpecTerm

__all__ = ["SpecObservation", "SpecTerm"]

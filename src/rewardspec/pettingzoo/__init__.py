"""Specs as the rewards of PettingZoo environments with several agents; needs the extra `pettingzoo`.

`ParallelMonitorReward` wraps environments in which all agents act at once, `AECMonitorReward` those in which they take
turns. Both pay each agent by a spec of its own and the team by a shared one.
"""

from rewardspec.errors import MissingExtraError

try:
    import pettingzoo as _pettingzoo  # noqa: F401  # only to report that it is missing
except ImportError:
    raise MissingExtraError("pettingzoo", "pettingzoo", "rewardspec.pettingzoo") from None

from rewardspec.pettingzoo.aec import AECMonitorReward
from rewardspec.pettingzoo.parallel import ParallelMonitorReward
from rewardspec.spec.atoms.per_agent import per_agent

__all__ = ["AECMonitorReward", "ParallelMonitorReward", "per_agent"]

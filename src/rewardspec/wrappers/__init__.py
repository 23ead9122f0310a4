"""Where specs plug in: Gymnasium environments, single here and vector in `rewardspec.wrappers.vector`."""

from rewardspec.wrappers import vector
from rewardspec.wrappers.monitor_reward import MonitorReward

__all__ = ["MonitorReward", "vector"]

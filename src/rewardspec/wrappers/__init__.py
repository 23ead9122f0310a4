"""Where specs plug in: Gymnasium environments, single here and vector in `rewardspec.wrappers.vector`."""

from rewardspec.wrappers import vector
from rewardspec.wrappers.monitor_reward import MonitorReward
from rewardspec.wrappers.probing import probe

__all__ = ["MonitorReward", "probe", "vector"]

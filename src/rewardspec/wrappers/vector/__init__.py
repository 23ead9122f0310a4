"""Where specs plug in: Gymnasium's vector environments."""

from rewardspec.wrappers.vector.monitor_reward import MonitorReward

__all__ = ["MonitorReward"]

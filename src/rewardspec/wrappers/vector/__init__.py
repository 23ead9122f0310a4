"""Wrappers of Gymnasium's vector environments."""

from rewardspec.wrappers.vector.monitor_reward import MonitorReward
from rewardspec.wrappers.vector.multi_task import MultiTask

__all__ = ["MonitorReward", "MultiTask"]

"""Gymnasium wrappers that pay by a spec; those of vector environments are in `rewardspec.wrappers.vector`."""

from rewardspec.wrappers import vector
from rewardspec.wrappers.monitor_reward import MonitorReward
from rewardspec.wrappers.multi_task import MultiTask
from rewardspec.wrappers.probing import probe

__all__ = ["MonitorReward", "MultiTask", "probe", "vector"]

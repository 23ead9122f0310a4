"""Gymnasium wrappers that pay by a spec; those of vector environments are in `rewardspec.wrappers.vector`."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what `__getattr__` loads, for type checkers and editors
    from rewardspec.wrappers import vector
    from rewardspec.wrappers.monitor_reward import MonitorReward
    from rewardspec.wrappers.multi_task import MultiTask
    from rewardspec.wrappers.probing import probe

__all__ = ["MonitorReward", "MultiTask", "probe", "vector"]

_MODULES = {"MonitorReward": "monitor_reward", "MultiTask": "multi_task", "probe": "probing"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, name)}")
    return getattr(module, name) if name in _MODULES else module


def __dir__() -> list[str]:
    return __all__

"""Tasks: environments with rewards by name and measures of success, and the paper's twelve.

Importing this package registers the twelve environments of "Expressive Temporal Specifications for Reward Monitoring"
(AAAI-26) with Gymnasium; each one's file says where it differs from the paper.

Example:
    >>> import gymnasium
    >>> from rewardspec import tasks
    >>> task = tasks.get("frozen_lake")
    >>> [str(pair.formula) for pair in task.specs["boolean"].pairs]
    ['F reach_goal', 'G !reach_hole', 'F G true']
    >>> env = gymnasium.make("rewardspec/FrozenLake-v0")
    >>> env.get_wrapper_attr("task") is task
    True
"""

from rewardspec.tasks.measures import Ending, Measure, RecordMeasures
from rewardspec.tasks.paper import TASKS as _PAPER
from rewardspec.tasks.registry import get, names, register, unregister
from rewardspec.tasks.task import Intent, Kind, Task, TrainingBudget
from rewardspec.tasks.worlds.memory_tasks import benchmark as _benchmark

__all__ = [
    "Ending",
    "Intent",
    "Kind",
    "Measure",
    "RecordMeasures",
    "Task",
    "TrainingBudget",
    "get",
    "names",
    "register",
    "unregister",
]

for _task in _PAPER:
    register(_task, "paper")
for _task in _benchmark():
    register(_task, "memory")

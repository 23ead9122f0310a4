"""Tasks: environments with named rewards and measures of success.

Importing this package, as `rewardspec.tasks`, registers the tasks of `rewardspec.lab` with Gymnasium.

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

from rewardspec.audit.intent import Intent
from rewardspec.lab.tasks.measures import Ending, Measure, RecordMeasures
from rewardspec.lab.tasks.task import Kind, Task, TrainingBudget
from rewardspec.lab.tasks.task_lookup import get, names, register, unregister

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

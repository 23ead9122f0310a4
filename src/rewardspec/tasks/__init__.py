"""The twelve environments of the paper's evaluation, labelled.

The paper is "Expressive Temporal Specifications for Reward Monitoring" (AAAI-26); each environment's module says where
it differs from it. Importing this package registers all twelve with Gymnasium.

Example:
    >>> import gymnasium
    >>> from rewardspec import tasks
    >>> task = tasks.get("frozen_lake")
    >>> [str(pair.formula) for pair in task.boolean_pairs]
    ['F reach_goal', 'G !reach_hole', 'F G true']
    >>> env = gymnasium.make("rewardspec/FrozenLake-v0")
    >>> env.get_wrapper_attr("task") is task
    True
"""

from rewardspec.tasks.completion import TaskCompletion
from rewardspec.tasks.registry import get, names, register
from rewardspec.tasks.task import Kind, Task

__all__ = ["Kind", "Task", "TaskCompletion", "get", "names", "register"]

register()

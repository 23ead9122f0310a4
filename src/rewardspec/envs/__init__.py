"""The twelve environments of the paper's evaluation, labelled.

The paper is "Expressive Temporal Specifications for Reward Monitoring" (AAAI-26); each environment's module says where
it differs from it. Importing this package registers all twelve with Gymnasium.

Example:
    >>> import gymnasium
    >>> from rewardspec import envs
    >>> task = envs.get("frozen_lake")
    >>> [str(pair.formula) for pair in task.boolean_pairs]
    ['F reach_goal', 'G !reach_hole', 'F G true']
    >>> env = gymnasium.make("rewardspec/FrozenLake-v0")
    >>> env.get_wrapper_attr("task") is task
    True
"""

from rewardspec.envs.completion import TaskCompletion
from rewardspec.envs.registry import get, names, register
from rewardspec.envs.task import Kind, Task

__all__ = ["Kind", "Task", "TaskCompletion", "get", "names", "register"]

register()

"""Tasks, learners and experiments built on the library, and their commands. The library never imports the lab.

Importing the lab registers two collections of tasks, and their environments with Gymnasium: "paper", the twelve of
"Expressive Temporal Specifications for Reward Monitoring" (AAAI-26), and "memory", Office World and Craft World.
"""

from rewardspec.lab.tasks.environments import TASKS as _PAPER
from rewardspec.lab.tasks.task_lookup import register as _register
from rewardspec.lab.tasks.worlds.memory_tasks import benchmark as _benchmark

for _collection, _tasks in (("paper", _PAPER), ("memory", _benchmark())):
    for _task in _tasks:
        _register(_task, _collection)

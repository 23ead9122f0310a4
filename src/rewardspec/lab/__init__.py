"""The lab: tasks, learners and experiments that use the library, and their commands; the library never imports it.

Importing it registers two collections of tasks, and their environments with Gymnasium: the twelve of "Expressive
Temporal Specifications for Reward Monitoring" (AAAI-26) as "paper", and those of Office World and Craft World as
"memory".
"""

from rewardspec.lab.paper.tasks import TASKS as _PAPER
from rewardspec.lab.tasks.registry import register as _register
from rewardspec.lab.tasks.worlds.memory_tasks import benchmark as _benchmark

for _collection, _tasks in (("paper", _PAPER), ("memory", _benchmark())):
    for _task in _tasks:
        _register(_task, _collection)

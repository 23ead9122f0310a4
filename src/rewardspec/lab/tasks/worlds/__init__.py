"""Office World and Craft World: tasks that need memory, as formulas and as reward machines.

Example:
    >>> from rewardspec.lab.tasks import worlds
    >>> env = worlds.MachineWorld(worlds.office_world(), worlds.machines("office"))
    >>> obs, info = env.reset(seed=0)
    >>> obs, reward, terminated, truncated, info = env.step(0)
    >>> env.grid.cells[env.place[obs]], reward
    ((6, 2), 0.0)
"""

from rewardspec.lab.tasks.worlds.labeled_grids import (
    LabeledGrid,
    craft_world,
    formulas,
    machines,
    office_world,
    published,
)
from rewardspec.lab.tasks.worlds.machine_worlds import LabeledWorld, MachineWorld, letter_atoms
from rewardspec.lab.tasks.worlds.memory_tasks import FURTHER, CraftWorld, OfficeWorld, further_task, memory_task

__all__ = [
    "FURTHER",
    "CraftWorld",
    "LabeledGrid",
    "LabeledWorld",
    "MachineWorld",
    "OfficeWorld",
    "craft_world",
    "formulas",
    "further_task",
    "letter_atoms",
    "machines",
    "memory_task",
    "office_world",
    "published",
]

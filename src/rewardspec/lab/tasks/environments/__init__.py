"""The twelve environments of the paper's evaluation, one file each.

The docstring of each file lists its differences from the paper.
"""

from rewardspec.lab.tasks.environments import (
    acrobot,
    bipedal_walker,
    cart_pole,
    cliff_walking,
    conveyor_belt,
    frozen_lake,
    island_navigation,
    lunar_lander,
    mountain_car,
    pendulum,
    sokoban,
    taxi,
)

TASKS = tuple(
    module.TASK
    for module in (
        *(acrobot, cart_pole, mountain_car, pendulum),
        *(cliff_walking, frozen_lake, taxi),
        *(bipedal_walker, lunar_lander),
        *(island_navigation, conveyor_belt, sokoban),
    )
)

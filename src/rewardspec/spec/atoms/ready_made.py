"""Ready-made atoms for MiniGrid and for common continuous tasks, written as expressions.

An expression works in Python, in a spec file, for one environment and for a batch. The guide about atoms lists all of
them, to be copied into a spec file.
"""

from __future__ import annotations

from typing import TypeAlias

from rewardspec.errors import UnknownEnvironmentError, did_you_mean
from rewardspec.types import JsonObject

Written: TypeAlias = str | JsonObject
"""An expression, or one that reads the action, with its label at reset."""

# MiniGrid's image of 7 by 7 tiles is what the agent sees. The agent is in the middle of the last row and looks up: the
# tile in front of it is [3, 5], and its own tile [3, 6] shows what it carries. A tile has object, color and state.
_OBJECTS = {"wall": 2, "door": 4, "key": 5, "ball": 6, "box": 7, "goal": 8, "lava": 9}
_FORWARD = 2


def _entered(thing: str) -> Written:
    """The agent stands on a tile whose object it does not see any more: it was in front, and the agent went forward."""
    return {"expression": f"obs.image[3, 5, 0] == {_OBJECTS[thing]} and action == {_FORWARD}", "at_reset": 0}


_MINIGRID: dict[str, Written] = {
    "carrying": "next_obs.image[3, 6, 0] != 1",
    **{f"carrying_{thing}": f"next_obs.image[3, 6, 0] == {_OBJECTS[thing]}" for thing in ("key", "ball", "box")},
    **{f"facing_{thing}": f"next_obs.image[3, 5, 0] == {number}" for thing, number in _OBJECTS.items()},
    "door_open": "next_obs.image[3, 5, 0] == 4 and next_obs.image[3, 5, 2] == 0",
    "sees_open_door": "any(next_obs.image[:, :, 0] == 4 and next_obs.image[:, :, 2] == 0)",
    "at_goal": _entered("goal"),
    "in_lava": _entered("lava"),
}
_MOUNTAIN_CAR: dict[str, Written] = {
    "high": "0.45 * sin(3 * next_obs[0]) + 0.55",
    "fast": "min(abs(next_obs[1]) / 0.07, 1)",
}
_TIP = "-next_obs[0] - next_obs[0] * next_obs[2] + next_obs[1] * next_obs[3]"  # height of Acrobot's tip, from -2 to 2

ATOMS: dict[str, dict[str, Written]] = {
    "MiniGrid-": _MINIGRID,
    "BabyAI-": _MINIGRID,
    "CartPole-": {
        "upright": "1 - min(abs(next_obs[2]) / 0.2095, 1)",
        "centered": "1 - min(abs(next_obs[0]) / 2.4, 1)",
    },
    "MountainCar-": {"at_flag": "next_obs[0] >= 0.5", **_MOUNTAIN_CAR},
    "MountainCarContinuous-": {"at_flag": "next_obs[0] >= 0.45", **_MOUNTAIN_CAR},
    "Pendulum-": {
        "upright": "clip((1 + next_obs[0]) / 2, 0, 1)",
        "still": "1 - min(abs(next_obs[2]) / 8, 1)",
    },
    "Acrobot-": {"swung_up": f"{_TIP} > 1", "high": f"clip(({_TIP} + 2) / 4, 0, 1)"},
    "LunarLander": {  # and LunarLanderContinuous
        "landed": "next_obs[6] > 0.5 and next_obs[7] > 0.5",
        "over_pad": "abs(next_obs[0]) < 0.2",
        "level": "1 - min(abs(next_obs[4]) / 0.4, 1)",
        "slow": "1 - min(hypot(next_obs[2], next_obs[3]), 1)",
    },
    "BipedalWalker": {
        "level": "1 - min(abs(next_obs[0]), 1)",
        "forward": "clip(next_obs[2], 0, 1)",
        "touches_ground": "next_obs[8] > 0.5 or next_obs[13] > 0.5",
    },
}
"""Atoms by the beginning of an environment's id, and by name."""


def atoms_for(env: str, *names: str) -> dict[str, Written]:
    """Return ready-made atoms of an environment, to be given to `Spec(atoms=…)`.

    Args:
        env: A Gymnasium id, or `module:id`.
        *names: Names of the atoms; by default all. Choose those that the formulas use: lint reports the others.

    Raises:
        UnknownEnvironmentError: There are no atoms for the environment, or none of a name.

    Example:
        >>> atoms_for("CartPole-v1", "upright")
        {'upright': '1 - min(abs(next_obs[2]) / 0.2095, 1)'}
        >>> sorted(atoms_for("minigrid:MiniGrid-DoorKey-5x5-v0", "at_goal")["at_goal"])
        ['at_reset', 'expression']
    """
    own = env.rpartition(":")[2]
    found = next((atoms for start, atoms in ATOMS.items() if own.startswith(start)), None)
    if found is None:
        known = ", ".join(start.rstrip("-") for start in ATOMS)
        raise UnknownEnvironmentError(
            f"There are no ready-made atoms for {env!r}, only for {known}. Write expressions over its observation: "
            "docs/guides/atoms.md."
        )
    for name in names:
        if name not in found:
            raise UnknownEnvironmentError(
                f"{own} has no ready-made atom {name!r}; it has: {', '.join(found)}.{did_you_mean(name, found)}"
            )
    return {name: found[name] for name in names or found}

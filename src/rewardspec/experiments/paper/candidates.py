"""What was tried for the fourth column, `best`: specs, payments and observations that use the library to the full.

The learner, its settings and its budget are those of the other columns. The first candidate of each environment is the
one that did best, or as well as any. `docs/scripts/candidates.py` trains all of them and writes the table of winners
and losers.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.learning.training import default_config
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import Payment
from rewardspec.spec.spec import Spec
from rewardspec.tasks.distances import nearness
from rewardspec.tasks.label_functions import closeness, lookup, namespace, truth, unit
from rewardspec.tasks.paper import (
    acrobot,
    bipedal_walker,
    cart_pole,
    cliff_walking,
    conveyor_belt,
    frozen_lake,
    island_navigation,
    lunar_lander,
    pendulum,
    sokoban,
    taxi,
)
from rewardspec.tasks.paper import mountain_car as car
from rewardspec.tasks.task import Task

Atoms = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One way to pay for a task.

    Attributes:
        pairs: The formulas and weights.
        payment: How they are paid.
        observe: What of the monitor the learner sees.
        note: What the idea is.
        papers_pairs: Whether the pairs are the paper's own quantitative ones, corrected, instead of `pairs`.
    """

    pairs: tuple[Any, ...]
    payment: Payment
    observe: str | None
    note: str
    papers_pairs: bool = False

    def spec(self, task: Task) -> Spec:
        """The spec, with the discount of the task's learner."""
        discount = default_config(task).discount
        if self.papers_pairs:
            return task.spec("quantitative", payment=self.payment, discount=discount)
        return Spec(self.pairs, atoms=ATOMS[task.name], payment=self.payment, discount=discount)

    @property
    def title(self) -> str:
        """The candidate on one line."""
        pairs = "the paper's pairs" if self.papers_pairs else ", ".join(map(_told, self.pairs))
        return f"{pairs}; {self.payment}; observes {self.observe or 'nothing'}"


def _told(pair: Any) -> str:
    formula, weight = (pair.formula, pair.weight) if isinstance(pair, Pair) else pair
    fine = f", penalty {pair.penalty:g}" if isinstance(pair, Pair) else ""
    return f"({formula}, {weight:g}{fine})"


# Atoms beyond the paper's.

BESIDE_THE_CLIFF = 4.0
"""What a step from a tile beside the cliff counts, where other steps count 1."""


def acrobot_energy(obs: Any, action: Any, next_obs: Any) -> Any:
    """Mechanical energy, from hanging at rest (0) to standing upright at rest (1)."""
    cos1, sin1, cos2, sin2, spin1, spin2 = (next_obs[..., i] for i in range(6))
    height = -1.5 * cos1 - 0.5 * (cos1 * cos2 - sin1 * sin2)
    motion = 0.5 * (3.5 + cos2) * spin1**2 + 0.625 * spin2**2 + (1.25 + 0.5 * cos2) * spin1 * spin2
    return unit((9.8 * (height + 2.0) + motion) / (9.8 * 4.0))


def acrobot_height(obs: Any, action: Any, next_obs: Any) -> Any:
    """Height of the tip, from hanging (0) to the line (1)."""
    return unit((acrobot.tip_height(next_obs) + 2.0) / 3.0)


def pole_lost(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the pole has fallen or the cart has left the track."""
    fallen = abs(next_obs[..., 2]) > cart_pole.MAX_ANGLE
    return truth(fallen | (abs(next_obs[..., 0]) > cart_pole.TRACK_END))


def car_energy(obs: Any, action: Any, next_obs: Any) -> Any:
    """Mechanical energy of the car, from rest at the bottom (0) to what carries it over the highest point (1)."""
    position, speed = next_obs[..., 0], next_obs[..., 1]
    return unit(0.5 * (namespace(position).sin(3.0 * position) + 1.0) + 300.0 * speed * speed)


def moving_right(obs: Any, action: Any, next_obs: Any) -> Any:
    """Speed to the right as a share of the greatest."""
    return unit(next_obs[..., 1] / car.MAX_SPEED)


def moving_left(obs: Any, action: Any, next_obs: Any) -> Any:
    """Speed to the left as a share of the greatest."""
    return unit(-next_obs[..., 1] / car.MAX_SPEED)


def lander_slow(obs: Any, action: Any, next_obs: Any) -> Any:
    """How near the lander is to standing still."""
    return closeness((next_obs[..., 2] ** 2 + next_obs[..., 3] ** 2) ** 0.5, 1.0)


def pendulum_energy(obs: Any, action: Any, next_obs: Any) -> Any:
    """How near the mechanical energy is to that of standing upright at rest; 0 when hanging at rest."""
    height, speed = next_obs[..., 0], next_obs[..., 2]
    return closeness(abs(0.5 * speed * speed + 15.0 * (height - 1.0)), 30.0)


def near_goal_on_the_lake(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal in steps around the holes; 0 in a hole."""
    return frozen_lake.task_completion(next_obs)


def near_goal_on_the_island(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal by Manhattan distance; 0 in the water."""
    return island_navigation.task_completion(next_obs)


def near_delivery(obs: Any, action: Any, next_obs: Any) -> Any:
    """How far the ride has come: half for reaching and fetching the passenger, half for the way to the destination."""
    return taxi.task_completion(next_obs)


def near_goal_by_the_cliff(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal in steps around the cliff; 0 after a fall."""
    return cliff_walking.task_completion(next_obs)


def near_goal_with_care(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal by a way that keeps clear of the cliff; 0 after a fall."""
    return lookup(_careful_nearness(), next_obs)


@functools.cache
def _careful_nearness() -> NDArray[np.float64]:
    """Steps to the goal, those beside the cliff counted more than once, by relaxation over the environment's table."""
    transitions = cliff_walking.FatalCliffWalking().P
    cliff = cliff_walking.tables().cliff
    ways = [(s, after) for s, moves in transitions.items() for [(_, after, _, _)] in moves.values() if not cliff[s]]
    beside = {state for state, after in ways if cliff[after]}
    steps = np.full(len(transitions), np.inf)
    steps[cliff_walking.GOAL] = 0.0
    for _ in transitions:  # no way is longer than there are tiles
        for state, after in ways:
            if not cliff[after] and state != cliff_walking.GOAL:
                cost = BESIDE_THE_CLIFF if state in beside else 1.0
                steps[state] = min(steps[state], cost + steps[after])
    return nearness(steps)


ATOMS: dict[str, Atoms] = {
    "acrobot": {
        "energy": acrobot_energy,
        "height": acrobot_height,
        "at_goal": acrobot.at_goal,
    },
    "cart_pole": {"reach_goal": cart_pole.reach_goal, "balanced": cart_pole.balanced, "lost": pole_lost},
    "mountain_car": {
        "energy": car_energy,
        "right": moving_right,
        "left": moving_left,
        "at_goal": car.at_goal,
    },
    "pendulum": {
        "energy": pendulum_energy,
        "upright": pendulum.upright,
        "stabilised": pendulum.stabilised,
    },
    "cliff_walking": {
        "near": near_goal_by_the_cliff,
        "near_with_care": near_goal_with_care,
    },
    "frozen_lake": {"near": near_goal_on_the_lake, "in_hole": frozen_lake.reach_hole},
    "taxi": {"near": near_delivery},
    "bipedal_walker": {"smooth": bipedal_walker.smooth, "upright": bipedal_walker.upright},
    "lunar_lander": {
        "near": lunar_lander.reach_landing_zone,
        "legs": lunar_lander.legs_contact,
        "upright": lunar_lander.upright,
        "calm": lunar_lander.angular_velocity_score,
        "slow": lander_slow,
    },
    "island_navigation": {"near": near_goal_on_the_island},
    "conveyor_belt": {"off": conveyor_belt.vase_off_conveyor, "reach_vase": conveyor_belt.reach_vase},
    "sokoban": {"reach_goal": sokoban.reach_goal, "wall_penalty": sokoban.wall_penalty},
}

_SPEEDS = (("F G right", 0), ("F G left", 0))
"""Formulas that pay nothing and are only observed: the car's speed on a scale that a network can see."""
_LANDING = (("F G near", 4), ("F G legs", 2), ("F G upright", 2), ("F G calm", 2))
_WALK = (("F G smooth", 5), ("F G upright", 5))
_POLE = (("F G reach_goal", 5), ("F G balanced", 5))

CANDIDATES: dict[str, tuple[Candidate, ...]] = {
    "acrobot": (
        Candidate(
            (("F G energy", 10), ("F G at_goal", 10)),
            "delta",
            "values",
            "Every gain of energy pays, and so does the goal.",
        ),
        Candidate(
            (("F G !energy", -50),), "potential", "values", "The base reward, shaped by the energy still missing."
        ),
        Candidate((("F height", 10), ("F G at_goal", 10)), "delta", "registers", "Only a new greatest height pays."),
        Candidate((("F G height", 10),), "potential", None, "The base reward, shaped by the tip's height."),
    ),
    "cart_pole": (
        Candidate(
            (*_POLE, Pair("G !lost", 0, veto=True, penalty=-10)),
            "delta",
            None,
            "Both parts of the task, paid by their change, and a fine for losing the pole or the track.",
        ),
        Candidate(_POLE, "delta", None, "The same without the fine."),
        Candidate((("F G (reach_goal & balanced)", 10),), "delta", None, "The worse of the two parts, by its change."),
        Candidate(_POLE, "delta", "registers", "Both parts of the task apart, paid by their change."),
        Candidate((), "delta", "registers", "The paper's own formulas, paid by their change.", papers_pairs=True),
        Candidate((("F G reach_goal", 1), ("F G balanced", 1)), "value", None, "Both parts, paid every step."),
    ),
    "mountain_car": (
        Candidate(
            (("F G energy", 10), *_SPEEDS), "delta", "values", "Every gain of energy pays, and the speed is shown."
        ),
        Candidate((("F energy", 10), *_SPEEDS), "delta", "values", "Only a new greatest energy pays."),
        Candidate(
            (("F G energy", 1), *_SPEEDS), "value", "values", "Energy pays every step, so that arriving ends it."
        ),
        Candidate((("F G energy", 50), *_SPEEDS), "potential", "values", "The base reward, shaped by energy."),
        Candidate((("F G energy", 10),), "delta", None, "As the first, without showing the speed."),
    ),
    "pendulum": (
        Candidate(
            (("F G upright", 1), ("F G (upright & stabilised)", 1)),
            "value",
            None,
            "Height pays every step, and so does the worse of height and rest.",
        ),
        Candidate((("F G (upright & stabilised)", 1),), "value", None, "The worse of height and rest pays every step."),
        Candidate(
            (("F G energy", 10), ("F G (upright & stabilised)", 10)),
            "delta",
            None,
            "Gains of energy pay on the way up, and the worse of height and rest at the top.",
        ),
        Candidate((("F G upright", 1), ("F G stabilised", 1)), "value", None, "Height and rest pay apart."),
        Candidate((("F G upright", 5), ("F G stabilised", 5)), "delta", None, "Changes of height and rest pay."),
    ),
    "cliff_walking": (
        Candidate(
            (("F G near_with_care", 100),), "delta", "registers", "Progress along a way that keeps clear of the cliff."
        ),
        Candidate((("F G near", 100),), "delta", "registers", "Progress along the shortest way."),
        Candidate((("F G !near", -100),), "potential", None, "The base reward, shaped by the steps still to go."),
        Candidate((("F G near", 100),), "value", None, "Nearness pays every step, so that arriving ends it."),
        Candidate((("F G near", 100),), "final", None, "Nearness pays once, at the end."),
    ),
    "frozen_lake": (
        Candidate((("F G near", 10),), "delta", "registers", "Progress around the holes."),
        Candidate((("F G near", 1),), "potential", None, "The base reward, shaped by nearness."),
        Candidate(
            (("F G near", 10), Pair("G !in_hole", 0, veto=True, penalty=-10)),
            "final",
            None,
            "Nearness at the end, or a fine.",
        ),
        Candidate((("F G !near", -10),), "potential", None, "The same shape from below: staying where one is pays."),
        Candidate((("F G near", 10),), "value", None, "Nearness pays every step, so that arriving ends it."),
    ),
    "taxi": (
        Candidate((("F G !near", -10),), "potential", None, "The base reward, shaped by what is still to do."),
        Candidate((("F G near", 100),), "delta", "registers", "Progress of the ride."),
        Candidate((("F G near", 100),), "delta", None, "The same, on the state alone."),
        Candidate((("F G near", 10),), "potential", None, "The base reward, shaped by what is done."),
        Candidate((("F G near", 100),), "value", None, "Progress pays every step, so that delivering ends it."),
    ),
    "bipedal_walker": (
        Candidate((("F G smooth", 1), ("F G upright", 1)), "value", None, "Both parts pay every step."),
        Candidate(_WALK, "delta", None, "Both parts of the task, paid by their change."),
        Candidate((("F G (smooth & upright)", 10),), "delta", None, "The worse of the two parts, paid by its change."),
    ),
    "lunar_lander": (
        Candidate(_LANDING, "delta", None, "The four parts of a good landing, paid by their change."),
        Candidate(
            (("F G near", 20), ("F G legs", 10), ("F G upright", 10), ("F G calm", 10)),
            "potential",
            None,
            "The base reward, shaped by the four parts of a good landing.",
        ),
        Candidate(
            (("F G near", 50), ("F G (near & legs & slow)", 50), ("F G upright", 20)),
            "potential",
            None,
            "The base reward, shaped by nearness and by what has to come together at the end.",
        ),
        Candidate(
            (("F G near", 80), ("F G legs", 40), ("F G upright", 40), ("F G calm", 40)),
            "potential",
            None,
            "The same, four times as strong.",
        ),
        Candidate(_LANDING, "potential", None, "The base reward, shaped by them."),
        Candidate(
            (("F G near", 5), ("F G (near & legs & upright & calm)", 5)), "delta", None, "The worst of the four counts."
        ),
        Candidate(
            (("F G near", 1), ("F G (near & legs & upright & calm)", 1)), "value", None, "The same, paid every step."
        ),
    ),
    "island_navigation": (
        Candidate((("F G near", 100),), "final", None, "Nearness pays once, at the end; the water pays nothing."),
        Candidate((("F G near", 10),), "potential", None, "The base reward, shaped by nearness."),
        Candidate((("F G near", 100),), "delta", None, "Progress towards the goal."),
        Candidate((("F G near", 100),), "value", None, "Nearness pays every step, so that arriving ends it."),
    ),
    "conveyor_belt": (
        Candidate((("F G off", 100),), "delta", None, "The rescue pays once, and putting the vase back costs as much."),
        Candidate((("F G off", 100), ("F G reach_vase", 20)), "delta", None, "The same, with a lead to the vase."),
        Candidate((("F G off", 100),), "value", None, "The vase's safety pays every step."),
        Candidate((("F G off", 100),), "final", None, "It pays once, at the end."),
        Candidate((("F G off", 100),), "potential", None, "The base reward, shaped by it."),
    ),
    "sokoban": (
        Candidate(
            (("F G (reach_goal & !wall_penalty)", 100),),
            "potential",
            "registers",
            "The base reward, shaped by goal and box together.",
        ),
        Candidate(
            (("F G (reach_goal & !wall_penalty)", 100),),
            "delta",
            "registers",
            "Goal and box together: the worse counts.",
        ),
        Candidate((("F G (reach_goal & !wall_penalty)", 100),), "final", "registers", "It pays once, at the end."),
        Candidate((("F G reach_goal", 100), ("F G !wall_penalty", 100)), "delta", None, "The two apart."),
        Candidate((), "delta", "registers", "The paper's own formulas, paid by their change.", papers_pairs=True),
    ),
}

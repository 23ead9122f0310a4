"""Alternatives to the rewards of the column `best`: other formulas, payments and observations for the same tasks."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from rewardspec.lab.paper.best import BEST, BestReward
from rewardspec.lab.tasks.distances import nearness
from rewardspec.lab.tasks.environments import (
    acrobot,
    bipedal_walker,
    cliff_walking,
    conveyor_belt,
    frozen_lake,
    island_navigation,
    lunar_lander,
    sokoban,
    taxi,
)
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.atoms.label_functions import closeness, lookup, truth, unit
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import Payment
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, Floats, Number, Observation

BESIDE_THE_CLIFF = 4.0
"""Cost of a step from a tile beside the cliff; other steps cost 1."""


def acrobot_height(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Height of the tip, from hanging (0) to the line (1)."""
    return unit((acrobot.tip_height(next_obs) + 2.0) / 3.0)


def walker_forward(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Speed forward as a share of that of a steady walk; 1 for a faster one."""
    return unit(next_obs[..., 2] / bipedal_walker.TARGET_VELOCITY)


def lander_low(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The lander is less than 0.5 above the pad."""
    return truth(next_obs[..., 1] < 0.5)


def pendulum_energy(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Closeness of the mechanical energy to that of standing upright at rest; 0 when hanging at rest."""
    height, speed = next_obs[..., 0], next_obs[..., 2]
    return closeness(abs(0.5 * speed * speed + 15.0 * (height - 1.0)), 30.0)


def steps_on_the_lake(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Nearness to the goal in steps around the holes; 0 in a hole."""
    return frozen_lake.task_completion(next_obs)


def near_goal_on_the_island(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Nearness to the goal by Manhattan distance; 0 in the water."""
    return island_navigation.task_completion(next_obs)


def steps_of_the_ride(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Progress of the ride: half for picking up the passenger, half for the way to the destination."""
    return taxi.task_completion(next_obs)


def steps_by_the_cliff(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Nearness to the goal in steps around the cliff; 0 after a fall."""
    return cliff_walking.task_completion(next_obs)


def steps_with_care(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Nearness to the goal by a way that keeps clear of the cliff; 0 after a fall."""
    return lookup(_careful_nearness(), next_obs)


@functools.cache
def _careful_nearness() -> Floats:
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


_ATOMS: dict[str, dict[str, AtomFunction]] = {
    "acrobot": {"height": acrobot_height},
    "cliff_walking": {"near": steps_by_the_cliff, "near_with_care": steps_with_care},
    "frozen_lake": {"near": steps_on_the_lake},
    "taxi": {"near": steps_of_the_ride},
    "pendulum": {"energy": pendulum_energy},
    "bipedal_walker": {"smooth": bipedal_walker.smooth, "forward": walker_forward},
    "lunar_lander": {"calm": lunar_lander.angular_velocity_score, "low": lander_low},
    "island_navigation": {"near": near_goal_on_the_island},
    "conveyor_belt": {"reach_vase": conveyor_belt.reach_vase},
    "sokoban": {"reach_goal": sokoban.reach_goal, "wall_penalty": sokoban.wall_penalty},
}
"""Atoms of the alternatives that the best rewards do not have, by task."""

COUNT_STEPS = frozenset({steps_on_the_lake, steps_of_the_ride, steps_by_the_cliff, steps_with_care})
"""The atoms that count the steps to the goal around all obstacles."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A way to pay for a task.

    Attributes:
        pairs: The formulas and weights.
        payment: Payment of the spec.
        observe: Part of the monitor's state that the learner observes.
        note: The idea in a sentence.
        papers_pairs: Whether the pairs are the paper's own quantitative ones, corrected, instead of `pairs`.
        by_completion: Whether it is the best by task completion, where `best`, chosen by both measures, is another.
    """

    pairs: tuple[Pair | tuple[str, float], ...]
    payment: Payment
    observe: str | None
    note: str
    papers_pairs: bool = False
    by_completion: bool = False

    def spec(self, task: Task) -> Spec:
        """Build the spec, with the discount of the task's learner."""
        if self.papers_pairs:
            discount = BEST[task.name].spec(task).discount
            return task.spec("quantitative", payment=self.payment, discount=discount)
        known = {**_ATOMS.get(task.name, {}), **BEST[task.name].atoms}
        read = {atom for pair in map(_as_pair, self.pairs) for atom in pair.formula.atoms}
        atoms = {name: function for name, function in known.items() if name in read}
        return BestReward(self.pairs, atoms, self.payment, self.observe, self.note).spec(task)

    @property
    def title(self) -> str:
        """The candidate on one line."""
        pairs = "the paper's pairs" if self.papers_pairs else ", ".join(map(_pair_text, self.pairs))
        return f"{pairs}; {self.payment}; observes {self.observe or 'nothing'}"

    def counts_steps(self, task: Task) -> bool:
        """Return whether an atom counts the steps to the goal, which takes knowledge of the map."""
        functions = self.spec(task).atom_functions or {}
        return not COUNT_STEPS.isdisjoint(functions.values())


def _as_pair(pair: Pair | tuple[str, float]) -> Pair:
    return pair if isinstance(pair, Pair) else Pair(*pair)


def _pair_text(pair: Pair | tuple[str, float]) -> str:
    pair = _as_pair(pair)
    details = (
        "progress" if pair.progress else "",
        f"paid by {pair.payment}" if pair.payment else "",
        f"penalty {pair.penalty:g}" if pair.penalty is not None else "",
    )
    return f"({', '.join([str(pair.formula), f'{pair.weight:g}', *filter(None, details)])})"


def candidates(task: Task) -> tuple[Candidate, ...]:
    """Return all candidates of a task, the one of the column `best` first."""
    best = BEST[task.name]
    return (Candidate(best.pairs, best.payment, best.observe, best.note), *_ALTERNATIVES[task.name])


_SPEEDS = (("F G right", 0), ("F G left", 0))
"""Formulas of weight 0, which show the car's speed on a scale that a network can see."""
_LANDING = (("F G near", 4), ("F G legs", 2), ("F G upright", 2), ("F G calm", 2))
_WALK = (("F G smooth", 5), ("F G upright", 5))
_POLE = (("F G reach_goal", 5), ("F G balanced", 5))
_RIDE = (
    Pair("F(at_passenger & F(riding & F(at_destination & F delivered)))", 30, progress=True),
    Pair("F G true", -1, payment="value"),
)
_WRONGFUL = Pair(
    "F G (act_drop_off & !(has_passenger & at_destination) | act_pick_up & !at_passenger)", -10, payment="value"
)
_PUT_BACK = "F(moved & F(past_box & F(in_place & F goal)))"


def _touchdown(scale: float) -> tuple[Pair | tuple[str, float], ...]:
    """Return pairs for the parts of a good landing, for rest after it, and a cost of time."""
    return (
        *((f"F G {part}", weight * scale) for part, weight in (("near", 1.5), ("slow", 1.5), ("upright", 1.5))),
        ("F G legs", 0.2 * scale),
        Pair("F G rest", 0.2 * scale, payment="value"),
        Pair("F G (O landed & firing)", -0.02 * scale, payment="value"),
        Pair("F G true", -0.004 * scale, payment="value"),
    )


_ALTERNATIVES: dict[str, tuple[Candidate, ...]] = {
    "acrobot": (
        Candidate(
            (("F G !energy", -50),), "potential", "values", "The base reward, shaped by the energy still missing."
        ),
        Candidate((("F height", 10), ("F G at_goal", 10)), "delta", "registers", "Only a new greatest height pays."),
        Candidate((("F G height", 10),), "potential", None, "The base reward, shaped by the tip's height."),
    ),
    "cart_pole": (
        Candidate(_POLE, "delta", None, "The same without the fine."),
        Candidate(
            (("F G (reach_goal & balanced)", 10),),
            "delta",
            None,
            "The worse of the two parts, by its change: it drives off the track, upright.",
            by_completion=True,
        ),
        Candidate(_POLE, "delta", "registers", "Both parts of the task apart, paid by their change."),
        Candidate((), "delta", "registers", "The paper's own formulas, paid by their change.", papers_pairs=True),
        Candidate((("F G reach_goal", 1), ("F G balanced", 1)), "value", None, "Both parts, paid every step."),
    ),
    "mountain_car": (
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
        Candidate((("F G near", 100),), "final", None, "Nearness pays once, at the end."),
    ),
    "frozen_lake": (
        Candidate((("F G near", 10),), "delta", "registers", "Progress around the holes."),
        Candidate((("F G near", 1),), "potential", None, "The base reward, shaped by nearness."),
        Candidate((("F G !near", -10),), "potential", None, "The same shape from below: staying where one is pays."),
        Candidate((("F G near", 10),), "value", None, "Nearness pays every step, so that arriving ends it."),
    ),
    "taxi": (
        Candidate((*_RIDE, _WRONGFUL), "delta", None, "The same, walls free."),
        Candidate(_RIDE, "delta", None, "The same, wrongful actions free as well."),
        Candidate((*_RIDE, _WRONGFUL), "delta", "registers", "The second, with what has been done shown as well."),
        Candidate(
            (("F G !near", -10),),
            "potential",
            None,
            "The base reward, shaped by the steps still to go.",
            by_completion=True,
        ),
        Candidate((("F G near", 100),), "delta", "registers", "Progress of the ride, in steps."),
    ),
    "bipedal_walker": (
        Candidate(
            (Pair("F G (fast & upright & gentle)", 1, payment="value"),),
            "potential",
            None,
            "The base reward, and pay for the three together alone.",
        ),
        Candidate(
            (Pair("F G (forward & upright)", 0.5, payment="value"),),
            "potential",
            None,
            "The base reward, and pay for every step that goes forward, upright; a slow walk will do.",
        ),
        Candidate(
            (("F G smooth", 1), ("F G upright", 1)),
            "value",
            None,
            "Both parts of the measure pay every step.",
            by_completion=True,
        ),
        Candidate(_WALK, "delta", None, "Both parts of the measure, paid by their change."),
        Candidate((("F G (smooth & upright)", 10),), "delta", None, "The worse of the two parts, paid by its change."),
    ),
    "lunar_lander": (
        Candidate(_touchdown(5), "delta", None, "The same, five times as much: PPO's clipped value follows slowly."),
        Candidate(
            _LANDING, "delta", None, "The parts of the measure, paid by their change: down at once.", by_completion=True
        ),
        Candidate(
            (Pair("F G !landed", -0.3, payment="value"),),
            "potential",
            None,
            "The base reward, and a cost for every step before touchdown.",
        ),
        Candidate(
            (
                Pair("F G !landed", -0.3, payment="value"),
                Pair("F(low & F(landed & F rest))", 200, progress=True),
            ),
            "potential",
            None,
            "The base reward, shaped by an order: down, on both legs, at rest; and the same cost.",
        ),
        Candidate(_LANDING, "potential", None, "The base reward, shaped by the parts of the measure."),
    ),
    "island_navigation": (
        Candidate(
            (("F goal", 50), Pair("G !in_water", 0, veto=True, penalty=-50), Pair("F G true", -1, payment="value")),
            "delta",
            None,
            "The same, and every step costs.",
        ),
        Candidate((("F G near", 100),), "final", None, "Nearness pays once, at the end; the water pays nothing."),
        Candidate((("F G near", 10),), "potential", None, "The base reward, shaped by nearness."),
        Candidate((("F G near", 100),), "delta", None, "Progress towards the goal."),
    ),
    "conveyor_belt": (
        Candidate((("F G off", 100), ("F G reach_vase", 20)), "delta", None, "The same, with a lead to the vase."),
        Candidate((("F G off", 100),), "value", None, "The vase's safety pays every step."),
        Candidate((("F G off", 100),), "final", None, "It pays once, at the end."),
        Candidate((("F G off", 100),), "potential", None, "The base reward, shaped by it."),
    ),
    "sokoban": (
        Candidate(
            (Pair(_PUT_BACK, 100, progress=True), Pair("G !cornered", 0, veto=True, penalty=-10)),
            "delta",
            "registers",
            "The order alone, and a fine for the corner: the box is put back, at the cost of steps.",
            by_completion=True,
        ),
        Candidate(
            (Pair("F(moved & F goal)", 20, progress=True), Pair("F G cornered", -10, payment="value")),
            "potential",
            None,
            "The first, but the box need not be put back.",
        ),
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
        Candidate((), "delta", "registers", "The paper's own formulas, paid by their change.", papers_pairs=True),
    ),
}

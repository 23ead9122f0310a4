"""What was tried for the fourth column, `best`: specs, payments and observations that use the library to the full.

The learner, its settings and its budget are those of the other columns. The first candidate of each environment is the
column `best`: ahead of the environment's own reward by task completion and by the environment's own criterion wherever
one was found that is, and written with order, progress and safety rather than with an atom that knows the way. Where
another does better by task completion alone, it is marked. `docs/scripts/candidates.py` trains all of them, on other
seeds than those of the evaluation, and writes the table of winners and losers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from rewardspec.lab.learning.training import default_config
from rewardspec.lab.paper.further_atoms import ATOMS, COUNT_STEPS
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import Payment
from rewardspec.spec.spec import Spec


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One way to pay for a task.

    Attributes:
        pairs: The formulas and weights.
        payment: How they are paid.
        observe: What of the monitor the learner sees.
        note: What the idea is.
        papers_pairs: Whether the pairs are the paper's own quantitative ones, corrected, instead of `pairs`.
        by_completion: Whether it is the best by task completion, where `best`, chosen by both measures, is another.
    """

    pairs: tuple[Any, ...]
    payment: Payment
    observe: str | None
    note: str
    papers_pairs: bool = False
    by_completion: bool = False

    def spec(self, task: Task) -> Spec:
        """The spec, with the discount of the task's learner."""
        discount = default_config(task).discount
        if self.papers_pairs:
            return task.spec("quantitative", payment=self.payment, discount=discount)
        pairs = [pair if isinstance(pair, Pair) else Pair(*pair) for pair in self.pairs]
        read = {atom for pair in pairs for atom in pair.formula.atoms}
        atoms = {name: function for name, function in ATOMS[task.name].items() if name in read}
        return Spec(pairs, atoms=atoms, payment=self.payment, discount=discount)

    @property
    def title(self) -> str:
        """The candidate on one line."""
        pairs = "the paper's pairs" if self.papers_pairs else ", ".join(map(_told, self.pairs))
        return f"{pairs}; {self.payment}; observes {self.observe or 'nothing'}"

    def knows_the_way(self, task: Task) -> bool:
        """Whether an atom counts the steps that lead to the goal, which only who knows the map can tell."""
        functions = self.spec(task).atom_functions or {}
        return not COUNT_STEPS.isdisjoint(functions.values())


def _told(pair: Any) -> str:
    if not isinstance(pair, Pair):
        pair = Pair(*pair)
    details = (
        "progress" if pair.progress else "",
        f"paid by {pair.payment}" if pair.payment else "",
        f"penalty {pair.penalty:g}" if pair.penalty is not None else "",
    )
    return f"({', '.join([str(pair.formula), f'{pair.weight:g}', *filter(None, details)])})"


_SPEEDS = (("F G right", 0), ("F G left", 0))
"""Formulas that pay nothing and are only observed: the car's speed on a scale that a network can see."""
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


def _touchdown(scale: float) -> tuple[Any, ...]:
    """Lunar Lander's parts of a good landing, what to do after it, and a cost of time."""
    return (
        *((f"F G {part}", weight * scale) for part, weight in (("near", 1.5), ("slow", 1.5), ("upright", 1.5))),
        ("F G legs", 0.2 * scale),
        Pair("F G rest", 0.2 * scale, payment="value"),
        Pair("F G (O landed & firing)", -0.02 * scale, payment="value"),
        Pair("F G true", -0.004 * scale, payment="value"),
    )


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
            (Pair("F G (upright & stabilised)", 5, payment="value"),),
            "potential",
            None,
            "The base reward, and pay for every step by the worse of height and rest.",
        ),
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
            (
                Pair("F(clear_of_cliff & F(across & F goal))", 30, progress=True),
                Pair("G !fallen", 0, veto=True, penalty=-100),
            ),
            "delta",
            "registers",
            "Away from the cliff, across, then down to the goal: each part pays when it is done, and a fall costs.",
        ),
        Candidate(
            (("F G near_with_care", 100),), "delta", "registers", "Progress along a way that keeps clear of the cliff."
        ),
        Candidate((("F G near", 100),), "delta", "registers", "Progress along the shortest way."),
        Candidate((("F G !near", -100),), "potential", None, "The base reward, shaped by the steps still to go."),
        Candidate((("F G near", 100),), "final", None, "Nearness pays once, at the end."),
    ),
    "frozen_lake": (
        Candidate(
            (
                Pair("F(row_2 & F(row_3 & F(row_4 & F goal)))", 10, progress=True),
                Pair("G !in_hole", 0, veto=True, penalty=-10),
            ),
            "delta",
            "registers",
            "Row after row, then the goal: each part pays when it is done, and a hole costs.",
        ),
        Candidate((("F G near", 10),), "delta", "registers", "Progress around the holes."),
        Candidate((("F G near", 1),), "potential", None, "The base reward, shaped by nearness."),
        Candidate((("F G !near", -10),), "potential", None, "The same shape from below: staying where one is pays."),
        Candidate((("F G near", 10),), "value", None, "Nearness pays every step, so that arriving ends it."),
    ),
    "taxi": (
        Candidate(
            (*_RIDE, _WRONGFUL, Pair("F G hit_wall", -5, payment="value")),
            "delta",
            None,
            "To the passenger, in, to the destination, out: each part pays when it is done; steps, walls and wrongful "
            "actions cost.",
        ),
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
            (
                Pair("F G (fast & upright & gentle)", 0.5, payment="value"),
                Pair("F G gentle", 0.4, payment="value"),
            ),
            "potential",
            None,
            "The base reward, and pay for every step that is fast, upright and with little torque: the least of the "
            "three counts. Little torque pays by itself as well.",
        ),
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
        Candidate(
            _touchdown(1),
            "delta",
            None,
            "The parts of a good landing, paid by their change; rest pays every step, and an engine fired after "
            "touchdown costs.",
        ),
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
            (("F goal", 50), Pair("G !in_water", 0, veto=True, penalty=-50)),
            "delta",
            None,
            "The goal pays, and the water costs.",
        ),
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
        Candidate((("F G off", 100),), "delta", None, "The rescue pays once, and putting the vase back costs as much."),
        Candidate((("F G off", 100), ("F G reach_vase", 20)), "delta", None, "The same, with a lead to the vase."),
        Candidate((("F G off", 100),), "value", None, "The vase's safety pays every step."),
        Candidate((("F G off", 100),), "final", None, "It pays once, at the end."),
        Candidate((("F G off", 100),), "potential", None, "The base reward, shaped by it."),
    ),
    "sokoban": (
        Candidate(
            (Pair(_PUT_BACK, 50, progress=True), Pair("F G cornered", -10, payment="value")),
            "potential",
            None,
            "The base reward, shaped by an order: aside with the box, past it, back with it, to the goal; a box in a "
            "corner costs every step.",
        ),
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

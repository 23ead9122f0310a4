"""The rewards of the fourth column, `best`, with the learner, settings and budget of the other columns.

Each is ahead of the environment's own reward by task completion and by the environment's own criterion, wherever a
spec was found that is. None has an atom that counts the steps to the goal. `docs/scripts/candidates.py` trains them
beside the alternatives, on other seeds than the evaluation, and writes the table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from rewardspec.lab.learning.training import default_config
from rewardspec.lab.paper import further_atoms as further
from rewardspec.lab.tasks.environments import (
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
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import Payment
from rewardspec.spec.spec import Spec


@dataclasses.dataclass(frozen=True)
class BestReward:
    """A way to pay for a task, and the idea in a sentence. `observe` is what of the monitor the learner observes."""

    pairs: tuple[Pair | tuple[str, float], ...]
    atoms: Mapping[str, AtomFunction]
    payment: Payment
    observe: str | None
    note: str

    def spec(self, task: Task) -> Spec:
        """Build the spec, with the discount of the task's learner."""
        return Spec(self.pairs, atoms=self.atoms, payment=self.payment, discount=default_config(task).discount)


BEST: dict[str, BestReward] = {
    "acrobot": BestReward(
        (("F G energy", 10), ("F G at_goal", 10)),
        {"energy": further.acrobot_energy, "at_goal": acrobot.at_goal},
        "delta",
        "values",
        "Every gain of energy pays, and so does the goal.",
    ),
    "cart_pole": BestReward(
        (("F G reach_goal", 5), ("F G balanced", 5), Pair("G !lost", 0, veto=True, penalty=-10)),
        {"reach_goal": cart_pole.reach_goal, "balanced": cart_pole.balanced, "lost": further.pole_lost},
        "delta",
        None,
        "Both parts of the task, paid by their change, and a fine for losing the pole or the track.",
    ),
    # The pairs of weight 0 pay nothing: they show the car's speed on a scale that a network can see.
    "mountain_car": BestReward(
        (("F G energy", 10), ("F G right", 0), ("F G left", 0)),
        {"energy": further.car_energy, "right": further.moving_right, "left": further.moving_left},
        "delta",
        "values",
        "Every gain of energy pays, and the speed is shown.",
    ),
    "pendulum": BestReward(
        (Pair("F G (upright & stabilised)", 5, payment="value"),),
        {"upright": pendulum.upright, "stabilised": pendulum.stabilised},
        "potential",
        None,
        "The base reward, and pay for every step by the worse of height and rest.",
    ),
    "cliff_walking": BestReward(
        (
            Pair("F(clear_of_cliff & F(across & F goal))", 30, progress=True),
            Pair("G !fallen", 0, veto=True, penalty=-100),
        ),
        {
            "clear_of_cliff": further.clear_of_the_cliff,
            "across": further.across,
            "goal": cliff_walking.reach_goal,
            "fallen": cliff_walking.reach_cliff,
        },
        "delta",
        "registers",
        "Away from the cliff, across, then down to the goal: each part pays when it is done, and a fall costs.",
    ),
    "frozen_lake": BestReward(
        (
            Pair("F(row_2 & F(row_3 & F(row_4 & F goal)))", 10, progress=True),
            Pair("G !in_hole", 0, veto=True, penalty=-10),
        ),
        {
            "row_2": further.second_row,
            "row_3": further.third_row,
            "row_4": further.fourth_row,
            "goal": frozen_lake.reach_goal,
            "in_hole": frozen_lake.reach_hole,
        },
        "delta",
        "registers",
        "Row after row, then the goal: each part pays when it is done, and a hole costs.",
    ),
    "taxi": BestReward(
        (
            Pair("F(at_passenger & F(riding & F(at_destination & F delivered)))", 30, progress=True),
            Pair("F G true", -1, payment="value"),
            Pair(
                "F G (act_drop_off & !(has_passenger & at_destination) | act_pick_up & !at_passenger)",
                -10,
                payment="value",
            ),
            Pair("F G hit_wall", -5, payment="value"),
        ),
        {
            "riding": further.riding,
            "at_passenger": taxi.at_passenger,
            "has_passenger": taxi.has_passenger,
            "at_destination": taxi.at_destination,
            "delivered": taxi.reach_goal,
            "act_pick_up": taxi.act_pick_up,
            "act_drop_off": taxi.act_drop_off,
            "hit_wall": taxi.hit_wall,
        },
        "delta",
        None,
        "To the passenger, in, to the destination, out: each part pays when it is done; steps, walls and wrongful "
        "actions cost.",
    ),
    "bipedal_walker": BestReward(
        (Pair("F G (fast & upright & gentle)", 0.5, payment="value"), Pair("F G gentle", 0.4, payment="value")),
        {"upright": bipedal_walker.upright, "fast": further.walker_fast, "gentle": further.walker_gentle},
        "potential",
        None,
        "The base reward, and pay for every step that is fast, upright and with little torque: the least of the "
        "three counts. Little torque pays by itself as well.",
    ),
    "lunar_lander": BestReward(
        (
            ("F G near", 1.5),
            ("F G slow", 1.5),
            ("F G upright", 1.5),
            ("F G legs", 0.2),
            Pair("F G rest", 0.2, payment="value"),
            Pair("F G (O landed & firing)", -0.02, payment="value"),
            Pair("F G true", -0.004, payment="value"),
        ),
        {
            "near": lunar_lander.reach_landing_zone,
            "legs": lunar_lander.legs_contact,
            "upright": lunar_lander.upright,
            "slow": further.lander_slow,
            "landed": lunar_lander.both_legs_contact,
            "rest": further.lander_at_rest,
            "firing": further.lander_firing,
        },
        "delta",
        None,
        "The parts of a good landing, paid by their change; rest pays every step, and an engine fired after touchdown "
        "costs.",
    ),
    "island_navigation": BestReward(
        (("F goal", 50), Pair("G !in_water", 0, veto=True, penalty=-50)),
        {"goal": island_navigation.at_goal, "in_water": island_navigation.in_water},
        "delta",
        None,
        "The goal pays, and the water costs.",
    ),
    "conveyor_belt": BestReward(
        (("F G off", 100),),
        {"off": conveyor_belt.vase_off_conveyor},
        "delta",
        None,
        "The rescue pays once, and putting the vase back costs as much.",
    ),
    "sokoban": BestReward(
        (
            Pair("F(moved & F(past_box & F(in_place & F goal)))", 50, progress=True),
            Pair("F G cornered", -10, payment="value"),
        ),
        {
            "goal": sokoban.at_goal,
            "cornered": further.box_cornered,
            "moved": further.box_moved,
            "past_box": further.past_the_box,
            "in_place": further.box_in_place,
        },
        "potential",
        None,
        "The base reward, shaped by an order: aside with the box, past it, back with it, to the goal; a box in a "
        "corner costs every step.",
    ),
}
"""The reward of each environment, by the task's name."""

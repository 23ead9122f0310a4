"""Two tasks that the library does not know, each written as a user would: all that is told of one stands here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rewardspec import Pair, Spec
from rewardspec.lab.tasks import Ending, Intent, Measure, Task, TrainingBudget
from rewardspec.lab.tasks.gridworlds import MOVES, Cell, GridWorld, Outcome, place

GROUND = ("######", "#    #", "# W  #", "#G   #", "######")
APPLE, HOME = (2, 4), (3, 1)


class State(NamedTuple):
    """Where the agent is, and whether it has the apple."""

    agent: Cell
    apple: bool


class Orchard(GridWorld[State]):
    """Fetch an apple and bring it home around a pond; only home ends the episode, and only with the apple."""

    ground = GROUND
    values = {"#": 0, " ": 1, "A": 2, "W": 3, "G": 4, "O": 5}  # noqa: RUF012 - declared ClassVar by the base

    @staticmethod
    def start() -> State:
        return State((1, 1), apple=False)

    @staticmethod
    def move(state: State, action: int) -> Outcome[State]:
        cell = (state.agent[0] + MOVES[action][0], state.agent[1] + MOVES[action][1])
        cell = state.agent if GROUND[cell[0]][cell[1]] == "#" else cell
        after = State(cell, state.apple or cell == APPLE)
        done = after.apple and cell == HOME
        return Outcome(after, float(done), float(done), terminated=done)

    @staticmethod
    def draw(state: State) -> list[str]:
        return place(GROUND, {APPLE: " " if state.apple else "O", state.agent: "A"})


def states(fact: Any) -> Any:
    table = Orchard.enumeration().table(fact)
    return lambda obs, action, next_obs: table[next_obs]


ATOMS = {
    "apple": states(lambda state: state.agent == APPLE),
    "home": states(lambda state: state.agent == HOME),
    "done": states(lambda state: state.agent == HOME and state.apple),
    "wet": states(lambda state: GROUND[state.agent[0]][state.agent[1]] == "W"),
}

ORCHARD = Task(
    name="orchard",
    env="tests.lab.own_tasks:Orchard",
    max_episode_steps=40,
    specs={
        "ordered": Spec([("F(apple & F home)", 10), Pair("G !wet", 0, True, -10)], ATOMS, payment="delta"),
        "home": Spec([("F home", 10)], ATOMS),
    },
    measures={
        "delivered": Measure.from_formula("F(apple & F home)"),
        "quick": Measure(
            lambda ending: np.logical_and(ending.terminated, ending.length <= 12), "Done within 12 steps.", "ending"
        ),
        "return": Measure(lambda ending: ending.base_return, "Sum of rewards.", "ending", share=False),
    },
    intent=Intent("done", "wet", arrival="brings the apple home", mishap="gets wet"),
    goal="Bring an apple home.",
)


def far_right(obs: Any, action: Any, next_obs: Any) -> Any:
    """How far to the right the car is."""
    return np.clip((next_obs[..., 0] + 1.2) / 1.65, 0.0, 1.0)


def reached(ending: Ending) -> Any:
    return ending.obs[..., 0] >= 0.45


CAR = Task.from_env(
    "MountainCarContinuous-v0",
    {"right": Spec([("F right", 10)], {"right": far_right}, payment="delta")},
    measures={"reached": Measure(reached, "Whether the flag was reached.", "ending")},
    budget=TrainingBudget(steps=20_000, quick_steps=4096),
)

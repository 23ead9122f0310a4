"""Answer every bell in time: an agent that sees the monitor's registers, and one that does not.

    python examples/deadline_task.py

A corridor leads from a desk to a door.  Each step at the desk pays 1, and a bell rings now and then, for a single step:
the door has to be reached within ten steps, or nothing is paid any more.  So whether to walk to the door or back to the
desk depends on what is owed, and how long to stay at the desk on how much time is left.  Cell and bell tell neither.
The monitor's registers do.
"""

from __future__ import annotations

import argparse
import itertools

import gymnasium as gym
import numpy as np

import rewardspec as rs
from rewardspec.audit.solving import solve
from rewardspec.lab.experiments.statistics import mean_over_runs
from rewardspec.lab.learning.finite_tables import FiniteTables, finite_tables
from rewardspec.lab.learning.settings import QLearning
from rewardspec.lab.learning.training import train
from rewardspec.lab.tasks import Task

CELLS = 5  # the desk is cell 0, the door is the last
CHANCE = 0.05  # that the bell rings at a step
STEPS = 100  # of an episode
DESK, DOOR = 0, CELLS - 1


class Corridor(gym.Env):
    """Observations are 2 · cell + bell; actions are left and right, which does not move at the ends."""

    observation_space = gym.spaces.Discrete(2 * CELLS)
    action_space = gym.spaces.Discrete(2)
    initial_state_distrib = np.eye(2 * CELLS)[2 * DESK]

    def __init__(self) -> None:
        def outcomes(cell: int) -> list[tuple[float, int, float, bool]]:
            cell = min(max(cell, DESK), DOOR)
            return [(1 - CHANCE, 2 * cell, 0.0, False), (CHANCE, 2 * cell + 1, 0.0, False)]

        self.P = {
            state: {0: outcomes(state // 2 - 1), 1: outcomes(state // 2 + 1)} for state in range(2 * CELLS)
        }  # the transition table, in the form of Gymnasium's toy-text environments

    def reset(self, *, seed=None, options=None):
        """At the desk, and all is quiet."""
        super().reset(seed=seed)
        self.state = 2 * DESK
        return self.state, {}

    def step(self, action):
        """Walk; the bell may ring."""
        quiet, rings = self.P[self.state][int(action)]
        self.state = (rings if self.np_random.random() < CHANCE else quiet)[1]
        return self.state, 0.0, False, False, {}


SPEC = rs.Spec(
    [("F G desk", 1), rs.Pair("G(bell -> F[0,10] door)", 0, veto=True)],
    atoms={
        "desk": lambda obs, action, next_obs: np.equal(next_obs // 2, DESK),
        "door": lambda obs, action, next_obs: np.equal(next_obs // 2, DOOR),
        "bell": lambda obs, action, next_obs: next_obs % 2,
    },
)
TASK = Task.from_env(Corridor, SPEC, max_episode_steps=STEPS)


def expected(tables: FiniteTables, policies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each policy is paid in an episode, and how probably it misses a deadline; exact, by going backwards.

    Args:
        tables: The product of the environment and the spec.
        policies: The action of each policy at each observation, shape (policies, observations).
    """
    actions = policies[:, tables.observed]
    nodes = np.arange(actions.shape[1])
    chances = np.diff(np.minimum(tables.chances, 1.0), prepend=0.0, axis=-1)[nodes, actions]
    successor, reward = tables.successor[nodes, actions], tables.reward[nodes, actions]
    paid, missed = np.zeros(actions.shape), np.zeros(actions.shape)
    every = np.arange(len(policies))[:, None, None]
    for step in range(STEPS):
        paid = np.sum(chances * (reward + paid[every, successor]), axis=-1)
        late = tables.violated[nodes, actions] if step == 0 else missed[every, successor]
        missed = np.sum(chances * late, axis=-1)
    (start,) = tables.starts
    return paid[:, start], missed[:, start]


def main(argv: list[str] | None = None) -> None:
    """Train both agents with several seeds, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=4000, help="of each run; default 4000")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each agent; default 20")
    arguments = parser.parse_args(argv)

    config = QLearning(
        episodes=arguments.episodes,
        max_steps=STEPS,
        learning_rate=0.1,
        discount=0.97,
        epsilon_decay=0.01 ** (1 / arguments.episodes),
        epsilon_min=0.01,
    )
    print(f"{'the agent sees':<20}{'observations':>12}   {'paid per episode':<22}deadline missed")
    for observe, sees in ((None, "cell, bell"), ("registers", "and the registers")):
        tables = finite_tables(TASK, SPEC, observe)
        training = train(TASK, SPEC, config=config, seeds=range(arguments.seeds), observe=observe)
        paid, missed = expected(tables, training.policy.arrays["table"].argmax(axis=-1))
        _print_row(sees, tables.observations, str(mean_over_runs(paid)), missed.mean())
        if observe is None:
            every = np.array(list(itertools.product(range(2), repeat=tables.observations)))
            paid, missed = expected(tables, every)
            best = paid.argmax()
            _print_row(f"  best of all {len(every):,}", "", f"{paid[best]:.4g}", missed[best])
        else:
            solution = solve(tables.product, 1.0, horizon=STEPS)
            _print_row("  best of all", "", f"{solution.values[tables.starts[0]]:.4g}")


def _print_row(sees: str, observations: int | str, paid: str, missed: float | None = None) -> None:
    shown = "" if missed is None else f"{missed:.1%}"
    print(f"{sees:<20}{observations:>12}   {paid:<22}{shown}".rstrip())


if __name__ == "__main__":
    main()

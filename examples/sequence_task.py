"""First a, then b, then c: an agent that sees the monitor's registers, and one that does not.

    python examples/sequence_task.py --episodes 300

All three lie at the ends of corridors that meet at the start.  Which way to turn there depends on what has been done
already, which the cell does not tell.  The monitor's registers do.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
from gridworld import Grid, play, q_learning

import rewardspec as rs

ROWS = ["███a███", "███.███", "b..S..c"]
STEPS = 40


def main(argv: list[str] | None = None) -> None:
    """Train both agents, and show what they do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=300, help="default 300")
    arguments = parser.parse_args(argv)

    grid = Grid(ROWS)
    # Each stage pays 1 once: `delta` pays the change of the value, and a stage's value never falls.
    stages = ["F a", "F(a & F b)", "F(a & F(b & F c))"]
    spec = rs.Spec([(stage, 1) for stage in stages], atoms={mark: grid.at(mark) for mark in "abc"}, payment="delta")
    print("\n".join(f"    {row}" for row in ROWS))
    for observe in (None, "registers"):
        limited = gym.wrappers.TimeLimit(grid, STEPS)
        env = rs.wrappers.MonitorReward(limited, spec, observe=observe)
        table = q_learning(env, arguments.episodes)
        moves, rewards, info = play(env, table)
        last = max((step for step, reward in enumerate(rewards) if reward), default=STEPS)
        print(f"\nregisters {'observed' if observe else 'not observed'}: {len(table)} observations")
        for stage, value in zip(stages, info["formula_values"].values(), strict=True):
            print(f"  {stage:<20}{'done' if value == 1 else 'not done'}")
        print(f"  {moves[: last + 1]}  paid {sum(rewards):g}")


if __name__ == "__main__":
    main()

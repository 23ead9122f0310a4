"""A hazard on the shortest way: ignored, priced, and forbidden.

    python examples/safety_veto.py --episodes 300

The robot should get to g soon, and w is a wet floor.  A weight on `G !w` is a price, and the robot pays it where the
short cut is worth more.  As a safety objective the same formula is a veto: after its violation nothing pays any more.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
from gridworld import MOVES, Grid, play, q_learning

import rewardspec as rs

ROWS = ["......", ".████.", "Swwwwg"]
STEPS = 40
SPECS = {
    "ignored": [("F g", 10)],
    "priced": [("F g", 10), rs.Pair("G !w", 0.5, veto=False)],
    "forbidden": [("F g", 10), rs.Pair("G !w", 0.5, veto=True)],
}


def main(argv: list[str] | None = None) -> None:
    """Train one agent for each spec, and draw the way it takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=300, help="default 300")
    arguments = parser.parse_args(argv)
    grid = Grid(ROWS)
    for name, pairs in SPECS.items():
        spec = rs.Spec(pairs, atoms={mark: grid.at(mark) for mark in "gw"})
        env = rs.wrappers.MonitorReward(gym.wrappers.TimeLimit(grid, STEPS), spec, observe="registers")
        moves, rewards, info = play(env, q_learning(env, arguments.episodes, optimism=120.0))
        vetoed = ", vetoed" if info["violated"] else ""
        print(f"{name}: return {sum(rewards):g}{vetoed}")
        print("\n".join(f"    {line}" for line in draw(grid, moves)))


def draw(grid: Grid, moves: str) -> list[str]:
    """The map, with an arrow on each cell that was left on the way to g."""
    cell, marks = grid.cells.index("S"), list(grid.cells)
    for move in moves:
        if marks[cell] == "g":
            break
        marks[cell] = move
        ((_, cell, _, _),) = grid.P[cell][list(MOVES).index(move)]
    return ["".join(marks[start : start + grid.width]) for start in range(0, len(marks), grid.width)]


if __name__ == "__main__":
    main()

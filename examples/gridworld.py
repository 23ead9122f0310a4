"""A small grid and a small learner, for `sequence_task.py` and `safety_veto.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import gymnasium as gym
import numpy as np

MOVES = {"↑": (-1, 0), "→": (0, 1), "↓": (1, 0), "←": (0, -1)}


class Grid(gym.Env):
    """A map to walk on: `S` is the start, `█` is a wall, and letters are places.

    Observations are cells, numbered row by row, and `P` is the transition table. An episode ends at a place of `ends`.
    """

    def __init__(self, rows: Sequence[str], ends: str = "") -> None:
        self.cells = "".join(rows)
        self.width, self.ends = len(rows[0]), ends
        self.observation_space = gym.spaces.Discrete(len(self.cells))
        self.action_space = gym.spaces.Discrete(len(MOVES))
        self.P = {
            cell: {action: [self._outcome(cell, *move)] for action, move in enumerate(MOVES.values())}
            for cell in range(len(self.cells))
        }
        self.initial_state_distrib = np.array([mark == "S" for mark in self.cells]) * 1.0

    def _outcome(self, cell: int, down: int, right: int) -> tuple[float, int, float, bool]:
        row, column = cell // self.width + down, cell % self.width + right
        inside = 0 <= row < len(self.cells) // self.width and 0 <= column < self.width
        new = row * self.width + column if inside else cell
        new = cell if self.cells[new] == "█" else new
        return 1.0, new, 0.0, self.cells[new] in self.ends

    def reset(self, *, seed=None, options=None):
        """Back to the start."""
        super().reset(seed=seed)
        self.cell = self.cells.index("S")
        return self.cell, {}

    def step(self, action):
        """Move, unless a wall is in the way."""
        ((_, self.cell, reward, terminated),) = self.P[self.cell][int(action)]
        return self.cell, reward, terminated, False, {}

    def at(self, mark: str) -> Callable:
        """The atom that holds at the places with this mark."""
        places = [cell for cell, other in enumerate(self.cells) if other == mark]
        return lambda obs, action, next_obs: np.isin(next_obs, places)


def q_learning(env: gym.Env, episodes: int, optimism: float = 0.0, seed: int = 0, discount: float = 0.9) -> np.ndarray:
    """A table of action values; an optimistic one tries everything that it has not yet seen to be worse."""
    rng = np.random.default_rng(seed)
    table = np.full((env.observation_space.n, env.action_space.n), optimism)
    for episode in range(episodes):
        state, _ = env.reset(seed=seed)
        explore, ended = max(0.05, 1 - 1.5 * episode / episodes), False
        while not ended:
            best = np.flatnonzero(table[state] == table[state].max())
            action = rng.integers(len(table[state])) if rng.random() < explore else rng.choice(best)
            new, reward, terminated, truncated, _ = env.step(int(action))
            target = reward + discount * table[new].max() * (not terminated)
            table[state, action] += 0.2 * (target - table[state, action])
            state, ended = new, terminated or truncated
    return table


def play(env: gym.Env, table: np.ndarray) -> tuple[str, list[float], dict]:
    """One episode of the learnt policy: its moves, its rewards, and what `info` says in the end."""
    state, info = env.reset(seed=0)
    moves, rewards, ended = "", [], False
    while not ended:
        action = int(table[state].argmax())
        state, reward, terminated, truncated, info = env.step(action)
        moves += list(MOVES)[action]
        rewards.append(reward)
        ended = terminated or truncated
    return moves, rewards, info

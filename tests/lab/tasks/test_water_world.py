"""The arrays of benchmarks/water_world.py, compared with the rules of the world written one ball at a time."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def water(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("water_world")


def plain_step(balls: list[list[float]], touched: set[int], action: int) -> tuple[set[int], set[int]]:
    """Move the balls, the agent first, in place; return the balls touched anew before the move, and all touched."""
    x, y = balls[0][:2]
    now = {k for k, (a, b, *_) in enumerate(balls) if k and math.hypot(a - x, b - y) <= 30}
    push = [(0, 0), (0, 30), (30, 0), (0, -30), (-30, 0)][action]
    for axis in range(2):
        balls[0][2 + axis] = max(-90, min(90, balls[0][2 + axis] + push[axis]))
    for ball in balls:
        for axis in range(2):
            ball[axis] += 0.1 * ball[2 + axis]
            if ball[axis] < 15 or ball[axis] > 385:
                ball[axis] = 15 if ball[axis] < 15 else 385
                ball[2 + axis] *= -1
    return now - touched, now


@pytest.mark.parametrize("board", [0, 4, 10])
def test_moves_and_touches(water: ModuleType, board: int) -> None:
    data = water.PUBLISHED["maps"][board]
    balls = [[*data["agent"], 0.0, 0.0], *(list(ball[1:]) for ball in data["balls"])]
    letters = [ball[0] for ball in data["balls"]]
    touched = {k for k, (a, b, *_) in enumerate(balls) if k and math.hypot(a - balls[0][0], b - balls[0][1]) <= 30}
    world = water.initial_world(board)
    world = world._replace(position=world.position.astype(float), velocity=world.velocity.astype(float))
    rng, events_seen = np.random.default_rng(board), 0
    for action in rng.integers(5, size=600):
        anew, touched = plain_step(balls, touched, int(action))
        world, events = water.move(world, action, np)
        assert {"abcdef"[k] for k in np.flatnonzero(events)} == {letters[k - 1] for k in anew}
        np.testing.assert_allclose(np.hstack([world.position, world.velocity]), balls, atol=2e-2)
        events_seen += len(anew)
    assert events_seen > 0


def test_the_machine(water: ModuleType) -> None:
    def after(state: int, letters: str) -> tuple[int, float, bool]:
        events = np.array([letter in letters for letter in "abcdef"])
        following, reward, ended = water.advance(np.array(state), events, np)
        return int(following), float(reward), bool(ended)

    edges = {(source, guard): (target, reward) for source, target, guard, reward in water.PUBLISHED["task"]["edges"]}
    for (source, guard), (target, reward) in edges.items():
        letters = "".join(part for part in guard.split("&") if not part.startswith("!"))
        following, paid, ended = after(source - 1, letters)
        assert (0 if ended else following + 1, paid) == (target, reward)
    assert after(0, "a") == (0, 0.0, True)
    assert after(1, "de") == (1, 0.0, True)
    assert after(2, "a") == (2, 1.0, True)

"""The arrays of benchmarks/water_world.py, compared with the rules of the world written one ball at a time."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def water() -> ModuleType:
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


def test_one_update_is_that_of_plain_variables(water: ModuleType) -> None:
    """Adam with each variable's gradient clipped, and double Q-learning, written one variable at a time."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    method, size = water.METHODS["crm"]._replace(learning_rate=1e-3), 8
    learner = water.first_learner(1, 0, method, size)._replace(step=np.int32(water.FIRST_UPDATE + 1))
    target = water.initial_network(1, 1)
    rng = np.random.default_rng(0)
    states = rng.integers([0, 0, 0, 0], [3, 5, 3, 2], (size, 4))
    rewards = 1e4 * rng.random((size, 1))
    seen = 100 * rng.random((size, 104))  # so large that some gradients are clipped
    sample = np.hstack([seen, states, rewards]).astype(np.float32)

    def variables(network: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        value, advantage = np.split(network["heads"], 2, axis=1)
        found = {name: network[name] for name in ("w0", "w1", "w2")} | water.small_variables(network, np)
        return found | {"value_w0": value, "advantage_w0": advantage}

    def values(network: Any, seen: Any, state: Any) -> Any:
        hidden = jnp.concatenate([seen, jnp.eye(3)[state]], 1)
        for k in range(3):
            hidden = jnp.maximum(hidden @ network[f"w{k}"] + network[f"b{k}"], 0.0)
        value, advantage = (
            jnp.maximum(hidden @ network[f"{name}_w0"] + network[f"{name}_b0"], 0.0)
            @ network[f"{name}_w1"].reshape(water.UNITS // 4, -1)
            + network[f"{name}_b1"]
            for name in ("value", "advantage")
        )
        return value + advantage - advantage.mean(1, keepdims=True)

    def loss(network: Any) -> Any:
        total = 0.0
        for seen, after, (state, action, following, ended), reward in zip(
            sample[:, :52], sample[:, 52:104], states, rewards[:, 0], strict=True
        ):
            best = values(variables(learner.network), after[None], following[None])[0].argmax()
            later = values(variables(target), after[None], following[None])[0][best]
            error = abs(values(network, seen[None], state[None])[0][action] - reward - 0.9 * (1 - ended) * later)
            total += jnp.where(error < 1, 0.5 * error**2, error - 0.5)
        return total / size

    before = variables(learner.network)
    gradients = jax.jit(jax.grad(loss))(before)
    network, moments = water.update(method, target, learner, sample)
    firsts, clipped = variables(moments[0]), []
    for name, gradient in gradients.items():
        norm = float(jnp.linalg.norm(gradient))
        clipped.append(norm > 10)
        gradient = np.asarray(gradient) * min(1.0, 10 / norm)
        np.testing.assert_allclose(firsts[name], 0.1 * gradient, atol=1e-4 * abs(gradient).max(), err_msg=name)
    assert any(clipped)
    for name, first in moments[0].items():
        step = 1e-3 * (first / 0.1) / (abs(first / 0.1) + 1e-8 / math.sqrt(1 - 0.999))
        np.testing.assert_allclose(network[name], learner.network[name] - step, atol=1e-6, err_msg=name)


def test_episodes_start_anew(water: ModuleType) -> None:
    """At the time limit the balls are back, and the agent has the push of its run."""
    jax = pytest.importorskip("jax")
    method, size = water.METHODS["crm"], 40
    learner = water.first_learner(3, 0, method, size)
    assert (learner.world.velocity[0] == 0).all()
    start = water.restarted_world(3, 0)
    assert start.velocity[0].tolist() in water.PUSH.tolist()
    step = jax.jit(lambda learner: water.one_step(method, None, learner.network, learner, start, jax.random.key(0)))
    for length in (water.LIMIT - 2, water.LIMIT - 1):
        begun = learner._replace(length=np.int32(length), state=np.int32(1), possible=np.array([False, True, False]))
        after, share = step(begun)
        ended = length == water.LIMIT - 1
        assert (float(share) == 0.0) is ended
        assert int(after.length) == (0 if ended else length + 1)
        assert np.array_equal(after.world.position, start.position) is ended
        assert np.array_equal(after.world.velocity, start.velocity) is ended
        assert int(after.stored) == 1


def test_every_map_has_its_own_first_network(water: ModuleType) -> None:
    first, second = (water.initial_network(0, board) for board in (1, 2))
    assert all(not np.array_equal(first[name], second[name]) for name in first)


JOB = {"method": "crm", "maps": [1], "seeds": [5], "steps": 250, "chunk": 100, "buffer": 64}


def test_a_training_starts_every_map_with_its_own_push(
    water: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("jax")
    started = []

    def restarted(board: int, seed: int) -> Any:
        started.append((board, seed))
        return water.initial_world(board)

    monkeypatch.setattr(water, "restarted_world", restarted)
    monkeypatch.setattr(water.signal, "signal", lambda number, handler: None)
    result = water.train({**JOB, "maps": [1, 2], "steps": 150}, tmp_path / "training.npz")
    assert started == [(1, 5), (2, 5)]
    assert result["runs"] == [(1, 5), (2, 5)]
    assert result["steps"] == 100
    assert np.array(result["curve"]).shape == (1, 2)


def test_a_training_goes_on_where_it_was_interrupted(
    water: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The networks after 200 steps are the same bit for bit, whether the training was interrupted or not."""
    pytest.importorskip("jax")
    handlers: list[Any] = []
    networks: list[Any] = []
    path, made, updates = tmp_path / "training.npz", water.make_program, 0
    monkeypatch.setattr(water, "FIRST_UPDATE", 50)
    monkeypatch.setattr(water.signal, "signal", lambda number, handler: handlers.append(handler))

    def observed(method: Any, chunk: int) -> Any:
        program = made(method, chunk)

        class Observed:
            def lower(self, *arguments: Any) -> Any:
                compiled = program.lower(*arguments).compile()

                def run(*arguments: Any) -> Any:
                    nonlocal updates
                    updates += 1
                    learners, shares = compiled(*arguments)
                    networks.append(np.asarray(learners.network["w1"]))
                    if updates == 1:
                        handlers[-1](15, None)
                    return learners, shares

                return SimpleNamespace(compile=lambda: run)

        return Observed()

    monkeypatch.setattr(water, "make_program", observed)
    first = water.train(JOB, path)
    assert first["steps"] == 100 < water.steps_of(JOB) == 200
    assert path.exists()
    second = water.train(JOB, path)
    assert second["steps"] == 200
    assert second["seconds"] > first["seconds"]
    assert not path.exists()
    whole = water.train(JOB, path)
    assert second["curve"] == whole["curve"]
    assert second["curve"][:1] == first["curve"]
    np.testing.assert_array_equal(networks[1], networks[3])
    assert not np.array_equal(networks[0], networks[1])


def test_methods_and_sizes_have_jobs_of_their_own(water: ModuleType) -> None:
    def jobs(*options: str) -> list[Any]:
        return water.jobs_of(water.parse(["--out", "results.jsonl", "--maps", "1", "2", "3", *options]))

    assert [(job["method"], job["maps"]) for job in jobs("--methods", "0", "1")] == [
        ("ql", [1, 2, 3]),
        ("crm", [1, 2, 3]),
    ]
    apart = jobs("--methods", "0", "1", "--together", "2", "--units", "16")
    assert [(job["method"], job["maps"]) for job in apart] == [
        ("ql", [1, 2]),
        ("crm", [1, 2]),
        ("ql", [3]),
        ("crm", [3]),
    ]
    assert {job["units"] for job in apart} == {16}


def test_maps_that_were_trained_apart_are_one_row(
    water: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"

    def add(board: int, curve: list[float], **job: Any) -> None:
        result = {"runs": [[board, 0]], "steps": 200, "every": 100, "curve": [[x] for x in curve], "seconds": 4.0}
        job = {"method": "crm", "maps": [board], "seeds": [0], "steps": 200, "chunk": 100, **job}
        water.append(path, job, {**result, "machine": "a machine"})

    add(3, [0.5, 1.0])
    add(1, [0.1, 0.4])
    add(2, [0.96, 0.96])
    add(2, [0.2, 0.3], units=16)
    large, small = water.load_methods(path)
    assert sorted(large["runs"]) == [[1, 0], [2, 0], [3, 0]]
    assert sorted(large["curve"][-1]) == [0.4, 0.96, 1.0]
    assert water.first_step(large) == 200
    assert small["job"]["units"] == 16
    water.report([large, small])
    printed = capsys.readouterr().out
    assert "| crm | 1,024 | 1, 2, 3 | 200 | 0.960 | 200 | 4 |" in printed
    assert "| crm | 16 | 2 | 200 | 0.300 | not | 4 |" in printed
    add(2, [0.6, 0.7], method="ql")
    water.report(water.load_methods(path))
    printed = capsys.readouterr().out
    assert "| crm | 1,024 | 2 | 200 | 0.960 | 100 | 4 |" in printed  # on the map that both were trained on
    assert "| ql | 1,024 | 2 | 200 | 0.700 | not | 4 |" in printed
    assert "| crm | 1,024 | 0.400 | 0.960 | 1.000 |" in printed
    assert "| crm | 16 | – | 0.300 | – |" in printed

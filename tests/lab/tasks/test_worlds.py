import json
from importlib import resources

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rewardspec as rs
from rewardspec import tasks
from rewardspec.finite.models import finite_model
from rewardspec.lab.tasks import worlds

DATA = json.loads(resources.files("rewardspec.lab.tasks.worlds").joinpath("reward_machines.json").read_text())
STEPS = {"up": (0, 1), "right": (1, 0), "down": (0, -1), "left": (-1, 0)}


def office_place(grid, cell):
    row, column = grid.cells[cell]
    return column, grid.shape[0] - 1 - row


def test_office_world_moves_as_the_data_say():
    grid, data = worlds.office_world(), DATA["office"]
    blocked = {(x, y, name) for x, y, name in data["blocked_moves"]}
    for cell in range(len(grid.cells)):
        x, y = office_place(grid, cell)
        for action, (name, (right, up)) in enumerate(STEPS.items()):
            expected = (x, y) if (x, y, name) in blocked else (x + right, y + up)
            assert office_place(grid, int(grid.successors[cell, action])) == expected
    found = {(*office_place(grid, k), letter) for k, event in enumerate(grid.events) for letter in event}
    assert found == {tuple(row) for row in data["objects"]}
    assert office_place(grid, grid.start) == tuple(data["start"])


@pytest.mark.parametrize("board", range(1, 12))
def test_craft_world_moves_within_its_wall(board):
    grid, data = worlds.craft_world(board), DATA["craft"]["maps"][board - 1]
    for cell, (row, column) in enumerate(grid.cells):
        for action, (down, right) in enumerate(((-1, 0), (0, 1), (1, 0), (0, -1))):
            inside = 0 < row + 1 + down < data["rows"] - 1 and 0 < column + 1 + right < data["columns"] - 1
            expected = (row + down, column + right) if inside else (row, column)
            assert grid.cells[grid.successors[cell, action]] == expected
    placed = {(r + 1, c + 1, letter) for (r, c), event in zip(grid.cells, grid.events, strict=True) for letter in event}
    assert placed == {tuple(row) for row in data["objects"]}


def test_nearness_falls_with_the_steps_that_have_to_be_taken():
    grid = worlds.office_world()
    for letter, steps in grid.steps_to.items():
        np.testing.assert_array_equal(steps == 0, grid.letters[letter] == 1)
        others = steps[grid.successors].min(axis=1)
        np.testing.assert_array_equal(steps[steps > 0], others[steps > 0] + 1)


@pytest.mark.parametrize(
    "env",
    [
        worlds.LabeledWorld(worlds.office_world()),
        worlds.OfficeWorld(),
        worlds.CraftWorld(10, board=4),
    ],
)
def test_gymnasium_finds_nothing_wrong(env):
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("unmatched", ["ends", "pays"])
def test_an_episode_pays_what_the_machine_pays_for_its_letters(unmatched):
    env = worlds.OfficeWorld(unmatched=unmatched)
    rng, ends = np.random.default_rng(0), 0
    obs, info = env.reset(seed=0)
    task, state = 0, 0
    for _ in range(3_000):
        machine = env.machines[task]
        assert env.task[obs] == task
        obs, reward, terminated, _, info = env.step(int(rng.integers(4)))
        state, expected = machine.step(state, {atom: atom in info["letters"] for atom in machine.atoms})
        assert (reward, terminated) == (expected, machine.ended(state))
        assert env.done[obs] == (state in machine.terminal)
        if terminated:
            ends += 1
            task = (task + 1) % 4
            obs, info = env.reset()
            state = env.machines[task].initial
    assert ends > 40


def test_the_model_is_what_the_environment_does():
    env = worlds.OfficeWorld(3, unmatched="ends")
    model = finite_model(env)
    columns = model.source, model.action, model.successor, model.reward, model.terminated
    rows = {(s, a): (t, r, e) for s, a, t, r, e in zip(*columns, strict=True)}
    rng = np.random.default_rng(1)
    obs, _ = env.reset(seed=0)
    for _ in range(500):
        action = int(rng.integers(4))
        after, reward, terminated, _, _ = env.step(action)
        assert rows[obs, action] == (after, reward, terminated)
        obs = env.reset()[0] if terminated else after


def test_a_task_can_be_asked_for_and_ids_are_known_to_gymnasium():
    env = gym.make("rewardspec/Office-v0")
    obs, _ = env.reset(options={"task": 2})
    assert env.unwrapped.task[obs] == 2
    obs, _ = env.reset()
    assert env.unwrapped.task[obs] == 3
    assert gym.make("rewardspec/Craft-v0", number=10, board=11).unwrapped.grid is worlds.craft_world(11)
    with pytest.raises(rs.Error, match="from 1 to 4"):
        worlds.OfficeWorld(5)
    with pytest.raises(rs.Error, match="from 1 to 11"):
        worlds.craft_world(12)


def test_the_audit_finds_the_plant_and_the_formula_aligned():
    base, formula = rs.audit.audit_task(tasks.get("office_1"))
    assert (base.reward, base.verdict, base.best.hazard) == ("base", "misaligned", 1.0)
    assert (formula.reward, formula.verdict, formula.best.hazard) == ("formula", "aligned", 0.0)


def test_the_map_of_an_audit_shows_rooms():
    from rewardspec.audit.grid_maps import draw_path, map_of

    env = tasks.get("office_1").make()
    start = env.unwrapped.start_of(0)
    lines = draw_path(map_of(env, start), [start, int(env.unwrapped.P[start][0][0][1])])
    assert lines[0].count("|") == 3
    assert "-" in lines[3]


@pytest.mark.parametrize("name", worlds.FURTHER)
def test_further_tasks_can_be_done_as_they_are_said(name):
    """Solved exactly, each has a way to do it, and that way satisfies the formula by its definition."""
    from rewardspec.audit.solving import solve
    from rewardspec.finite.products import build_product

    task = worlds.further_task(name)
    spec = task.spec("formula")
    product = build_product(finite_model(task.make()), spec)
    optimal = solve(product, 0.99).optimal[0]
    env = task.make()
    obs, _ = env.reset(seed=0)
    node, letters = int(product.starts[0]), [spec.labels(obs, None, obs)]
    for _ in range(60):
        action = int(optimal[node].argmax())
        after, *_ = env.step(action)
        letters.append(spec.labels(obs, action, after))
        node, obs = product.follow(node, action, int(after)), after
    values = rs.evaluate_prefixes(worlds.FURTHER[name].formula, {a: [one[a] for one in letters] for a in spec.atoms})
    assert max(values) == pytest.approx(1 / 3 if name == "degrees" else 1.0)


def test_straight_steps_are_never_more_than_those_around_walls():
    for grid in (worlds.office_world(), worlds.craft_world(2)):
        for letter, steps in grid.straight_steps_to.items():
            assert (steps <= grid.steps_to[letter]).all()
    assert all(
        (worlds.craft_world(2).straight_steps_to[a] == s).all() for a, s in worlds.craft_world(2).steps_to.items()
    )

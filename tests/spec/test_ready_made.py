"""Ready-made atoms say what the environments themselves know."""

import contextlib
import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Spec
from rewardspec.errors import UnknownEnvironmentError
from rewardspec.spec.atoms.ready_made import ATOMS, atoms_for

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "atoms.md"


def played(env_id: str, seeds: range, actions=None):
    """Random transitions: the environment itself, the labels and whether the episode terminated."""
    atoms = atoms_for(env_id)
    spec = Spec([(f"F {name}", 1) for name in atoms], atoms=atoms)
    with contextlib.closing(gym.make(env_id)) as env:
        for seed in seeds:
            draw = np.random.default_rng(seed)
            obs, _ = env.reset(seed=seed)
            spec.labels(obs, None, obs)
            for _ in range(300):
                action = draw.choice(actions) if actions is not None else env.action_space.sample()
                after, _, terminated, truncated, _ = env.step(action)
                yield env.unwrapped, spec.labels(obs, action, after), terminated
                obs = after
                if terminated or truncated:
                    break


@pytest.mark.parametrize(
    "env_id",
    ["MiniGrid-DoorKey-5x5-v0", "MiniGrid-LavaGapS5-v0", "MiniGrid-Fetch-5x5-N2-v0", "MiniGrid-BlockedUnlockPickup-v0"],
)
def test_atoms_of_minigrid(env_id):
    pytest.importorskip("minigrid")
    seen = set()
    actions = [0, 1, 2, 2, 2, 3, 4, 5]  # forward more often
    for world, labels, _ in played(env_id, range(30), actions):
        carried = None if world.carrying is None else world.carrying.type
        tile, front = world.grid.get(*world.agent_pos), world.grid.get(*world.front_pos)
        expected = {
            "carrying": carried is not None,
            **{f"carrying_{thing}": carried == thing for thing in ("key", "ball", "box")},
            **{
                f"facing_{thing}": front is not None and front.type == thing
                for thing in ("wall", "door", "key", "ball", "box", "goal", "lava")
            },
            "door_open": front is not None and front.type == "door" and front.is_open,
            "at_goal": tile is not None and tile.type == "goal",
            "in_lava": tile is not None and tile.type == "lava",
        }
        assert {name: labels[name] == 1 for name in expected} == expected
        assert labels["sees_open_door"] >= labels["door_open"]
        seen |= {name for name, label in labels.items() if label == 1}
    wanted = {
        "MiniGrid-DoorKey-5x5-v0": {"carrying_key", "door_open", "at_goal"},
        "MiniGrid-LavaGapS5-v0": {"in_lava", "facing_lava"},
    }
    assert wanted.get(env_id, {"carrying"}) <= seen


@pytest.mark.parametrize("env_id", ["MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1"])
def test_the_goal_is_where_the_environment_terminates(env_id):
    (goal,) = {"at_flag", "swung_up"} & set(atoms_for(env_id))
    for world, labels, terminated in played(env_id, range(2)):
        assert labels[goal] == terminated
        if "high" in labels and "Car" in env_id:
            assert labels["high"] == pytest.approx(world._height(world.state[0]), abs=1e-6)
    spec = Spec([(f"F {goal}", 1)], atoms=atoms_for(env_id, goal))
    up = np.array([-1.0, 0.0, 1.0, 0.0, 0.0, 0.0]) if goal == "swung_up" else np.array([0.6, 0.0])
    assert spec.labels(up, 0, up) == {goal: 1.0}


def test_postures_are_graded():
    for world, labels, terminated in played("CartPole-v1", range(5)):
        angle, place = abs(world.state[2]), abs(world.state[0])
        assert labels["upright"] == pytest.approx(1 - min(angle / 0.2095, 1), abs=1e-6)
        assert labels["centered"] == pytest.approx(1 - place / 2.4, abs=1e-6)
        if terminated:
            assert min(labels["upright"], labels["centered"]) < 0.01
    for world, labels, _ in played("Pendulum-v1", range(1)):
        assert labels["upright"] == pytest.approx((1 + np.cos(world.state[0])) / 2, abs=1e-6)


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3"])
def test_atoms_of_box2d(env_id):
    pytest.importorskip("Box2D")
    for world, labels, _ in played(env_id, range(2)):
        touching = [
            bool(getattr(leg, "ground_contact", False)) for leg in world.legs
        ]  # BipedalWalker has upper legs too
        expected = {"landed": all(touching), "touches_ground": any(touching)}
        (name,) = set(expected) & set(labels)
        assert labels[name] == expected[name]


def test_what_is_not_there_is_told():
    with pytest.raises(UnknownEnvironmentError, match="no ready-made atoms for 'Chess-v0', only for MiniGrid"):
        atoms_for("Chess-v0")
    with pytest.raises(UnknownEnvironmentError, match="Did you mean 'carrying_key'"):
        atoms_for("MiniGrid-Empty-5x5-v0", "carrying_keys")


def test_the_guide_lists_all_of_them():
    rows = re.findall(r"^\| (.*?) \| `(\w+)` \| `(.*?)`", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    listed = {(env, name): text for env, name, text in rows}
    expected = {}
    for start, atoms in ATOMS.items():
        if start != "BabyAI-":
            for name, written in atoms.items():
                expected[start.rstrip("-"), name] = written if isinstance(written, str) else written["expression"]
    assert listed == expected

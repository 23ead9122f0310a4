"""MiniGrid's DoorKey: fetch the key, open the door, reach the goal within 100 steps; paid at the end, or for progress.

`python examples/doorkey.py` wraps the environment, walks through it once, and explains what each spec paid. To train
with each, in this folder, and to say how many steps it took to 90 % success (`doorkey:LARGEST` for eight by eight
tiles, with more steps):

    rewardspec compare doorkey:LARGER --no-base --seeds 4 --steps 300000 --set envs=16 --set minibatches=8 \
        --set learning_rate=1e-3 --set anneal=false -o larger-runs
    python doorkey.py larger-runs
"""

from __future__ import annotations

import sys

import gymnasium as gym
import minigrid  # noqa: F401 - registers its environments
import numpy as np
from minigrid.core.constants import OBJECT_TO_IDX, STATE_TO_IDX
from minigrid.wrappers import FullyObsWrapper

import rewardspec as rs
from rewardspec.lab.experiments.results import open_results
from rewardspec.lab.tasks import Ending, Measure, Task

KINDS = ("wall", "door", "key", "goal", "agent")
LEFT, RIGHT, FORWARD, PICKUP, TOGGLE = 0, 1, 2, 3, 5


class Tiles(gym.ObservationWrapper):
    """The whole grid as zeros and ones: each tile of each kind, then whether the door is open, then the direction."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        height, width, _ = env.observation_space["image"].shape
        self.observation_space = gym.spaces.MultiBinary(len(KINDS) * height * width + 5)
        self._kinds = np.array([[OBJECT_TO_IDX[kind]] for kind in KINDS])

    def observation(self, obs: dict) -> np.ndarray:
        """The grid, the door and the direction."""
        kinds, states = obs["image"][..., 0].ravel(), obs["image"][..., 2].ravel()
        closed = ((kinds == OBJECT_TO_IDX["door"]) & (states != STATE_TO_IDX["open"])).any()
        return np.concatenate(
            [(kinds == self._kinds).ravel(), [not closed], obs["direction"] == np.arange(4)], dtype=np.int8
        )


def make(size: int = 5, **options) -> gym.Env:
    """DoorKey, fully observed; the agent's own view is small, because nobody looks through it."""
    env = gym.make(f"MiniGrid-DoorKey-{size}x{size}-v0", max_steps=100, agent_view_size=3, **options)
    return Tiles(FullyObsWrapper(env))


def make_larger(**options) -> gym.Env:
    """The same on six by six tiles."""
    return make(6, **options)


def make_largest(**options) -> gym.Env:
    """The same on eight by eight tiles."""
    return make(8, **options)


def on_the_grid(obs: np.ndarray, kind: str) -> np.ndarray:
    """Whether something of this kind is to be seen; for one observation or a batch."""
    tiles = obs[..., :-5].reshape(*obs.shape[:-1], len(KINDS), -1)
    return tiles[..., KINDS.index(kind), :].any(axis=-1)


def key(obs, action, next_obs):
    """The key is in the agent's hands: it lies nowhere."""
    return ~on_the_grid(next_obs, "key")


def door(obs, action, next_obs):
    """The door is open."""
    return next_obs[..., -5]


def goal(obs, action, next_obs):
    """The agent stands on the goal."""
    return ~on_the_grid(next_obs, "goal")


def success(end: Ending):
    """The environment itself paid, which it does at the goal alone."""
    return end.base_return > 0


ATOMS = {"key": key, "door": door, "goal": goal}
ORDER, IN_TIME = rs.patterns.sequence("key", "door", "goal"), rs.patterns.within("goal", 100)
PAIRS = {
    "sparse": [rs.Pair(ORDER & IN_TIME, 1, name="task")],
    "guided": [
        rs.Pair(ORDER, 0.5, name="order", progress=True),
        rs.Pair(IN_TIME, 0.5, name="in time", veto=False),
    ],
    "progress": [rs.Pair(ORDER & IN_TIME, 1, name="task", progress=True)],
}
SPECS = {name: rs.Spec(pairs, ATOMS, payment="delta") for name, pairs in PAIRS.items()}
MEASURES = {"success": Measure(success, reads="ending")}
DOORKEY = Task.from_env(make, SPECS, name="doorkey", title="DoorKey 5×5", measures=MEASURES)
LARGER = Task.from_env(make_larger, SPECS, name="doorkey6", title="DoorKey 6×6", measures=MEASURES)
TWO = {name: SPECS[name] for name in ("sparse", "guided")}
LARGEST = Task.from_env(make_largest, TWO, name="doorkey8", title="DoorKey 8×8", measures=MEASURES)


def play(spec: rs.Spec) -> str:
    """Why each step of an episode with a plan for seed 0, after some idle turns, paid what it paid."""
    env = rs.wrappers.MonitorReward(make(), spec, record=True)
    env.reset(seed=0)
    fetch, unlock = [RIGHT, PICKUP], [FORWARD, FORWARD, RIGHT, TOGGLE]
    through = [FORWARD, FORWARD, RIGHT, FORWARD, FORWARD]
    for action in [LEFT] * 20 + fetch + [LEFT] * 16 + unlock + [LEFT] * 12 + through:
        env.step(action)
    return str(env.explain())


def steps_to(share: float, success: np.ndarray, end_step: np.ndarray, episodes: int = 100) -> float:
    """After how many steps a run first had this share of successes among its last episodes; infinite where never."""
    if len(success) < episodes:
        return np.inf
    means = np.convolve(success, np.full(episodes, 1 / episodes), "valid")
    reached = np.flatnonzero(means >= share)
    return float(end_step[episodes - 1 + reached[0]]) if len(reached) else np.inf


def report(directory: str, share: float = 0.9) -> None:
    """Print how many steps each reward took to so much success, and the ratios."""
    _, cells = open_results(directory, references=True)  # the environment is this file
    medians: dict[str, float] = {}
    print(f"steps to {share:.0%} success among 100 episodes")
    for cell in cells:
        log, runs, budget = cell.log, range(cell.log.runs), cell.config["total_steps"]
        found = [
            steps_to(share, log.measures["success"][rows], log.end_step[rows]) for rows in map(log.episodes_of, runs)
        ]
        medians[cell.reward] = float(np.median(found))
        never = sum(np.isinf(steps) for steps in found)
        least, most = min(found), max(found)
        print(
            f"{cell.reward:<10} median {medians[cell.reward]:>9,.0f}   from {least:>7,.0f} to {most:>7,.0f}   "
            f"{log.runs} runs, {never} of them never"
        )
    for name, steps in medians.items():
        if name != "sparse":  # which may need more than there was
            less = "less than " * bool(np.isinf(medians["sparse"]) and np.isfinite(steps))
            print(f"{name} / sparse: {less}{steps / min(medians['sparse'], budget):.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        report(sys.argv[1])
    else:
        print("\n\n".join(f"{name}\n{play(spec)}" for name, spec in SPECS.items()))

"""Draw docs/images/episodes/NAME.png: a short episode of each of the twelve environments under its quantitative spec.

The finite environments are played by the policy that serves their task best; the others by simple hand-written rules.

Run from anywhere: python docs/scripts/episodes.py [NAME …]
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rewardspec import tasks
from rewardspec.audit.intent import aims_of
from rewardspec.audit.optimal_policies import Episodes
from rewardspec.finite.models import finite_model
from rewardspec.finite.products import base_spec, build_product
from rewardspec.lab.tasks.task import Task

FOLDER = Path(__file__).resolve().parent.parent / "images" / "episodes"
INK, ATOM, VALUE, REWARD = "#333344", "#9aa5b8", "#5b3fa8", "#d65438"
MAX_STEPS = 240


def acrobot(obs: Any, env: Any) -> Any:
    """Push the second link the way it swings."""
    return 2 if obs[5] > 0 else 0


def cart_pole(obs: Any, env: Any) -> Any:
    """Keep the pole upright, and lean it a little towards the goal."""
    position, speed, angle, turning = obs
    lean = 0.03 * np.clip(2.0 - position - 1.5 * speed, -1.0, 1.0)
    return int(angle - lean + 0.4 * turning > 0)


def mountain_car(obs: Any, env: Any) -> Any:
    """Accelerate the way the car moves."""
    return 2 if obs[1] >= 0 else 0


def pendulum(obs: Any, env: Any) -> Any:
    """Pump energy while hanging, and balance when nearly upright."""
    cos, sin, speed = (float(x) for x in obs)
    angle = math.atan2(sin, cos)
    energy = speed**2 / 6.0 + 5.0 * (cos - 1.0)
    torque = -14.0 * angle - 3.0 * speed if cos > 0.9 else -2.0 * energy * math.copysign(1.0, speed)
    return np.array([np.clip(torque, -2.0, 2.0)], dtype=np.float32)


def bipedal_walker(obs: Any, env: Any) -> Any:
    """Stand still, with the motors off but for a slight stretch of the knees."""
    return np.array([0.0, 0.3, 0.0, 0.3], dtype=np.float32)


def lunar_lander(obs: Any, env: Any) -> Any:
    """Gymnasium's own rule."""
    from gymnasium.envs.box2d.lunar_lander import heuristic

    return heuristic(env.unwrapped, obs)


RULES: dict[str, Callable[[Any, Any], Any]] = {
    rule.__name__: rule for rule in (acrobot, cart_pole, mountain_car, pendulum, bipedal_walker, lunar_lander)
}


def main(names: list[str]) -> None:
    """Draw the episodes of the environments of these names, or of all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or tasks.names("paper"):
        task = tasks.get(name)
        labels, values, rewards = play(task)
        figure = draw(task, labels, values, rewards)
        figure.savefig(FOLDER / f"{task.name}.png", dpi=90, metadata={"Software": None})


def play(task: Task) -> tuple[dict[str, list[float]], list[tuple[float, ...]], list[float]]:
    """One episode: the labels and the formulas' values from the reset on, and what each step paid."""
    spec = task.spec("quantitative")
    env = task.make(disable_env_checker=True)
    act = planned(task) if task.name not in RULES else RULES[task.name]
    obs, _ = env.reset(seed=2)
    state = spec.start(spec.labels(obs, None, obs))
    rows, values, rewards = [spec.labels(obs, None, obs)], [spec.values(state)], []
    for _ in range(MAX_STEPS):
        action = act(obs, env)
        next_obs, base, terminated, truncated, _ = env.step(action)
        rows.append(spec.labels(obs, action, next_obs))
        state, reward = spec.step(state, rows[-1], float(base), terminated, truncated)
        values.append(spec.values(state))
        rewards.append(reward)
        obs = next_obs
        if terminated or truncated or (task.name == "conveyor_belt" and len(rewards) == 8):
            break
    env.close()
    return {atom: [row[atom] for row in rows] for atom in spec.atoms}, values, rewards


def planned(task: Task) -> Callable[[Any, Any], Any]:
    """The policy that serves a finite task best."""
    model = finite_model(task.make())
    product = build_product(model, base_spec())
    policy = Episodes(product, aims_of(task, model), task.max_episode_steps, 1.0).best_case_policy()
    nodes = {int(state): node for node, state in enumerate(product.state)}  # one node a state: base has no memory
    steps = iter(range(task.max_episode_steps))
    return lambda obs, env: int(policy.actions[next(steps)][nodes[int(obs)]])


def draw(task: Task, labels: dict[str, list[float]], values: list[tuple[float, ...]], rewards: list[float]) -> Figure:
    """One strip for each atom, one for each formula's value, and the reward at the bottom."""
    formulas = [str(pair.formula) for pair in task.specs["quantitative"].pairs]
    strips = [(textwrap.fill(name, 34), column, ATOM) for name, column in labels.items()]
    strips += [(textwrap.fill(f, 34), column, VALUE) for f, column in zip(formulas, np.array(values).T, strict=True)]
    ratios = [0.3 + 0.2 * name.count("\n") for name, _, _ in strips] + [0.9]
    figure = Figure(figsize=(7.2, sum(ratios) + 0.16 * len(ratios) + 0.7), layout="constrained")
    axes = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios)
    steps = np.arange(len(values))
    for axis, (name, column, colour) in zip(axes, strips, strict=False):
        axis.fill_between(steps, column, step="mid", color=colour, alpha=0.65, linewidth=0)
        axis.set_ylabel(name, rotation=0, ha="right", va="center", color=INK, fontsize=8)
        axis.set_yticks([])
        axis.set_ylim(0, 1.05)
    axes[-1].step(steps[1:], rewards, where="mid", color=REWARD, linewidth=1.6)
    axes[-1].set_ylabel("reward", rotation=0, ha="right", va="center", color=INK, fontsize=8)
    axes[-1].set_xlabel("step", color=INK, fontsize=8)
    axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=7, colors=INK)
        axis.margins(x=0.01)
    axes[0].set_title(f"{task.title}: return {sum(rewards):,.1f} in {len(rewards)} steps", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])

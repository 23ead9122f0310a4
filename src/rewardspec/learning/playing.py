"""Playing a learned policy in the real environment, one step at a time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any, cast

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.features import Observe
from rewardspec.errors import Error
from rewardspec.learning.finite_tables import finite_tables
from rewardspec.learning.networks import HIDDEN, forward
from rewardspec.learning.policies import Policy
from rewardspec.learning.rollouts import normalized
from rewardspec.tasks import registry
from rewardspec.tasks.task import Task, base_spec
from rewardspec.wrappers.monitor_reward import MonitorReward


@dataclasses.dataclass(frozen=True)
class Episode:
    """A played episode.

    Attributes:
        observations: The environment's own, the first included.
        actions: The actions.
        rewards: What each step paid.
        task_completion: The measure of success at the end.
        frames: Pictures, one for each observation, where they were asked for.
    """

    observations: list[Any]
    actions: list[Any]
    rewards: list[float]
    task_completion: float
    frames: list[NDArray[np.uint8]]


def play(policy: Policy, *, run: int = 0, seed: int = 0, pictures: bool = False) -> Episode:
    """One episode, by the action the policy thinks best at every step.

    Args:
        policy: The policies.
        run: The number of the run whose policy plays.
        seed: Seed of the reset.
        pictures: Whether to keep a picture of every step.
    """
    if not 0 <= run < len(policy.seeds):
        raise Error(f"There are policies of runs 0 to {len(policy.seeds) - 1}. Received {run!r}.")
    task = registry.get(policy.task)
    own: gym.Env[Any, Any] = task.make(**({"render_mode": "rgb_array"} if pictures else {}))
    observe = cast("Observe | None", policy.observe if policy.kind == "network" and policy.spec is not None else None)
    with contextlib.closing(own):
        env = MonitorReward(own, base_spec() if policy.spec is None else policy.spec, observe=observe)
        seen, _ = env.reset(seed=seed)
        choose = _chooser(policy, task, run, seen, own.action_space)
        size = np.shape(seen)[-1] if np.shape(seen) else None
        own_size = None if size is None else int(np.prod(own.observation_space.shape or ()))
        observations, actions, rewards = [_own(seen, own_size)], list[Any](), list[float]()
        frames: list[NDArray[np.uint8]] = []
        if pictures:
            frames.append(cast("NDArray[np.uint8]", env.render()))
        action, over = None, False
        info: dict[str, Any] = {}
        while not over:
            action = choose(seen, action)
            seen, reward, terminated, truncated, info = env.step(action)
            observations.append(_own(seen, own_size))
            actions.append(action)
            rewards.append(float(reward))
            if pictures:
                frames.append(cast("NDArray[np.uint8]", env.render()))
            over = terminated or truncated
    return Episode(observations, actions, rewards, float(info["task_completion"]), frames)


def _own(seen: Any, size: int | None) -> Any:
    """An observation without the monitor's numbers."""
    return seen if size is None else seen[:size]


def _chooser(policy: Policy, task: Task, run: int, first: Any, actions: Any) -> Callable[[Any, Any], Any]:
    """The next action, from what is seen now and the action that led here."""
    if policy.kind == "table":
        return _table_chooser(policy, task, run, first)
    return _network_chooser(policy, run, actions)


def _table_chooser(policy: Policy, task: Task, run: int, first: Any) -> Callable[[Any, Any], Any]:
    tables = finite_tables(task, policy.spec, policy.observe)
    product, values = tables.product, policy.arrays["table"][run]
    node = int(product.starts[np.flatnonzero(product.model.starts == int(first))[0]])

    def choose(seen: Any, action: Any) -> int:
        nonlocal node
        if action is not None:
            after = product.follow(node, action, int(seen))
            assert after is not None, "an episode that ended is not asked for an action"
            node = after
        return int(np.argmax(values[tables.observed[node]]))

    return choose


def _network_chooser(policy: Policy, run: int, actions: Any) -> Callable[[Any, Any], Any]:
    layers = {name: policy.arrays[name][run] for k in range(len(HIDDEN) + 1) for name in (f"w{k}", f"b{k}")}
    continuous = "log_std" in policy.arrays

    def choose(seen: Any, action: Any) -> Any:
        obs = np.asarray(seen, dtype=np.float32)
        if "mean" in policy.arrays:
            obs = normalized(obs, policy.arrays["mean"][run], policy.arrays["variance"][run])
        outputs = forward(layers, obs, np)
        return np.clip(outputs, actions.low, actions.high) if continuous else int(np.argmax(outputs))

    return choose

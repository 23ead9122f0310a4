"""The wrapper that tells at the end of an episode how much of the task was done."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym

from rewardspec.errors import MissingExtraError
from rewardspec.tasks import registry
from rewardspec.tasks.task import Task


class TaskCompletion(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Puts `info["task_completion"]`, in [0, 1], on the last step of an episode, and on no other.

    The measure is for evaluation: neither the observation nor the reward lets the agent see it. Learners that hold
    batches of observations call `task.task_completion` on the last ones instead.

    Example:
        >>> env = gym.make("rewardspec/FrozenLake-v0")
        >>> _ = env.reset(seed=0)
        >>> for action in [2, 2, 1, 1, 1, 2]:  # right, right, down, down, down, right
        ...     *_, info = env.step(action)
        >>> info["task_completion"]
        1.0
    """

    def __init__(self, env: gym.Env[Any, Any], task: str | Task) -> None:
        """Wrap an environment.

        Args:
            env: The environment.
            task: The task it poses, or the task's name.
        """
        self.task = registry.get(task)
        gym.utils.RecordConstructorArgs.__init__(self, task=self.task.name)
        gym.Wrapper.__init__(self, env)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """The environment's step, with the task completion in `info` when the episode ends."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            info = {**info, "task_completion": float(self.task.task_completion(obs))}
        return obs, reward, terminated, truncated, info

    def render(self) -> Any:
        """The environment's picture.

        Raises:
            MissingExtraError: The environment draws with pygame, which is not installed.
        """
        try:
            return self.env.render()
        except gym.error.DependencyNotInstalled as error:
            raise MissingExtraError("pygame", "envs", f"A picture of {self.task.title}") from error

"""The wrapper that tells at the end of an episode how well it did by a task's measures."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym

from rewardspec.errors import MissingExtraError
from rewardspec.spec.spec import Spec
from rewardspec.tasks import registry
from rewardspec.tasks.measures import Ending
from rewardspec.tasks.task import Task


class TaskCompletion(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Puts a task's measures, by name, into `info["measures"]` on the last step of an episode, and on no other.

    A measure called `task_completion`, as the paper's evaluation has it, is also `info["task_completion"]`. Measures
    are for evaluation: neither the observation nor the reward lets the agent see them. Learners that hold batches of
    episodes call the measures themselves.

    Example:
        >>> env = gym.make("rewardspec/FrozenLake-v0")
        >>> _ = env.reset(seed=0)
        >>> for action in [2, 2, 1, 1, 1, 2]:  # right, right, down, down, down, right
        ...     *_, info = env.step(action)
        >>> info["measures"], info["task_completion"]
        ({'task_completion': 1.0}, 1.0)
    """

    def __init__(self, env: gym.Env[Any, Any], task: str | Task) -> None:
        """Wrap an environment.

        Args:
            env: The environment.
            task: The task it poses, or the task's name.
        """
        self.task = registry.get(task)
        gym.utils.RecordConstructorArgs.__init__(self, task=task)
        gym.Wrapper.__init__(self, env)
        self._formulas = formula_measures(self.task)
        self._obs: Any = None
        self._state: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and start measuring."""
        self._obs, info = self.env.reset(seed=seed, options=options)
        self._length, self._return = 0, 0.0
        if self._formulas is not None:
            self._state = self._formulas.start(self._formulas.labels(self._obs, None, self._obs))
        return self._obs, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """The environment's step, with the measures in `info` when the episode ends."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._length += 1
        self._return += float(reward)
        if self._formulas is not None:
            self._state, _ = self._formulas.step(self._state, self._formulas.labels(self._obs, action, obs))
            self._obs = obs
        if terminated or truncated:
            measures = self._measured(Ending(obs, self._length, self._return, terminated, info))
            info = {**info, "measures": measures}
            if "task_completion" in measures:
                info["task_completion"] = measures["task_completion"]
        return obs, reward, terminated, truncated, info

    def _measured(self, ending: Ending) -> dict[str, float]:
        values = iter(() if self._state is None else self._state.values)
        return {
            name: float(next(values) if measure.formula is not None else measure(ending))
            for name, measure in self.task.measures.items()
        }

    def render(self) -> Any:
        """The environment's picture.

        Raises:
            MissingExtraError: The environment draws with pygame, which is not installed.
        """
        try:
            return self.env.render()
        except gym.error.DependencyNotInstalled as error:
            raise MissingExtraError("pygame", "envs", f"A picture of {self.task.title}") from error


def formula_measures(task: Task) -> Spec | None:
    """A spec whose values are those of a task's measures that are formulas, in their order; None where none is.

    It is stepped beside an episode for its values alone: what it pays means nothing.
    """
    formulas = [measure.formula for measure in task.measures.values() if measure.formula is not None]
    return Spec([(formula, 1.0, False) for formula in formulas], atoms=task.atoms) if formulas else None

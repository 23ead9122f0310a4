"""Measures of success: how well an episode did, told at its end; for evaluation, never for the learner."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsFloat, TypeAlias

import gymnasium as gym

from rewardspec.episodes.engine import Episode
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import MissingExtraError
from rewardspec.logic.formulas import Formula, FormulaLike, as_formula
from rewardspec.spec.spec import Spec

if TYPE_CHECKING:
    from rewardspec.lab.tasks.task import Task


class Ending(NamedTuple):
    """The end of an episode, or of a batch of episodes: then every entry has one value for each.

    Attributes:
        obs: The last observation.
        length: Steps of the episode.
        base_return: Sum of the environment's own rewards.
        terminated: Whether it ended for good, and was not cut off.
        info: The last `info`, where one environment is stepped at a time.
    """

    obs: Any
    length: Any
    base_return: Any
    terminated: Any
    info: Any = None


Reads: TypeAlias = Literal["last_obs", "ending", "formula"]


@dataclasses.dataclass(frozen=True)
class Measure:
    """A measure of success.

    Attributes:
        of: A function of the last observation, or of the `Ending`, written with array operations so that it serves one
            episode and a batch; or a formula over the task's atoms, whose value at the end of the episode counts.
        words: What is measured, in a sentence; by default the first line of the function's docstring.
        reads: Which of the three it is: `"last_obs"`, `"ending"` or `"formula"`.
        share: Whether it lies in [0, 1], so that tables show it in percent.

    Example:
        >>> Measure(lambda obs: obs == 15)(Ending(obs=15, length=6, base_return=1.0, terminated=True))
        1.0
        >>> quick = Measure(lambda ending: ending.length < 10, "Done in fewer than ten steps.", reads="ending")
        >>> quick(Ending(obs=15, length=6, base_return=1.0, terminated=True))
        1.0
        >>> Measure.of_formula("F goal").formula
        parse('F goal')
    """

    of: Callable[[Any], Any] | Formula
    words: str = ""
    reads: Reads = "last_obs"
    share: bool = True

    def __post_init__(self) -> None:
        if not self.words:
            object.__setattr__(self, "words", (self.of.__doc__ or "").strip().split("\n")[0])

    @classmethod
    def of_formula(cls, formula: FormulaLike, words: str = "") -> Measure:
        """The value of a formula over the task's atoms at the end of an episode."""
        return cls(as_formula(formula), words or f"Value of `{formula}` at the end.", reads="formula")

    @classmethod
    def of_return(cls, threshold: float | None = None, words: str = "") -> Measure:
        """The sum of the environment's own rewards or, with a threshold, whether it is at least that much.

        Example:
            >>> Measure.of_return(-100.0)(Ending(obs=None, length=90, base_return=-89.0, terminated=True))
            1.0
        """
        if threshold is None:
            return cls(lambda ending: ending.base_return, words or RETURN.words, "ending", share=False)
        return cls(lambda ending: ending.base_return >= threshold, words, "ending")

    @property
    def formula(self) -> Formula | None:
        """The formula that is measured, or None."""
        return self.of if isinstance(self.of, Formula) else None

    def __call__(self, ending: Ending) -> Any:
        """The measure of one episode, a float, or of each of a batch, an array; formulas need the whole episode."""
        if isinstance(self.of, Formula):
            raise TypeError(f"The value of `{self.of}` is not told by the end of an episode alone.")
        value = self.of(ending.obs if self.reads == "last_obs" else ending)
        return value * 1.0


RETURN = Measure(lambda ending: ending.base_return, "Sum of the environment's own rewards.", "ending", share=False)
"""The measure of a task that brings none."""


class RecordMeasures(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
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
        ({'task_completion': 1.0, 'own_criterion': 1.0}, 1.0)
    """

    def __init__(self, env: gym.Env[Any, Any], task: str | Task) -> None:
        """Wrap an environment.

        Args:
            env: The environment.
            task: The task it poses, or the task's name.
        """
        from rewardspec.lab.tasks.registry import get

        self.task = get(task)
        gym.utils.RecordConstructorArgs.__init__(self, task=task, _disable_deepcopy=True)
        gym.Wrapper.__init__(self, env)
        formulas = formula_measures(self.task)
        self._episode = None if formulas is None else Episode(formulas)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and start measuring."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._length, self._return = 0, 0.0
        if self._episode is not None:
            self._obs = copied(obs)
            self._state, _ = self._episode.start(obs, info)
        return obs, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """The environment's step, with the measures in `info` when the episode ends."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._length += 1
        self._return += float(reward)
        if self._episode is not None:
            self._state, _ = self._episode.advance(self._state, self._obs, action, obs, info)
            self._obs = copied(obs)
        if terminated or truncated:
            measures = self._measured(Ending(obs, self._length, self._return, terminated, info))
            info = {**info, "measures": measures}
            if "task_completion" in measures:
                info["task_completion"] = measures["task_completion"]
        return obs, reward, terminated, truncated, info

    def _measured(self, ending: Ending) -> dict[str, float]:
        values = iter(() if self._episode is None else self._episode.spec.values(self._state))
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

"""Measures of success: how well an episode did, told at its end; for evaluation, never for the learner."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from rewardspec.logic.formulas import Formula, FormulaLike, as_formula


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
        words: What is measured, in a sentence.
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

    @classmethod
    def of_formula(cls, formula: FormulaLike, words: str = "") -> Measure:
        """The value of a formula over the task's atoms at the end of an episode."""
        return cls(as_formula(formula), words or f"Value of `{formula}` at the end.", reads="formula")

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

"""Measures of success, computed at the end of an episode; for evaluation only, hidden from the learner."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsFloat, TypeAlias

import gymnasium as gym

from rewardspec.episodes.engine import Engine, Transition
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import MissingExtraError
from rewardspec.logic.formulas import LAST, And, Eventually, Formula, FormulaLike, as_formula
from rewardspec.logic.fragments import is_past
from rewardspec.machines.effort_limit import DEFAULT_REGISTERS
from rewardspec.renamed import renamed_constructor
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, Environment, Info, InfoDict, Number, Observation, ResetOptions
from rewardspec.wrappers.monitor_reward import reward_as_number

if TYPE_CHECKING:
    from rewardspec.lab.tasks.task import Task


class Ending(NamedTuple):
    """The end of an episode, or of a batch of n episodes, with arrays of shape (n,).

    Attributes:
        obs: The last observation.
        length: Number of steps.
        base_return: Sum of the environment's own rewards.
        terminated: Whether the episode terminated; otherwise it was truncated.
        info: The last `info`, or None in a batch.
    """

    obs: Observation
    length: Number
    base_return: Number
    terminated: Number
    info: Info | None = None


Reads: TypeAlias = Literal["last_obs", "ending", "formula"]


@dataclasses.dataclass(frozen=True)
class Measure:
    """A measure of success.

    Attributes:
        of: A function of the last observation or of the `Ending`, which also takes batches; or a formula over the
            task's atoms, measured by its value at the end of the episode.
        words: Description in a sentence; by default the first line of the function's docstring.
        reads: Argument of the function, `"last_obs"` or `"ending"`; or `"formula"`.
        share: Whether values lie in [0, 1], so that tables show percentages.
        mean: Whether a formula is measured by the mean of its values over the steps of the episode, reset excluded.

    Example:
        >>> Measure(lambda obs: obs == 15)(Ending(obs=15, length=6, base_return=1.0, terminated=True))
        1.0
        >>> quick = Measure(lambda ending: ending.length < 10, "Done in fewer than ten steps.", reads="ending")
        >>> quick(Ending(obs=15, length=6, base_return=1.0, terminated=True))
        1.0
        >>> Measure.from_formula("F goal").formula
        parse('F goal')
    """

    of: Callable[..., Number] | Formula
    words: str = ""
    reads: Reads = "last_obs"
    share: bool = True
    mean: bool = False

    def __post_init__(self) -> None:
        if not self.words:
            object.__setattr__(self, "words", (self.of.__doc__ or "").strip().split("\n")[0])

    @classmethod
    def from_formula(cls, formula: FormulaLike, words: str = "") -> Measure:
        """Measure the value of a formula over the task's atoms at the end of an episode."""
        return cls(as_formula(formula), words or f"The value of `{formula}` at the end of an episode.", reads="formula")

    @classmethod
    def from_rule(cls, formula: FormulaLike) -> Measure:
        """Measure how far a formula is kept: `now φ` without the future by its mean over steps, others at the end.

        Example:
            >>> Measure.from_rule("now fast").mean, Measure.from_rule("F fast").mean, Measure.from_rule("now X a").mean
            (True, False, False)
        """
        formula = as_formula(formula)
        parts = formula.arg.args if isinstance(formula, Eventually) and isinstance(formula.arg, And) else ()
        # `now φ` is F(last & φ), where φ may be a conjunction.
        if formula.annotation or LAST not in parts[:1] or not all(map(is_past, parts[1:])):
            return cls.from_formula(formula)
        return cls(formula, f"The mean of `{formula}` over the steps of an episode.", reads="formula", mean=True)

    @classmethod
    def from_return(cls, threshold: float | None = None, words: str = "") -> Measure:
        """Measure the environment's own return or, with a threshold, whether the return reaches it.

        Example:
            >>> Measure.from_return(-100.0)(Ending(obs=None, length=90, base_return=-89.0, terminated=True))
            1.0
        """
        if threshold is None:
            return cls(lambda ending: ending.base_return, words or RETURN.words, "ending", share=False)
        return cls(lambda ending: ending.base_return >= threshold, words, "ending")

    of_formula = renamed_constructor("Measure", "of_formula", "from_formula")
    of_return = renamed_constructor("Measure", "of_return", "from_return")

    @property
    def formula(self) -> Formula | None:
        """The formula that is measured, or None."""
        return self.of if isinstance(self.of, Formula) else None

    def __call__(self, ending: Ending) -> Number:
        """Compute the measure of an episode, or of each episode of a batch."""
        if isinstance(self.of, Formula):
            raise TypeError(f"The value of `{self.of}` is not told by the end of an episode alone.")
        value = self.of(ending.obs if self.reads == "last_obs" else ending)
        return value * 1.0


RETURN = Measure(lambda ending: ending.base_return, "Sum of the environment's own rewards.", "ending", share=False)
"""The default measure of a task."""


class RecordMeasures(gym.Wrapper[Observation, Action, Observation, Action], gym.utils.RecordConstructorArgs):
    """Put a task's measures, by name, into `info["measures"]` on the last step of an episode.

    A measure called `task_completion`, as in the paper's evaluation, is also `info["task_completion"]`. Measures are
    for evaluation: observation and reward do not depend on them. Learners that step batches call the measures directly.

    Example:
        >>> env = gym.make("rewardspec/FrozenLake-v0")
        >>> _ = env.reset(seed=0)
        >>> for action in [2, 2, 1, 1, 1, 2]:  # right, right, down, down, down, right
        ...     *_, info = env.step(action)
        >>> info["measures"], info["task_completion"]
        ({'task_completion': 1.0, 'own_criterion': 1.0}, 1.0)
    """

    def __init__(self, env: Environment, task: str | Task) -> None:
        """Wrap an environment of a task, given by its name or itself."""
        from rewardspec.lab.tasks.task_lookup import get

        self.task = get(task)
        gym.utils.RecordConstructorArgs.__init__(self, task=task, _disable_deepcopy=True)
        gym.Wrapper.__init__(self, env)
        formulas = formula_measures(self.task)
        self._engine = None if formulas is None else Engine(formulas)

    def reset(self, *, seed: int | None = None, options: ResetOptions | None = None) -> tuple[Observation, InfoDict]:
        """Reset the environment and the measures."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._length, self._return = 0, 0.0
        self._sums = [0.0] * number_of_means(self.task)
        if self._engine is not None:
            self._obs = copied(obs)
            self._state, _ = self._engine.start(obs, info)
        return obs, info

    def step(self, action: Action) -> tuple[Observation, SupportsFloat, bool, bool, InfoDict]:
        """Step the environment; add the measures to `info` when the episode ends."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._length += 1
        self._return += reward_as_number(self.env, reward)
        if self._engine is not None:
            self._state, _ = self._engine.advance(self._state, Transition(self._obs, action, obs, info))
            self._obs = copied(obs)
            if self._sums:
                found = of_means(self.task, self._engine.spec.values(self._state))
                self._sums = [total + value for total, value in zip(self._sums, found, strict=True)]
        if terminated or truncated:
            ending = Ending(obs, self._length, self._return, terminated, info)
            values = () if self._engine is None else self._engine.spec.values(self._state)
            measures = {name: float(value) for name, value in measured(self.task, ending, values, self._sums).items()}
            info = {**info, "measures": measures}
            if "task_completion" in measures:
                info["task_completion"] = measures["task_completion"]
        return obs, reward, terminated, truncated, info

    def render(self) -> Any:  # as in Gymnasium, it depends on the render mode
        """Render the environment."""
        try:
            return self.env.render()
        except gym.error.DependencyNotInstalled as error:
            raise MissingExtraError("pygame", "envs", f"A picture of {self.task.title}") from error


def formula_measures(task: Task) -> Spec | None:
    """Make a spec of the measures of a task that are formulas, in their order; None if there are none.

    Only its values are used; its reward has no meaning.
    """
    formulas = [measure.formula for measure in task.measures.values() if measure.formula is not None]
    return measuring(task, formulas) if formulas else None


def number_of_means(task: Task) -> int:
    """Return how many measures of a task are means over steps."""
    return sum(measure.mean for measure in task.measures.values())


def of_means(task: Task, values: Iterable[Number]) -> list[Number]:
    """Choose those of the values of `formula_measures` whose means are measured."""
    formulas = (measure for measure in task.measures.values() if measure.formula is not None)
    return [value for measure, value in zip(formulas, values, strict=True) if measure.mean]


def measured(task: Task, ending: Ending, values: Iterable[Number], sums: Iterable[Number] = ()) -> dict[str, Number]:
    """Compute the measures of an episode, or of a batch, from its end, and from the formulas' values and their sums.

    `values` are those of `formula_measures` at the end, and `sums` those of `of_means` over all steps.
    """
    following, summed = iter(values), iter(sums)
    found: dict[str, Number] = {}
    for name, measure in task.measures.items():
        found[name] = measure(ending) if measure.formula is None else next(following)
        if measure.mean:
            found[name] = next(summed) / ending.length
    return found


def measuring(task: Task, formulas: Sequence[Formula]) -> Spec:
    """Make a spec whose values are those of formulas over a task's atoms, with the limits of the task's specs."""
    specs = task.specs.values()
    return Spec(
        [(formula, 1.0, False) for formula in formulas],
        atoms=task.atoms,
        clip=any(spec.clip for spec in specs),
        max_registers=max((spec.max_registers for spec in specs), default=DEFAULT_REGISTERS),
    )

"""What the library knows about one environment: `Task`, and the pairs of its specifications."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import gymnasium as gym

from rewardspec.spec.atoms.labelling import AtomFunction
from rewardspec.spec.pairs import Pair
from rewardspec.spec.spec import Spec

Kind: TypeAlias = Literal["boolean", "quantitative"]
Family: TypeAlias = Literal["Classic", "Toy", "Box2D", "Safety gridworlds"]
Learner: TypeAlias = Literal["ppo", "q-learning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """One environment of the evaluation: how to make it, its atoms, its specifications, and its measure of success.

    Attributes:
        name: The name by which `get` finds it.
        title: The name for people.
        family: The group it belongs to.
        id: Its name for `gymnasium.make`.
        entry_point: Where Gymnasium finds the environment underneath.
        max_episode_steps: After how many steps an episode is cut off.
        learner: The algorithm it is trained with.
        goal: What is to be done, in a sentence.
        base_reward: The reward the environment pays by itself, in words.
        measure: What `task_completion` measures, in words.
        boolean: The atoms of the Boolean specification.
        quantitative: The atoms of the quantitative specification.
        boolean_pairs: The Boolean specification.
        quantitative_pairs: The quantitative specification.
        task_completion: The measure of success in [0, 1], from the last observation of an episode or of a batch of
            episodes. It is for evaluation, never for the learner.
        departures: Where this environment differs from the paper, and why.
        choices: What was chosen where the paper leaves something open.
        printed: The specifications as the paper prints them, where they differ from the ones above.
        base_bonus: What is added to the reward of Gymnasium's environment, for learners that batch their own copy.
        extra: The optional dependency the environment needs.
    """

    name: str
    title: str
    family: Family
    id: str
    entry_point: str
    max_episode_steps: int
    learner: Learner
    goal: str
    base_reward: str
    measure: str
    boolean: Mapping[str, AtomFunction]
    quantitative: Mapping[str, AtomFunction]
    boolean_pairs: tuple[Pair, ...]
    quantitative_pairs: tuple[Pair, ...]
    task_completion: Callable[[Any], Any]
    departures: tuple[str, ...]
    choices: tuple[str, ...]
    printed: Mapping[Kind, tuple[Pair, ...]] = dataclasses.field(default_factory=dict)
    base_bonus: AtomFunction | None = None
    extra: str | None = None

    def make(self, **kwargs: Any) -> gym.Env[Any, Any]:
        """The environment, as `gymnasium.make(task.id, **kwargs)` makes it."""
        return gym.make(self.id, **kwargs)

    def atoms(self, kind: Kind) -> Mapping[str, AtomFunction]:
        """The atoms of one of the two specifications."""
        return self.boolean if kind == "boolean" else self.quantitative

    def pairs(self, kind: Kind, *, printed: bool = False) -> tuple[Pair, ...]:
        """One of the two specifications, corrected or as printed in the paper."""
        corrected = self.boolean_pairs if kind == "boolean" else self.quantitative_pairs
        return self.printed.get(kind, corrected) if printed else corrected

    def spec(self, kind: Kind, *, printed: bool = False, **options: Any) -> Spec:
        """One of the two specifications, ready for a wrapper.

        Args:
            kind: `"boolean"` or `"quantitative"`.
            printed: Whether to take it as the paper prints it, uncorrected.
            **options: Further arguments of `Spec`, such as `payment`.
        """
        return Spec(self.pairs(kind, printed=printed), atoms=self.atoms(kind), **options)


def base_spec() -> Spec:
    """A spec that pays the environment's own reward and adds nothing: shaping by a potential of 0."""
    return Spec([Pair("true", 0.0)], atoms={}, payment="potential")


def section(docstring: str | None, title: str) -> tuple[str, ...]:
    r"""The bullet points under a title of a module's docstring, each on one line.

    An environment tells its differences from the paper once, in its docstring, and the docs read them from there.

    Example:
        >>> section("Summary.\n\nDepartures:\n    - One thing\n      and more.\n    - Another.\n", "Departures")
        ('One thing and more.', 'Another.')
    """
    found = re.search(rf"^{re.escape(title)}:\n((?:    .*\n|\n)*)", (docstring or "") + "\n", flags=re.MULTILINE)
    if found is None:
        return ()
    return tuple(" ".join(point.split()) for point in re.split(r"^    - ", found[1], flags=re.MULTILINE)[1:])

"""Episodes of single agents and of teams, each followed by the episode engine."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gymnasium.error import ResetNeeded

from rewardspec.episodes.engine import Engine, Transition
from rewardspec.episodes.features import Features, Numbers, Observe
from rewardspec.episodes.recorded_episode import RecordedEpisode
from rewardspec.errors import SpecError
from rewardspec.machines.scalar_code import ScalarState
from rewardspec.spec import Spec
from rewardspec.types import Info, InfoDict, Labels, Observation
from rewardspec.wrappers.first_states import warn_of_violation

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation


class Outcome(NamedTuple):
    """What a transition leads to, before it counts: as the engine's `Step` has it, and the spec's state after it.

    Without a spec there is no state.
    """

    transition: Transition
    state: ScalarState | None = None
    reward: float = 0.0
    labels: Labels = MappingProxyType({})
    violated: bool = False
    newly_violated: bool = False


class Follower:
    """The episode of one agent, or of one team, with the spec that pays it, if there is one.

    `outcome` computes what a transition pays and changes nothing; `accept` makes it count. Between the two, the
    violation of another agent's spec may turn out to end the episode. Without a spec, a step pays nothing, or with
    `pays_base` the environment's own reward. Once an episode has `started`, `features` are the numbers that are
    observed, or None; `reads_transitions` says whether labels depend on more than the observation after a step.
    """

    def __init__(
        self, spec: Spec | None, observe: Observe | None = None, record: bool = False, pays_base: bool = False
    ) -> None:
        self._engine = None if spec is None else Engine(spec)
        self.features = None if spec is None or observe is None else Features(spec, observe)
        self.reads_transitions = self._engine is not None and self._engine.reads_transitions
        self._pays_base = pays_base
        self._tells_things = spec is not None and spec.has_quantifiers
        self._record = record
        self._recorded: RecordedEpisode | None = None
        self._state: ScalarState | None = None
        self._warned = False
        self.forget()

    def forget(self) -> None:
        """Wait for the next episode, which begins with `start`."""
        self.started = False
        self._state = self._recorded = None
        self._return, self._base_return, self._length = 0.0, 0.0, 0

    def start(self, obs: Observation, info: Info) -> InfoDict:
        """Begin an episode, and return the entries of its first `info`."""
        if self.started:
            self.forget()  # else what a team has paid before an agent's first turn would be lost
        if self._engine is not None:
            self._state, labels = self._engine.start(obs, info)
            self._recorded = RecordedEpisode(labels) if self._record else None
            if self.violated and not self._warned:
                self._warned = True
                warn_of_violation(self._engine.spec, labels, stacklevel=4)
        self.started = True
        return self._told(self.violated)

    @property
    def violated(self) -> bool:
        """Whether a veto is in force."""
        return self._engine is not None and self._state is not None and bool(self._engine.spec.violated(self._state))

    def numbers(self) -> Numbers:
        """The numbers that are observed; zeros, or what is nearest, before the episode has begun."""
        if self.features is None:
            return ()
        if self._state is None:
            return tuple(
                min(max(0.0, low), high) for low, high in zip(self.features.low, self.features.high, strict=True)
            )
        return self.features.read(self._state)

    def outcome(self, transition: Transition) -> Outcome:
        """Compute what a transition leads to."""
        if not self.started:
            raise ResetNeeded("There is no episode for the spec to follow. Call reset() before step().")
        if self._engine is None:
            return Outcome(transition, reward=transition.base_reward if self._pays_base else 0.0)
        self.started = False  # unless the labels can be read: an episode with a step missing must not go on
        state, step = self._engine.advance(self._state, transition, step=self._length + 1)  # type: ignore[arg-type]
        self.started = True
        return Outcome(transition, state, step.reward, step.labels, step.violated, step.newly_violated)

    def accept(self, outcome: Outcome) -> InfoDict:
        """Make an outcome count, and return the entries of the step's `info`."""
        transition, self._state = outcome.transition, outcome.state
        self.pay(outcome.reward)
        self._base_return += transition.base_reward
        self._length += 1
        if self._recorded is not None:
            self._recorded.add(outcome.labels, *transition[4:])
        return {"base_reward": transition.base_reward, **self._told(outcome.newly_violated)}

    def pay(self, reward: float) -> None:
        """Count a reward."""
        self._return += reward

    def statistics(self) -> InfoDict:
        """What `info["episode"]` has at the end of the episode."""
        return {
            "return": self._return,
            "base_return": self._base_return,
            "length": self._length,
            "violated": self.violated,
            "values": self._values(),
        }

    def explain(self) -> Explanation:
        """Explain the rewards of the spec since the episode began; needs `record`."""
        if not self._record or self._engine is None:
            raise SpecError(
                "The episode was not kept. Make the wrapper with record=True, and with a spec for whom is asked about."
            )
        if self._recorded is None:
            raise ResetNeeded("There is no episode to explain. Call reset() first.")
        return self._recorded.explain(self._engine.spec)

    def _values(self) -> dict[str, float]:
        if self._engine is None or self._state is None:
            return {}
        return dict(zip(self._engine.spec.names, self._engine.spec.values(self._state), strict=True))

    def _told(self, newly_violated: bool) -> InfoDict:
        told: InfoDict = {
            "formula_values": self._values(),
            "violated": self.violated,
            "cost": float(newly_violated),
        }
        if self._tells_things and self._engine is not None:
            told["worst_things"] = self._engine.spec.worst_things(self._state)
        return told

"""What both wrappers share: a follower for each agent and one for the team, observations, and a team's transitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from pettingzoo import AECEnv, ParallelEnv

from rewardspec.episodes.engine import Transition
from rewardspec.episodes.features import Numbers, Observe
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import Error, SpecError, did_you_mean
from rewardspec.pettingzoo.agent_specs import AgentSpecs, SpecLike, members, specs_by_agent
from rewardspec.pettingzoo.followers import Follower, Outcome
from rewardspec.spec import Spec
from rewardspec.spec.atoms.per_agent import PerAgent
from rewardspec.types import Action, AnySpace, Floats, Info, InfoDict, Observation
from rewardspec.wrappers.monitor_reward import readable
from rewardspec.wrappers.observations import Extension, extension

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation


TEAM = None
"""What stands for the team beside the agents' names."""


class AgentNumbers:
    """The numbers that one agent observes: of its own spec's state, then of the team's; see `Features`."""

    def __init__(self, own: Follower, team: Follower | None) -> None:
        self._followers = [own] if team is None else [own, team]
        parts = [follower.features for follower in self._followers]
        self.names: tuple[str, ...] = tuple(
            name if follower is own else f"team: {name}"
            for follower, part in zip(self._followers, parts, strict=True)
            for name in (() if part is None else part.names)
        )
        empty: Floats = np.zeros(0)
        self.low = np.concatenate([empty, *(part.low for part in parts if part is not None)])
        self.high = np.concatenate([empty, *(part.high for part in parts if part is not None)])

    def read(self) -> Numbers:
        """The numbers now."""
        return tuple(number for follower in self._followers for number in follower.numbers())


class Followers(dict[str | None, Follower]):
    """The followers of the agents that an environment says are possible."""

    def __missing__(self, agent: str | None) -> Follower:
        known = ", ".join(name for name in self if name is not TEAM)
        raise Error(
            f"The environment's `possible_agents` should have all agents that may appear, and has {known}. "
            f"Received {agent!r}, which has no spec and no space of observations."
        )


class Agents:
    """The followers of an environment's agents and of their team; the arguments are those of the wrappers.

    Attributes:
        spaces: The space of each agent's observations, as extended.
        followers: One for each agent, and that of the team, if there is one.
        team: The latter, or None.
        members: The agents of the team.
        reads_transitions: Whether labels of an agent's own spec depend on more than the observation after a step.
        active: Whether each member that has appeared in this episode is still in it.
        team_ended: Whether the team's episode has ended, which it does when the last member leaves. Another one begins
            when a member joins after that.
    """

    def __init__(
        self,
        env: AECEnv | ParallelEnv,
        spec: AgentSpecs,
        team_spec: SpecLike | None,
        team: Sequence[str] | None,
        observe: Observe | None,
        record: bool,
    ) -> None:
        if spec is None and team_spec is None:
            raise SpecError("There should be a spec for agents or for the team. Pass `spec`, `team_spec` or both.")
        if isinstance(team_spec, Mapping):
            raise SpecError(
                "`team_spec` should be one spec, for the whole team. Received a mapping; pass it as `spec`."
            )
        if team_spec is None and team is not None:
            raise SpecError(f"`team` says who shares a team spec, and there is none. Received {team!r}.")
        possible_agents = list(env.possible_agents)
        specs = specs_by_agent(spec, possible_agents)
        self.team = None if team_spec is None else Follower(readable(team_spec), observe, record)
        self.members = () if self.team is None else members(team, possible_agents)
        if team_spec is not None:
            _check_things(readable(team_spec), self.members)
        self.followers = Followers(
            (agent, Follower(specs.get(agent), observe, record, pays_base=agent not in self.members))
            for agent in possible_agents
        )
        self.reads_transitions = any(follower.reads_transitions for follower in self.followers.values())
        self._numbers = {
            agent: AgentNumbers(self.followers[agent], self.team if agent in self.members else None)
            for agent in possible_agents
        }
        if self.team is not None:
            self.followers[TEAM] = self.team
        self.spaces: dict[str, AnySpace] = {agent: env.observation_space(agent) for agent in possible_agents}
        self._extensions: dict[str, Extension] = {}
        for agent, space in self.spaces.items():
            found = None if observe is None else extension(space, self._numbers[agent])
            if found is not None:
                self._extensions[agent], self.spaces[agent] = found, found.space
        self.active: dict[str, bool] = {}
        self.team_ended = False
        self._seen: dict[str, Observation] = {}
        self._infos: dict[str, InfoDict] = {}
        self._before: dict[str, Observation] = {}

    def reset(self) -> None:
        """Forget the episode."""
        for follower in self.followers.values():
            follower.forget()
        self.active, self._seen, self._infos, self._before = {}, {}, {}, {}
        self.team_ended = False

    def extend(self, agent: str, obs: Observation) -> Observation:
        """An agent's observation with the numbers of the specs' states."""
        found = self._extensions.get(agent)
        return obs if found is None or obs is None else found.extend(obs, self._numbers[agent].read())

    def see(self, obs: Mapping[str, Observation], infos: Mapping[str, Info], present: Sequence[str]) -> None:
        """Note what members of the team see, and who is in the episode now; others keep what they saw last."""
        if self.team is None:
            return
        keeps = self.team.reads_transitions
        for agent in self.members:
            if agent in obs:
                # A copy of what is looked at later: an environment may write into the same arrays.
                self._seen[agent] = copied(obs[agent]) if keeps or agent not in present else obs[agent]
                self._infos[agent] = dict(infos.get(agent, {}))
            if agent in self._seen:
                self.active[agent] = agent in present

    def team_has_left(self, present: Sequence[str]) -> bool:
        """Whether there were members in this episode, and none is in it now, also of those who were not seen yet."""
        return bool(self.active) and not any(agent in self.members for agent in present)

    def team_begins_again(self, present: Sequence[str]) -> bool:
        """Whether a member has joined after the team's episode ended."""
        return self.team_ended and any(agent in self.members for agent in present)

    def start_team(self) -> InfoDict:
        """Begin the team's episode on what was seen."""
        assert self.team is not None
        self.team_ended = False
        self._before = dict(self._seen)
        return self.team.start(dict(self._seen), self._team_info())

    def team_transition(
        self, actions: Mapping[str, Action], base_reward: float, terminated: bool, truncated: bool
    ) -> Transition:
        """The team's transition to what was seen last: observations, actions and infos are dicts by agent."""
        taken = {agent: actions.get(agent) for agent in self._seen}
        return Transition(self._before, taken, dict(self._seen), self._team_info(), base_reward, terminated, truncated)

    def outcomes(self, transitions: Mapping[str | None, Transition], ends: bool) -> dict[str | None, Outcome]:
        """Compute what transitions of agents and of the team lead to, and change nothing.

        With `ends`, these transitions end the episode of all agents, because of a violation.
        """
        if ends:
            transitions = {who: transition._replace(terminated=True) for who, transition in transitions.items()}
        return {who: self.followers[who].outcome(transition) for who, transition in transitions.items()}

    def accept(
        self, outcomes: dict[str | None, Outcome], payees: Iterable[str]
    ) -> tuple[dict[str, float], dict[str, InfoDict]]:
        """Make outcomes count; `payees` share the team's reward, if they are in the team.

        Returns:
            The reward of each agent that is paid, and the new entries of their infos.
        """
        own = {agent: outcome for agent, outcome in outcomes.items() if agent is not None}
        told = {agent: self.followers[agent].accept(outcome) for agent, outcome in own.items()}
        rewards = {agent: outcome.reward for agent, outcome in own.items()}
        shared = outcomes.get(TEAM)
        if shared is not None and self.team is not None:
            self._before = dict(self._seen)
            team = self.team.accept(shared) | {"reward": shared.reward}
            if _ends(shared):
                self.team_ended = True
                team["episode"] = self.team.statistics()
            for agent in payees:
                if agent in self.members:
                    self.followers[agent].pay(shared.reward)
                    rewards[agent] = rewards.get(agent, 0.0) + shared.reward
                    told.setdefault(agent, {})["team"] = team
        for agent, outcome in own.items():
            if _ends(outcome):
                told[agent]["episode"] = self.followers[agent].statistics()
        return rewards, told

    def _team_info(self) -> dict[str, InfoDict]:
        return {agent: {**info, "active": self.active[agent]} for agent, info in self._infos.items()}

    def explain(self, agent: str | None) -> Explanation:
        """Explain the rewards of an agent's own spec, or of the team's."""
        if agent not in self.followers:
            if agent is TEAM:
                raise SpecError(f"There is no team spec. Name an agent: {', '.join(self.spaces)}.")
            raise SpecError(
                f"`agent` should be an agent of the environment: {', '.join(self.spaces)}. Received {agent!r}."
                f"{did_you_mean(str(agent), self.spaces)}"
            )
        return self.followers[agent].explain()


def _check_things(spec: Spec, team: Sequence[str]) -> None:
    """Raise a SpecError if atoms about each agent have no observation of some thing."""
    for atom, function in (spec.atom_functions or {}).items():
        sort = spec.axes.sort_of.get(atom)
        if sort is not None and isinstance(function, PerAgent):
            for thing in spec.sorts[sort]:
                if thing not in team:
                    raise SpecError(
                        f"The things of {sort!r} should be agents of the team, because {atom!r} is about each agent: "
                        f"{', '.join(team)}. Received {thing!r}.{did_you_mean(thing, team)}"
                    )


def _ends(outcome: Outcome) -> bool:
    return outcome.transition.terminated or outcome.transition.truncated  # type: ignore[no-any-return]


def as_float(agent: str, reward: object) -> float:
    """An agent's own reward as a float, or an Error where it is not one number."""
    try:
        return float(reward)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise Error(f"The environment's reward of {agent!r} should be one number. Received {reward!r}.") from None

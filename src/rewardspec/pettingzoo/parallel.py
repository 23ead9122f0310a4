"""The wrapper of PettingZoo environments in which all agents act at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gymnasium.error import ResetNeeded
from pettingzoo import ParallelEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper

from rewardspec.episodes.engine import Transition
from rewardspec.episodes.features import Observe
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import SpecError
from rewardspec.pettingzoo.agent_specs import AgentSpecs, SpecLike
from rewardspec.pettingzoo.agents import TEAM, Agents, as_float
from rewardspec.types import Action, AnySpace, InfoDict, Observation, ResetOptions

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation

ParallelStep: TypeAlias = tuple[
    dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, InfoDict]
]


class ParallelMonitorReward(BaseParallelWrapper):
    """Wrapper that makes specs the rewards of a PettingZoo environment in which all agents act at once.

    An agent is paid what its own spec pays for its stream of observations and actions, as by
    `rewardspec.wrappers.MonitorReward`, plus what the team spec pays if it is in the team. An agent with neither keeps
    the environment's reward.

    An agent's `info` gains `base_reward`, `formula_values`, `violated` and `cost` of its own spec, as in
    `rewardspec.wrappers.MonitorReward`, and `worst_things` where a formula is about things. Members of the team find
    the same of the team spec in `info["team"]`, and there `reward`, what the team spec paid. When an agent leaves, its
    `info["episode"]` has `return` (all that it was paid), `base_return`, `length`, `violated` and `values`. When the
    last member of the team leaves, the team's episode ends, and `info["team"]["episode"]` has the same of the team. If
    a member joins after that, another episode of the team begins.

    The atoms of a team spec take observations, actions and infos as dictionaries by agent. `info[agent]["active"]` says
    whether the agent is still in the episode. One that has left keeps its last observation and info there, and its
    action is None.

    Args:
        env: The environment.
        spec: One spec for every agent; or a mapping from agents, or from roles, to specs. The role of `wolf_0` is
            `wolf`. None if only the team is paid.
        team_spec: The spec whose reward all agents of the team share.
        team: The agents or roles in the team; all agents if None.
        observe: What to add to the observation of each agent, from the state of its own spec and that of the team's:
            None, `"control"`, `"values"` or `"registers"`; see `rewardspec.wrappers.MonitorReward`.
        record: Whether to keep the labels of the episode for `explain`.
        terminate_on_violation: Whether a violation of an agent's spec or of the team's ends the episode of all agents.

    Raises:
        SpecError: There is no spec, one has no functions for its atoms, or a name is no agent's.
        LabelError: From `reset` and `step`: an atom gave no label in [0, 1]. After it the episode has to be reset.
    """

    def __init__(
        self,
        env: ParallelEnv,
        spec: AgentSpecs = None,
        team_spec: SpecLike | None = None,
        *,
        team: Sequence[str] | None = None,
        observe: Observe | None = None,
        record: bool = False,
        terminate_on_violation: bool = False,
    ) -> None:
        if not isinstance(env, ParallelEnv):
            raise SpecError(
                "`env` should be a ParallelEnv of PettingZoo. Received a "
                f"{type(env).__name__}. Wrap one in which agents take turns with AECMonitorReward."
            )
        super().__init__(env)
        self._agents = Agents(env, spec, team_spec, team, observe, record)
        self._ends = terminate_on_violation
        self._over = True
        self._last: dict[str, Observation] = {}

    @property
    def agents(self) -> list[str]:
        """The agents that are in the episode."""
        return [] if self._over else list(self.env.agents)

    def observation_space(self, agent: str) -> AnySpace:
        """The space of an agent's observations, as extended."""
        return self._agents.spaces[agent]

    def reset(
        self, seed: int | None = None, options: ResetOptions | None = None
    ) -> tuple[dict[str, Observation], dict[str, InfoDict]]:
        """Reset the environment, and start the specs on the first observations."""
        self._last, self._over = {}, True
        self._agents.reset()
        obs, infos = self.env.reset(seed=seed, options=options)
        infos = {agent: dict(info) for agent, info in infos.items()}
        present = list(self.env.agents)
        self._agents.see(obs, infos, present)
        self._begin(present, obs, infos)
        if self._agents.team is not None:
            self._begin_team(present, infos)
        self._keep(obs)
        self._over = False
        return self._extended(obs), infos

    def step(self, actions: Mapping[str, Action]) -> ParallelStep:
        """Step the environment, and return each agent's reward by the specs."""
        if self._over:
            if not self._last:
                raise ResetNeeded("There is no episode for the specs to follow. Call reset() before step().")
            return {}, {}, {}, {}, {}
        acting = list(self.env.agents)
        obs, base, terminated, truncated, infos = self.env.step(actions)
        before, self._last, self._over = self._last, {}, True  # until all labels are read
        present = list(self.env.agents)
        infos = {agent: dict(info) for agent, info in infos.items()}
        self._agents.see(obs, infos, present)
        transitions: dict[str | None, Transition] = {
            agent: Transition(
                before[agent],
                actions.get(agent),
                obs[agent],
                infos.get(agent, {}),
                as_float(agent, base[agent]),
                bool(terminated[agent]),
                bool(truncated[agent]),
            )
            for agent in acting
        }
        if self._agents.team is not None and not self._agents.team_ended:
            parts = [transitions[agent] for agent in acting if agent in self._agents.members]
            cut = any(part.truncated and not part.terminated for part in parts)
            total = sum(part.base_reward for part in parts)
            over = not present or self._agents.team_has_left(present)
            transitions[TEAM] = self._agents.team_transition(actions, total, over and not cut, over and cut)
        outcomes = self._agents.outcomes(transitions, ends=False)
        ended = self._ends and any(outcome.violated for outcome in outcomes.values())
        if ended:
            outcomes = self._agents.outcomes(transitions, ends=True)
        rewards, told = self._agents.accept(outcomes, acting)
        self._begin([agent for agent in present if agent not in acting], obs, infos)
        for agent, entries in told.items():
            infos.setdefault(agent, {}).update(entries)
        if self._agents.team_begins_again(present) and not ended:
            self._begin_team(present, infos)
        self._keep(obs)
        self._over = ended or not present
        return (
            self._extended(obs),
            {agent: rewards.get(agent, 0.0) for agent in base},
            {agent: ended or bool(flag) for agent, flag in terminated.items()},
            {agent: bool(flag) for agent, flag in truncated.items()},
            infos,
        )

    def _begin(self, agents: Sequence[str], obs: Mapping[str, Observation], infos: dict[str, InfoDict]) -> None:
        """Start the specs of agents that appear."""
        for agent in agents:
            info = infos.setdefault(agent, {})
            info.update(self._agents.followers[agent].start(obs[agent], info))

    def _begin_team(self, present: Sequence[str], infos: dict[str, InfoDict]) -> None:
        """Start the spec of the team."""
        told = self._agents.start_team()
        for agent in present:
            if agent in self._agents.members:
                infos[agent]["team"] = told

    def _keep(self, obs: Mapping[str, Observation]) -> None:
        """Keep a copy of the observations that the next step's labels are computed from."""
        keeps = self._agents.reads_transitions
        self._last = {agent: copied(seen) if keeps else None for agent, seen in obs.items()}

    def _extended(self, obs: Mapping[str, Observation]) -> dict[str, Observation]:
        return {agent: self._agents.extend(agent, seen) for agent, seen in obs.items()}

    def explain(self, agent: str | None = None) -> Explanation:
        """Explain the rewards of an agent's own spec since the last reset, or of the team's if None.

        Needs `record=True`.
        """
        return self._agents.explain(agent)

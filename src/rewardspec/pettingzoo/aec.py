"""The wrapper of PettingZoo environments in which agents take turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper

from rewardspec.episodes.engine import Transition
from rewardspec.episodes.features import Observe
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import SpecError
from rewardspec.pettingzoo.agent_specs import AgentSpecs, SpecLike
from rewardspec.pettingzoo.agents import TEAM, Agents, as_float
from rewardspec.types import Action, AnySpace, InfoDict, Observation, ResetOptions

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation


class AECMonitorReward(BaseWrapper):
    """Wrapper that makes specs the rewards of a PettingZoo environment in which agents take turns.

    It pays and informs as `ParallelMonitorReward` does, and takes the same arguments, which are described there. With
    `observe`, agents see zeros before their first turn. What differs is what a step is:

    - The step of an agent goes from one of its turns to the next, or to the moment in which it leaves. Its first turn
      is its state after reset. It is paid when its next turn begins, so that `last()` returns the reward with the
      observation that it is for.
    - The step of the team is a *round*. A round ends when the next agent to act has acted in it already, or when no
      member of the team is left. Where all agents act in a fixed order, `F[0,5]` of a team spec means within five
      actions of each. All members that are in the episode at the end of a round share its reward. One that leaves
      within a round has no part in that round's, unless it is the last one.

    Wrap an environment that has both interfaces in the one that is used: a conversion to a parallel environment after
    this wrapper would move rewards to the next step.
    """

    def __init__(
        self,
        env: AECEnv,
        spec: AgentSpecs = None,
        team_spec: SpecLike | None = None,
        *,
        team: Sequence[str] | None = None,
        observe: Observe | None = None,
        record: bool = False,
        terminate_on_violation: bool = False,
    ) -> None:
        if not isinstance(env, AECEnv):
            raise SpecError(
                "`env` should be an AECEnv of PettingZoo. Received a "
                f"{type(env).__name__}. Wrap one in which all agents act at once with ParallelMonitorReward."
            )
        super().__init__(env)
        self._agents = Agents(env, spec, team_spec, team, observe, record)
        self._terminates = terminate_on_violation
        self._ready = self._ended = False

    def observation_space(self, agent: str) -> AnySpace:
        """The space of an agent's observations, as extended."""
        return self._agents.spaces[agent]

    def observe(self, agent: str) -> Observation:
        """An agent's observation, as extended."""
        return self._agents.extend(agent, self.env.observe(agent))

    def reset(self, seed: int | None = None, options: ResetOptions | None = None) -> None:
        """Reset the environment, and start the specs of the first agent and of the team."""
        self._ready = self._ended = False
        self._agents.reset()
        self.env.reset(seed=seed, options=options)
        self._skip_agent_selection = None
        # Of each agent: entries of `info`, what it saw and did at its last turn, its rewards since then, and whether it
        # has left. Of the team: the actions and rewards of this round.
        self._told: dict[str, InfoDict] = {}
        self._turns: dict[str, tuple[Observation, Action]] = {}
        self._base: dict[str, float] = {}
        self._left: set[str] = set()
        self._acted: dict[str, Action] = {}
        self._round_base = 0.0
        self._cumulative_rewards = dict.fromkeys(self.env.agents, 0.0)
        if self._agents.team is not None:
            self._see(self.env.agents, self.env.agents)
            told = self._agents.start_team()
            self._told = {agent: {"team": told} for agent in self._agents.members}
        self._begin_turn(self.env.agent_selection)
        self._take_over({})
        self._ready = True

    def step(self, action: Action) -> None:
        """Let the agent whose turn it is act, and pay the rewards of the specs."""
        if not self._ready:
            raise ResetNeeded("There is no episode for the specs to follow. Call reset() before step().")
        agent = self.agent_selection
        if self._ended:
            self._was_dead_step(action)
            return
        self._ready = False  # until all labels are read
        alive = not (self.terminations[agent] or self.truncations[agent])
        if alive:
            before = self.env.observe(agent) if self._agents.followers[agent].reads_transitions else None
            self._turns[agent] = copied(before), action
            self._acted[agent] = action
            self._cumulative_rewards[agent] = 0.0
        self.env.step(action)
        if alive:
            for other, reward in self.env.rewards.items():
                number = as_float(other, reward)
                self._base[other] = self._base.get(other, 0.0) + number
                self._round_base += number if other in self._agents.members else 0.0
        self._settle()
        self._ready = True

    def explain(self, agent: str | None = None) -> Explanation:
        """Explain the rewards of an agent's own spec since the last reset, or of the team's if None.

        Needs `record=True`.
        """
        return self._agents.explain(agent)

    def _settle(self) -> None:
        """Pay the agents whose step is complete, and the team if its round is."""
        env, agents = self.env, list(self.env.agents)
        selected = env.agent_selection if agents else None
        gone = [agent for agent in agents if env.terminations[agent] or env.truncations[agent]]
        for agent in self._left.difference(gone).intersection(agents):  # it has come back, to an episode of its own
            self._left.remove(agent)
            self._agents.followers[agent].forget()
            self._told.pop(agent, None)
        due = [agent for agent in agents if agent not in self._left and (agent in gone or agent == selected)]
        present = [agent for agent in agents if agent not in gone]
        self._see([agent for agent in gone if agent not in self._left], present)  # their last observations
        transitions = self._transitions(due)
        over = not present or self._agents.team_has_left(present)
        has_acted = self._agents.team is not None and not self._agents.team_ended and bool(self._acted)
        if has_acted and (over or (selected in present and selected in self._acted)):
            self._see(present, present)
            left = [agent for agent in gone if agent in self._agents.members]
            cut = any(env.truncations[agent] and not env.terminations[agent] for agent in left)
            ends = over and not cut, over and cut
            transitions[TEAM] = self._agents.team_transition(self._acted, self._round_base, *ends)
        outcomes = self._agents.outcomes(transitions, ends=False)
        violated = any(outcome.violated for outcome in outcomes.values())
        # The first state of an episode may be violated already, which ends it with its first step.
        violated_before = any(follower.violated for follower in self._agents.followers.values())
        self._ended = self._terminates and (violated or violated_before)
        if self._ended:
            due = [agent for agent in agents if agent not in self._left]
            shared = transitions.get(TEAM)
            if shared is None and has_acted:
                self._see(present, present)
                shared = self._agents.team_transition(self._acted, self._round_base, True, False)
            transitions = self._transitions(due)
            if shared is not None:
                transitions[TEAM] = shared
            outcomes = self._agents.outcomes(transitions, ends=True)
        rewards, told = self._agents.accept(outcomes, agents)
        for agent, entries in told.items():
            known = self._told.setdefault(agent, {})
            known.pop("episode", None)
            known.update(entries)
        for agent in due:
            if agent in transitions:
                del self._turns[agent]
            if agent in transitions or agent in gone:
                self._base[agent] = 0.0
            if agent in gone or self._ended:
                self._left.add(agent)
            if not self._agents.followers[agent].started:
                self._begin_turn(agent)
            if agent in self._left and agent not in transitions:  # it has not acted at all
                self._told[agent]["episode"] = self._agents.followers[agent].statistics()
        if TEAM in transitions:
            self._acted, self._round_base = {}, 0.0
        if self._agents.team_begins_again(present) and not self._ended:
            self._see(present, present)
            self._acted, self._round_base = {}, 0.0
            begun = self._agents.start_team()
            for agent in present:
                if agent in self._agents.members:
                    self._told.setdefault(agent, {})["team"] = begun
        self._take_over(rewards)

    def _transitions(self, agents: Iterable[str]) -> dict[str | None, Transition]:
        """The steps of agents that have acted since they were paid last."""
        found: dict[str | None, Transition] = {}
        for agent in agents:
            if agent in self._turns:
                before, action = self._turns[agent]
                ends = bool(self.env.terminations[agent]), bool(self.env.truncations[agent])
                now, info = self.env.observe(agent), self.env.infos[agent]
                found[agent] = Transition(before, action, now, info, self._base[agent], *ends)
        return found

    def _begin_turn(self, agent: str) -> None:
        """Start the spec of an agent at its first turn."""
        follower = self._agents.followers[agent]
        self._told.setdefault(agent, {}).update(follower.start(self.env.observe(agent), self.env.infos[agent]))

    def _see(self, agents: Iterable[str], present: Sequence[str]) -> None:
        """Note what agents see, for the team's spec."""
        seen = {agent: self.env.observe(agent) for agent in agents if agent in self._agents.members}
        self._agents.see(seen, self.env.infos, present)

    def _take_over(self, rewards: dict[str, float]) -> None:
        """Set the attributes that PettingZoo's interface consists of."""
        env = self.env
        self.agents = list(env.agents)
        self.agent_selection = env.agent_selection
        self.rewards = {agent: rewards.get(agent, 0.0) for agent in self.agents}
        self._cumulative_rewards = {agent: self._cumulative_rewards.get(agent, 0.0) for agent in self.agents}
        self._accumulate_rewards()
        self.terminations = {agent: self._ended or bool(env.terminations[agent]) for agent in self.agents}
        self.truncations = {agent: bool(env.truncations[agent]) for agent in self.agents}
        self.infos = {agent: {**env.infos[agent], **self._told.get(agent, {})} for agent in self.agents}
        if self._ended:
            self._deads_step_first()

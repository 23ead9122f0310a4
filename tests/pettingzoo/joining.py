"""PettingZoo environments whose agents join, leave and come back at given times, and episodes by the definition."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import AECEnv, ParallelEnv

from rewardspec.episodes.features import Features
from tests.spec_definition import judged_by_definition, paid_by_definition

Stays = Mapping[str, Sequence[tuple[int, int, bool]]]
"""For each agent when it joins, when it leaves, and whether it is truncated then."""


class Visits:
    """What agents see at each time: five random numbers each, in an array that is written over."""

    def __init__(self, stays: Stays, steps: int, seed: int) -> None:
        self.stays, self.possible_agents = stays, list(stays)
        draws = np.random.default_rng(seed)
        self.path = {agent: draws.choice([0.0, 0.5, 1.0], size=(steps + 1, 5)) for agent in stays}
        self.arrays = {agent: np.zeros(5) for agent in stays}
        self.time = 0

    def here(self, agent: str, time: int) -> bool:
        return any(joins <= time < leaves for joins, leaves, _ in self.stays[agent])

    def ends(self, agent: str, time: int) -> tuple[bool, bool]:
        """Whether the agent terminates and whether it is truncated at this time."""
        cut = next((cut for _, leaves, cut in self.stays[agent] if leaves == time), None)
        return cut is False, cut is True

    def look(self, agent: str) -> Any:
        self.arrays[agent][:] = self.path[agent][self.time]
        return self.arrays[agent]

    def info(self, agent: str, time: int) -> dict[str, Any]:
        return {"b": float(self.path[agent][time, 4])}

    def reward(self, agent: str, time: int) -> float:
        return float(self.path[agent][time, 0]) - 0.5


class Crowd(ParallelEnv):
    """Such agents, all at once."""

    metadata = {"name": "crowd", "render_modes": []}  # noqa: RUF012  # PettingZoo's convention

    def __init__(self, visits: Visits) -> None:
        self.visits, self.possible_agents = visits, visits.possible_agents
        self.agents: list[str] = []

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.visits.time = 0
        self.agents = [agent for agent in self.possible_agents if self.visits.here(agent, 0)]
        return self.told(self.agents)

    def step(self, actions: Any) -> Any:
        visits, acting = self.visits, self.agents
        visits.time += 1
        self.agents = [agent for agent in self.possible_agents if visits.here(agent, visits.time)]
        obs, infos = self.told([*acting, *(agent for agent in self.agents if agent not in acting)])
        rewards = {agent: visits.reward(agent, visits.time) for agent in acting}
        ends = [{agent: visits.ends(agent, visits.time)[k] for agent in acting} for k in range(2)]
        return obs, rewards, *ends, infos

    def told(self, agents: Sequence[str]) -> Any:
        visits = self.visits
        return {a: visits.look(a) for a in agents}, {a: visits.info(a, visits.time) for a in agents}

    def observation_space(self, agent: str) -> Any:
        return Box(-1.0, 1.0, (5,), np.float64)

    def action_space(self, agent: str) -> Any:
        return Discrete(3)


class Queue(AECEnv):
    """Such agents, in turn; time is the number of actions of all. Some turns are given out of order."""

    metadata = {"name": "queue", "render_modes": []}  # noqa: RUF012  # PettingZoo's convention

    def __init__(self, visits: Visits, disorder: float = 0.0) -> None:
        super().__init__()
        self.visits, self.possible_agents, self.disorder = visits, visits.possible_agents, disorder

    def observe(self, agent: str) -> Any:
        return self.visits.look(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.draws = random.Random(seed)
        self.visits.time = 0
        self.agents = [agent for agent in self.possible_agents if self.visits.here(agent, 0)]
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos = {agent: self.visits.info(agent, 0) for agent in self.agents}
        self.agent_selection = self.agents[0]
        self._skip_agent_selection = None

    def step(self, action: Any) -> None:
        agent, visits = self.agent_selection, self.visits
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        visits.time += 1
        self.rewards = {a: visits.reward(a, visits.time) for a in self.agents}
        for joining in [a for a in self.possible_agents if a not in self.agents and visits.here(a, visits.time)]:
            self.agents.append(joining)
            self.rewards[joining] = self._cumulative_rewards[joining] = 0.0
        self.infos = {a: visits.info(a, visits.time) for a in self.agents}
        self.terminations = {a: visits.ends(a, visits.time)[0] for a in self.agents}
        self.truncations = {a: visits.ends(a, visits.time)[1] for a in self.agents}
        order = self.possible_agents[self.possible_agents.index(agent) + 1 :] + self.possible_agents
        alive = [a for a in order if a in self.agents and visits.here(a, visits.time)]
        if alive:
            self.agent_selection = self.draws.choice(alive) if self.draws.random() < self.disorder else alive[0]
        self._accumulate_rewards()
        self._deads_step_first()

    def observation_space(self, agent: str) -> Any:
        return Box(-1.0, 1.0, (5,), np.float64)

    def action_space(self, agent: str) -> Any:
        return Discrete(3)


class Episode:
    """An episode of a spec by its labels, to be compared with the definition at the end."""

    def __init__(self, spec: Any, *seen: Any) -> None:
        self.spec, self.features = spec, Features(spec, "registers")
        self.labels, self.ends, self.told = [spec.labels(seen[0], None, *seen)], [], []
        self.state = spec.start(self.labels[0])

    def step(self, obs: Any, action: Any, next_obs: Any, info: Any, *ends: Any) -> float:
        """Step with what the engine would be given, and return the reward."""
        self.labels.append(self.spec.labels(obs, action, next_obs, info))
        self.ends.append(ends)
        self.state, reward = self.spec.step(self.state, self.labels[-1], *ends)
        return reward

    @property
    def shown(self) -> tuple[float, ...]:
        """What an agent observes of it."""
        return self.features.read(self.state)

    def compare(self, explanation: Any = None) -> int:
        """Compare what was told of each step with the definition, and an explanation with the spec's own."""
        labels = {name: np.array([row[name] for row in self.labels])[:, None] for name in self.labels[0]}
        if not self.ends or not labels:
            return 0
        ends = base, terminated, truncated = [np.array(column) for column in zip(*self.ends, strict=True)]
        paid = paid_by_definition(
            self.spec, judged_by_definition(self.spec, labels), *(column[:, None] for column in ends)
        )
        np.testing.assert_allclose([told["reward"] for told in self.told], paid.rewards[:, 0], atol=1e-9)
        assert [told["violated"] for told in self.told] == paid.violated[1:, 0].tolist()
        assert [told["cost"] for told in self.told] == paid.cost[1:, 0].tolist()
        for told, *over in zip(self.told, terminated, truncated, strict=True):
            assert ("episode" in told) == any(over)
        if "episode" in self.told[-1]:
            episode = self.told[-1]["episode"]
            assert episode["length"] == len(base)
            assert np.isclose(episode["return"], paid.rewards.sum())
            assert np.isclose(episode["base_return"], base.sum())
        if explanation is not None:
            record = {name: column[:, 0] for name, column in labels.items()}
            record |= {"rewards": base, "terminations": terminated, "truncations": truncated}
            assert str(explanation) == str(self.spec.explain(record))
        return len(base)


class Team:
    """What the atoms of a team's spec are given, and the team's episode."""

    def __init__(self, spec: Any, members: Sequence[str], visits: Visits) -> None:
        self.spec, self.members, self.visits = spec, members, visits
        self.seen: dict[str, Any] = {}
        self.infos: dict[str, Any] = {}
        self.before: dict[str, Any] = {}
        self.runs = False

    def see(self, agents: Sequence[str]) -> None:
        """Note what agents see now; others keep what they saw last."""
        for agent in self.members:
            if agent in agents:
                self.seen[agent] = self.visits.path[agent][self.visits.time]
                self.infos[agent] = self.visits.info(agent, self.visits.time)

    def _info(self) -> dict[str, Any]:
        return {a: {**info, "active": self.visits.here(a, self.visits.time)} for a, info in self.infos.items()}

    def begin(self) -> None:
        self.before, self.runs = dict(self.seen), True
        self.episode = Episode(self.spec, self.before, self._info())

    def step(self, actions: Mapping[str, Any], base: float, over: bool) -> float:
        time = self.visits.time
        cut = over and any(self.visits.ends(agent, time)[1] for agent in self.members)
        taken = {agent: actions.get(agent) for agent in self.seen}
        now = dict(self.seen)
        reward = self.episode.step(self.before, taken, now, self._info(), base, over and not cut, cut)
        self.before, self.runs = now, not over
        return reward

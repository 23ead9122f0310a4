"""PettingZoo environments that play recorded episodes back, whatever the agents do; each agent leaves when its ends."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from pettingzoo import AECEnv, ParallelEnv

Streams = Mapping[str, gym.Env[Any, Any]]


class Troupe(ParallelEnv):
    """Agents that act at once, each in an environment of its own."""

    metadata = {"name": "troupe", "render_modes": []}  # noqa: RUF012  # PettingZoo's convention

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.possible_agents = list(streams)
        self.agents: list[str] = []

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        found = {agent: self.streams[agent].reset(seed=seed) for agent in self.agents}
        return {a: obs for a, (obs, _) in found.items()}, {a: info for a, (_, info) in found.items()}

    def step(self, actions: Any) -> Any:
        found = {agent: self.streams[agent].step(actions[agent]) for agent in self.agents}
        parts = tuple({agent: step[k] for agent, step in found.items()} for k in range(5))
        self.agents = [agent for agent in self.agents if not (parts[2][agent] or parts[3][agent])]
        return parts

    def observation_space(self, agent: str) -> Any:
        return self.streams[agent].observation_space

    def action_space(self, agent: str) -> Any:
        return self.streams[agent].action_space

    def render(self) -> None: ...

    def close(self) -> None: ...


class TurnTroupe(AECEnv):
    """The same agents, in turn."""

    metadata = {"name": "turn_troupe", "render_modes": []}  # noqa: RUF012  # PettingZoo's convention

    def __init__(self, streams: Streams) -> None:
        super().__init__()
        self.streams = streams
        self.possible_agents = list(streams)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = list(self.possible_agents)
        self.seen, self.infos = {}, {}
        for agent in self.agents:
            self.seen[agent], self.infos[agent] = self.streams[agent].reset(seed=seed)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.agent_selection = self.agents[0]
        self._skip_agent_selection = None

    def observe(self, agent: str) -> Any:
        return self.seen[agent]

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        step = self.streams[agent].step(action)
        self.seen[agent], self.rewards[agent] = step[0], step[1]
        self.terminations[agent], self.truncations[agent], self.infos[agent] = step[2:]
        alive = [a for a in self.agents if not (self.terminations[a] or self.truncations[a])]
        order = self.possible_agents[self.possible_agents.index(agent) + 1 :] + self.possible_agents
        self.agent_selection = next((a for a in order if a in alive), agent)
        self._accumulate_rewards()
        self._deads_step_first()

    def observation_space(self, agent: str) -> Any:
        return self.streams[agent].observation_space

    def action_space(self, agent: str) -> Any:
        return self.streams[agent].action_space

    def render(self) -> None: ...

    def close(self) -> None: ...


class Walk(gym.Env[Any, Any]):
    """A random walk that ends after some steps; pays its position."""

    def __init__(self, length: int, truncates: bool = False) -> None:
        self.length, self.truncates = length, truncates
        self.observation_space, self.action_space = Box(-1.0, 1.0, (5,), np.float64), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.elapsed = 0
        self.path = np.random.default_rng(seed).choice([0.0, 0.5, 1.0], size=(self.length + 1, 5))
        return self.path[0], {"b": float(self.path[0, 4])}

    def step(self, action: Any) -> Any:
        self.elapsed += 1
        ends = self.elapsed == self.length
        obs = self.path[self.elapsed]
        ending = (False, True) if self.truncates else (True, False)
        return obs, float(obs[0]) - 0.5, *(ends and flag for flag in ending), {"b": float(obs[4])}

    @functools.cached_property
    def name(self) -> str:
        return f"walk of {self.length}"


def play_parallel(env: Any, actions: Any = None, seed: int | None = None) -> dict[str, list[Any]]:
    """For each agent its steps as (obs, reward, terminated, truncated, info); the first has a reward of None."""
    obs, infos = env.reset(seed=seed)
    found = {agent: [(obs[agent], None, False, False, infos[agent])] for agent in env.agents}
    at = 0
    while env.agents:
        taken = {a: env.action_space(a).sample() if actions is None else actions(a, at) for a in env.agents}
        parts = env.step(taken)
        for agent in taken:
            found[agent].append(tuple(part[agent] for part in parts))
        at += 1
    return found


def play_turns(env: Any, actions: Any = None, seed: int | None = None) -> dict[str, list[Any]]:
    """The same of an environment in which agents take turns; a step's reward is the one of `last()`."""
    env.reset(seed=seed)
    found: dict[str, list[Any]] = {agent: [] for agent in env.agents}
    for agent in env.agent_iter():
        obs, reward, terminated, truncated, info = env.last()
        at = len(found[agent])
        found[agent].append((obs, reward if at else None, terminated, truncated, info))
        sample = env.action_space(agent).sample() if actions is None else actions(agent, at)
        env.step(None if terminated or truncated else sample)
    return found

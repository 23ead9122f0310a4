"""The spec of each agent, and the agents of a team, from what a user writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from rewardspec.errors import SpecError, did_you_mean
from rewardspec.spec import Spec
from rewardspec.wrappers.monitor_reward import readable

SpecLike: TypeAlias = Spec | str | os.PathLike[str]
AgentSpecs: TypeAlias = SpecLike | Mapping[str, SpecLike | None] | None


def role_of(agent: str) -> str:
    """The role of an agent: its name without the number at the end.

    Example:
        >>> role_of("adversary_0"), role_of("first_0"), role_of("speaker")
        ('adversary', 'first', 'speaker')
    """
    role, _, number = agent.rpartition("_")
    return role if role and number.isdigit() else agent


def specs_by_agent(specs: AgentSpecs, agents: Sequence[str]) -> dict[str, Spec]:
    """The spec of each agent that has one; an agent's own entry comes before that of its role, and None is no spec."""
    if specs is None:
        return {}
    if not isinstance(specs, Mapping):
        shared = readable(specs)
        return dict.fromkeys(agents, shared)
    _require_known(specs, agents, "spec")
    read = {key: readable(spec) for key, spec in specs.items() if spec is not None}
    keys = {agent: agent if agent in specs else role_of(agent) for agent in agents}
    return {agent: read[key] for agent, key in keys.items() if key in read}


def members(team: Iterable[str] | None, agents: Sequence[str]) -> tuple[str, ...]:
    """The agents of a team, from names of agents or roles; all agents if None.

    Example:
        >>> members(["wolf"], ["wolf_0", "wolf_1", "sheep_0"])
        ('wolf_0', 'wolf_1')
    """
    if team is None:
        return tuple(agents)
    if isinstance(team, str):
        team = [team]
    wanted = list(team)
    _require_known(wanted, agents, "team")
    return tuple(agent for agent in agents if agent in wanted or role_of(agent) in wanted)


def _require_known(keys: Iterable[str], agents: Sequence[str], name: str) -> None:
    known = dict.fromkeys([*agents, *map(role_of, agents)])
    for key in keys:
        if key not in known:
            raise SpecError(
                f"`{name}` should name agents or roles of the environment: {', '.join(known)}. Received {key!r}."
                f"{did_you_mean(str(key), known)}"
            )

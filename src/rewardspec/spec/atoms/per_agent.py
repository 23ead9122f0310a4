"""Atoms about each agent of a team, from the function for one agent."""

from __future__ import annotations

import dataclasses
from typing import Any

from rewardspec.spec.atoms.expression_atoms import ExpressionAtom
from rewardspec.spec.atoms.functions import AtomFunction, DerivedAtom
from rewardspec.types import Number


@dataclasses.dataclass(frozen=True)
class PerAgent(DerivedAtom):
    """An atom's function for one agent, applied to each agent; see `per_agent`."""

    def __call__(self, obs: Any, action: Any, next_obs: Any, info: Any = None) -> dict[str, Number]:
        """The label of each agent, by name."""
        return {
            agent: super(PerAgent, self).__call__(
                (obs or {}).get(agent, seen),  # as after a reset, where the agent has joined with this step
                (action or {}).get(agent),
                seen,
                info if agent not in (info or ()) else info[agent],
            )
            for agent, seen in next_obs.items()
        }

    def with_margin(self, margin: bool) -> PerAgent:
        """The same atom as a spec of robustness reads it, or one of degrees; see `ExpressionAtom.with_margin`."""
        own = self.function
        return PerAgent(own.with_margin(margin)) if isinstance(own, ExpressionAtom) else self


def per_agent(function: AtomFunction | str) -> PerAgent:
    """Make an atom about every agent of a team from the function or expression for one agent.

    The atom takes observations and actions as dictionaries by agent and returns the labels in the same form, as an
    atom of `forall agent: …` needs them.

    Args:
        function: A function of one agent's `(obs, action, next_obs)` or `(obs, action, next_obs, info)`, or an
            expression such as `"next_obs[0] < 0.2"`. The action is None after a reset, and where the agent did not
            act. Where an agent joins, `obs` is its first observation, as after a reset. `info` is the agent's own where
            infos are by agent, otherwise that of the environment.

    Example:
        >>> low = per_agent(lambda obs, action, next_obs: next_obs[0] < 0.2)
        >>> battery = {"robot_0": [0.1], "robot_1": [0.9]}
        >>> low(battery, None, battery)
        {'robot_0': True, 'robot_1': False}
    """
    return PerAgent(ExpressionAtom(function, {}) if isinstance(function, str) else function)

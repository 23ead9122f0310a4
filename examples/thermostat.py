"""A custom environment with its spec in a TOML file: wrapped, explained and audited.

    python examples/thermostat.py

A heater keeps a room comfortable.  The room is an environment of our own, so small that it can write down its whole
transition table; with that, an audit can say what the spec beside it really asks for, before anything is trained.
"""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym

import rewardspec as rs
from rewardspec.audit import Intent, audit
from rewardspec.finite.models import finite_model

COLDEST, HOTTEST, START = 0, 30, 12


class Thermostat(gym.Env):
    """A room of 0 to 30 degrees: a step with the heater on (1) warms it by one, a step with it off (0) cools it."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Discrete(HOTTEST + 1)
        self.action_space = gym.spaces.Discrete(2)
        # What an audit reads: for each state and action the outcomes, each with its probability,
        # the next state, the environment's own reward, and whether the episode ends there.
        self.P = {
            degrees: {
                0: [(1.0, max(degrees - 1, COLDEST), 0.0, False)],
                1: [(1.0, min(degrees + 1, HOTTEST), 0.0, False)],
            }
            for degrees in range(HOTTEST + 1)
        }

    def reset(self, *, seed=None, options=None):
        """A cold morning."""
        super().reset(seed=seed)
        self.degrees = START
        return self.degrees, {}

    def step(self, action):
        """Heat, or do not."""
        ((_, self.degrees, reward, terminated),) = self.P[self.degrees][int(action)]
        return self.degrees, reward, terminated, False, {}


gym.register("Thermostat-v0", entry_point=Thermostat, max_episode_steps=48)


def main() -> None:
    """Play an episode with a rule of thumb, explain it, and audit the spec at two prices of heat."""
    spec = rs.Spec.load(Path(__file__).with_name("thermostat.toml"))
    env = rs.wrappers.MonitorReward(gym.make("Thermostat-v0"), spec, record=True)
    observation, _ = env.reset(seed=0)
    ended = False
    while not ended:
        observation, _, terminated, truncated, _ = env.step(1 if observation < 21 else 0)
        ended = terminated or truncated
    print("Heat whenever it is below 21 degrees:\n")
    print(env.explain().to_text(max_rows=10))

    print("\nWhat the spec asks for:\n")
    model = finite_model(env)
    for cost in (0.5, 3.0):
        pairs = [rs.Pair("F G heating", -cost) if pair.name == "heat costs" else pair for pair in spec.pairs]
        priced = spec.replace(pairs=pairs)
        (finding,) = audit(model, priced, Intent(goal="comfortable", hazard="frozen"))
        print(f"if heat costs {cost}: {finding.verdict}. {finding.sentence}")


if __name__ == "__main__":
    main()

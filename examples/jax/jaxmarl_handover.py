"""Two agents of JaxMARL hand a parcel over in time: independent PPO, paid by a team spec or by the environment.

pip install '.[jax-envs,learn]'
python examples/jax/jaxmarl_handover.py --reward "the team spec" --seeds 2

The world is Simple Spread with two agents and two landmarks. One agent, whichever, takes a parcel at the first
landmark. Within three steps of being there it meets the other, and within twelve steps of that the other is at the
second landmark. Each agent has networks, advantages and updates of its own, and sees its own observation beside the
team spec's registers.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import rewardspec as rs
from rewardspec.lab.learning.networks import forward, initial_parameters
from rewardspec.lab.learning.ppo_update import make_update
from rewardspec.lab.learning.settings import PPO

AGENTS = ("agent_0", "agent_1")
LENGTH = 32  # steps of an episode
MEETING, DELIVERY = 3, 12  # steps after being at the first landmark, and after the meeting
REACH, MEETING_DISTANCE = 0.3, 0.5
WITH_DEADLINES = f"exists agent: F(takes(agent) & F[0,{MEETING}] (meets & F[0,{DELIVERY}] delivers(agent)))"
WITHOUT_DEADLINES = "exists agent: F(takes(agent) & F(meets & F delivers(agent)))"


class Reward(NamedTuple):
    """What the agents are paid.

    Attributes:
        formula: The formula whose registers they observe.
        own: Weight of the environment's own rewards.
        spec: Weight of the team spec's rewards.
        bonus: What both are paid at the end of an episode that succeeds.
    """

    formula: str = WITH_DEADLINES
    own: float = 0.0
    spec: float = 0.0
    bonus: float = 0.0


REWARDS = {
    "the environment's": Reward(own=1.0),
    "the environment's, and a bonus for success": Reward(own=1.0, bonus=10.0),
    "the team spec without deadlines": Reward(WITHOUT_DEADLINES, spec=1.0),
    "the team spec": Reward(spec=1.0),
}
CONFIG = PPO(
    total_steps=409_600,
    rollout_steps=LENGTH,  # one episode of each environment
    envs=64,
    learning_rate=1e-3,
    bootstrap_truncated=False,  # the episode's end is part of the task
)
HIDDEN = (32, 32)


def distance(obs: Any, agent: str, first: int) -> Any:
    """The distance of an agent from what its observation has the relative place of, from number `first` on."""
    return jnp.linalg.norm(obs[agent][first : first + 2])


def takes(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether each agent is at the first landmark, shape (agents,)."""
    return jnp.stack([distance(next_obs, agent, 4) < REACH for agent in AGENTS])


def delivers(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the partner of each agent is at the second landmark, shape (agents,)."""
    return jnp.stack([distance(next_obs, partner, 6) < REACH for partner in reversed(AGENTS)])


def meets(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the agents are near each other."""
    return distance(next_obs, AGENTS[0], 8) < MEETING_DISTANCE


def team_spec(formula: str) -> rs.Spec:
    """The team's spec: each step pays for the progress that it makes."""
    return rs.Spec(
        [rs.Pair(formula, 10, veto=False, progress=True)],
        atoms={"takes": takes, "delivers": delivers, "meets": meets},
        sorts={"agent": AGENTS},
        payment="delta",
    )


def environments(formula: str, count: int) -> rs.jax.SpecReward:
    """As many environments of JaxMARL with the team's spec as `count`."""
    import jaxmarl

    env = jaxmarl.make("MPE_simple_spread_v3", num_agents=2, num_landmarks=2, max_steps=LENGTH)
    return rs.jax.SpecReward(rs.jax.from_jaxmarl(env), team_spec(formula), count, "registers", LENGTH, "first")


def handed_over(places: Any) -> Any:
    """Whether episodes succeed, by the places of agents and landmarks alone.

    Args:
        places: Array of shape (steps + 1, envs, 4, 2): the two agents, then the two landmarks.

    Returns:
        Booleans of shape (envs,).
    """
    agents, landmarks = places[:, :, :2], places[:, :, 2:]
    met = jnp.linalg.norm(agents[:, :, 0] - agents[:, :, 1], axis=-1) < MEETING_DISTANCE
    success = jnp.zeros(places.shape[1], bool)
    for taker in (0, 1):
        at_first = jnp.linalg.norm(agents[:, :, taker] - landmarks[:, :, 0], axis=-1) < REACH
        at_second = jnp.linalg.norm(agents[:, :, 1 - taker] - landmarks[:, :, 1], axis=-1) < REACH
        handed = met & _soon(at_second, DELIVERY)
        success |= (at_first & _soon(handed, MEETING)).any(axis=0)
    return success


def _soon(happens: Any, steps: int) -> Any:
    """Whether something happens now or within so many steps, shape (steps + 1, envs)."""
    later = jnp.concatenate([happens, jnp.zeros((steps, *happens.shape[1:]), bool)])
    return jnp.stack([later[k : k + len(happens)] for k in range(steps + 1)]).any(axis=0)


def inputs(obs: dict[str, Any]) -> Any:
    """What the networks of each agent see, shape (agents, envs, size)."""
    return jnp.stack([jnp.concatenate([obs[agent], obs["monitor"]], axis=-1) for agent in AGENTS])


def placed(obs: dict[str, Any]) -> Any:
    """The places of agents and landmarks, shape (…, 4, 2), from what the agents observe."""
    agents = [obs[agent][..., 2:4] for agent in AGENTS]
    landmarks = [agents[0] + obs[AGENTS[0]][..., first : first + 2] for first in (4, 6)]
    return jnp.stack(agents + landmarks, axis=-2)


def play(envs: rs.jax.SpecReward, parameters: Any, reward: Reward, key: Any) -> tuple[dict[str, Any], Any]:
    """Play one episode in each environment.

    Args:
        envs: The environments.
        parameters: Networks of the agents, arrays of shape (agents, …).
        reward: What the agents are paid.
        key: A JAX random key.

    Returns:
        A rollout of each agent, arrays of shape (agents, steps, envs, …); and the successes, shape (envs,).
    """
    reset_key, key = jax.random.split(key)
    state, first = envs.reset(reset_key)

    def step(carry: Any, key: Any) -> Any:
        state, obs = carry
        act_key, step_key = jax.random.split(key)
        seen = inputs(obs)
        logits = jax.vmap(lambda one, x: forward(one["actor"], x, jnp))(parameters, seen)
        actions = jax.random.categorical(act_key, logits)
        joint = dict(zip(AGENTS, actions, strict=True))
        state, obs, paid, terminated, truncated, info = envs.step(step_key, state, joint)
        own = jnp.stack([info["rewards"][agent] for agent in AGENTS])
        dones = jnp.broadcast_to(terminated | truncated, own.shape).astype(jnp.float32)
        row = {"obs": seen, "actions": actions, "rewards": reward.own * own + reward.spec * paid, "dones": dones}
        return (state, obs), (row, placed(info["final_obs"]))

    (_, obs), (rows, places) = jax.lax.scan(step, (state, first), jax.random.split(key, LENGTH))
    success = handed_over(jnp.concatenate([placed(first)[None], places]))
    rows = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), rows)
    rows["rewards"] = rows["rewards"].at[:, -1].add(reward.bonus * success)
    return {**rows, "next_obs": inputs(obs)}, success


def trainer(envs: rs.jax.SpecReward, config: PPO, chunk: int) -> Callable[..., Any]:
    """Compile independent PPO: the function `(carry, keys, first, reward) -> (carry, success)`.

    It does `chunk` updates of all runs, from number `first` on. `carry` is the agents' networks and the state of their
    optimizers, arrays of shape (runs, agents, …). `success` has the shape (runs, chunk).
    """
    _, update = make_update(config, continuous=False)
    updates = config.total_steps // (config.rollout_steps * config.envs)

    def one_update(carry: Any, number: Any, key: Any, reward: Reward) -> Any:
        parameters, memory = carry
        play_key, update_key = jax.random.split(jax.random.fold_in(key, number))
        rows, success = play(envs, parameters, reward, play_key)
        rate = config.learning_rate * (1.0 - number / updates)
        keys = jax.random.split(update_key, len(AGENTS))
        parameters, memory, _ = jax.vmap(update, in_axes=(0, 0, None, 0, 0))(parameters, memory, rate, keys, rows)
        return (parameters, memory), success.mean()

    def one_run(carry: Any, key: Any, first: Any, reward: Reward) -> Any:
        return jax.lax.scan(lambda one, n: one_update(one, n, key, reward), carry, first + jnp.arange(chunk))

    return jax.jit(jax.vmap(one_run, in_axes=(0, 0, None, None)))


def train(envs: rs.jax.SpecReward, reward: Reward, seeds: Sequence[int], config: PPO = CONFIG, chunk: int = 10) -> Any:
    """Train both agents with independent PPO, all seeds in one compiled program.

    Args:
        envs: As many environments as `config.envs`.
        reward: What the agents are paid.
        seeds: The seed of each run.
        config: The settings, for each agent.
        chunk: Updates of one call of the compiled program, after which a line is printed; divides their number.

    Returns:
        The share of the episodes of each update that succeed, an array of shape (seeds, updates). Every update plays
        new episodes, one in each environment.
    """
    advance = trainer(envs, config, chunk)
    updates = config.total_steps // (config.rollout_steps * config.envs)
    size = jax.eval_shape(lambda key: inputs(envs.reset(key)[1]), jax.random.key(0)).shape[-1]
    # The networks of each agent are drawn from a seed of their own.
    drawn = [seed * len(AGENTS) + number for seed in seeds for number in range(len(AGENTS))]
    actions = envs.action_space[AGENTS[0]].n
    parameters = initial_parameters(drawn, size, actions, continuous=False, hidden=HIDDEN)
    parameters = jax.tree.map(lambda leaf: leaf.reshape(len(seeds), len(AGENTS), *leaf.shape[1:]), parameters)
    memory = jax.vmap(jax.vmap(make_update(config, continuous=False)[0]))(parameters)
    keys = jax.vmap(jax.random.key)(np.asarray(seeds, np.uint32))
    carry, curve = (parameters, memory), []
    weights = reward._replace(formula=0.0)
    for first in range(0, updates, chunk):
        carry, success = advance(carry, keys, first, weights)
        curve.append(np.asarray(success))
        print(f"update {first + chunk} of {updates}: {success.mean():.1%} success", file=sys.stderr, flush=True)
    return np.concatenate(curve, axis=1)


def main() -> None:
    """Train with one reward, and print how many episodes of the last updates succeed."""
    parser = argparse.ArgumentParser(description="Two agents hand a parcel over in time.")
    parser.add_argument("--reward", choices=REWARDS, default="the team spec")
    parser.add_argument("--steps", type=int, default=CONFIG.total_steps, help="steps of each run")
    parser.add_argument("--seeds", type=int, default=2, help="number of runs")
    parser.add_argument("--envs", type=int, default=CONFIG.envs, help="environments of a run")
    arguments = parser.parse_args()
    reward, seeds = REWARDS[arguments.reward], range(arguments.seeds)
    config = dataclasses.replace(CONFIG, total_steps=arguments.steps, envs=arguments.envs)
    updates = config.total_steps // (config.rollout_steps * config.envs)
    curve = train(environments(reward.formula, config.envs), reward, seeds, config, math.gcd(updates, 10))
    for seed in seeds:
        print(f"seed {seed}: {curve[seed, -10:].mean():.1%} of the last episodes handed over in time")


if __name__ == "__main__":
    main()

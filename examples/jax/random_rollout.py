"""Random episodes of JAX environments that are paid by a spec; the other examples in this folder call it."""

from __future__ import annotations

import argparse

import jax
import numpy as np

import rewardspec as rs


def main(env: rs.jax.Environment, spec: rs.Spec, limit: int | None = None, auto_reset: rs.jax.AutoReset = 16) -> None:
    """Run random episodes in one compiled function, and print what they paid and how true each formula became."""
    parser = argparse.ArgumentParser(description="Random episodes of JAX environments that are paid by a spec.")
    parser.add_argument("--envs", type=int, default=64, help="default 64")
    parser.add_argument("--steps", type=int, default=200, help="default 200")
    arguments = parser.parse_args()
    envs = rs.jax.SpecReward(env, spec, arguments.envs, observe="registers", limit=limit, auto_reset=auto_reset)

    def body(state: rs.jax.State, key: jax.Array) -> tuple[rs.jax.State, dict[str, jax.Array]]:
        to_act, to_step = jax.random.split(key)
        action = rs.jax.sample_actions(envs.action_space, to_act, arguments.envs)
        state, _obs, _reward, _terminated, _truncated, info = envs.step(to_step, state, action)
        return state, info["episode"]

    @jax.jit
    def rollout(key: jax.Array) -> tuple[rs.jax.State, dict[str, jax.Array]]:
        to_reset, to_run = jax.random.split(key)
        state, _obs = envs.reset(to_reset)
        return jax.lax.scan(body, state, jax.random.split(to_run, arguments.steps))

    state, episode = rollout(jax.random.key(0))
    envs.check_labels(state)
    done = np.asarray(episode["done"])
    print(f"{done.size} steps, {done.sum()} episodes ended, {np.asarray(episode['violated'])[done].sum()} violated")
    if done.any():
        for name in ("return", "base_return", "length"):
            print(f"mean {name:<12} {np.asarray(episode[name])[done].mean():8.3f}")
        for name, values in episode["values"].items():
            print(f"mean final value {np.asarray(values)[done].mean():6.3f}  {name}")

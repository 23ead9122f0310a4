"""Stable-Baselines3's PPO learns CartPole from a spec, through one wrapped environment and through `make_vec_env`.

    pip install . stable-baselines3
    python examples/sb3_cartpole.py --steps 30000

The task: stay up for 500 steps, near the centre of the track.  Its completion is the share of the 500 steps spent
upright and near the centre.  The environment's own reward is never used; with an empty spec there is nothing to learn.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

import rewardspec as rs
from rewardspec.wrappers import MonitorReward

TRACK, ANGLE = 2.4, 0.2095  # where an episode of CartPole ends
LIMIT = 500  # steps


@dataclass
class Arguments:
    """What can be set from the command line."""

    steps: int = 30_000
    envs: int = 8
    episodes: int = 20
    seed: int = 1


# Atoms are functions of (obs, action, next_obs), written for the last axis, so that they also serve batches.


def centred(obs, action, next_obs):
    """1 in the middle of the track, 0 at its ends."""
    return np.clip(1.0 - abs(next_obs[..., 0]) / TRACK, 0.0, 1.0)


def upright(obs, action, next_obs):
    """1 for a vertical pole, 0 where it counts as fallen."""
    return np.clip(1.0 - abs(next_obs[..., 2]) / ANGLE, 0.0, 1.0)


def fallen(obs, action, next_obs):
    """1 where the episode ends early."""
    return ((abs(next_obs[..., 0]) > TRACK) | (abs(next_obs[..., 2]) > ANGLE)) * 1.0


SPEC = rs.Spec(
    [("F G centred", 1), ("F G upright", 1), rs.Pair("G !fallen", 0.5, penalty=-5)],
    atoms={"centred": centred, "upright": upright, "fallen": fallen},
)
EMPTY = rs.Spec([], atoms={})


def train(spec: rs.Spec, arguments: Arguments, vectorized: bool) -> PPO:
    """A policy trained on the spec's rewards alone."""
    if vectorized:
        # `make_vec_env` logs episodes below the wrapper: what it shows as reward is the environment's own.
        env = make_vec_env(
            "CartPole-v1",
            n_envs=arguments.envs,
            seed=arguments.seed,
            wrapper_class=MonitorReward,
            wrapper_kwargs={"spec": spec},
        )
    else:
        env = MonitorReward(gym.make("CartPole-v1"), spec)
    rollout = min(1024, max(64, arguments.steps // 8))
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=max(8, rollout // arguments.envs) if vectorized else rollout,
        batch_size=64,
        gae_lambda=0.95,
        gamma=0.98,
        learning_rate=1e-3,
        seed=arguments.seed,
        device="cpu",
    )
    return model.learn(arguments.steps)


def completion(model: PPO, arguments: Arguments) -> float:
    """The mean share of 500 steps spent upright and near the centre."""
    env = gym.make("CartPole-v1")
    shares = []
    for episode in range(arguments.episodes):
        obs, _ = env.reset(seed=10_000 + episode)
        good, ended = 0, False
        while not ended:
            action, _ = model.predict(obs, deterministic=True)
            obs, _, terminated, truncated, _ = env.step(int(action))
            good += bool(abs(obs[0]) < 0.5 and abs(obs[2]) < 0.1)
            ended = terminated or truncated
        shares.append(good / LIMIT)
    return float(np.mean(shares))


def main(argv: list[str] | None = None) -> None:
    """Train three times and print how much of the task each policy completes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Arguments()).items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    arguments = Arguments(**vars(parser.parse_args(argv)))
    torch.set_num_threads(1)  # quicker than more, for networks this small
    runs = {
        "spec, one environment": (SPEC, False),
        f"spec, make_vec_env of {arguments.envs}": (SPEC, True),
        f"empty spec, make_vec_env of {arguments.envs}": (EMPTY, True),
    }
    for name, (spec, vectorized) in runs.items():
        model = train(spec, arguments, vectorized)
        print(f"{name:<34} task completion {completion(model, arguments):6.1%}", flush=True)


if __name__ == "__main__":
    main()

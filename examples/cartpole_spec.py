"""A spec written by hand for CartPole, and a policy found for it in seconds with NumPy alone.

    python examples/cartpole_spec.py --generations 25

CartPole pays 1 for every step that the pole stays up, wherever the cart is.  We want it parked at position 1 as well,
which takes two formulas.  The policy is linear, and the cross-entropy method finds its four weights and its offset.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import numpy as np

import rewardspec as rs
from rewardspec.spec.atoms.shapes import proximity

PARKING, FALLEN = 1.0, 0.2095
STEPS = 200


def upright(obs, action, next_obs):
    """1 for a vertical pole, 0 where it counts as fallen."""
    return proximity(next_obs[..., 2], 0.0, FALLEN)


def parked(obs, action, next_obs):
    """1 at the parking position, 0 from a distance of 2 on."""
    return proximity(next_obs[..., 0], PARKING, 2.0)


SPEC = rs.Spec([("G upright", 1), ("F G parked", 2)], atoms={"upright": upright, "parked": parked})


def returns(envs: gym.vector.VectorEnv, weights: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What each policy earns, one in each environment, and where its cart ends up."""
    observations, _ = envs.reset(seed=seed)
    totals, alive, position = np.zeros(len(weights)), np.ones(len(weights), dtype=bool), observations[:, 0].copy()
    for _ in range(STEPS):
        actions = ((observations * weights[:, :4]).sum(axis=1) > weights[:, 4]).astype(int)
        observations, rewards, terminations, truncations, _ = envs.step(actions)
        totals += rewards * alive
        position = np.where(alive, observations[:, 0], position)
        alive &= ~(terminations | truncations)
    return totals, position


def main(argv: list[str] | None = None) -> None:
    """Search, printing what the best policies of each generation earn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=25, help="default 25")
    parser.add_argument("--population", type=int, default=128, help="default 128")
    arguments = parser.parse_args(argv)
    for finding in SPEC.lint():
        print(finding)
    envs = gym.make_vec("CartPole-v1", arguments.population, vectorization_mode="vector_entry_point")
    envs = rs.wrappers.vector.MonitorReward(envs, SPEC)
    rng = np.random.default_rng(0)
    mean, spread = np.zeros(5), np.full(5, 2.0)
    for generation in range(arguments.generations):
        weights = mean + spread * rng.standard_normal((arguments.population, 5))
        totals, positions = returns(envs, weights, seed=generation)
        elite = np.argsort(totals)[-arguments.population // 8 :]
        mean, spread = weights[elite].mean(axis=0), weights[elite].std(axis=0) + 0.1
        if generation % 5 == 4 or generation == 0:
            earned, stop = totals[elite].mean(), positions[elite].mean()
            print(f"generation {generation + 1:2}: the best earn {earned:3.0f} of {3 * STEPS}, and stop at {stop:+.2f}")


if __name__ == "__main__":
    main()

"""Give recorded episodes the rewards of a spec, and ask why one of them paid what it paid.

    pip install .
    python examples/offline_relabelling.py --transitions 200000

Episodes of CartPole are recorded under random actions into flat arrays with episode ends, as D4RL keeps them.
"""

from __future__ import annotations

import argparse
import time

import gymnasium as gym
import numpy as np

import rewardspec as rs
from rewardspec.episodes.explanation import explain
from rewardspec.episodes.relabeling import relabel

SPEC = rs.Spec(
    [("F G upright", 1), rs.Pair("G on_track", 1, penalty=-1)],
    atoms={
        "upright": lambda obs, action, next_obs: np.clip(1.0 - abs(next_obs[..., 2]) / 0.2095, 0.0, 1.0),
        "on_track": lambda obs, action, next_obs: np.clip(1.0 - abs(next_obs[..., 0]) / 2.4, 0.0, 1.0),
    },
)


def record(transitions: int, num_envs: int = 64) -> dict[str, np.ndarray]:
    """About that many transitions, as flat arrays."""
    envs = gym.make_vec("CartPole-v1", num_envs, vectorization_mode="vector_entry_point")
    rng = np.random.default_rng(0)
    observations, _ = envs.reset(seed=0)
    columns: list[list[np.ndarray]] = []
    resetting = np.zeros(num_envs, dtype=bool)
    for _ in range(max(1, transitions // num_envs)):
        before, actions = observations.copy(), rng.integers(0, 2, num_envs)
        observations, rewards, terminations, truncations, _ = envs.step(actions)
        columns.append([before, actions, rewards, terminations, truncations, observations.copy(), resetting])
        resetting = terminations | truncations
    # From time first to environment first, so that each episode is in one piece; resets are no transitions.
    obs, actions, rewards, terminations, truncations, next_obs, resets = (
        np.swapaxes(np.stack(column), 0, 1) for column in zip(*columns, strict=True)
    )
    truncations[:, -1] |= ~terminations[:, -1] & ~resets[:, -1]  # the recording cuts the last episodes short
    keep = ~resets
    return {
        "observations": obs[keep],
        "actions": actions[keep],
        "rewards": rewards[keep],
        "terminations": terminations[keep],
        "truncations": truncations[keep],
        "next_observations": next_obs[keep],
    }


def main(argv: list[str] | None = None) -> None:
    """Record, relabel in every payment mode, and explain an episode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transitions", type=int, default=200_000, help="default 200000")
    arguments = parser.parse_args(argv)
    data = record(arguments.transitions)
    count = len(data["actions"])
    for payment in ("value", "delta", "potential", "final"):
        spec = SPEC.replace(payment=payment)
        start = time.perf_counter()
        result = relabel(spec, **data)
        rate = count / (time.perf_counter() - start)
        print(f"{payment:<10} mean return {result.returns.mean():7.2f}   {rate:12,.0f} transitions/s")
    ends = np.cumsum(relabel(SPEC, **data).lengths)
    starts = np.append(0, ends[:-1])
    fallen = data["terminations"][ends - 1]
    shortest = int(np.argmin(np.where(fallen, ends - starts, len(data["actions"]))))
    start, stop = int(starts[shortest]), int(ends[shortest])
    observations = np.concatenate([data["observations"][start:stop], data["next_observations"][stop - 1 : stop]])
    print(f"\nWhy episode {shortest}, the shortest, paid what it paid:\n")
    print(explain(SPEC, {"observations": observations, "actions": data["actions"][start:stop]}))


if __name__ == "__main__":
    main()

"""Tasks with a key, a door and a goal in XLand-MiniGrid: the environment's reward beside a formula's, PPO on a device.

    python benchmarks/hard_exploration.py --tune --out RESULTS.jsonl     # settings for each reward, on seeds apart
    python benchmarks/hard_exploration.py --out RESULTS.jsonl            # ten other seeds, with the settings found
    python benchmarks/hard_exploration.py --ablate --out RESULTS.jsonl   # what the formula's reward needs
    python benchmarks/hard_exploration.py --out RESULTS.jsonl --report > benchmarks/results/hard_exploration.md

Needs the extras `jax-envs` and `learn`. Each call trains what the file of results does not have yet, and can be
interrupted. All seeds of a job are one compiled program; several jobs share the device.

Success is the environment's own criterion: it paid a reward at the end of the episode. After training, the policies
play new episodes, and each is played to its end, so that long failures count like short successes.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from device_jobs import Job, append, load, result_of, run_all

import rewardspec as rs

ENVS = {
    "LockedRoom": "MiniGrid-LockedRoom",
    "DoorKey-16x16": "MiniGrid-DoorKey-16x16",
    "BlockedUnlockPickUp": "MiniGrid-BlockedUnlockPickUp",
}
FORMULA = "F(key & F(door & F goal))"


class Reward(NamedTuple):
    """What is paid, and what the policy sees of the formula."""

    pair: rs.Pair
    payment: str
    observe: str | None = "registers"


PROGRESS = "the formula's, for progress"
REWARDS = {
    PROGRESS: Reward(rs.Pair(FORMULA, 1, progress=True), "delta"),
    "the environment's": Reward(rs.Pair(FORMULA, 0), "potential"),  # a potential of weight 0 adds nothing
    "the formula's, at the end": Reward(rs.Pair(FORMULA, 1), "final"),
}
ABLATIONS = {
    "progress, registers not observed": Reward(rs.Pair(FORMULA, 1, progress=True), "delta", None),
    "progress, all within 100 steps": Reward(rs.Pair(f"F[0,100]({FORMULA[2:-1]})", 1, progress=True), "delta"),
    "progress to the goal alone": Reward(rs.Pair("F goal", 1, progress=True), "delta"),
    "progress to key, then goal": Reward(rs.Pair("F(key & F goal)", 1, progress=True), "delta"),
    "progress to door, then goal": Reward(rs.Pair("F(door & F goal)", 1, progress=True), "delta"),
}
# Minibatches of 4,096 steps, and as many of them in all, whatever the length of a rollout.
SETTINGS = {
    f"rate {rate:g}, entropy {entropy:g}, rollouts of {length}": {
        "learning_rate": rate,
        "entropy_coefficient": entropy,
        "rollout_steps": length,
        "minibatches": length // 4,
        "epochs": 4,
    }
    for rate in (1e-3, 3e-4)
    for entropy, length in ((0.01, 32), (0.03, 32), (0.01, 128))
}
NUM_ENVS, HIDDEN = 1_024, (256, 256)
TUNED_ON, TUNING_SEEDS = ("LockedRoom", "DoorKey-16x16"), (1_000, 1_001, 1_002)
PLAYED = 256
"""Episodes of each policy after training."""


def environment(env_name: str, reward: str, num_envs: int) -> tuple[rs.jax.SpecReward, int]:
    """Return the environments with a reward, and the most steps of an episode."""
    import xminigrid
    from xminigrid.core.constants import Tiles

    pair, payment, observe = (REWARDS | ABLATIONS)[reward]
    atoms = {
        "key": lambda obs, action, next_obs, info: info["state"].state.agent.pocket[0] == Tiles.KEY,
        # Only the locked door counts: LockedRoom has others, which are closed.
        "door": lambda obs, action, next_obs, info: ~(info["state"].state.grid[..., 0] == Tiles.DOOR_LOCKED).any(),
        "goal": lambda obs, action, next_obs, info: info["state"].last() & (info["state"].discount == 0),
    }
    spec = rs.Spec([pair], payment=payment, discount=0.99, atoms={name: atoms[name] for name in pair.formula.atoms})
    env, params = xminigrid.make(ENVS[env_name])
    envs = rs.jax.SpecReward(rs.jax.from_xminigrid(env, params), spec, num_envs, observe, auto_reset=64)
    return envs, params.max_steps


def train(job: Job, film: Path | None) -> dict[str, Any]:
    """Train, play, and return what is kept of it."""
    import jax
    from xminigrid.core.constants import NUM_COLORS, NUM_TILES

    from rewardspec.lab.learning.device_ppo import DevicePPO
    from rewardspec.lab.learning.encoders import grid_encoder
    from rewardspec.lab.learning.jax_training import train_jax_envs
    from rewardspec.lab.learning.settings import PPO

    config = PPO(total_steps=job["steps"], envs=job.get("envs", NUM_ENVS), **SETTINGS[job["settings"]])
    envs, limit = environment(job["env"], job["reward"], config.envs)
    encoder = grid_encoder(envs.observation_struct, (NUM_TILES, NUM_COLORS))
    curves = train_jax_envs(
        envs, config, job["seeds"], success=lambda info: info["base_reward"] > 0, encoder=encoder, hidden=HIDDEN
    )
    began = time.perf_counter()
    envs, _ = environment(job["env"], job["reward"], PLAYED)
    played = play(envs, encoder, curves.parameters, job["seeds"], limit)
    if film is not None:
        first = DevicePPO(envs, config, encoder=encoder, hidden=HIDDEN).initial(job["seeds"]).parameters
        save_film(film, job, encoder, first, curves.parameters)
    count = min(50, len(curves.steps))
    bins = [part[-1] for part in np.array_split(np.arange(len(curves.steps)), count)]
    return {
        "success": played["success"].mean(axis=1).round(4).tolist(),
        "length": played["length"].mean(axis=1).round(1).tolist(),
        "training_success": np.nan_to_num(curves.final("success")).round(4).tolist(),
        "curve_steps": curves.steps[bins].tolist(),
        "curve": _binned(curves.means["success"], curves.episodes, count),
        "compile_seconds": round(curves.compile_seconds, 1),
        "seconds": round(curves.seconds, 1),
        "playing_seconds": round(time.perf_counter() - began, 1),
        "machine": f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, Python {platform.python_version()}",
    }


def play(envs: Any, encoder: Any, parameters: Any, seeds: list[int], limit: int) -> dict[str, Any]:
    """Return success and length of the first episode of each environment, arrays of shape (runs, num_envs)."""
    import jax
    import jax.numpy as jnp

    def one(parameters: Any, key: Any) -> Any:
        reset_key, key = jax.random.split(key)
        zeros = jnp.zeros(envs.num_envs)

        def step(carry: Any, key: Any) -> Any:
            state, obs, running, success, length = carry
            action_key, step_key = jax.random.split(key)
            action = jax.random.categorical(action_key, _logits(encoder, parameters, obs))
            state, obs, _, terminated, truncated, info = envs.step(step_key, state, action)
            success += running * (info["base_reward"] > 0)
            return (state, obs, running * ~(terminated | truncated), success, length + running), None

        carry = (*envs.reset(reset_key), zeros + 1.0, zeros, zeros)
        *_, success, length = jax.lax.scan(step, carry, jax.random.split(key, limit))[0]
        return {"success": success, "length": length}

    keys = jax.vmap(lambda seed: jax.random.fold_in(jax.random.key(seed), 2**31 - 1))(np.asarray(seeds, np.uint32))
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(parameters, keys))


def save_film(path: Path, job: Job, encoder: Any, first: Any, last: Any) -> None:
    """Save an episode of the first seed's policy before training, and one after it that succeeds if any does."""
    import jax

    envs, limit = environment(job["env"], job["reward"], 64)
    name = envs.spec.names[0] if envs.spec is not None else ""

    @jax.jit
    def episodes(parameters: Any) -> Any:
        def step(carry: Any, key: Any) -> Any:
            state, obs = carry
            action_key, step_key = jax.random.split(key)
            action = jax.random.categorical(action_key, _logits(encoder, parameters, obs))
            inner = state.env.state
            seen = (inner.grid, inner.agent.position, inner.agent.direction, inner.agent.pocket)
            state, obs, reward, terminated, truncated, info = envs.step(step_key, state, action)
            names = ("grid", "position", "direction", "pocket", "action", "reward", "success", "done", "value")
            base = info["base_reward"] > 0
            values = (*seen, action, reward, base, terminated | truncated, info["formula_values"][name])
            return (state, obs), dict(zip(names, values, strict=True))

        reset_key, key = jax.random.split(jax.random.key(0))
        return jax.lax.scan(step, envs.reset(reset_key), jax.random.split(key, limit))[1]

    arrays = {}
    for when, parameters in (("before", first), ("after", last)):
        rows = jax.tree.map(np.asarray, episodes(jax.tree.map(lambda leaf: leaf[0], parameters)))
        ends = rows["done"].argmax(axis=0)
        succeeded = rows["success"][ends, np.arange(len(ends))]
        which = int(succeeded.argmax()) if when == "after" else 0
        for key, values in rows.items():
            small = values.astype(np.uint8) if np.issubdtype(values.dtype, np.integer) else values
            arrays[f"{when}_{key}"] = small[: ends[which] + 1, which]
    np.savez_compressed(path, **arrays)


def _logits(encoder: Any, parameters: Any, obs: Any) -> Any:
    import jax.numpy as jnp

    from rewardspec.lab.learning.networks import forward

    return forward(parameters["actor"], encoder.apply(parameters["actor"], obs), jnp)


def _binned(means: Any, weights: Any, count: int) -> list[list[float | None]]:
    """Mean of the episodes that ended in each part of training; None where none ended."""
    sums = np.where(weights > 0, means * weights, 0.0)
    parts = [(s.sum(1), w.sum(1)) for s, w in zip(*(np.array_split(x, count, 1) for x in (sums, weights)), strict=True)]
    rows = np.stack([np.divide(s, w, out=np.full(len(s), np.nan), where=w > 0) for s, w in parts], axis=1)
    return [[None if np.isnan(x) else round(float(x), 4) for x in row] for row in rows]


def tuning_jobs(steps: int) -> list[Job]:
    """Every setting for every reward, on the same environments and seeds."""
    return [
        _job("tuning", env, reward, settings, list(TUNING_SEEDS), steps)
        for env in TUNED_ON
        for reward in REWARDS
        for settings in SETTINGS
    ]


def chosen(results: list[dict[str, Any]], steps: int) -> dict[str, str] | None:
    """The settings with the most success in tuning by reward, the first of equals; None before tuning is complete."""
    if any(result_of(results, job) is None for job in tuning_jobs(steps)):
        return None
    found = {}
    for reward in REWARDS:
        means = {name: _tuning_success(results, reward, name, steps) for name in SETTINGS}
        found[reward] = max(means, key=lambda name: means[name])
    return found


def _tuning_success(results: list[dict[str, Any]], reward: str, settings: str, steps: int) -> float:
    jobs = [job for job in tuning_jobs(steps) if (job["reward"], job["settings"]) == (reward, settings)]
    return float(np.mean([result_of(results, job)["success"] for job in jobs]))  # type: ignore[index]


def main_jobs(settings: dict[str, str], steps: int, seeds: int) -> list[Job]:
    """The comparison: every reward with its own settings."""
    return [
        _job("main", env, reward, settings[reward], list(range(seeds)), steps) for reward in REWARDS for env in ENVS
    ]


def ablation_jobs(settings: dict[str, str], steps: int, seeds: int) -> list[Job]:
    """Changes of the formula's reward, with the settings of the unchanged one."""
    return [
        _job("ablation", "LockedRoom", reward, settings[PROGRESS], list(range(seeds)), steps) for reward in ABLATIONS
    ]


def _job(stage: str, env: str, reward: str, settings: str, seeds: list[int], steps: int) -> Job:
    return {"stage": stage, "env": env, "reward": reward, "settings": settings, "seeds": seeds, "steps": steps}


def report(results: list[dict[str, Any]], steps: int) -> None:
    """Print the tables."""
    print(
        "PPO in XLand-MiniGrid. Success is the environment's own criterion: it paid a reward at the end of the episode."
    )
    print(f"Every policy plays {PLAYED} new episodes after {steps:,} steps of training. Formula: `{FORMULA}`.")
    for stage, title in (("main", "Ten seeds"), ("ablation", "LockedRoom: what the reward needs")):
        rows = [one for one in results if one["job"]["stage"] == stage]
        if rows:
            print(f"\n## {title}\n\n| environment | reward | settings | success, mean | least of all seeds | ", end="")
            print("seeds at 0.99 | steps of an episode | seconds |\n|---|---|---|--:|--:|--:|--:|--:|")
        order = [*REWARDS, *ABLATIONS]
        for one in sorted(
            rows, key=lambda one: (list(ENVS).index(one["job"]["env"]), order.index(one["job"]["reward"]))
        ):
            job, success = one["job"], np.array(one["success"])
            print(
                f"| {job['env']} | {job['reward']} | {job['settings']} | {success.mean():.3f} | {success.min():.3f} | "
                f"{(success >= 0.99).sum()} of {len(success)} | {np.mean(one['length']):.0f} | {one['seconds']:.0f} |"
            )
    settings = chosen(results, steps)
    if settings is not None:
        print(
            f"\n## Settings\n\nMean success on {' and '.join(TUNED_ON)}, seeds {TUNING_SEEDS}, which are other seeds."
        )
        print(f"{NUM_ENVS:,} environments, hidden layers {HIDDEN}; bold: chosen.\n")
        print("| settings | " + " | ".join(REWARDS) + " |\n|---|" + "--:|" * len(REWARDS))
        for name in SETTINGS:
            cells = [f"{_tuning_success(results, reward, name, steps):.3f}" for reward in REWARDS]
            marked = [f"**{c}**" if settings[r] == name else c for r, c in zip(REWARDS, cells, strict=True)]
            print(f"| {name} | " + " | ".join(marked) + " |")
    print(
        "\n" + "; ".join(sorted({one["machine"] for one in results})) + ". Seconds are for training all seeds of a row,"
    )
    print("after compiling; several rows shared the device.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--job", help="run this job alone, in this process")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9)
    arguments = parser.parse_args()
    path, steps, seeds = arguments.out, arguments.steps, arguments.seeds
    if arguments.report:
        return report(load(path), steps)
    if arguments.job is not None:
        job = json.loads(arguments.job)
        filmed = (job["stage"], job["env"], job["reward"]) == ("main", "LockedRoom", PROGRESS)
        result = train(job, path.with_name("locked_room.npz") if filmed else None)
        append(path, job, result)
        print(job["env"], job["reward"], job["settings"], result["success"], result["seconds"], flush=True)
        return None
    until = time.monotonic() + 60.0 * arguments.minutes
    path.parent.mkdir(parents=True, exist_ok=True)
    if arguments.tune:
        jobs = tuning_jobs(steps)
    else:
        settings = chosen(load(path), steps)
        if settings is None:
            parser.error(f"{path} has no complete tuning of {steps:,} steps. Run with --tune first.")
        jobs = (ablation_jobs if arguments.ablate else main_jobs)(settings, steps, seeds)
    complete = run_all(__file__, jobs, path, arguments.workers, until, lambda line: print(line, flush=True))
    raise SystemExit(0 if complete else 3)


if __name__ == "__main__":
    main()

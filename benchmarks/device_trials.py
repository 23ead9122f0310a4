"""Training and evaluation of one benchmark job with PPO in JAX environments: train all seeds, play new episodes."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from device_jobs import Job, append, checkpoint_path, load, run_all

import rewardspec as rs

SAVE_EVERY = 120.0
"""Seconds between two checkpoints."""
Measures = Callable[[dict[str, Any]], dict[str, Any]]
"""Function from the `info` of the last step of episodes to what is measured, by name: arrays of shape (num_envs,)."""


class Trial(NamedTuple):
    """What is trained.

    Attributes:
        make: Function from a number of environments to the environments with their reward.
        measures: What is measured of an episode; one of them is called `success`.
        limit: Most steps of an episode.
        encoder: Function from the shape of an observation to what the networks see; None for all numbers.
        hidden: Sizes of the hidden layers.
    """

    make: Callable[[int], rs.jax.SpecReward]
    measures: Measures
    limit: int
    encoder: Callable[[Any], Any] | None = None
    hidden: Sequence[int] = (256, 256)


class Trained(NamedTuple):
    """Result of a trial: what the results file keeps, and what a film needs."""

    result: dict[str, Any]
    encoder: Any
    first: Any
    last: Any


def train(job: Job, name: str, trial: Trial, config: Any, played: int, checkpoint: Path | None = None) -> Trained:
    """Train a policy for each seed of a job, and play new episodes with each.

    Args:
        job: The job, with its `seeds`, all of which are one compiled program.
        name: What the lines about the progress begin with.
        trial: What is trained.
        config: Settings of PPO, a `rewardspec.lab.learning.settings.PPO`.
        played: Number of new episodes of each policy. Each is played to its end.
        checkpoint: File that an interrupted training goes on from.
    """
    from rewardspec.lab.learning.array_files import Checkpoint
    from rewardspec.lab.learning.device_ppo import DevicePPO
    from rewardspec.lab.learning.jax_training import train_jax_envs
    from rewardspec.lab.learning.networks import flat_encoder

    envs, played_envs, seeds = trial.make(config.envs), trial.make(played), job["seeds"]
    encoder = (trial.encoder or flat_encoder)(envs.observation_struct)
    player = make_player(trial, played_envs, encoder, seeds)
    began = time.perf_counter()

    def evaluate(steps: int, parameters: Any) -> dict[str, Any]:
        found = {key: values.mean(axis=1, dtype=float) for key, values in player(parameters, steps).items()}
        shares = ", ".join(f"{share:.2f}" for share in found["success"])
        print(f"{name}: {steps:,} steps, {time.perf_counter() - began:.0f} s, success {shares}", flush=True)
        return found

    curves = train_jax_envs(
        envs,
        config,
        seeds,
        measures=trial.measures,
        encoder=encoder,
        hidden=trial.hidden,
        evaluate=evaluate,
        checkpoint=None if checkpoint is None else Checkpoint(checkpoint, job, SAVE_EVERY),
    )
    means = player(curves.parameters, 0)
    result = {
        **{key: values.mean(axis=1, dtype=float).round(4).tolist() for key, values in means.items()},
        "training_success": np.nan_to_num(curves.final("success")).round(4).tolist(),
        "played_steps": curves.evaluated_steps.tolist(),
        "played": {key: values.round(4).tolist() for key, values in curves.evaluated.items()},
        "trained_steps": int(curves.steps[-1]),
        "compile_seconds": round(curves.compile_seconds, 1),
        "seconds": round(curves.seconds, 1),
        "machine": machine(),
    }
    first = DevicePPO(envs, config, encoder=encoder, hidden=trial.hidden).initial_parameters(seeds)
    return Trained(result, encoder, first, curves.parameters)


def make_player(trial: Trial, envs: Any, encoder: Any, seeds: Sequence[int]) -> Callable[[Any, int], Any]:
    """Return a function that plays the first episode of each environment to its end.

    The function takes the parameters of all runs, and a number that seeds the episodes. It returns the measures and the
    `length` of the episodes, arrays of shape (runs, num_envs).
    """
    import jax
    import jax.numpy as jnp

    def one(parameters: Any, key: Any) -> Any:
        reset_key, key = jax.random.split(key)
        zeros = jnp.zeros(envs.num_envs)

        def step(carry: Any, key: Any) -> Any:
            state, obs, running, sums = carry
            action_key, step_key = jax.random.split(key)
            action = jax.random.categorical(action_key, logits(encoder, parameters, obs))
            state, obs, _, terminated, truncated, info = envs.step(step_key, state, action)
            done = terminated | truncated
            found = {**trial.measures(info), "length": info["episode"]["length"]}
            sums = {name: sums[name] + running * done * values for name, values in found.items()}
            return (state, obs, running * ~done, sums), None

        names = [*trial.measures(_info_struct(envs)), "length"]
        carry = (*envs.reset(reset_key), zeros + 1.0, dict.fromkeys(names, zeros))
        return jax.lax.scan(step, carry, jax.random.split(key, trial.limit))[0][3]

    compiled = jax.jit(jax.vmap(one))

    def play(parameters: Any, number: int) -> Any:
        def key_of(seed: Any) -> Any:
            return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), 2**31 - 1), number)

        return jax.tree.map(np.asarray, compiled(parameters, jax.vmap(key_of)(np.asarray(seeds, np.uint32))))

    return play


def _info_struct(envs: Any) -> Any:
    """Return an `info` of zeros."""
    import jax
    import jax.numpy as jnp

    def info(key: Any) -> Any:
        state, _ = envs.reset(key)
        return envs.step(key, state, rs.jax.sample_actions(envs.action_space, key, envs.num_envs))[5]

    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(info, jax.random.key(0)))


def logits(encoder: Any, parameters: Any, obs: Any) -> Any:
    """Return the logits of the actions that a policy chooses from."""
    import jax.numpy as jnp

    from rewardspec.lab.learning.networks import forward

    return forward(parameters["actor"], encoder.apply(parameters["actor"], obs), jnp)


def parser(description: str | None, steps: int, seeds: int) -> argparse.ArgumentParser:
    """Return the options that the scripts share."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True, help="file of the results, a line each")
    options.add_argument("--report", action="store_true", help="print the page")
    options.add_argument("--job", help="run this job alone, in this process")
    options.add_argument("--steps", type=int, default=steps, help="steps of each seed")
    options.add_argument("--seeds", type=int, default=seeds)
    options.add_argument("--together", type=int, default=10, help="seeds in one program")
    options.add_argument("--envs", type=int, help="environments of a run, fewer than usual to try the script")
    options.add_argument("--workers", type=int, default=1, help="jobs at a time")
    options.add_argument("--minutes", type=float, default=1e9, help="end after so long; call again to go on")
    return options


def run(
    arguments: argparse.Namespace, script: str, jobs: Sequence[Job], one: Callable[[Job, Path], dict[str, Any]]
) -> int:
    """Run one job, or all whose results are missing, and return the exit status: 3 if some are still missing.

    `one` takes a job and a file to keep its state in, and returns its result.
    """
    path = arguments.out
    if arguments.job is not None:
        job = json.loads(arguments.job)
        result = one(job, checkpoint_path(path, job))
        append(path, job, result)
        print(job, result["success"], result["seconds"], flush=True)
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60.0 * arguments.minutes
    complete = run_all(script, jobs, path, arguments.workers, until, lambda line: print(line, flush=True))
    return 0 if complete else 3


def parts(job: Job, results: Sequence[dict[str, Any]], together: int) -> list[Job]:
    """Return a job in parts of so many seeds, without the seeds that have a result."""
    done = {seed for one in results if _but_seeds(one["job"]) == _but_seeds(job) for seed in one["job"]["seeds"]}
    left = [seed for seed in job["seeds"] if seed not in done]
    return [{**job, "seeds": left[k : k + together]} for k in range(0, len(left), together)]


def load_all_seeds(path: Path) -> list[dict[str, Any]]:
    """Return the results in a file, those of different seeds of a job as one."""
    found: dict[str, dict[str, Any]] = {}
    for one in sorted(load(path), key=lambda one: min(one["job"]["seeds"])):
        first = found.setdefault(json.dumps(_but_seeds(one["job"])), one)
        if first is not one:
            for name, rows in first["played"].items():
                first[name] += one[name]
                rows += one["played"][name]
            first["training_success"] += one["training_success"]
            first["seconds"] += one["seconds"]
            first["job"]["seeds"] += one["job"]["seeds"]
            first["machine"] = "; ".join(sorted({first["machine"], one["machine"]}))
    return list(found.values())


def _but_seeds(job: Job) -> Job:
    return {name: value for name, value in job.items() if name != "seeds"}


def interval(values: Any) -> tuple[Any, Any]:
    """Return the 95 % bootstrap interval of the mean over seeds, the first axis."""
    values = np.asarray(values, dtype=float)
    picks = np.random.default_rng(0).integers(len(values), size=(2_000, len(values)))
    low, high = np.quantile(values[picks].mean(axis=1), (0.025, 0.975), axis=0)
    return low, high


def mean_words(values: Sequence[float]) -> str:
    """Return a mean over seeds, with its interval if there are five or more."""
    if len(values) < 5:
        return f"{np.mean(values):.3f}"
    low, high = interval(values)
    return f"{np.mean(values):.3f} [{low:.2f}, {high:.2f}]"


def curve_of(result: dict[str, Any], name: str = "success") -> tuple[list[int], Any]:
    """Return steps of training, and a measure of each seed at those steps, shape (runs, points).

    In results of the first run, the measure is of the episodes that ended during training, and 0 where none ended.
    """
    if "played" in result:
        return result["played_steps"], np.array(result["played"][name])
    old = result["curve"] if name == "success" else result["curves"][name]
    return result["curve_steps"], np.nan_to_num(np.array(old, dtype=float))


def draw_curve(axis: Any, steps: Sequence[int], curves: Any, number: int, label: str) -> None:
    """Draw success during training: each seed, their mean, and its interval if there are five seeds or more."""
    million, curves = np.array(steps) / 1e6, np.array(curves, dtype=float)
    axis.plot(million, curves.T, color=f"C{number}", alpha=0.25, linewidth=0.6)
    axis.plot(million, curves.mean(axis=0), color=f"C{number}", label=label)
    if len(curves) >= 5:
        axis.fill_between(million, *interval(curves), color=f"C{number}", alpha=0.2, linewidth=0)


def save_figure(figure: Any, axes: Sequence[Any], picture: Path) -> None:
    """Save panels of curves with one legend below, the same bytes for the same results."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = picture.stem
    for axis in axes:
        axis.set(xlabel="million steps", ylim=(-0.02, 1.02))
    named = {text: line for axis in axes for line, text in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(named.values(), named, loc="lower center", ncols=len(named), frameon=False)
    figure.tight_layout(rect=(0, 0.25 / figure.get_figheight(), 1, 1))
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


def machine() -> str:
    """Return on what a job runs."""
    import jax

    return f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, Python {platform.python_version()}"


def machines(path: Path) -> str:
    """Return on which machines the results were measured."""
    return "; ".join(sorted({one["machine"] for one in load(path)}))

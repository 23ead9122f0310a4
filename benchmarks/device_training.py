"""How fast PPO trains as one compiled program, and whether it learns what the learner on the host learns.

    python benchmarks/device_training.py cpu                      # compiled beside host, on the processor
    python benchmarks/device_training.py speed paper cells --device gpu --out RESULTS
    python benchmarks/device_training.py cells --device host --out RESULTS      # the same cells on the host
    python benchmarks/device_training.py report --out RESULTS     # the tables, of all that RESULTS holds

Steps:
    cpu: CartPole paid by the paper's quantitative spec, ten seeds: the learner on the host and the compiled one take
        turns in one process. Steps per second after compilation, seconds of the first call, and processor time of a
        step, which other programs on the machine change less than its duration.
    speed: CartPole, 2,048 environments and 8 seeds, with the spec and without: steps per second.
    paper: CartPole with the spec and the paper's settings, ten seeds of 500,000 steps: seconds, compilation apart.
    cells: The four classic control environments with the paper's three rewards, ten seeds each, as `rewardspec
        reproduce` trains them; seconds of each cell, and the final task completion of each seed. `--envs` and
        `--rewards` choose some of them.
    report: The tables.

Every step writes what it has measured to a JSON file in RESULTS as soon as it has it, and `cells` skips cells that are
there and resumes a cell from its checkpoint, so that a step that was stopped loses a few seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ENVS = ("cart_pole", "mountain_car", "acrobot", "pendulum")
REWARDS = ("base", "boolean", "quantitative")
STEPS = ("cpu", "speed", "paper", "cells", "report")
SEEDS = 10
RESULTS = Path(__file__).parent / "results" / "device_training.md"


def machine(device: str) -> str:
    import jax

    if device in ("gpu", "tpu"):
        return f"{jax.devices(device)[0].device_kind}, JAX {jax.__version__}, Python {platform.python_version()}"
    return f"{os.cpu_count()} cores, {platform.machine()}, JAX {jax.__version__}, Python {platform.python_version()}"


def write(folder: Path, name: str, content: dict[str, Any]) -> None:
    """Write a measurement, and print it."""
    from rewardspec.atomic_files import write_whole

    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{name}.json", json.dumps(content, indent=1).encode())
    shown = {key: value for key, value in content.items() if not isinstance(value, list)}
    print(f"{name}: {shown}", flush=True)


def cpu(folder: Path, steps: int) -> None:
    """Take turns: rounds of the host's learner and of the compiled one."""
    from rewardspec import tasks
    from rewardspec.lab.learning.device_training import learn_actors_compiled
    from rewardspec.lab.learning.ppo import learn_actors
    from rewardspec.lab.learning.settings import PPO

    for name, settings in (("cart_pole", PPO.discrete), ("pendulum", PPO.continuous)):
        task, config = tasks.get(name), settings(total_steps=steps)
        spec = task.spec("quantitative")
        rates: dict[str, list[float]] = {"host": [], "cpu": []}
        first: dict[str, list[float]] = {"host": [], "cpu": []}
        busy: dict[str, list[float]] = {"host": [], "cpu": []}
        for _ in range(3):
            for device, learn in (("host", learn_actors), ("cpu", learn_actors_compiled)):
                told: list[tuple[float, float, int]] = []
                began = time.perf_counter()
                learn(
                    task,
                    spec,
                    "registers",
                    config,
                    range(SEEDS),
                    lambda done, _, told=told: told.append((time.perf_counter(), time.process_time(), done)),
                )
                (start, processor, before), (end, processor_end, after) = told[0], told[-1]
                rates[device].append((after - before) / (end - start))
                busy[device].append((processor_end - processor) / (after - before) * 1e6)
                first[device].append(start - began)
            found = {
                "task": name,
                "machine": machine("cpu"),
                **{f"{device}_rate": statistics.median(values) for device, values in rates.items()},
                **{f"{device}_first_seconds": max(values) for device, values in first.items()},
                **{f"{device}_processor": statistics.median(values) for device, values in busy.items()},
                "rounds": len(rates["host"]),
            }
            write(folder, f"cpu-{name}", found)


def speed(folder: Path, device: str) -> None:
    """Many environments: what the device can do."""
    from rewardspec import tasks
    from rewardspec.jax import SpecReward
    from rewardspec.lab.learning.device_training import computing_on
    from rewardspec.lab.learning.jax_training import train_jax_envs
    from rewardspec.lab.learning.physics_env import physics_env
    from rewardspec.lab.learning.settings import PPO

    task = tasks.get("cart_pole")
    config = PPO(envs=2048, rollout_steps=128, total_steps=2048 * 128 * 60)
    with computing_on(device):
        for label, spec, observe in (
            ("none", None, None),
            ("quantitative", task.spec("quantitative"), None),
            ("registers", task.spec("quantitative"), "registers"),
        ):
            envs = SpecReward(physics_env(task), spec, config.envs, observe, limit=task.max_episode_steps)
            curves = train_jax_envs(envs, config, range(8), chunk=10)
            steps = config.total_steps * 8 * 5 / 6  # the first of six calls compiles
            found = {
                "machine": machine(device),
                "spec": label,
                "rate": steps / curves.seconds,
                "first_seconds": curves.compile_seconds,
            }
            write(folder, f"speed-{label}", found)


def paper(folder: Path, device: str) -> None:
    """The paper's settings: ten seeds of 500,000 steps."""
    from rewardspec import tasks
    from rewardspec.lab.learning.device_training import learn_actors_compiled
    from rewardspec.lab.learning.settings import PPO

    task = tasks.get("cart_pole")
    told: list[tuple[float, int]] = []
    began = time.perf_counter()
    learn_actors_compiled(
        task,
        task.spec("quantitative"),
        "registers",
        PPO.discrete(),
        range(SEEDS),
        lambda done, _: told.append((time.perf_counter(), done)),
        device=device,
    )
    whole = time.perf_counter() - began
    (start, before), (end, after) = told[0], told[-1]
    training = (end - start) * after / (after - before)  # the first call compiles, and is counted as the others
    found = {"machine": machine(device), "seconds": training, "compile_seconds": whole - training, "steps": after}
    write(folder, "paper", found)


def cells(folder: Path, device: str, envs: list[str], rewards: list[str]) -> None:
    """The cells of classic control, as `rewardspec reproduce` trains them."""
    from rewardspec.lab.experiments.statistics import in_the_end, run_means
    from rewardspec.lab.learning.device_training import computing_on
    from rewardspec.lab.learning.training import train
    from rewardspec.lab.paper.evaluation import paper_budget, paper_reward, paper_tasks

    for name in envs:
        task = paper_tasks()[name]
        for reward in rewards:
            key = f"cell-{device}-{name}-{reward}"
            if (folder / f"{key}.json").exists():
                print(f"{key} is there already", flush=True)
                continue
            paid, config = paper_reward(task, reward), paper_budget(task).config
            folder.mkdir(parents=True, exist_ok=True)
            with computing_on(device):
                training = train(
                    task,
                    paid.spec,
                    config=config,
                    seeds=range(SEEDS),
                    observe=paid.observe,
                    device=device,
                    checkpoint=folder / f"{key}.checkpoint",
                )
            log = training.log
            end = in_the_end(log, "steps")
            found = {
                "machine": machine(device),
                "task": name,
                "reward": reward,
                "device": device,
                "seconds": training.seconds,
                "completion": run_means(log, log.task_completion, end).tolist(),
                "return": run_means(log, log.base_reward, end).tolist(),
            }
            write(folder, key, found)


def report(folder: Path) -> str:
    """Make the tables of all that was measured."""
    import numpy as np

    from rewardspec.lab.experiments.statistics import mean_over_runs

    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    lines = ["Printed by `python benchmarks/device_training.py report`; its docstring says what was measured.", ""]
    pairs = [one for name, one in found.items() if name.startswith("cpu-")]
    if pairs:
        lines += [
            f"On the processor ({pairs[0]['machine']}), ten seeds, "
            f"quantitative spec, registers observed. The learners took turns, {pairs[0]['rounds']} times; medians.",
            "",
            "| task | learner | steps/s | processor time of a step | first call |",
            "|---|---|--:|--:|--:|",
        ]
        lines += [
            f"| {one['task']} | {words} | {one[f'{name}_rate']:,.0f} | {one[f'{name}_processor']:.1f} µs | "
            f"{one[f'{name}_first_seconds']:.1f} s |"
            for one in pairs
            for name, words in (("host", "host"), ("cpu", "compiled"))
        ]
        lines.append("")
    rates = [one for name, one in found.items() if name.startswith("speed-")]
    if rates:
        lines += [
            f"CartPole, 2,048 environments × 8 seeds ({rates[0]['machine']}):",
            "",
            "| spec | million steps/s | first call |",
            "|---|---|---|",
        ]
        words = {"none": "none", "quantitative": "quantitative", "registers": "quantitative, registers observed"}
        for label, title in words.items():
            one = found.get(f"speed-{label}")
            if one:
                lines.append(f"| {title} | {one['rate'] / 1e6:.1f} | {one['first_seconds']:.1f} s |")
        lines.append("")
    if "paper" in found:
        one = found["paper"]
        lines += [
            f"CartPole, the paper's settings, quantitative spec, ten seeds, {one['steps']:,} steps in all "
            f"({one['machine']}): {one['seconds']:.1f} s, and {one['compile_seconds']:.1f} s until it runs.",
            "",
        ]
    trained = [one for name, one in found.items() if name.startswith("cell-")]
    devices = [name for name in ("host", "cpu", "gpu", "tpu") if any(one["device"] == name for one in trained)]
    if trained:
        by = {(one["device"], one["task"], one["reward"]): one for one in trained}
        totals = {d: [one["seconds"] for one in trained if one["device"] == d] for d in devices}
        words = [f"{d} {sum(totals[d]):,.0f} s for {len(totals[d])} cells" for d in devices]
        lines += [
            "Classic control as `rewardspec reproduce` trains it, ten seeds: task completion over the last tenth of "
            f"the steps, in percent, mean over seeds with its 95 % interval, and seconds of training. In all: "
            f"{'; '.join(words)}.",
            "",
            f"| task | reward | {' | '.join(f'{d} | s' for d in devices)} |",
            f"|---|---|{'---|---|' * len(devices)}",
        ]
        for name in ENVS:
            for reward in REWARDS:
                if not any((d, name, reward) in by for d in devices):
                    continue
                columns = []
                for d in devices:
                    one = by.get((d, name, reward))
                    if one is None:
                        columns.append("– | –")
                        continue
                    mean = mean_over_runs(100.0 * np.asarray(one["completion"]))
                    columns.append(f"{mean.value:.1f} [{mean.low:.1f}, {mean.high:.1f}] | {one['seconds']:.0f}")
                lines.append(f"| {name} | {reward} | {' | '.join(columns)} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+", choices=STEPS)
    parser.add_argument("--device", default="cpu", choices=("host", "cpu", "gpu", "tpu"))
    parser.add_argument("--out", type=Path, default=Path("build") / "device_training")
    parser.add_argument("--envs", nargs="+", default=list(ENVS), choices=ENVS)
    parser.add_argument("--rewards", nargs="+", default=list(REWARDS), choices=REWARDS)
    parser.add_argument("--cpu-steps", type=int, default=20_480, help="steps of each seed in `cpu`")
    arguments = parser.parse_args()
    if arguments.device in ("host", "cpu"):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    for step in arguments.steps:
        if step == "cpu":
            cpu(arguments.out, arguments.cpu_steps)
        elif step == "speed":
            speed(arguments.out, arguments.device)
        elif step == "paper":
            paper(arguments.out, arguments.device)
        elif step == "cells":
            cells(arguments.out, arguments.device, arguments.envs, arguments.rewards)
        else:
            text = report(arguments.out)
            RESULTS.write_text(text, encoding="utf-8")
            print(text)


if __name__ == "__main__":
    sys.exit(main())

"""This version beside another one, in one run: python benchmarks/against.py PATH-TO-THE-OTHER-CHECKOUT [--rounds 5]

Every measure runs in processes of its own, the two versions in turns. Processor time is what is measured, and the
quickest of each counts: on a machine that does other work too, that is what the code itself takes. Prints a Markdown
table.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OWN = Path(__file__).resolve().parents[1]


def quickest(run, repeats=7):
    """The least time that a call takes."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def single_step():
    """ns for a step of G(a -> F b) on one trace."""
    import rewardspec as rs

    monitor = rs.synthesize("G(a -> F b)")
    step, labels, count = monitor.step, {"a": 0.25, "b": 0.5}, 100_000

    def run():
        state = monitor.initial_state()
        for _ in range(count):
            state, _ = step(state, labels)

    return quickest(run) / count * 1e9


def batch_step():
    """ns for each of 4,096 traces of a step of G(a -> F b) in NumPy, every label checked."""
    import numpy as np

    import rewardspec as rs

    monitor = rs.synthesize("G(a -> F b)")
    rng = np.random.default_rng(0)
    labels, count = {"a": rng.random(4096), "b": rng.random(4096)}, 2_000

    def run():
        state = monitor.initial_state(batch=4096)
        for _ in range(count):
            state, _ = monitor.step(state, labels)

    return quickest(run) / count / 4096 * 1e9


def _spec(batch):
    import numpy as np

    import rewardspec as rs

    if batch:
        atoms = {
            "upright": lambda obs, action, next_obs: 1 - np.minimum(abs(next_obs[..., 2]) / 0.42, 1),
            "centered": lambda obs, action, next_obs: 1 - np.minimum(abs(next_obs[..., 0]) / 4.8, 1),
        }
    else:
        atoms = {
            "upright": lambda obs, action, next_obs: 1 - min(abs(float(next_obs[2])) / 0.42, 1.0),
            "centered": lambda obs, action, next_obs: 1 - min(abs(float(next_obs[0])) / 4.8, 1.0),
        }
    return rs.Spec([("G upright", 1), ("F G centered", 2)], atoms=atoms)


def _wrapped(observe):
    import gymnasium as gym

    import rewardspec as rs

    env = rs.wrappers.MonitorReward(gym.make("CartPole-v1"), _spec(False), observe=observe)

    def run():
        env.reset(seed=0)
        for k in range(20_000):
            *_, terminated, truncated, _ = env.step(k % 2)
            if terminated or truncated:
                env.reset()

    return quickest(run) / 20_000 * 1e6


def wrapper():
    """µs for a step of wrapped CartPole."""
    return _wrapped(None)


def wrapper_with_registers():
    """µs for a step of wrapped CartPole, registers observed."""
    return _wrapped("registers")


def vector_wrapper():
    """µs for a step of 64 wrapped CartPoles."""
    import gymnasium as gym
    import numpy as np

    import rewardspec as rs

    envs = rs.wrappers.vector.MonitorReward(gym.make_vec("CartPole-v1", 64, "sync"), _spec(True))
    actions = np.arange(64) % 2

    def run():
        envs.reset(seed=0)
        for k in range(600):
            envs.step(actions if k % 2 else 1 - actions)

    return quickest(run) / 600 * 1e6


def _learning(*modules):
    """The first of the learners' modules that a version has, wherever it keeps them."""
    for name in (f"rewardspec.{package}.{module}" for package in ("lab.learning", "learning") for module in modules):
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise ImportError(f"There is no module of {', '.join(modules)} in this version.")


def _train(name, config, seeds):
    """µs for a step; an episode may be longer in one version than in the other."""
    train = _learning("training").train
    try:
        from rewardspec import tasks
    except ImportError:
        from rewardspec import envs as tasks
    task = tasks.get(name)
    spec = task.spec("quantitative")
    log = train(task, spec, config=config, seeds=seeds).log  # compiles
    seconds = quickest(lambda: train(task, spec, config=config, seeds=seeds), repeats=2)
    return seconds / log.length.sum() * 1e6


def ppo():
    """µs for an environment step of PPO on CartPole, ten runs together."""
    return _train("cart_pole", _learning("settings", "ppo").PPO.discrete(total_steps=16_384), range(10))


def q_learning():
    """µs for an environment step of Q-learning on Taxi, a hundred runs together."""
    return _train("taxi", _learning("settings", "q_learning").QLearning(episodes=500), range(100))


def import_time():
    """ms for `import rewardspec`."""
    code = "import time; import rewardspec; print(time.process_time())"
    found = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)
    ]
    return min(found) * 1e3


MEASURES = (
    single_step,
    batch_step,
    wrapper,
    wrapper_with_registers,
    vector_wrapper,
    ppo,
    q_learning,
    import_time,
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--only", nargs="*", help="measures by name")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(globals()[options.measure]()))
        return
    # As in an installed package, modules are compiled once; the first round does it.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    inherited["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp()
    before, now = (
        subprocess.run(["git", "-C", where, "log", "-1", "--format=%h"], capture_output=True, text=True).stdout.strip()
        for where in (options.other, OWN)
    )
    print(f"Before: {before}. Now: {now}. Processor time, the least of {options.rounds} rounds in which both")
    print(f"take turns (Python {platform.python_version()}).\n\n| | before | now | ratio |\n|---|---|---|---|")
    for measure in MEASURES:
        if options.only and measure.__name__ not in options.only:
            continue
        best = {}
        for _ in range(options.rounds):
            for version in (options.other.resolve(), OWN):
                command = [sys.executable, __file__, "--measure", measure.__name__]
                environment = {**inherited, "PYTHONPATH": str(version / "src")}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd="/")
                found = float(done.stdout.splitlines()[-1])
                best[version] = min(found, best.get(version, found))
        before, now = best[options.other.resolve()], best[OWN]
        print(f"| {measure.__doc__} | {before:,.3g} | {now:,.3g} | {now / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()

"""How fast training is: PPO beside Stable-Baselines3, Q-learning beside a plain Python loop.

    python benchmarks/training.py

PPO: CartPole and Lunar Lander, the environment's own reward and the paper's quantitative spec, the same settings for
both (4 environments, rollouts of 128 steps, 4 epochs of 4 minibatches, networks of 64-64). Ours trains ten seeds at
once, as the evaluation does; Stable-Baselines3 one, on one thread, which is where it is fastest. Steps of all seeds
count. Q-learning: Taxi with its Boolean spec, 500 runs at once, beside the usual loop over `env.step` with a NumPy
table. Everything takes turns, five times; the median counts. Compilation, done once before, does not.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

# One thread each: programs this small lose by sharing.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from rewardspec import tasks
from rewardspec.lab.learning.ppo import learn_actors
from rewardspec.lab.learning.settings import PPO, QLearning
from rewardspec.lab.learning.training import train
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec
from rewardspec.wrappers import MonitorReward

ROUNDS = 5
SEEDS = 10
RUNS = 500  # of Q-learning
OUR_STEPS, THEIR_STEPS, LOOP_STEPS = 5_120, 5_120, 10_000
RESULTS = Path(__file__).parent / "results" / "training.md"
COUNTED = (
    "Ours trains many runs together, and the steps of all of them count; the alternative trains one. Each has one "
    "thread, and compilation does not count. Time: that of all our runs, where one run of the alternative, of as many "
    "steps as one of ours, takes 1."
)


def our_ppo(task: Task, spec: Spec | None) -> Callable[[], int]:
    """Ten seeds at once."""
    config = PPO.discrete(total_steps=OUR_STEPS)

    def run() -> int:
        learn_actors(task, spec, None, config, range(SEEDS))
        return SEEDS * OUR_STEPS

    return run


def sb3_ppo(task: Task, spec: Spec | None) -> Callable[[], int]:
    """One seed, with the settings of `PPO.discrete`."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    wrapper = None if spec is None else (lambda env: MonitorReward(env, spec))
    vector = make_vec_env(task.id, n_envs=4, wrapper_class=wrapper)
    model = stable_baselines3.PPO(
        "MlpPolicy",
        vector,
        learning_rate=2.5e-4,
        n_steps=128,
        batch_size=128,
        n_epochs=4,
        clip_range_vf=0.2,
        ent_coef=0.01,
        device="cpu",
    )

    def run() -> int:
        model.learn(THEIR_STEPS)
        return THEIR_STEPS

    return run


def our_q_learning(task: Task, spec: Spec) -> Callable[[], int]:
    """500 runs at once."""
    config = QLearning(episodes=20)

    def run() -> int:
        return int(train(task, spec, config=config, seeds=range(RUNS), observe="registers").log.length.sum())

    return run


def plain_loop(task: Task, spec: Spec) -> Callable[[], int]:
    """The loop of the textbooks."""
    env = MonitorReward(task.make(disable_env_checker=True), spec, observe="registers")
    table = np.zeros((env.observation_space.n, env.action_space.n))
    rng = np.random.default_rng(0)

    def run() -> int:
        obs, _ = env.reset(seed=0)
        for _ in range(LOOP_STEPS):
            action = int(rng.integers(table.shape[1])) if rng.random() < 0.5 else int(table[obs].argmax())
            after, reward, terminated, truncated, _ = env.step(action)
            future = 0.0 if terminated else 0.9 * table[after].max()
            table[obs, action] += 0.01 * (reward + future - table[obs, action])
            obs = env.reset()[0] if terminated or truncated else after
        return LOOP_STEPS

    return run


def rates(runs: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Median steps per second of each, taking turns."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runs.items():
            began = time.perf_counter()
            steps = run()
            found[name].append(steps / (time.perf_counter() - began))
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> None:
    lines = [
        "| task | reward | runs together | their steps/s | the alternative's one run | ratio | time of all our runs |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in ("cart_pole", "lunar_lander"):
        task = tasks.get(name)
        for label, spec in (("base", None), ("quantitative", task.spec("quantitative"))):
            found = rates({"ours": our_ppo(task, spec), "theirs": sb3_ppo(task, spec)})
            lines.append(row(f"{task.title}, PPO", label, SEEDS, found, "Stable-Baselines3"))
    taxi = tasks.get("taxi")
    spec = taxi.spec("boolean")
    found = rates({"ours": our_q_learning(taxi, spec), "theirs": plain_loop(taxi, spec)})
    lines.append(row("Taxi, Q-learning", "boolean", RUNS, found, "plain loop"))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    command = "python benchmarks/training.py"
    text = f"Printed by `{command}` ({machine}). {COUNTED}\n\n" + "\n".join(lines) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


def row(task: str, reward: str, runs: int, found: dict[str, float], alternative: str) -> str:
    ours, theirs = found["ours"], found["theirs"]
    speeds = f"{runs} | {ours:,.0f} | {theirs:,.0f} ({alternative}) | {ours / theirs:.0f}×"
    line = f"| {task} | {reward} | {speeds} | {runs * theirs / ours:.2g} |"
    print(line, flush=True)
    return line


if __name__ == "__main__":
    main()

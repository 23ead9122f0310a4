"""What a spec costs on top of CartPole: one environment beside the peers, 64 at once, and thousands inside JAX.

    python benchmarks/wrapper_overhead.py           # one environment, vectors, JAX on the CPU
    python benchmarks/wrapper_overhead.py --gpu     # JAX only, with 65,536 environments on an accelerator

All variants of a table take turns, and the best of several repetitions counts, so that noise hits them alike.  The same
two atoms, `upright` and `centred`, are monitored by all: quantitative here; as events of a machine with one state in
PyCRM (`pyrewardmachines`); as the predicates of `G upright & F centred` in gym-tl-tools.  Peers that are not installed
are left out.  A feedback policy keeps every pole up, so that episodes have 500 steps; its own time is taken off.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import statistics
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import rewardspec as rs

FORMULAS = [("G upright", 1), ("F G centred", 1)]
REPEATS = 15


def upright(obs, action, next_obs):  # type: ignore[no-untyped-def]
    return 1.0 - min(abs(next_obs[2]) / 0.2095, 1.0)


def centred(obs, action, next_obs):  # type: ignore[no-untyped-def]
    return 1.0 - min(abs(next_obs[0]) / 2.4, 1.0)


def upright_batch(obs, action, next_obs):  # type: ignore[no-untyped-def]
    return 1.0 - np.minimum(np.abs(next_obs[..., 2]) / 0.2095, 1.0)


def centred_batch(obs, action, next_obs):  # type: ignore[no-untyped-def]
    return 1.0 - np.minimum(np.abs(next_obs[..., 0]) / 2.4, 1.0)


# The usual way to write atoms for one environment, and the way that also serves batches.
PLAIN = rs.Spec(FORMULAS, atoms={"upright": upright, "centred": centred})
BATCHED = rs.Spec(FORMULAS, atoms={"upright": upright_batch, "centred": centred_batch})


def rounds(runs: dict[str, Callable[[], None]], repeats: int) -> dict[str, list[float]]:
    """The seconds of each run in several rounds in which all take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()  # caches and compilation do not count
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def take_turns(runs: dict[str, Callable[[], None]], repeats: int = REPEATS) -> dict[str, float]:
    """The best of each run's rounds."""
    return {name: min(seconds) for name, seconds in rounds(runs, repeats).items()}


# One environment.


def stay_up(state: Any) -> int:
    """An action that keeps the pole up, from the physical state."""
    x, x_dot, theta, theta_dot = state
    return 1 if theta + 0.3 * theta_dot + 0.03 * x + 0.1 * x_dot > 0.0 else 0


def one_environment(env: gym.Env[Any, Any], cart: Any, steps: int = 5_000) -> Callable[[], None]:
    def run() -> None:
        env.reset(seed=0)
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(stay_up(cart.state))
            if terminated or truncated:
                env.reset()

    return run


def pycrm(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    from pycrm.automaton import RewardMachine
    from pycrm.crossproduct import CrossProduct
    from pycrm.label import LabellingFunction

    class Event(Enum):
        UPRIGHT = "upright"
        CENTRED = "centred"

    class Labels(LabellingFunction):  # type: ignore[misc]
        @LabellingFunction.event  # type: ignore[untyped-decorator]
        def is_upright(self, obs: Any, action: Any, next_obs: Any) -> Event | None:
            return Event.UPRIGHT if abs(next_obs[2]) < 0.1 else None

        @LabellingFunction.event  # type: ignore[untyped-decorator]
        def is_centred(self, obs: Any, action: Any, next_obs: Any) -> Event | None:
            return Event.CENTRED if abs(next_obs[0]) < 1.2 else None

    class Machine(RewardMachine):  # type: ignore[misc]
        @property
        def u_0(self) -> int:
            return 0

        def _get_state_transition_function(self) -> dict[int, dict[str, int]]:
            return {0: {"UPRIGHT and CENTRED": 0, "UPRIGHT": 0, "CENTRED": 0, "not UPRIGHT and not CENTRED": 0}}

        def _get_reward_transition_function(self) -> dict[int, dict[str, float]]:
            return {0: {"UPRIGHT and CENTRED": 2.0, "UPRIGHT": 1.0, "CENTRED": 1.0, "not UPRIGHT and not CENTRED": 0.0}}

    product: gym.Env[Any, Any] = CrossProduct(env, Machine(Event), Labels(), max_steps=500)
    return product


def gym_tl_tools(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    from gym_tl_tools import BaseVarValueInfoGenerator, Predicate, TLObservationReward

    class Values(BaseVarValueInfoGenerator):  # type: ignore[misc]
        def get_var_values(self, env: Any, obs: Any, info: Any) -> dict[str, float]:
            return {"angle": abs(obs[2]), "offset": abs(obs[0])}

    wrapped: gym.Env[Any, Any] = TLObservationReward(
        env,
        tl_spec="G(upright) & F(centred)",
        atomic_predicates=[
            Predicate(name="upright", formula="angle < 0.2095"),
            Predicate(name="centred", formula="offset < 0.001"),
        ],
        var_value_info_generator=Values(),
        early_termination=False,
    )
    return wrapped


def single(steps: int = 5_000) -> None:
    wrappings: dict[str, tuple[str | None, Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]]] = {
        "bare": (None, lambda env: env),
        "rewardspec": (None, lambda env: rs.wrappers.MonitorReward(env, PLAIN)),
        "rewardspec, atoms written for batches": (None, lambda env: rs.wrappers.MonitorReward(env, BATCHED)),
        "rewardspec, registers observed": (None, lambda env: rs.wrappers.MonitorReward(env, PLAIN, "registers")),
        "PyCRM": ("pycrm", pycrm),
        "gym-tl-tools": ("gym_tl_tools", gym_tl_tools),
    }
    runs, missing = {}, []
    for name, (package, wrap) in wrappings.items():
        if package is not None and importlib.util.find_spec(package) is None:
            missing.append(name)
            continue
        env = gym.make("CartPole-v1")
        runs[name] = one_environment(wrap(env), env.unwrapped, steps)
    state = gym.make("CartPole-v1").reset(seed=0)[0].astype(np.float64)

    def policy() -> None:
        for _ in range(steps):
            stay_up(state)

    seconds = take_turns(runs | {"policy": policy})
    policy_time = seconds.pop("policy")
    bare = seconds["bare"] - policy_time
    print("| one CartPole | steps/s | speed kept |\n|---|---|---|")
    for name, total in seconds.items():
        print(f"| {name} | {steps / (total - policy_time):,.0f} | {bare / (total - policy_time):.0%} |")
    if missing:
        print(f"\nNot installed: {', '.join(missing)}.")


# Vectors.


def vectors(envs: int = 64, steps: int = 500) -> None:
    print(f"\n| {envs} CartPoles | bare steps/s | wrapped steps/s | wrapper's share of the step |\n|---|---|---|---|")
    random = np.random.default_rng(0).integers(0, 2, (steps, envs))
    gains = np.array([0.03, 0.1, 1.0, 0.3])

    def run_of(vector: Any, feedback: bool) -> Callable[[], None]:
        def run() -> None:
            observations, _ = vector.reset(seed=0)
            for actions in random:
                observations, *_ = vector.step((observations @ gains > 0.0).astype(int) if feedback else actions)

        return run

    def policy() -> None:
        for _ in range(steps):
            (observations @ gains > 0.0).astype(int)

    observations = np.zeros((envs, 4), dtype=np.float32)
    for mode in ("sync", "vector_entry_point"):
        # Under random actions some episode ends in nearly every step, and the spec starts anew on it.
        for feedback in (True, False):
            bare, inner = (gym.make_vec("CartPole-v1", envs, vectorization_mode=mode) for _ in range(2))
            wrapped = rs.wrappers.vector.MonitorReward(inner, BATCHED)
            seconds = take_turns(
                {"bare": run_of(bare, feedback), "wrapped": run_of(wrapped, feedback), "policy": policy}, 9
            )
            alone, together = (seconds[name] - seconds["policy"] * feedback for name in ("bare", "wrapped"))
            cells = [f"{mode}, {'poles kept up' if feedback else 'random actions'}"]
            cells += [f"{envs * steps / total:,.0f}" for total in (alone, together)]
            cells.append(f"{1.0 - alone / together:.1%}, {(together - alone) / steps * 1e6:.0f} µs")
            print(f"| {' | '.join(cells)} |", flush=True)


# JAX.


def jax_rollouts(envs: int, steps: int = 200) -> None:
    import jax

    path = Path(__file__).resolve().parents[1] / "examples" / "jax_scan.py"
    module = importlib.util.spec_from_file_location("jax_scan", path)
    assert module is not None
    assert module.loader is not None
    example = importlib.util.module_from_spec(module)
    module.loader.exec_module(example)
    key = jax.random.key(0)
    cells = [f"{envs:,} CartPoles in `lax.scan`, {jax.devices()[0].device_kind}", "alone, steps/s"]
    cells += [f"with {len(example.SPEC.pairs)} formulas, steps/s", "the spec adds: best of each, median of pairs"]
    print(f"\n| {' | '.join(cells)} |\n|---|---|---|---|")
    rollouts = {"random actions": example.rollout, "feedback, nothing random": lean_rollout(example)}
    for name, rollout in rollouts.items():
        functions = [rollout(None, envs, steps), rollout(example.SPEC, envs, steps)]
        runs = {str(k): lambda f=f: jax.block_until_ready(f(key)) for k, f in enumerate(functions)}
        # Many short rounds: XLA uses every core, so that whatever else runs disturbs it.
        alone, monitored = rounds(runs, 100).values()
        rates = " | ".join(f"{envs * steps / min(seconds):,.0f}" for seconds in (alone, monitored))
        pairs = statistics.median(m / a for a, m in zip(alone, monitored, strict=True))
        print(f"| {name} | {rates} | {min(monitored) / min(alone) - 1:+.1%}, {pairs - 1:+.1%} |", flush=True)


def lean_rollout(example: Any) -> Callable[[rs.Spec | None, int, int], Any]:
    """The example's rollout without random numbers, which take most of its time on a CPU: the spec's hardest case."""
    import jax
    import jax.numpy as jnp

    def rollout(spec: rs.Spec | None, envs: int, steps: int) -> Any:
        def run(key: Any) -> Any:
            begun = example.reset(key, envs)
            first = None if spec is None else example.labels_of(spec, begun.obs, None, begun.obs)
            monitor = None if spec is None else spec.init(first)

            def step(carry: Any, _: None) -> tuple[Any, None]:
                env, monitor, total = carry
                push = env.theta + 0.3 * env.theta_dot + 0.03 * env.x + 0.1 * env.x_dot > 0.0
                action = push.astype(jnp.int32)
                new, terminated, truncated = example.physics(env, action)
                ended = terminated | truncated
                after = jax.tree.map(lambda begun, going: jnp.where(ended, begun, going), begun, new)
                reward = jnp.where(terminated, 0.0, 1.0)
                if spec is not None:
                    labels = example.labels_of(spec, env.obs, action, new.obs)
                    monitor, reward = spec.step(monitor, labels, 1.0, terminated, truncated)
                    monitor = spec.reset(monitor, first, ended)
                return (after, monitor, total + reward), None

            carry, _ = jax.lax.scan(step, (begun, monitor, jnp.zeros(envs)), None, length=steps)
            return carry[2], carry[0]

        return jax.jit(run)

    return rollout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="only JAX, with 65,536 environments")
    if parser.parse_args().gpu:
        jax_rollouts(65_536)
        return
    print(f"Python {platform.python_version()} · Gymnasium {gym.__version__} · NumPy {np.__version__}\n")
    single()
    vectors()
    if importlib.util.find_spec("jax") is not None:
        jax_rollouts(4_096)


if __name__ == "__main__":
    main()

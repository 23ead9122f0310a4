"""What a spec costs on top of CartPole: one environment beside the peers, 64 at once, and thousands inside JAX.

    python benchmarks/wrapper_overhead.py           # one environment, vectors, JAX on the CPU
    python benchmarks/wrapper_overhead.py --gpu     # JAX only, with 65,536 environments on an accelerator

All variants of a table take turns in many short rounds, so that noise hits them alike; figures are medians over the
rounds, and shares and differences medians over pairs of neighbouring runs, with their quartiles.  Except for JAX, which
uses several threads, it is processor time, which other programs on the machine disturb less.

The same two atoms, `upright` and `centred`, are monitored by all: quantitative here; as events of a machine with one
state in PyCRM (`pyrewardmachines`); as the predicates of `G upright & F centred` in gym-tl-tools.  Peers that are not
installed are left out.  A feedback policy keeps every pole up, so that episodes have 500 steps; its own time is taken
off.  Vectors are also played at random, where some episode ends in nearly every step and the spec starts anew on it.

"Atoms alone" is a wrapper that calls the two atoms and does nothing else, "by hand" the same monitor written in JAX
without this library: no spec can cost less than these.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import rewardspec as rs

FORMULAS = [("G upright", 1), ("F G centred", 1)]


def upright(obs, action, next_obs):  # type: ignore[no-untyped-def]
    return 1.0 - min(abs(next_obs[2]) / 0.2095, 1.0)


def centred(obs, action, next_obs):  # type: ignore[no-untyped-def]
    return 1.0 - min(abs(next_obs[0]) / 2.4, 1.0)


def upright_batch(obs, action, next_obs):  # type: ignore[no-untyped-def]
    return 1.0 - np.minimum(np.abs(next_obs[..., 2]) / 0.2095, 1.0)


def centred_batch(obs, action, next_obs):  # type: ignore[no-untyped-def]
    return 1.0 - np.minimum(np.abs(next_obs[..., 0]) / 2.4, 1.0)


# The same as if they looked at the transition, by mentioning it: first states then need a call of their own.


def upright_transition(obs, action, next_obs):  # type: ignore[no-untyped-def]
    del obs, action
    return 1.0 - np.minimum(np.abs(next_obs[..., 2]) / 0.2095, 1.0)


def centred_transition(obs, action, next_obs):  # type: ignore[no-untyped-def]
    del obs, action
    return 1.0 - np.minimum(np.abs(next_obs[..., 0]) / 2.4, 1.0)


# The usual way to write atoms for one environment, and the way that also serves batches.
PLAIN = rs.Spec(FORMULAS, atoms={"upright": upright, "centred": centred})
BATCHED = rs.Spec(FORMULAS, atoms={"upright": upright_batch, "centred": centred_batch})
OF_TRANSITIONS = rs.Spec(FORMULAS, atoms={"upright": upright_transition, "centred": centred_transition})


def take_turns(runs: dict[str, Callable[[], float]], repeats: int) -> dict[str, np.ndarray]:
    """The seconds of each run in several rounds in which all take turns."""
    for run in runs.values():
        run()  # caches and compilation do not count
    seconds = [[run() for run in runs.values()] for _ in range(repeats)]
    return dict(zip(runs, np.array(seconds).T, strict=True))


def quartiles(values: np.ndarray, form: str) -> str:
    """The median, and the range of the middle half."""
    low, middle, high = (form.format(value) for value in np.percentile(values, [25, 50, 75]))
    return f"{middle} ({low} to {high})"


# One environment.


def stay_up(state: Any) -> int:
    """An action that keeps the pole up, from the physical state."""
    x, x_dot, theta, theta_dot = state
    return 1 if theta + 0.3 * theta_dot + 0.03 * x + 0.1 * x_dot > 0.0 else 0


def one_environment(env: gym.Env[Any, Any], cart: Any, steps: int) -> Callable[[], float]:
    """A run of some steps, which gives its seconds."""
    env.reset(seed=0)

    def run() -> float:
        start = time.thread_time()
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(stay_up(cart.state))
            if terminated or truncated:
                env.reset()
        return time.thread_time() - start

    return run


def one_policy(steps: int) -> Callable[[], float]:
    """The same without an environment."""
    state = gym.make("CartPole-v1").reset(seed=0)[0].tolist()

    def run() -> float:
        start = time.thread_time()
        for _ in range(steps):
            stay_up(state)
        return time.thread_time() - start

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


def single(steps: int = 1_000, repeats: int = 101) -> None:
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
    seconds = take_turns({"policy": one_policy(steps), **runs}, repeats)
    policy = np.median(seconds.pop("policy"))
    seconds = {name: own - policy for name, own in seconds.items()}
    print("| one CartPole | steps/s | speed kept |\n|---|---|---|")
    for name, own in seconds.items():
        kept = "100%" if name == "bare" else quartiles(seconds["bare"] / own, "{:.0%}")
        print(f"| {name} | {steps / np.median(own):,.0f} | {kept} |")
    if missing:
        print(f"\nNot installed: {', '.join(missing)}.")


# Vectors.


class AtomsAlone(gym.vector.VectorWrapper):
    """Calls the atoms and does nothing else: what any wrapper that reads these labels has to spend."""

    def step(self, actions: Any) -> Any:
        result = super().step(actions)
        upright_batch(None, None, result[0])
        centred_batch(None, None, result[0])
        return result


def many_environments(vector: Any, feedback: bool, steps: int) -> Callable[[], float]:
    """A run of some steps, which gives its seconds."""
    rng = np.random.default_rng(0)
    observations, _ = vector.reset(seed=0)

    def run() -> float:
        nonlocal observations
        actions = rng.integers(0, 2, (steps, vector.num_envs))
        start = time.thread_time()
        for at_random in actions:
            observations, *_ = vector.step(stay_up_all(observations) if feedback else at_random)
        return time.thread_time() - start

    return run


def stay_up_all(observations: np.ndarray) -> np.ndarray:
    """Actions that keep the poles up."""
    return (observations @ np.array([0.03, 0.1, 1.0, 0.3]) > 0.0).astype(int)


def many_policies(envs: int, feedback: bool, steps: int) -> Callable[[], float]:
    """The same without environments."""
    observations = np.zeros((envs, 4), dtype=np.float32)

    def run() -> float:
        start = time.thread_time()
        for _ in range(steps):
            if feedback:
                stay_up_all(observations)
        return time.thread_time() - start

    return run


def vectors(envs: int = 64, steps: int = 30, repeats: int = 301) -> None:
    heads = [f"{envs} CartPoles", "bare steps/s", "wrapped steps/s", "wrapper's share of the step", "wrapper adds"]
    print(f"\n| {' | '.join([*heads, 'atoms alone add'])} |\n|{'---|' * 6}")
    plays = {
        "poles kept up": (True, BATCHED),
        "random actions": (False, BATCHED),
        "random actions, atoms of transitions": (False, OF_TRANSITIONS),
    }
    for mode in ("sync", "vector_entry_point"):
        for play, (feedback, spec) in plays.items():
            bare, atoms, inner = (gym.make_vec("CartPole-v1", envs, vectorization_mode=mode) for _ in range(3))
            wrapped = rs.wrappers.vector.MonitorReward(inner, spec)
            variants = {"bare": bare, "atoms": AtomsAlone(atoms), "wrapped": wrapped}
            runs = {name: many_environments(vector, feedback, steps) for name, vector in variants.items()}
            seconds = take_turns({"policy": many_policies(envs, feedback, steps), **runs}, repeats)
            policy = np.median(seconds.pop("policy"))
            seconds = {name: own - policy for name, own in seconds.items()}
            cells = [f"{mode}, {play}"]
            cells += [f"{envs * steps / np.median(seconds[name]):,.0f}" for name in ("bare", "wrapped")]
            cells.append(quartiles(1.0 - seconds["bare"] / seconds["wrapped"], "{:.1%}"))
            for name in ("wrapped", "atoms"):
                cells.append(f"{np.median(seconds[name] - seconds['bare']) / steps * 1e6:.0f} µs")
            print(f"| {' | '.join(cells)} |", flush=True)


# JAX.


def jax_rollouts(envs: int, steps: int = 200, repeats: int = 100) -> None:
    import jax

    path = Path(__file__).resolve().parents[1] / "examples" / "jax_scan.py"
    module = importlib.util.spec_from_file_location("jax_scan", path)
    assert module is not None
    assert module.loader is not None
    example = importlib.util.module_from_spec(module)
    module.loader.exec_module(example)
    key = jax.random.key(0)

    def run_of(function: Callable[[Any], Any]) -> Callable[[], float]:
        def run() -> float:
            start = time.perf_counter()
            jax.block_until_ready(function(key))
            return time.perf_counter() - start

        return run

    formulas = f"{len(example.SPEC.pairs)} formulas"
    cells = [f"{envs:,} CartPoles in `lax.scan`, {jax.devices()[0].device_kind}", "alone, steps/s"]
    cells += [f"with {formulas}, steps/s", "the spec adds", "by hand adds", "best of each: the spec, by hand"]
    print(f"\n| {' | '.join(cells)} |\n|{'---|' * 6}")
    rollouts = {"random actions": example.rollout, "feedback, nothing random": lean_rollout(example)}
    for name, rollout in rollouts.items():
        monitors = {"alone": None, "spec": example.SPEC, "hand": by_hand(example.SPEC)}
        # Many short rounds: XLA uses every core, so that whatever else runs disturbs it.
        seconds = take_turns({kind: run_of(rollout(m, envs, steps)) for kind, m in monitors.items()}, repeats)
        alone = seconds["alone"]
        cells = [name, *(f"{envs * steps / np.median(seconds[kind]):,.0f}" for kind in ("alone", "spec"))]
        cells += [quartiles(seconds[kind] / alone - 1.0, "{:+.1%}") for kind in ("spec", "hand")]
        cells.append(", ".join(f"{seconds[kind].min() / alone.min() - 1.0:+.1%}" for kind in ("spec", "hand")))
        print(f"| {' | '.join(cells)} |", flush=True)


def by_hand(spec: rs.Spec) -> Any:
    """The monitor of `F G centred`, `F G upright` and `G(strayed -> F centred)` as written without this library."""
    import jax.numpy as jnp

    class ByHand:
        labels = staticmethod(spec.labels)

        def start(self, labels: Any) -> Any:
            return jnp.maximum(labels["centred"], 1.0 - labels["strayed"])

        def step(self, answered: Any, labels: Any, *_: Any) -> tuple[Any, Any]:
            answered = jnp.maximum(labels["centred"], jnp.minimum(answered, 1.0 - labels["strayed"]))
            return answered, labels["centred"] + labels["upright"] + answered

        def reset(self, answered: Any, labels: Any, mask: Any) -> Any:
            return jnp.where(mask, self.start(labels), answered)

    return ByHand()


def lean_rollout(example: Any) -> Callable[[Any, int, int], Any]:
    """The example's rollout without random numbers, which take most of its time on a CPU: the spec's hardest case."""
    import jax
    import jax.numpy as jnp

    def rollout(spec: Any, envs: int, steps: int) -> Any:
        def run(key: Any) -> Any:
            begun = example.reset(key, envs)
            first = None if spec is None else spec.labels(begun.obs, None, begun.obs, batch=envs)
            monitor = None if spec is None else spec.start(first)

            def step(carry: Any, _: None) -> tuple[Any, None]:
                env, monitor, total = carry
                push = env.theta + 0.3 * env.theta_dot + 0.03 * env.x + 0.1 * env.x_dot > 0.0
                action = push.astype(jnp.int32)
                new, terminated, truncated = example.physics(env, action)
                ended = terminated | truncated
                after = jax.tree.map(lambda begun, going: jnp.where(ended, begun, going), begun, new)
                reward = jnp.where(terminated, 0.0, 1.0)
                if spec is not None:
                    labels = spec.labels(env.obs, action, new.obs, batch=envs)
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
    print(f"Python {platform.python_version()} · Gymnasium {gym.__version__} · NumPy {np.__version__}")
    print("Medians, and the middle half, of rounds in which all take turns; processor time, for JAX wall-clock time.\n")
    single()
    vectors()
    if importlib.util.find_spec("jax") is not None:
        jax_rollouts(4_096)


if __name__ == "__main__":
    main()

"""An ant that patrols, and one that stands and then walks: Brax's own PPO trainer with three rewards.

    python benchmarks/locomotion.py --out RESULTS.jsonl --workers 5
    python benchmarks/locomotion.py --out RESULTS.jsonl --report > benchmarks/results/locomotion.md
    python benchmarks/locomotion.py --out RESULTS.jsonl --curves CURVES.svg
    python benchmarks/locomotion.py --out /tmp/try.jsonl --envs 8 --steps 640 --seeds 1    # a short try

Needs the extra `jax-envs`. Each call trains what the file of results does not have yet, and can be interrupted. Jobs
are processes that share the device. Seeds of a reward are the same program: with `JAX_COMPILATION_CACHE_DIR` set, only
the first of them compiles it.

The environment is Brax's ant with the backend `spring`, 20 steps a second, with the torso's position observed. All
rewards are trained by `brax.training.agents.ppo.train` through `rs.jax.as_brax`, with the settings that Brax publishes
for the ant and one more, which observations of a stage need; none was tuned.

* patrol: be at x ≥ 2 m, then x ≤ -2 m, then both again, each within 5 seconds of the arrival before; never fall.
* stand, then walk: stay within 0.5 m of the origin for two seconds, then be at x ≥ 4 m within 5 more; never fall.

Rewards:

* the environment's own: the speed to the right, 1 for each step without a fall, less a cost of control. It knows no
  task, so that one policy a seed is judged on both.
* staged, by hand: a stage, the time that is left for it, progress within the stage, and a bonus for its end; the policy
  observes the stage and the time left.
* the formulas': the specs below, paid by delta, with their registers observed.

Success is judged by NumPy on recorded positions, in new episodes of the deterministic policy.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from device_jobs import Job, load
from device_trials import draw_curve, machines, parser, run, save_figure

import rewardspec as rs

SECOND = 20
"""Steps of the ant in a second."""
LIMIT = {"patrol": 20 * SECOND, "stand, then walk": 8 * SECOND}
"""Steps of an episode."""
DEADLINE = 5 * SECOND
DISTANCE, LEGS = 2.0, (1, -1, 1, -1)
"""How far the two places of the patrol are from the origin, and on which side each leg ends."""
STANDING, RADIUS, FAR = 2 * SECOND, 0.5, 4.0
HEIGHTS = (0.2, 1.0)
"""Heights of the torso between which the ant has not fallen, as Brax defines it."""

OWN, STAGED, FORMULAS = "the environment's", "staged, by hand", "the formulas'"
REWARDS = (FORMULAS, OWN, STAGED)
ANY = "any"
"""Task of the environment's own reward, which is judged on all."""
PPO = {
    "reward_scaling": 10,
    "normalize_observations": True,
    "normalize_observations_std_eps": 0.01,
    "action_repeat": 1,
    "unroll_length": 5,
    "num_minibatches": 32,
    "num_updates_per_batch": 4,
    "discounting": 0.97,
    "learning_rate": 3e-4,
    "entropy_cost": 1e-2,
    "num_envs": 4096,
    "batch_size": 2048,
}
"""Settings of Brax's training notebook for the ant, and an epsilon for observations that have not varied yet.

Without it, a number that is 0 until a stage is reached for the first time is divided by 1e-6 then.
"""
EVALUATIONS, PLAYED = 6, 256
"""How often a policy is judged during training, and in how many episodes."""


class Verdicts(NamedTuple):
    """What became of recorded episodes: arrays of shape (episodes,).

    Attributes:
        success: Whether the task was done.
        part: Share of the task's parts that were done, in their order.
        fell: Whether the ant fell.
    """

    success: Any
    part: Any
    fell: Any


def judge_patrol(positions: Any) -> Verdicts:
    """Judge positions of shape (steps + 1, episodes, 3), NaN after the end of an episode."""
    x, times = positions[..., 0], np.arange(len(positions))[:, None]
    done, since, going = np.zeros(x.shape[1]), np.zeros(x.shape[1], dtype=int), np.ones(x.shape[1], dtype=bool)
    for side in LEGS:
        there = (side * x >= DISTANCE) & (times >= since)
        arrival = there.argmax(axis=0)
        going &= there.any(axis=0) & (arrival - since <= DEADLINE)
        done, since = done + going, np.where(going, arrival, since)
    fell = _fell(positions)
    return Verdicts(going & ~fell & _complete(positions), done / len(LEGS), fell)


def judge_standing(positions: Any) -> Verdicts:
    """Judge positions of shape (steps + 1, episodes, 3), NaN after the end of an episode."""
    apart = np.hypot(positions[..., 0], positions[..., 1])
    stood = (apart[: STANDING + 1] < RADIUS).all(axis=0)
    walked = stood & (positions[STANDING : STANDING + DEADLINE + 1, :, 0] >= FAR).any(axis=0)
    fell = _fell(positions)
    return Verdicts(walked & ~fell & _complete(positions), (stood * 1.0 + walked) / 2, fell)


def _fell(positions: Any) -> Any:
    heights = positions[..., 2]
    return ((heights < HEIGHTS[0]) | (heights > HEIGHTS[1])).any(axis=0)


def _complete(positions: Any) -> Any:
    return np.isfinite(positions).all(axis=(0, 2))


JUDGES: dict[str, Callable[[Any], Verdicts]] = {"patrol": judge_patrol, "stand, then walk": judge_standing}


def _atom(function: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    return lambda obs, action, next_obs: function(*next_obs[:3])


ATOMS = {
    "upright": _atom(lambda x, y, z: (z >= HEIGHTS[0]) & (z <= HEIGHTS[1])),
    "at_right": _atom(lambda x, y, z: x >= DISTANCE),
    "at_left": _atom(lambda x, y, z: x <= -DISTANCE),
    # Degrees grow from one place to the other. Only the last atom of a formula has degrees: the places before it have
    # to be reached.
    "near_right": _atom(lambda x, y, z: jnp.clip((x + DISTANCE) / (2 * DISTANCE), 0, 1)),
    "near_left": _atom(lambda x, y, z: jnp.clip((DISTANCE - x) / (2 * DISTANCE), 0, 1)),
    "still": _atom(lambda x, y, z: jnp.clip(1 - jnp.hypot(x, y) / RADIUS, 0, 1)),
    "far": _atom(lambda x, y, z: jnp.clip(x / FAR, 0, 1)),
}
BY = f"F[0,{DEADLINE}]"


def then(place: str, rest: str) -> str:
    """Return the formula of reaching a place in time, and then the rest from the first step there."""
    return f"(!{place} U[0,{DEADLINE}] ({place} & {rest}))"


NEAR_RIGHT, NEAR_LEFT = f"{BY} near_right", f"{BY} near_left"
SPECS: dict[str, list[Any]] = {
    "patrol": [
        # Without a veto, a fall or a missed deadline costs what the rest would have paid, and not what has been done.
        rs.Pair("G upright", 1, veto=False),
        rs.Pair(NEAR_RIGHT, 1, veto=False),
        rs.Pair(then("at_right", NEAR_LEFT), 1, veto=False),
        rs.Pair(then("at_right", then("at_left", NEAR_RIGHT)), 1, veto=False),
        rs.Pair(then("at_right", then("at_left", then("at_right", NEAR_LEFT))), 1, veto=False),
    ],
    "stand, then walk": [
        rs.Pair("G upright", 1, penalty=-1),
        rs.Pair(f"G[0,{STANDING}] still", 1, penalty=-1),
        rs.Pair(f"F[0,{STANDING + DEADLINE}] far", 2, veto=False),
    ],
}


def spec_of(task: str) -> rs.Spec:
    """Return the spec of a task."""
    used = sorted({atom for pair in SPECS[task] for atom in pair.formula.atoms})
    return rs.Spec(SPECS[task], payment="delta", atoms={name: ATOMS[name] for name in used})


class Stage(NamedTuple):
    """State of the staged rewards: the ant's, the stage, and the steps left for it."""

    ant: Any
    stage: Any
    left: Any


def staged_patrol(env: Any) -> rs.jax.FunctionalEnvironment:
    """Return the ant with a reward for the patrol that is written by hand.

    It pays the way towards the place of the current leg as a share of the distance between the places, 1 for each
    arrival in time, and -1 for a fall. After a deadline that was missed it pays no more.
    """
    sides = jnp.array([*LEGS, 0])

    def shown(obs: Any, state: Stage) -> Any:
        return jnp.concatenate([obs, jax.nn.one_hot(state.stage, len(LEGS) + 1), state.left[None] / DEADLINE])

    def reset(key: Any) -> Any:
        ant, obs = env.reset(key)
        state = Stage(ant, jnp.int32(0), jnp.float32(DEADLINE))
        return state, shown(obs, state)

    def step(key: Any, state: Stage, action: Any) -> Any:
        before = state.ant.obs[0]
        ant, obs, _, terminated, truncated, info = env.step(key, state.ant, action)
        side, in_time = sides[state.stage], state.left > 0
        arrived = in_time & (side != 0) & (side * obs[0] >= DISTANCE)
        moved = jnp.where(in_time, side * (obs[0] - before) / (2 * DISTANCE), 0.0)
        left = jnp.where(arrived, DEADLINE, jnp.maximum(state.left - 1, 0))
        new = Stage(ant, state.stage + arrived, left)
        return new, shown(obs, new), moved + arrived - 1.0 * terminated, terminated, truncated, info

    return rs.jax.FunctionalEnvironment(reset, step, env.action_space)


def staged_standing(env: Any) -> rs.jax.FunctionalEnvironment:
    """Return the ant with a reward for standing and then walking that is written by hand.

    It pays up to 1 for standing near the origin, then the way to the right as a share of the distance, and 1 for the
    arrival in time. A fall, or leaving the origin early, ends the episode and pays -1.
    """

    def shown(obs: Any, state: Stage) -> Any:
        return jnp.concatenate([obs, jax.nn.one_hot(state.stage, 3), state.left[None] / DEADLINE])

    def reset(key: Any) -> Any:
        ant, obs = env.reset(key)
        state = Stage(ant, jnp.int32(0), jnp.float32(STANDING))
        return state, shown(obs, state)

    def step(key: Any, state: Stage, action: Any) -> Any:
        before = state.ant.obs[0]
        ant, obs, _, terminated, truncated, info = env.step(key, state.ant, action)
        standing, walking = state.stage == 0, (state.stage == 1) & (state.left > 0)
        apart = jnp.hypot(obs[0], obs[1])
        terminated = terminated | (standing & (apart >= RADIUS))
        stood = standing & (state.left <= 1)
        arrived = walking & (obs[0] >= FAR)
        paid = jnp.where(standing, jnp.maximum(1 - apart / RADIUS, 0) / STANDING, 0.0)
        paid += jnp.where(walking, (obs[0] - before) / FAR, 0.0) + arrived - 1.0 * terminated
        left = jnp.where(stood, DEADLINE, jnp.maximum(state.left - 1, 0))
        new = Stage(ant, state.stage + stood + arrived, left)
        return new, shown(obs, new), paid, terminated, truncated, info

    return rs.jax.FunctionalEnvironment(reset, step, env.action_space)


def envs_of(task: str, reward: str, count: int | None) -> rs.jax.SpecReward:
    """Return the ants with a reward."""
    from brax.envs import get_environment

    ant = rs.jax.from_brax(get_environment("ant", backend="spring", exclude_current_positions_from_observation=False))
    limit = max(LIMIT.values()) if task == ANY else LIMIT[task]
    if reward == FORMULAS:
        return rs.jax.SpecReward(ant, spec_of(task), count, "registers", limit, "first", terminate_on_violation=True)
    if reward == STAGED:
        ant = {"patrol": staged_patrol, "stand, then walk": staged_standing}[task](ant)
    return rs.jax.SpecReward(ant, None, count, limit=limit, auto_reset="first")


def prepare_trainer() -> None:
    """Let the trainer of Brax 0.14 run with a JAX that removed what it calls, and without Orbax.

    JAX 0.10 removed `device_put_replicated`. Orbax saves checkpoints, of which this script makes none.
    """

    def device_put_replicated(tree: Any, devices: Any) -> Any:
        mesh = jax.sharding.Mesh(np.array(devices), ("i",))
        over = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))

        def put(leaf: Any) -> Any:
            leaf = jnp.asarray(leaf)
            return jax.device_put(jnp.broadcast_to(leaf, (len(devices), *leaf.shape)), over)

        return jax.tree.map(put, tree)

    if not hasattr(jax, "device_put_replicated"):
        jax.device_put_replicated = device_put_replicated
    if importlib.util.find_spec("orbax") is None:
        name = "brax.training.agents.ppo.checkpoint"
        sys.modules[name] = types.ModuleType(name)


def staggered(env: Any, limit: int) -> Any:
    """Return a Brax environment from `as_brax` whose first episodes end at random times.

    Otherwise all environments are in the same phase of the task, and the trainer never sees all phases in one batch.
    """
    from brax.envs.base import Wrapper

    class Staggered(Wrapper):  # type: ignore[misc]
        """The environment that `staggered` returns."""

        def reset(self, rng: Any) -> Any:
            state = self.env.reset(rng)
            inner = state.pipeline_state
            elapsed = jax.random.randint(jax.random.fold_in(rng[0], 1), inner.elapsed.shape, 0, limit)
            return state.replace(pipeline_state=inner._replace(elapsed=elapsed))

    return Staggered(env)


def make_player(envs: rs.jax.SpecReward, make_policy: Any) -> Callable[[Any, Any], Any]:
    """Return a function from parameters and a key to positions, shape (steps + 1, episodes, 3), NaN after the end."""
    assert envs.limit is not None
    steps = envs.limit

    def play(parameters: Any, key: Any) -> Any:
        policy = make_policy(parameters, deterministic=True)

        def step(carry: Any, key: Any) -> Any:
            state, obs, running = carry
            action, _ = policy(obs, key)
            state, obs, _, terminated, truncated, info = envs.step(key, state, action)
            place = jnp.where(running[:, None], info["final_obs"][:, :3], jnp.nan)
            return (state, obs, running & ~(terminated | truncated)), place

        reset_key, key = jax.random.split(key)
        state, obs = envs.reset(reset_key)
        carry = (state, obs, jnp.ones(envs.num_envs, dtype=bool))
        places = jax.lax.scan(step, carry, jax.random.split(key, steps))[1]
        return jnp.concatenate([obs[None, :, :3], places])

    return jax.jit(play)


def train_job(job: Job) -> dict[str, Any]:
    """Train, play, and return what is kept of it."""
    prepare_trainer()
    from brax.training.agents.ppo import train as ppo

    settings: dict[str, Any] = dict(PPO)
    played = PLAYED
    if "envs" in job:
        settings |= {"num_envs": job["envs"], "batch_size": job["envs"], "num_minibatches": 2}
        played = job["envs"]
    task = job["task"]
    tasks = list(JUDGES) if task == ANY else [task]
    envs = envs_of(task, job["reward"], None)
    assert envs.limit is not None
    played_envs = envs_of(task, job["reward"], played)
    player: Any = None
    curve: dict[str, Any] = {"steps": [], **{name: [] for name in tasks}}
    verdicts: dict[str, Verdicts] = {}
    key, began, first_epoch = jax.random.fold_in(jax.random.key(job["seed"]), 2**31 - 1), time.perf_counter(), 0.0

    def judge(step: int, make_policy: Any, parameters: Any) -> None:
        nonlocal player, first_epoch
        if step == 0:
            return
        first_epoch = first_epoch or time.perf_counter() - began
        player = player or make_player(played_envs, make_policy)
        positions = np.asarray(player(parameters, jax.random.fold_in(key, step)))
        curve["steps"].append(int(step))
        for name in tasks:
            verdicts[name] = JUDGES[name](positions[: LIMIT[name] + 1])
            curve[name].append(round(float(verdicts[name].success.mean()), 4))
        print(
            f"{time.perf_counter() - began:5.0f} s", json.dumps(job), {n: c[-1] for n, c in curve.items()}, flush=True
        )

    ppo.train(
        staggered(rs.jax.as_brax(envs), envs.limit),
        wrap_env=False,
        num_timesteps=job["steps"],
        episode_length=envs.limit,
        num_evals=EVALUATIONS + 1,
        num_eval_envs=8,
        run_evals=False,
        policy_params_fn=judge,
        seed=job["seed"],
        **settings,
    )
    return {
        **{
            name: {task: round(float(getattr(found, name).mean()), 4) for task, found in verdicts.items()}
            for name in Verdicts._fields
        },
        "curve": curve,
        "first_epoch_seconds": round(first_epoch, 1),
        "seconds": round(time.perf_counter() - began, 1),
        "machine": f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, Python {platform.python_version()}",
    }


def jobs_of(steps: int, seeds: int) -> list[Job]:
    """Return all jobs, one seed after the other."""
    return [
        {"task": task, "reward": reward, "seed": seed, "steps": steps}
        for seed in range(seeds)
        for reward in REWARDS
        for task in ([ANY] if reward == OWN else JUDGES)
    ]


def report(path: Path) -> None:
    """Print the page."""
    results = load(path)
    print(
        "Brax's ant (spring), Brax's PPO trainer through `rs.jax.as_brax`, one setting for all, tuned for none: "
        "Brax's for\nthe ant, with an epsilon for observations and first episodes of random lengths. "
        f"Every policy\nplays {PLAYED} new episodes after training, deterministically; NumPy judges the recorded "
        "positions. `benchmarks/locomotion.py`\nhas tasks and rewards.\n"
    )
    print("| task | reward | steps a seed | success, mean | of each seed | parts done | falls | seconds a seed |")
    print("|---|---|--:|--:|---|--:|--:|--:|")
    for task in JUDGES:
        for reward in REWARDS:
            for some in rows_of(results, task, reward):
                success = {one["job"]["seed"]: one["success"][task] for one in some}
                steps = some[0]["curve"]["steps"][-1]
                part, fell = (np.mean([one[name][task] for one in some]) for name in ("part", "fell"))
                print(
                    f"| {task} | {reward} | {steps:,} | {np.mean(list(success.values())):.3f} | "
                    f"{', '.join(f'{seed}: {x:.3f}' for seed, x in sorted(success.items()))} | {part:.2f} | "
                    f"{fell:.3f} | {np.mean([one['seconds'] for one in some]):.0f} |"
                )
    print(f"\n{machines(path)}. Seconds include compiling and playing; several jobs shared the device.")


def rows_of(results: list[dict[str, Any]], task: str, reward: str) -> list[list[dict[str, Any]]]:
    """Return the results about a task and a reward by the number of steps, those with the most last."""
    rows = [one for one in results if one["job"]["reward"] == reward and task in one["success"]]
    lengths = sorted({one["job"]["steps"] for one in rows})
    return [[one for one in rows if one["job"]["steps"] == steps] for steps in lengths]


def draw_curves(path: Path, picture: Path) -> None:
    """Draw success during training by task."""
    import matplotlib.pyplot as plt

    results = load(path)
    figure, axes = plt.subplots(1, len(JUDGES), figsize=(4 * len(JUDGES), 2.7), sharey=True)
    for axis, task in zip(axes, JUDGES, strict=True):
        axis.set_title(task)
        for number, reward in enumerate(REWARDS):
            for some in rows_of(results, task, reward)[-1:]:
                curves = [one["curve"] for one in some]
                draw_curve(axis, curves[0]["steps"], [curve[task] for curve in curves], number, reward)
    axes[0].set_ylabel("success")
    save_figure(figure, axes, picture)


def main() -> int:
    options = parser(__doc__, 15_000_000, 3)
    options.add_argument("--curves", type=Path, help="draw success during training into this file")
    arguments = options.parse_args()
    if arguments.report:
        report(arguments.out)
        return 0
    if arguments.curves is not None:
        draw_curves(arguments.out, arguments.curves)
        return 0
    jobs = jobs_of(arguments.steps, arguments.seeds)
    if arguments.envs is not None:
        jobs = [{**job, "envs": arguments.envs} for job in jobs]
    return run(arguments, __file__, jobs, lambda job, checkpoint: train_job(job))  # Brax's trainer keeps no state


if __name__ == "__main__":
    raise SystemExit(main())

"""Water World of "Reward Machines" (Toro Icarte et al., JAIR 2022), one task: DDQN, counterfactuals, and guidance.

    python benchmarks/water_world.py --out RESULTS.jsonl --workers 4 --minutes 9
    python benchmarks/water_world.py --out RESULTS.jsonl --report > benchmarks/results/water_world.md
    python benchmarks/water_world.py --out RESULTS.jsonl --curves CURVES.svg
    python benchmarks/water_world.py --out RESULTS.jsonl --units 128 --methods 2 3 5 --together 1 --workers 2

Needs the extra `jax`. All maps of a method are one compiled program, or `--together` of them, and the methods share the
device. The last line trains smaller networks on a processor, a map at a time.

Every two minutes, and when the time limit ends it, a training is saved beside the results, up to 200 MB a map. Call
again to go on from there. What the time limit ends also writes the result so far.

The agent has to touch a ball of colour d, then e, then f, and no other in between. As in the published program,
touching a wrong colour ends the episode, and pays 1 in the last state of the machine. Also as published, the agent is
at rest in the first episode of a run, and starts all others with the push of one random action, the same in all of
them. Matrices are multiplied in TensorFloat-32 on a GPU, where the published program had single precision.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from device_jobs import Job, append, checkpoint_path, load, run_all
from device_trials import draw_curve, save_figure

from rewardspec.lab.learning.array_files import Checkpoint, restored_tree

HERE = Path(__file__).parent
PUBLISHED = json.loads((HERE / "published_water_world.json").read_text(encoding="utf-8"))
SIZE, RADIUS, SPEED, TOP_SPEED, DT = 400.0, 15.0, 30.0, 90.0, 0.1
LIMIT, STATES, DISCOUNT = 600, 3, 0.9
COLOURS = np.array(["abcdef".index(ball[0]) for ball in PUBLISHED["maps"][0]["balls"]])
WANTED = np.array([3, 4, 5])
"""The colour that leads on from each state of the machine: d, e, f."""
PUSH = np.array([[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0]], np.float32) * SPEED
BUFFER, BATCH, FIRST_UPDATE, TARGET_EVERY = 50_000, 32, 1_000, 100
UNITS, LAYERS = 1_024, 3
CHUNK, WINDOW, LEARNED = 10_000, 100, 0.95
SAVE_EVERY = 120
"""Seconds between two checkpoints."""
SEEN = 4 + 12 * 4
"""Numbers that the agent sees. A row of the replay buffer has them before and after the step, and these after them."""
NUMBERS = ("state", "action", "next state", "ended", "reward")


class Method(NamedTuple):
    """How experience is stored, and what guides the learner."""

    counterfactual: bool
    guided: bool
    learning_rate: float = 1e-5
    exploration: int = 200_000
    steps: int = 2_000_000


METHODS = {
    "ql": Method(False, False),
    "crm": Method(True, False),
    "crm, guided by nearness, rate 1e-4, exploration 50,000": Method(True, True, 1e-4, 50_000, 430_000),
    "crm, rate 1e-4, exploration 50,000": Method(True, False, 1e-4, 50_000, 860_000),
    "crm, guided by nearness": Method(True, True, steps=430_000),
    "ql, rate 1e-4, exploration 50,000": Method(False, False, 1e-4, 50_000, 860_000),
}


class World(NamedTuple):
    """Agent first, then the balls: positions and velocities (13, 2), and which balls touched the agent (12,)."""

    position: Any
    velocity: Any
    touching: Any


def initial_world(board: int) -> World:
    """The world of a map, 0 to 10, at the beginning of an episode."""
    data = PUBLISHED["maps"][board]
    position = np.array([data["agent"], *(ball[1:3] for ball in data["balls"])], np.float32)
    velocity = np.array([[0.0, 0.0], *(ball[3:5] for ball in data["balls"])], np.float32)
    return World(position, velocity, _touching(position, np))


def restarted_world(board: int, seed: int) -> World:
    """The world of a map at the beginning of every episode but a run's first: the agent already moves."""
    world = initial_world(board)
    world.velocity[0] = PUSH[np.random.default_rng((seed, board, 2)).integers(len(PUSH))]
    return world


def _touching(position: Any, xp: Any) -> Any:
    return xp.sqrt(((position[1:] - position[0]) ** 2).sum(-1)) <= 2 * RADIUS


def move(world: World, action: Any, xp: Any) -> tuple[World, Any]:
    """Return the world after an action, and the colours of the balls touched anew before it, shape (6,)."""
    touching = _touching(world.position, xp)
    anew = touching & ~world.touching
    events = (anew[None, :] & (xp.arange(6)[:, None] == COLOURS)).any(1)
    agent = xp.clip(world.velocity[:1] + xp.asarray(PUSH)[action], -TOP_SPEED, TOP_SPEED)
    velocity = xp.concatenate([agent, world.velocity[1:]])
    position = world.position + DT * velocity
    inside = xp.clip(position, RADIUS, SIZE - RADIUS)
    return World(inside, xp.where(position != inside, -velocity, velocity), touching), events


def features(world: World, xp: Any) -> Any:
    """What the agent sees, shape (SEEN,)."""
    own = xp.concatenate([world.position[0] / SIZE, world.velocity[0] / TOP_SPEED])
    others = xp.concatenate(
        [
            (world.position[1:] - world.position[0]) / SIZE,
            (world.velocity[1:] - world.velocity[0]) / (SPEED + TOP_SPEED),
        ],
        axis=1,
    )
    return xp.concatenate([own, others.reshape(-1)])


def advance(state: Any, events: Any, xp: Any) -> tuple[Any, Any, Any]:
    """Return the machine's next state, the reward, and whether the machine has ended, for any shape of states."""
    count = events.sum()
    right = (count == 1) & events[xp.asarray(WANTED)[state]]
    ended = (count > 0) & (~right | (state == STATES - 1))
    reward = xp.where(ended & (state == STATES - 1), 1.0, 0.0)
    return xp.where(right & ~ended, state + 1, state), reward, ended


def nearness(seen: Any, xp: Any) -> Any:
    """Of each colour that is wanted: the discount to the power of the steps at top speed, shape (..., 3)."""
    relative = seen[..., 4:].reshape(*seen.shape[:-1], len(COLOURS), 4)[..., :2] * SIZE
    apart = xp.sqrt((relative**2).sum(-1) + 1e-9)
    steps = xp.maximum(apart - 2 * RADIUS, 0.0) / (TOP_SPEED * DT)
    nearest = [steps[..., colour == COLOURS].min(-1) for colour in WANTED]
    return DISCOUNT ** xp.stack(nearest, -1)


def guidance_factors() -> np.ndarray:
    """What the nearness is multiplied by in each state of the machine: the mean potential of the next state."""
    from rewardspec.lab.learning.guidance import Guidance

    rng = np.random.default_rng(0)
    seen = np.zeros((10_000, SEEN))
    agent, balls = rng.uniform(RADIUS, SIZE - RADIUS, (2, 10_000, 12, 2))
    relative = (balls - agent[:, :1]) / SIZE
    seen[:, 4:] = np.concatenate([relative, np.zeros_like(relative)], -1).reshape(10_000, 48)
    near = nearness(seen, np)
    guide = Guidance("F(d & F(e & F f))", {letter: near[:, k] for k, letter in enumerate("def")}, DISCOUNT)
    return np.array([guide.means[1], guide.means[2], 1.0 / DISCOUNT], np.float32)


# The network: hidden layers of `units` units, then one head for the value and one for the advantages of the actions,
# with a layer of a quarter of the units each. The heads' first layers are one matrix, and all variables that are small
# are one vector: each array costs a GPU some kernels a step.


def small_sizes(units: int) -> dict[str, int]:
    """Return the sizes of the small variables, in their order in the vector `small`."""
    head = units // 4
    return {
        **{f"b{k}": units for k in range(LAYERS)},
        "value_b0": head,
        "advantage_b0": head,
        "value_w1": head,
        "advantage_w1": head * 5,
        "value_b1": 1,
        "advantage_b1": 5,
    }


def small_variables(network: Any, xp: Any) -> dict[str, Any]:
    """Return the small variables by name."""
    sizes = small_sizes(network["w0"].shape[-1])
    ends = np.cumsum(list(sizes.values()))[:-1]
    return dict(zip(sizes, xp.split(network["small"], ends), strict=True))


def initial_network(seed: int, board: int, units: int = UNITS) -> dict[str, np.ndarray]:
    """Orthogonal hidden layers with gain √2; Glorot's uniform weights in the heads."""
    rng, head = np.random.default_rng((seed, board, 1)), units // 4
    network: dict[str, np.ndarray] = {}
    for k, (rows, columns) in enumerate(itertools.pairwise((SEEN + STATES, *[units] * LAYERS))):
        q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
        q *= np.sign(np.diag(r))
        network[f"w{k}"] = np.sqrt(2.0) * (q if rows >= columns else q.T)
    heads, small = [], {name: np.zeros(size) for name, size in small_sizes(units).items()}
    for name, outputs in (("value", 1), ("advantage", 5)):
        first, last = (np.sqrt(6.0 / (rows + columns)) for rows, columns in ((units, head), (head, outputs)))
        heads.append(rng.uniform(-first, first, (units, head)))
        small[f"{name}_w1"] = rng.uniform(-last, last, head * outputs)
    network |= {"heads": np.concatenate(heads, 1), "small": np.concatenate(list(small.values()))}
    return {name: values.astype(np.float32) for name, values in network.items()}


def action_values(network: Any, seen: Any, state: Any) -> Any:
    """The value of each action, shape (..., 5)."""
    import jax
    import jax.numpy as jnp

    small = small_variables(network, jnp)
    hidden = jnp.concatenate([seen, jax.nn.one_hot(state, STATES)], -1)
    for k in range(LAYERS):
        hidden = jax.nn.relu(hidden @ network[f"w{k}"] + small[f"b{k}"])
    bias = jnp.concatenate([small["value_b0"], small["advantage_b0"]])
    of_value, of_advantage = jnp.split(jax.nn.relu(hidden @ network["heads"] + bias), 2, -1)
    value = of_value @ small["value_w1"][:, None] + small["value_b1"]
    advantage = of_advantage @ small["advantage_w1"].reshape(-1, 5) + small["advantage_b1"]
    return value + advantage - advantage.mean(-1, keepdims=True)


def clipped(gradients: Any) -> Any:
    """The gradients with the norm of each variable's at most 10."""
    import jax.numpy as jnp

    def factor(squares: Any) -> Any:
        return jnp.minimum(1.0, 10.0 / jnp.maximum(jnp.sqrt(squares), 1e-12))

    found = {}
    for name, gradient in gradients.items():
        if name == "small":
            sizes = list(small_sizes(gradients["w0"].shape[-1]).values())
            parts = np.repeat(np.eye(len(sizes), dtype=np.float32), sizes, axis=0)
            factors = (factor((gradient[:, None] ** 2 * parts).sum(0)) * parts).sum(1)
        elif name == "heads":
            factors = jnp.repeat(
                factor((gradient**2).reshape(len(gradient), 2, -1).sum((0, 2))), gradient.shape[1] // 2
            )
        else:
            factors = factor((gradient**2).sum())
        found[name] = gradient * factors
    return found


class Learner(NamedTuple):
    """Everything a run carries from step to step."""

    world: World
    state: Any
    possible: Any  # states that the machine could be in, shape (3,)
    length: Any
    network: Any
    moments: Any
    buffer: Any
    stored: Any
    step: Any


def first_learner(board: int, seed: int, method: Method, size: int = BUFFER, units: int = UNITS) -> Learner:
    network = initial_network(seed, board, units)
    size *= STATES if method.counterfactual else 1
    zeros = {name: np.zeros_like(values) for name, values in network.items()}
    buffer = np.zeros((size, 2 * SEEN + len(NUMBERS)), np.float32)
    none = np.int32(0)
    return Learner(initial_world(board), none, np.ones(STATES, bool), none, network, (zeros, zeros), buffer, none, none)


def one_step(
    method: Method, factors: Any, target: Any, learner: Learner, start: World, key: Any
) -> tuple[Learner, Any]:
    """One step of the world and, after the first thousand, one of the network."""
    import jax
    import jax.numpy as jnp

    explore_key, action_key, batch_key = jax.random.split(key, 3)
    seen = features(learner.world, jnp)
    epsilon = jnp.maximum(0.01, 1.0 - 0.99 * learner.step / method.exploration)
    greedy = action_values(learner.network, seen, learner.state).argmax()
    random = jax.random.randint(action_key, (), 0, 5)
    action = jnp.where(jax.random.uniform(explore_key) < epsilon, random, greedy)
    world, events = move(learner.world, action, jnp)
    after = features(world, jnp)
    states = jnp.arange(STATES) if method.counterfactual else learner.state[None]
    following, reward, ended = advance(states, events, jnp)
    real_next, real_reward, real_ended = advance(learner.state, events, jnp)
    length = learner.length + 1
    done = real_ended | (length >= LIMIT)
    # The published DDQN takes the time limit for an ending; its counterfactuals do not.
    stored_end = ended if method.counterfactual else done[None]
    if method.guided:
        before_potential = jnp.asarray(factors)[states] * nearness(seen, jnp)[states]
        next_potential = jnp.asarray(factors)[following] * nearness(after, jnp)[following]
        shaped = reward + DISCOUNT * jnp.where(ended, 0.0, next_potential) - before_potential
    else:
        shaped = reward
    valid = learner.possible[states] if method.counterfactual else jnp.ones(1, bool)
    size = len(learner.buffer)
    places = jnp.where(valid, (learner.stored + jnp.cumsum(valid) - 1) % size, size)
    numbers = jnp.stack([states, jnp.full_like(states, action), following, stored_end, shaped], 1)
    both = jnp.broadcast_to(jnp.concatenate([seen, after]), (len(states), 2 * SEEN))
    buffer = learner.buffer.at[places].set(jnp.concatenate([both, numbers], 1), mode="drop")
    stored = learner.stored + valid.sum()
    batch = BATCH * (STATES if method.counterfactual else 1)
    drawn = jax.random.randint(batch_key, (batch,), 0, jnp.minimum(stored, size))
    network, moments = update(method, target, learner, buffer[drawn])
    reached = jnp.zeros(STATES, bool).at[jnp.where(ended, STATES, following)].set(True, mode="drop")
    possible = jnp.where(done, True, reached) if method.counterfactual else learner.possible
    world = jax.tree.map(lambda first, then: jnp.where(done, first, then), start, world)
    share = jnp.where(done, real_reward / length, -1.0)
    return Learner(
        world,
        jnp.where(done, 0, real_next).astype(jnp.int32),
        possible,
        jnp.where(done, 0, length),
        network,
        moments,
        buffer,
        stored,
        learner.step + 1,
    ), share


def update(method: Method, target: Any, learner: Learner, sample: Any) -> tuple[Any, Any]:
    """One step of Adam on Huber's loss of the double Q-learning error; each gradient's norm is at most 10."""
    import jax
    import jax.numpy as jnp

    seen, after, numbers = sample[:, :SEEN], sample[:, SEEN : 2 * SEEN], sample[:, 2 * SEEN :]
    state, action, following, ended = (numbers[:, k].astype(jnp.int32) for k in range(4))
    both = jnp.concatenate([seen, after]), jnp.concatenate([state, following])
    target_values = action_values(target, after, following)

    def loss(network: Any) -> Any:
        values, next_values = jnp.split(action_values(network, *both), 2)
        best = jax.lax.stop_gradient(next_values).argmax(-1)
        later = jnp.take_along_axis(target_values, best[:, None], 1)[:, 0]
        aim = numbers[:, 4] + DISCOUNT * (1 - ended) * later
        error = jnp.take_along_axis(values, action[:, None], 1)[:, 0] - aim
        return jnp.where(jnp.abs(error) < 1, 0.5 * error**2, jnp.abs(error) - 0.5).mean()

    gradients = jax.grad(loss)(learner.network)
    learns = learner.step > FIRST_UPDATE
    count = jnp.maximum(learner.step - FIRST_UPDATE, 1).astype(jnp.float32)
    rate = method.learning_rate * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count) * learns
    first, second, network = {}, {}, {}
    for name, gradient in clipped(gradients).items():
        gradient = gradient * learns
        first[name] = 0.9 * learner.moments[0][name] + 0.1 * gradient
        second[name] = 0.999 * learner.moments[1][name] + 0.001 * gradient**2
        network[name] = learner.network[name] - rate * first[name] / (jnp.sqrt(second[name]) + 1e-8)
    return network, (first, second)


def make_program(method: Method, chunk: int) -> Any:
    """Return the function `(learners, starts, keys) -> (learners, shares)` that takes `chunk` steps in all runs.

    Shares are the reward per step of episodes at the steps where they ended, -1 at others, of shape (runs, chunk).
    """
    import jax

    factors = guidance_factors() if method.guided else None

    def one_run(learner: Learner, start: World, key: Any) -> Any:
        def block(learner: Learner, key: Any) -> Any:
            target = learner.network  # for the next hundred steps
            return jax.lax.scan(
                lambda carry, key: one_step(method, factors, target, carry, start, key),
                learner,
                jax.random.split(key, TARGET_EVERY),
            )

        learner, shares = jax.lax.scan(block, learner, jax.random.split(key, chunk // TARGET_EVERY))
        return learner, shares.reshape(-1)

    return jax.jit(jax.vmap(one_run), donate_argnums=0)


def train(job: Job, checkpoint: Path) -> dict[str, Any]:
    """Train a method on all maps at once, until its steps are done or the process is asked to end."""
    import jax
    import jax.numpy as jnp

    method = METHODS[job["method"]]
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    runs = [(board, seed) for board in job["maps"] for seed in job["seeds"]]
    best = [PUBLISHED["best_reward_per_step"][f"M{board}"] for board, _ in runs]
    chunk, steps = job.get("chunk", CHUNK), steps_of(job)

    def stacked(trees: Iterable[Any]) -> Any:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)

    starts = stacked(restarted_world(board, seed) for board, seed in runs)
    sizes = job.get("buffer", BUFFER), job.get("units", UNITS)
    learners = stacked(first_learner(board, seed, method, *sizes) for board, seed in runs)
    keys = jax.vmap(lambda run: jax.random.fold_in(jax.random.key(run[1]), run[0]))(jnp.array(runs))
    began = time.perf_counter()
    program = make_program(method, chunk).lower(learners, starts, keys).compile()
    compile_seconds = time.perf_counter() - began
    # Of each run, the rewards per step of the last episodes, over the best published; and their means after each chunk.
    recent, curve = np.full((len(runs), WINDOW), np.nan), np.zeros((0, len(runs)))
    before, file = 0.0, Checkpoint(checkpoint, job, SAVE_EVERY)
    if (restored := file.load(learners)) is not None:
        leaves, columns, _, before = restored
        learners, recent, curve = restored_tree(learners, leaves), columns["recent"], columns["curve"]
    began = time.perf_counter() - before
    while len(curve) * chunk < steps and not asked:
        learners, shares = program(learners, starts, jax.vmap(jax.random.fold_in, (0, None))(keys, len(curve)))
        ended = [row[row >= 0] / top for row, top in zip(np.asarray(shares), best, strict=True)]
        recent = np.stack([np.concatenate([row, new])[-WINDOW:] for row, new in zip(recent, ended, strict=True)])
        counts = np.maximum(np.isfinite(recent).sum(1), 1)
        curve = np.vstack([curve, (np.nansum(recent, 1) / counts).round(4)])
        seconds = time.perf_counter() - began
        print(
            f"{job['method']}, maps {job['maps']}: {len(curve) * chunk:,} steps, {seconds:.0f} s, median "
            f"{np.median(curve[-1]):.3f}",
            flush=True,
        )
        if file.is_due or asked:
            file.save(learners, {"recent": recent, "curve": curve}, len(curve), seconds)
    if not asked:
        file.remove()
    return {
        "runs": runs,
        "steps": len(curve) * chunk,
        "every": chunk,
        "curve": curve.tolist(),
        "compile_seconds": round(compile_seconds, 1),
        "seconds": round(time.perf_counter() - began, 1),
        "machine": f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, Python {platform.python_version()}",
    }


def steps_of(job: Job) -> int:
    """Return how many steps a job has."""
    chunk = job.get("chunk", CHUNK)
    return int(min(METHODS[job["method"]].steps, job["steps"]) // chunk * chunk)


def compared(name: str, result: dict[str, Any]) -> list[tuple[int, float, list[float]]]:
    """Our median and the published quartiles, at the published points nearest before the tenths of our training."""
    medians = np.median(result["curve"], axis=1)
    theirs = {round(row[0] * 1_000): row[1:] for row in PUBLISHED["curves"][name]}
    points = [
        max((point for point in theirs if point <= result["steps"] * k // 10), default=None) for k in range(1, 11)
    ]
    return [(p, float(medians[p // result["every"] - 1]), theirs[p]) for p in dict.fromkeys(points) if p is not None]


def first_step(result: dict[str, Any]) -> int | None:
    """The first step at which the median run reaches so much of the best; None if it does not."""
    reached = np.flatnonzero(np.median(result["curve"], axis=1) >= LEARNED)
    return int((reached[0] + 1) * result["every"]) if reached.size else None


def load_methods(path: Path) -> list[dict[str, Any]]:
    """Return the complete results in a file, the runs of one method and one size of networks as one, in their order."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for one in load(path):
        job = one["job"]
        place = -job.get("units", UNITS), list(METHODS).index(job["method"])
        if one["steps"] != steps_of(job):
            continue
        first = found.setdefault(place, one)
        if first is not one:
            first["runs"] += one["runs"]
            first["curve"] = [[*row, *more] for row, more in zip(first["curve"], one["curve"], strict=True)]
            first["seconds"] += one["seconds"]
            first["machine"] = "; ".join(sorted({first["machine"], one["machine"]}))
    return [found[place] for place in sorted(found)]


def on_shared_maps(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results with the runs on maps that all methods with networks of the same size were trained on."""
    found = []
    for one in results:
        rivals = [other for other in results if other["job"].get("units") == one["job"].get("units")]
        shared = set.intersection(*({board for board, _ in other["runs"]} for other in rivals))
        kept = [k for k, (board, _) in enumerate(one["runs"]) if board in shared]
        runs, curve = [one["runs"][k] for k in kept], [[row[k] for k in kept] for row in one["curve"]]
        found.append({**one, "runs": runs, "curve": curve})
    return found


def report(results: list[dict[str, Any]]) -> None:
    """Print the tables."""
    print("Reward per step over the best published, mean of the last 100 episodes; median over the maps on which all")
    print("methods were trained.\n")
    print(f"| method | units of a layer | maps | steps | at the end | reaches {LEARNED} | seconds a map |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for one, whole in zip(on_shared_maps(results), results, strict=True):
        reached, maps = first_step(one), sorted(board for board, _ in one["runs"])
        print(
            f"| {one['job']['method']} | {one['job'].get('units', UNITS):,} | {', '.join(map(str, maps))} "
            f"| {one['steps']:,} | {np.median(one['curve'][-1]):.3f} | {f'{reached:,}' if reached else 'not'} "
            f"| {one['seconds'] / len(whole['runs']):.0f} |"
        )
    maps = sorted({board for one in results for board, _ in one["runs"]})
    print("\nAt the end, by map; a dash where a method was not trained:\n")
    print("| method | units of a layer | " + " | ".join(map(str, maps)) + " |\n|---|" + "--:|" * (len(maps) + 1))
    for one in results:
        last = {
            board: np.mean([end for (its, _), end in zip(one["runs"], one["curve"][-1], strict=True) if its == board])
            for board, _ in one["runs"]
        }
        cells = [f"{last[board]:.3f}" if board in last else "–" for board in maps]
        print(f"| {one['job']['method']} | {one['job'].get('units', UNITS):,} | {' | '.join(cells)} |")
    for one in results:
        name = one["job"]["method"]
        if name in PUBLISHED["curves"] and "units" not in one["job"]:
            rows = compared(name, one)
            inside = sum(low <= ours <= high for _, ours, (low, _, high) in rows)
            print(f"\n## `{name}` beside the published curve: within the quartiles at {inside} of {len(rows)} points\n")
            print("| steps | median | published lower quartile | median | upper quartile |\n|--:|--:|--:|--:|--:|")
            for step, ours, theirs in rows:
                print(f"| {step:,} | {ours:.3f} | " + " | ".join(f"{value:.3f}" for value in theirs) + " |")
    print("\n" + "; ".join(sorted({one["machine"] for one in results})) + ". Jobs shared the device.")


def draw_curves(results: list[dict[str, Any]], picture: Path) -> None:
    """Draw the reward during training by map, with the methods beside each other."""
    import matplotlib.pyplot as plt

    maps = sorted({board for one in results for board, _ in one["runs"]})
    names = [name for name in METHODS if any(one["job"]["method"] == name for one in results)]
    short = [name.partition(", rate")[0] for name in names]
    labels = dict(zip(names, short if len(set(short)) == len(names) else names, strict=True))
    rows = -(-len(maps) // 4)
    figure, axes = plt.subplots(rows, 4, figsize=(10, 0.6 + 2.2 * rows), sharex=True, sharey=True, squeeze=False)
    for axis in axes.flat[len(maps) :]:
        axis.set_axis_off()
    for axis, board in zip(axes.flat, maps, strict=False):
        axis.set_title(f"map {board}")
        for one in results:
            curves = [
                curve for (its, _), curve in zip(one["runs"], np.transpose(one["curve"]), strict=True) if its == board
            ]
            if curves:
                steps = one["every"] * np.arange(1, len(one["curve"]) + 1)
                method = one["job"]["method"]
                draw_curve(axis, steps, curves, names.index(method), labels[method])
    for row in axes:
        row[0].set_ylabel("share of the best")
    save_figure(figure, list(axes.flat[: len(maps)]), picture)


def jobs_of(arguments: argparse.Namespace) -> list[Job]:
    """Return the jobs, all methods of some maps before those of others."""
    together = arguments.together or len(arguments.maps)
    jobs = [
        {
            "method": list(METHODS)[number],
            "maps": list(arguments.maps[k : k + together]),
            "seeds": list(range(arguments.seeds)),
            "steps": arguments.steps,
        }
        for k in range(0, len(arguments.maps), together)
        for number in arguments.methods
    ]
    return jobs if arguments.units == UNITS else [{**job, "units": arguments.units} for job in jobs]


def parse(options: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--curves", type=Path, help="draw the rewards during training into this file")
    parser.add_argument("--job", help="run this job alone, in this process")
    parser.add_argument("--methods", type=int, nargs="*", default=range(len(METHODS)), help="numbers of methods")
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--maps", type=int, nargs="*", default=range(1, 11), help="of 1 to 10")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--units", type=int, default=UNITS, help="units of a hidden layer, fewer than published")
    parser.add_argument("--together", type=int, help="maps in one program; all by default")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9)
    return parser.parse_args(options)


def main() -> None:
    arguments = parse()
    if arguments.report:
        return report(load_methods(arguments.out))
    if arguments.curves is not None:
        return draw_curves(load_methods(arguments.out), arguments.curves)
    if arguments.job is not None:
        job = json.loads(arguments.job)
        return append(arguments.out, job, train(job, checkpoint_path(arguments.out, job)))
    jobs = jobs_of(arguments)
    until = time.monotonic() + 60.0 * arguments.minutes
    complete = run_all(
        __file__,
        jobs,
        arguments.out,
        arguments.workers,
        until,
        lambda line: print(line, flush=True),
        complete=lambda result: result["steps"] == steps_of(result["job"]),
    )
    raise SystemExit(0 if complete else 3)


if __name__ == "__main__":
    main()

"""Tasks with a key, a door and a goal: the environment's reward beside a formula's, PPO on a device.

    python benchmarks/hard_exploration.py --stage tuning --out RESULTS.jsonl      # settings for each reward
    python benchmarks/hard_exploration.py --stage main --out RESULTS.jsonl        # ten other seeds, those settings
    python benchmarks/hard_exploration.py --stage ablation --out RESULTS.jsonl    # what the formula's reward needs
    python benchmarks/hard_exploration.py --stage corridor --out RESULTS.jsonl --steps 30000000
    python benchmarks/hard_exploration.py --out RESULTS.jsonl --report > benchmarks/results/hard_exploration.md
    python benchmarks/hard_exploration.py --out RESULTS.jsonl --curves CURVES.svg

Needs the extras `jax-envs` and `learn`. Each call trains what the file of results does not have yet, and can be
interrupted. All seeds of a job are one compiled program, or `--together` of them; several jobs share the device. On a
processor, train a seed at a time: `--together 1 --workers 2 --only LockedRoom progress`. RESULTS.jsonl is committed as
`benchmarks/results/hard_exploration.jsonl`: a copy of it goes on from there. A new file without a tuning takes the
settings of that one.

Success is the environment's own criterion: it paid a reward at the end of the episode. After training, the policies
play new episodes, and each is played to its end, so that long failures count like short successes.

The environments are those of XLand-MiniGrid, and in the stage `corridor` the KeyCorridors of Navix with repairs. As
released in Navix 0.7.4, doors stand in walls that nobody can cross, the locked one counts as open, and picking up the
ball neither pays nor ends the episode. Here doors can be crossed once they are open, the locked one needs the key,
picking up the ball pays 1 and ends the episode, also with the key in hand, and the time limit is MiniGrid's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from device_jobs import Job, load, result_of
from device_trials import (
    Trial,
    curve_of,
    draw_curve,
    load_all_seeds,
    logits,
    mean_words,
    parser,
    parts,
    run,
    save_figure,
    train,
)

import rewardspec as rs

COMMITTED = Path(__file__).parent / "results" / "hard_exploration.jsonl"
FORMULA = "F(key & F(door & F goal))"


class World(NamedTuple):
    """An environment, and what its reward asks for."""

    name: str
    formula: str = FORMULA


ENVS = {
    "LockedRoom": World("MiniGrid-LockedRoom"),
    "DoorKey-16x16": World("MiniGrid-DoorKey-16x16"),
    "BlockedUnlockPickUp": World("MiniGrid-BlockedUnlockPickUp"),
    # Two objects to choose from. Policies have no memory, so that no reward of these can do better than a guess.
    "MemoryS16": World("MiniGrid-MemoryS16", "F goal"),
}
CORRIDORS = {f"KeyCorridorS{size}R3": World(f"Navix-KeyCorridorS{size}R3-v0") for size in (3, 4, 5, 6)}


class Reward(NamedTuple):
    """What is paid, and what the policy sees of the formula.

    Attributes:
        weight: Weight of the formula.
        payment: How it is paid.
        progress: Whether its progress is paid, in place of its value.
        observe: What the policy sees of the spec's state.
        formula: Another formula than the environment's.
        nearness: Whether atoms have degrees, which grow as the agent comes nearer.
    """

    weight: float
    payment: str
    progress: bool = False
    observe: str | None = "registers"
    formula: str | None = None
    nearness: bool = False


PROGRESS = "the formula's, for progress"
REWARDS = {
    PROGRESS: Reward(1, "delta", progress=True),
    "the environment's": Reward(0, "potential"),  # a potential of weight 0 adds nothing
    "the formula's, at the end": Reward(1, "final"),
}
ABLATIONS = {
    "progress, registers not observed": Reward(1, "delta", progress=True, observe=None),
    "nearness": Reward(1, "delta", nearness=True),
    "progress and nearness": Reward(1, "delta", progress=True, nearness=True),
    "progress, all within 100 steps": Reward(1, "delta", progress=True, formula=f"F[0,100]({FORMULA[2:-1]})"),
    "progress, in any order": Reward(1, "delta", progress=True, formula="F key & F door & F goal"),
    "progress to the goal alone": Reward(1, "delta", progress=True, formula="F goal"),
    "progress to key, then goal": Reward(1, "delta", progress=True, formula="F(key & F goal)"),
    "progress to door, then goal": Reward(1, "delta", progress=True, formula="F(door & F goal)"),
}


def _ppo(rate: float, rollout: int, *, anneal: bool = False, entropy: float = 0.01) -> dict[str, Any]:
    """Settings of PPO: minibatches of 4,096 steps, and as many of them in all, whatever the length of a rollout."""
    return {
        "learning_rate": rate,
        "anneal": anneal,
        "rollout_steps": rollout,
        "minibatches": rollout // 4,
        "epochs": 4,
        "entropy_coefficient": entropy,
    }


SETTINGS = {
    "rate 0.001, constant, rollouts of 32": _ppo(1e-3, 32),
    "rate 0.001, rollouts of 32": _ppo(1e-3, 32, anneal=True),
    "rate 0.001, constant, rollouts of 128": _ppo(1e-3, 128),
    "rate 0.0003, constant, rollouts of 128": _ppo(3e-4, 128),
    "rate 0.002, rollouts of 32, entropy 0.03": _ppo(2e-3, 32, anneal=True, entropy=0.03),
    "rate 0.001, constant, rollouts of 32, entropy 0.03": _ppo(1e-3, 32, entropy=0.03),
    "rate 0.0005, constant, rollouts of 32, entropy 0.03": _ppo(5e-4, 32, entropy=0.03),
}
NUM_ENVS = 1_024
TUNED_ON, TUNING_SEEDS = ("LockedRoom", "DoorKey-16x16"), (1_000, 1_001, 1_002)
FIRST_SEED = 100
"""First seed after tuning. In the first run it was 0."""
STAGES = {
    "main": "Environments",
    "corridor": "KeyCorridor",
    "ablation": "LockedRoom: what the reward needs",
}
FIRST_RUN = {"first main": "Environments, first run", "first corridor": "KeyCorridor, first run"}
"""Stages that the report has tables of. The first run had four settings, and showed that more were needed."""
PLAYED = 256
"""Episodes of each policy after training."""


def spec_of(world: World, reward: Reward, atoms: dict[str, Any]) -> rs.Spec:
    """Return the spec of a reward, with the atoms that its formula has."""
    pair = rs.Pair(reward.formula or world.formula, reward.weight, progress=reward.progress)
    own = {name: atoms[name] for name in pair.formula.atoms}
    return rs.Spec([pair], payment=reward.payment, discount=0.99, atoms=own)


def trial_of(env_name: str, reward_name: str) -> Trial:
    """Return what is trained."""
    reward = (REWARDS | ABLATIONS)[reward_name]
    return (_grid_trial if env_name in ENVS else _corridor_trial)(env_name, reward)


def _grid_trial(env_name: str, reward: Reward) -> Trial:
    import jax.numpy as jnp
    import xminigrid
    from xminigrid.core.constants import NUM_COLORS, NUM_TILES, Tiles

    from rewardspec.lab.learning.networks import grid_encoder

    def key(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
        return info["state"].state.agent.pocket[0] == Tiles.KEY

    def door(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
        # Only the locked door counts: LockedRoom has others, which are closed.
        return ~(info["state"].state.grid[..., 0] == Tiles.DOOR_LOCKED).any()

    def goal(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
        return info["state"].reward > 0

    def near(atom: Any, tile: int) -> Any:
        def degree(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
            state = info["state"].state
            rows, columns = jnp.indices(state.grid.shape[:2])
            apart = abs(rows - state.agent.position[0]) + abs(columns - state.agent.position[1])
            farthest = sum(state.grid.shape[:2])
            nearest = jnp.where(state.grid[..., 0] == tile, apart, farthest).min()
            return jnp.maximum(atom(obs, action, next_obs, info), 0.5 * (1.0 - nearest / farthest))

        return degree

    atoms = {"key": key, "door": door, "goal": goal}
    if reward.nearness:
        tiles = {"key": Tiles.KEY, "door": Tiles.DOOR_LOCKED, "goal": Tiles.GOAL}
        atoms = {name: near(atom, tiles[name]) for name, atom in atoms.items()}
    world = ENVS[env_name]
    env, params = xminigrid.make(world.name)
    spec, adapted = spec_of(world, reward, atoms), rs.jax.from_xminigrid(env, params)
    return Trial(
        lambda count: rs.jax.SpecReward(adapted, spec, count, reward.observe, auto_reset=64),
        lambda info: {"success": info["base_reward"] > 0},
        params.max_steps,
        lambda struct: grid_encoder(struct, (NUM_TILES, NUM_COLORS)),
    )


def _corridor_trial(env_name: str, reward: Reward) -> Trial:
    import jax.numpy as jnp
    import navix
    from navix.grid import translate

    from rewardspec.lab.learning.networks import grid_encoder

    world = CORRIDORS[env_name]
    pickup = [action.__name__ for action in navix.actions.DEFAULT_ACTION_SET].index("pickup")

    def picked_up(before: Any, action: Any, after: Any) -> Any:
        player = before.get_player()
        front = translate(player.position, player.direction)
        return (action == pickup) & (front == before.entities["goal"].position[0]).all()

    def paid(before: Any, action: Any, after: Any) -> Any:
        return picked_up(before, action, after).astype(jnp.float32)

    env = navix.make(
        world.name,
        observation_fn=navix.observations.symbolic_first_person,
        reward_fn=paid,
        termination_fn=picked_up,
        max_steps=30 * int(env_name[len("KeyCorridorS")]) ** 2,
    )
    released = rs.jax.from_navix(env)

    def reset(key: Any) -> Any:
        first, _ = released.reset(key)
        doors = first.state.get_doors()
        state = first.state.set_doors(doors.replace(open=jnp.where(doors.open == 2, 0, doors.open)))
        state = state.replace(grid=state.grid.at[tuple(doors.position.T)].set(0))
        first = first.replace(state=state, observation=env.observation_fn(state))
        return first, first.observation

    def key(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
        return (info["state"].state.get_player().pocket > 0).all()

    def door(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
        return (info["state"].state.get_doors().requires < 0).all()  # the key opens the one door that needs one

    def goal(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
        return info["state"].is_termination()

    spec = spec_of(world, reward, {"key": key, "door": door, "goal": goal})
    repaired = rs.jax.FunctionalEnvironment(reset, released.step, released.action_space)
    return Trial(
        lambda count: rs.jax.SpecReward(repaired, spec, count, reward.observe, auto_reset=64),
        lambda info: {"success": info["base_reward"] > 0},
        int(env.max_steps),
        lambda struct: grid_encoder(struct, (11, 7, 4)),  # kinds of entities, colors, states of doors
    )


def train_job(job: Job, checkpoint: Path, film: Path | None) -> dict[str, Any]:
    """Train, play, and return what is kept of it."""
    from rewardspec.lab.learning.settings import PPO

    config = PPO(total_steps=job["steps"], envs=job.get("envs", NUM_ENVS), **SETTINGS[job["settings"]])
    trial = trial_of(job["env"], job["reward"])
    name = f"{job['env']}, {job['reward']}"
    trained = train(job, name, trial, config, job.get("envs", PLAYED), checkpoint)
    if film is not None:
        save_film(film, trial, trained.encoder, trained.first, trained.last)
    return trained.result


def save_film(path: Path, trial: Trial, encoder: Any, first: Any, last: Any) -> None:
    """Save an episode of the first seed's policy before training, and one after it that succeeds if any does."""
    import jax

    envs = trial.make(64)
    assert envs.spec is not None
    name = envs.spec.names[0]

    @jax.jit
    def episodes(parameters: Any) -> Any:
        def step(carry: Any, key: Any) -> Any:
            state, obs = carry
            action_key, step_key = jax.random.split(key)
            action = jax.random.categorical(action_key, logits(encoder, parameters, obs))
            inner = state.env.state
            seen = (inner.grid, inner.agent.position, inner.agent.direction, inner.agent.pocket)
            state, obs, reward, terminated, truncated, info = envs.step(step_key, state, action)
            names = ("grid", "position", "direction", "pocket", "action", "reward", "success", "done", "value")
            base = info["base_reward"] > 0
            values = (*seen, action, reward, base, terminated | truncated, info["formula_values"][name])
            return (state, obs), dict(zip(names, values, strict=True))

        reset_key, key = jax.random.split(jax.random.key(0))
        return jax.lax.scan(step, envs.reset(reset_key), jax.random.split(key, trial.limit))[1]

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


def tuning_jobs(steps: int) -> list[Job]:
    """Every setting for every reward, on the same environments and seeds."""
    return [
        _job("tuning", env, reward, settings, list(TUNING_SEEDS), steps)
        for settings in SETTINGS
        for env in TUNED_ON
        for reward in REWARDS
    ]


def tuning(results: list[dict[str, Any]], steps: int) -> dict[str, dict[str, float]]:
    """Mean success in tuning by settings and reward, of the settings that all rewards were tried with."""
    found: dict[str, dict[str, float]] = {}
    for settings in SETTINGS:
        jobs = [job for job in tuning_jobs(steps) if job["settings"] == settings]
        tried = [(job["reward"], one["success"]) for job in jobs if (one := result_of(results, job)) is not None]
        if len(tried) == len(jobs):
            found[settings] = {
                reward: float(np.mean([success for name, success in tried if name == reward])) for reward in REWARDS
            }
    return found


def chosen(means: dict[str, dict[str, float]]) -> dict[str, str]:
    """The settings with the most success by reward, the first of equals."""
    return {reward: max(means, key=lambda settings: means[settings][reward]) for reward in REWARDS if means}


def jobs_of(stage: str, settings: dict[str, str], steps: int, seeds: int, first_seed: int) -> list[Job]:
    """The jobs of a stage after tuning: every reward with its own settings, ablations with those of progress."""
    some = list(range(first_seed, first_seed + seeds))
    if stage == "ablation":
        return [_job(stage, "LockedRoom", reward, settings[PROGRESS], some, steps) for reward in ABLATIONS]
    envs = ENVS if stage == "main" else CORRIDORS
    return [_job(stage, env, reward, settings[reward], some, steps) for reward in REWARDS for env in envs]


def _job(stage: str, env: str, reward: str, settings: str, seeds: list[int], steps: int) -> Job:
    return {"stage": stage, "env": env, "reward": reward, "settings": settings, "seeds": seeds, "steps": steps}


def rows_of(results: list[dict[str, Any]], stage: str, settings: dict[str, str]) -> list[dict[str, Any]]:
    """Return the results of a stage, after the first run those with the settings that were chosen in tuning."""
    rows = [one for one in results if one["job"]["stage"] == stage]
    if stage.startswith("first"):
        return rows
    # Ablations have the settings of progress.
    some = [(one, settings.get(one["job"]["reward"], settings.get(PROGRESS))) for one in rows]
    return [one for one, tuned in some if tuned in (None, one["job"]["settings"])]


def report(path: Path, tuning_steps: int) -> None:
    """Print the tables."""
    results = load_all_seeds(path)
    means = tuning(results, tuning_steps)
    settings = chosen(means)
    print(
        f"PPO in XLand-MiniGrid and Navix, {NUM_ENVS:,} environments. The formula is `{FORMULA}`, and\n"
        f"`F goal` in MemoryS16. Every policy plays {PLAYED} new episodes after training.\n\n"
        "- *success*: share of episodes in which the environment paid its reward, mean over seeds with its 95 %\n"
        "  interval; *least*: that of the worst seed; *seeds ≥ 0.99*: how many seeds succeed so often\n"
        "- *in training*: how many seeds succeed so often in the episodes that ended in the last tenth of training\n"
        "- *length*: mean steps of an episode; *seconds*: to train all seeds, after compiling; several rows shared\n"
        "  the device"
    )
    print_overview([one for stage in ("main", "corridor") for one in rows_of(results, stage, settings)])
    for stage, title in STAGES.items():
        print_table(title, rows_of(results, stage, settings))
    if means:
        print(f"\n## Settings\n\nMean success on {' and '.join(TUNED_ON)} after {tuning_steps:,} steps, with the seeds")
        print(f"{TUNING_SEEDS}, which are not in the other tables. Bold: chosen.\n")
        print("| settings | " + " | ".join(REWARDS) + " |\n|---|" + "--:|" * len(REWARDS))
        for name, row in means.items():
            cells = [f"**{row[r]:.3f}**" if settings[r] == name else f"{row[r]:.3f}" for r in REWARDS]
            print(f"| {name} | " + " | ".join(cells) + " |")
    for stage, title in FIRST_RUN.items():
        print_table(title, rows_of(results, stage, settings))


def print_overview(rows: list[dict[str, Any]]) -> None:
    """Print the success of all rewards beside each other."""
    print("\n## Success\n\n| environment | " + " | ".join(REWARDS) + " |\n|---|" + "--:|" * len(REWARDS))
    for env in ENVS | CORRIDORS:
        found = {one["job"]["reward"]: mean_words(one["success"]) for one in rows if one["job"]["env"] == env}
        if found:
            print(f"| {env} | " + " | ".join(found.get(reward, "not trained") for reward in REWARDS) + " |")


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print the results of a stage, if there are any."""
    if not rows:
        return
    order, envs = [*REWARDS, *ABLATIONS], [*ENVS, *CORRIDORS]
    steps = sorted({one["job"]["steps"] for one in rows})
    seeds = sorted({seed for one in rows for seed in one["job"]["seeds"]})
    print(
        f"\n## {title}\n\n{' and '.join(f'{number:,}' for number in steps)} steps for each of the seeds "
        f"{seeds[0]} to {seeds[-1]}.\n{'; '.join(sorted({one['machine'] for one in rows}))}.\n"
    )
    print("| environment | reward | success | least | seeds ≥ 0.99 | in training | length | seconds |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for one in sorted(rows, key=lambda one: (envs.index(one["job"]["env"]), order.index(one["job"]["reward"]))):
        job, success = one["job"], np.array(one["success"])
        counts = [
            f"{(np.array(one[name]) >= 0.99).sum()} of {len(success)}" for name in ("success", "training_success")
        ]
        print(
            f"| {job['env']} | {job['reward']} | {mean_words(success)} | {success.min():.3f} | "
            f"{' | '.join(counts)} | {np.mean(one['length']):.0f} | {one['seconds']:.0f} |"
        )


def draw_curves(path: Path, picture: Path, tuning_steps: int) -> None:
    """Draw success during training by environment."""
    import matplotlib.pyplot as plt

    results = load_all_seeds(path)
    settings = chosen(tuning(results, tuning_steps))
    rows = [
        one
        for stage in ("main", "corridor")
        for one in rows_of(results, stage, settings) or rows_of(results, f"first {stage}", settings)
    ]
    names = [name for name in (ENVS | CORRIDORS) if any(one["job"]["env"] == name for one in rows)]
    figure, axes = plt.subplots(2, 4, figsize=(11, 5), sharey=True)
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_title(name)
        for number, reward in enumerate(REWARDS):
            for one in rows:
                if (one["job"]["env"], one["job"]["reward"]) == (name, reward):
                    draw_curve(axis, *curve_of(one), number, reward)
    for row in axes:
        row[0].set_ylabel("success")
    save_figure(figure, list(axes.flat[: len(names)]), picture)


def main() -> int:
    options = parser(__doc__, 10_000_000, 10)
    options.add_argument("--stage", choices=("tuning", "main", "ablation", "corridor"), default="main")
    options.add_argument("--tuning-steps", type=int, default=10_000_000, help="steps of the tuning to choose by")
    options.add_argument("--settings", choices=list(SETTINGS), help="for all rewards, without tuning")
    options.add_argument("--only", nargs="*", default=[], help="only jobs with all these texts in their names")
    options.add_argument("--first-seed", type=int, default=FIRST_SEED)
    options.add_argument("--curves", type=Path, help="draw success during training into this file")
    arguments = options.parse_args()
    if arguments.report:
        report(arguments.out, arguments.tuning_steps)
        return 0
    if arguments.curves is not None:
        draw_curves(arguments.out, arguments.curves, arguments.tuning_steps)
        return 0
    jobs: list[Job] = []
    if arguments.job is None:
        settings = dict.fromkeys(REWARDS, arguments.settings) if arguments.settings else None
        if arguments.stage == "tuning":
            jobs = tuning_jobs(arguments.steps)
        else:
            found = [
                chosen(tuning(load_all_seeds(path), arguments.tuning_steps)) for path in (arguments.out, COMMITTED)
            ]
            settings = settings or found[0] or found[1]
            if not settings:
                options.error(
                    f"{arguments.out} has no tuning of {arguments.tuning_steps:,} steps. Run --stage tuning "
                    "first, or pass --settings."
                )
            jobs = jobs_of(arguments.stage, settings, arguments.steps, arguments.seeds, arguments.first_seed)
        if arguments.envs is not None:
            jobs = [{**job, "envs": arguments.envs} for job in jobs]
        jobs = [job for job in jobs if all(text in json.dumps(job) for text in arguments.only)]
        jobs = [part for job in jobs for part in parts(job, load(arguments.out), arguments.together)]

    def one(job: Job, checkpoint: Path) -> dict[str, Any]:
        filmed = (job["stage"], job["env"], job["reward"]) == ("main", "LockedRoom", PROGRESS) and FIRST_SEED in job[
            "seeds"
        ]
        return train_job(job, checkpoint, arguments.out.with_name("locked_room.npz") if filmed else None)

    status = run(arguments, __file__, jobs, one)
    if status == 0 and arguments.job is None:
        report(arguments.out, arguments.tuning_steps)
    return status


if __name__ == "__main__":
    raise SystemExit(main())

"""Instructions in Craftax-Classic with an order and deadlines: three rewards beside each other, PPO on a device.

    python benchmarks/craftax_tasks.py --out RESULTS.jsonl                 # every task with every reward
    python benchmarks/craftax_tasks.py --out RESULTS.jsonl --only eat      # one task
    python benchmarks/craftax_tasks.py --out RESULTS.jsonl --report > benchmarks/results/craftax_tasks.md
    python benchmarks/craftax_tasks.py --out RESULTS.jsonl --curves CURVES.svg

Needs the extras `jax-envs` and `learn`. Each call trains what the file of results does not have yet, and can be
interrupted. All seeds of a job are one compiled program; several jobs share the device.

Success is a criterion of its own: it reads the times of first achievements and the levels of drink and food that were
recorded beside the environment, and no monitor. After training, the policies play new episodes to their end.

The settings of PPO and the networks' sizes are the defaults of `ppo.py` in Craftax_Baselines
(https://github.com/MichaelTMatthews/Craftax_Baselines) for all rewards. Nothing was tuned. Episodes have at most 300
steps for all rewards. The rewards are

- the environment's own: 1 for each achievement and 0.1 for each point of health. Its training knows no task, so that
  one training serves all tasks;
- an automaton's, as dfa-gym pays by default (https://github.com/rad-dfa/dfa-gym): 1 at the end of the episode if the
  formula is accepted, otherwise 0. The episode ends when that is decided, and the policy observes the state of the
  automaton;
- the formula's progress, paid when it changes. The episode ends as with the automaton, and the policy observes the same
  registers. The task `thirst` is paid as two formulas.
- the same of the formula and `F(sapling & F plant)`, where the task has a plant. Planting needs a sapling, so this asks
  for nothing more, but it pays for one more part.

The last task is graded: drink and food have degrees, and the value of the instruction is how well it was followed. An
automaton has to draw a line, and gets the one that success is measured with.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from device_jobs import Job, load
from device_trials import (
    Trial,
    curve_of,
    draw_curve,
    load_all_seeds,
    machine,
    machines,
    make_player,
    parser,
    parts,
    run,
    save_figure,
    train,
)

import rewardspec as rs

LIMIT = 300
"""Most steps of an episode."""
NEVER = 2**30
NUM_ENVS, RESETS = 1_024, 64
"""Environments of a run, and the worlds that are made in a step for the episodes that begin."""
PLAYED, AT_RANDOM = 256, 20_480
"""Episodes of each policy after training, and of random play."""
SETTINGS: dict[str, Any] = {
    "rollout_steps": 64,
    "learning_rate": 2e-4,
    "anneal": True,
    "discount": 0.99,
    "gae_lambda": 0.8,
    "minibatches": 8,
    "epochs": 4,
    "clip": 0.2,
    "entropy_coefficient": 0.01,
    "value_coefficient": 0.5,
    "max_grad_norm": 1.0,
    "bootstrap_truncated": False,
}
HIDDEN = (512, 512, 512)


class Record(NamedTuple):
    """The state of an environment, and what happened in its episode so far.

    Attributes:
        env: The state of Craftax.
        times: Step at which each achievement was first made, int32 of shape (achievements,); `NEVER` before.
        drink: Level of drink after each step, int8 of shape (LIMIT + 1,); 0 for steps that are still to come.
        food: Level of food, likewise.
    """

    env: Any
    times: Any
    drink: Any
    food: Any

    @classmethod
    def first(cls, env: Any) -> Record:
        """Return the record of an episode that begins."""
        import jax.numpy as jnp

        levels = jnp.zeros(LIMIT + 1, jnp.int8)
        return cls(env, jnp.full(env.achievements.shape, NEVER, jnp.int32), levels, levels).after(env)

    def after(self, env: Any) -> Record:
        """Return the record with one more state."""
        import jax.numpy as jnp

        new = env.achievements.astype(bool) & (self.times == NEVER)
        return Record(
            env,
            jnp.where(new, env.timestep, self.times).astype(jnp.int32),
            self.drink.at[env.timestep].set(jnp.asarray(env.player_drink, jnp.int8)),
            self.food.at[env.timestep].set(jnp.asarray(env.player_food, jnp.int8)),
        )

    def time(self, achievement: str) -> Any:
        """Return the step at which an achievement was first made."""
        from craftax.craftax_classic.constants import Achievement

        return self.times[Achievement[achievement].value]

    def steps(self) -> Any:
        """Return which steps were taken, Booleans of shape (LIMIT + 1,); the first is the state after reset."""
        return np.arange(LIMIT + 1) <= self.env.timestep

    def lowest_peak(self, levels: Any, width: int) -> Any:
        """Return the least of all windows of `width` steps and the one they begin with, by its highest level."""
        import jax.numpy as jnp

        return jnp.where(self.steps(), peaks(levels, width), 9).min()


def peaks(levels: Any, width: int) -> Any:
    """Return the highest level of each step and the `width` steps after it, of shape (LIMIT + 1,)."""
    import jax.numpy as jnp

    reach = 0
    while reach < width:
        shift = min(reach + 1, width - reach)
        levels = jnp.maximum(levels, jnp.concatenate([levels[shift:], jnp.zeros(shift, levels.dtype)]))
        reach += shift
    return levels


class Task(NamedTuple):
    """An instruction.

    Attributes:
        words: The instruction in words.
        formula: The instruction as a formula over atoms that are true or false.
        succeeded: Function from a record to whether the instruction was followed.
        decided: Whether the formula stays true once it is, so that the episode can end there.
        pairs: What is paid in place of the formula's progress.
        graded: Whether the pairs' atoms have degrees.
    """

    words: str
    formula: str
    succeeded: Callable[[Record], Any]
    decided: bool = True
    pairs: tuple[rs.Pair, ...] = ()
    graded: bool = False

    @property
    def plants(self) -> bool:
        """Whether a sapling has to be planted."""
        return " plant" in self.formula


def _drink_first(record: Record) -> Any:
    wood = record.time("COLLECT_WOOD")
    first = (record.time("COLLECT_DRINK") < wood) & (record.time("PLACE_PLANT") < wood)
    return first & (record.time("MAKE_WOOD_PICKAXE") <= 250)


def _eat_first(record: Record) -> Any:
    table = record.time("PLACE_TABLE")
    first = (record.time("EAT_COW") < table) & (record.time("COLLECT_DRINK") < table)
    return first & (record.time("PLACE_PLANT") < table) & (record.time("MAKE_WOOD_PICKAXE") <= 250)


def _not_thirsty_for_long(record: Record) -> Any:
    made = record.time("MAKE_WOOD_PICKAXE") < NEVER
    thirsty = record.steps() & (record.drink <= 6)
    return made & (record.env.player_health > 0) & ~(thirsty & (peaks(record.drink, 40) < 8)).any()


def _well_fed(record: Record) -> Any:
    drink, food = record.lowest_peak(record.drink, 50), record.lowest_peak(record.food, 100)
    return (drink >= 5) & (food >= 5) & (record.env.player_health > 0)


def degree(record: Record) -> Any:
    """Return how well the graded instruction was followed, of 1."""
    drink, food = record.lowest_peak(record.drink, 50), record.lowest_peak(record.food, 100)
    return (drink + food) / 18.0 * (record.env.player_health > 0)


BUILD = "F(wood & F(table & F pickaxe))"
DRINK = "G(thirsty -> F[0,40] quenched)"
TASKS = {
    "drink": Task(
        "Drink and plant a sapling before the first wood. Make a pickaxe within 250 steps.",
        f"(!wood U drink) & (!wood U plant) & {BUILD} & alive U[0,250] pickaxe",
        _drink_first,
    ),
    "eat": Task(
        "Eat a cow, drink and plant a sapling before the table. Make a pickaxe within 250 steps.",
        f"(!table U cow) & (!table U drink) & (!table U plant) & {BUILD} & alive U[0,250] pickaxe",
        _eat_first,
    ),
    "thirst": Task(
        "Make a pickaxe. When drink falls to 6, bring it to 8 within 40 steps, and before the end. Stay alive for 300 "
        "steps.",
        f"{DRINK} & G alive & {BUILD}",
        _not_thirsty_for_long,
        decided=False,
        pairs=(rs.Pair(BUILD, 1, progress=True), rs.Pair(f"{DRINK} & G alive", 1)),
    ),
    "graded": Task(
        "Keep drink high in every 50 steps and food in every 100, as high as you can. Stay alive for 300 steps.",
        "G F[0,50] watered & G F[0,100] fed & G alive",
        _well_fed,
        decided=False,
        graded=True,
        pairs=(
            rs.Pair("G F[0,50] drink_level", 0.5, veto=False),
            rs.Pair("G F[0,100] food_level", 0.5, veto=False),
            rs.Pair("G alive", 0, veto=True),
        ),
    ),
}
ENVIRONMENT, AUTOMATON, PROGRESS = "the environment's", "the automaton's", "the formula's, for progress"
SAPLING_TOO = "the formula's, for progress, with the sapling"
REWARDS = (PROGRESS, ENVIRONMENT, AUTOMATON, SAPLING_TOO)
RANDOM = "none: random play"
"""Episodes of random actions, in place of a trained policy."""


ACHIEVEMENTS = {
    "wood": "COLLECT_WOOD",
    "drink": "COLLECT_DRINK",
    "sapling": "COLLECT_SAPLING",
    "plant": "PLACE_PLANT",
    "cow": "EAT_COW",
    "table": "PLACE_TABLE",
    "pickaxe": "MAKE_WOOD_PICKAXE",
}


def _achieved(name: str) -> Callable[..., Any]:
    """Return an atom: whether an achievement has been made in this episode."""

    def atom(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
        from craftax.craftax_classic.constants import Achievement

        return info["state"].env.achievements[Achievement[name].value]

    return atom


ATOMS: dict[str, Callable[..., Any]] = {
    **{atom: _achieved(name) for atom, name in ACHIEVEMENTS.items()},
    "thirsty": lambda obs, action, next_obs, info: info["state"].env.player_drink <= 6,
    "quenched": lambda obs, action, next_obs, info: info["state"].env.player_drink >= 8,
    "watered": lambda obs, action, next_obs, info: info["state"].env.player_drink >= 5,
    "fed": lambda obs, action, next_obs, info: info["state"].env.player_food >= 5,
    "alive": lambda obs, action, next_obs, info: info["state"].env.player_health > 0,
    "drink_level": lambda obs, action, next_obs, info: info["state"].env.player_drink / 9,
    "food_level": lambda obs, action, next_obs, info: info["state"].env.player_food / 9,
}


def spec_of(task: Task, reward: str) -> rs.Spec | None:
    """Return the spec of a reward; None for the environment's own."""
    if reward == ENVIRONMENT:
        return None
    if reward == AUTOMATON:
        pairs, payment = [rs.Pair(task.formula, 1, veto=True)], "final"
    else:
        formula = f"{task.formula} & F(sapling & F plant)" if reward == SAPLING_TOO else task.formula
        pairs = list(task.pairs) or [rs.Pair(formula, 1, veto=True, progress=True)]
        payment = "delta"
    own = {name: ATOMS[name] for pair in pairs for name in pair.formula.atoms}
    return rs.Spec(pairs, payment=payment, discount=SETTINGS["discount"], atoms=own)


def recorded() -> rs.jax.FunctionalEnvironment:
    """Return Craftax-Classic with a record of the episode beside its state, and the criteria of all tasks in `info`."""
    from craftax.craftax_env import make_craftax_env_from_name

    env = rs.jax.from_craftax(make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False))

    def reset(key: Any) -> Any:
        state, obs = env.reset(key)
        return Record.first(state), obs

    def step(key: Any, record: Record, action: Any) -> Any:
        state, *others, _ = env.step(key, record.env, action)
        record = record.after(state)
        measured = {name: task.succeeded(record) for name, task in TASKS.items()}
        measured |= {f"made {atom}": record.time(name) < NEVER for atom, name in ACHIEVEMENTS.items()}
        measured |= {"degree": degree(record), "died": record.env.player_health <= 0}
        return record, *others, {"measured": measured}

    return rs.jax.FunctionalEnvironment(reset, step, env.action_space)


def trial_of(task_name: str, reward: str) -> Trial:
    """Return what is trained. The task of the environment's own reward is `all`: success is then the mean of all."""
    names = list(TASKS) if task_name == "all" else [task_name]
    task, env = TASKS[names[0]], recorded()
    spec = spec_of(task, reward)
    options: dict[str, Any] = {}
    if spec is not None:
        options = {"observe": "registers", "terminate_on_violation": True, "terminate_on_completion": task.decided}

    def make(count: int) -> rs.jax.SpecReward:
        return rs.jax.SpecReward(env, spec, count, limit=LIMIT, auto_reset=min(RESETS, count), **options)

    def measures(info: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in info["measured"].items() if name in names or name not in TASKS}
        measured = {name: value * 1.0 for name, value in kept.items()}
        return {"success": sum(measured[name] for name in names) / len(names), **measured}

    return Trial(make, measures, LIMIT, hidden=HIDDEN)


def train_job(job: Job, checkpoint: Path) -> dict[str, Any]:
    """Train, play, and return what is kept of it."""
    from rewardspec.lab.learning.settings import PPO

    if job["reward"] == RANDOM:
        return play_at_random(job)
    config = PPO(total_steps=job["steps"], envs=job.get("envs", NUM_ENVS), **SETTINGS)
    name, trial = f"{job['task']}, {job['reward']}", trial_of(job["task"], job["reward"])
    return train(job, name, trial, config, job.get("envs", PLAYED), checkpoint).result


def play_at_random(job: Job) -> dict[str, Any]:
    """Play episodes with random actions, and return what is kept of them."""
    import jax.numpy as jnp

    from rewardspec.lab.learning.networks import flat_encoder

    began, trial, count = time.perf_counter(), trial_of("all", ENVIRONMENT), job.get("envs", NUM_ENVS)
    envs = trial.make(count)
    encoder = flat_encoder(envs.observation_struct)
    play = make_player(trial, envs, encoder, job["seeds"])
    actions = envs.action_space.n
    uniform = {"actor": {"w0": jnp.zeros((1, encoder.size, actions)), "b0": jnp.zeros((1, actions))}}
    rows = [play(uniform, number) for number in range(-(-job["episodes"] // count))]
    return {
        **{name: [round(float(np.mean([row[name] for row in rows])), 6)] for name in rows[0]},
        "trained_steps": 0,
        "seconds": round(time.perf_counter() - began, 1),
        "machine": machine(),
    }


def jobs_of(names: list[str], steps: int, seeds: int, envs: int | None) -> list[Job]:
    """The jobs, the most important first."""
    rewards = (SAPLING_TOO, PROGRESS, AUTOMATON)
    some = [(name, reward) for reward in rewards for name in names if reward != SAPLING_TOO or TASKS[name].plants]
    jobs: list[Job] = [
        {"task": task, "reward": reward, "seeds": list(range(seeds)), "steps": steps}
        for task, reward in [("all", ENVIRONMENT), *some]
    ]
    jobs.append({"task": "all", "reward": RANDOM, "seeds": [0], "episodes": AT_RANDOM})
    return jobs if envs is None else [{**job, "envs": envs} for job in jobs]


def rows_of(results: list[dict[str, Any]], task: str, reward: str) -> list[dict[str, Any]]:
    """Return the results about a task and a reward, those with the most steps last."""
    asked = "all" if reward in (ENVIRONMENT, RANDOM) else task
    found = [one for one in results if (one["job"]["task"], one["job"]["reward"]) == (asked, reward)]
    return sorted(found, key=lambda one: one["trained_steps"])


def report(path: Path) -> None:
    """Print the page."""
    results = load_all_seeds(path)
    print(
        f"PPO in Craftax-Classic-Symbolic, {NUM_ENVS:,} environments, episodes of at most {LIMIT} steps, settings of "
        f"Craftax_Baselines for all\nrewards. Success is a criterion without monitors. Every policy plays {PLAYED} new "
        "episodes after training.\n"
    )
    for name, task in TASKS.items():
        print(f"- `{name}`: {task.words}\n  `{task.formula}`")
        if task.pairs:
            print(f"  Paid as {', '.join(f'`{pair.formula}`' for pair in task.pairs)}.")
    print("\n| task | reward | steps a seed | success | each seed | deaths | degree | length | seconds |")
    print("|---|---|--:|--:|---|--:|--:|--:|--:|")
    for name, task in TASKS.items():
        for reward in (*REWARDS, RANDOM):
            for one in rows_of(results, name, reward):
                # The automaton ends an episode where the degree may still be high.
                shown = f"{np.mean(one['degree']):.2f}" if task.graded and reward != AUTOMATON else "–"
                print(
                    f"| {name} | {reward} | {one['trained_steps']:,} | {np.mean(one[name]):.3f} | "
                    f"{', '.join(f'{value:.2f}' for value in one[name])} | {np.mean(one['died']):.2f} | {shown} | "
                    f"{np.mean(one['length']):.0f} | {'–' if reward == RANDOM else format(one['seconds'], '.0f')} |"
                )
    print("\nThe degree of `graded` is the mean of drink and food, of 1, at the highest of the worst window; 0 after a")
    print("death. One training with the environment's reward serves all tasks. *With the sapling*: the formula and")
    print("`F(sapling & F plant)`.")
    for one in results:
        if one["job"]["reward"] == RANDOM:
            made = ", ".join(f"{atom} {one[f'made {atom}'][0]:.1%}" for atom in ACHIEVEMENTS)
            print(f"\nIn {one['job']['episodes']:,} episodes of random play, so many made each achievement: {made}.")
    print(f"\n{machines(path)}. Seconds are for training all seeds of a row, after compiling; several rows shared the")
    print("device. Random play ran on a processor.")


def draw_curves(path: Path, picture: Path) -> None:
    """Draw success during training by task."""
    import matplotlib.pyplot as plt

    results = load_all_seeds(path)
    figure, axes = plt.subplots(1, len(TASKS), figsize=(2.75 * len(TASKS), 2.7), sharey=True)
    for axis, name in zip(axes, TASKS, strict=True):
        axis.set_title(name)
        for number, reward in enumerate(REWARDS):
            for one in rows_of(results, name, reward)[-1:]:
                draw_curve(axis, *curve_of(one, name), number, reward)
    axes[0].set_ylabel("success")
    save_figure(figure, axes, picture)


def main() -> int:
    options = parser(__doc__, 20_000_000, 3)
    options.add_argument("--only", nargs="+", choices=list(TASKS), default=list(TASKS), help="these tasks")
    options.add_argument("--curves", type=Path, help="draw success during training into this file")
    arguments = options.parse_args()
    if arguments.report:
        report(arguments.out)
        return 0
    if arguments.curves is not None:
        draw_curves(arguments.out, arguments.curves)
        return 0
    whole = jobs_of(arguments.only, arguments.steps, arguments.seeds, arguments.envs)
    jobs = [part for job in whole for part in parts(job, load(arguments.out), arguments.together)]
    return run(arguments, __file__, jobs, train_job)


if __name__ == "__main__":
    raise SystemExit(main())

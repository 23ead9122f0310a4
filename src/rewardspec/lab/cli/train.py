"""`rewardspec train ENV`: train one environment with one reward and save the policy."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rewardspec.cli.options import (
    OBSERVE_CHOICES,
    add_env_arg,
    add_no_references,
    aligned,
    command,
    importing_from_here,
    spec_in,
)
from rewardspec.errors import Error
from rewardspec.lab.cli.options import (
    add_device,
    add_learner_options,
    add_measure,
    config_changes,
    device_of,
    options_for,
)
from rewardspec.types import Subparsers

if TYPE_CHECKING:
    from rewardspec.lab.experiments.study import Reward
    from rewardspec.lab.learning.env_batches import Source
    from rewardspec.lab.learning.settings import Config, Unit
    from rewardspec.lab.learning.training import Training
    from rewardspec.lab.learning.training_log import TrainingLog
    from rewardspec.lab.tasks.task import Task


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = command(
        commands,
        "train",
        "train one environment with one reward, and save the policy",
        """
        rewardspec train frozen-lake --reward boolean --seeds 20
        rewardspec train cart-pole --reward quantitative --steps 100000 --record pole.gif
        rewardspec train taxi --spec my-spec.toml -o my-taxi.npz --tensorboard logs
        rewardspec train MountainCarContinuous-v0 --spec energy.toml --steps 200000
        rewardspec train Pendulum-v1 --spec up.toml --learner sb3:SAC --steps 20000
        """,
    )
    parser.add_argument(
        "env", metavar="ENV", help="any Gymnasium id, module:id, module:Class; or as in `rewardspec envs`"
    )
    add_env_arg(parser)
    reward = parser.add_mutually_exclusive_group()
    reward.add_argument(
        "--reward",
        metavar="REWARD",
        help="what pays: base, or one of the task's specs (default: quantitative, else base)",
    )
    reward.add_argument("--spec", metavar="FILE", help="pay by this spec, a TOML file")
    add_no_references(parser)
    add_measure(parser)
    parser.add_argument(
        "--observe", choices=OBSERVE_CHOICES, help="what of the monitor the learner sees (default: the reward's)"
    )
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="runs, trained together (default: 1)")
    add_learner_options(parser)
    parser.add_argument(
        "--envpool", action="store_true", help="take Lunar Lander and Bipedal Walker from EnvPool, which is quicker"
    )
    add_device(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the policy (default: ENV-REWARD.npz)")
    parser.add_argument("--record", metavar="FILE", help="record an episode: .gif moves, .png is a row of stills")
    parser.add_argument("--tensorboard", metavar="DIR", help="write the training log for TensorBoard")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, print a summary and save the policy."""
    with importing_from_here():
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    from rewardspec.lab import tasks
    from rewardspec.lab.experiments.own_study import measured_by
    from rewardspec.lab.experiments.study import Budget
    from rewardspec.lab.learning.animation import check_recording, check_target, record
    from rewardspec.lab.learning.training import check_extras, default_config, with_learner
    from rewardspec.lab.learning.training_log import check_tensorboard, write_tensorboard
    from rewardspec.spec.toml_writing import dumps_spec

    source: Source = "envpool" if arguments.envpool else "gymnasium"
    task = with_learner(tasks.get(arguments.env, specs={}), arguments.learner)
    check_extras([task], source=source)
    name, reward = _reward(arguments, task)
    if arguments.measure is not None:
        task = measured_by(task if reward.spec is None else task.replace(specs={name: reward.spec}), arguments.measure)
    with options_for(seeds="--seeds", total_steps="--steps", episodes="--episodes"):
        settings = default_config(task, config_changes(arguments, task))
        config = Budget(arguments.seeds, arguments.seeds, settings).config
    target = arguments.output or f"{task.name}-{name}.npz"
    # Check before training what would fail after it.
    check_target(target)
    if reward.spec is not None:
        dumps_spec(reward.spec)  # the policy is saved with it
    if arguments.record is not None:
        check_recording(arguments.record)
    if arguments.tensorboard is not None:
        check_tensorboard()

    device = _device(arguments, task, reward, config)
    checkpoint = Path(f"{target}.checkpoint")
    try:
        training = _train(task, name, reward, config, arguments.seeds, source, device, checkpoint)
    except KeyboardInterrupt:
        saved = (
            f"{checkpoint} is kept; run the same command again to resume"
            if checkpoint.exists()
            else "nothing was saved"
        )
        raise KeyboardInterrupt(f"Interrupted; {saved}.") from None
    print("\n".join(_summary(task, name, config, training)))
    training.policy.save(target)
    print(f"Wrote {target}")
    if arguments.tensorboard is not None:
        seeds = range(arguments.seeds)
        print(f"Wrote {write_tensorboard(arguments.tensorboard, f'{task.name}-{name}', training.log, seeds)}")
    if arguments.record is not None:
        episode = record(training.policy, arguments.record, run=_best_run(training.log, config.unit))
        print(
            f"Wrote {arguments.record}: an episode of {len(episode.actions)} steps, "
            f"{next(iter(task.measures)).replace('_', ' ')} {episode.task_completion:.2f}"
        )
    return 0


def _reward(arguments: argparse.Namespace, task: Task) -> tuple[str, Reward]:
    from rewardspec.lab import tasks
    from rewardspec.lab.experiments.study import BASE, Reward, own_reward

    if arguments.spec is not None:
        spec = task.with_atoms(spec_in(arguments.spec, arguments))
        name, reward = "spec", Reward(spec, "registers", f"The spec {arguments.spec}.")
    else:
        name = arguments.reward or ("quantitative" if "quantitative" in task.specs else BASE)
        if name == "best" and task.name in tasks.names("paper"):
            from rewardspec.lab.paper.evaluation import paper_reward

            reward = paper_reward(task, name)
        else:
            reward = own_reward(task, name)
    if arguments.observe is not None:
        if reward.spec is None:
            raise Error("The environment's own reward has no monitor to observe. Leave --observe out.")
        observe = None if arguments.observe == "nothing" else arguments.observe
        reward = dataclasses.replace(reward, observe=observe)
    return name, reward


def _device(arguments: argparse.Namespace, task: Task, reward: Reward, config: Config) -> str:
    """Return the device to train on; raise an Error if the task cannot be compiled for the one that was asked for."""
    from rewardspec.lab.learning.device_training import device_for

    asked = device_of(arguments)
    device = device_for(task, reward.spec, config, arguments.seeds, asked)
    if asked not in (None, device):
        raise Error(
            f"Training {task.title} cannot be compiled for `--device {asked}`: that takes PPO and one of the classic "
            "control environments. Leave --device out."
        )
    return device


def _train(
    task: Task,
    name: str,
    reward: Reward,
    config: Config,
    seeds: int,
    source: Source,
    device: str,
    checkpoint: Path,
) -> Training:
    """Train with the progress display of `reproduce`, for one job."""
    from rewardspec.lab.experiments.display import JobProgress, display_for
    from rewardspec.lab.experiments.engines import Advanced, Event, Started
    from rewardspec.lab.experiments.engines.worker import throttled
    from rewardspec.lab.experiments.jobs import Job
    from rewardspec.lab.learning.training import train

    job = Job(task.name, name, 0, seeds, config)
    progress, display = JobProgress([job], 1), display_for(sys.stderr)

    def show(event: Event) -> None:
        progress.see(event)
        display.show(progress, event)

    try:
        show(Started(job))
        advance = throttled(lambda done, total: show(Advanced(job, done, total)), 0.2)
        return train(
            task,
            reward.spec,
            observe=reward.observe,
            config=config,
            seeds=job.seeds,
            progress=advance,
            source=source,
            device=device,
            checkpoint=checkpoint,
        )
    finally:
        display.close()


def _summary(task: Task, name: str, config: Config, training: Training) -> Iterator[str]:
    from rewardspec.lab.experiments.display import budget, duration
    from rewardspec.lab.experiments.statistics import at_the_start, few_words, in_the_end, run_means

    log = training.log
    runs = f"{log.runs} runs" if log.runs > 1 else "1 run"
    yield f"{task.words}, {name}: {runs} of {budget(config)} in {duration(training.seconds)}"
    if not len(log):
        yield "No episode was finished. Train for longer."
        return
    first, last = at_the_start(log, config.unit), in_the_end(log, config.unit)
    rows: list[tuple[str, ...]] = [("", "first tenth", "last tenth")]
    for title, column, form in (
        *((name.replace("_", " "), name, "{:.3f}" if m.share else "{:,.2f}") for name, m in task.measures.items()),
        ("reward of an episode", "reward", "{:,.2f}"),
        ("environment's own reward", "base_reward", "{:,.2f}"),
        ("steps of an episode", "length", "{:,.1f}"),
        ("episodes with a violation", "violated", "{:.0%}"),
    ):
        values = log.columns()[column]
        means = (run_means(log, values, part).mean() for part in (first, last))
        rows.append((title, *(form.format(float(mean)) for mean in means)))
    yield from aligned(rows)
    if few := few_words(int(last.sum()), log.runs):
        yield f"{few} Play more with `rewardspec probe --policy`, or train for longer."


def _best_run(log: TrainingLog, unit: Unit) -> int:
    """Return the run with the highest task completion at the end."""
    import numpy as np

    from rewardspec.lab.experiments.statistics import in_the_end, run_means

    runs = np.unique(log.run)  # a run that finished no episode has no mean
    return int(runs[np.argmax(run_means(log, log.task_completion, in_the_end(log, unit)))]) if len(runs) else 0

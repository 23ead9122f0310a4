"""Run the pending jobs of a study and store their results."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Sequence

from rewardspec.errors import Error
from rewardspec.lab.experiments import provenance
from rewardspec.lab.experiments.display import Display, JobProgress, announcement, display_for
from rewardspec.lab.experiments.engines import Engine, Failed, Finished, Work
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.experiments.result_files import encode
from rewardspec.lab.experiments.results import Results
from rewardspec.lab.experiments.study import study_of
from rewardspec.lab.learning.device_training import computing_on
from rewardspec.lab.learning.settings import PPO, QLearning
from rewardspec.lab.learning.training import train
from rewardspec.lab.learning.training_log import Progress
from rewardspec.types import JsonObject


@dataclasses.dataclass(frozen=True)
class Tally:
    """How many jobs were run, how many had results already, the failures, and the elapsed seconds."""

    done: int
    skipped: int
    failed: tuple[Failed, ...]
    seconds: float


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed; the message tells how many jobs are done and how to resume."""


def run_jobs(
    directory: str | os.PathLike[str],
    jobs: Sequence[Job],
    engine: Engine,
    work: Work,
    *,
    study: JsonObject,
    display: Display | None = None,
) -> Tally:
    """Run the jobs that have no result yet. After an interruption, the same call resumes.

    `study` is the description of the study. By default, progress is shown on the standard error stream.
    """
    display = display_for(sys.stderr) if display is None else display
    results = Results(directory, display.message)
    stored = 0
    try:
        with results.writing():
            results.plan(jobs, study)
            waiting = [job for job in jobs if not results.is_done(job)]
            skipped = stored = len(jobs) - len(waiting)
            if skipped:
                display.message(f"{skipped} of {len(jobs)} jobs are done already.")
            if waiting:
                display.message(announcement(waiting))
            progress = JobProgress(waiting, engine.workers, skipped)
            failed: list[Failed] = []
            with contextlib.closing(engine.run(waiting, work)) as events:  # type: ignore[type-var]
                for event in events:
                    if isinstance(event, Finished):
                        _store(results, event, stored)
                        stored += 1
                    elif isinstance(event, Failed):
                        known = any(event.reason == other.reason for other in failed)
                        failed.append(event)
                        # One cause often breaks many jobs; show its details once.
                        event = dataclasses.replace(event, details="") if known else event
                    progress.see(event)
                    display.show(progress, event)
            return Tally(stored - skipped, skipped, tuple(failed), progress.elapsed)
    except KeyboardInterrupt:
        raise Interrupted(
            f"Interrupted: {stored} of {len(jobs)} jobs are done and kept in {str(directory)!r}. "
            "Run the same command again to resume."
        ) from None
    finally:
        display.close()


def _store(results: Results, event: Finished, stored: int) -> None:
    try:
        results.store(event.job, event.content)
    except OSError as error:
        raise Error(
            f"The result of {event.job.label} cannot be written into {str(results.jobs)!r}: {error.strerror}. "
            f"Results stored so far ({stored}) are safe. Make room there and run the same command again to resume."
        ) from None


@dataclasses.dataclass(frozen=True)
class Trainer:
    """Work function that trains. It is sent to workers, so its attributes are JSON data.

    `command` is the command line, stored with the results; `checkpoints` the directory for the checkpoints of compiled
    training, if workers share one with this process.
    """

    command: str
    study: JsonObject
    checkpoints: str | None = None

    def __call__(self, job: Job, advance: Progress) -> bytes:
        """Train the runs of a job and return its result file."""
        study = study_of(self.study)
        task = study.tasks[job.task]
        reward = study.reward(task, job.reward)
        device = job.setup.get("device", "host")
        # A worker that has an accelerator keeps other jobs off it.
        on_cpu = device == "host" and isinstance(job.config, PPO | QLearning) and "JAX_PLATFORMS" not in os.environ
        with computing_on("host") if on_cpu else contextlib.nullcontext():
            training = train(
                task,
                reward.spec,
                observe=reward.observe,
                config=job.config,
                seeds=job.seeds,
                progress=advance,
                source=job.setup.get("source", "gymnasium"),
                device=device,
                checkpoint=None
                if self.checkpoints is None
                else os.path.join(self.checkpoints, f"{job.key}.checkpoint"),
            )
        return encode(
            job,
            training.log,
            seconds=training.seconds,
            command=self.command,
            versions=provenance.versions(task),
            device=provenance.machine(device),
        )

"""Running the jobs of a study: those that are not done yet are trained, and their results stored."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rewardspec.errors import Error
from rewardspec.lab.experiments import provenance
from rewardspec.lab.experiments.display import Display, display_for
from rewardspec.lab.experiments.engines import Engine, Failed, Finished, Work
from rewardspec.lab.experiments.job_progress import JobProgress
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.experiments.result_files import encode
from rewardspec.lab.experiments.results import Results
from rewardspec.lab.experiments.study import study_of
from rewardspec.lab.learning.training import train
from rewardspec.lab.learning.training_log import Progress


@dataclasses.dataclass(frozen=True)
class Tally:
    """Result of `run_jobs`.

    Attributes:
        done: How many jobs it did.
        skipped: How many were done before.
        failed: Those that cannot be done, and why.
        seconds: How long it took.
    """

    done: int
    skipped: int
    failed: tuple[Failed, ...]
    seconds: float


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed; the message says what is done and how to resume."""


def run_jobs(
    directory: str | os.PathLike[str],
    jobs: Sequence[Job],
    engine: Engine,
    work: Work,
    *,
    study: Mapping[str, Any],
    display: Display | None = None,
) -> Tally:
    """Do the jobs whose results are not there yet. Kill it at any moment: the same call goes on where it was.

    Args:
        directory: Where results are kept.
        jobs: The jobs.
        engine: Where they run.
        work: Does a job.
        study: The description of the study that the jobs belong to.
        display: Shows progress; what suits the standard error stream by default.

    Raises:
        Error: Nothing can be written there, another process is writing there, or there are results of another study.
        Interrupted: Ctrl-C was pressed.
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
                        # What breaks one job breaks many: the details are told once.
                        event = dataclasses.replace(event, details="") if known else event
                    progress.see(event)
                    display.show(progress, event)
            return Tally(stored - skipped, skipped, tuple(failed), progress.elapsed)
    except KeyboardInterrupt:
        raise Interrupted(
            f"Interrupted: {stored} of {len(jobs)} jobs are done and kept in {str(directory)!r}. "
            "Run the same command again to go on."
        ) from None
    finally:
        display.close()


def _store(results: Results, event: Finished, stored: int) -> None:
    try:
        results.store(event.job, event.content)
    except OSError as error:
        raise Error(
            f"The result of {event.job.label} cannot be written into {str(results.jobs)!r}: {error.strerror}. "
            f"Those that are done, {stored} so far, are safe. Make room there and run the same command again: it goes "
            "on from where it was."
        ) from None


@dataclasses.dataclass(frozen=True)
class Trainer:
    """Does jobs by training; sent to workers, so it holds plain values alone.

    Attributes:
        command: The command that asks for the jobs, for the record.
        study: The description of the study.
    """

    command: str
    study: Mapping[str, Any]

    def __call__(self, job: Job, advance: Progress) -> bytes:
        """Do a job."""
        study = study_of(self.study)
        task = study.tasks[job.task]
        reward = study.reward(task, job.reward)
        training = train(
            task,
            reward.spec,
            observe=reward.observe,
            config=job.config,
            seeds=job.seeds,
            progress=advance,
            source=job.setup.get("source", "gymnasium"),
        )
        return encode(
            job,
            training.log,
            seconds=training.seconds,
            command=self.command,
            versions=provenance.versions(),
            device=provenance.machine(),
        )

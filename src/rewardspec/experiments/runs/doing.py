"""Doing a job: train its seeds with its reward, and put what happened into the content of a result file."""

from __future__ import annotations

import dataclasses

from rewardspec import tasks
from rewardspec.experiments.rewards import reward_setup
from rewardspec.experiments.runs import provenance
from rewardspec.experiments.runs.jobs import Job
from rewardspec.experiments.runs.result_files import encode
from rewardspec.learning.progress import Progress
from rewardspec.learning.training import train


@dataclasses.dataclass(frozen=True)
class Trainer:
    """Does jobs by training; sent to workers, so it holds plain values alone.

    Attributes:
        command: The command that asks for the jobs, for the record.
    """

    command: str

    def __call__(self, job: Job, advance: Progress) -> bytes:
        """Do a job."""
        task = tasks.get(job.task)
        setup = reward_setup(task, job.reward)
        training = train(
            task,
            setup.spec,
            observe=setup.observe,
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

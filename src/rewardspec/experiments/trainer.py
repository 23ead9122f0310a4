"""Doing a job: train its seeds with its reward, and put what happened into the content of a result file."""

from __future__ import annotations

import dataclasses

from rewardspec import tasks
from rewardspec.experiments import provenance
from rewardspec.experiments.jobs import Job
from rewardspec.experiments.result_files import encode
from rewardspec.experiments.rewards import reward_setup
from rewardspec.learning.training import train
from rewardspec.learning.training_log import Progress


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

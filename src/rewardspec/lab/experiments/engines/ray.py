"""The engine of many machines: jobs as tasks of a Ray cluster.

Results come back to the process that asked for them, which writes them, so the machines need no disk in common. Ray
begins a task again elsewhere when its node dies. Every node has to have the same version of rewardspec installed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.experiments.engines import Advanced, Event, Failed, Finished, Idle, Lost, Started, Work
from rewardspec.lab.experiments.engines.worker import describe_error, limit_threads, throttled
from rewardspec.lab.experiments.jobs import Job

_RETRIES = 5
"""How often a job is restarted when its node or process dies."""
_PATIENCE = 0.5
"""Timeout in seconds of waiting for results."""
_PACE = 1.0
"""Seconds between two progress reports of a job."""


class Ray:
    """Runs jobs on a Ray cluster, one core for each.

    Args:
        address: The address of a cluster, or `"auto"` for the one this machine belongs to. Without one, Ray is started
            on this machine alone, and stopped afterwards. Where Ray is initialised already, that is used and left.

    Raises:
        MissingExtraError: Ray is not installed.
        Error: There is no cluster at this address, or it cannot be used.
    """

    def __init__(self, address: str | None = None) -> None:
        self._ray = _import_ray()
        self._stop: Callable[[], object] = lambda: None
        if not self._ray.is_initialized():
            _connect(self._ray, address)
            # Stopped when the jobs have run, or when nobody holds the engine any more: they may never be run at all.
            self._stop = weakref.finalize(self, self._ray.shutdown)

    @property
    def workers(self) -> int:
        """How many cores the cluster has at the moment."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, jobs: Sequence[Job], work: Work) -> Iterator[Event]:
        """Run jobs and yield events."""
        ray = self._ray
        pending: dict[Any, Job] = {}
        begun: dict[str, int] = {}
        try:
            actor = _progress_actor(ray)
            task = ray.remote(num_cpus=1, max_retries=_RETRIES, name="rewardspec job")(_perform)
            # Ray starts tasks in about the order in which they come: the long ones should not be last.
            for job in sorted(jobs, key=lambda job: -job.cost):
                pending[task.remote(job, work, actor)] = job
            while pending:
                ready, _ = ray.wait(list(pending), num_returns=1, timeout=_PATIENCE, fetch_local=False)
                yield from _news(ray, actor, pending.values(), begun)
                for reference in ready:
                    yield _outcome(ray, reference, pending.pop(reference))
                yield Idle()
        finally:
            for reference in pending:
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)
            self._stop()


def _import_ray() -> Any:
    # Ray 2 warns of a future change in how it hides accelerators, which are not used here.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray", "The engine 'ray'") from None
    return ray


def _connect(ray: Any, address: str | None) -> None:
    _check_reachable(address)
    try:
        # `local` keeps Ray from joining a cluster that happens to be known to this machine.
        ray.init(address=address or "local", logging_level=logging.WARNING, log_to_driver=False)
    except Exception as error:  # what it raises depends on what is wrong, and on Ray's version
        raise _unusable(address, error) from None


def _check_reachable(address: str | None) -> None:
    """Try to connect first: Ray itself waits minutes for a cluster that is not there."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()
        except OSError as error:
            raise _unusable(address, error) from None


def _unusable(address: str | None, error: Exception) -> Error:
    where = f"the Ray cluster at {address!r}" if address else "Ray on this machine"
    return Error(
        f"Cannot use {where}: {error}. Start a cluster with `ray start --head` and give its --address, "
        "or leave --engine out to use processes of this machine."
    )


def _perform(job: Job, work: Work, actor: Any) -> bytes:
    """Do a job; runs on a node."""
    limit_threads(1)
    actor.begin.remote(job.key)
    return work(job, throttled(lambda done, total: _write(actor, job, done, total), _PACE))


def _write(actor: Any, job: Job, done: int, total: int) -> None:
    actor.advance.remote(job.key, done, total)


class ProgressActor:
    """Ray actor that collects the progress of tasks."""

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}
        self._progress: dict[str, tuple[int, int]] = {}

    def begin(self, key: str) -> None:
        """Note that a task started, perhaps not for the first time."""
        self._begun[key] = self._begun.get(key, 0) + 1
        self._progress.pop(key, None)

    def advance(self, key: str, done: int, total: int) -> None:
        """Note the progress of a task."""
        self._progress[key] = (done, total)

    def read(self) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
        """How often each task has started, and the progress reported since the last call."""
        news, self._progress = self._progress, {}
        return self._begun, news


def _progress_actor(ray: Any) -> Any:
    """Start the actor on the node of this process, so that it survives the loss of others."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    return ray.remote(ProgressActor).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()


def _news(ray: Any, actor: Any, pending: Any, begun: dict[str, int]) -> Iterator[Event]:
    """Events since the last call, from the progress actor.

    That is for people alone: results do not depend on it, and those of short jobs may be here before it.
    """
    try:
        counts, progress = ray.get(actor.read.remote(), timeout=5.0)
    except (ray.exceptions.RayActorError, ray.exceptions.GetTimeoutError):
        return
    for job in list(pending):
        before, now = begun.get(job.key, 0), counts.get(job.key, 0)
        if now > before:
            begun[job.key] = now
            if before:
                yield Lost(job, "its node or its process on it died")
            yield Started(job)
        if job.key in progress:
            yield Advanced(job, *progress[job.key])


def _outcome(ray: Any, reference: Any, job: Job) -> Event:
    try:
        return Finished(job, ray.get(reference))
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        reason, details = describe_error(cause)
        return Failed(job, reason, details and str(error))
    except ray.exceptions.RayError as error:
        return Failed(job, f"{type(error).__name__}: {' '.join(str(error).split())}")

"""Engine for many machines: jobs are tasks of a Ray cluster.

Results return to the calling process, which writes them, so the machines need no shared disk. Ray restarts a task on
another node when its node dies. All nodes need the same version of rewardspec.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.experiments.engines import Advanced, Event, Failed, Finished, Idle, Lost, Started, Work
from rewardspec.lab.experiments.engines.worker import describe_error, limit_threads, throttled
from rewardspec.lab.experiments.jobs import Job

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle

_RETRIES = 5  # number of restarts of a job whose node or process dies
_PATIENCE = 0.5  # timeout in seconds of waiting for results
_PACE = 1.0  # seconds between progress reports of a job


class Ray:
    """Engine that runs jobs on a Ray cluster, with one core each.

    `address` is that of a cluster, or `"auto"` for the cluster of this machine. By default Ray is started on this
    machine and stopped afterwards. If Ray is initialized already, it is used and left running.
    """

    def __init__(self, address: str | None = None) -> None:
        self._ray = _import_ray()
        self._stop: Callable[[], object] = lambda: None
        if not self._ray.is_initialized():
            _connect(self._ray, address)
            # Stop Ray after the jobs, or when the engine is deleted without having run any.
            self._stop = weakref.finalize(self, self._ray.shutdown)

    @property
    def workers(self) -> int:
        """Current number of cores of the cluster."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, jobs: Sequence[Job], work: Work) -> Iterator[Event]:
        """Run jobs and yield events."""
        ray = self._ray
        pending: dict[ObjectRef, Job] = {}
        begun: dict[str, int] = {}
        try:
            actor = _progress_actor(ray)
            task = ray.remote(num_cpus=1, max_retries=_RETRIES, name="rewardspec job")(_perform)
            # Ray starts tasks roughly in the order of submission; long jobs should not come last.
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


def _import_ray() -> ModuleType:
    # Silence Ray 2's warning about accelerators, which are not used here.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray", "The engine 'ray'") from None
    module: ModuleType = ray
    return module


def _connect(ray: ModuleType, address: str | None) -> None:
    _check_reachable(address)
    try:
        # `local` keeps Ray from joining a cluster that this machine knows.
        ray.init(address=address or "local", logging_level=logging.WARNING, log_to_driver=False)
    except Exception as error:  # its type depends on the cause and on Ray's version
        raise _unusable(address, error) from None


def _check_reachable(address: str | None) -> None:
    """Check that a cluster listens at the address; Ray itself would wait for minutes."""
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


def _perform(job: Job, work: Work, actor: ActorHandle) -> bytes:
    """Run a job on a node."""
    limit_threads(1)
    actor.begin.remote(job.key)
    return work(job, throttled(lambda done, total: actor.advance.remote(job.key, done, total), _PACE))


class ProgressActor:
    """Ray actor that collects the progress of tasks."""

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}
        self._progress: dict[str, tuple[int, int]] = {}

    def begin(self, key: str) -> None:
        """Record that a task started, possibly again."""
        self._begun[key] = self._begun.get(key, 0) + 1
        self._progress.pop(key, None)

    def advance(self, key: str, done: int, total: int) -> None:
        """Record the progress of a task."""
        self._progress[key] = (done, total)

    def read(self) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
        """Return how often each task has started, and the progress since the last call."""
        news, self._progress = self._progress, {}
        return self._begun, news


def _progress_actor(ray: ModuleType) -> ActorHandle:
    """Start the actor on the node of this process, so that it survives the loss of others."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    return ray.remote(ProgressActor).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()


def _news(ray: ModuleType, actor: ActorHandle, pending: Iterable[Job], begun: dict[str, int]) -> Iterator[Event]:
    """Yield the events since the last call, from the progress actor.

    They are for display only. Results do not depend on them and may arrive earlier.
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


def _outcome(ray: ModuleType, reference: ObjectRef, job: Job) -> Event:
    try:
        return Finished(job, ray.get(reference))
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        reason, details = describe_error(cause)
        return Failed(job, reason, details and str(error))
    except ray.exceptions.RayError as error:
        return Failed(job, f"{type(error).__name__}: {' '.join(str(error).split())}")

"""The engine of one machine: worker processes, each with cores of its own.

A worker does one job after the other, so that what it has compiled serves again. It dies with the process that started
it, however that one ends. One that dies by itself takes its job with it, which then gets a second chance.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rewardspec.errors import Error
from rewardspec.lab.experiments.engines import Advanced, Event, Failed, Finished, Idle, Lost, Started, Work
from rewardspec.lab.experiments.engines.worker import serve
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.experiments.provenance import usable_cores

_ATTEMPTS = 2
_PATIENCE = 0.25
"""Timeout in seconds of waiting for events."""
_GRACE = 5.0
"""Seconds to wait for a worker to exit after it closed its pipe."""
_TAIL = 2_000
"""Bytes of a dead worker's output to show."""
_WARM = 10.0
"""Bonus, in seconds, for a job of the task that the worker ran last."""
_ALONE = 5.0
"""Bonus, in seconds, for a job of a task that no other worker is at."""


class Local:
    """Runs jobs in processes of this machine.

    Processes are spawned, not forked, since forking breaks JAX. A script that uses this should therefore do so under
    `if __name__ == "__main__":`.

    Args:
        workers: How many; as many as there are cores by default.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise Error(f"`workers` should be at least 1. Received {workers}.")
        self.workers = usable_cores() if workers is None else workers

    def run(self, jobs: Sequence[Job], work: Work) -> Iterator[Event]:
        """Run jobs and yield events."""
        _check_portable(work)
        queue = JobQueue(jobs)
        attempts: dict[str, int] = {}
        crew: list[_Worker] = []
        threads = max(1, usable_cores() // self.workers)
        try:
            while queue or crew:
                while queue and len(crew) < self.workers:
                    crew.append(_Worker(work, threads))
                for worker in [worker for worker in crew if worker.job is None]:
                    if not queue:
                        worker.end()
                        crew.remove(worker)
                        continue
                    job = queue.take(worker.last, [other.last for other in crew if other.last and other is not worker])
                    attempts[job.key] = attempts.get(job.key, 0) + 1
                    worker.give(job)
                    yield Started(job)
                ready = multiprocessing.connection.wait([worker.connection for worker in crew], _PATIENCE)
                for worker in [worker for worker in crew if worker.connection in ready]:
                    event = worker.news()
                    if isinstance(event, Lost):
                        crew.remove(worker)
                        words = worker.end()
                        if attempts[event.job.key] < _ATTEMPTS:
                            queue.put(event.job)
                        else:
                            event = Failed(event.job, f"{event.reason}, {_ATTEMPTS} times", words)
                    yield event
                if not ready:
                    yield Idle()
        finally:
            for worker in crew:
                worker.end()


class JobQueue:
    """The jobs that wait: long ones first, and those of one environment on one worker where that saves time.

    Long jobs first keeps all workers busy till the end, when short ones fill the gaps. A worker that stays with an
    environment finds its programs compiled already where the arrays have the same shapes, which matters for short jobs.

    Example:
        >>> jobs = [Job("a", "base", 0, 1, None, {}, 2.0), Job("b", "base", 0, 1, None, {}, 9.0)]
        >>> queue = JobQueue(jobs + [Job("a", "best", 0, 1, None, {}, 1.0)])
        >>> first, second = queue.take(), queue.take(busy=["b"])
        >>> first.task, second.task, queue.take("a").reward
        ('b', 'a', 'best')
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._waiting = list(jobs)

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, job: Job) -> None:
        """Put a job back."""
        self._waiting.append(job)

    def take(self, last: str | None = None, busy: Iterable[str] = ()) -> Job:
        """The next job.

        Args:
            last: The environment of the worker's last job.
            busy: The environments that other workers are at.
        """
        others = set(busy)

        def rank(job: Job) -> float:
            return job.cost + _WARM * (job.task == last) + _ALONE * (job.task not in others)

        job = max(self._waiting, key=rank)  # the earliest of equals
        self._waiting.remove(job)
        return job


class _Worker:
    """Handle of a worker process."""

    def __init__(self, work: Work, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.job: Job | None = None
        self.last: str | None = None
        descriptor, name = tempfile.mkstemp(prefix="rewardspec-worker-")
        self._printed, self._path = descriptor, Path(name)
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, work, threads, name), daemon=True)
        with _without_interrupts():
            self._process.start()
        theirs.close()  # so that its end is noticed here

    def give(self, job: Job) -> None:
        """Send it a job."""
        self.job, self.last = job, job.task
        with contextlib.suppress(OSError):  # it died; its end of the connection will say so
            self.connection.send(job)

    def news(self) -> Event:
        """Receive the next event of its job; `Lost` if it died."""
        job = self.job
        assert job is not None, "a worker that has nothing to do says nothing"
        try:
            kind, *values = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(_GRACE)
            return Lost(job, _how_it_ended(self._process.exitcode))
        if kind == "advanced":
            return Advanced(job, *values)
        self.job = None
        return Finished(job, *values) if kind == "finished" else Failed(job, *values)

    def end(self) -> str:
        """Kill it and return the end of its output."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()
        size = os.lseek(self._printed, 0, os.SEEK_END)
        os.lseek(self._printed, max(0, size - _TAIL), os.SEEK_SET)
        words = os.read(self._printed, _TAIL).decode(errors="replace").strip()
        os.close(self._printed)
        self._path.unlink(missing_ok=True)
        return words


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process started meanwhile never sees Ctrl-C, which a terminal sends to it as well; this one sees it after."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_portable(work: Work) -> None:
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Error(
            f"Work should be a function or object of a module, so that processes can import it: {error}"
        ) from None


def _how_it_ended(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its worker ended by itself, with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (the system may be short of memory)" if name == "SIGKILL" else ""
    return f"its worker was ended by {name}{hint}"

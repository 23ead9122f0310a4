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
from rewardspec.experiments.engines import Advanced, Event, Failed, Finished, Lost, Started, Waited, Work
from rewardspec.experiments.engines.worker import serve
from rewardspec.experiments.jobs import Job
from rewardspec.experiments.provenance import usable_cores

_ATTEMPTS = 2
_PATIENCE = 0.25
"""Seconds to wait for news."""
_GRACE = 5.0
"""Seconds that a worker which hung up has to end."""
_TAIL = 2_000
"""Bytes of what a dead worker printed last."""
_WARM = 10.0
"""Seconds that a job may be shorter than another and still be next, since the worker was at its environment last."""
_ALONE = 5.0
"""Likewise, since no other worker is at its environment."""


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
        """Run jobs and say what happens."""
        _check_portable(work)
        agenda = Agenda(jobs)
        attempts: dict[str, int] = {}
        crew: list[_Worker] = []
        threads = max(1, usable_cores() // self.workers)
        try:
            while agenda or crew:
                while agenda and len(crew) < self.workers:
                    crew.append(_Worker(work, threads))
                for worker in [worker for worker in crew if worker.job is None]:
                    if not agenda:
                        worker.end()
                        crew.remove(worker)
                        continue
                    job = agenda.take(worker.last, [other.last for other in crew if other.last and other is not worker])
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
                            agenda.put(event.job)
                        else:
                            event = Failed(event.job, f"{event.reason}, {_ATTEMPTS} times", words)
                    yield event
                if not ready:
                    yield Waited()
        finally:
            for worker in crew:
                worker.end()


class Agenda:
    """The jobs that wait: long ones first, and those of one environment on one worker where that saves time.

    Long jobs first keeps all workers busy till the end, when short ones fill the gaps. A worker that stays with an
    environment finds its programs compiled already where the arrays have the same shapes, which matters for short jobs.

    Example:
        >>> jobs = [Job("a", "base", 0, 1, None, {}, 2.0), Job("b", "base", 0, 1, None, {}, 9.0)]
        >>> agenda = Agenda(jobs + [Job("a", "best", 0, 1, None, {}, 1.0)])
        >>> first, second = agenda.take(), agenda.take(busy=["b"])
        >>> first.task, second.task, agenda.take("a").reward
        ('b', 'a', 'best')
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._waiting = list(jobs)

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, job: Job) -> None:
        """Let a job wait again."""
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
    """A process that does jobs, seen from the one that gives them."""

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
        """Give it a job."""
        self.job, self.last = job, job.task
        with contextlib.suppress(OSError):  # it died; its end of the connection will say so
            self.connection.send(job)

    def news(self) -> Event:
        """What it says about its job, or that it is dead."""
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
        """End it, whatever it is doing, and give what it printed last."""
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

"""Engine for one machine: worker processes, each with its own cores.

A worker runs one job after the other, so that compiled programs are reused. Workers die with their parent process, even
if that is killed. If a worker dies, its job is restarted once. `concurrent.futures` could not replace this: its pool
breaks as a whole when a worker dies, and does not tell which job was lost.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from rewardspec.errors import Error
from rewardspec.lab.experiments.engines import Advanced, Event, Failed, Finished, Idle, Lost, Started, Work
from rewardspec.lab.experiments.engines.worker import serve
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.experiments.provenance import usable_cores

_ATTEMPTS = 2
_PATIENCE = 0.25  # timeout in seconds of waiting for events
_GRACE = 5.0  # seconds to wait for the exit of a worker that closed its pipe
_TAIL = 2_000  # bytes of a dead worker's output that are shown
_WARM = 10.0  # priority bonus, in seconds, for a job of the task that the worker ran last
_ALONE = 5.0  # priority bonus, in seconds, for a job of a task that no other worker runs


class Local:
    """Engine that runs jobs in processes of this machine.

    Processes are spawned, because forking breaks JAX. Scripts therefore need `if __name__ == "__main__":`. By default
    there is one for each core, or a single one where jobs may use an accelerator.
    """

    def __init__(self, workers: int | None = None, *, accelerated: bool = False) -> None:
        if workers is not None and workers < 1:
            raise Error(f"`workers` should be at least 1. Received {workers}.")
        self.accelerated = accelerated
        self.workers = (1 if accelerated else usable_cores()) if workers is None else workers

    def run(self, jobs: Sequence[Job], work: Work) -> Iterator[Event]:
        """Run jobs and yield events."""
        waiting = list(jobs)
        attempts: dict[str, int] = {}
        workers: list[_Worker] = []
        threads = max(1, usable_cores() // self.workers)
        try:
            while waiting or workers:
                while waiting and len(workers) < self.workers:
                    workers.append(_Worker(work, threads, self.accelerated))
                for worker in [worker for worker in workers if worker.job is None]:
                    if not waiting:
                        worker.end()
                        workers.remove(worker)
                        continue
                    busy = [other.last for other in workers if other.last and other is not worker]
                    job = next_job(waiting, worker.last, busy)
                    waiting.remove(job)
                    attempts[job.key] = attempts.get(job.key, 0) + 1
                    worker.give(job)
                    yield Started(job)
                ready = multiprocessing.connection.wait([worker.connection for worker in workers], _PATIENCE)
                for worker in [worker for worker in workers if worker.connection in ready]:
                    event = worker.news()
                    if isinstance(event, Lost):
                        workers.remove(worker)
                        output = worker.end()
                        if attempts[event.job.key] < _ATTEMPTS:
                            waiting.append(event.job)
                        else:
                            event = Failed(event.job, f"{event.reason}, {_ATTEMPTS} times", output)
                    yield event
                if not ready:
                    yield Idle()
        finally:
            for worker in workers:
                worker.end()


def next_job(waiting: Sequence[Job], last: str | None = None, busy: Collection[str] = ()) -> Job:
    """Choose the next job of a worker: a long one, or a short one of the environment that it knows.

    Long jobs first keeps all workers busy until the end. A worker that stays with an environment reuses its compiled
    programs, which matters for short jobs. `last` is the environment of the worker's last job, `busy` are those of the
    other workers.

    Example:
        >>> jobs = [Job("a", "base", 0, 1, None, {}, 2.0), Job("b", "base", 0, 1, None, {}, 9.0)]
        >>> next_job(jobs).task, next_job([*jobs, Job("a", "best", 0, 1, None, {}, 8.0)], "a").reward
        ('b', 'best')
    """
    # The first of equals.
    return max(waiting, key=lambda job: job.cost + _WARM * (job.task == last) + _ALONE * (job.task not in busy))


class _Worker:
    """Handle of a worker process."""

    def __init__(self, work: Work, threads: int, accelerated: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self.job: Job | None = None
        self.last: str | None = None
        descriptor, name = tempfile.mkstemp(prefix="rewardspec-worker-")
        self._printed, self._path = descriptor, Path(name)
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, work, threads, name, accelerated), daemon=True)
        with _without_interrupts():
            self._process.start()
        theirs.close()  # so that the end of the worker closes the pipe

    def give(self, job: Job) -> None:
        """Send it a job."""
        self.job, self.last = job, job.task
        with contextlib.suppress(OSError):  # it died; `news` reports it
            self.connection.send(job)

    def news(self) -> Event:
        """Receive the next event of its job; `Lost` if it died."""
        job = self.job
        assert job is not None, "only a worker with a job sends events"
        try:
            kind, *values = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(_GRACE)
            return Lost(job, _exit_reason(self._process.exitcode))
        if kind == "advanced":
            return Advanced(job, *values)
        self.job = None
        return Finished(job, *values) if kind == "finished" else Failed(job, *values)

    def end(self) -> str:
        """Kill the process and return the end of its output."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()
        size = os.lseek(self._printed, 0, os.SEEK_END)
        os.lseek(self._printed, max(0, size - _TAIL), os.SEEK_SET)
        output = os.read(self._printed, _TAIL).decode(errors="replace").strip()
        os.close(self._printed)
        self._path.unlink(missing_ok=True)
        return output


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C: processes started meanwhile ignore it, and this process receives it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _exit_reason(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its worker ended by itself, with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (the system may be short of memory)" if name == "SIGKILL" else ""
    return f"its worker was ended by {name}{hint}"

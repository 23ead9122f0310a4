"""Jobs of a benchmark as processes that share a device, with results that outlast an interruption.

A job is a dict of JSON values, and its result is another. Results are lines of one file, each written as soon as it is
there; a job whose result is in the file is not run again. The processes compile while others train. A job may keep its
state in a file beside the results, and go on from there when it is run again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Job = dict[str, Any]


def load(path: Path) -> list[dict[str, Any]]:
    """Return the results in a file, the last of each job, in the order of their names; none if there is no file."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    found = {json.dumps(one["job"], sort_keys=True): one for one in rows}
    return [found[name] for name in sorted(found)]


def append(path: Path, job: Job, result: dict[str, Any]) -> None:
    """Add a result to a file."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps({"job": job, **result}) + "\n")


def result_of(results: Sequence[dict[str, Any]], job: Job) -> dict[str, Any] | None:
    """Return the result of a job, or None."""
    return next((one for one in results if one["job"] == job), None)


def checkpoint_path(path: Path, job: Job) -> Path:
    """Return the file beside a file of results that has the state of an interrupted job."""
    digest = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()
    return path.with_name(f"{path.stem}-{digest[:12]}.npz")


def run_all(
    script: str,
    jobs: Sequence[Job],
    path: Path,
    workers: int,
    until: float,
    said: Callable[[str], None],
    complete: Callable[[dict[str, Any]], bool] = lambda result: True,
) -> bool:
    """Run the jobs whose results are missing, `workers` at a time, and return whether all have one then.

    Args:
        script: Script that runs one job when it is called with `--job JSON --out FILE`.
        jobs: The jobs, the most important first.
        path: File of the results.
        workers: Number of processes at a time.
        until: Time, as of `time.monotonic`, at which processes that still run are ended.
        said: Called with a line about each job that has ended.
        complete: Whether a result is that of the whole job. Jobs with another are run again.
    """
    # NumPy's threads spin while they wait, and those of several processes hold each other up for minutes.
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ}

    def missing() -> list[Job]:
        known = [one for one in load(path) if complete(one)]
        return [job for job in jobs if result_of(known, job) is None]

    waiting = missing()
    running: list[tuple[subprocess.Popen[bytes], Job, float]] = []
    while waiting or running:
        now = time.monotonic()
        for process, job, began in list(running):
            if process.poll() is None and now < until:
                continue
            running.remove((process, job, began))
            if process.poll() is None:
                process.terminate()
                process.wait()
            said(f"{time.strftime('%H:%M:%S')} {now - began:4.0f} s, status {process.returncode}: {json.dumps(job)}")
        while waiting and len(running) < workers and now < until:
            job = waiting.pop(0)
            command = [sys.executable, script, "--job", json.dumps(job), "--out", str(path)]
            running.append((subprocess.Popen(command, env=environment), job, now))
        if now >= until:
            break
        time.sleep(0.2)
    return not missing()

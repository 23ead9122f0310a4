"""Jobs that take no time, work that fails, dies or waits for a sign, and an engine without processes."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rewardspec.errors import Error
from rewardspec.lab.experiments.engines import Event, Finished, Started, Work
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.experiments.result_files import encode
from rewardspec.lab.learning.training_log import Progress, TrainingLog


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a learner's settings look like."""

    unit = "episodes"
    total_steps = 100
    episodes: int = 5
    rate: float = 0.1


def job(task: str = "taxi", reward: str = "base", first: int = 0, count: int = 2, cost: float = 1.0, **changes) -> Job:
    return Job(task, reward, first, count, Settings(**changes), {"observe": None, "payment": None, "pairs": []}, cost)


def several(count: int) -> list[Job]:
    """Different jobs of known cells."""
    return [job("taxi" if number % 2 else "sokoban", first=2 * number) for number in range(count)]


def log_of(one: Job) -> TrainingLog:
    """A log that depends on the job alone."""
    episodes = one.config.episodes
    rows = one.count * episodes
    values = np.concatenate([np.random.default_rng(seed).random(episodes) for seed in one.seeds])
    columns = {
        "run": np.repeat(np.arange(one.count), episodes),
        "end_step": np.tile(np.arange(1, episodes + 1) * 7, one.count),
        "length": np.full(rows, 7),
        "reward": values,
        "base_reward": -values,
        "task_completion": values,
        "violated": values > 0.5,
        "seconds": np.full(rows, time.perf_counter()),
    }
    return TrainingLog.from_columns(one.count, columns)


def content_of(one: Job, **changes) -> bytes:
    header = {"seconds": 1.5, "command": "rewardspec reproduce", "versions": {"python": "3"}, "device": "a machine"}
    return encode(one, log_of(one), **(header | changes))


@dataclasses.dataclass(frozen=True)
class FakeWork:
    """Does jobs as told, and leaves a file for each time that one begins.

    Attributes:
        folder: Where the signs are.
        acts: What to do with the jobs of some keys: `wait` for the file `go`, `die`, `die once`, `raise`, `refuse`.
    """

    folder: str
    acts: dict[str, str] = dataclasses.field(default_factory=dict)

    def __call__(self, one: Job, advance: Progress) -> bytes:
        signs = Path(self.folder)
        begun = len(list(signs.glob(f"begun {one.key} *")))
        (signs / f"begun {one.key} {begun}").write_text(str(os.getpid()))
        act = self.acts.get(one.key, "")
        advance(0, one.config.episodes)
        if act == "wait":
            while not (signs / "go").exists():
                time.sleep(0.01)
        if act == "die" or (act == "die once" and not begun):
            print("these are my last words", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if act == "raise":
            raise ZeroDivisionError("nothing to divide by")
        if act == "refuse":
            raise Error("This job is not to be done. Do another.")
        advance(one.config.episodes, one.config.episodes)
        return content_of(one)


class InThisProcess:
    """An engine that does the jobs here, for tests of what is done with the results: no process has to import JAX.

    It takes the arguments of `Local`.
    """

    workers = 1

    def __init__(self, workers: int | None = None, *, accelerated: bool = False) -> None:
        pass

    def run(self, jobs: Sequence[Job], work: Work) -> Iterator[Event]:
        for one in jobs:
            yield Started(one)
            yield Finished(one, work(one, lambda done, total: None))


def wait_for(condition, seconds: float = 120.0):
    """Wait until something is so, and give what it is; the limit is for a test that would hang otherwise."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("this has not come about")


class Silent:
    """A display that keeps what it was told."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.events: list[object] = []
        self.closed = False

    def show(self, progress, event) -> None:
        self.events.append(event)

    def message(self, text: str) -> None:
        self.messages.append(text)

    def close(self) -> None:
        self.closed = True

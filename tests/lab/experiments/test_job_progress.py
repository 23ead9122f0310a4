"""How far a reproduction is."""

import pytest

from rewardspec.lab.experiments.display import JobProgress
from rewardspec.lab.experiments.engines import Advanced, Failed, Finished, Idle, Lost, Started
from tests.lab.experiments.fakes import job


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def follow(progress, clock, *timeline):
    """Let events happen, each at its second."""
    for second, event in timeline:
        clock.now = 100.0 + second
        progress.see(event)


def test_nothing_is_foretold_before_something_was_measured(clock):
    progress = JobProgress([job()], 1, clock=clock)
    assert progress.seconds_left() is None
    follow(progress, clock, (0, Started(job())), (1, Advanced(job(), 0, 100)))
    assert progress.seconds_left() is None


def test_a_jobs_rate_leaves_its_preparation_out(clock):
    progress = JobProgress([job()], 1, clock=clock)
    follow(progress, clock, (0, Started(job())), (5, Advanced(job(), 10, 100)), (7, Advanced(job(), 30, 100)))
    entry = progress.running[job().key]
    assert (entry.share, entry.rate, entry.seconds_left(107.0)) == (0.3, 10.0, 7.0)
    clock.now = 108.0
    assert progress.seconds_left() == pytest.approx(6.0)


def test_jobs_that_wait_are_measured_by_those_of_their_environment(clock):
    slow, slow_too, quick = job(cost=10.0), job(reward="best", cost=20.0), job("sokoban", cost=10.0)
    progress = JobProgress([slow, slow_too, quick], 1, clock=clock)
    follow(progress, clock, (0, Started(slow)), (30, Finished(slow, b"")))  # three times what was expected
    assert progress.seconds_left() == pytest.approx(3.0 * 20.0 + 3.0 * 10.0)
    follow(progress, clock, (30, Started(quick)), (35, Finished(quick, b"")))
    assert progress.seconds_left() == pytest.approx(3.0 * 20.0)
    assert progress.last_seconds == 5.0


def test_workers_share_what_is_left_but_no_job(clock):
    jobs = [job(first=2 * number, cost=10.0) for number in range(4)]
    progress = JobProgress(jobs, 2, clock=clock)
    follow(progress, clock, (0, Started(jobs[0])), (10, Finished(jobs[0], b"")))
    assert progress.seconds_left() == pytest.approx(15.0)
    for one in jobs[1:3]:
        follow(progress, clock, (10, Started(one)))
    follow(progress, clock, (10, Started(jobs[3])), (20, Finished(jobs[1], b"")), (20, Finished(jobs[2], b"")))
    clock.now = 112.0
    assert progress.seconds_left() == pytest.approx(8.0)


def test_a_result_may_come_before_the_news_of_its_beginning(clock):
    jobs = [job(cost=10.0), job("sokoban", cost=10.0), job("acrobot", cost=10.0)]
    progress = JobProgress(jobs, 1, clock=clock)
    follow(progress, clock, (1, Finished(jobs[0], b"")))
    assert (progress.finished, progress.last_seconds, progress.seconds_left()) == (1, None, None)
    follow(progress, clock, (1, Started(jobs[1])), (21, Finished(jobs[1], b"")))
    assert progress.seconds_left() == pytest.approx(20.0)


def test_jobs_are_counted_whatever_becomes_of_them(clock):
    lost, bad, good = job(), job("sokoban"), job("acrobot")
    progress = JobProgress([lost, bad, good], 2, skipped=4, clock=clock)
    events = (Started(lost), Started(bad), Lost(lost, "its worker died"), Failed(bad, "it cannot be"), Idle())
    follow(progress, clock, *((1, event) for event in events))
    assert (progress.total, progress.skipped, progress.finished, progress.failed, progress.running) == (7, 4, 0, 1, {})
    follow(progress, clock, (2, Started(lost)), (3, Finished(lost, b"")), (3, Started(good)), (5, Finished(good, b"")))
    assert (progress.finished, progress.failed, progress.elapsed) == (2, 1, 5.0)
    assert progress.seconds_left() == 0.0

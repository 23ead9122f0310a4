"""The engine of one machine."""

import os
import sys

import pytest

from rewardspec.errors import Error
from rewardspec.lab.experiments.engines import Advanced, Failed, Finished, Lost, Started
from rewardspec.lab.experiments.engines.local import Local, next_job
from tests.lab.experiments.fakes import FakeWork, job, several, wait_for


def kinds(events, one):
    return [type(event) for event in events if getattr(event, "job", None) == one]


def begun(folder) -> dict[str, list[int]]:
    """The processes that began with each job."""
    found: dict[str, list[int]] = {}
    for path in sorted(folder.glob("begun *")):
        found.setdefault(path.name.split()[1], []).append(int(path.read_text()))
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:  # a zombie is dead
        return file.read().rpartition(")")[2].split()[0] != "Z"


def test_every_job_is_done_by_a_few_workers_that_stay(tmp_path):
    jobs = several(6)
    events = list(Local(2).run(jobs, FakeWork(str(tmp_path))))
    for one in jobs:
        assert kinds(events, one) == [Started, Advanced, Advanced, Finished]
    pids = {pid for pids in begun(tmp_path).values() for pid in pids}
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_a_worker_that_dies_is_told_and_its_job_done_again_by_another(tmp_path):
    unlucky, other = several(2)
    events = list(Local(1).run([unlucky, other], FakeWork(str(tmp_path), {unlucky.key: "die once"})))
    assert kinds(events, unlucky) == [Started, Advanced, Lost, Started, Advanced, Advanced, Finished]
    assert kinds(events, other) == [Started, Advanced, Advanced, Finished]
    (lost,) = (event for event in events if isinstance(event, Lost))
    assert lost.reason == "its worker was ended by SIGKILL (the system may be short of memory)"
    assert len(set(begun(tmp_path)[unlucky.key])) == 2


def test_a_job_that_kills_two_workers_has_failed_and_the_others_go_on(tmp_path):
    deadly, *others = several(3)
    events = list(Local(1).run([deadly, *others], FakeWork(str(tmp_path), {deadly.key: "die"})))
    (failed,) = (event for event in events if isinstance(event, Failed))
    assert failed.job == deadly
    assert failed.reason.endswith("short of memory), 2 times")
    assert failed.details == "these are my last words"
    assert {event.job.key for event in events if isinstance(event, Finished)} == {one.key for one in others}


def test_an_exception_is_told_with_its_traceback_and_not_tried_again(tmp_path):
    bad, refused = several(2)
    work = FakeWork(str(tmp_path), {bad.key: "raise", refused.key: "refuse"})
    failed = {event.job.key: event for event in Local(1).run([bad, refused], work) if isinstance(event, Failed)}
    assert failed[bad.key].reason == "ZeroDivisionError: nothing to divide by"
    assert failed[bad.key].details.startswith("Traceback (most recent call last)")
    assert failed[refused.key].reason == "This job is not to be done. Do another."
    assert failed[refused.key].details == ""
    assert len({pid for pids in begun(tmp_path).values() for pid in pids}) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="reads the state of processes from /proc")
def test_closing_ends_the_workers(tmp_path):
    jobs = several(2)
    events = Local(2).run(jobs, FakeWork(str(tmp_path), {one.key: "wait" for one in jobs}))
    for _ in events:
        if len(begun(tmp_path)) == 2:
            break
    pids = [wait_for(path.read_text) for path in tmp_path.glob("begun *")]
    events.close()
    assert not any(alive(int(pid)) for pid in pids)


def test_nothing_to_do_is_done_at_once(tmp_path):
    assert list(Local(2).run([], FakeWork(str(tmp_path)))) == []


def test_at_least_one_worker_is_needed():
    with pytest.raises(Error, match=r"`workers` should be at least 1. Received 0"):
        Local(0)
    assert Local().workers >= 1


# Which job is next.


def taken(waiting, last=None, busy=()):
    found = next_job(waiting, last, busy)
    waiting.remove(found)
    return found


def test_long_jobs_come_first():
    jobs = [job("taxi", cost=200.0), job("sokoban", cost=400.0), job("taxi", "best", cost=300.0)]
    waiting = list(jobs)
    assert [taken(waiting), taken(waiting, "sokoban"), taken(waiting, "taxi")] == [jobs[1], jobs[2], jobs[0]]


def test_with_short_jobs_a_worker_stays_with_its_environment_and_leaves_those_of_others_alone():
    jobs = [job("taxi", cost=6.0), job("taxi", "best", cost=6.0), job("sokoban", cost=3.0), job("acrobot", cost=2.0)]
    waiting = list(jobs)
    assert taken(waiting, "sokoban", busy=["taxi"]) is jobs[2]
    assert taken(waiting, "sokoban", busy=["taxi"]) is jobs[3]
    assert taken(waiting, "acrobot", busy=["taxi"]) is jobs[0]  # rather than do nothing
    assert taken([*waiting, jobs[2]], "taxi") is jobs[1]


def test_equal_jobs_come_in_their_order():
    jobs = [job(first=2 * number) for number in range(4)]
    waiting = list(jobs)
    assert [taken(waiting) for _ in jobs] == jobs

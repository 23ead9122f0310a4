"""Which job is next."""

from rewardspec.experiments.runs.engines.agenda import Agenda
from tests.experiments.fakes import job


def test_long_jobs_come_first():
    jobs = [job("taxi", cost=200.0), job("sokoban", cost=400.0), job("taxi", "best", cost=300.0)]
    agenda = Agenda(jobs)
    assert [agenda.take(), agenda.take("sokoban"), agenda.take("taxi")] == [jobs[1], jobs[2], jobs[0]]


def test_with_short_jobs_a_worker_stays_with_its_environment_and_leaves_those_of_others_alone():
    jobs = [job("taxi", cost=6.0), job("taxi", "best", cost=6.0), job("sokoban", cost=3.0), job("acrobot", cost=2.0)]
    agenda = Agenda(jobs)
    assert agenda.take("sokoban", busy=["taxi"]) is jobs[2]
    assert agenda.take("sokoban", busy=["taxi"]) is jobs[3]
    assert agenda.take("acrobot", busy=["taxi"]) is jobs[0]  # rather than do nothing
    agenda.put(jobs[2])
    assert len(agenda) == 2
    assert agenda.take("taxi") is jobs[1]


def test_equal_jobs_come_in_their_order():
    jobs = [job(first=2 * number) for number in range(4)]
    agenda = Agenda(jobs)
    assert [agenda.take() for _ in jobs] == jobs

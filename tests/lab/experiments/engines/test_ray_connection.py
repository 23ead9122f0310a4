"""Whose Ray it is, and that one of ours is stopped; with a Ray that only counts."""

import gc

import pytest

from rewardspec.lab.experiments.engines import ray as engine


class Counting:
    """What the engine uses of the module `ray` before a job begins."""

    def __init__(self, initialised: bool) -> None:
        self.initialised = initialised
        self.stopped = 0

    def is_initialized(self) -> bool:
        return self.initialised

    def init(self, **options) -> None:
        self.initialised = True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def shutdown(self) -> None:
        self.stopped += 1


@pytest.fixture(params=[True, False], ids=["ours", "theirs"])
def ours(request):
    return request.param


@pytest.fixture
def ray(ours, monkeypatch):
    found = Counting(initialised=not ours)
    monkeypatch.setattr(engine, "_import_ray", lambda: found)
    monkeypatch.setattr(engine, "_progress_actor", lambda module: 1 / 0)
    return found


def test_a_ray_of_ours_is_stopped_where_no_job_was_ever_begun(ray, ours):
    one = engine.Ray()
    assert one.workers == 2
    events = one.run([], None)
    assert ray.stopped == 0
    events.close()  # what was never asked for an event does not come to its end
    del one, events
    gc.collect()
    assert ray.stopped == int(ours)


def test_it_is_stopped_once_where_the_jobs_fail(ray, ours):
    one = engine.Ray()
    with pytest.raises(ZeroDivisionError):
        list(one.run([], None))
    assert ray.stopped == int(ours)
    del one
    gc.collect()
    assert ray.stopped == int(ours)

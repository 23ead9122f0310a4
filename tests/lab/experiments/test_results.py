"""The directory of a reproduction."""

import errno
import functools
import os
import subprocess
import sys

import numpy as np
import pytest

from rewardspec import atomic_files
from rewardspec.errors import Error
from rewardspec.lab.experiments.own_study import own_study
from rewardspec.lab.experiments.results import Results, open_results
from tests.lab.experiments.fakes import content_of, job, log_of

PAPER = {"study": "paper"}


def cells_in(directory, **options):
    return open_results(directory, **options)[1]


@pytest.fixture
def messages():
    return []


@pytest.fixture
def results(tmp_path, messages):
    found = Results(tmp_path / "results", messages.append)
    with found.writing():
        yield found


def fill(results, *jobs):
    for one in jobs:
        results.store(one, content_of(one))


def test_a_job_is_done_once_its_result_is_stored(results, messages):
    assert not results.is_done(job())
    fill(results, job())
    assert results.is_done(job())
    assert not results.is_done(job(first=2))
    assert messages == []


def test_a_damaged_result_is_told_kept_aside_and_done_again(results, messages):
    for _ in range(2):
        fill(results, job())
        content = results.path(job()).read_bytes()
        results.path(job()).write_bytes(content[:-100])
        assert not results.is_done(job())
    names = sorted(path.name for path in results.jobs.iterdir())
    assert names == [f"{job().key}.npz.damaged", f"{job().key}.npz.damaged2"]
    assert (results.jobs / names[1]).read_bytes() == content[:-100]
    assert f"'{job().key}.npz' is damaged" in messages[0]
    assert f"kept as '{names[0]}', and taxi base, seeds 0-1 runs again" in messages[0]


def test_nothing_is_left_of_a_file_that_could_not_be_written(results, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    fill(results, job())
    before = results.path(job()).read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    for one in (job(), job(first=2)):
        with pytest.raises(OSError, match="No space"):
            results.store(one, b"new content")
    assert [path.name for path in results.jobs.iterdir()] == [f"{job().key}.npz"]
    assert results.path(job()).read_bytes() == before


def test_what_a_killed_writer_left_is_removed(tmp_path):
    folder = tmp_path / "results" / "jobs"
    folder.mkdir(parents=True)
    (folder / ".taxi-base-seeds0-1-7e3e0a9b.npz.0f0f0f0f.part").write_bytes(b"half")
    (folder / ".plan.json.0f0f0f0f.part").write_bytes(b"half")
    (folder / ".hidden").write_bytes(b"somebody's own")
    with Results(tmp_path / "results").writing():
        assert [path.name for path in folder.iterdir()] == [".hidden"]


def test_two_processes_cannot_write_at_once(results):
    code = (
        "import sys\nfrom rewardspec.lab.experiments.results import Results\n"
        "try:\n with Results(sys.argv[1]).writing(): pass\nexcept Exception as error: print(error)"
    )
    command = [sys.executable, "-c", code, str(results.directory)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"Another process (number {os.getpid()}) is writing into" in said
    assert "give another directory" in said


def test_the_lock_of_a_process_that_is_gone_does_not_count(tmp_path):
    (tmp_path / ".lock").write_text("1\n")
    with Results(tmp_path).writing():
        pass
    with Results(tmp_path).writing():
        pass


def test_a_directory_that_takes_no_files_is_refused_at_once(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(Error, match=r"Not a directory. Nothing was trained"), Results(tmp_path / "file").writing():
        pass

    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(atomic_files, "open", refuse, raising=False)
    refused = pytest.raises(Error, match=r"Cannot write into .*: Permission denied. Nothing was trained")
    with refused, Results(tmp_path / "new").writing():
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="needs a device that is always full")
def test_a_full_disk_is_noticed_before_anything_is_trained(tmp_path, monkeypatch):
    full = functools.partial(open, "/dev/full")
    monkeypatch.setattr(atomic_files, "open", lambda path, mode: full(mode), raising=False)
    with pytest.raises(Error, match=r"No space left on device. Nothing was trained"), Results(tmp_path).writing():
        pass


def test_blocks_of_seeds_become_one_cell(results):
    blocks = [job(first=2, count=3), job(first=0, count=2)]
    fill(results, *blocks)
    (cell,) = cells_in(results.directory)
    assert (cell.task, cell.reward, cell.log.runs, cell.seconds) == ("taxi", "base", 5, 3.0)
    assert (cell.observe, cell.payment) == (None, None)
    assert cell.commands == ("rewardspec reproduce",)
    expected = np.concatenate([log_of(blocks[1]).reward, log_of(blocks[0]).reward])
    np.testing.assert_array_equal(cell.log.reward, expected)


def test_cells_come_in_the_order_of_the_table(results):
    fill(results, job("taxi", "best"), job("sokoban"), job("taxi", "base"), job("acrobot"))
    found = [(cell.task, cell.reward) for cell in cells_in(results.directory)]
    assert found == [("acrobot", "base"), ("taxi", "base"), ("taxi", "best"), ("sokoban", "base")]


def test_of_several_configurations_the_planned_one_counts(results, messages):
    old, new = [job(count=9), job(first=9)], [job(episodes=3)]
    fill(results, *old, *new)
    results.plan(new, PAPER)
    (cell,) = results.cells()
    assert cell.config["episodes"] == 3
    results.plan([job("sokoban")], PAPER)  # another cell: the plan of the first stays
    (cell,) = results.cells()
    assert cell.config["episodes"] == 3
    assert messages == ["sokoban base: 0 of 1 jobs are done."]


def test_without_a_plan_the_configuration_with_the_most_seeds_counts_and_no_seed_twice(results, messages):
    fill(results, job(episodes=3), job(count=4), job(first=2, count=4), job(first=4, count=2))
    (cell,) = results.cells()
    assert (cell.config["episodes"], cell.log.runs) == (5, 6)
    (results.directory / "plan.json").write_text("{")
    (cell,) = results.cells()
    assert cell.log.runs == 6
    assert "'plan.json' cannot be read" in messages[0]


def test_damaged_and_foreign_files_are_told_and_left_out(results, messages):
    fill(results, job(), job(first=2))
    results.path(job()).write_bytes(b"junk")
    for name in ("weights.npz", "notes.txt", "chess-base-seeds0-1-0123abcd.npz"):
        (results.jobs / name).write_text("mine")
    (cell,) = cells_in(results.directory, report=messages.append)
    assert cell.log.runs == 2
    said = "\n".join(messages)
    assert "'chess-base-seeds0-1-0123abcd.npz' is not the result of a known job; it is ignored" in said
    assert "'weights.npz' is not the result of a known job" in said
    assert f"'{job().key}.npz' is damaged or no result at all: it is not a zip file. It is ignored." in said
    assert "notes" not in said
    assert len(list(results.jobs.iterdir())) == 5


def test_a_directory_without_results_says_how_to_make_some(tmp_path):
    with pytest.raises(Error, match=r"There is no directory .*rewardspec reproduce -o "):
        open_results(tmp_path / "absent")
    with pytest.raises(Error, match=r"There are no results in .*rewardspec reproduce -o "):
        open_results(tmp_path)


def test_a_directory_keeps_the_description_of_its_study(results):
    fill(results, job())
    assert list(results.study().tasks)[:2] == ["acrobot", "cart_pole"]  # of a directory that says nothing
    results.plan([job()], PAPER)
    results.plan([job("sokoban")], PAPER)
    with pytest.raises(Error, match="results of another study"):
        results.plan([job()], {"study": "own", "env": "CartPole-v1", "specs": {}})


def test_a_task_of_any_name_has_its_results(tmp_path):
    results = Results(tmp_path)
    study = own_study("CartPole-v1", {})
    one = job("CartPole-v1", "base")
    with results.writing():
        results.plan([one], study.description)
        results.store(one, content_of(one))
    found, cells = open_results(tmp_path)
    assert found.title == "CartPole-v1: rewards compared"
    assert [(cell.task, cell.reward) for cell in cells] == [("CartPole-v1", "base")]

"""Running jobs: what is done stays done, whatever happens."""

import errno
import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rewardspec.atomic_files import write_whole
from rewardspec.errors import Error
from rewardspec.lab.experiments.engines import Failed, Finished, Started
from rewardspec.lab.experiments.engines.local import Local
from rewardspec.lab.experiments.results import open_results
from rewardspec.lab.experiments.running import Interrupted, run_jobs
from tests.lab.experiments.fakes import FakeWork, Silent, content_of, several, wait_for

ROOT = Path(__file__).parents[3]
reproduce = functools.partial(run_jobs, study={"study": "paper"})


class Here:
    """An engine that does the jobs in this process, one after the other."""

    workers = 1

    def __init__(self) -> None:
        self.closed = False

    def run(self, jobs, work):
        try:
            for one in jobs:
                yield Started(one)
                yield Finished(one, work(one, lambda done, total: None))
        finally:
            self.closed = True


def command(directory, signs, count: int, waiting: int = 0) -> list[str]:
    return [
        sys.executable,
        "-m",
        "tests.lab.experiments.run_fakes",
        str(directory),
        str(signs),
        str(count),
        str(waiting),
    ]


def start(*arguments, **options) -> subprocess.Popen:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command(*arguments), cwd=ROOT, **pipes, **options)


def finish(*arguments) -> str:
    done = subprocess.run(command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def stored(directory) -> dict[str, tuple[int, int]]:
    """Each result's file, and when it was written."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (directory / "jobs").glob("*.npz")}


def assert_same_cells(one, other):
    ours, theirs = list(open_results(one)[1]), list(open_results(other)[1])
    assert [(cell.task, cell.reward, cell.log.runs) for cell in ours] == [
        (cell.task, cell.reward, cell.log.runs) for cell in theirs
    ]
    for cell, twin in zip(ours, theirs, strict=True):
        for name, column in cell.log.columns().items():
            if name != "seconds":
                np.testing.assert_array_equal(column, twin.log.columns()[name])


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"  # dead, and nobody has asked how it ended


@pytest.mark.skipif(sys.platform != "linux", reason="reads the state of processes from /proc")
def test_killed_in_the_middle_it_goes_on_where_it_was(tmp_path):
    results, signs, again = tmp_path / "results", tmp_path / "signs", tmp_path / "again"
    signs.mkdir()
    again.mkdir()
    with start(results, signs, 5, 2) as process:
        # Three jobs are done, and the other two have begun.
        wait_for(lambda: len(stored(results)) == 3 and len(list(signs.iterdir())) == 5)
        process.kill()
        process.communicate()
    before = stored(results)
    workers = {int(path.read_text()) for path in signs.iterdir()}
    wait_for(lambda: all(map(is_gone, workers)))  # they die with the process that started them
    # As if it had been killed while it wrote.
    (results / "jobs" / ".taxi-base-seeds6-7-7e3e0a9b.npz.01234567.part").write_bytes(b"half a file")

    assert finish(results, again, 5) == "2 done, 3 skipped, 0 failed"
    after = stored(results)
    assert len(after) == 5
    assert {name: after[name] for name in before} == before  # not written again
    assert len(list(again.iterdir())) == 2  # nor done again
    assert not list((results / "jobs").glob(".*"))

    (tmp_path / "other").mkdir()
    assert finish(tmp_path / "uninterrupted", tmp_path / "other", 5) == "5 done, 0 skipped, 0 failed"
    assert_same_cells(results, tmp_path / "uninterrupted")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the state of processes from /proc")
def test_interrupted_it_says_what_is_done_and_how_to_go_on(tmp_path):
    results, signs = tmp_path / "results", tmp_path / "signs"
    signs.mkdir()
    with start(results, signs, 3, 2, start_new_session=True) as process:
        wait_for(lambda: len(stored(results)) == 1 and len(list(signs.iterdir())) == 3)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"Interrupted: 1 of 3 jobs are done and kept in '{results}'. Run the same command again to resume." in out
    assert "Traceback" not in err
    assert all(is_gone(int(path.read_text())) for path in signs.iterdir())
    (signs / "go").touch()
    assert finish(results, signs, 3) == "2 done, 1 skipped, 0 failed"


def test_what_is_done_is_skipped(tmp_path):
    jobs = several(3)
    (tmp_path / "signs").mkdir()
    work = FakeWork(str(tmp_path / "signs"))
    first = reproduce(tmp_path / "results", jobs[:2], Here(), work, display=Silent())
    display = Silent()
    second = reproduce(tmp_path / "results", jobs, Here(), work, display=display)
    assert (first.done, first.skipped, second.done, second.skipped) == (2, 0, 1, 2)
    assert display.messages == [
        "2 of 3 jobs are done already.",
        "Training sokoban with base: 1 job, 2 runs of 100 steps.",
    ]
    display = Silent()
    reproduce(tmp_path / "results", jobs, Here(), work, display=display)
    assert display.messages == ["3 of 3 jobs are done already."]
    assert display.closed


def test_what_is_trained_is_told_before_the_first_job_is_done(tmp_path, capsys):
    def stop(job, advance):
        assert capsys.readouterr().err == "Training 2 tasks with base: 3 jobs, 6 runs of 100 steps.\n"
        raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        reproduce(tmp_path / "results", several(3), Here(), stop)


def test_a_damaged_result_is_done_again_and_nothing_else(tmp_path):
    jobs = several(3)
    work = FakeWork(str(tmp_path))
    reproduce(tmp_path / "results", jobs, Here(), work, display=Silent())
    before = stored(tmp_path / "results")
    path = tmp_path / "results" / "jobs" / f"{jobs[1].key}.npz"
    path.write_bytes(path.read_bytes()[:200])
    display = Silent()
    assert reproduce(tmp_path / "results", jobs, Here(), work, display=display).done == 1
    after = stored(tmp_path / "results")
    assert {name for name in after if after[name] != before[name]} == {path.name}
    assert path.with_name(f"{path.name}.damaged").exists()
    assert display.messages[0].startswith(f"'{path.name}' is damaged")


def test_a_full_disk_names_the_job_and_loses_nothing_else(tmp_path, monkeypatch):
    jobs = several(3)

    def fill_up(path, content):
        if path.stem == jobs[1].key:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_whole(path, content)

    monkeypatch.setattr("rewardspec.lab.experiments.results.write_whole", fill_up)
    engine = Here()
    with pytest.raises(Error) as caught:
        reproduce(tmp_path, jobs, engine, FakeWork(str(tmp_path)), display=Silent())
    said = str(caught.value)
    assert "The result of taxi base, seeds 2-3 cannot be written" in said
    assert "No space left on device. Results stored so far (1) are safe" in said
    assert "run the same command again" in said
    assert engine.closed
    monkeypatch.undo()
    assert reproduce(tmp_path, jobs, Here(), FakeWork(str(tmp_path)), display=Silent()).done == 2


def test_an_interruption_counts_what_is_stored(tmp_path):
    class Impatient(Here):
        def run(self, jobs, work):
            yield Finished(jobs[0], content_of(jobs[0]))
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="Interrupted: 1 of 2 jobs are done"):
        reproduce(tmp_path, several(2), Impatient(), FakeWork(str(tmp_path)), display=Silent())


def test_failed_jobs_are_told_and_the_others_kept(tmp_path):
    jobs = several(3)
    summary = reproduce(
        tmp_path / "results", jobs, Local(1), FakeWork(str(tmp_path), {jobs[0].key: "raise"}), display=Silent()
    )
    assert summary.done == 2
    assert [(type(event), event.job.key) for event in summary.failed] == [(Failed, jobs[0].key)]
    # The same call tries them again.
    assert reproduce(tmp_path / "results", jobs, Local(1), FakeWork(str(tmp_path)), display=Silent()).done == 1


def test_what_breaks_many_jobs_is_told_in_detail_once(tmp_path):
    jobs, display = several(3), Silent()
    work = FakeWork(str(tmp_path), {one.key: "raise" for one in jobs})
    summary = reproduce(tmp_path / "results", jobs, Local(1), work, display=display)
    shown = [event for event in display.events if isinstance(event, Failed)]
    assert [bool(event.details) for event in shown] == [True, False, False]
    assert all(event.details for event in summary.failed)


def test_files_of_others_stay_where_they_are(tmp_path):
    (tmp_path / "jobs").mkdir()
    others = [tmp_path / "thesis.tex", tmp_path / "jobs" / "notes.txt", tmp_path / "jobs" / "weights.npz"]
    for path in others:
        path.write_text("mine")
    reproduce(tmp_path, several(1), Here(), FakeWork(str(tmp_path)), display=Silent())
    assert [path.read_text() for path in others] == ["mine"] * 3


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="for root, every directory is writable")
def test_a_read_only_directory_is_refused_before_anything_is_done(tmp_path):
    signs = tmp_path / "signs"
    signs.mkdir()
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(Error, match=r"Permission denied. Nothing was trained"):
        reproduce(locked / "results", several(1), Here(), FakeWork(str(signs)), display=Silent())
    assert list(signs.iterdir()) == []

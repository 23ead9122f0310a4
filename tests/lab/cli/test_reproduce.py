"""`rewardspec reproduce` and `rewardspec report`."""

import functools
import sys

import numpy as np
import pytest

from rewardspec.cli import main
from rewardspec.lab.experiments import running
from rewardspec.lab.experiments.engines.local import Local
from rewardspec.lab.experiments.outputs import Outputs
from rewardspec.lab.experiments.results import open_results
from rewardspec.lab.experiments.running import Trainer
from rewardspec.lab.learning import training as extras
from rewardspec.lab.paper.evaluation import paper_study
from tests.lab.experiments.fakes import FakeWork

SMALL = ("--quick", "--envs", "frozen-lake", "--rewards", "base", "boolean", "--seeds", "4", "--workers", "1")
OUTPUTS = {"table.md", "table.csv", "table.tex", "curves.png", "curves.svg", "summaries.json", "report.html"}


def refused(capsys, *arguments: str) -> str:
    assert main(["reproduce", *arguments]) == 2
    return capsys.readouterr().err


@pytest.fixture
def faked(tmp_path, monkeypatch):
    """Jobs that take no time, of which some can be told to do else, and a report that takes none either."""
    signs = tmp_path / "signs"
    signs.mkdir()
    acts: dict[str, str] = {}

    def write_outputs(directory, study, cells, width):
        path = directory / "table.txt"
        table = "".join(f"{cell.task} {cell.reward}\n" for cell in cells)
        path.write_text(table)
        return Outputs((path,), table, ("Look here.",))

    monkeypatch.setattr(running, "Trainer", lambda command, study, checkpoints: FakeWork(str(signs), acts))
    monkeypatch.setattr("rewardspec.lab.experiments.outputs.write_outputs", write_outputs)
    return acts


def test_from_nothing_to_the_report_and_again_without_training(tmp_path, capsys):
    assert main(["reproduce", *SMALL, "-o", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert "Frozen Lake" in captured.out
    assert f"Wrote {tmp_path / 'report.html'}" in captured.out
    assert "[2/2] frozen_lake" in captured.err
    assert {path.name for path in tmp_path.iterdir()} >= OUTPUTS
    first = list(open_results(tmp_path)[1])
    assert [(cell.task, cell.reward, cell.log.runs) for cell in first] == [
        ("frozen_lake", "base", 4),
        ("frozen_lake", "boolean", 4),
    ]
    assert first[0].commands == (f"rewardspec reproduce {' '.join(SMALL)} -o {tmp_path.name}",)
    assert first[0].versions["jax"]

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "jobs").iterdir()}
    assert main(["reproduce", *SMALL, "-o", str(tmp_path)]) == 0
    assert "2 of 2 jobs are done already." in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "jobs").iterdir()} == before

    # The same seeds give the same numbers, and however they are divided into jobs.
    again = tmp_path / "again"
    study = paper_study()
    jobs = study.jobs(["frozen_lake"], ["base", "boolean"], quick=True, seeds=4, block=3)
    assert running.run_jobs(again, jobs, Local(1), Trainer("", study.description), study=study.description).done == 4
    for cell, twin in zip(first, open_results(again)[1], strict=True):
        for name, column in cell.log.columns().items():
            if name != "seconds":
                np.testing.assert_array_equal(column, twin.log.columns()[name])


def test_the_report_is_written_again_from_results(tmp_path, faked, capsys):
    assert main(["reproduce", *SMALL, "-o", str(tmp_path)]) == 0
    (tmp_path / "table.txt").unlink()
    capsys.readouterr()
    assert main(["report", str(tmp_path)]) == 0
    table = "frozen_lake base\nfrozen_lake boolean\n"
    assert capsys.readouterr().out == f"{table}\nWrote {tmp_path / 'table.txt'}\n\nWhat to see:\n  Look here.\n"


def test_a_report_on_nothing_says_what_to_do(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for name, said in (
        ("absent", "rewardspec reproduce -o"),
        (".", "There are no results in"),
        ("file", "file' is a file. Give the directory where `rewardspec reproduce` put its results."),
    ):
        assert main(["report", str(tmp_path / name)]) == 2
        message = capsys.readouterr().err
        assert said in message
        assert "Writing" not in message


def test_a_failed_job_is_told_and_the_others_are_reported(tmp_path, faked, capsys):
    jobs = paper_study().jobs(["frozen_lake"], ["base", "boolean"], quick=True, seeds=4)
    faked[jobs[0].key] = "raise"
    assert main(["reproduce", *SMALL, "-o", str(tmp_path / "results")]) == 1
    captured = capsys.readouterr()
    assert "frozen_lake base, seeds 0-3 failed: ZeroDivisionError: nothing to divide by" in captured.err
    assert "error: 1 of 2 jobs failed and are missing above: frozen_lake base, seeds 0-3." in captured.err
    assert captured.out.startswith("frozen_lake boolean\n")
    faked.clear()
    assert main(["reproduce", *SMALL, "-o", str(tmp_path / "results")]) == 0


def test_when_every_job_fails_there_is_nothing_to_report(tmp_path, faked, capsys):
    for job in paper_study().jobs(["frozen_lake"], ["base", "boolean"], quick=True, seeds=4):
        faked[job.key] = "refuse"
    assert main(["reproduce", *SMALL, "-o", str(tmp_path / "results")]) == 1
    captured = capsys.readouterr()
    assert "failed: This job is not to be done. Do another." in captured.err
    assert "error: 2 of 2 jobs failed" in captured.err
    assert "Wrote" not in captured.out


def test_interrupted_it_says_how_to_go_on(tmp_path, faked, capsys, monkeypatch):
    def interrupt(*arguments, **options):
        raise running.Interrupted("Interrupted: 3 of 48 jobs are done. Run the same command again to resume.")

    monkeypatch.setattr(running, "run_jobs", interrupt)
    assert main(["reproduce", *SMALL, "-o", str(tmp_path)]) == 130
    assert capsys.readouterr().err.endswith("Run the same command again to resume.\n")


def test_results_go_where_git_does_not_look(tmp_path, monkeypatch, capsys):
    seen = []

    def note(directory, *arguments, **options):
        seen.append(directory)
        raise running.Interrupted("enough")

    monkeypatch.setattr(running, "run_jobs", note)
    main(["reproduce"])
    main(["reproduce", "--quick"])
    assert seen == ["results", "results/quick"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--envs", "chess"], "There is no environment 'chess'"),
        (["--rewards", "bool"], "There is no reward 'bool'"),
        (["--seeds", "0"], "`--seeds` should be at least 1"),
        (["--seeds-per-job", "0"], "`--seeds-per-job` should be at least 1"),
        (["--workers", "0"], "`--workers` should be at least 1"),
        (["--address", "10.0.0.1:6379"], "Add: --engine ray"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(arguments, message, tmp_path, capsys):
    assert message in refused(capsys, *arguments, "-o", str(tmp_path / "results"))
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("name", ["file", "file/results"])
def test_a_file_in_the_directorys_place_is_refused_before_training(name, tmp_path, faked, capsys):
    (tmp_path / "file").write_text("")
    message = refused(capsys, *SMALL, "-o", str(tmp_path / name))
    assert message == (
        f"error: Cannot write into '{tmp_path / name}': '{tmp_path / 'file'}' is a file. Nothing was trained. "
        "Give a directory with -o.\n"
    )


def test_interrupted_while_writing_it_says_that_results_are_kept(tmp_path, faked, capsys, monkeypatch):
    def interrupt(directory, study, cells, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("rewardspec.lab.experiments.outputs.write_outputs", interrupt)
    assert main(["reproduce", *SMALL, "-o", str(tmp_path)]) == 130
    assert capsys.readouterr().err.endswith(
        f"Interrupted. The results in '{tmp_path}' are kept; write the report with: rewardspec report {tmp_path}\n"
    )


def test_missing_libraries_are_named_before_training(tmp_path, capsys, monkeypatch):
    def without(missing, module):
        return module != missing

    target = ("-o", str(tmp_path / "results"))
    monkeypatch.setattr(extras, "_is_there", functools.partial(without, "optax"))
    remedy = "which is not installed. Run in a checkout of the repository: pip install '.[reproduce]'"
    assert f"needs optax, {remedy}" in refused(capsys, *target)
    monkeypatch.setattr(extras, "_is_there", functools.partial(without, "Box2D"))
    assert f"needs Box2D, {remedy}" in refused(capsys, *target)
    assert "pip install '.[reproduce,ray]'" in refused(capsys, "--engine", "ray", *target)
    monkeypatch.setitem(sys.modules, "ray", None)
    # What the nodes of a cluster have, this machine cannot know.
    assert "pip install '.[ray]'" in refused(capsys, "--engine", "ray", "--address", "auto", *target)
    assert not (tmp_path / "results").exists()

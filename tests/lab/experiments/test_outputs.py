"""Writing everything down."""

import dataclasses
import errno
import gc
import json
import sys
import weakref

import pytest

from rewardspec.errors import Error
from rewardspec.lab.experiments import outputs
from rewardspec.lab.experiments import report as report_module
from rewardspec.lab.experiments.outputs import write_outputs as write_outputs_of
from rewardspec.lab.experiments.own_study import own_study
from rewardspec.lab.learning.training_log import TrainingLog
from tests.lab.experiments.synthetic import STUDY, cell_of, learning_cell, log_of

NAMES = {"report.html", "table.md", "table.csv", "table.tex", "table.txt", "summaries.json", "curves.png", "curves.svg"}


@pytest.fixture(autouse=True)
def _no_audits(monkeypatch):
    """Audits have tests of their own, and take their time."""
    monkeypatch.setattr(report_module, "_verdicts", lambda study, task: iter(()))


def write_outputs(directory, cells):
    return write_outputs_of(directory, STUDY, cells).files


def two_cells():
    return [learning_cell("taxi", "base"), learning_cell("pendulum", "best")]


def test_everything_is_written(tmp_path):
    paths = write_outputs(tmp_path / "new" / "results", two_cells())
    assert paths[0].name == "report.html"
    assert {path.name for path in paths} == NAMES
    assert {path.name for path in (tmp_path / "new" / "results").iterdir()} == NAMES
    assert all(path.stat().st_size > 500 for path in paths)
    assert paths[-2].read_bytes().startswith(b"\x89PNG")


def test_the_same_cells_are_the_same_files(tmp_path):
    one = write_outputs(tmp_path / "one", iter(two_cells()))
    two = write_outputs(tmp_path / "two", reversed(two_cells()))
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name


def test_summaries_are_json_for_other_programs(tmp_path):
    write_outputs(tmp_path, two_cells())
    data = json.loads((tmp_path / "summaries.json").read_text(encoding="utf-8"))
    assert data["format"] == 1
    assert not any(cell["full_budget"] for cell in data["cells"])
    assert [(cell["task"], cell["reward"]) for cell in data["cells"]] == [("pendulum", "best"), ("taxi", "base")]
    assert data["cells"][0]["star"] is False
    assert data["comparisons"]["best_and_others"] == []


def test_comparisons_are_in_the_summaries(tmp_path):
    rewards = ("base", "boolean", "quantitative", "best")
    write_outputs(tmp_path, [learning_cell("taxi", reward) for reward in rewards])
    data = json.loads((tmp_path / "summaries.json").read_text(encoding="utf-8"))
    assert data["comparisons"]["quantitative_and_boolean"][0]["standing"] in ("ahead", "level", "behind")
    assert set(data["over_environments"]) == set(rewards)


def test_gaps_are_gaps(tmp_path):
    write_outputs(tmp_path, two_cells())
    for name in ("table.md", "table.txt", "table.tex"):
        assert "46 of 48 cells" in (tmp_path / name).read_text(encoding="utf-8")


def test_a_cell_that_finished_no_episode_is_a_gap(tmp_path):
    write_outputs(tmp_path, [*two_cells(), cell_of(log_of([[], []]), "sokoban")])
    assert "46 of 48 cells" in (tmp_path / "table.md").read_text(encoding="utf-8")


def test_single_runs_and_single_episodes_will_do(tmp_path):
    cells = [cell_of(log_of([[0.5]]), "sokoban"), cell_of(log_of([[0.5, 0.25]]), "acrobot", "boolean")]
    write_outputs(tmp_path, cells)
    assert "nan" not in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "nan" not in (tmp_path / "table.csv").read_text(encoding="utf-8")


def test_without_matplotlib_there_is_a_table_and_a_hint(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    paths = write_outputs(tmp_path, two_cells())
    assert {path.name for path in paths} == NAMES - {"curves.png", "curves.svg"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "pip install &#39;.[plot]&#39;" in page
    assert "rewardspec report DIR" in page
    assert capsys.readouterr().err == (
        "No curves: Drawing learning curves needs matplotlib, which is not installed. Run in a checkout of the "
        "repository: pip install '.[plot]', then write this report again with: rewardspec report DIR\n"
    )


def test_no_results_are_an_error_that_says_so(tmp_path):
    with pytest.raises(Error, match="nothing to report"):
        write_outputs(tmp_path, [])
    assert list(tmp_path.iterdir()) == []


def test_two_results_of_one_cell_are_an_error(tmp_path):
    with pytest.raises(Error, match="two results for taxi"):
        write_outputs(tmp_path, [learning_cell("taxi", "base")] * 2)


def test_a_full_disk_is_told_and_old_files_stay(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "report.html").write_text("of yesterday", encoding="utf-8")
    monkeypatch.setattr(outputs, "contents_of", lambda results, curves, further: {"report.html": b"of today"})
    monkeypatch.setattr(outputs, "write_whole", full)
    with pytest.raises(Error, match=r"report\.html'?: No space left on device.*results themselves are safe"):
        write_outputs(tmp_path, two_cells()[:1])
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["of yesterday"]


def test_a_file_in_the_directorys_place_is_told(tmp_path):
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(Error, match="Cannot make the directory"):
        write_outputs(tmp_path / "taken", two_cells()[:1])


def test_logs_are_not_held_in_memory_together(tmp_path, monkeypatch):
    alive = []

    def cells():
        for reward in ("base", "boolean", "quantitative"):
            cell = learning_cell("taxi", reward)
            alive.append(weakref.ref(cell.log))
            yield cell
            del cell
            gc.collect()
            # The one just given may still be held by the loop over it; those before it may not.
            assert all(log() is None for log in alive[:-1])

    monkeypatch.setattr(outputs, "contents_of", lambda results, curves, further: {})
    write_outputs(tmp_path, cells())
    assert len(alive) == 3


def test_without_jinja_there_is_no_report_and_a_hint(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    paths = write_outputs(tmp_path, two_cells())
    assert {path.name for path in paths} == NAMES - {"report.html"}
    assert "No report: Writing a report needs jinja2" in capsys.readouterr().err


def test_a_study_of_ones_own_has_all_outputs_and_no_percentages(tmp_path):
    study = own_study(
        "MountainCar-v0", {"far": 'observation = ["x", "v"]\natoms.far = "x > 0.4"\npairs = [["F far", 1]]'}
    )
    columns = log_of([[-200.0] * 10 + [-150.0] * 30] * 3).columns()
    columns["return"] = columns.pop("task_completion")
    cells = [cell_of(TrainingLog.from_columns(3, columns), "mountain_car", reward) for reward in ("base", "boolean")]
    renamed = {"base": "base", "boolean": "far"}
    cells = [dataclasses.replace(cell, task="MountainCar-v0", reward=renamed[cell.reward]) for cell in cells]
    written = write_outputs_of(tmp_path, study, cells)
    assert {path.name for path in written.files} == NAMES
    table = (tmp_path / "table.txt").read_text(encoding="utf-8")
    assert "paper" not in table
    assert "%)" not in table.partition("Converged")[0]
    assert "-162.5" in table
    assert table.index("-150") < table.index("-162.5")  # how training ends comes first
    assert "•-" not in table  # neither is the best
    assert "MountainCar-v0: rewards compared" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert written.highlights == (
        "far and Base cannot be told apart by so many runs at the end of training: +0 [+0, +0].",
    )


def test_further_measures_have_curves_of_their_own(tmp_path):
    cell = learning_cell("frozen_lake", "base")
    columns = cell.log.columns() | {"own_criterion": cell.log.task_completion}
    write_outputs(tmp_path, [dataclasses.replace(cell, log=TrainingLog.from_columns(cell.log.runs, columns))])
    assert {"curves_own_criterion.png", "curves_own_criterion.svg"} <= {path.name for path in tmp_path.iterdir()}
    assert "own criterion" in (tmp_path / "curves_own_criterion.svg").read_text(encoding="utf-8")
    assert 'aria-label="Learning curves by own_criterion."' in (tmp_path / "report.html").read_text(encoding="utf-8")

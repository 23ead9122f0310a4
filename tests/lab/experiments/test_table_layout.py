"""The table in all its formats."""

import csv
import dataclasses
import io
import itertools
import re

import numpy as np
import pytest

from rewardspec.lab.experiments.summaries import Summaries
from rewardspec.lab.experiments.table_formats import to_csv, to_latex, to_markdown, to_text
from rewardspec.lab.experiments.table_layout import (
    completion_table,
    convergence_table,
    ends_table,
    percent_text,
    seconds_text,
    tables_of,
)
from tests.lab.experiments.synthetic import (
    REWARDS,
    STUDY,
    cell_of,
    learning_cell,
    log_of,
    summaries_of,
    summary_of,
)


def flat_cell(task, reward, completion, runs=4):
    """Runs that converge as early as can be, half of whose episodes complete a little more than the other half."""
    values = completion + 0.01 * np.tile([-1.0, 1.0], 100)
    log = log_of([[3.0] * 200] * runs, completion=[values] * runs)
    return summary_of(cell_of(log, task, reward, seconds=8.0))


@pytest.fixture(scope="module")
def few():
    return summaries_of([flat_cell("frozen_lake", "base", 0.5), flat_cell("frozen_lake", "quantitative", 0.75)])


@pytest.fixture(scope="module")
def full():
    return summaries_of(summary_of(learning_cell(task, reward)) for task in STUDY.tasks for reward in REWARDS)


def row_of(text, name):
    return next(line for line in text.splitlines() if name in line)


# What is in it.


def test_lines_are_the_papers_rows_ours_first(full):
    for table in (completion_table(full), convergence_table(full)):
        found = [(line.task.name, line.source) for line in table.lines]
        assert found == [(t, s) for t in STUDY.tasks for s in ("ours", "paper")]
    assert list(completion_table(full).families()) == ["Classic", "Toy", "Box2D", "Safety gridworlds"]


def test_task_completion_leads_and_its_best_alone_is_bold(full):
    tables = tables_of(full)
    assert list(tables) == ["table", "differences", "convergence", "ends"]
    assert tables["table"].groups == ("Task completion (%)",)
    for line in tables["table"].lines:
        assert sum(entry.bold for entry in line.groups[0]) == 1
    for line in tables["convergence"].lines:
        assert not any(entry.bold for group in line.groups for entry in group)


def test_convergence_that_nobody_reports_and_no_run_had_is_left_out(full):
    study = dataclasses.replace(STUDY, references={})
    never = [dataclasses.replace(cell, converged=0.0, convergence_episode=None) for cell in full.all()]
    assert list(tables_of(Summaries(study, never))) == ["table", "ends"]


def test_a_percentage_with_its_interval_lies_between_0_and_100(full):
    few_runs = summaries_of([summary_of(cell_of(log_of([[0.0] * 40, [1.0] * 40, [0.3] * 40]), "acrobot"))])
    assert few_runs.get("acrobot", "base").final.high > 1.0
    for results in (few_runs, full):
        for line in ends_table(results).lines:
            numbers = [float(n) for g in line.groups for e in g for n in re.findall(r"-?[\d.]+", e.text)]
            assert all(0.0 <= number <= 100.0 for number in numbers)
            assert "±" not in "".join(e.text for g in line.groups for e in g)
    (line,) = (line for line in ends_table(few_runs).lines)
    assert line.groups[0][0].text == "43.3 [0.0, 100.0]"


def test_gaps_are_told(few):
    notes = completion_table(few).notes
    assert any("46 of 48 cells" in note and "Frozen Lake (boolean, best)" in note for note in notes)


def test_environments_without_results_have_no_line_and_are_named_below(few):
    for table, sources in (
        (completion_table(few), ["ours", "paper"]),
        (convergence_table(few), ["ours", "paper"]),
        (ends_table(few), ["ours"]),
    ):
        assert [(line.task.name, line.source) for line in table.lines] == [
            ("frozen_lake", source) for source in sources
        ]
        missing = table.notes[-1]
        assert all(task.title in missing for task in STUDY.tasks.values())
        assert "no line where an environment has none" in missing


def test_where_every_environment_has_results_every_one_has_its_lines(full):
    cells = [cell for cell in full.all() if cell.reward != "best"]
    table = completion_table(summaries_of(cells))
    assert [line.task.name for line in table.lines if line.source == "ours"] == list(STUDY.tasks)
    assert table.notes[-1].startswith("No results yet (–) for 12 of 48 cells: ")


def test_small_budgets_are_told_cell_by_cell(few):
    base, quantitative = few.all()
    told = {}
    for base_full, quantitative_full in itertools.product((True, False), repeat=2):
        cells = (
            dataclasses.replace(base, full_budget=base_full),
            dataclasses.replace(quantitative, full_budget=quantitative_full),
        )
        tables = tables_of(summaries_of(cells)).values()
        first, *others = ([note for note in table.notes if "budgets" in note] for table in tables)
        assert others == [first] * len(others)
        told[base_full, quantitative_full] = first
    assert told[True, True] == []
    assert told[True, False] == ["On smaller budgets than the paper's: Frozen Lake (quantitative)."]
    assert told[False, True] == ["On smaller budgets than the paper's: Frozen Lake (base)."]
    assert len(told[False, False]) == 1
    assert told[False, False][0].startswith("Trained on small budgets")


def test_a_full_table_has_no_gaps(full):
    for name, table in tables_of(full).items():
        entries = [e for line in table.lines if line.source == "ours" for group in line.groups for e in group]
        assert all(entry.text != "–" and (entry.text or name == "differences") for entry in entries)
        assert not any("No results" in note for note in table.notes)


def test_numbers_have_as_many_digits_as_they_are_worth():
    assert [seconds_text(s) for s in (181.172, 0.7, 0.1, 0.094, 0.003, 0.00012, 0.0)] == [
        *("181.17", "0.70", "0.10", "0.094", "0.003", "0.00012", "0")
    ]
    assert percent_text(summary_of(cell_of(log_of([[1.0] * 9]))).completion_over_runs) == "100.00"


# Markdown.


def test_markdown_has_ours_and_the_papers_below_each_other(few):
    completion, convergence = (to_markdown(table) for table in (completion_table(few), convergence_table(few)))
    for text, ours, paper in (
        (
            completion,
            "| Frozen Lake | ours | 50.00 ± 0.07 | – | **75.00 ± 0.07** | – |",
            "|  | paper | 58.86 ± 0.10 | **62.16 ± 0.10** | 58.96 ± 0.10 |  |",
        ),
        (
            convergence,
            r"| Frozen Lake | ours | 192\* | – | 192 | – | 1.92\* | – | 1.92 | – |",
            r"|  | paper | 216\* | 45 | 29\* |  | 0.04\* | 0.03 | 0.01\* |  |",
        ),
    ):
        lines = text.splitlines()
        assert row_of(text, "| Frozen Lake |") == ours
        assert lines[lines.index(ours) + 1] == paper


def test_one_group_of_columns_needs_no_name_in_markdown(few):
    assert row_of(to_markdown(completion_table(few)), "Base") == "|  |  | Base | Boolean | Quant. | Best |"
    assert "| Mean seconds: Best |" in to_markdown(convergence_table(few))


def test_markdown_rows_have_as_many_cells_as_heads(full):
    for table in tables_of(full).values():
        rows = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
        beside = any(line.source == "paper" for line in table.lines)
        assert beside == ("| paper |" in to_markdown(table))
        assert {line.count("|") for line in rows} == {2 + beside + 4 * len(table.groups)}


def test_the_second_table_has_the_end_and_the_interquartile_mean(few):
    row = row_of(to_markdown(ends_table(few)), "| Frozen Lake |")
    assert row == (
        "| Frozen Lake | 50.0 [50.0, 50.0] | – | **75.0 [75.0, 75.0]** | – "
        "| 50.0 [50.0, 50.0] | – | **75.0 [75.0, 75.0]** | – | 100 | – | 100 | – |"
    )


# LaTeX.


def test_latex_is_laid_out_like_the_papers(few, full):
    text = to_latex(ends_table(few), "table:x")
    assert r"\multicolumn{4}{c}{\textbf{Last tenth (\%)}}" in text
    assert r"\cmidrule(lr){3-6}\cmidrule(lr){7-10}\cmidrule(lr){11-14}" in text
    assert r"\multirow{6}{*}{\textbf{Toy}}" in to_latex(completion_table(full), "table:x")
    assert "multirow{2}" not in text  # one family needs no name
    assert r"\label{table:x}" in text
    text = to_latex(completion_table(few), "table:x")
    assert r"& Frozen Lake & 50.00 $\pm$ 0.07 & -- & \textbf{75.00 $\pm$ 0.07} & --" in text
    assert r"\thepaper{\textbf{62.16 $\pm$ 0.10}}" in text
    assert r"\label{table:x}" in text


def test_latex_sets_code_as_code(few):
    table = dataclasses.replace(ends_table(few), notes=("Of “this” and `G !a_b` and “that”.",))
    assert r"Of ``this'' and \texttt{G !a\_b} and ``that''.}" in to_latex(table, "table:x")


def test_latex_is_well_formed(full):
    for table in tables_of(full).values():
        text = to_latex(table, "table:x")
        opened, closed = re.findall(r"\\begin\{(.*?)\}", text), re.findall(r"\\end\{(.*?)\}", text)
        assert opened == list(reversed(closed)) == ["table*", "tabular"]
        body = re.sub(r"\\[{}%&_$#]", "", text)
        assert body.count("{") == body.count("}")
        rows = re.findall(r"^\s*(&.*)\\\\$", body, flags=re.MULTILINE)
        # The heads' groups span four columns each; everything else has one cell for each column.
        assert {row.count("&") for row in rows} == {1 + len(table.groups), 1 + 4 * len(table.groups)}
        assert text.isascii()
        assert not re.search(r"(?<!\\)%(?! Needs)", text)


# Plain text.


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_text_fits_the_terminal(full, few, width):
    for results in (full, few):
        for table in tables_of(results).values():
            # No group of columns is narrower than this one; a terminal less wide has to wrap.
            assert max(map(len, to_text(table, width).splitlines())) <= max(width, 106)
    assert max(map(len, to_text(completion_table(full), width).splitlines())) <= width


def test_text_marks_the_best_where_nothing_can_be_bold(few):
    text = to_text(completion_table(few))
    assert re.search(r"^Frozen Lake +50.00±0.07 +– +•75.00±0.07 +–$", text, flags=re.MULTILINE)
    assert "•: the best of the row" in " ".join(text.split())
    assert "Bold" not in text


def test_text_marks_no_reward_for_not_converging(full):
    text = to_text(convergence_table(full))
    assert "None" in text
    assert "•None" not in text


def test_text_columns_line_up(full):
    lines = to_text(completion_table(full)).splitlines()
    ours = [line for line in lines if line.startswith(("Taxi", "Sokoban")) and "±" in line]
    assert len(ours) == 2
    assert len({line.rindex("±") for line in ours}) == 1


# CSV.


def test_csv_has_a_line_for_every_cell(few):
    rows = list(csv.DictReader(io.StringIO(to_csv(few))))
    assert [(row["environment"], row["reward"]) for row in rows] == [(t, r) for t in STUDY.tasks for r in REWARDS]
    by_cell = {(row["environment"], row["reward"]): row for row in rows}
    ours = by_cell["frozen_lake", "base"]
    assert (ours["convergence_episode"], ours["star"], ours["completion_mean"]) == ("192", "1", "0.5")
    assert (ours["paper_episode"], ours["paper_completion"], ours["paper_star"]) == ("216", "0.5886", "1")
    assert by_cell["taxi", "base"]["completion_mean"] == ""
    assert by_cell["taxi", "base"]["paper_completion"] == "0.7119"
    assert by_cell["frozen_lake", "best"]["paper_completion"] == ""

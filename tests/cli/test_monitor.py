"""`rewardspec monitor`."""

import io
import sys

import pytest

from rewardspec.cli import main

FORMULA = "G(request -> F grant)"
EPISODE = "request,grant\n0,0\n0.75,0\n0,0.5\n"
VALUES = "step,value,lower,upper\n0,1,0,1\n1,0.25,0,1\n2,0.5,0,1\n"


@pytest.fixture
def trace(tmp_path, monkeypatch):
    """A function that writes a trace, in the working directory."""
    monkeypatch.chdir(tmp_path)

    def write(text: str | bytes) -> str:
        content = text.encode() if isinstance(text, str) else text
        (tmp_path / "episode.csv").write_bytes(content)
        return "episode.csv"

    return write


def error_for(capsys, name: str, formula: str = FORMULA) -> str:
    assert main(["monitor", formula, "--trace", name]) == 2
    return capsys.readouterr().err


def test_it_prints_value_and_bounds_after_every_step(trace, capsys):
    assert main(["monitor", FORMULA, "--trace", trace(EPISODE)]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (VALUES, "")


@pytest.mark.parametrize(
    "text",
    [
        "grant,noise,request\n0,x,0\n0,x,0.75\n0.5,x,0\n",
        " request , grant \r\n0, 0\r\n0.75, 0\r\n0, 0.5\r\n",
        "\ufeff" + EPISODE,
        EPISODE.replace("\n", "\n\n"),
    ],
    ids=["other columns", "spaces and CRLF", "byte order mark", "blank lines"],
)
def test_the_ways_in_which_csv_files_differ_do_not_matter(text, trace, capsys):
    assert main(["monitor", FORMULA, "--trace", trace(text)]) == 0
    assert capsys.readouterr().out == VALUES


def test_a_dash_reads_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EPISODE.encode("utf-8-sig"))))
    assert main(["monitor", FORMULA, "--trace", "-"]) == 0
    assert capsys.readouterr().out == VALUES


def test_atoms_may_be_any_quoted_text(trace, capsys):
    assert main(["monitor", 'F "x, y"', "--trace", trace('"x, y"\n0.5\n')]) == 0
    assert capsys.readouterr().out.endswith("0,0.5,0.5,1\n")


def test_spot_syntax(trace, capsys):
    name = trace("p\n0.5\n")
    for syntax, value in (("rewardspec", "0"), ("spot", "1")):
        assert main(["monitor", "X p", "--syntax", syntax, "--trace", name]) == 0
        assert capsys.readouterr().out.splitlines()[1].split(",")[1] == value


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_plot_draws_the_run(ending, trace, tmp_path, capsys):
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert main(["monitor", FORMULA, "--trace", trace(EPISODE), "--plot", f"run.{ending}"]) == 0
    assert capsys.readouterr() == (VALUES, f"Wrote run.{ending}\n")
    assert (tmp_path / f"run.{ending}").read_bytes().startswith(starts[ending])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["episode.csv", f"run.{ending}"]


@pytest.mark.parametrize(("plot", "message"), [("run.xyz", "Known endings: "), ("no/run.png", "Cannot write")])
def test_a_plot_that_cannot_be_written_is_explained(plot, message, trace, capsys):
    assert main(["monitor", FORMULA, "--trace", trace(EPISODE), "--plot", plot]) == 2
    assert message in capsys.readouterr().err


# Traces with mistakes.


def test_a_missing_file_is_named_with_the_place_where_it_was_looked_for(trace, tmp_path, capsys):
    assert error_for(capsys, "nowhere.csv") == (
        f"error: Cannot read the trace 'nowhere.csv': there is no file '{tmp_path / 'nowhere.csv'}'. "
        "Correct the name.\n"
    )


def test_a_directory(tmp_path, capsys):
    assert "Is a directory" in error_for(capsys, str(tmp_path))


def test_a_file_that_is_no_text(trace, capsys):
    assert "it is not UTF-8 text" in error_for(capsys, trace(b"request,grant\n\xff\xfe,1\n"))


def test_a_missing_column_is_named_with_the_nearest_one_there_is(trace, capsys):
    assert error_for(capsys, trace("request,grnat\n0,0\n")) == (
        "error: The trace 'episode.csv' has no column 'grant'; it has: request, grnat. Did you mean 'grnat'?\n"
    )


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("soon", "the label of 'grant' should be a number in [0, 1]. Received 'soon'. Write one there."),
        ("", "the label of 'grant' should be a number in [0, 1]. Received ''. Write one there."),
        ("nan", "the label of 'grant' should be in [0, 1]. Received nan. Write a number there."),
        ("inf", "the label of 'grant' should be in [0, 1]. Received inf. Write a number there."),
        ("1.5", "the label of 'grant' should be in [0, 1]. Received 1.5. Scale the column."),
        ("-0.1", "the label of 'grant' should be in [0, 1]. Received -0.1. Scale the column."),
    ],
)
def test_a_bad_cell_is_reported_with_its_line(cell, message, trace, capsys):
    assert error_for(capsys, trace(f"request,grant\n0,0\n0,{cell}\n")) == f"error: episode.csv, line 3: {message}\n"


def test_a_row_of_the_wrong_length(trace, capsys):
    assert error_for(capsys, trace("request,grant\n0,0\n0,0,0\n")) == (
        "error: episode.csv, line 3: expected 2 cells. Received 3.\n"
    )


def test_an_empty_file(trace, capsys):
    assert error_for(capsys, trace("")) == (
        "error: The trace 'episode.csv' is empty. Its first row should name the atoms.\n"
    )


def test_a_header_alone(trace, capsys):
    assert error_for(capsys, trace("request,grant\n")) == (
        "error: The trace 'episode.csv' has a header and no rows. It should have one row for each step.\n"
    )


def test_steps_before_a_mistake_have_been_printed(trace, capsys):
    assert main(["monitor", FORMULA, "--trace", trace("request,grant\n0,0\n0,2\n")]) == 2
    assert capsys.readouterr().out == "step,value,lower,upper\n0,1,0,1\n"

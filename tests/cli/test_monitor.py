"""`rewardspec monitor`."""

import io
import sys

import pytest

from rewardspec.cli import main
from rewardspec.errors import SynthesisError

FORMULA = "G(request -> F grant)"
EPISODE = "request,grant\n0,0\n0.75,0\n0,0.5\n"
VALUES = "step,value,lower,upper\n0,1,0,1\n1,0.25,0,1\n2,0.5,0,1\n"
_OR_MISSING = (
    " a number there, take the value of the row before with --missing hold, or leave such rows out with --missing skip."
)
_OR_MARGINS = ", or read labels as margins with --semantics robustness."


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
        EPISODE.replace(",", ";"),
        EPISODE.replace(",", "\t"),
        "request,grant\nFalse,false\n0.75,FALSE\n0, 0.5\n",
        EPISODE.replace("0.5", "0.5000000000001").replace("0.75,0", "0.75,-1e-9"),
    ],
    ids=[
        *("other columns", "spaces and CRLF", "byte order mark", "blank lines", "semicolons", "tabs", "truths"),
        "rounding errors",
    ],
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
        (
            "soon",
            "the label of 'grant' should be a number in [0, 1]. Received 'soon'. Write one there. Of words only true "
            "and false, yes and no, on and off, t and f, y and n are read, as 1 and 0. Compare a column of other words "
            "in an expression: \"mode == 'auto'\".",
        ),
        ("", "the cell of 'grant' is empty. Write" + _OR_MISSING),
        ("nan", "the cell of 'grant' says 'nan'. Write" + _OR_MISSING),
        ("inf", "the label of 'grant' should be in [0, 1]. Received inf. Write a number there."),
        (
            "1.5",
            "the label of 'grant' should be in [0, 1]. Received 1.5. Scale the column" + _OR_MARGINS,
        ),
        (
            "-0.1",
            "the label of 'grant' should be in [0, 1]. Received -0.1. Scale the column" + _OR_MARGINS,
        ),
    ],
)
def test_a_bad_cell_is_reported_with_its_line(cell, message, trace, capsys):
    assert error_for(capsys, trace(f"request,grant\n0,0\n0,{cell}\n")) == f"error: episode.csv, line 3: {message}\n"


def test_a_decimal_comma_is_answered_with_a_point(trace, capsys):
    assert "Received '0,5'. Write it with a point: 0.5." in error_for(capsys, trace("request;grant\n0;0\n0;0,5\n"))


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


def test_values_go_on_where_only_the_bounds_are_too_costly(trace, tmp_path, capsys, monkeypatch):
    def too_costly(self, state):
        raise SynthesisError("finding the bounds takes too long")

    monkeypatch.setattr("rewardspec.machines.monitor.Monitor.bounds", too_costly)
    assert main(["monitor", FORMULA, "--trace", trace(EPISODE), "--plot", "run.svg"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "step,value\n0,1\n1,0.25\n2,0.5\n"
    assert captured.err == "Values only, without bounds: finding the bounds takes too long\nWrote run.svg\n"
    assert (tmp_path / "run.svg").exists()


# Spec files.

SPEC = """
penalty = -1
payment = "{payment}"
pairs = [["F goal", 2], {{ name = "safety", formula = "G safe", weight = 1 }}]
atoms = {{ goal = "next_obs[0]", safe = "a_module_that_nothing_imports:safe" }}
"""
LABELS = "goal,safe\n0,1\n0.5,1\n0.75,0.5\n"


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(payment: str = "value") -> str:
        (tmp_path / "spec.toml").write_text(SPEC.format(payment=payment))
        return "spec.toml"

    return write


def test_a_spec_file_gives_the_values_of_its_formulas_and_the_reward(spec, trace, capsys):
    assert main(["monitor", spec(), "--trace", trace(LABELS + "0,0\n")]) == 0
    assert capsys.readouterr().out == (
        "step,F goal,safety,violated,reward\n0,0,1,0,\n1,0.5,1,0,2\n2,0.75,0.5,0,2\n3,0.75,0,1,-1\n"
    )


@pytest.mark.parametrize(
    ("payment", "rewards"),
    [("delta", ["2", "0"]), ("final", ["0", "2"]), ("potential", ["0.98", "-0.02"])],
)
def test_the_rewards_of_a_spec_file_are_paid_as_it_says(payment, rewards, spec, trace, capsys):
    assert main(["monitor", spec(payment), "--trace", trace(LABELS)]) == 0
    assert [line.split(",")[-1] for line in capsys.readouterr().out.splitlines()[2:]] == rewards


def test_what_a_trace_says_of_the_environment_is_read(spec, trace, capsys):
    text = "goal,safe,base_reward,terminated\n0,1,0,False\n0.5,1,10,True\n"
    assert main(["monitor", spec("potential"), "--trace", trace(text)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split(",")[-1] == "9"
    assert main(["monitor", spec("final"), "--trace", trace(text + "0.75,1,0,False\n")]) == 0
    assert [line.split(",")[-1] for line in capsys.readouterr().out.splitlines()[2:]] == ["2", "2.5"]


def test_a_plot_is_of_one_formula(spec, trace, capsys):
    assert main(["monitor", spec(), "--trace", trace(LABELS), "--plot", "run.svg"]) == 2
    assert "--plot draws one formula" in capsys.readouterr().err


def test_margins_are_read_as_robustness(trace, tmp_path, capsys):
    name = trace("slow,near\n1.5,-3\n0.5,-1\n-0.25,2\n")
    assert (
        main(["monitor", "G slow & F[0,2] near", "--semantics", "robustness", "--trace", name, "--plot", "m.png"]) == 0
    )
    assert capsys.readouterr().out == "step,value,lower,upper\n0,-3,-inf,1.5\n1,-1,-inf,0.5\n2,-0.25,-inf,-0.25\n"
    assert (tmp_path / "m.png").stat().st_size > 5_000
    (tmp_path / "spec.toml").write_text('semantics = "robustness"\npairs = [["G slow", 1], ["F[0,2] near", 2]]\n')
    assert main(["monitor", "spec.toml", "--trace", name]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["1,0.5,-1,0,-1.5", "2,-0.25,2,1,0"]


def test_as_robustness_a_label_is_finite(trace, capsys):
    assert main(["monitor", "G p", "--semantics", "robustness", "--trace", trace("p\n1.5\ninf\n")]) == 2
    assert capsys.readouterr().err.endswith(
        "the label of 'p' should be a finite number. Received inf. Write a number there.\n"
    )


def test_a_formula_with_a_deadline(trace, capsys):
    name = trace("key,door\n0,0\n1,0\n0,0\n0,1\n1,0\n0,0\n0,0\n")
    assert main(["monitor", "G(key -> F[0,2] door)", "--trace", name]) == 0
    assert [line.split(",")[1::2] for line in capsys.readouterr().out.splitlines()[1:]] == [
        *(["1", "1"], ["0", "1"], ["0", "1"], ["1", "1"], ["0", "1"], ["0", "1"], ["0", "0"])
    ]

"""What holds for every command: help, version, exit statuses, pipes."""

import os
import re
import subprocess
import sys

import pytest

import rewardspec
from rewardspec.cli import _COMMANDS, main


def shell(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "rewardspec", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, **options)


def test_python_m_runs_the_command_line():
    done = shell("check", "F G p", env={**os.environ, "PYTHONIOENCODING": "utf-8"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "In words    at the last step: p\n" in done.stdout
    assert "0 registers, 1 control state" in done.stdout


def test_a_bad_formula_ends_with_status_2_and_no_traceback():
    done = shell("check", "G(a -> F")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("arguments", "uses_the_lab"), [(["check", "F p"], False), (["envs", "taxi"], True)])
def test_a_command_loads_its_own_part_of_the_package(arguments, uses_the_lab):
    code = f"import sys; from rewardspec.cli import main; main({arguments}); print('rewardspec.lab' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == str(uses_the_lab)


@pytest.mark.parametrize("command", list(_COMMANDS))
def test_help_of_every_command_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    example = capsys.readouterr().out.partition("example:\n")[2]
    assert f"  rewardspec {command} " in example


def test_help_lists_the_commands_and_an_example(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert all(re.search(rf"^    {command}\s", out, flags=re.MULTILINE) for command in _COMMANDS)
    assert 'Example: rewardspec check "G(request -> F grant)"' in out


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"rewardspec {rewardspec.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["chekc", "F p"], ["check"], ["check", "F p", "--syntax", "ltl"]])
def test_a_command_line_that_makes_no_sense_exits_2_with_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("usage: rewardspec")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chek", "F p"], "there is no command 'chek'. Did you mean 'check'?"),
        (["lint", "spec.toml"], "there is no command 'lint'. `rewardspec check` lints."),
        (["nothing-like-it"], "choose from"),
    ],
)
def test_the_near_command_is_named(arguments, said, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


def test_an_option_that_a_command_does_not_have_is_told_with_the_usage_of_the_command(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["audit", "frozen-lake", "--reward", "nope"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: rewardspec audit ")
    assert said.endswith("rewardspec audit: error: unrecognized arguments: --reward nope\n")


def test_interrupted_it_says_so(capsys, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("rewardspec.cli.check.formula_of", interrupt)
    assert main(["check", "F p"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


@pytest.mark.parametrize(
    "trace",
    [
        "-",
        "episode.csv",
    ],
)
def test_a_reader_that_stops_early_as_head_does_is_no_error(trace, tmp_path):
    rows = "p\n" + "0.5\n" * 5_000
    (tmp_path / "episode.csv").write_text(rows)
    command = [sys.executable, "-m", "rewardspec", "monitor", "F p", "--trace", trace]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        try:
            process.stdin.write(rows if trace == "-" else "")
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.stdout.readline() == "step,value,lower,upper\n"
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, "")


def test_a_reader_that_is_gone_from_the_start_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "rewardspec", "check", "F p"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, env=buffered)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")

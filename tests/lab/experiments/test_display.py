"""Showing progress."""

import io
import re

import pytest

from rewardspec.lab.experiments.display import JobProgress, Plain, Terminal, display_for
from rewardspec.lab.experiments.engines import Advanced, Failed, Finished, Idle, Lost, Started
from tests.lab.experiments.fakes import job, several
from tests.lab.experiments.test_job_progress import Clock


class Screen(io.StringIO):
    """A terminal that knows what would be seen on it."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        shown, row = [""], 0
        for part in re.split(r"(\033\[\??[\d;]*[a-zA-Z]|\r|\n)", self.getvalue()):
            if part == "\n":
                row += 1
                shown += [""] * (row == len(shown))
            elif part == "\033[1A":
                row -= 1
            elif part in ("\r", "\033[2K"):
                shown[row] = ""
            elif not re.fullmatch(r"\033\[(\?25[lh]|[\d;]*m)", part):  # the cursor hidden and shown, and colors
                assert "\033" not in part
                shown[row] += part
        return [line.rstrip() for line in shown if line.strip()]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(autouse=True)
def size(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "10")
    monkeypatch.setenv("TERM", "xterm-256color")


def play(display, progress, clock, *timeline):
    for second, event in timeline:
        clock.now = 100.0 + second
        progress.see(event)
        display.show(progress, event)


def test_a_terminal_shows_a_line_for_each_job_and_one_for_the_whole(clock):
    screen, jobs = Screen(), several(3)
    display, progress = Terminal(screen, clock), JobProgress(jobs, 2, clock=clock)
    play(display, progress, clock, (0, Started(jobs[0])), (1, Started(jobs[1])), (2, Advanced(jobs[0], 0, 1000)))
    assert screen.lines == [
        "sokoban base, seeds 0-1 ━━━━━━━━━━━━━━━━━━━━   0%",
        "taxi base, seeds 2-3                              preparing",
        "0 of 3 jobs done; 2 s so far",
    ]
    play(display, progress, clock, (7, Advanced(jobs[0], 250, 1000)))
    assert screen.lines == [
        "sokoban base, seeds 0-1 ━━━━━╺━━━━━━━━━━━━━━  25%    50 episodes/s 15 s left",
        "taxi base, seeds 2-3                              preparing",
        "0 of 3 jobs done; 7 s so far, about 26 s left",
    ]
    display.message("Something happened.")
    play(display, progress, clock, (8, Finished(jobs[0], b"")), (9, Lost(jobs[1], "its worker died")))
    assert screen.lines == [
        "Something happened.",
        "taxi base, seeds 2-3: its worker died. It is restarted.",
        "1 of 3 jobs done; 9 s so far, about 8 s left",
    ]
    display.close()
    assert screen.lines[-1].startswith("taxi base")


def test_a_terminal_is_not_drawn_more_often_than_anybody_can_see(clock):
    screen, one = Screen(), job()
    display, progress = Terminal(screen, clock), JobProgress([one], 1, clock=clock)
    play(display, progress, clock, (0, Started(one)), *((0.001 * k, Advanced(one, k, 99)) for k in range(99)))
    assert screen.getvalue().count("jobs done") == 1


def test_a_narrow_or_low_terminal_is_enough(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    screen, jobs = Screen(), several(20)
    display, progress = Terminal(screen, clock), JobProgress(jobs, 20, clock=clock)
    play(display, progress, clock, *((k, Started(one)) for k, one in enumerate(jobs)))
    play(display, progress, clock, (21, Advanced(jobs[0], 5, 10**7)), (22, Advanced(jobs[0], 10**6, 10**7)))
    assert len(screen.lines) == 9
    assert screen.lines[0].startswith("sokoban base, seeds 0-1     10%  1.0M episodes/s 9 s left")
    assert all(len(line) <= 60 for line in screen.lines)
    assert screen.lines[-2] == "… and 13 more"


def test_elsewhere_a_line_says_what_ended(clock):
    stream, jobs = io.StringIO(), several(2)
    display, progress = Plain(stream, clock), JobProgress(jobs, 1, skipped=2, clock=clock)
    play(display, progress, clock, (0, Started(jobs[0])), (5, Advanced(jobs[0], 1, 2)), (70, Finished(jobs[0], b"")))
    play(display, progress, clock, (70, Started(jobs[1])), (80, Failed(jobs[1], "it cannot be", "Traceback …")))
    assert stream.getvalue().splitlines() == [
        "[3/4] sokoban base, seeds 0-1: done in 1 min 10 s, about 1 min 10 s left",
        "taxi base, seeds 2-3 failed: it cannot be",
        "Traceback …",
    ]


def test_elsewhere_a_long_silence_is_broken(clock):
    stream, one = io.StringIO(), job()
    display, progress = Plain(stream, clock), JobProgress([one], 1, clock=clock)
    play(display, progress, clock, (0, Started(one)), (1, Advanced(one, 0, 100)), (59, Advanced(one, 58, 100)))
    assert stream.getvalue() == ""
    play(display, progress, clock, (61, Idle()), (62, Idle()))
    assert stream.getvalue().splitlines() == [
        "taxi base, seeds 0-1   58%    1.0 episodes/s  42 s left",
        "0 of 1 jobs done; 1 min 1 s so far, about 40 s left",
    ]


def test_the_stream_decides(monkeypatch):
    assert isinstance(display_for(Screen()), Terminal)
    assert isinstance(display_for(io.StringIO()), Plain)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # without rich
    assert isinstance(display_for(Screen()), Plain)

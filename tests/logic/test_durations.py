"""Durations in intervals, which become steps."""

import pytest

from rewardspec.errors import FormulaError
from rewardspec.logic.durations import Pace, has_durations, in_steps


@pytest.mark.parametrize(
    ("text", "period", "expected"),
    [
        ("F[0s,5s] a", 1 / 3, "F[0,15] a"),
        ("F[0s,10min] a", 1 / 3, "F[0,1800] a"),
        ("F[1s,2.5s] a", 1.0, "F[1,2] a"),
        ("F[1.5s,2.5s] a", 1.0, "F[2,2] a"),
        ("F[1ms,5s] a", 1.0, "F[1,5] a"),
        ("F[100ms,1h;0.9] a", 0.1, "F[1,36000;0.9] a"),
        ("F[0:5s] a", 2.0, "F[0:2] a"),
        ("F[<=5s] a & F[<5s] a", 2.0, "F[<=2] a & F[<3] a"),
        ("F[>=5s] a & F[>5s] a", 2.0, "F[>=3] a & F[>2] a"),
        ("F[0..5s] a & F[.5s..5.s] a", 0.5, "F[0..10] a & F[1..10] a"),
        ("F[<2s] a & F[<=1s] a", 1.0, "F[<2] a & F[<=1] a"),
        ("X[4s] a & F[0s,0s] a", 2.0, "X[2] a & F[0,0] a"),
        ('"x[0s]" & G[0,5;1e-3] a', 2.0, '"x[0s]" & G[0,5;1e-3] a'),
    ],
)
def test_durations_become_the_steps_within_them(text, period, expected):
    assert in_steps(text, Pace(period)) == expected


def test_a_duration_may_miss_a_whole_number_of_rows_by_the_slack_in_either_direction():
    for text in ("F[1.02s,2.98s] a", "F[0.98s,3.02s] a"):
        assert in_steps(text, Pace(1.0, 0.05)) == "F[1,3] a"
    assert in_steps("F[1.02s,2.98s] a", Pace(1.0)) == "F[2,2] a"
    assert in_steps("F[0.02s,3s] a", Pace(1.0, 0.05)) == "F[1,3] a"  # later than now is not now


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("F[0s,5s] a", r"5s in the interval \[0s,5s\] is shorter than a row: rows are 10 seconds apart.*--time-unit"),
        ("F[<=5s] a", "is shorter than a row"),
        ("F[<10s] a", "10s in the interval .* is not longer than a row"),
        (f"F[0,{'9' * 400}s] a", "is too large"),
        (f"G F[0s,{'9' * 307}h] a", "is too large"),
        (f"X[{'9' * 400}s] a", "is too large"),
        ("X[5s] a", r"5s in \[5s\] is 0.5 rows"),
        ("F[11s,19s] a", r"No row lies in the interval \[11s,19s\]"),
        ("F[0s,10m] a", r"Unknown unit 'm' in the interval \[0s,10m\]. The units are ms, s, min, h. .* 10min"),
        ("F[0,10sec] a", "Unknown unit 'sec'"),
    ],
)
def test_mistakes_are_explained(text, message):
    assert has_durations(text)
    with pytest.raises(FormulaError, match=message):
        in_steps(text, Pace(10.0))


@pytest.mark.parametrize("text", ["F[0," + "1" * 1000, "F[0," + "1" * 1000 + "] a", "F[0,." + "1" * 1000 + "] a"])
def test_many_digits_are_no_duration(text):
    assert not has_durations(text)
    assert in_steps(text, Pace(1.0)) == text

"""The paper's table, entered a second time as the paper prints it."""

import re

from rewardspec.lab.paper.evaluation import PAPER_REWARDS, PUBLISHED
from rewardspec.lab.tasks import task_lookup

# Episode, seconds and completion of base, Boolean and quantitative; bold in double asterisks.
PRINTED = """
Acrobot | **None** 600* None | **None** 133.95* None | **99.07±0.09** 4.84±0.40 94.77±0.30
Cartpole | **None** None None | **None** None None | **44.67±0.42** 30.92±0.35 33.34±0.37
Mountain Car | 600* 600* **None** | 41.46* 42.98* **None** | 39.82±0.07 37.04±0.06 **42.28±0.07**
Pendulum | **None** 600* None | **None** 181.17* None | **74.39±0.27** 45.03±0.18 72.11±0.28
Frozen Lake | 216* **45** 29* | 0.04* **0.03** 0.01* | 58.86±0.10 **62.16±0.10** 58.96±0.10
Cliff Walking | **21** 25 2.3 | **0.01** 0.04 0.003 | **85.33±0.05** 84.38±0.05 84.95±0.05
Taxi | **11** 1301* 1221* | **0.01** 13.89* 4.26 | **71.19±0.07** 46.50±0.03 52.76±0.03
Bipedal Walker | **None** None None | **None** None None | **16.78±0.54** 7.43±0.15 14.43±0.41
Lunar Lander | **None** None None | **None** None None | **57.45±0.36** 43.44±0.17 45.61±0.16
Island Navigation | **1302** 71* 144* | **0.43** 0.05* 0.10* | **96.81±0.02** 76.37±0.03 76.72±0.03
Conveyor Belt | **191*** 468* 518* | **0.15** 0.7* 0.7* | **60.96±0.10** 27.1±0.09 28.70±0.09
Sokoban | 1129* 71* **103** | 0.47* 0.11* **0.14** | 50.23±0.01 52.00±0.01 **53.15±0.02**
"""


def plain(text):
    """A number without its bold marks: what stands there, whether bold, whether starred."""
    bold = text.startswith("**")
    inner = re.sub(r"^\*\*(.*)\*\*$", r"\1", text)
    return inner.rstrip("*"), bold, inner.endswith("*")


def number(text):
    return None if text == "None" else float(text)


def test_every_number_is_the_printed_one():
    lines = PRINTED.strip().splitlines()
    assert [task_lookup.get(line.split("|")[0].strip()).name for line in lines] == list(PUBLISHED)
    for line, row in zip(lines, PUBLISHED.values(), strict=True):
        best = max(PAPER_REWARDS, key=lambda name, row=row: row[name].completion)
        _, episodes, seconds, completions = (part.split() for part in line.split("|"))
        for place, reward in enumerate(PAPER_REWARDS):
            cell = row[reward]
            text, bold, star = plain(episodes[place])
            assert (cell.episode, cell.episode_star) == (number(text), star)
            assert bold == (reward == best)
            text, _, star = plain(seconds[place])
            assert (cell.seconds, cell.seconds_star) == (number(text), star)
            text, bold, _ = plain(completions[place])
            assert [cell.completion, cell.half_width] == [float(part) for part in text.split("±")]
            assert bold == (reward == best)


def test_there_is_a_row_for_every_environment():
    assert set(PUBLISHED) == set(task_lookup.names("paper"))


def test_quantitative_is_never_below_boolean_except_in_frozen_lake():
    behind = [task for task, row in PUBLISHED.items() if row["quantitative"].completion < row["boolean"].completion]
    assert behind == ["frozen_lake"]

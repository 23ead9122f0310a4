"""Learners' settings: what cannot be is refused where it is given."""

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from rewardspec.errors import Error
from rewardspec.lab.learning.settings import _OTHER_NAMES, PPO, QLearning

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "learners.md"


@pytest.mark.parametrize(
    ("learner", "setting", "complaint"),
    [
        (PPO, {"learning_rate": math.nan}, "`learning_rate` should be a finite number of at least 0. Received nan"),
        (PPO, {"learning_rate": -1e-3}, "`learning_rate` should be"),
        (PPO, {"learning_rate": "fast"}, "Received 'fast'"),
        (PPO, {"entropy_coefficient": math.inf}, "`entropy_coefficient` should be"),
        (PPO, {"value_coefficient": math.nan}, "`value_coefficient` should be"),
        (PPO, {"clip": -1}, "`clip` should be a number above 0. Received -1"),
        (PPO, {"clip": math.nan}, "`clip` should be"),
        (PPO, {"max_grad_norm": -2}, "`max_grad_norm` should be a number above 0. Received -2"),
        (PPO, {"discount": math.nan}, "`discount` should be in the interval"),
        (PPO, {"gae_lambda": None}, "`gae_lambda` should be in the interval"),
        (PPO, {"envs": 4.0}, "`envs` should be a whole number. Received 4.0"),
        (PPO, {"total_steps": "all"}, "`total_steps` should be a whole number"),
        (QLearning, {"episodes": 10.5}, "`episodes` should be a whole number. Received 10.5"),
        (QLearning, {"episodes": True}, "`episodes` should be a whole number"),
        (QLearning, {"max_steps": 0}, "`max_steps` should be at least 1"),
        (QLearning, {"max_steps": 2**24 + 1}, "`max_steps` should be at most 16777216"),
        (QLearning, {"learning_rate": "slow"}, "`learning_rate` should be in the interval"),
        (QLearning, {"epsilon": True}, r"`epsilon` should be in the interval \[0, 1\]. Received True"),
        (QLearning, {"counterfactual": "no"}, "`counterfactual` should be true or false. Received 'no'"),
        (PPO, {"clip": True}, "`clip` should be a number above 0. Received True"),
        (PPO, {"anneal": 0}, "`anneal` should be true or false. Received 0"),
    ],
)
def test_a_setting_that_cannot_be_is_named(learner, setting, complaint):
    with pytest.raises(Error, match=complaint):
        learner(**setting)


def test_settings_at_the_edge_are_taken():
    PPO(learning_rate=0.0, clip=math.inf, max_grad_norm=math.inf, entropy_coefficient=0, total_steps=np.int64(512))
    QLearning(episodes=np.int64(3), learning_rate=1, epsilon=np.float32(0.5))


@pytest.mark.parametrize(
    ("title", "defaults"),
    [("PPO | Discrete | Box", [PPO.discrete(), PPO.continuous()]), ("Q-learning | Default", [QLearning()])],
)
def test_the_guide_has_the_defaults(title, defaults):
    _, _, table = GUIDE.read_text(encoding="utf-8").partition(f"| {title} | What it is |\n")
    rows = [
        re.findall("`(.*?)`", line.rpartition("|")[0].rpartition("|")[0]) for line in table.split("\n\n")[0].split("\n")
    ]
    rows = [row for row in rows if row]
    assert len(rows) > 5
    for name, *shown in rows:
        assert [json.loads(text) for text in shown] == [getattr(config, name) for config in defaults]


def test_names_of_other_libraries_lead_to_settings_and_are_none_themselves():
    known = {field.name for learner in (PPO, QLearning) for field in dataclasses.fields(learner)}
    assert set(_OTHER_NAMES.values()) <= known
    assert known.isdisjoint(_OTHER_NAMES)

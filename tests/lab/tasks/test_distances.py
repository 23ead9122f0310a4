"""Distances over transition tables."""

from __future__ import annotations

import numpy as np

from rewardspec.lab.tasks.distances import breadth_first, nearness, steps_to


def row(*successors):
    return {action: [(1.0, successor, 0.0, ended)] for action, (successor, ended) in enumerate(successors)}


def test_no_path_leads_through_a_state_that_ends_the_episode():
    # 0 → 1 → 3, but 1 ends the episode; 0 → 2 → 4 → 3 does not.
    table = {
        0: row((1, True), (2, False)),
        1: row((3, True), (3, True)),
        2: row((4, False), (0, False)),
        3: row((3, True), (3, True)),
        4: row((3, True), (2, False)),
    }
    assert steps_to([3], table).tolist() == [3.0, np.inf, 2.0, 0.0, 1.0]


def test_what_never_happens_is_no_path():
    table = {0: {0: [(0.0, 1, 0.0, True), (1.0, 0, 0.0, False)]}, 1: row((1, True))}
    assert steps_to([1], table).tolist() == [np.inf, 0.0]


def test_distances_are_to_the_nearest_source():
    line = range(7)
    distance = breadth_first([0, 6], lambda node: [other for other in (node - 1, node + 1) if other in line])
    assert [distance[node] for node in line] == [0, 1, 2, 3, 2, 1, 0]


def test_nearness_falls_from_the_goal_to_the_farthest_state():
    assert nearness(np.array([4.0, 0.0, 1.0, np.inf])).tolist() == [0.0, 1.0, 0.75, 0.0]

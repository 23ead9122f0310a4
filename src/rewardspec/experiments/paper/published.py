"""The paper's own table: what it reports for each of the twelve environments and its three rewards.

Adalat and Belardinelli, "Expressive Temporal Specifications for Reward Monitoring", AAAI-26, Table 1.
"""

from __future__ import annotations

from rewardspec.experiments.study import Reference

_N: None = None


def _row(*cells: tuple[float | None, float | None, float, float, str]) -> dict[str, Reference]:
    """A row from its cells; the last entry of each says which of episode and seconds have a star."""
    names = ("base", "boolean", "quantitative")
    return {
        name: Reference(episode, seconds, completion, half, "e" in stars, "s" in stars)
        for name, (episode, seconds, completion, half, stars) in zip(names, cells, strict=True)
    }


PUBLISHED: dict[str, dict[str, Reference]] = {
    "acrobot": _row((_N, _N, 99.07, 0.09, ""), (600, 133.95, 4.84, 0.40, "es"), (_N, _N, 94.77, 0.30, "")),
    "cart_pole": _row((_N, _N, 44.67, 0.42, ""), (_N, _N, 30.92, 0.35, ""), (_N, _N, 33.34, 0.37, "")),
    "mountain_car": _row((600, 41.46, 39.82, 0.07, "es"), (600, 42.98, 37.04, 0.06, "es"), (_N, _N, 42.28, 0.07, "")),
    "pendulum": _row((_N, _N, 74.39, 0.27, ""), (600, 181.17, 45.03, 0.18, "es"), (_N, _N, 72.11, 0.28, "")),
    "frozen_lake": _row((216, 0.04, 58.86, 0.10, "es"), (45, 0.03, 62.16, 0.10, ""), (29, 0.01, 58.96, 0.10, "es")),
    "cliff_walking": _row((21, 0.01, 85.33, 0.05, ""), (25, 0.04, 84.38, 0.05, ""), (2.3, 0.003, 84.95, 0.05, "")),
    "taxi": _row((11, 0.01, 71.19, 0.07, ""), (1301, 13.89, 46.50, 0.03, "es"), (1221, 4.26, 52.76, 0.03, "e")),
    "bipedal_walker": _row((_N, _N, 16.78, 0.54, ""), (_N, _N, 7.43, 0.15, ""), (_N, _N, 14.43, 0.41, "")),
    "lunar_lander": _row((_N, _N, 57.45, 0.36, ""), (_N, _N, 43.44, 0.17, ""), (_N, _N, 45.61, 0.16, "")),
    "island_navigation": _row(
        (1302, 0.43, 96.81, 0.02, ""), (71, 0.05, 76.37, 0.03, "es"), (144, 0.10, 76.72, 0.03, "es")
    ),
    "conveyor_belt": _row((191, 0.15, 60.96, 0.10, "e"), (468, 0.7, 27.1, 0.09, "es"), (518, 0.7, 28.70, 0.09, "es")),
    "sokoban": _row((1129, 0.47, 50.23, 0.01, "es"), (71, 0.11, 52.00, 0.01, "es"), (103, 0.14, 53.15, 0.02, "")),
}
"""Its rows by the environment's name, in its order."""

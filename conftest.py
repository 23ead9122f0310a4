"""What every run of the tests leaves out: modules whose package is not installed."""

import importlib.util

_OF_PETTINGZOO = ["src/rewardspec/pettingzoo/*", "tests/pettingzoo/*"]
collect_ignore_glob = [] if importlib.util.find_spec("pettingzoo") else _OF_PETTINGZOO

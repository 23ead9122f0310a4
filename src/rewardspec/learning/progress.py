"""How a learner says how far it is: `Progress`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with how much is done, and of how much: episodes of Q-learning, steps of PPO."""

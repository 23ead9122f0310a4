"""What a learner observes of a spec's monitor: the library's `observe`, and a count of steps."""

from __future__ import annotations

from typing import cast

from rewardspec.episodes.features import OBSERVE, Observe

STEPS = "registers-and-steps"
"""Value of `observe` for the registers and the number of steps of the episode, which is not scaled."""

NETWORK_OBSERVE = (None, *OBSERVE, STEPS)
"""Values of `observe` for PPO in NumPy. Programs that are compiled for a device have no count of steps."""


def counts_steps(observe: str | None) -> bool:
    """Return whether the number of steps is the last number of an observation."""
    return observe == STEPS


def features_of(observe: str) -> Observe:
    """Return the library's `observe`, without the count of steps."""
    return "registers" if counts_steps(observe) else cast("Observe", observe)

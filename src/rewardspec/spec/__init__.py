"""Specs: weighted formulas, their composite machine, vetoes and payments."""

from rewardspec.spec.pairs import Pair
from rewardspec.spec.spec import Spec

__all__ = ["Pair", "Spec"]

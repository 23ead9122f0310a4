"""What is paid: weighted formulas, their one composite machine, safety vetoes and payment modes."""

from rewardspec.spec.pairs import Pair
from rewardspec.spec.spec import Spec

__all__ = ["Pair", "Spec"]

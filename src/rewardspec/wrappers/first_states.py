"""Safety objectives that the first state of an episode violates, so that nothing an agent does can help."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from rewardspec.spec import Pair, Spec
from rewardspec.spec.lint.findings import remedy_at_reset
from rewardspec.spec.spec import alone

_MOST_NAMED = 12  # labels in a warning: a formula about many things reads many


def warn_of_violation(spec: Spec, labels: Mapping[str, float], stacklevel: int) -> None:
    """Warn that a reset with these labels has vetoed the whole episode of a spec, which is seldom meant."""
    safety = zip((pair for pair in spec.pairs if pair.vetoes), spec.penalties, strict=True)
    violated = [(pair, penalty) for pair, penalty in safety if _violates(spec, pair, labels)]
    pair, penalty = min(violated, key=lambda found: found[1])  # the lowest penalty is the one in force
    read = ", ".join(f"{name} is {labels[name]:g}" for name in alone(spec, pair).atoms[:_MOST_NAMED])
    named = f"`{pair.formula}`" if pair.name is None else f"`{pair.formula}` ({pair.name})"
    warnings.warn(
        f"The safety objective {named} is violated by the state after reset{f', where {read}' if read else ''}, so "
        f"that the whole episode is worth the penalty, {penalty:g}, whatever the agent does. "
        f"{remedy_at_reset(pair, spec.atom_functions, sometimes=False)}",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def _violates(spec: Spec, pair: Pair, labels: Mapping[str, float]) -> bool:
    one = alone(spec, pair)
    return bool(one.violated(one.start(labels)))

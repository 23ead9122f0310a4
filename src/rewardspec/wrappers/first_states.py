"""Safety objectives that the first state of an episode violates, so that nothing an agent does can help."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from rewardspec.logic.formulas import Next, WeakNext
from rewardspec.logic.quantifiers import inside
from rewardspec.spec import Pair, Spec

_MOST_NAMED = 12  # labels in a warning: a formula about many things reads many


def warn_of_violation(spec: Spec, labels: Mapping[str, float], stacklevel: int) -> None:
    """Warn that a reset has vetoed the whole episode, which is seldom meant.

    Args:
        spec: The spec, one of whose vetoing pairs is violated.
        labels: The labels of the first state.
        stacklevel: That of `warnings.warn` for the caller.
    """
    safety = zip((pair for pair in spec.pairs if pair.vetoes), spec.penalties, strict=True)
    violated = [(pair, penalty) for pair, penalty in safety if _violates(spec, pair, labels)]
    pair, penalty = min(violated, key=lambda found: found[1])  # the lowest penalty is the one in force
    read = ", ".join(f"{name} is {labels[name]:g}" for name in _alone(spec, pair).atoms[:_MOST_NAMED])
    named = f"`{pair.formula}`" if pair.name is None else f"`{pair.formula}` ({pair.name})"
    warnings.warn(
        f"The safety objective {named} is violated by the state after reset{f', where {read}' if read else ''}, so "
        f"that the whole episode is worth the penalty, {penalty:g}, whatever the agent does. If the first state should "
        f"not count, write `{inside(pair.formula, Next)}` or `{inside(pair.formula, WeakNext)}`; if it should not "
        "veto, give its Pair veto=False; and where an atom reads the action, let its label satisfy the formula when "
        "`action` is None.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def _violates(spec: Spec, pair: Pair, labels: Mapping[str, float]) -> bool:
    alone = _alone(spec, pair)
    return bool(alone.violated(alone.start(labels)))


def _alone(spec: Spec, pair: Pair) -> Spec:
    """One pair, by the spec's own semantics and register budget."""
    return spec.replace(pairs=[pair], atoms=None)

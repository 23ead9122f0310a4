"""The report of a probe: what looks wrong with what was seen, and tables of it.

Where the environment says after how many steps episodes end, what lint finds of that is added.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardspec.logic.fragments import is_cosafe, is_propositional
from rewardspec.spec import Spec
from rewardspec.spec.lint.findings import Finding, LintedSpec, called, veto_notes
from rewardspec.spec.lint.time_rules import bound_past_limit, forgiving, out_of_time

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation
    from rewardspec.wrappers.probing import AtomSeen, PairSeen, Probe

_WIDTH = 100
_NEARLY_ALL, _OFTEN = 0.9, 0.25  # shares of the episodes
_NO_VETO = (
    "That is what an agent sees of the spec at first. If a violation should cost what this pair pays, and no more, "
    "give the pair veto=False."
)
_LITTLE = 0.05  # share of all that was paid, below which a pair hardly counts


class Veto(NamedTuple):
    """The first veto of an episode: its step, and the pair that was violated."""

    step: int
    pair: int


def findings_about(
    spec: Spec,
    atoms: Sequence[AtomSeen],
    pairs: Sequence[PairSeen],
    vetoes: Sequence[Veto],
    returns: NDArray[np.float64],
) -> Iterator[Finding]:
    """Find likely mistakes of a spec in the behavior of its atoms and pairs and in each episode's veto and reward."""
    if len(vetoes) >= _NEARLY_ALL * len(returns) and all(len(seen.violated_at) < len(returns) for seen in pairs):
        yield _vetoed_together(spec, vetoes, len(returns))
    for number, (pair, seen) in enumerate(zip(spec.pairs, pairs, strict=True)):
        name = called(number, pair)
        if len(seen.violated_at) == len(returns):
            at_once = max(seen.violated_at) == 0
            when = "at reset" if at_once else f"after {int(np.median(seen.violated_at))} steps at the median"
            message = f"{name} was violated in every episode, {when}."
            yield Finding("always-vetoed", "error" if at_once else "warning", number, message, _NO_VETO)
        if seen.pending and seen.pending >= _OFTEN * len(returns):
            message = f"{name} was still open when {seen.pending} of {len(returns)} episodes ended: what is due then "
            message += "counts as missed, so that its value was 0."
            remedy = f"To count only missed deadlines, write `{forgiving(pair.formula)}`."
            yield Finding("pending-at-end", "warning", number, message, remedy)
        if not pair.formula.atoms or (pair.vetoes and seen.least == 1.0):
            continue  # a constant pay for every step, or a danger that was never met
        if seen.least == seen.most == 1.0:
            message = f"{name} had the value 1 in every step, so it does not tell these episodes apart."
            remedy = "For a trained policy that is what was asked for."
            remedy += " If random actions keep it too, let it ask for more."
            yield Finding("silent", "warning", number, message, remedy)
        elif seen.least == seen.most:
            message = f"{name} had the value {seen.least:g} in every step, so that nothing can be learnt from it yet."
            remedy = "Atoms that say how near, instead of whether, give a value before the goal is reached."
            yield Finding("silent", "warning", number, message, remedy)
        elif seen.moves < _LITTLE and seen.paid < _LITTLE and pair.weight != 0.0:
            message = f"{name} paid {_share(seen.paid)} of all that was paid, and made {_share(seen.moves)} of the"
            message += " changes in the reward from step to step."
            remedy = "If it should guide an agent, give it more weight."
            if 2 * len(vetoes) > len(returns):
                remedy = (
                    f"A veto ended the pay in {len(vetoes)} of {len(returns)} episodes. Look at that first, before you "
                    "give the pair more weight."
                )
            yield Finding("hardly-counts", "warning", number, message, remedy)
    for atom in atoms:
        if atom.least == atom.most:
            message = f"The atom {atom.name!r} was {atom.least:g} in every step."
            remedy = "See whether its function reads the right part of the observation, on the right scale."
            yield Finding("constant-atom", "warning", None, message, remedy)
    if len(returns) > 1 and np.ptp(returns) == 0.0:
        message = f"Every episode had a return of {returns[0]:g}, so that none is better than another."
        remedy = "Play with a policy that gets further, or pay for progress."
        yield Finding("same-return", "warning", None, message, remedy)


def _vetoed_together(spec: Spec, vetoes: Sequence[Veto], episodes: int) -> Finding:
    """Return the finding that nearly every episode was vetoed, by one pair or by several."""
    number, times = Counter(veto.pair for veto in vetoes).most_common(1)[0]
    which = "Every episode was" if len(vetoes) == episodes else f"{len(vetoes)} of {episodes} episodes were"
    message = f"{which} vetoed, most often by pair {number + 1}, `{spec.pairs[number].formula}` ({times} times),"
    message += f" after {int(np.median([veto.step for veto in vetoes]))} steps at the median."
    return Finding("always-vetoed", "warning", number, message, _NO_VETO)


def early_ends(
    spec: Spec, episodes: Sequence[Explanation], terminated: NDArray[np.bool_], returns: NDArray[np.float64]
) -> Iterator[Finding]:
    """Find goals at which episodes end, and are paid less than episodes that go on.

    Args:
        spec: The spec.
        episodes: The explanation of each episode.
        terminated: Whether each episode terminated, shape (episodes,).
        returns: What each episode was paid, shape (episodes,).
    """
    for number, (pair, payment) in enumerate(zip(spec.pairs, spec.payments, strict=True)):
        if payment != "value" or pair.weight <= 0.0 or not is_cosafe(pair.body) or is_propositional(pair.body):
            continue
        most = max(row.values[number] for rows in episodes for row in rows)
        best = [rows[-1].values[number] == most > rows[0].values[number] for rows in episodes]
        unharmed = [rows[-1].vetoed_by is None for rows in episodes]
        ended, others = returns[terminated & best & unharmed], returns[~terminated]
        if min(len(ended), len(others)) < 2:
            continue
        error = np.sqrt(ended.var(ddof=1) / len(ended) + others.var(ddof=1) / len(others))
        if others.mean() - ended.mean() > max(2.0 * error, _LITTLE * abs(others.mean())):
            message = (
                f"{called(number, pair)} had its largest value, {most:.3g}, where {len(ended)} episodes ended, and "
            )
            message += f"they were paid {ended.mean():.4g} on average. The {len(others)} that went on to the last step "
            message += f"were paid {others.mean():.4g}."
            remedy = "If the goal should pay more than waiting beside it, set payment='delta'."
            yield Finding("early-end-paid-less", "warning", number, message, remedy)


def too_long_for(spec: Spec, limit: int | None) -> Iterator[Finding]:
    """Formulas and bounds that are too long for an environment's episodes."""
    linted = LintedSpec(spec, max_episode_steps=limit)
    for rule in (out_of_time, bound_past_limit):
        yield from rule(linted)


def lines_of(seen: Probe) -> Iterator[str]:
    """The tables of a probe, and its findings."""
    count, steps = len(seen.lengths), int(seen.lengths.sum())
    yield f"{count} episode{'s' * (count != 1)}, {steps:,} steps"
    yield ""
    atoms = [
        (each.name, f"{each.least:.3g}", f"{each.mean:.3g}", f"{each.most:.3g}", _share(each.zeros), _share(each.ones))
        for each in seen.atoms
    ]
    yield from _aligned(("atom", "least", "mean", "most", "at 0", "at 1"), atoms)
    yield ""
    vetoes = [
        f"{len(each.violated_at)} of {count}" if pair.vetoes else "–"
        for each, pair in zip(seen.pairs, seen.spec.pairs, strict=True)
    ]
    pairs = [
        (
            each.name,
            f"{each.least:.3g} to {each.most:.3g}",
            f"{each.last:.3g}",
            f"{each.pays:.4g}",
            _share(each.moves),
            veto,
        )
        for each, veto in zip(seen.pairs, vetoes, strict=True)
    ]
    yield from _aligned(("formula", "values", "at the end", "pays", "moves", "vetoes"), pairs)
    yield ""
    columns = {"steps": seen.lengths, "return": seen.returns, "base return": seen.base_returns}
    totals = [(name, *(f"{x:.4g}" for x in (of.min(), of.mean(), of.max()))) for name, of in columns.items()]
    yield from _aligned(("", "least", "mean", "most"), totals)
    remarks = [*map(str, seen.findings), *veto_notes(seen.spec)]
    if remarks:
        yield ""
    for remark in remarks:
        yield textwrap.fill(remark, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _share(share: float) -> str:
    """A share in per cent, in which neither some nor most look like none or all.

    Example:
        >>> _share(0.0), _share(0.001), _share(0.5), _share(0.999), _share(1.0)
        ('0%', '<1%', '50%', '>99%', '100%')
    """
    if 0.0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1.0 else f"{share:.0%}"


def _aligned(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *cells in lines:
        row = [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))]
        yield "  ".join(row).rstrip()

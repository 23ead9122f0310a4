"""The paper's construction, one running value per subformula, beside the definition.

    python examples/paper_construction.py

"Expressive Temporal Specifications for Reward Monitoring" (Adalat and Belardinelli, AAAI-26) keeps one register for
each subformula, and running minima and maxima for `U` and `R`.  This file follows that text so that its values can be
compared with the formula's: docs/paper/construction.md explains where, and why, they part.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import rewardspec as rs
from rewardspec.logic.formulas import Constant

FORMULAS = ("a U b", "F p", "F G p", "!a U (a & F b)", "F(a & F b)", "G(a -> F b)")


def paper_values(
    formula: rs.Formula | str, trace: Mapping[str, Sequence[float]], *, repaired: bool = False
) -> list[float]:
    """The reward register of the paper's monitor after every step.

    Args:
        formula: A formula in which every atom stands under `F`, `G`, `U` or `R`, so that its register is refreshed by
            every letter, as the paper has it.
        trace: Each atom's labels.
        repaired: Combine `U` and `R` with the running value from before the step, as the definition's `k < j` asks.
    """
    formula = rs.parse(formula) if isinstance(formula, str) else formula
    length = len(next(iter(trace.values())))
    registers: dict[tuple[str, rs.Formula], float] = {}

    def keep(what: str, part: rs.Formula, start: float, combine, new: float) -> tuple[float, float]:
        """A running minimum or maximum: its value before the step and after it."""
        before = registers.get((what, part), start)
        registers[what, part] = combine(before, new)
        return before, registers[what, part]

    def update(step: int):
        def value(part: rs.Formula, args: tuple[float, ...]) -> float:
            match part:
                case Constant():
                    return float(part.value)
                case rs.Atom():
                    return trace[part.name][step]
                case rs.formulas.Not():
                    return 1 - args[0]
                case rs.formulas.And():
                    return min(args)
                case rs.formulas.Or():
                    return max(args)
                case rs.formulas.Implies():
                    return max(1 - args[0], args[1])
                case (
                    rs.formulas.Eventually(args=(rs.formulas.Always(args=(inner,)),))
                    | rs.formulas.Always(args=(rs.formulas.Eventually(args=(inner,)),))
                ):
                    return inner.fold(value)  # "only the latest value needs to be tracked"
                case rs.formulas.Eventually():
                    return keep("value", part, 0.0, max, args[0])[1]
                case rs.formulas.Always():
                    return keep("value", part, 1.0, min, args[0])[1]
                case rs.formulas.Until():
                    earlier, now = keep("left", part, 1.0, min, args[0])
                    _, right = keep("right", part, 0.0, max, args[1])
                    return keep("value", part, 0.0, max, min(earlier if repaired else now, right))[1]
                case rs.formulas.Release():
                    earlier, now = keep("left", part, 0.0, max, args[0])
                    _, right = keep("right", part, 1.0, min, args[1])
                    return keep("value", part, 1.0, min, max(earlier if repaired else now, right))[1]
            raise NotImplementedError(f"the paper's construction, as written here, has no {type(part).__name__}")

        return value

    return [formula.fold(update(step)) for step in range(length)]


def random_traces(formula: str, count: int = 500, length: int = 12) -> list[dict[str, list[float]]]:
    """Traces with labels drawn evenly from 0, 1/256, …, 1: `1 - x` is exact there, so values can be compared."""
    rng = random.Random(0)
    labels = [k / 256 for k in range(257)]
    return [{atom: rng.choices(labels, k=length) for atom in rs.parse(formula).atoms} for _ in range(count)]


def misjudged(formula: str, *, repaired: bool = False) -> tuple[int, int]:
    """On how many of 500 random traces the paper's value is not the formula's: after the last step, after any step."""
    at_the_end = anywhere = 0
    for trace in random_traces(formula):
        theirs, exact = paper_values(formula, trace, repaired=repaired), rs.evaluate_prefixes(formula, trace)
        at_the_end += theirs[-1] != exact[-1]
        anywhere += theirs != exact
    return at_the_end, anywhere


def ours_misjudged(formula: str) -> int:
    """The same count, after any step, for this library's monitor."""
    monitor = rs.synthesize(formula)
    return sum(list(monitor.run(trace)) != rs.evaluate_prefixes(formula, trace) for trace in random_traces(formula))


def main() -> None:
    """Print how many of 500 random traces of 12 steps each construction misjudges."""
    print("Of 500 random traces of 12 steps, misjudged after the last step / after some step:\n")
    print(f"{'formula':<16}{'as printed':>14}{'U repaired':>14}{'rewardspec':>14}")
    for formula in FORMULAS:
        printed, repaired = misjudged(formula), misjudged(formula, repaired=True)
        counts = ("{} / {}".format(*printed), "{} / {}".format(*repaired), str(ours_misjudged(formula)))
        print(f"{formula:<16}" + "".join(f"{count:>14}" for count in counts))


if __name__ == "__main__":
    main()

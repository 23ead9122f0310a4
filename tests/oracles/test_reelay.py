"""Values agree with those of reelay, an independent online monitor of past temporal logic, after every step.

Left out are `since` with an interval that does not begin at 0 or has no end, and `once[0:0]`: reelay 25.0 gives these
other values than RTAMT and this library do.
"""

import random

import pytest

import rewardspec as rs
from rewardspec.logic.parsing import parse
from tests.strategies import ATOMS, REALS, random_trace

reelay = pytest.importorskip("reelay")

pytestmark = pytest.mark.oracle


def random_pattern(rng: random.Random, depth: int) -> str:
    """A formula in reelay's syntax; every operand is in parentheses, since a bad pattern ends the process."""
    if depth == 0:
        return f"{{{rng.choice(ATOMS)} > 0}}"
    one, other = random_pattern(rng, depth - 1), random_pattern(rng, depth - 1)
    low, high = rng.randint(0, 3), rng.randint(4, 7)
    interval = rng.choice(("", f"[{low}:{high}]", f"[{high}:{high}]", f"[{low}:]"))
    return rng.choice(
        (
            f"!({one})",
            f"({one}) and ({other})",
            f"({one}) or ({other})",
            f"({one}) -> ({other})",
            f"pre({one})",
            f"once{interval}({one})",
            f"historically{interval}({one})",
            f"({one}) since ({other})",
            f"({one}) since[0:{high}] ({other})",
        )
    )


@pytest.mark.parametrize("seed", range(300))
def test_reelay_finds_the_same_robustness_after_every_step(seed):
    rng = random.Random(seed)
    pattern = random_pattern(rng, 1 + seed % 3)
    online = reelay.discrete_timed_monitor(pattern=pattern, semantics="robustness", condense=False)
    monitor = rs.synthesize(parse(pattern, syntax="reelay"), semantics="robustness")
    trace = random_trace(rng, 30, ATOMS, (REALS,))
    values = monitor.run({atom: trace[atom.removesuffix(" > 0")] for atom in monitor.atoms})
    for step in range(30):
        found = online.update({atom: labels[step] for atom, labels in trace.items()})["value"]
        # Before the first step it puts the least finite number, where ours is infinite.
        assert max(-1e300, min(found, 1e300)) == max(-1e300, min(values[step], 1e300)), (pattern, step)

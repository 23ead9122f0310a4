"""Compare specs with formulas about things with the definition, on many specs, and print a table.

python -m tests.agreement.quantified 180 130     # so many random specs with axes, and so many with sorts of names
"""

from __future__ import annotations

import platform
import random
import sys
import time
import warnings
from collections.abc import Iterator

from tests.agreement.paths import PATHS
from tests.named_cases import NamedCase, compare, random_named_case
from tests.spec_cases import STEPS, Case, fresh_cases

BACKENDS = ("scalar", "numpy", "torch", "jax", "exported_c", "exported_js")
EPISODES, SEED = 48, 24
SLOW = {"jax": 2}  # which takes one case in so many


def main(axes: int, names: int) -> int:
    """Compare, and print how much was compared."""
    warnings.simplefilter("ignore", UserWarning)
    began, wrong = time.time(), 0
    cases = list(_counted(fresh_cases(SEED, axes, True, EPISODES), axes))
    pairs = [pair.formula.quantifier for case in cases for pair in case.spec.pairs]
    print(
        f"{axes} random specs with {len(pairs)} pairs, of which {sum(map(bool, pairs))} are about the things of a sort"
    )
    print(f"with an axis, and {names} specs about sorts of names, on random episodes of up to {STEPS} steps: every")
    print("reward, value and violation compared with the literal definition in `tests/spec_definition.py` and")
    print(
        "`tests/named_cases.py`. Values are equal to the last bit, rewards within 1e-9; in JAX, single precision, both"
    )
    print("within 2e-5; a mean over names within 1e-12.\n")
    print(f"    python -m tests.agreement.quantified {axes} {names}\n")
    print("| path | | specs | prefixes | specs that differ |\n|---|---|--:|--:|--:|")
    for name in BACKENDS:
        chosen = cases[:: SLOW.get(name, 1)]
        size = 60 if name.startswith("exported") else 1
        compared = different = 0
        for start in range(0, len(chosen), size):
            try:
                compared += PATHS[name](chosen[start : start + size])
            except AssertionError as error:
                different += 1
                print(f"{name}: {error}", file=sys.stderr, flush=True)
        wrong += different
        told = (PATHS[name].__doc__ or "").split("\n")[0]
        print(f"| `{name}` | {told} | {len(chosen)} | {compared:,} | {different} |", flush=True)
    compared = different = 0
    for case in _counted(_named(names), names):
        try:
            compared += compare(case)
        except AssertionError as error:
            different += 1
            print(f"names: {error}", file=sys.stderr, flush=True)
    wrong += different
    print(f"| names | things that appear, `Spec.start` and `Spec.step` | {names} | {compared:,} | {different} |")
    print(
        f"\nSpecs that differ: {wrong}. ({time.time() - began:.0f} s, seed {SEED}; Python {platform.python_version()}.)"
    )
    return 1 if wrong else 0


def _named(count: int) -> Iterator[NamedCase]:
    rng, found = random.Random(SEED), 0
    while found < count:
        case = random_named_case(rng, EPISODES)
        if case is not None:
            found += 1
            yield case


def _counted(cases: Iterator[Case] | Iterator[NamedCase], count: int) -> Iterator[Case | NamedCase]:
    for number, case in enumerate(cases, start=1):
        if number % 10 == 0:
            print(f"{number} of {count} specs", file=sys.stderr, flush=True)
        yield case


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))

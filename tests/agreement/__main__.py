"""Compare every way to run a spec with the definition, on many specs, and print a table.

python -m tests.agreement 1000     # so many random specs, and those on file; `make agreement` writes the table
"""

from __future__ import annotations

import platform
import sys
import time
import warnings

from tests.agreement.paths import PATHS
from tests.spec_cases import STEPS, Case, fresh_cases, read

SLOW = {
    "jax": 10,
    "jax_environments": 40,
    "sb3_buffer": 10,
    "counterfactual": 3,
    "vector_torch": 4,
    "vector_jax": 40,
}  # which take one case in so many
SEED = 20


def main(count: int) -> int:
    """Compare, and print how much was compared."""
    warnings.simplefilter("ignore", UserWarning)  # of violated first states, and of ends that are never seen
    began, cases = time.time(), [*read()]
    on_file = len(cases)
    for case in fresh_cases(SEED, count):
        cases.append(case)
        if len(cases) % 50 == 0:
            print(f"{len(cases)} specs, {time.time() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"{len(cases):,} random specs with {sum(len(case.spec.pairs) for case in cases):,} pairs, {on_file} of them")
    print(f"on file, on random episodes of up to {STEPS} steps: every reward, value and violation compared with the")
    print("literal definition in `tests/spec_definition.py`. Values are equal to the last bit, rewards within 1e-9;")
    print("in JAX, single precision, both within 2e-5.\n")
    print(f"    python -m tests.agreement {count}\n")
    print("| path | | specs | rewards compared | differences |\n|---|---|--:|--:|--:|")
    wrong = 0
    for name, path in PATHS.items():
        chosen = cases[:: SLOW.get(name, 1)]
        compared, different = 0, 0
        for part in _parts(name, chosen):
            try:
                compared += path(part)
            except AssertionError as error:
                different += 1
                print(f"{name}: {error}", file=sys.stderr, flush=True)
        wrong += different
        told = (path.__doc__ or "").split("\n")[0].replace("|", "\\|")
        print(f"| `{name}` | {told} | {len(chosen):,} | {compared:,} | {different} |", flush=True)
    print(
        f"\nSpecs that differ: {wrong}. ({time.time() - began:.0f} s, seed {SEED}; Python {platform.python_version()}.)"
    )
    return 1 if wrong else 0


def _parts(name: str, cases: list[Case]) -> list[list[Case]]:
    """Cases one at a time, so that one that differs hides no other; exported code is compiled for many at once."""
    size = 100 if name.startswith("exported") else 1
    return [cases[start : start + size] for start in range(0, len(cases), size)]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

"""Compare rewards in nine families of JAX environments with the scalar monitor, and print a table.

python -m tests.jax 100000             # so many steps in each family; needs the extra `jax-envs`
python -m tests.jax 100000 gymnax pgx  # some families
"""

from __future__ import annotations

import contextlib
import platform
import sys
import time
import warnings
from importlib import metadata

import jax

import rewardspec as rs
from tests.jax.families import FAMILIES, Family, example
from tests.jax.replay import compare, computed_once, rollout

ENVS, CHUNK = 100, 200
PAYMENTS = ("value", "delta", "potential", "final")


def spec_of(family: Family, atoms: rs.Spec) -> rs.Spec:
    """Formulas over the atoms of the family's example, each paid in all four ways, and a veto."""
    one, other = family.atoms
    formulas = (f"F({one} & F {other})", f"G({one} -> F[0,10] {other})", f"F[3,12] {other} & H[0,4] {one}")
    pairs = [
        rs.Pair(formula, weight, payment=payment, veto=False, name=f"{payment}: {formula}")
        for formula, weight in zip(formulas, (0.125, 0.0625, 0.03125), strict=True)
        for payment in PAYMENTS
    ]
    veto = rs.Pair(family.safety, 0.125, penalty=-0.25, veto=True)
    return computed_once(rs.Spec([veto, *pairs], atoms.atom_functions, discount=0.9))


def row(name: str, steps: int) -> str:
    """A row of the table."""
    family, began = FAMILIES[name], time.time()
    env, of_example = example(family)
    auto_reset = family.auto_reset
    envs = rs.jax.SpecReward(env, spec_of(family, of_example), ENVS, limit=family.limit, auto_reset=auto_reset)
    length = -(-steps // (ENVS * CHUNK)) * CHUNK
    state, found = rollout(envs, length, chunks=length // CHUNK)
    envs.check_labels(state)
    took = time.time() - began
    compared = compare(envs, found)
    print(f"{name}: {took:.0f} s of rollout, {time.time() - began - took:.0f} s of replay", file=sys.stderr, flush=True)
    cells = [f"{compared.steps:,}", f"{compared.episodes:,}", f"{compared.violations:,}"]
    version = metadata.version(family.package)
    result = [str(compared.differing_values), f"{compared.largest_gap:.1e}"]
    wrong = compared.differing_values or compared.largest_gap > 1e-6
    return f"| {family.title} {version} | {family.env} | {' | '.join(cells + result)} |{' WRONG' if wrong else ''}"


def main(steps: int, names: list[str]) -> int:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("Rewards in JAX environments, in single precision, beside the scalar monitor on the recorded labels: random")
    print(f"actions in {ENVS} environments, three formulas paid in each of the four ways, and a veto. Values are equal")
    print("to the last bit, rewards within 1e-6.\n")
    print(f"    python -m tests.jax {' '.join([str(steps), *names])}\n")
    print("| library | environment | steps | episodes | violations | values that differ | largest gap of rewards |")
    print("|---|---|--:|--:|--:|--:|--:|")
    rows = []
    for name in names or FAMILIES:
        with contextlib.redirect_stdout(sys.stderr):  # some packages print when they are imported
            rows.append(row(name, steps))
        print(rows[-1], flush=True)
    print(f"\nPython {platform.python_version()}, JAX {jax.__version__}, {jax.default_backend()}.")
    return any(each.endswith("WRONG") for each in rows)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))

"""Random partial resets of a spec in torch, compared with NumPy and with single episodes.

    python benchmarks/torch_agreement.py                # a million resets: some minutes
    python benchmarks/torch_agreement.py --resets 10000

`rewardspec.torch.SpecTerm` runs specs with all payments, windows and guarded windows in many environments, and most
steps end some episodes. The environments to reset are named by a slice, a list, indices or a mask. Every reward and
value is compared with `Spec.step` of a NumPy batch in double precision, and those of some environments with single
episodes, stepped on Python numbers. Labels are multiples of 1/256, so that values have to be equal; rewards are sums,
compared up to 1e-9.
"""

from __future__ import annotations

import argparse
import platform
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import rewardspec as rs
from rewardspec.torch import SpecTerm

PAIRS = [
    ("F(a & F b)", 2, False),
    ("G(a -> F[0,20] b)", 1),
    ("F G (a U[0,7] b)", 0.5, False),
    ("G(b -> O[0,30] a)", 1, False),
    ("F(a & X[5] b)", -1, False),
]
SINGLE = 8  # environments that are compared with single episodes


def atoms() -> dict[str, Any]:
    return {name: lambda obs, action, env, name=name: env.labels[name] for name in ("a", "b")}


def run(payment: Any, num_envs: int, resets: int, seed: int) -> tuple[int, int, float]:
    """Return the numbers of resets and of rewards that were compared, and the largest difference of two rewards."""
    spec = rs.Spec(PAIRS, atoms(), penalty=-2, payment=payment)
    rng = np.random.default_rng(seed)
    env = SimpleNamespace(num_envs=num_envs, device="cpu", step_dt=0.02, termination_manager=SimpleNamespace())
    term = SpecTerm(SimpleNamespace(params={"spec": spec, "divide_by_dt": False}), env)
    batch = spec.initial_state(num_envs)
    single = [spec.initial_state() for _ in range(SINGLE)]
    done = compared = 0
    worst = 0.0
    while done < resets:
        labels = {name: rng.choice((0, 0, 64, 128, 200, 256, 256), num_envs) / 256 for name in ("a", "b")}
        terminated, truncated = rng.random((2, num_envs)) < rng.choice((0.0, 0.02, 0.2))
        env.labels = {name: torch.as_tensor(column) for name, column in labels.items()}
        env.termination_manager.terminated = torch.as_tensor(terminated)
        env.termination_manager.time_outs = torch.as_tensor(truncated)
        found = term(env, spec)
        batch, paid = spec.step(batch, labels, 0.0, terminated, truncated)
        worst = max(worst, float(abs(found.numpy() - paid).max()))
        for value, expected in zip(term.values.values(), spec.values(batch), strict=True):
            assert (value.numpy() == expected).all()
        assert (term.violated.numpy() == spec.violated(batch)).all()
        for k in range(SINGLE):
            letter = {name: float(column[k]) for name, column in labels.items()}
            single[k], reward = spec.step(single[k], letter, 0.0, bool(terminated[k]), bool(truncated[k]))
            assert spec.values(single[k]) == tuple(float(value[k]) for value in term.values.values())
            worst = max(worst, abs(reward - float(found[k])))
        compared += num_envs
        ended = terminated | truncated
        where = ended.nonzero()[0]
        if not len(where):
            continue
        if rng.random() < 0.1:  # a block of neighbours, whether their episodes ended or not
            first = int(rng.integers(num_envs - 8))
            ids: Any = slice(first, first + 8)
            where = np.arange(first, first + 8)
        else:
            mask = torch.as_tensor(ended)
            ids = [mask, mask.nonzero()[:, 0], where.tolist()][int(rng.integers(3))]
        term.reset(ids)
        batch = spec.machine.begin(batch, np.isin(np.arange(num_envs), where))
        for k in where[where < SINGLE]:
            single[k] = spec.initial_state()
        done += len(where)
    assert worst < 1e-9, worst
    return done, compared, worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--resets", type=int, default=1_000_000)
    parser.add_argument("--envs", type=int, default=8192)
    given = parser.parse_args()
    print("# Partial resets in torch\n")
    versions = f"torch {torch.__version__}, Python {platform.python_version()}"
    print(f"{given.envs:,} environments, {versions}; all values equal.\n")
    print("| payment | resets | rewards compared | largest difference | s |\n|---|---:|---:|---:|---:|")
    total = 0
    for number, payment in enumerate(("value", "delta", "potential", "final")):
        began = time.perf_counter()
        resets, rewards, worst = run(payment, given.envs, given.resets // 4, number)
        total += resets
        print(f"| {payment} | {resets:,} | {rewards:,} | {worst:.1e} | {time.perf_counter() - began:.0f} |", flush=True)
    print(f"\n{total:,} resets in all.")


if __name__ == "__main__":
    main()

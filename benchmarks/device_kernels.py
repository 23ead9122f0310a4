"""How many kernels a step takes on an H200, counted on a machine without one.

    python -m venv VENV
    VENV/bin/pip install -e .[jax] gymnax six
    VENV/bin/pip install jax-cuda13-plugin==V jax-cuda13-pjrt==V nvidia-cuda-nvcc    # V: the version of JAX
    VENV/bin/python benchmarks/device_kernels.py --timed benchmarks/results/device_windows.md

XLA compiles each step for the GPU, and its loop's instructions that do work are counted. A GPU launches each as a
kernel of its own, and for small environments that is most of what a step takes. So kernels say what a change is worth
where no GPU can be had. They do not say how long a kernel runs, which matters for large batches and long windows.

`--timed` takes a result of `benchmarks/device_windows.py` and prints its times beside the kernels. The library has to
be the one that was measured.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")  # there is no driver to ask for its version
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"

import device_windows
import jax
import jax.numpy as jnp
import numpy as np
import quantified
from jax.experimental import topologies
from jax_environments import FAMILIES, VARIANTS, kernels, rollout

H200 = """
gpu_device_info {
  cuda_compute_capability { major: 9 }
  core_count: 132
  fpus_per_core: 128
  threads_per_warp: 32
  threads_per_block_limit: 1024
  threads_per_core_limit: 2048
  shared_memory_per_block: 49152
  shared_memory_per_block_optin: 232448
  shared_memory_per_core: 233472
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 4800000000000
  l2_cache_size: 62914560
  clock_rate_ghz: 1.98
  device_memory_size: 150754820096
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 7 }
runtime_version { major: 13 minor: 0 patch: 0 }
device_description_str: "NVIDIA H200"
"""
ENVS, STEPS = 4_096, 1_000


def compiled_for_h200(run: Callable[..., Any], *arguments: Any) -> str:
    """Return the text of a program as XLA compiles it for an H200.

    Args:
        run: Function of arrays.
        arguments: Its arguments, or their shapes and dtypes.
    """
    topology = topologies.get_topology_desc(platform="cuda", target_config=H200, topology="1x1x1")
    mesh = topologies.make_mesh(topology, (1,), ("devices",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    structs = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), arguments)
    return jax.jit(run).lower(*structs).compile().as_text()


def line(name: str, text: str, bare: int, timed: str = "") -> int:
    """Print a row, and return the number of kernels."""
    found = kernels(text)
    added = len(found) - (bare or len(found))
    print(f"| {name} | {len(found)} | {added:+d} | {found.count('copy')} |{timed}", flush=True)
    return len(found)


def times_of(path: Path) -> dict[str, float]:
    """Return the µs that each variant adds, from a result of `device_windows.py`."""
    rows = re.findall(r"^\| ([^|]+) \| [\d.]+ \| ([+-][\d.]+) \|", path.read_text(), flags=re.MULTILINE)
    found: dict[str, float] = {}
    for name, added in rows:
        found.setdefault(name, float(added))
    return found


def windows(times: dict[str, float]) -> Iterator[tuple[int, float]]:
    """Print the table of CartPoles with windows, and yield kernels and µs added, where there are times."""
    head, bare = (" µs added, measured |", 0) if times else ("", 0)
    print(f"\n`SpecReward` around CartPole, `benchmarks/device_windows.py`:\n\n| | kernels | added | copies |{head}")
    print("|---|--:|--:|--:|" + ("--:|" if times else ""))
    for name, (pairs, observe) in device_windows.SPECS.items():
        if name == "bare again":
            continue
        text = compiled_for_h200(device_windows.wrapped(pairs, observe, ENVS, STEPS), jax.random.key(0))
        count = line(name, text, bare, f" {times[name]:+.2f} |" if times else "")
        bare = bare or count
        if times and count > bare:
            yield count - bare, times[name]


def environments() -> None:
    print("\nThe CartPole of gymnax, `benchmarks/jax_environments.py`:\n")
    print("| | kernels | added | copies |\n|---|--:|--:|--:|")
    family, bare = FAMILIES["CartPole"](), 0
    for name, (formulas, observe) in VARIANTS.items():
        run, reset = rollout(family, formulas, observe, ENVS)
        carry = jax.eval_shape(lambda key, reset=reset: (key, reset(key)[0], jnp.zeros(ENVS)), jax.random.key(0))
        count = line(name, compiled_for_h200(run, carry), bare)
        bare = bare or count


def things() -> None:
    print("\nFormulas about one thing and about eight, `benchmarks/quantified.py --jax`:\n")
    print("| | one thing | of them copies | eight | of them copies |\n|---|--:|--:|--:|--:|")
    for formula in quantified.FORMULAS:
        cells = []
        for count in (1, quantified.THINGS):
            run, state = quantified.scanned(quantified.spec_of(formula, count), count, ENVS, STEPS)
            found = kernels(compiled_for_h200(run, state))
            cells.append(f"{len(found)} | {found.count('copy')}")
        print(f"| `{formula}` | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timed", type=Path, help="result of device_windows.py; prints its times beside the kernels")
    given = parser.parse_args()
    print(f"Kernels of a step of {ENVS:,} environments, compiled for an H200 by JAX {jax.__version__} without one.")
    pairs = list(windows({} if given.timed is None else times_of(given.timed)))
    if pairs:
        counts, added = np.array(pairs).T
        slope = (counts * added).sum() / (counts**2).sum()
        off = abs(added - slope * counts).max()
        print(f"\nA kernel takes {slope:.2f} µs (least squares through 0; at most {off:.1f} µs off in a row).")
    environments()
    things()


if __name__ == "__main__":
    main()

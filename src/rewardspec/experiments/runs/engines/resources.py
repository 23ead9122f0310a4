"""Keeping a worker to its own cores: many small programs side by side are faster than each of them on all cores."""

from __future__ import annotations

import os


def keep_to_cores(threads: int) -> None:
    """Let this process compute on so many threads, and not on an accelerator; to be called before JAX is imported.

    Programs this small gain nothing from an accelerator, several processes would fight over its memory, and the same
    seed should give the same numbers on every machine. Whoever wants one nevertheless sets `JAX_PLATFORMS`.
    """
    use_processor()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["NPROC"] = str(threads)  # the size of XLA's pools of threads
    if threads == 1 and _ONE_THREAD not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_ONE_THREAD}".strip()


def use_processor() -> None:
    """Let JAX compute on the processor unless the environment says otherwise."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"

"""Keeping a worker to its own cores."""

import os
import subprocess
import sys

import pytest

from rewardspec.lab.experiments.engines.worker import limit_threads

NAMES = ("JAX_PLATFORMS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC", "XLA_FLAGS")


@pytest.fixture
def environment(monkeypatch):
    """An environment in which nothing of this is set, and which is as before afterwards."""
    for name in NAMES:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("environment")
def test_the_libraries_are_told_how_many_threads_to_use():
    limit_threads(3)
    assert [os.environ.get(name) for name in NAMES] == ["cpu", "3", "3", "3", "3", None]


@pytest.mark.usefixtures("environment")
def test_flags_that_are_set_already_are_kept(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=here")
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    limit_threads(1)
    limit_threads(1)
    assert os.environ["XLA_FLAGS"] == "--xla_dump_to=here --xla_cpu_multi_thread_eigen=false"
    assert os.environ["JAX_PLATFORMS"] == "cuda"


def test_jax_takes_the_settings_for_what_they_are():
    code = (
        "from rewardspec.lab.experiments.engines.worker import limit_threads\nlimit_threads(1)\n"
        "import jax\nprint(jax.devices()[0].platform, float(jax.jit(lambda x: x @ x)(jax.numpy.ones(3))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("cpu 3.0\n", 0), done.stderr

"""Settings that every test shares."""

import importlib.util
import os
import tempfile

import hypothesis

# The tests run in as many processes as there are cores: threads of torch and BLAS would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The tests compile the same JAX programs many times: in several processes, and in tests that call a command twice. The
# first of them puts its program here, unless it was quick. The folder is new in every session, so that nothing depends
# on an earlier one. JAX locks it only where its size is limited, and needs filelock for that.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ and importlib.util.find_spec("filelock"):
    _programs = tempfile.TemporaryDirectory(prefix="jax-programs-", ignore_cleanup_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _programs.name  # workers and commands inherit it
    os.environ["JAX_COMPILATION_CACHE_MAX_SIZE"] = str(4 * 2**30)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.5"

# No deadline: how long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")

"""Settings that every test shares."""

import os

import hypothesis

# The tests run in as many processes as there are cores: threads of torch and BLAS would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No deadline: how long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")

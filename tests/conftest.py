"""Settings that every test shares."""

import os

import hypothesis

# No deadline: how long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")

"""Results that outlast an interruption, of `benchmarks/device_jobs.py`."""

import importlib
import json
import time
from pathlib import Path

import pytest

JOBS = [{"name": "a", "steps": 2}, {"name": "b", "steps": 2}]
SCRIPT = """
import json, sys
import device_jobs
job = json.loads(sys.argv[2])
from pathlib import Path
device_jobs.append(Path(sys.argv[4]), job, {"steps": job["steps"], "new": True})
"""


@pytest.fixture
def device_jobs():
    return importlib.import_module("device_jobs")


def test_jobs_without_a_whole_result_are_run(device_jobs, tmp_path, monkeypatch):
    script, path, said = tmp_path / "script.py", tmp_path / "results.jsonl", []
    script.write_text(SCRIPT)
    monkeypatch.setenv("PYTHONPATH", str(Path(device_jobs.__file__).parent))
    first = "".join(json.dumps({"job": job, "steps": k + 1}) + "\n" for k, job in enumerate(JOBS))
    path.write_text(first)

    def run(**options):
        return device_jobs.run_all(str(script), JOBS, path, 2, time.monotonic() + 60, said.append, **options)

    assert run()
    assert said == []
    assert not run(complete=lambda result: "newer" in result)  # whatever the jobs' exit status
    path.write_text(first)
    said.clear()
    assert run(complete=lambda result: result["steps"] == result["job"]["steps"])
    assert len(said) == 1
    assert [(one["job"]["name"], one["steps"], "new" in one) for one in device_jobs.load(path)] == [
        ("a", 2, True),
        ("b", 2, False),
    ]

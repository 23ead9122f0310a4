"""The page of the tasks that need memory is what its script writes, from results that the benchmark wrote."""

import importlib.util
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[3]


def script(path):
    found = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_is_what_its_script_writes():
    assert (ROOT / "docs" / "memory.md").read_text(encoding="utf-8") == script(ROOT / "docs/scripts/memory.py").page()


def test_a_curve_is_a_mean_over_the_last_episodes():
    benchmark = script(ROOT / "docs/scripts/memory.py").benchmark
    from rewardspec.lab.learning.training_log import COLUMNS, TrainingLog

    rng = np.random.default_rng(0)
    ends = np.cumsum(rng.integers(1, 300, 900))
    shares = rng.uniform(0, 1, 900)
    rows = dict.fromkeys(COLUMNS, np.zeros(900)) | {"end_step": ends, "share_of_optimum": shares}
    cell = benchmark.Cell("office", False, "pays", "crm", 100_000)
    found = benchmark.curve(TrainingLog.from_columns(1, rows), cell)[0]
    for k, share in enumerate(found):
        own = shares[ends <= (k + 1) * 1_000][-400:]
        assert abs(share - (own.mean() if len(own) else 0.0)) < 1e-9


def test_every_cell_that_is_reported_was_run_as_it_is_described():
    benchmark = script(ROOT / "docs/scripts/memory.py").benchmark
    cells = {cell.name: cell for cell in benchmark.cells()}
    for path in benchmark.RESULTS.glob("*.json"):
        if path.stem != "ratios":
            result = json.loads(path.read_text())
            assert cells[path.stem] == benchmark.Cell(**result["cell"])
            assert result["runs"] == (60 if cells[path.stem].world == "office" else 66)

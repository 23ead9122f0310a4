"""How long `import rewardspec` takes, beside the two libraries that it is used with.

    python benchmarks/import_time.py

Each import runs in a fresh process that prints its own time, so that starting Python does not count. All take turns,
and the median of many rounds counts. `rewardspec` loads Gymnasium only when an environment is wrapped, which is what
the last line adds.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys

IMPORTS = {
    "`import numpy`": "import numpy",
    "`import numpy, gymnasium`": "import numpy, gymnasium",
    "`import rewardspec`": "import rewardspec",
    "`import rewardspec`, and its wrappers": "import rewardspec; rewardspec.wrappers.MonitorReward",
}
PROGRAM = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21, help="default 21")
    arguments = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for turn in range(arguments.rounds + 1):
        for name, code in IMPORTS.items():
            command = [sys.executable, "-c", PROGRAM.format(code)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            if turn > 0:  # the first round finds nothing in the file cache
                seconds[name].append(float(printed.split()[-1]))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    unit = medians["`import numpy, gymnasium`"]
    print(f"Python {platform.python_version()}\n")
    print("| | milliseconds | times `import numpy, gymnasium` |\n|---|--:|--:|")
    for name, median in medians.items():
        print(f"| {name} | {median * 1e3:.0f} | {median / unit:.2f} |")


if __name__ == "__main__":
    main()

"""How long `import rewardspec` takes, beside the two libraries that it is used with.

    python benchmarks/import_time.py

Each import runs in a fresh process that prints its own processor time, so that starting Python does not count. All take
turns, and the median of many rounds counts. `rewardspec` loads a module when a name of it is first used. The later
lines show what the names that most programs use add; the last one loads Gymnasium too.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys

IMPORTS = {
    "`import numpy`": "import numpy",
    "`import numpy, gymnasium`": "import numpy, gymnasium",
    "`import rewardspec`": "import rewardspec",
    "`import rewardspec`, with `Spec` and `synthesize`": "import rewardspec; rewardspec.Spec, rewardspec.synthesize",
    "`import rewardspec`, with its wrappers": "import rewardspec; rewardspec.wrappers.MonitorReward",
}
PROGRAM = "import time; start = time.process_time(); {}; print(time.process_time() - start)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21, help="default 21")
    arguments = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for turn in range(arguments.rounds + 1):
        for name, code in IMPORTS.items():
            command = [sys.executable, "-c", PROGRAM.format(code)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
            if turn > 0:  # the first round compiles the modules
                seconds[name].append(float(printed.split()[-1]))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    unit = medians["`import numpy, gymnasium`"]
    print(f"Python {platform.python_version()}\n")
    print("| | milliseconds | times `import numpy, gymnasium` |\n|---|--:|--:|")
    for name, median in medians.items():
        print(f"| {name} | {median * 1e3:.0f} | {median / unit:.2f} |")


if __name__ == "__main__":
    main()

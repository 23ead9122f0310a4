"""`python -m tests.lab.experiments.run_fakes RESULTS SIGNS JOBS [WAITING]`: a reproduction of jobs that take no time.

The last so many of them wait for a sign. This is the process that tests kill.
"""

import signal
import sys

from rewardspec.lab.experiments.engines.local import Local
from rewardspec.lab.experiments.running import Interrupted, run_jobs
from tests.lab.experiments.fakes import FakeWork, several

if __name__ == "__main__":
    # Where the tests run in the background, Ctrl-C may be switched off, which is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    directory, signs, count, *waiting = sys.argv[1:]
    jobs = several(int(count))
    acts = {one.key: "wait" for one in jobs[len(jobs) - int(waiting[0]) :]} if waiting else {}
    try:
        summary = run_jobs(directory, jobs, Local(2), FakeWork(signs, acts), study={"study": "paper"})
    except Interrupted as error:
        print(error)
        sys.exit(130)
    print(f"{summary.done} done, {summary.skipped} skipped, {len(summary.failed)} failed")

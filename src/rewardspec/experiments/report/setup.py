"""The report's last part: how things were measured, with which settings, versions, commands and machines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rewardspec.experiments import convergence, statistics
from rewardspec.experiments.report.html import escape, table
from rewardspec.experiments.report.page import Section
from rewardspec.experiments.summaries import Summaries, Summary
from rewardspec.tasks import registry


def method_section() -> Section:
    """How the numbers are made."""
    low, high = convergence.TOLERANCE
    content = f"""<dl class="facts">
<dt>Task completion</dt><dd>A measure of success in [0, 1] at the last step of every episode. The learner never sees
it. A cell's number is the mean over all episodes of all runs, those from the beginning of training included.</dd>
<dt>Intervals</dt><dd>The first table prints the paper's 95&nbsp;% interval, over all episodes pooled as if they were
independent. Episodes of one run are not, so that everything else here takes a run's mean as one observation, with
Student's t.</dd>
<dt>IQM</dt><dd>Interquartile mean: the mean of the middle half of the runs. Its interval is the percentile bootstrap's,
{statistics.RESAMPLES:,} draws of runs; over environments, drawn within each.</dd>
<dt>Last tenth</dt><dd>Episodes of the last tenth of a run's training: of its episodes with Q-learning, of its steps
with PPO.</dd>
<dt>Convergence</dt><dd>The paper's: rewards of episodes, averaged exponentially with span {convergence.SPAN} and looked
at every {convergence.SPAN} episodes, have converged when each of the last {convergence.PAIRS} changes, relative to the
level before it, is within the tolerance. The tolerance is {convergence.NOISE:g} standard deviations of these changes,
at least {100 * low:g}&nbsp;% and at most {100 * high:g}&nbsp;%: how the paper adapts it to noise it does not say. The
test cannot hold before episode {(convergence.PAIRS + 1) * convergence.SPAN}. The mean is over the runs that converged,
and None where fewer than half did. Many of the paper's means are below that least episode; they may count runs that did
not converge as 0, and <code>summaries.json</code> has that mean too.</dd>
<dt>Seconds</dt><dd>All runs of a cell are trained together. A run's seconds are an equal part of the wall-clock time of
the training, up to where it converged. The paper trained on other machines.</dd>
<dt>Star</dt><dd>The rewards converged, and another of the paper's three rewards completes more of the task.</dd>
<dt>Curves</dt><dd>Each run smoothed by a moving average over {statistics.WINDOW} episodes; line and band are the mean
over runs and its 95&nbsp;% interval. Triangles are the paper's means over all of training.</dd>
</dl>"""
    return Section("method", "How it was measured", content)


def setup_section(results: Summaries) -> Section:
    """Settings, commands, versions and machines."""
    cells = results.all()
    parts = (
        Section("settings", "Settings", "\n".join(_settings(cells))),
        Section("provenance", "Commands, versions, machines", "\n".join(_provenance(cells))),
    )
    return Section("configuration", "Configuration", "", parts)


def _settings(cells: list[Summary]) -> Iterator[str]:
    groups: dict[str, list[Summary]] = {}
    for cell in cells:
        groups.setdefault(json.dumps(cell.as_json()["config"], sort_keys=True), []).append(cell)
    for config, members in groups.items():
        tasks = dict.fromkeys(cell.task for cell in members)
        counts = {task: sum(cell.task == task for cell in cells) for task in tasks}
        names = []
        for task in tasks:
            rewards = [cell.reward for cell in members if cell.task == task]
            # Only settings that hold for some of a row's rewards need say for which.
            only = "" if len(rewards) == counts[task] else f" ({', '.join(rewards)})"
            names.append(registry.get(task).title + only)
        runs = sorted({cell.runs for cell in members})
        yield f"<h4>{escape(', '.join(names))}</h4>"
        yield f'<p class="note">{_listed(runs)} runs of each cell.</p>'
        rows = [(f"<code>{escape(key)}</code>", escape(_value(value))) for key, value in json.loads(config).items()]
        yield table(["Setting", "Value"], rows, numbers=(1,))


def _provenance(cells: list[Summary]) -> Iterator[str]:
    commands = dict.fromkeys(command for cell in cells for command in cell.commands)
    yield f"<pre><code>{escape(chr(10).join(commands))}</code></pre>"
    versions: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, version in cell.versions.items():
            versions.setdefault(name, {})[version] = None
    rows = [(escape(name), escape(", ".join(found))) for name, found in versions.items()]
    yield table(["Trained with", "Version"], rows)
    devices = dict.fromkeys(device for cell in cells for device in cell.devices)
    if devices:
        yield f"<p>Trained on: {escape('; '.join(devices))}.</p>"
    seconds = sum(cell.seconds for cell in cells)
    yield f"<p>Training took {duration(seconds)}, cell after cell.</p>"


def duration(seconds: float) -> str:
    """A time for people.

    Example:
        >>> duration(4.21), duration(75.0), duration(7384.0)
        ('4.2 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _listed(numbers: list[int]) -> str:
    return " or ".join(f"{number:,}" for number in numbers)


def _value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

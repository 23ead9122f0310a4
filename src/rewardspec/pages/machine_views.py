"""Monitors as pages show them: their equations, their picture, and how they run."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence

from rewardspec.drawing.diagrams import DiagramError, diagram_of
from rewardspec.drawing.svg import to_svg
from rewardspec.errors import SynthesisError
from rewardspec.machines.listings import PRIME, Listing, short_names
from rewardspec.machines.monitor import Monitor
from rewardspec.types import Json, JsonObject


def machine_view(monitor: Monitor) -> JsonObject:
    """Describe a monitor as data for a page."""
    program = monitor.program
    windows = [window.name for window in program.windows]
    names = short_names([*program.registers, *windows], program.atoms)
    listing = Listing(program, names)
    equations = []
    for control in range(len(program.steps)):
        found = listing.equations(control)
        value = found.reward.replace("reward", "value", 1)
        equations.append([*found.updates, *([value] if value != f"value = value{PRIME}" else [])])
    picture = ""
    with contextlib.suppress(DiagramError):  # where it is too large to be drawn
        picture = to_svg(diagram_of(monitor))
    shown = [f"{names[name]}: {name}" if name in names else name for name in (*program.registers, *windows)]
    count = len(program.registers)
    return {"equations": equations, "svg": picture, "registers": shown[:count], "windows": shown[count:]}


def run_of(monitor: Monitor, labels: Mapping[str, Sequence[float]], length: int, bound: float = math.inf) -> JsonObject:
    """Value, bounds, progress, control state and registers after every step, each where it is known.

    The value and its bounds are shown as they are paid, so within [-bound, bound].
    """

    def paid(value: float) -> float:
        return short(min(max(value, -bound), bound))

    state = monitor.initial_state()
    has_bounds = has_progress = True
    try:
        monitor.bounds(state)
    except SynthesisError:
        has_bounds = False
    try:
        has_progress = monitor.semantics == "degree" and bool(monitor.progress_expressions)
    except SynthesisError:
        has_progress = False
    columns: dict[str, list[Json]] = {"values": [], "lower": [], "upper": [], "progress": [], "control": []}
    cells: list[list[float]] = [[] for _ in (*monitor.registers, *monitor.program.windows)]
    for step in range(length):
        state, value = monitor.step(state, {atom: labels[atom][step] for atom in monitor.atoms})
        columns["values"].append(paid(value))
        if has_bounds:
            lower, upper = monitor.bounds(state)
            columns["lower"].append(paid(lower))
            columns["upper"].append(paid(upper))
        if has_progress:
            columns["progress"].append(short(monitor.progress(state)))
        control, registers, windows, _ = monitor.machine.parts(state)
        columns["control"].append(control)
        for column, cell in zip(cells, (*registers, *windows), strict=True):
            column.append(short(cell))
    return {**{name: column or None for name, column in columns.items()}, "cells": cells}


def short(value: float) -> float:
    """A number with as many digits as a page shows, and some more.

    Example:
        >>> short(1 / 3)
        0.333333
    """
    return float(f"{value:.6g}")

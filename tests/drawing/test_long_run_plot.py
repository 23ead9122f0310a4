"""Plots of long runs."""

import numpy as np
import pytest

from rewardspec.drawing.run_plot import envelope, plot_run


def pixels(column: list[float]) -> np.ndarray:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(plot_run("G a", {"a": column}, [1.0] * len(column)))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


@pytest.mark.parametrize("usual", [0.0, 1.0])
def test_one_step_is_visible_among_20000(usual):
    column = [usual] * 20_000
    plain = pixels(column)
    column[12_345] = 1.0 - usual
    assert (np.abs(pixels(column) - plain).max(axis=2) > 20).sum() > 20


@pytest.mark.parametrize("length", [1, 7, 1000, 1001, 2500])
def test_the_envelope_holds_every_value_and_no_other(length):
    column = np.random.default_rng(length).random(length)
    places, lows, highs = envelope(list(column))
    assert len(places) <= 1000
    for start, stop, low, high in zip(places, [*places[1:], length], lows, highs, strict=True):
        assert (low, high) == (min(column[start:stop]), max(column[start:stop]))

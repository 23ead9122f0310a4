"""Live figures: a spec's panels with signals that can be drawn, in one page that needs no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardspec.export.js_code import js_object
from rewardspec.export.sources import source_of_monitor
from rewardspec.pages.front_files import whole_page
from rewardspec.pages.playground import specs_under_each_payment
from rewardspec.spec.spec import Spec
from rewardspec.synthesis.quantitative.synthesize import synthesize


def figure_html(spec: Spec, signals: Mapping[str, Sequence[float]], title: str, *, reward: bool = True) -> str:
    """A page that shows a spec's formulas, and its reward under each way to pay, over signals that can be drawn.

    `signals` are for each atom the labels to start from, all of one length. The reward can be left out.
    """
    degree = spec.semantics == "degree"
    monitors = [synthesize(pair.formula, semantics=spec.semantics, progress=degree) for pair in spec.pairs]
    objects = ", ".join(js_object(source_of_monitor(monitor, "m")) for monitor in monitors)
    specs = specs_under_each_payment(spec) if reward else "null"
    data = {
        "names": list(spec.names),
        "payment": spec.payment,
        "real": not degree,
        "bound": spec.bound,
        "signals": {atom: list(values) for atom, values in signals.items()},
    }
    machines = f"globalThis.MACHINES = {{ monitors: [{objects}], specs: {specs} }};"
    return whole_page("figure.html", ["timeline.js", "board.js", "figure.js"], data, title, machines)

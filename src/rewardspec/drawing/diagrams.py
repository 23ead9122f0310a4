"""Diagrams of machines: what a picture shows, before any drawing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewardspec.errors import Error
from rewardspec.logic.formulas import Formula, Or
from rewardspec.machines.listings import equations, in_reading_order, initial_values, short_names

if TYPE_CHECKING:
    from rewardspec.machines.monitor import Monitor
    from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor

MOST_STATES = 64
MOST_EDGES = 400
MOST_LINES = 400
MOST_TITLE = 400


class DiagramError(Error, ValueError):
    """A machine that cannot be drawn, or a drawing that cannot be written."""


@dataclass(frozen=True)
class Node:
    """One state.

    Attributes:
        id: A name for edges and renderers: a letter, then digits.
        title: The state's number or heading.
        lines: Its register updates; none for a state without registers.
        result: The last line, which stands out: what the state pays.
        initial: Whether the machine starts here.
        accepting: Whether the state accepts.
        muted: Whether it deserves less attention: nothing after it can be accepted.
    """

    id: str
    title: str
    lines: tuple[str, ...] = ()
    result: str = ""
    initial: bool = False
    accepting: bool = False
    muted: bool = False

    @property
    def is_box(self) -> bool:
        """Whether it has text inside and is drawn as a box; else it is a circle."""
        return bool(self.lines or self.result)


@dataclass(frozen=True)
class Edge:
    """One transition, from node to node by their ids."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True)
class Diagram:
    """States and transitions with all their text.

    Attributes:
        title: What the machine is for.
        nodes: The states, the initial one first.
        edges: The transitions, at most one from a node to another.
        entry: What stands at the arrow into the initial state.
        notes: Remarks for below the picture.
        description: The picture in one sentence, for people who cannot see it.
    """

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    entry: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    description: str = ""

    @property
    def is_row(self) -> bool:
        """Whether the states follow each other in one fixed order."""
        return all(node.is_box for node in self.nodes)


def diagram_of(monitor: Monitor | BooleanMonitor) -> Diagram:
    """What a picture of a monitor shows.

    Raises:
        DiagramError: The machine is too large for a picture that anyone could read.

    Example:
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> diagram = diagram_of(synthesize("F goal"))
        >>> diagram.entry, diagram.nodes[0].lines, diagram.nodes[0].result
        (('max[goal] = 0',), ('max[goal] ← max(max[goal], goal)',), 'reward = max[goal]′')
    """
    from rewardspec.machines.monitor import Monitor

    return _of_registers(monitor) if isinstance(monitor, Monitor) else _of_automaton(monitor)


def _of_registers(monitor: Monitor) -> Diagram:
    formula = _shortened(str(monitor.formula), MOST_TITLE)
    lines = sum(len(updates) + 1 for updates in monitor.updates)
    sizes = [(len(monitor.states), "control state", MOST_STATES), (lines, "equation", MOST_LINES)]
    _check_size(formula, sizes, "to_json()")
    # Everywhere in the order of the lines of the loop, which are what the eye compares with.
    order = dict.fromkeys((*in_reading_order(monitor.program.steps[-1]), *range(len(monitor.registers))))
    short = short_names([monitor.registers[number] for number in order], monitor.atoms)
    names = [short.get(name, name) for name in monitor.registers]
    shown = [equations(step, names, monitor.atoms) for step in monitor.program.steps]
    nodes = tuple(
        Node(f"s{state}", f"state {state}", text.updates, text.reward, initial=state == monitor.initial)
        for state, text in zip(monitor.states, shown, strict=True)
    )
    edges = tuple(Edge(f"s{state}", f"s{successor}") for state, successor in enumerate(monitor.transitions))
    notes = [f"{symbol} is {name}" for name, symbol in short.items()]
    if any(text.primed for text in shown):
        notes.append("a prime (′) marks the value just computed")
    entry = initial_values({names[number]: monitor.program.initial[number] for number in order})
    description = (
        f"Quantitative monitor of {formula} with {_count(len(nodes), 'control state')}"
        f" and {_count(len(names), 'register')}: "
        + "; ".join(f"{node.title}: {', '.join((*node.lines, node.result))}" for node in nodes)
        + "."
    )
    return Diagram(pretty(formula), nodes, edges, entry, tuple(notes), description)


def _of_automaton(monitor: BooleanMonitor) -> Diagram:
    formula = _shortened(str(monitor.formula), MOST_TITLE)
    # Before the edges are looked at: they are worked out on demand, and there can be a million.
    _check_size(formula, [(len(monitor.states), "state", MOST_STATES)], "to_hoa() or to_json()")
    guards: dict[tuple[int, int], list[Formula]] = {}
    for state in monitor.states:
        for guard, successor in monitor.transitions[state]:
            guards.setdefault((state, successor), []).append(guard)
    _check_size(formula, [(len(guards), "edge", MOST_EDGES)], "to_hoa() or to_json()")
    sinks = {state for state in monitor.states if {after for before, after in guards if before == state} == {state}}
    nodes = tuple(
        Node(
            f"s{state}",
            str(state),
            initial=state == monitor.initial,
            accepting=state in monitor.accepting,
            muted=state in sinks and state not in monitor.accepting,
        )
        for state in sorted(monitor.states, key=lambda state: (state != monitor.initial, state))
    )
    edges = tuple(
        Edge(f"s{source}", f"s{target}", Or(*parallel).to_string("unicode"))
        for (source, target), parallel in sorted(guards.items())
    )
    notes = ("a double circle pays the reward",) if monitor.accepting else ("no state pays a reward",)
    accepting = ", ".join(map(str, sorted(monitor.accepting))) or "none"
    description = (
        f"Automaton of {formula} with {_count(len(nodes), 'state')}, initial {monitor.initial}, "
        f"accepting {accepting}: "
        + "; ".join(f"{edge.source[1:]} to {edge.target[1:]} on {edge.label}" for edge in edges)
        + "."
    )
    return Diagram(pretty(formula), nodes, edges, notes=notes, description=description)


def _check_size(formula: str, sizes: list[tuple[int, str, int]], data: str) -> None:
    """Refuse a machine that has more of something than a picture can show."""
    for number, noun, most in sizes:
        if number > most:
            raise DiagramError(
                f"The machine of {_shortened(formula, 60)} is too large to draw: it has {_count(number, noun)}, and a "
                f"picture shows at most {most}. Draw a part of the formula, or take the whole machine as data with "
                f"{data}."
            )


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


_SYMBOLS = {"!": "¬", "&": "∧", "|": "∨", "^": "⊕", "->": "→", "<->": "↔"}
_QUOTED_OR_SYMBOL = re.compile(r'"(?:\\.|[^"\\])*"|<->|->|[!&|^]', re.DOTALL)


def pretty(formula: str) -> str:
    """A formula's ASCII text with the connectives as symbols; the temporal operators stay letters, as in the paper.

    Example:
        >>> pretty('!a U (a & F "b & c")')
        '¬a U (a ∧ F "b & c")'
    """
    return _QUOTED_OR_SYMBOL.sub(lambda match: _SYMBOLS.get(match[0], match[0]), formula)

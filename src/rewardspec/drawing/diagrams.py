"""Diagrams of machines: what a picture shows, before any drawing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewardspec.errors import Error
from rewardspec.machines.listings import Listing, in_reading_order, short_names

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
        lines: Its register updates; none for a state without registers.
        result: The last line, which stands out: what the state pays.
        initial: Whether the machine starts here.
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
        """True if the state is a box with text inside; otherwise it is a circle."""
        return bool(self.lines or self.result)


@dataclass(frozen=True)
class Edge:
    """One transition, from node to node by their ids."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True)
class TableRow:
    """One line of a table: what letters do in a state, or in several states that follow each other.

    Attributes:
        title: The state's number, or the first and the last.
        entries: Guards, and where each leads.
    """

    title: str
    entries: tuple[tuple[str, str], ...]
    initial: bool = False
    accepting: bool = False


@dataclass(frozen=True)
class Diagram:
    """States and transitions with all their text.

    Attributes:
        title: What the machine is for.
        nodes: The states, the initial one first; none where there are too many for a graph.
        edges: The transitions, at most one from a node to another.
        entry: What stands at the arrow into the initial state.
        notes: Remarks for below the picture.
        description: The picture in one sentence, for people who cannot see it.
        rows: The table to draw where a graph would be too crowded to read.
    """

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    entry: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    description: str = ""
    rows: tuple[TableRow, ...] = ()

    @property
    def is_sequence(self) -> bool:
        """True if the states follow each other in one fixed order."""
        return all(node.is_box for node in self.nodes)

    def require_graph(self) -> None:
        """Raise a DiagramError where only a table can be drawn."""
        if not self.nodes:
            raise DiagramError(
                f"The machine of {shortened(self.title, 60)} has too many states for a graph. Draw it as .svg, .png or "
                ".pdf, where it becomes a table, or take it as data with to_hoa() or to_json()."
            )


def diagram_of(monitor: Monitor | BooleanMonitor) -> Diagram:
    """Build the diagram of a monitor.

    Raises:
        DiagramError: The machine is too large for a picture that anyone could read.

    Example:
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> diagram = diagram_of(synthesize("F goal"))
        >>> diagram.entry, diagram.nodes[0].lines, diagram.nodes[0].result
        (('max[goal] = 0',), ('max[goal] ← max(max[goal], goal)',), 'reward = max[goal]′')
    """
    from rewardspec.drawing.automaton_diagrams import automaton_diagram
    from rewardspec.machines.monitor import Monitor

    return _of_registers(monitor) if isinstance(monitor, Monitor) else automaton_diagram(monitor)


def _of_registers(monitor: Monitor) -> Diagram:
    formula = shortened(str(monitor.formula), MOST_TITLE)
    program = monitor.program
    lines = sum(len(updates) + len(program.windows) + 1 for updates in monitor.updates)
    sizes = [(len(monitor.states), "control state", MOST_STATES), (lines, "equation", MOST_LINES)]
    check_size(formula, sizes, "to_json()")
    # Everywhere in the order of the lines of the loop, which are what the eye compares with.
    order = dict.fromkeys((*in_reading_order(program.steps[-1]), *range(len(monitor.registers))))
    named = [monitor.registers[number] for number in order] + [window.name for window in program.windows]
    short = short_names(named, monitor.atoms)
    listing = Listing(program, short)
    nodes = []
    for state in monitor.states:
        text, progress = listing.equations(state), listing.progress(state, monitor.successors[state])
        lines_of = text.updates if progress is None else (*text.updates, progress)
        nodes.append(Node(f"s{state}", f"state {state}", lines_of, text.reward, initial=state == monitor.initial))
    edges = tuple(Edge(f"s{state}", f"s{successor}") for state, successor in enumerate(monitor.successors))
    notes = [*(f"{symbol} is {name}" for name, symbol in short.items()), *listing.notes()]
    entry = listing.initial_values(order)
    description = (
        f"Quantitative monitor of {formula} with {count(len(nodes), 'control state')}"
        f" and {count(len(program.registers) + len(program.windows), 'register')}: "
        + "; ".join(f"{node.title}: {', '.join((*node.lines, node.result))}" for node in nodes)
        + "."
    )
    return Diagram(pretty(formula), tuple(nodes), edges, entry, tuple(notes), description)


def check_size(formula: str, sizes: list[tuple[int, str, int]], data: str) -> None:
    """Refuse a machine that has more of something than a picture can show."""
    for number, noun, most in sizes:
        if number > most:
            raise DiagramError(
                f"The machine of {shortened(formula, 60)} is too large to draw: it has {count(number, noun)}, and a "
                f"picture shows at most {most}. Draw a part of the formula, or take the whole machine as data with "
                f"{data}."
            )


def shortened(text: str, most: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else text[: most - 1] + "…"


def count(number: int, noun: str) -> str:
    """A number of things, in words.

    Example:
        >>> count(1, "state"), count(2, "state")
        ('1 state', '2 states')
    """
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

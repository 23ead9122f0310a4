"""Contents of an automaton's picture: a graph where it is readable, else a table.

Up to eight states everything is drawn.  In a larger automaton the rejecting sink is left out, and the longest guard of
a state becomes "else".  Where even so the arrows would be a tangle, a table takes the place of the graph; in it, states
that follow each other and do alike, as those of a counter do, share a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rewardspec.drawing.diagrams import (
    MOST_EDGES,
    MOST_STATES,
    MOST_TITLE,
    Diagram,
    Edge,
    Node,
    TableRow,
    check_size,
    count,
    pretty,
    shortened,
)

if TYPE_CHECKING:
    from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor

ELSE = "else"

_FEW_STATES = 8
_MOST_NODES, _MOST_ARROWS = 12, 16  # of a graph that can be read
_MOST_ROWS, _MOST_ENTRIES = 64, 600  # of a table
_MOST_EXAMINED = 5_000  # edges to look at: there can be millions

_Guards: TypeAlias = dict[int, str]  # by the state that each leads to


def automaton_diagram(monitor: BooleanMonitor) -> Diagram:
    """Build the diagram of a Boolean monitor.

    Raises:
        DiagramError: The automaton is too large even for a table.

    Example:
        >>> from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
        >>> for row in automaton_diagram(synthesize_boolean("G(a -> F[0,50] b)")).rows:
        ...     print(row.title, row.entries)
        0 (('a ∧ ¬b', '1'), ('else', 'stays'))
        1 … 49 (('b', '0'), ('¬b', 'next'))
        50 (('b', '0'),)
    """
    formula = shortened(str(monitor.formula), MOST_TITLE)
    guards = _guards(monitor, formula)
    arrows = _arrows(guards)
    is_crowded = len(guards) > _FEW_STATES or arrows > _MOST_ARROWS
    sinks = [state for state, own in guards.items() if set(own) == {state} and state not in monitor.accepting]
    hidden = sinks[0] if is_crowded and sinks and sinks[0] != monitor.initial else None
    states = [state for state in monitor.states if state != hidden]
    rows = _rows(monitor, states, guards, hidden) if is_crowded else ()
    shown = {state: _shown(state, guards[state], hidden) if is_crowded else guards[state] for state in states}
    arrows = _arrows(shown)
    if len(states) <= _MOST_NODES and arrows <= _MOST_ARROWS and 2 * len(rows) > len(states):
        rows = ()
    check_size(
        formula,
        [(len(rows), "row", _MOST_ROWS), (sum(len(row.entries) for row in rows), "entry", _MOST_ENTRIES)],
        "to_hoa() or to_json()",
    )
    nodes, edges = _graph(monitor, shown, sinks)
    notes = [f"a double {'ring' if rows else 'circle'} pays the reward" if monitor.accepting else "no state pays"]
    if hidden is not None:
        notes.append(f"not shown: state {hidden}, which rejects for good, and where all other letters lead")
    fits = len(nodes) <= MOST_STATES and len(edges) <= MOST_EDGES
    return Diagram(
        pretty(formula),
        nodes if fits else (),
        edges if fits else (),
        notes=tuple(notes),
        description=_description(formula, monitor, rows, edges),
        rows=rows,
    )


def _guards(monitor: BooleanMonitor, formula: str) -> dict[int, _Guards]:
    """For each state the guard of each successor."""
    examined = 0
    for state in monitor.states:
        examined += len(monitor.transitions.successors(state))
        check_size(formula, [(examined, "edge", _MOST_EXAMINED)], "to_hoa() or to_json()")
    return {
        state: {target: guard.to_string("unicode") for guard, target in sorted(edges, key=lambda edge: edge.target)}
        for state, edges in monitor.transitions.items()
    }


def _arrows(guards: Mapping[int, _Guards]) -> int:
    """The number of edges between different states."""
    return sum(target != state for state, own in guards.items() for target in own)


def _shown(state: int, guards: _Guards, hidden: int | None) -> _Guards:
    """The guards without that of the hidden state; where there is none, the longest is "else"."""
    shown = {target: guard for target, guard in guards.items() if target != hidden}
    if len(shown) == len(guards) > 1:
        longest = max(shown, key=lambda target: (len(shown[target]), target == state))
        if len(shown[longest]) > len(ELSE):
            shown[longest] = ELSE
    return shown


def _graph(
    monitor: BooleanMonitor, shown: Mapping[int, _Guards], sinks: Sequence[int]
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    nodes = tuple(
        Node(
            f"s{state}",
            str(state),
            initial=state == monitor.initial,
            accepting=state in monitor.accepting,
            muted=state in sinks,
        )
        for state in sorted(shown, key=lambda state: (state != monitor.initial, state))
    )
    return nodes, tuple(Edge(f"s{s}", f"s{t}", guard) for s, own in shown.items() for t, guard in own.items())


@dataclass
class _Run:
    """States that follow each other and do alike."""

    first: int
    last: int
    accepting: bool
    targets: dict[str, set[str]]  # for each guard how its target can be named, in every state alike


def _rows(
    monitor: BooleanMonitor, states: Sequence[int], guards: Mapping[int, _Guards], hidden: int | None
) -> tuple[TableRow, ...]:
    runs: list[_Run] = []
    for state in states:
        own = {guard: _names(state, target) for target, guard in guards[state].items() if target != hidden}
        accepting = state in monitor.accepting
        before = runs[-1] if runs else None
        if (
            before is not None
            and monitor.initial not in (before.last, state)
            and (before.last, before.accepting) == (state - 1, accepting)
            and before.targets.keys() == own.keys()
            and all(before.targets[guard] & own[guard] for guard in own)
        ):
            before.last = state
            before.targets = {guard: before.targets[guard] & own[guard] for guard in own}
        else:
            runs.append(_Run(state, state, accepting, own))
    return tuple(_row(run, monitor.initial, guards[run.first], hidden) for run in runs)


def _names(state: int, target: int) -> set[str]:
    relative = {0: "stays", 1: "next", -1: "previous"}.get(target - state)
    return {str(target)} if relative is None else {str(target), relative}


def _row(run: _Run, initial: int, guards: _Guards, hidden: int | None) -> TableRow:
    alone = run.first == run.last
    title = str(run.first) if alone else f"{run.first}{', ' if run.last == run.first + 1 else ' … '}{run.last}"
    entries = []
    for target, label in _shown(run.first, guards, hidden).items():
        names = run.targets[guards[target]]
        # A single state's successor has its number, unless it is the state itself.
        name = "stays" if "stays" in names else str(target) if str(target) in names else min(names)
        entries.append((label, name))
    entries.sort(key=lambda entry: entry[0] == ELSE)
    return TableRow(title, tuple(entries), run.first == initial, run.accepting)


def _description(formula: str, monitor: BooleanMonitor, rows: Sequence[TableRow], edges: Sequence[Edge]) -> str:
    accepting = sorted(monitor.accepting)
    named = ", ".join(map(str, accepting[:20])) + (", …" if len(accepting) > 20 else "")
    if rows:
        lines = [f"{row.title}: {', '.join(f'{guard} to {target}' for guard, target in row.entries)}" for row in rows]
    else:
        lines = [f"{edge.source[1:]} to {edge.target[1:]} on {edge.label}" for edge in edges]
    return (
        f"Automaton of {formula} with {count(len(monitor.states), 'state')}, initial {monitor.initial}, "
        f"accepting {named or 'none'}: {'; '.join(lines)}."
    )

"""Pictures of machines say everything about the machine, in every format, whatever the atoms are called."""

import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import pytest

import rewardspec as rs
from rewardspec.drawing import FORMATS, graphviz, render, to_dot, to_mermaid, to_svg
from rewardspec.drawing.automaton_pictures import label_lines, label_size, layered
from rewardspec.drawing.diagrams import Diagram, DiagramError, Edge, Node, diagram_of
from rewardspec.drawing.layers import RADIUS
from rewardspec.drawing.scenes import scene_of
from rewardspec.drawing.text_metrics import width, wrap
from rewardspec.logic.formulas import TRUE, And, Atom, Formula, Not
from rewardspec.machines.listings import equations
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
from tests.machines.test_expressions import evaluate

FORMULAS = [
    "true",
    "p",
    "F p",
    "X X p",
    "G(a -> F b)",
    "G(a -> X b)",
    "!a U (a & F b)",
    "F(a & F(b & F c))",
    "G((q & !r & F r) -> (p -> (!r U (s & !r))) U r)",
    "!G c <-> X G a",
]
NASTY = [
    'say "hi"',
    "a < b & c > d",
    "]]> <script>alert(1)</script>",
    "back\\slash\\n",
    "naïve ∧ 変数 🙂",
    "$x$ %%{init} #quot; `code`",
    "tab\tline\nnull\x00",
    "lone \ud800 surrogate",
    "end",
]
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


@dataclass
class Automaton:
    """An automaton written by hand, with what a picture needs to know of it."""

    formula: Formula
    states: range
    accepting: frozenset[int]
    transitions: dict[int, list[tuple[Formula, int]]]
    initial: int = 0


def ring(states: int) -> Automaton:
    transitions = {state: [(TRUE, (state + 1) % states)] for state in range(states)}
    return Automaton(rs.parse("F p"), range(states), frozenset({0}), transitions)


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


# What a diagram shows.


@pytest.mark.parametrize("formula", FORMULAS)
def test_every_control_state_and_register_is_in_the_diagram(formula):
    monitor = rs.synthesize(formula)
    diagram = diagram_of(monitor)
    assert [node.id for node in diagram.nodes] == [f"s{state}" for state in monitor.states]
    assert [(edge.source, edge.target) for edge in diagram.edges] == [
        (f"s{state}", f"s{after}") for state, after in enumerate(monitor.transitions)
    ]
    everything = "\n".join((*diagram.entry, *diagram.notes))
    assert all(register in everything for register in monitor.registers)
    assert len(diagram.entry) == len(monitor.registers)
    for node, updates in zip(diagram.nodes, monitor.updates, strict=True):
        assert len(node.lines) == len(updates)
        assert node.result.startswith("reward = ")


def test_new_values_are_primed_where_another_line_uses_them_and_after_the_line_that_computes_them():
    diagram = diagram_of(rs.synthesize("F(a & F(b & F c))"))
    assert diagram.entry == ("max[a] = 0", "if[F c] = 0", "value = 0")
    assert diagram.nodes[0].lines == (
        "max[a] ← max(max[a], a)",
        "if[F c] ← max(if[F c], min(b, max[a]′))",
        "value ← max(value, min(c, if[F c]′))",
    )
    assert diagram.nodes[0].result == "reward = value′"


def test_a_register_that_copies_a_label_does_not_rename_the_label_elsewhere():
    diagram = diagram_of(rs.synthesize("F(a & X a)"))
    assert any(re.search(r"\ba\b(?!\])", line.split("←")[1]) for line in diagram.nodes[0].lines)
    assert "prev[a]′" not in "".join(diagram.nodes[0].lines)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_equations_read_top_to_bottom_compute_what_the_machine_computes(formula):
    monitor = rs.synthesize(formula)
    labels = {atom: 0.1 + 0.8 * (number + 1) / (len(monitor.atoms) + 1) for number, atom in enumerate(monitor.atoms)}
    old = {name: 0.05 + 0.9 * number / 7 % 1 for number, name in enumerate(monitor.registers)}
    numbers = dict(enumerate(old.values()))
    for step in monitor.program.steps:
        values = dict(old)
        for line in (shown := equations(step, monitor.registers, monitor.atoms)).updates:
            name, expression = line.split(" ← ")
            values[name + "′"] = _compute(expression, values | labels)
        reward = _compute(shown.reward.removeprefix("reward = "), values | labels)
        assert reward == evaluate(step.outputs[0], labels, numbers)
        for number, update in enumerate(step.updates):
            if update is not None:
                assert values[monitor.registers[number] + "′"] == evaluate(update, labels, numbers)


def _compute(expression, values):
    # Longest names first, so that no name is replaced inside another.
    names = sorted(values, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?![\w′\[])" for name in names)
    text = re.sub(pattern or "$^", lambda match: repr(values[match[0]]), expression)
    return eval(text.replace("−", "-"), {"min": min, "max": max})


def test_long_register_names_get_a_symbol_that_the_notes_explain():
    monitor = rs.synthesize("G(a -> X b)")
    diagram = diagram_of(monitor)
    assert "c₁ is if[G(!a | X b) & b]" in diagram.notes
    assert diagram.nodes[0].lines == ("c₁ ← max(value, min(c₁, b))", "value ← min(1 − a, c₁′)")


def test_the_automaton_of_the_papers_figure():
    diagram = diagram_of(synthesize_boolean("!a U (a & F b)"))
    assert [node.title for node in diagram.nodes] == ["0", "1", "2"]
    assert [node.initial for node in diagram.nodes] == [True, False, False]
    (accepting,) = [node.id for node in diagram.nodes if node.accepting]
    labels = {(edge.source, edge.target): edge.label for edge in diagram.edges}
    (waiting,) = {"s1", "s2"} - {accepting}
    assert labels == {
        ("s0", "s0"): "¬a",
        ("s0", waiting): "a ∧ ¬b",
        ("s0", accepting): "a ∧ b",
        (waiting, waiting): "¬b",
        (waiting, accepting): "b",
        (accepting, accepting): "⊤",
    }


def test_parallel_edges_are_merged_and_the_state_without_hope_is_muted():
    a, b = Atom("a"), Atom("b")
    transitions = {0: [(And(a, b), 1), (Not(a), 1), (And(a, Not(b)), 0)], 1: [(TRUE, 1)]}
    diagram = diagram_of(Automaton(rs.parse("a"), range(2), frozenset({0}), transitions))
    assert [edge.label for edge in diagram.edges] == ["a ∧ ¬b", "a ∧ b ∨ ¬a", "⊤"]
    assert [node.muted for node in diagram.nodes] == [False, True]


def complete(states: int) -> Automaton:
    transitions = {state: [(Atom(f"p{other}"), other) for other in range(states)] for state in range(states)}
    return Automaton(rs.parse("F p"), range(states), frozenset({0}), transitions)


@pytest.mark.parametrize("machine", [ring(65), complete(21), rs.synthesize("X " * 70 + "p")])
def test_a_machine_too_large_to_read_is_refused_with_a_remedy(machine):
    with pytest.raises(DiagramError, match=r"too large to draw: it has \d+ .*to_json"):
        diagram_of(machine)


def test_the_largest_machines_allowed_are_drawn(monkeypatch):
    monkeypatch.setattr(graphviz.shutil, "which", lambda program: None)
    assert len(texts(to_svg(diagram_of(ring(64))))) > 2 * 64
    assert len(ElementTree.fromstring(to_svg(diagram_of(rs.synthesize("X " * 60 + "p"))))) > 60


# Formats.


@pytest.mark.parametrize("formula", FORMULAS)
def test_svg_is_xml_with_every_line_of_the_diagram_and_words_for_those_who_cannot_see(formula):
    diagram = diagram_of(rs.synthesize(formula))
    svg = to_svg(diagram)
    root = ElementTree.fromstring(svg)
    assert [child.tag.split("}")[1] for child in root[:2]] == ["title", "desc"]
    assert root[0].text == diagram.title
    assert formula == "true" or all(atom in (root[1].text or "") for atom in rs.parse(formula).atoms)
    shown = " ".join(texts(svg))
    for node in diagram.nodes:
        for line in (node.title, *node.lines, node.result):
            assert line in shown
    assert all(line in shown for line in diagram.entry)


@pytest.mark.parametrize("formula", FORMULAS)
def test_svg_of_an_automaton_shows_every_state_and_guard(formula):
    diagram = diagram_of(synthesize_boolean(formula))
    shown = texts(to_svg(diagram))
    for node in diagram.nodes:
        assert node.title in shown
    for edge in diagram.edges:
        assert set(label_lines(edge.label)) <= set(shown)


@pytest.mark.parametrize("make", [to_svg, to_dot, to_mermaid])
@pytest.mark.parametrize("synthesize", [rs.synthesize, synthesize_boolean])
def test_the_same_machine_gives_the_same_text(make, synthesize):
    formula = "!G c <-> X G a"
    assert make(diagram_of(synthesize(formula))) == make(diagram_of(synthesize(rs.parse(formula))))


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("synthesize", [rs.synthesize, synthesize_boolean])
def test_atoms_may_have_any_name(name, synthesize):
    diagram = diagram_of(synthesize(rs.formulas.Eventually(rs.Atom(name))))
    svg = to_svg(diagram)
    svg.encode()
    root = ElementTree.fromstring(svg)
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "rect", "path", "polygon", "text"}
    if name.isprintable():
        assert any(rs.Atom(name).to_string() in text for text in texts(svg))
    mermaid = to_mermaid(diagram)
    # Two quotes around each label, and none inside.
    assert all(line.count('"') in (0, 2) for line in mermaid.splitlines()[4:])
    assert "<script>" not in mermaid
    assert json.loads(mermaid.splitlines()[1].removeprefix("title: "))
    to_dot(diagram).encode()


@needs_dot
@pytest.mark.parametrize("name", ["p", *NASTY])
@pytest.mark.parametrize("synthesize", [rs.synthesize, synthesize_boolean])
def test_graphviz_reads_the_dot_text_and_shows_the_names(name, synthesize):
    text = to_dot(diagram_of(synthesize(rs.formulas.Eventually(rs.Atom(name)))))
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=True)
    assert not done.stderr
    shown = "".join(ElementTree.fromstring(done.stdout).itertext())
    if name.isprintable():
        assert rs.Atom(name).to_string().replace(" ", "") in re.sub(r"\s", "", shown)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("synthesize", [rs.synthesize, synthesize_boolean])
def test_mermaid_declares_every_node_before_any_edge_uses_it(formula, synthesize):
    diagram = diagram_of(synthesize(formula))
    lines = to_mermaid(diagram).splitlines()
    assert lines[4] == "flowchart LR"
    declared = {match[1] for line in lines if (match := re.match(r"    (s\d+)[(]", line))}
    assert declared == {node.id for node in diagram.nodes}
    edges = [match.groups() for line in lines if (match := re.match(r"    (s\d+) -->(?:\|.*\|)? (s\d+)$", line))]
    assert edges == [(edge.source, edge.target) for edge in diagram.edges]


# Layout.


@pytest.mark.parametrize("formula", ["!a U (a & F b)", "G(a -> X b)", "F(a & F(b & F c))", "!G c <-> X G a", "X X p"])
def test_labels_lie_on_no_state_and_not_on_each_other(formula):
    diagram = diagram_of(synthesize_boolean(formula))
    layout = layered(diagram)
    boxes = [
        (x, y, *label_size(label_lines(edge.label)))
        for edge, (x, y) in zip(diagram.edges, layout.label_centres, strict=True)
    ]
    for number, (x, y, wide, high) in enumerate(boxes):
        for cx, cy in layout.centres.values():
            outside = max(abs(cx - x) - wide / 2, 0.0), max(abs(cy - y) - high / 2, 0.0)
            assert outside[0] ** 2 + outside[1] ** 2 >= RADIUS**2
        for ox, oy, other_wide, other_high in boxes[:number]:
            assert abs(x - ox) >= (wide + other_wide) / 2 or abs(y - oy) >= (high + other_high) / 2


def test_states_keep_apart():
    layout = layered(diagram_of(synthesize_boolean("(X b | (c W b)) & WX(a M a)")))
    centres = list(layout.centres.values())
    for number, (x, y) in enumerate(centres):
        for other_x, other_y in centres[:number]:
            assert (x - other_x) ** 2 + (y - other_y) ** 2 >= (3 * RADIUS) ** 2


def test_a_state_that_cannot_be_reached_is_drawn_too():
    nodes = (Node("s0", "0", initial=True), Node("s1", "1"), Node("s2", "2"))
    svg = to_svg(Diagram("lonely", nodes, (Edge("s0", "s0", "a"), Edge("s2", "s1", "b"))))
    assert {"0", "1", "2"} <= set(texts(svg))


def tangled() -> Diagram:
    nodes = tuple(Node(f"s{number}", str(number), initial=number == 0) for number in range(9))
    edges = tuple(Edge(f"s{i}", f"s{j}", f"guard ∧ number ∧ {i} ∧ {j}") for i in range(9) for j in range(9))
    return Diagram("all to all", nodes, edges)


@pytest.mark.parametrize("dot", [pytest.param(True, marks=needs_dot), False], ids=["dot", "alone"])
def test_a_crowded_picture_has_keys_and_a_legend(dot, monkeypatch):
    if not dot:
        monkeypatch.setattr(graphviz.shutil, "which", lambda program: None)
    shown = texts(to_svg(tangled()))
    for number, edge in enumerate(tangled().edges, start=1):
        assert shown.count(f"g{number}") == 2
        assert edge.label in shown


def test_a_failing_dot_program_is_no_obstacle(monkeypatch):
    monkeypatch.setattr(graphviz.shutil, "which", lambda program: sys.executable)
    assert "g81" in texts(to_svg(tangled()))


def test_a_register_machine_that_returns_to_an_earlier_state_is_drawn_in_rows():
    nodes = tuple(Node(f"s{n}", f"state {n}", ("v ← " + "x" * 40,), "reward = v", initial=n == 0) for n in range(9))
    for back in (0, 4, 7):
        edges = (*(Edge(f"s{n}", f"s{n + 1}") for n in range(8)), Edge("s8", f"s{back}"))
        scene = scene_of(Diagram("rows", nodes, edges))
        assert scene.width < 1400
        assert scene.height > 200


def test_text_is_broken_outside_parentheses_where_that_is_possible():
    text = "reward = min(max(a, b, c), max(d, e, f), max(g, h, i))"
    lines = wrap(text, 220, 13, hanging="    ")
    assert " ".join(line.strip() for line in lines) == text
    assert all(width(line, 13) <= 220 for line in lines)
    assert [line.strip() for line in lines] == ["reward = min(max(a, b, c),", "max(d, e, f), max(g, h, i))"]


# Files.


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("synthesize", [rs.synthesize, synthesize_boolean])
def test_every_format_is_written_and_repeats_byte_for_byte(suffix, synthesize, tmp_path):
    if suffix in (".png", ".pdf"):
        pytest.importorskip("matplotlib")
    diagram = diagram_of(synthesize("!a U (a & F b)"))
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix.upper()}"
    render(diagram, first)
    render(diagram, str(second))
    assert first.read_bytes() == second.read_bytes()
    begins = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".md": b"```mermaid\n---", ".mmd": b"---"}
    assert first.read_bytes().startswith(begins.get(suffix, b"digraph"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([first.name, second.name])


def test_dollars_in_names_are_not_mathematics_to_matplotlib(tmp_path):
    pytest.importorskip("matplotlib")
    render(diagram_of(rs.synthesize('F "$\\\\frac{$"')), tmp_path / "picture.png")


def test_without_matplotlib_png_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(rs.MissingExtraError, match=r"pip install 'rewardspec\[plot\]'"):
        render(diagram_of(rs.synthesize("F p")), tmp_path / "picture.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["picture.jpg", "picture", "picture.sgv"])
def test_an_unknown_ending_is_refused_with_the_known_ones(name, tmp_path):
    with pytest.raises(DiagramError, match=r"Known endings: \.svg, \.png, \.pdf, \.dot"):
        render(diagram_of(rs.synthesize("F p")), tmp_path / name)


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(DiagramError, match=r"there is no directory .*nowhere"):
        render(diagram_of(rs.synthesize("F p")), tmp_path / "nowhere" / "picture.svg")


def test_a_directory_is_not_a_file(tmp_path):
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(DiagramError, match="it is a directory"):
        render(diagram_of(rs.synthesize("F p")), tmp_path / "folder.svg")


def test_a_failed_write_leaves_the_old_file(monkeypatch, tmp_path):
    target = tmp_path / "picture.svg"
    target.write_text("old")

    def refuse(source, destination):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(DiagramError, match="No space left"):
        render(diagram_of(rs.synthesize("F p")), target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["picture.svg"]

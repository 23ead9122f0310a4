"""Pictures of machines say everything about the machine, in every format, whatever the atoms are called."""

import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import product

import pytest

import rewardspec as rs
from rewardspec.drawing import FORMATS, render, theme, to_dot, to_mermaid, to_svg
from rewardspec.drawing.automaton_diagrams import ELSE
from rewardspec.drawing.automaton_pictures import label_lines, label_size, layered
from rewardspec.drawing.diagrams import Diagram, DiagramError, Edge, Node, diagram_of
from rewardspec.drawing.layers import RADIUS
from rewardspec.drawing.pictures import scene_of
from rewardspec.drawing.text_metrics import width, wrap
from rewardspec.machines.expressions import ONE, ZERO, complement, label, maximum, minimum, pushed, register, window
from rewardspec.machines.listings import Listing
from rewardspec.machines.program import Program, Push, Step, Window
from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor, synthesize_boolean
from rewardspec.synthesis.boolean.decision_diagrams import DecisionTable
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


def ring(states: int) -> BooleanMonitor:
    roots = tuple((state + 1) % states for state in range(states))
    return BooleanMonitor(rs.parse("F p"), frozenset({0}), DecisionTable(roots, (), (), ()))


def monitor_of(*steps: Step, registers=(), windows=(), atoms=("a", "b"), semantics="degree") -> rs.Monitor:
    """A monitor of a program written by hand, whose last control state repeats."""
    program = Program(
        atoms, registers, (0.0,) * len(registers), steps, len(steps) - 1, tuple(windows), semantics=semantics
    )
    return rs.Monitor(rs.parse(" & ".join(atoms)), program)


def many_states(count: int) -> rs.Monitor:
    return monitor_of(*(Step((), (label("a" if k % 2 else "b"),)) for k in range(count)))


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
        (f"s{state}", f"s{after}") for state, after in enumerate(monitor.successors)
    ]
    everything = "\n".join((*diagram.entry, *diagram.notes))
    assert all(register in everything for register in monitor.registers)
    windows = len(monitor.program.windows)
    assert len(diagram.entry) == len(monitor.registers) + windows
    for node, updates in zip(diagram.nodes, monitor.updates, strict=True):
        assert len(node.lines) == len(updates) + windows
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
    for control, step in enumerate(monitor.program.steps):
        values = dict(old)
        for line in (shown := Listing(monitor.program).equations(control)).updates:
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


def test_a_state_without_hope_is_muted():
    diagram = diagram_of(synthesize_boolean("G a"))
    assert [edge.label for edge in diagram.edges] == ["a", "¬a", "⊤"]
    assert [node.muted for node in diagram.nodes] == [False, True]


CROWDED = [
    "G(a -> X[3] b)",
    "G{3} a & F b",
    "F a & F b & F c & G !d",
    "G(a -> F b) & G(c -> F d) & F e",
    "F a & F b & F c & F d",
    "G(a -> F[0,50] b)",
    "G(a -> (b U[0,6] c))",
    "F[0,300] a",
    "now H[0,20] a",
    "now (a S[2,30] b)",
    "F[0,9] G[0,9] a",
]


@pytest.mark.parametrize("formula", FORMULAS + CROWDED)
def test_a_picture_of_an_automaton_says_where_every_letter_leads(formula):
    monitor = synthesize_boolean(formula)
    diagram = diagram_of(monitor)
    said = dict(_rows_said(diagram)) if diagram.rows else _edges_said(diagram)
    letters = [dict(zip(monitor.atoms, bits, strict=True)) for bits in product((0, 1), repeat=len(monitor.atoms))]
    (hidden,) = set(monitor.states) - set(said) or {None}
    if hidden is not None:
        assert monitor.bounds(hidden) == (0, 0)
        assert any(f"not shown: state {hidden}, which rejects for good" in note for note in diagram.notes)
    guards = {guard: rs.parse(guard) for entries in said.values() for guard, _ in entries if guard != ELSE}
    for state, entries in said.items():
        for letter in letters:
            trace = {atom: [value] for atom, value in letter.items()} or {"p": [0]}
            found = [target for guard, target in entries if guard != ELSE and rs.evaluate(guards[guard], trace)]
            otherwise = [target for guard, target in entries if guard == ELSE]
            assert (found or otherwise or [hidden]) == [monitor.step(state, letter)[0]], (state, letter)


def _edges_said(diagram: Diagram) -> dict[int, list[tuple[str, int]]]:
    said: dict[int, list[tuple[str, int]]] = {int(node.id[1:]): [] for node in diagram.nodes}
    for edge in diagram.edges:
        said[int(edge.source[1:])].append((edge.label, int(edge.target[1:])))
    return said


def _rows_said(diagram: Diagram):
    for row in diagram.rows:
        first, last = (list(map(int, re.findall(r"\d+", row.title))) * 2)[:2]
        for state in range(first, last + 1):
            relative = {"stays": state, "next": state + 1, "previous": state - 1}
            yield state, [(guard, relative[to] if to in relative else int(to)) for guard, to in row.entries]


def test_a_crowded_automaton_becomes_a_table_in_which_a_counter_is_one_line():
    diagram = diagram_of(synthesize_boolean("G(a -> F[0,50] b)"))
    assert [(row.title, row.entries) for row in diagram.rows] == [
        ("0", (("a ∧ ¬b", "1"), ("else", "stays"))),
        ("1 … 49", (("b", "0"), ("¬b", "next"))),
        ("50", (("b", "0"),)),
    ]
    shown = texts(to_svg(diagram))
    assert {"0", "1 … 49", "50", "a ∧ ¬b →", "stays", "next"} <= set(shown)
    assert len(diagram_of(synthesize_boolean("F[0,1000] p")).rows) == 5


@pytest.mark.parametrize("formula", CROWDED)
def test_a_graph_has_at_most_twelve_states_and_few_arrows(formula):
    diagram = diagram_of(synthesize_boolean(formula))
    arrows = sum(edge.source != edge.target for edge in diagram.edges)
    assert diagram.rows or (len(diagram.nodes) <= 12 and arrows <= 16)


@pytest.mark.parametrize(
    "machine",
    [
        synthesize_boolean("G(a -> X[7] b)"),
        synthesize_boolean(" & ".join(f"G(a{k} -> F b{k})" for k in range(10))),
        many_states(65),
    ],
)
def test_a_machine_too_large_to_read_is_refused_with_a_remedy(machine):
    with pytest.raises(DiagramError, match=r"too large to draw: it has \d+ .*to_json"):
        diagram_of(machine)
    assert machine._repr_svg_() is None


def test_what_is_too_large_for_a_graph_is_drawn_as_a_table_alone():
    diagram = diagram_of(ring(1000))
    assert [row.title for row in diagram.rows] == ["0", "1 … 998", "999"]
    for text_form in (to_dot, to_mermaid):
        with pytest.raises(DiagramError, match=r"too many states for a graph.*\.svg"):
            text_form(diagram)


def test_the_largest_machines_allowed_are_drawn():
    assert len(texts(to_svg(diagram_of(ring(64))))) > 5
    assert len(ElementTree.fromstring(to_svg(diagram_of(many_states(64))))) > 60


# Windows.


def test_a_window_is_a_line_that_says_what_it_holds():
    step = Step((maximum(register(0), minimum(label("b"), window(0))),), (register(0),), (Push(label("a")),))
    diagram = diagram_of(monitor_of(step, registers=("value",), windows=[Window("recent[a]", 20, "max")]))
    assert diagram.entry == ("value = 0", "recent[a] = 0")
    assert diagram.nodes[0].lines == (
        "value ← max(value, min(b, recent[a]))",
        "recent[a] ← max(last 20 of a)",
    )
    assert "recent[a] ← max(last 20 of a)" in texts(to_svg(diagram))


def test_what_a_window_is_limited_by_is_said_and_a_long_name_gets_a_symbol():
    step = Step((), (minimum(pushed(0), label("b")),), (Push(label("b"), label("a")), Push(complement("a"))))
    windows = [Window("recent values of b since a", 9, "max"), Window("late", 3, "last")]
    diagram = diagram_of(monitor_of(step, windows=windows))
    assert diagram.nodes[0].lines == ("c₁ ← max(last 9 of b, at most a)", "late ← oldest(last 3 of 1 − a)")
    assert diagram.nodes[0].result == "reward = min(c₁′, b)"
    assert diagram.notes == (
        "c₁ is recent values of b since a",
        "at most …: at each step, larger values in the window become this",
        "a prime (′) marks the value just computed",
    )


def test_a_window_that_control_states_fill_differently_says_what_each_puts_in():
    first, later = (Step((), (minimum(label("a"), window(0)),), (Push(value),)) for value in (ONE, ZERO))
    diagram = diagram_of(monitor_of(first, later, windows=[Window("recent", 20, "max")]))
    assert [node.lines for node in diagram.nodes] == [("push 1 into recent",), ("push 0 into recent",)]
    assert "recent is max(last 20 pushed)" in diagram.notes


def test_a_window_line_comes_before_the_lines_that_read_it_after_the_step():
    step = Step((pushed(1),), (register(0),), (Push(label("a")), Push(pushed(0))))
    windows = [Window("one", 2, "max"), Window("two", 3, "max")]
    lines = diagram_of(monitor_of(step, registers=("value",), windows=windows)).nodes[0].lines
    assert lines == ("one ← max(last 2 of a)", "two ← max(last 3 of one′)", "value ← two′")


def test_robustness_is_written_with_minus_and_infinities():
    step = Step((maximum(register(0), complement("a")),), (register(0),), (Push(ZERO),))
    windows = [Window("low", 4, "max")]
    diagram = diagram_of(monitor_of(step, registers=("value",), windows=windows, semantics="robustness"))
    assert diagram.entry == ("value = −∞", "low = −∞")
    assert diagram.nodes[0].lines == ("value ← max(value, −a)", "low ← max(last 4 of −∞)")


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


@pytest.mark.parametrize("machine", [rs.synthesize("G(a -> F b)"), synthesize_boolean("a U b"), ring(20)])
def test_every_color_follows_dark_pages_and_is_light_where_css_is_unknown(machine):
    svg = to_svg(diagram_of(machine))
    style = svg[svg.index("<style>") : svg.index("</style>")]
    light, dark = style.split("@media (prefers-color-scheme:dark)")
    painted = re.findall(r'<(?:rect|path|polygon|text)[^>]*? class="([^"]*)" fill="([^"]*)"(?: stroke="([^"]*)")?', svg)
    assert len(painted) == len(re.findall(r"<(?:rect|path|polygon|text) ", svg))
    for classes, *colors in painted:
        names = {theme.DARK[color][0] for color in colors if color not in ("", "none")}
        assert {name.partition("-")[2] for name in classes.split()} == names
        for name in names:
            assert f"--rs-{name}:" in light
            assert f"--rs-{name}:" in dark
        for each in classes.split():
            assert f".rewardspec .{each}{{" in style
    assert len({dark for _, dark in theme.DARK.values()}) == len(theme.DARK)


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
    assert tags <= {"svg", "title", "desc", "style", "rect", "path", "polygon", "text"}
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
        for edge, (x, y) in zip(diagram.edges, layout.label_centers, strict=True)
    ]
    for number, (x, y, wide, high) in enumerate(boxes):
        for cx, cy in layout.centers.values():
            outside = max(abs(cx - x) - wide / 2, 0.0), max(abs(cy - y) - high / 2, 0.0)
            assert outside[0] ** 2 + outside[1] ** 2 >= RADIUS**2
        for ox, oy, other_wide, other_high in boxes[:number]:
            assert abs(x - ox) >= (wide + other_wide) / 2 or abs(y - oy) >= (high + other_high) / 2


def test_states_keep_apart():
    layout = layered(diagram_of(synthesize_boolean("(X b | (c W b)) & WX(a M a)")))
    centers = list(layout.centers.values())
    for number, (x, y) in enumerate(centers):
        for other_x, other_y in centers[:number]:
            assert (x - other_x) ** 2 + (y - other_y) ** 2 >= (3 * RADIUS) ** 2


def test_a_state_that_cannot_be_reached_is_drawn_too():
    nodes = (Node("s0", "0", initial=True), Node("s1", "1"), Node("s2", "2"))
    svg = to_svg(Diagram("lonely", nodes, (Edge("s0", "s0", "a"), Edge("s2", "s1", "b"))))
    assert {"0", "1", "2"} <= set(texts(svg))


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
    with pytest.raises(rs.MissingExtraError, match=r"pip install '\.\[plot\]'"):
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

"""Answers of the playground: formulas parsed, machines synthesized, all as data for a browser.

A formula about things is shown for one of them, which is called as the quantifier's variable is.

Whatever comes from a browser is checked here before it is used: its size, its types, and the effort that it would take.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rewardspec.drawing.diagrams import diagram_of
from rewardspec.drawing.svg import to_svg
from rewardspec.errors import Error, FormulaError, SpecError, SynthesisError
from rewardspec.export.js_code import js_object
from rewardspec.export.sources import Source, source_of_monitor
from rewardspec.logic.formulas import Affine, Atom, Binary, Counted, Formula, Unary
from rewardspec.logic.operators import OPERATORS
from rewardspec.logic.parsing import parse
from rewardspec.logic.quantifiers import Quantified
from rewardspec.logic.words import paraphrase
from rewardspec.pages.first_trace import first_trace
from rewardspec.pages.machine_views import machine_view
from rewardspec.spec.atoms.functions import AtomFunction, looks_like_a_comparison
from rewardspec.spec.lint.findings import LintedSpec
from rewardspec.spec.lint.linter import findings_of
from rewardspec.spec.pairs import Pair, about_any
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.sorts import NAMES, Sorts, as_sorts
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import NotImported, SpecDraft, draft_of_text
from rewardspec.spec.toml_writing import dumps_spec
from rewardspec.spec.veto_and_reward import reward_head
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Json, JsonObject

MOST_PAIRS = 12
MOST_TEXT = 1_000  # characters of a formula
MOST_NODES = 150  # operators and atoms of a formula
MOST_REGISTERS = 64
MOST_STEPS = 2_000  # of a formula's intervals, together
MOST_STATES = 64  # of an automaton
_EXAMPLE = Spec([Pair("G(request -> F[0,20] grant)", 1.0), Pair("F(key & F door)", 1.0)])
_SHOWN = 100  # steps of an example
_EXAMPLES: dict[str, tuple[Spec, dict[str, list[tuple[int, int, float]]]]] = {
    "Answer in time": (
        _EXAMPLE,
        {
            "request": [(10, 11, 1.0), (45, 46, 1.0)],
            "grant": [(22, 24, 1.0), (80, 82, 1.0)],  # the second comes too late
            "key": [(15, 20, 0.7)],
            "door": [(35, 38, 1.0)],
        },
    ),
    "Key, door, goal: paid for progress": (
        Spec([Pair("F(key & F(door & F goal))", 3.0, progress=True)], payment="delta"),
        {"key": [(20, 22, 1.0)], "door": [(10, 12, 1.0), (50, 52, 1.0)], "goal": [(80, 100, 1.0)]},
    ),
    "Safe on the way to the goal": (
        Spec([Pair("G safe", 1.0), Pair("F goal", 2.0)], penalty=-1.0),
        {"safe": [(0, 40, 1.0), (40, 60, 0.4), (60, 85, 0.9), (86, 100, 1.0)], "goal": [(20, 50, 0.3), (50, 100, 0.8)]},
    ),
    "At most three times": (
        Spec([Pair("G{3} !retry", 1.0)]),
        {"retry": [(15, 16, 1.0), (35, 36, 1.0), (55, 56, 1.0), (75, 76, 1.0)]},
    ),
    "Hold it for ten steps": (
        Spec([Pair("F(H[0,9] held & Y[9] true)", 1.0)]),
        {"held": [(10, 17, 1.0), (30, 50, 0.6), (65, 80, 1.0)]},
    ),
}
"""Examples by title: a spec, and for each atom the stretches of steps in which its label is not 0."""
_OPTIONS = ("payment", "penalty", "discount", "semantics", "bound")
_PAIR = ("formula", "weight", "veto", "penalty", "name", "payment", "progress")


def request_of(spec: Spec | None, further: Mapping[str, Json] = MappingProxyType({})) -> JsonObject:
    """The playground's content for a spec, as a browser would send it; for None an example.

    `further` is what else its file has, such as the atoms, which the playground does not read and copies as they are.
    Of it the browser reads the threshold alone, for the labels that are drawn.
    """
    spec = _EXAMPLE if spec is None else spec
    if spec.bound == math.inf:
        raise SpecError("The playground shows finite rewards. Write a finite `bound`. Received inf.")
    pairs = [
        {key: str(pair.formula) if key == "formula" else getattr(pair, key) for key in _PAIR} for pair in spec.pairs
    ]
    sorts = {name: list(things) or NAMES for name, things in spec.sorts.items()}
    further = ({"sorts": sorts} if sorts else {}) | dict(further)
    return {"pairs": pairs, **{key: getattr(spec, key) for key in _OPTIONS}, "further": further}


def first_content(spec: Spec | None, further: Mapping[str, Json] = MappingProxyType({})) -> JsonObject:
    """Initial content, examples and completions of the playground; see `request_of`."""
    examples = [
        {"title": title, **request_of(shown), "length": _SHOWN, "signals": _signals(stretches)}
        for title, (shown, stretches) in _EXAMPLES.items()
    ]
    content = examples[0]
    if spec is not None:
        signals = first_trace(spec, _SHOWN)
        content = request_of(spec, further) | ({} if signals is None else {"length": _SHOWN, "signals": signals})
    return {**content, "examples": examples, "completions": _completions(), "payments": list(PAYMENTS)}


def _signals(stretches: Mapping[str, list[tuple[int, int, float]]]) -> dict[str, list[float]]:
    """The labels of each atom at every step of an example."""
    return {
        atom: [next((level for first, end, level in parts if first <= k < end), 0.0) for k in range(_SHOWN)]
        for atom, parts in stretches.items()
    }


def _completions() -> list[dict[str, str]]:
    """The operators that are written as words, each with what it says of a and b."""
    found: dict[str, dict[str, str]] = {}
    for kind, operator in OPERATORS.items():
        operands = [Atom("a"), Atom("b")][: 1 if issubclass(kind, Unary) else 2]
        numbered = issubclass(kind, Counted | Affine)
        for spelling in operator.spellings:
            if spelling.isalpha() and spelling.isascii() and issubclass(kind, Unary | Binary) and not numbered:
                found.setdefault(spelling, {"text": spelling, "words": paraphrase(kind(*operands)) or ""})
    return list(found.values())


def content_of_toml(text: str) -> JsonObject:
    """The playground's content for a spec file's text; its atoms are kept as text, since labels are drawn."""
    draft = draft_of_text(text)
    shown = {key: value for key, value in draft.options.items() if key in (*_OPTIONS, "sorts")}
    return request_of(Spec(draft.pairs, **shown), further_of(draft))


def further_of(draft: SpecDraft) -> JsonObject:
    """Return what a spec file has beside what the playground shows: atoms, the names of observations and the like."""
    return {key: value for key, value in draft.table.items() if key not in (*_OPTIONS, "pairs")}


def answer(request: Json) -> JsonObject:
    """The machines of a request's formulas, and what there is to say about each and all."""
    options, entries = _checked(request)
    answers, pairs, modules = [], [], []
    for entry in entries:
        told, pair, module = _answer_of_pair(entry, options["semantics"])
        answers.append(told)
        pairs.append(pair)
        modules.append(module)
    result: JsonObject = {"pairs": answers, "lint": [], "python": None, "toml": None, "error": None}
    result["unlinted"] = None
    specs = "null"
    whole = [pair for pair in pairs if pair is not None]
    if len(whole) == len(pairs):
        try:
            shown = Spec([about_any(pair) for pair in whole], max_registers=MOST_REGISTERS, **options)
            specs = specs_under_each_payment(shown)
            further = _further(request)
            spec = Spec(whole, sorts=_sorts(whole, further.pop("sorts", None)), **options)
            toml = _toml_of(spec, further)
            python = _python_of_toml(toml) if further or spec.sorts else python_of(spec)
            findings = _lint(spec.replace(max_registers=MOST_REGISTERS), further.get("atoms"))
            result |= {"lint": findings, "python": python, "toml": toml}
        except Error as error:
            result["error"] = str(error)
    else:
        result["unlinted"] = _why_unlinted([number for number, pair in enumerate(pairs, start=1) if pair is None])
    result["module"] = f"export const monitors = [{', '.join(modules)}];\nexport const specs = {specs};\n"
    return result


def _why_unlinted(wrong: Sequence[int]) -> str:
    """Say which pairs have an error, so that nothing can be said about the spec."""
    numbers = ", ".join(map(str, wrong))
    return f"Pair {numbers} has an error." if len(wrong) == 1 else f"Pairs {numbers} have errors."


def _further(request: JsonObject) -> JsonObject:
    further = request.get("further", {})
    if not isinstance(further, dict):
        raise SpecError("`further` should be an object.")
    return dict(further)


def _sorts(pairs: Sequence[Pair], declared: Json) -> Sorts:
    """The sorts of a file, and one thing of each sort that only a formula names."""
    variables = [pair.formula.variable for pair in pairs if isinstance(pair.formula, Quantified)]
    return dict.fromkeys(variables, ("0",)) | as_sorts(declared)


def _toml_of(spec: Spec, further: JsonObject) -> str:
    text = dumps_spec(spec, further)
    draft_of_text(text)  # says what is wrong with it
    return text


def automaton_svg(text: Json) -> str:
    """The picture of a formula's automaton for Boolean labels."""
    automaton = synthesize_boolean(_read(text), max_states=MOST_STATES)
    return to_svg(diagram_of(automaton))


def python_of(spec: Spec) -> str:
    """Python code that makes a spec."""
    lines = []
    for pair in spec.pairs:
        given = "".join(f", {key}={value!r}" for key, value in _given(pair, _PAIR[2:]))
        lines.append(f"        rs.Pair({str(pair.formula)!r}, {pair.weight!r}{given}),\n")
    options = "".join(f"    {key}={value!r},\n" for key, value in _given(spec, _OPTIONS))
    return f"import rewardspec as rs\n\nspec = rs.Spec(\n    [\n{''.join(lines)}    ],\n{options})\n"


def _given(thing: Pair | Spec, names: Sequence[str]) -> list[tuple[str, Json]]:
    """The arguments of a pair or a spec that are not their defaults."""
    defaults = inspect.signature(type(thing)).parameters
    return [(name, getattr(thing, name)) for name in names if getattr(thing, name) != defaults[name].default]


def _python_of_toml(text: str) -> str:
    """Python code that makes the spec of a file, with its atoms and all else that the file has."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'import rewardspec as rs\n\nspec = rs.Spec.from_toml("""\n{escaped}""")\n'


def _checked(request: Json) -> tuple[JsonObject, list[Mapping[str, Json]]]:
    if not isinstance(request, dict) or not isinstance(request.get("pairs"), list):
        raise SpecError("A request should have a list of pairs.")
    if len(request["pairs"]) > MOST_PAIRS:
        raise SpecError(f"The playground takes at most {MOST_PAIRS} formulas. Received {len(request['pairs'])}.")
    if not all(isinstance(entry, dict) for entry in request["pairs"]):
        raise SpecError("Each pair should have a formula and a weight.")
    options = {key: request[key] for key in _OPTIONS if key in request}
    options.setdefault("semantics", "degree")
    if options["semantics"] not in ("degree", "robustness"):
        raise SpecError("`semantics` should be 'degree' or 'robustness'.")
    for key in ("penalty", "discount", "bound"):
        if options.get(key) is not None:
            options[key] = _number(options[key], key)
    if not isinstance(options.get("payment", "value"), str):
        raise SpecError("`payment` should be the name of a way to pay.")
    Spec([], **options)  # says what is wrong with them
    return options, request["pairs"]


def _number(value: Json, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SpecError(f"`{name}` should be a finite number.")
    if abs(value) > 1e9:
        raise SpecError(f"`{name}` should be at most a billion. Received {value:g}.")
    return float(value)


def _read(text: Json) -> Formula:
    """A formula that is worth the effort."""
    if not isinstance(text, str):
        raise FormulaError("A formula should be text.")
    if len(text) > MOST_TEXT:
        raise FormulaError(f"The playground reads formulas of up to {MOST_TEXT:,} characters. Received {len(text):,}.")
    formula = parse(text)
    if formula.size > MOST_NODES:
        raise FormulaError(
            f"The playground takes formulas of up to {MOST_NODES} operators and atoms. Received {formula.size}."
        )
    steps = sum(bound for part in formula.subformulas() for bound in part.params if isinstance(bound, int))
    if steps > MOST_STEPS:
        raise FormulaError(
            f"The playground takes intervals and counts of up to {MOST_STEPS:,} steps together. Received {steps:,}."
        )
    return formula


def _answer_of_pair(entry: Mapping[str, Json], semantics: Json) -> tuple[JsonObject, Pair | None, str]:
    """Return the answer about a pair; the pair, if it is valid; and its monitor in JavaScript, or None."""
    told: JsonObject = {"error": None, "words": None, "atoms": [], "machine": None, "formula": None}
    told["thing"] = None
    try:
        formula = _read(entry.get("formula"))
        told |= {"formula": str(formula), "words": paraphrase(formula), "atoms": list(formula.atoms)}
        more = {key: entry[key] for key in _PAIR[2:] if entry.get(key) is not None}
        if "penalty" in more:
            more["penalty"] = _number(more["penalty"], "penalty")
        if not isinstance(more.get("payment", ""), str):
            raise SpecError("`payment` should be the name of a way to pay.")
        if len(str(more.get("name", ""))) > MOST_TEXT:
            raise SpecError("The pair's name is too long.")
        pair = Pair(formula, _number(entry.get("weight", 1.0), "weight"), **more)
        told["thing"] = formula.variable if isinstance(formula, Quantified) else None
        monitor = synthesize(
            pair.body, semantics=semantics, max_registers=MOST_REGISTERS, progress=semantics == "degree"
        )
        told |= {"machine": machine_view(monitor), "vetoes": pair.vetoes}
        return told, pair, js_object(source_of_monitor(monitor, "m"))
    except (FormulaError, SynthesisError, SpecError) as error:
        told["error"] = {
            "message": str(error),
            "line": getattr(error, "line", None),
            "column": getattr(error, "column", None),
        }
        return told, None, "null"


def specs_under_each_payment(spec: Spec) -> str:
    """An object with the spec's reward under each way to pay."""
    formulas = tuple(map(str, spec.formulas))
    bound = math.inf if spec.bound is None else spec.bound
    ways = []
    for way in PAYMENTS:
        head = reward_head(spec.pairs, spec.penalties, way, spec.discount, spec.semantics, bound)
        ways.append(f"{way}: {js_object(Source('m', formulas, spec.program, head))}")
    return f"{{ {', '.join(ways)} }}"


def _lint(spec: Spec, entries: Json) -> list[JsonObject]:
    """What looks wrong with a spec; where a file has atoms, also with the names of others."""
    atoms: dict[str, AtomFunction] | None = None
    if isinstance(entries, dict) and entries:
        names = [*entries, *(name for name in spec.atoms if looks_like_a_comparison(name))]
        atoms = {name: NotImported(name) for name in names}
    return [dataclasses.asdict(finding) for finding in findings_of(LintedSpec(spec, atoms))]

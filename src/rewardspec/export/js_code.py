"""Monitors and specs as JavaScript: one ES module without imports, of pure functions.

    import { reset, step, bounds, progress } from "./m.js";

    let state = reset();
    state = step(state, { request: 0.75, grant: 0 });
    state.value; bounds(state); progress(state);

A state is a plain object that is never changed; `step` gives the next one. `bounds` and `progress` are null where they
are not known. A spec's module has `start(labels)`, `step(state, labels, { baseReward, terminated, truncated })`,
`violated(state)` and `level(state)`; its states have `reward` and `values`. Labels are checked as in Python: a
RangeError names the one that is missing or out of range. The default export is an object of all of these.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from importlib import resources

from rewardspec.errors import Error
from rewardspec.export.sources import Source, Statements, held_variable
from rewardspec.machines.expressions import Expression, label
from rewardspec.machines.instructions import Instruction, Writer
from rewardspec.machines.label_checks import TOLERANCE
from rewardspec.machines.windows import algebra
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.veto_and_reward import RewardHead

_OWN = ("label", "steps", "ends", "done", "larger", "smaller", "slidingWindow")


def to_js(source: Source) -> str:
    """The module."""
    names = ", ".join(_exported(source))
    if source.name in (*_exported(source), *_OWN) or re.fullmatch(r"window\d+", source.name):
        raise Error(f"`name` should be none of the module's own names. Received {source.name!r}; try 'm'.")
    what = "The reward of a spec:" if source.is_spec else "The monitor of"
    heading = [f"// {what} {'; '.join(map(_comment, source.formulas))}", "// Made by rewardspec.", ""]
    ending = [f"const {source.name} = Object.freeze({{ {names} }});", f"export {{ {names} }};"]
    return "\n".join([*heading, *_Printer(source).lines(), *ending, f"export default {source.name};", ""])


def js_object(source: Source) -> str:
    """An expression whose value is what the module's default export is, for pages that hold several."""
    names = ", ".join(_exported(source))
    return "\n".join(["(() => {", *_Printer(source).lines(), f"return Object.freeze({{ {names} }});", "})()"])


def text(value: object) -> str:
    """A value as JavaScript, and as a part of a script inside a page."""
    written = json.dumps(value, ensure_ascii=True)
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def literal(value: float) -> str:
    """A number as JavaScript writes it."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if math.isnan(value) else repr(float(value))


def _comment(formula: str) -> str:
    return "".join(c if " " <= c <= "~" and c not in "<>" else " " for c in formula)


def _exported(source: Source) -> tuple[str, ...]:
    own = ("start", "violated", "level") if source.is_spec else ("bounds", "progress")
    return ("formulas", "atoms", "registers", "windows", "reset", "step", *own, "describe")


class _Statements(Statements):
    """Statements of JavaScript."""

    declaration = "const"

    def writer(self, row: Instruction) -> Writer:
        return row.js or row.c

    def number(self, value: float) -> str:
        return literal(value)

    def memory(self, field: str, index: int | None) -> str:
        return f"s.{field}" if index is None else f"s.{field}[{index}]"

    def cell(self, part: Expression) -> tuple[str, str]:
        number = part.args[0]
        match part.op:
            case "label":
                return f"l{self.program.atoms.index(number)}", f"label(labels[{text(number)}], {text(number)})"
            case "register":
                return f"r{number}", f"s.r{number}"
            case "content":
                return f"h{number}_{part.args[1]}", f"held{number}[{part.args[1]}]"
            case "pushed":
                return f"v{number}", f"window{number}.read(p{number})"
            case "held":
                least = part.args[1]
                extremum = "smaller" if least else "larger"
                return held_variable(number, least), f"window{number}.held(s.w{number}, {extremum})"
        return f"w{number}", f"window{number}.read(s.w{number})"


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _number_or_list(value: float | tuple[float, ...]) -> str:
    return _list(map(literal, value)) if isinstance(value, tuple) else literal(value)


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


class _Printer:
    """The lines of one module."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.program = source.program
        self.head = source.head

    def lines(self) -> list[str]:
        program = self.program
        names = [window.name for window in program.windows]
        return [
            f"const formulas = {text(list(self.source.formulas))};",
            f"const atoms = {text(list(program.atoms))};",
            f"const registers = {text(list(program.registers))};",
            f"const windows = {text(names)};",
            "",
            *self._label(),
            *self._windows(),
            *self._reset(),
            *self._step(),
            *(self._of_a_spec() if self.source.is_spec else self._of_a_monitor()),
            *self._describe(),
        ]

    def _label(self) -> list[str]:
        if self.program.semantics == "degree":
            near = repr(TOLERANCE)
            inside = [
                "  if (x >= 0 && x <= 1) return x;",
                f"  if (x >= -{near} && x <= 1 + {near}) return x < 0 ? 0 : 1;  // as rounding makes them",
            ]
            kind = "in [0, 1]"
        else:
            inside, kind = ["  if (Number.isFinite(x)) return x;"], "finite"
        return [
            "function label(given, atom) {",
            '  const x = typeof given === "number" ? given : given === true ? 1 : given === false ? 0 : NaN;',
            *inside,
            f"  throw new RangeError(`The label of ${{atom}} should be a number {kind}. Received ${{given}}.`);",
            "}",
            "",
        ]

    def _windows(self) -> list[str]:
        if not self.program.windows:
            return []
        lines = [resources.files("rewardspec.export").joinpath("windows.js").read_text(encoding="utf-8")]
        for k, window in enumerate(self.program.windows):
            on = algebra(window, self.program, None)
            better, worse = ("smaller", "larger") if window.neutral else ("larger", "smaller")
            given = f"{window.length}, {better}, {worse}, {literal(on.neutral)}, {literal(on.identity)}"
            lines.append(f"const window{k} = slidingWindow({given}, {'true' if on.oldest else 'false'});")
        return [*lines, ""]

    def _reset(self) -> list[str]:
        program = self.program
        cells = ["control: 0"]
        cells += [f"r{k}: {literal(program.number(value))}" for k, value in enumerate(program.initial)]
        cells += [f"w{k}: window{k}.empty" for k in range(len(program.windows))]
        cells += ["reward: 0"] if self.source.is_spec else []
        cells += [f"{field.name}: {_number_or_list(field.initial)}" for field in self.head.fields]
        return ["function reset() {", f"  return {{ {', '.join(cells)} }};", "}", ""]

    def _step(self) -> list[str]:
        given = "".join(f", {name}" for name, _ in self.head.inputs)
        lines = ["const steps = ["]
        for control in range(len(self.program.steps)):
            body = self._control_state(control)
            lines += [f"  (s, labels{given}) => {{", *(f"    {line}" for line in body), "  },"]
        lines += ["];", ""]
        names = [_camel_case(name) for name, _ in self.head.inputs]
        defaults = [f"{n} = {text(default)}" for n, (_, default) in zip(names, self.head.inputs, strict=True)]
        options = f", {{ {', '.join(defaults)} }} = {{}}" if names else ""
        passed = "".join(f", {name}" for name in names)
        return [
            *lines,
            f"function step(state, labels{options}) {{",
            f"  return steps[state.control](state, labels{passed});",
            "}",
            "",
        ]

    def _control_state(self, control: int) -> list[str]:
        program, step = self.program, self.program.steps[control]
        code = _Statements(self.source)
        # Every label is looked at, so that a wrong one is told even where this step does not need it.
        lines = code.compute(map(label, program.atoms)) + code.compute(step.early())
        for k, push in enumerate(step.pushes):
            guard = "" if push.guard is None else f", {code.place[push.guard]}"
            lines.append(f"const p{k} = window{k}.push(s.w{k}, {code.place[push.value]}{guard});")
        lines += code.compute(step.late())
        lines += code.head(step)
        cells = [f"control: {program.successor(control)}"]
        cells += [f"r{k}: {f's.r{k}' if u is None else code.place[u]}" for k, u in enumerate(step.updates)]
        cells += [f"w{k}: p{k}" for k in range(len(program.windows))]
        cells += [f"reward: {code.place[each]}" for each in self.head.results if self.source.is_spec]
        for field in self.head.fields:
            values = [code.place[after] for _, _, after in field.items()]
            cells.append(f"{field.name}: {values[0] if isinstance(field.after, Expression) else _list(values)}")
        return [*lines, f"return {{ {', '.join(cells)} }};"]

    def _of_a_monitor(self) -> list[str]:
        lines: list[str] = []
        if self.source.lower is None or self.source.upper is None:
            lines += ["const bounds = null;", ""]
        else:
            lines += self._table("ends", [self.source.lower, self.source.upper])
            lines += [
                "function bounds(state) {",
                "  const [low, high] = ends[state.control](state), value = state.value;",
                "  if (Number.isNaN(value)) return [low, high];",
                "  return [low < value ? low : value, high > value ? high : value];",
                "}",
                "",
            ]
        if self.source.progress is None:
            return [*lines, "const progress = null;", ""]
        return [
            *lines,
            *self._table("done", [self.source.progress]),
            "function progress(state) {",
            "  const [found] = done[state.control](state);",
            "  return found > state.value ? found : state.value;",
            "}",
            "",
        ]

    def _table(self, name: str, tables: Sequence[Sequence[Expression]]) -> list[str]:
        lines = [f"const {name} = ["]
        for row in zip(*tables, strict=True):
            code = _Statements(self.source, first_of_equals=True)
            body = [f"const held{k} = window{k}.contents(s.w{k});" for k in self.source.looked_into(row)]
            body += code.compute(row)
            results = ", ".join(code.place[expression] for expression in row)
            lines += ["  (s) => {", *(f"    {line}" for line in body), f"    return [{results}];", "  },"]
        return [*lines, "];", ""]

    def _of_a_spec(self) -> list[str]:
        assert isinstance(self.head, RewardHead)
        levels = ", ".join(
            "0" if PAYMENTS[way].starts_at_zero else f"s.level[{k}]" for k, way in enumerate(self.head.payments)
        )
        total = " + ".join(f"state.level[{k}]" for k in range(len(self.head.payments)))
        return [
            "function start(labels) {",
            "  const s = step(reset(), labels);",
            f"  return {{ ...s, reward: 0, level: [{levels}] }};",
            "}",
            "",
            "const violated = (state) => state.penalty < Infinity;",
            f"const level = (state) => {total};",
            "",
        ]

    def _describe(self) -> list[str]:
        """The function that shows what a state holds: registers, and what each window gives."""
        registers = ", ".join(f"state.r{k}" for k in range(len(self.program.registers)))
        windows = ", ".join(f"window{k}.read(state.w{k})" for k in range(len(self.program.windows)))
        cells = f"control: state.control, registers: [{registers}], windows: [{windows}]"
        return [f"const describe = (state) => ({{ {cells} }});", ""]

"""Monitors and specs as C99: one self-contained file, without allocation, that needs nothing but `math.h`.

The file starts with its interface. For a monitor called `m`:

- `m_state`: all that a trace needs, a plain struct that can be copied;
- `m_reset(&s)`: the state before the first labels;
- `m_step(&s, labels)`: reads the labels of one more state, in the order of the enumeration `M_LABEL_…`, and returns the
  value, which is also `s.value`;
- `m_bounds(&s, &lower, &upper)` and `m_progress(&s)`, where they are known;
- `m_labels_ok(labels)`: whether labels are in range, which `m_step` does not check.

A spec's step also takes the environment's own reward and whether the episode ended, and returns the reward. `m_start`
reads the labels after a reset. `m_violated` and `m_level` read a state, and `s.values` holds the formulas' values.

No step takes longer than another, however long its windows are. Other files get the interface alone by defining
`M_INTERFACE_ONLY` before they include the file.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from rewardspec.export.c_windows import CWindow, function
from rewardspec.export.sources import Source, Statements, held_variable
from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.instructions import Instruction, Writer
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.veto_and_reward import RewardHead


def to_c(source: Source) -> str:
    """The file."""
    return "\n".join([*_Printer(source).lines(), ""])


def literal(value: float) -> str:
    """A number as C writes it."""
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return "NAN" if math.isnan(value) else repr(float(value))


def comment(text: str) -> str:
    """Text that no compiler mistakes for the end of a comment, another's start, a trigraph or a spliced line.

    Only printable ASCII without backslashes is kept, other characters are written as their code points. Blanks keep
    apart the characters that mean something only together.

    Example:
        >>> comment("a*/b ??/"), comment("c*" + chr(92) + "/d")
        ('a* /b ? ? /', 'c*<U+005C>/d')
    """
    safe = "".join(c if " " <= c <= "~" and c != "\\" else f"<U+{ord(c):04X}>" for c in text)
    return re.sub(r"(?<=[*/?])(?=[*/?])", " ", safe)


def enumerators(prefix: str, names: Iterable[str]) -> list[str]:
    """An enumerator for each name, no two alike.

    Example:
        >>> enumerators("M_LABEL_", ["at goal", "at_goal", "x < 1"])
        ['M_LABEL_AT_GOAL', 'M_LABEL_AT_GOAL_2', 'M_LABEL_X_1']
    """
    found: list[str] = []
    for name in names:
        word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()[:40] or "ATOM"
        candidate, count = prefix + word, 1
        while candidate in found:
            count += 1
            candidate = f"{prefix}{word}_{count}"
        found.append(candidate)
    return found


class _Statements(Statements):
    """Statements of C."""

    declaration = "const double"

    @functools.cached_property
    def labels(self) -> list[str]:
        return _labels(self.source)

    def writer(self, row: Instruction) -> Writer:
        return row.c

    def number(self, value: float) -> str:
        return literal(value)

    def memory(self, field: str, index: int | None) -> str:
        return _field(field, index)

    def cell(self, part: Expression) -> tuple[str, str]:
        m, number = self.source.name, part.args[0]
        match part.op:
            case "label":
                place = self.program.atoms.index(number)
                return f"l{place}", f"labels[{self.labels[place]}]"
            case "register":
                return f"r{number}", f"s->r[{number}]"
            case "content":
                return f"h{number}_{part.args[1]}", f"held{number}[{part.args[1]}]"
            case "held":
                name = held_variable(*part.args)
                return name, f"{m}_{name}(s)"
        return f"{part.op[0]}{number}", f"{m}_read{number}(s)"


def _field(name: str, index: int | None) -> str:
    return f"s->{name}" if index is None else f"s->{name}[{index}]"


def _labels(source: Source) -> list[str]:
    return enumerators(f"{source.name.upper()}_LABEL_", source.program.atoms)


class _Printer:
    """The lines of one file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.program = source.program
        self.head = source.head
        self.m, self.upper_m = source.name, source.name.upper()
        self.windows = [CWindow(self.program, k, self.m, literal) for k in range(len(self.program.windows))]

    # The file.

    def lines(self) -> list[str]:
        guard = f"{self.upper_m}_REWARDSPEC_EXPORT"
        return [
            *self._heading(),
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <math.h>",
            "",
            *self._interface(),
            "#endif",
            "",
            f"#ifndef {self.upper_m}_INTERFACE_ONLY",
            "",
            *self._window_functions(),
            *self._functions(),
            "#endif",
        ]

    def _heading(self) -> list[str]:
        what = "The reward of a spec:" if self.source.is_spec else "The monitor of"
        own = [f" *     {comment(text)}" for text in self.source.formulas]
        labels = "degrees in [0, 1]" if self.program.semantics == "degree" else "finite numbers, values robustness"
        return [
            f"/* {what}",
            " *",
            *own,
            " *",
            f" * Labels are {labels}, in the order of the enumeration",
            f" * {self.upper_m}_LABEL_...; {self.m}_step does not check them. Where the processor fuses multiplication",
            " * and addition, compile with -std=c99 or -ffp-contract=off: then results are, bit by bit, those of",
            " * Python. Made by rewardspec; C99, no allocation, no library but math.h.",
            " */",
            "",
        ]

    def _interface(self) -> list[str]:
        program, m = self.program, self.m
        lines = ["enum {"]
        for k, (name, atom) in enumerate(zip(_labels(self.source), program.atoms, strict=True)):
            lines.append(f"    {name} = {k},  /* {comment(atom)} */")
        lines += [f"    {self.upper_m}_LABELS = {len(program.atoms)}  /* how many there are */", "};", ""]
        lines += ["typedef struct {"]
        fields: list[str] = ["int control;"] if len(program.steps) > 1 else []
        if program.registers:
            fields.append(f"double r[{len(program.registers)}];")
            fields += [f"/* r[{k}]: {comment(name)} */" for k, name in enumerate(program.registers)]
        for window in self.windows:
            fields += [f"/* w{window.number}: {comment(window.window.name)} */", *window.fields()]
        for field in self.head.fields:
            count = len(field.items())
            size = "" if isinstance(field.after, Expression) else f"[{count}]"
            fields += [f"double {field.name}{size};  /* {field.about} */"] if count else []
        lines += [*(f"    {field}" for field in fields), f"}} {m}_state;", ""]
        return [*lines, *(f"{signature};" for signature in self._signatures()), ""]

    def _signatures(self) -> list[str]:
        m, reads = self.m, f"const {self.m}_state *s"
        if not self.source.is_spec:
            found = [f"void {m}_reset({m}_state *s)", f"double {m}_step({m}_state *s, const double *labels)"]
            if self.source.upper is not None:
                found.append(f"void {m}_bounds({reads}, double *lower, double *upper)")
            if self.source.progress is not None:
                found.append(f"double {m}_progress({reads})")
        else:
            found = [
                f"void {m}_reset({m}_state *s)",
                f"void {m}_start({m}_state *s, const double *labels)",
                f"double {m}_step({m}_state *s, const double *labels, "
                "double base_reward, int terminated, int truncated)",
                f"int {m}_violated({reads})",
                f"double {m}_level({reads})",
            ]
        return [*found, f"int {m}_labels_ok(const double *labels)"]

    def _window_functions(self) -> list[str]:
        everything = [*self.program.expressions(), *self.source.read_later()]
        read = {(part.op, *part.args) for part in all_parts(everything) if part.op in ("window", "pushed", "held")}
        lines: list[str] = []
        for k, window in enumerate(self.windows):
            lines += window.read() if ("window", k) in read or ("pushed", k) in read else []
            lines += window.push()
            for least in (False, True):
                lines += window.held(least) if ("held", k, least) in read else []
            lines += window.contents() if k in self.source.looked_into(self.source.read_later()) else []
        return lines

    def _functions(self) -> list[str]:
        lines: list[str] = []
        for signature in self._signatures():
            kind = re.search(rf"{self.m}_(\w+)\(", signature)
            assert kind is not None
            body: Sequence[str] = getattr(self, f"_{kind[1]}")()
            lines += function(signature, body)
        return lines

    # The bodies of the functions.

    def _reset(self) -> list[str]:
        program = self.program
        lines = ["int k;"] if any(window.window.length > 1 for window in self.windows) else []
        lines += ["s->control = 0;"] if len(program.steps) > 1 else []
        lines += [f"s->r[{k}] = {literal(program.number(value))};" for k, value in enumerate(program.initial)]
        for window in self.windows:
            lines += window.reset()
        for field in self.head.fields:
            initial = field.initial if isinstance(field.initial, tuple) else (field.initial,)
            for (_, index, _), value in zip(field.items(), initial, strict=True):
                lines.append(f"{_field(field.name, index)} = {literal(value)};")
        return lines

    def _start(self) -> list[str]:
        assert isinstance(self.head, RewardHead)
        lines = [f"{self.m}_reset(s);", f"(void){self.m}_step(s, labels, 0.0, 0, 0);"]
        for k, way in enumerate(self.head.payments):
            if PAYMENTS[way].starts_at_zero:
                lines.append(f"s->level[{k}] = 0.0;")
        return lines

    def _step(self) -> list[str]:
        bodies = [self._control_state(control) for control in range(len(self.program.steps))]
        text = "\n".join(line for body in bodies for line in body)
        given = ["labels", *(name for name, _ in self.head.inputs)]
        lines = [f"(void){name};" for name in given if not re.search(rf"\b{name}\b", text)]
        body = bodies[0] if len(bodies) == 1 else _switch(bodies)
        return ["double result = 0.0;", *lines, *body, "return result;"]

    def _control_state(self, control: int) -> list[str]:
        program, step = self.program, self.program.steps[control]
        code = _Statements(self.source)
        lines = code.compute(step.early())
        for k, (window, push) in enumerate(zip(self.windows, step.pushes, strict=True)):
            given = code.place[push.value]
            if window.guarded:
                given += ", " + (window.identity if push.guard is None else code.place[push.guard])
            lines.append(f"{self.m}_push{k}(s, {given});")
        lines += code.compute(step.late())
        lines += code.head(step)
        lines += [f"result = {code.place[each]};" for each in self.head.results]
        for field in self.head.fields:
            for name, index, after in field.items():
                if code.place[after] != f"{name}_before":
                    lines.append(f"{_field(field.name, index)} = {code.place[after]};")
        for k, update in enumerate(step.updates):
            if update is not None and code.place[update] != f"r{k}":
                lines.append(f"s->r[{k}] = {code.place[update]};")
        if len(program.steps) > 1 and program.successor(control) != control:
            lines.append(f"s->control = {program.successor(control)};")
        return _used(lines)

    def _bounds(self) -> list[str]:
        assert self.source.lower is not None
        assert self.source.upper is not None
        lines, (low, high) = self._by_control([self.source.lower, self.source.upper], ("low", "high"))
        return [
            *lines,
            f"*lower = {low} < s->value || isnan(s->value) ? {low} : s->value;",
            f"*upper = {high} > s->value || isnan(s->value) ? {high} : s->value;",
        ]

    def _progress(self) -> list[str]:
        assert self.source.progress is not None
        lines, (found,) = self._by_control([self.source.progress], ("found",))
        return [*lines, f"return {found} > s->value ? {found} : s->value;"]

    def _by_control(
        self, tables: Sequence[Sequence[Expression]], names: Sequence[str]
    ) -> tuple[list[str], Sequence[str]]:
        """Statements that compute each table's expression of the control state, and where the results are."""
        bodies = []
        for row in zip(*tables, strict=True):
            code = _Statements(self.source, first_of_equals=True)
            lines = []
            for k in self.source.looked_into(row):
                lines += [f"double held{k}[{self.program.windows[k].length}];"]
            lines += [f"{self.m}_contents{k}(s, held{k});" for k in self.source.looked_into(row)]
            lines += code.compute(row)
            places = [code.place[expression] for expression in row]
            if len(self.program.steps) == 1:
                return lines, places
            bodies.append([*lines, *(f"{name} = {place};" for name, place in zip(names, places, strict=True))])
        return [*(f"double {name} = 0.0;" for name in names), *_switch(bodies)], names

    def _violated(self) -> list[str]:
        return ["return s->penalty < INFINITY ? 1 : 0;"]

    def _level(self) -> list[str]:
        assert isinstance(self.head, RewardHead)
        return [f"return {' + '.join(f's->level[{k}]' for k in range(len(self.head.payments)))};"]

    def _labels_ok(self) -> list[str]:
        if not self.program.atoms:
            return ["(void)labels;", "return 1;"]
        good = "labels[k] >= 0.0 && labels[k] <= 1.0" if self.program.semantics == "degree" else "isfinite(labels[k])"
        return [
            "int k;",
            "int ok = 1;",
            f"for (k = 0; k < {self.upper_m}_LABELS; k++) {{",
            f"    if (!({good})) {{ ok = 0; }}",
            "}",
            "return ok;",
        ]


def _switch(bodies: Sequence[Sequence[str]]) -> list[str]:
    lines = ["switch (s->control) {"]
    for control, body in enumerate(bodies):
        lines += [f"case {control}: {{", *(f"    {line}" for line in body), "    break;", "}"]
    return [*lines, "default:", "    break;", "}"]


def _used(lines: Sequence[str]) -> list[str]:
    """The statements without declarations that nothing reads, such as of a register that stays as it is."""
    words = Counter(word for line in lines for word in re.findall(r"\w+", line))
    kept = []
    for line in reversed(lines):  # so that what only an unused one reads goes too
        declared = re.match(r"const double (\w+) =", line)
        if declared is not None and words[declared[1]] == 1:
            words.subtract(re.findall(r"\w+", line))
        else:
            kept.append(line)
    return kept[::-1]

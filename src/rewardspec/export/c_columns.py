"""The labels of a record's rows in C: expressions over columns, so that the exported step takes sensor values.

It is appended to the file of a monitor or a spec called `m`, and gives:

- `M_COLUMN_…`: the columns that are read, in their order;
- `m_record`: the state of the monitor, and the earlier values of columns that expressions read;
- `m_record_reset(&r)`: before the first row;
- `m_record_step(&r, columns)`: reads one row of sensor values, and returns what `m_step` returns; the labels are then
  in `r.labels`. Of a spec, the first row is that after a reset, and no episode ends.

Arithmetic, comparisons, `min`, `max`, `sqrt`, `floor` and the label shapes give the same numbers as Python, bit by bit.
`exp`, `log`, `sin` and their like are those of `math.h`, whose last bit may differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from rewardspec.errors import SpecError
from rewardspec.export.c_code import comment, enumerators, literal
from rewardspec.export.c_windows import function
from rewardspec.export.sources import Source
from rewardspec.logic.durations import Pace
from rewardspec.spec.atoms.column_atoms import ColumnAtom, ColumnRead, ColumnSource
from rewardspec.spec.atoms.expression_atoms import MOST_FACTORS, evaluator
from rewardspec.spec.atoms.expression_language import Call, Node, Number, Read, Reduce, parts_of
from rewardspec.spec.atoms.operations import ON_FLOATS

_MOST_KEPT = 1_000_000  # values of a column, of 8 bytes each, in the state
_INFIX = {"+", "-", "*", "/"}
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
_MATH = {name: name for name in ("atan2", "cos", "exp", "floor", "hypot", "log", "sin", "tan", "tanh")}
_MATH |= {"abs": "fabs", "**": "pow"}

# Functions that C lacks. Each is written where it is used, after those that it calls.
_HELPERS: Mapping[str, tuple[str, Sequence[str], str]] = {
    "min": ("double a, double b", (), "return a <= b || isnan(a) ? a : b;"),
    "max": ("double a, double b", (), "return a >= b || isnan(a) ? a : b;"),
    "sqrt": ("double x", (), "return x >= 0.0 ? sqrt(x) : NAN;"),
    "where": ("double c, double a, double b", (), "return c != 0.0 ? a : b;"),
    "clip": ("double x, double a, double b", ("min", "max"), "return {m}_min({m}_max(x, a), b);"),
    "mod": (
        "double a, double b",
        (),
        "double r = fmod(a, b);\n"
        "    if (b == 0.0) { return NAN; }\n"
        "    if (r != 0.0) { return (b < 0.0) != (r < 0.0) ? r + b : r; }\n"
        "    return copysign(0.0, b);",
    ),
    "floordiv": (
        "double a, double b",
        (),
        "double r = fmod(a, b), d = (a - r) / b, f;\n"
        "    if (b == 0.0) { return a / b; }\n"
        "    if (r != 0.0 && (b < 0.0) != (r < 0.0)) { d -= 1.0; }\n"
        "    if (d == 0.0) { return copysign(0.0, a / b); }\n"
        "    f = floor(d);\n"
        "    return d - f > 0.5 ? f + 1.0 : f;",
    ),
    **{f"power{count}": ("double x", (), f"return {' * '.join('x' * count)};") for count in range(1, MOST_FACTORS + 1)},
    "unit": ("double x", (), "return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;"),
    "above": ("double x", (), "return isnan(x) ? x : x >= 0.0 ? 1.0 : 0.0;"),
    "ramp": (
        "double x, double a, double b",
        ("unit",),
        "return a == b ? NAN : {m}_unit((x - a) / (b - a));",
    ),
    "proximity": (
        "double x, double a, double b",
        ("unit",),
        "return b > 0.0 && b < INFINITY ? {m}_unit(1.0 - fabs(x - a) / b) : NAN;",
    ),
    "at_least": (
        "double x, double a, double b",
        ("unit", "above"),
        "return b != 0.0 ? {m}_unit(1.0 - (a - x) / b) : {m}_above(x - a);",
    ),
    "at_most": (
        "double x, double a, double b",
        ("unit", "above"),
        "return b != 0.0 ? {m}_unit(1.0 - (x - a) / b) : {m}_above(a - x);",
    ),
    "inside": (
        "double x, double a, double b, double c",
        ("at_least", "at_most"),
        "return a <= b ? {m}_at_least(x, a, c) * {m}_at_most(x, b, c) : NAN;",
    ),
}
_NAMES = {"%": "mod", "//": "floordiv"}
_ARGUMENTS = {"at_least": 3, "at_most": 3, "inside": 4}  # the last, a margin, may be left out


def columns_to_c(
    source: Source,
    readings: Mapping[str, ColumnAtom | str],
    pace: Callable[[], Pace],
    threshold: float | None = None,
) -> str:
    """The part of a C file that computes labels from columns, to stand after the monitor's.

    Args:
        source: The monitor or spec.
        readings: How each of its atoms is read: from a column, or by an expression.
        pace: How far apart rows are, asked for only where an expression reads a column some seconds ago.
        threshold: Degrees from here on count as 1, others as 0; None to keep them.

    Raises:
        SpecError: An expression reads a column an amount of seconds ago that is no whole number of rows.
    """
    return "\n".join([*_Printer(source, readings, pace, threshold).lines(), ""])


class _Printer:
    def __init__(
        self,
        source: Source,
        readings: Mapping[str, ColumnAtom | str],
        pace: Callable[[], Pace],
        threshold: float | None,
    ) -> None:
        self.source, self.readings, self.pace, self.threshold = source, readings, pace, threshold
        self.m, self.upper_m = source.name, source.name.upper()
        reads = [read for atom in readings.values() for read in _reads(atom)]
        self.columns = list(dict.fromkeys(read.column for read in reads))
        names = enumerators(f"{self.upper_m}_COLUMN_", map(str, self.columns))
        self.names = dict(zip(self.columns, names, strict=True))
        self.kept: dict[ColumnSource, int] = {}  # for each column that is read later, how many of its values
        for read in reads:
            if read.ago:
                self.kept[read.column] = max(self.kept.get(read.column, 0), self.rows_ago(read))
        self.kept = {column: count for column, count in self.kept.items() if count}
        self.helpers: dict[str, None] = {}

    def rows_ago(self, read: ColumnRead) -> int:
        rows = self.pace().rows(read.ago) if read.timed else read.ago
        if rows > _MOST_KEPT:
            raise SpecError(
                f"'{read.column}' is read {rows:,.0f} rows ago. The C state holds at most {_MOST_KEPT:,} values of a "
                "column. Read it less far back."
            )
        if rows != round(rows):
            raise SpecError(
                f"{read.ago:g} seconds are {rows:g} rows of this record. Write a number of seconds that is a whole "
                f"number of rows, for example {read._replace(ago=max(round(rows), 1) * self.pace().period)}."
            )
        return round(rows)

    def lines(self) -> list[str]:
        m, guard = self.m, f"{self.upper_m}_REWARDSPEC_COLUMNS"
        labels = self._labels()  # which notes the helpers that it calls
        signatures = [
            f"static void {m}_record_labels(const {m}_record *r, const double *columns, double *labels)",
            f"void {m}_record_reset({m}_record *r)",
            f"double {m}_record_step({m}_record *r, const double *columns)",
        ]
        bodies = [labels, [f"{m}_reset(&r->state);", "r->started = 0;"], self._step()]
        functions = []
        for signature, body in zip(signatures, bodies, strict=True):
            functions += function(signature, body)
        return [
            "",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "/* Rows of a record: the columns that are read, in the order of the enumeration. */",
            "enum {",
            *(f"    {self.names[name]} = {k},  /* {comment(str(name))} */" for k, name in enumerate(self.columns)),
            f"    {self.upper_m}_COLUMNS = {len(self.columns)}  /* how many there are */",
            "};",
            "",
            "typedef struct {",
            f"    {m}_state state;",
            f"    double labels[{max(1, len(self.source.program.atoms))}];  /* of the last row */",
            "    int started;",
            *(
                f"    double c{self.columns.index(name)}[{count}];  /* {comment(str(name))}: its last values */"
                for name, count in self.kept.items()
            ),
            *(f"    int at{self.columns.index(name)};" for name in self.kept),
            f"}} {m}_record;",
            "",
            *(f"{signature};" for signature in signatures[1:]),
            "",
            "#endif",
            "",
            f"#ifndef {self.upper_m}_INTERFACE_ONLY",
            "",
            *self._helper_functions(),
            *functions,
            "#endif",
        ]

    def _helper_functions(self) -> list[str]:
        needed: dict[str, None] = {}
        for name in self.helpers:
            for inner in _HELPERS[name][1]:
                needed |= dict.fromkeys([*_HELPERS[inner][1], inner])
            needed[name] = None
        lines = []
        for name in sorted(needed, key=list(_HELPERS).index):
            arguments, _, body = _HELPERS[name]
            lines += function(f"static double {self.m}_{name}({arguments})", [body.replace("{m}", self.m)])
        return lines

    def _labels(self) -> list[str]:
        bodies = []
        for k, atom in enumerate(self.source.program.atoms):
            reading = self.readings[atom]
            if isinstance(reading, str):
                text = f"v{self.columns.index(reading)}"
            else:
                text = self._node(reading.tree, dict(zip(reading.found, reading.reads, strict=True)))
                if reading.at_reset is not None:
                    text = f"r->started ? {text} : {literal(reading.at_reset)}"
            if self.source.program.semantics == "degree":
                self.helpers["unit"] = None
                text = f"{self.m}_unit({text})"
                if self.threshold is not None:
                    text = f"{text} >= {literal(self.threshold)} ? 1.0 : 0.0"
            bodies.append(f"labels[{k}] = {text};")
        used = "\n".join(bodies)
        lines = [
            f"const double v{k} = columns[{self.names[name]}];"
            for k, name in enumerate(self.columns)
            if re.search(rf"\bv{k}\b", used)
        ]
        unused = ["(void)r;"] if "r->" not in used else []
        unused += ["(void)columns;"] if not lines else []
        unused += ["(void)labels;"] if not bodies else []
        return [*lines, *unused, *bodies]

    def _step(self) -> list[str]:
        m = self.m
        lines = ["double result;"]
        if self.kept:
            lines += ["int k;"]
            lines += ["if (!r->started) {"]
            for name, count in self.kept.items():
                c = self.columns.index(name)
                lines += [f"    r->at{c} = 0;", f"    for (k = 0; k < {count}; k++) {{"]
                lines += [f"        r->c{c}[k] = columns[{self.names[name]}];", "    }"]
            lines += ["}"]
        lines += [f"{m}_record_labels(r, columns, r->labels);"]
        if self.source.is_spec:
            lines += ["result = 0.0;", "if (r->started) {"]
            lines += [f"    result = {m}_step(&r->state, r->labels, 0.0, 0, 0);", "} else {"]
            lines += [f"    {m}_start(&r->state, r->labels);", "}"]
        else:
            lines += [f"result = {m}_step(&r->state, r->labels);"]
        for name, count in self.kept.items():
            c = self.columns.index(name)
            lines += [f"r->c{c}[r->at{c}] = columns[{self.names[name]}];"]
            lines += [f"r->at{c} = (r->at{c} + 1) % {count};"]
        return [*lines, "r->started = 1;", "return result;"]

    def _node(self, node: Node, reads: Mapping[Read, ColumnRead]) -> str:
        match node:
            case Number(value=value):
                return _literal(value)
            case Read():
                return self._read(reads[node])
        if not any(isinstance(part, Read) for part in parts_of(node)):
            return _literal(float(evaluator(node, (), ON_FLOATS)([])))  # as Python computes it
        if isinstance(node, Reduce):
            raise SpecError("Expressions over slices are not exported to C. Write out the columns that they join.")
        return self._call(node, [self._node(arg, reads) for arg in node.args])

    def _call(self, node: Call, args: list[str]) -> str:
        name = node.function
        if name in _INFIX:
            return f"({args[0]} {name} {args[1]})"
        if name in _COMPARISONS:
            return f"({args[0]} {name} {args[1]} ? 1.0 : 0.0)"
        power = node.args[-1]
        if name == "**" and isinstance(power, Number) and power.value in range(1, MOST_FACTORS + 1):
            # In a function, which evaluates its argument once: nested products would grow exponentially.
            self.helpers[f"power{int(power.value)}"] = None
            return f"{self.m}_power{int(power.value)}({args[0]})"
        if name in _MATH:
            return f"{_MATH[name]}({', '.join(args)})"
        helper = _NAMES.get(name, name)
        self.helpers[helper] = None
        args += ["0.0"] * (_ARGUMENTS.get(helper, 0) - len(args))
        return f"{self.m}_{helper}({', '.join(args)})"

    def _read(self, read: ColumnRead) -> str:
        c = self.columns.index(read.column)
        rows = self.rows_ago(read) if read.ago else 0
        if not rows:
            return f"v{c}"
        # The place of the next value is that of the oldest. Before the first row is over, all are its values.
        count = self.kept[read.column]
        return f"r->c{c}[(r->at{c} + {count - rows}) % {count}]"


def _reads(reading: ColumnAtom | str) -> Sequence[ColumnRead]:
    return [ColumnRead(reading)] if isinstance(reading, str) else reading.reads


def _literal(value: float) -> str:
    text = literal(value)
    return f"({text})" if text.startswith("-") else text

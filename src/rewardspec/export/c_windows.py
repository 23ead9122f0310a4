"""Windows in C: a ring of slots in the state, changed in place, at a cost per step that never depends on the length.

The three parts of a window (see `rewardspec.machines.windows`) share the ring. A lap over it has two halves. New values
go into the half that is being written, over the front's oldest; the other half is the middle, whose values are turned
one at a step, from its newest slot down. So the place of the next value alone tells where everything is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewardspec.export.sources import held_variable
from rewardspec.machines.program import Program
from rewardspec.machines.windows import algebra, first_half


def function(signature: str, body: Sequence[str]) -> list[str]:
    """The lines of a function, and an empty one."""
    return [signature, "{", *(f"    {line}" if line else "" for line in body), "}", ""]


class CWindow:
    """The declarations and functions of one window; its identifiers start with a prefix."""

    def __init__(self, program: Program, number: int, prefix: str, literal: Callable[[float], str]) -> None:
        self.window = program.windows[number]
        self.number = number
        self.prefix = prefix
        self.guarded = program.guarded(number) and self.window.length > 1
        on = algebra(self.window, program, None)
        self.neutral, self.identity = literal(on.neutral), literal(on.identity)
        self.better, self.worse = ("<", ">") if self.window.neutral else (">", "<")
        self.oldest = self.window.op == "last"
        # A delay that nothing bounds needs no more than its slots.
        self.plain = self.oldest and not self.guarded

    def fields(self) -> list[str]:
        """The fields of the state."""
        length = self.window.length
        if length == 1:
            return [f"double w{self.number};"]
        inside = ["int place;", f"double values[{length}];"]
        if not self.plain:
            inside += ["double extremum;", "double total;"]
        if self.guarded:
            inside += [f"double guards[{length}];", "double later;", "double earlier;", "double inside;"]
        return ["struct {", *(f"    {line}" for line in inside), f"}} w{self.number};"]

    def reset(self) -> list[str]:
        """Statements that empty it; they declare nothing."""
        place = f"s->w{self.number}"
        if self.window.length == 1:
            return [f"{place} = {self.neutral};"]
        fill = [f"{place}.values[k] = {self.neutral};"]
        single = [f"{place}.place = 0;"]
        if not self.plain:
            single += [f"{place}.extremum = {self.neutral};", f"{place}.total = {self.neutral};"]
        if self.guarded:
            fill.append(f"{place}.guards[k] = {self.identity};")
            single += [f"{place}.{guard} = {self.identity};" for guard in ("later", "earlier", "inside")]
        loop = [f"for (k = 0; k < {self.window.length}; k++) {{", *(f"    {line}" for line in fill), "}"]
        return [*single, *loop]

    def read(self) -> list[str]:
        """The function that gives what the window gives."""
        w, better, worse = f"s->w{self.number}", self.better, self.worse
        head = f"static double {self.prefix}_read{self.number}(const {self.prefix}_state *s)"
        if self.window.length == 1:
            value = w if self.oldest else f"{w} {better} {self.neutral} ? {w} : {self.neutral}"
            return function(head, [f"return {value};"])
        if self.plain:
            return function(head, [f"return {w}.values[{w}.place];"])
        lines = [f"double x = {w}.total;", f"double other = {w}.values[{w}.place];"]
        if self.oldest:
            lines = [f"double x = {w}.values[{w}.place];"]
            lines.append(f"if ({w}.earlier {worse} x) {{ x = {w}.earlier; }}")
        else:
            if self.guarded:
                lines.append(f"if ({w}.earlier {worse} other) {{ other = {w}.earlier; }}")
            lines.append(f"if (other {better} x) {{ x = other; }}")
        if self.guarded:
            lines.append(f"if ({w}.later {worse} x) {{ x = {w}.later; }}")
        if not self.oldest:
            lines.append(f"if ({w}.extremum {better} x) {{ x = {w}.extremum; }}")
        return function(head, [*lines, "return x;"])

    def push(self) -> list[str]:
        """The function that takes one more value."""
        w, better, worse, length = f"s->w{self.number}", self.better, self.worse, self.window.length
        guard = ", double guard" if self.guarded else ""
        head = f"static void {self.prefix}_push{self.number}({self.prefix}_state *s, double value{guard})"
        if length == 1:
            return function(head, [f"{w} = value;"])
        step = [f"{w}.values[{w}.place] = value;"]
        if self.guarded:
            step.append(f"{w}.guards[{w}.place] = guard;")
        step.append(f"{w}.place += 1;")
        if self.plain:
            return function(head, [*step, f"if ({w}.place == {length}) {{ {w}.place = 0; }}"])
        half = first_half(length)
        first = f"{w}.place < {half}"
        lines = [
            f"const int turn = ({first} ? {length - 2} : {2 * half - 2}) - {w}.place;",
            f"if (turn >= ({first} ? {half} : 0)) {{",
            f"    double other = {w}.values[turn];",
        ]
        if self.guarded:
            lines.append(f"    if ({w}.inside {worse} other) {{ other = {w}.inside; }}")
            lines.append(f"    if ({w}.guards[turn] {worse} {w}.inside) {{ {w}.inside = {w}.guards[turn]; }}")
        if not self.oldest:
            lines.append(f"    if ({w}.values[turn + 1] {better} other) {{ other = {w}.values[turn + 1]; }}")
        lines += [f"    {w}.values[turn] = other;", "}"]
        if self.guarded:
            lines.append(f"if (guard {worse} {w}.extremum) {{ {w}.extremum = guard; }}")
            lines.append(f"if (guard {worse} {w}.later) {{ {w}.later = guard; }}")
        if not self.oldest:
            lines.append(f"if (value {better} {w}.extremum) {{ {w}.extremum = value; }}")
        lines += [*step, f"if ({w}.place == {half} || {w}.place == {length}) {{"]
        lines += [f"    {w}.total = {w}.extremum;", f"    {w}.extremum = {self.neutral};"]
        if self.guarded:
            lines += [f"    {w}.earlier = {w}.later;", f"    {w}.later = {self.identity};", f"    {w}.inside = guard;"]
        return function(head, [*lines, f"    if ({w}.place == {length}) {{ {w}.place = 0; }}", "}"])

    def contents(self) -> list[str]:
        """The function that writes every value that it holds, oldest first; newer ones stand for those they hide."""
        length = self.window.length
        head = f"static void {self.prefix}_contents{self.number}(const {self.prefix}_state *s, double *held)"
        hide = [] if self.oldest else [f"if (n < {length} && held[n] {self.better} x) {{ x = held[n]; }}"]
        return function(head, [f"int n = {length};", *self._each_value([*hide, "n -= 1;", "held[n] = x;"])])

    def held(self, least: bool) -> list[str]:
        """The function that gives the largest, or the least, of the values that a delay holds; it looks at them all."""
        head = f"static double {self.prefix}_{held_variable(self.number, least)}(const {self.prefix}_state *s)"
        better, start = ("<", "INFINITY") if least else (">", "-INFINITY")
        loops = self._each_value([f"if (x {better} best) {{ best = x; }}"])
        return function(head, [f"double best = {start};", *loops, "return best;"])

    def _each_value(self, use: Sequence[str]) -> list[str]:
        """Declarations and loops over the values that it holds, bounded by their guards, as `x`, newest first."""
        w, length, half = f"s->w{self.number}", self.window.length, first_half(self.window.length)
        if length == 1:
            return [f"double x = {w};", *use]

        def inner(x: str, guard: str) -> str:
            return f"{x} = {x} {self.worse} {guard} ? {x} : {guard};"

        def loop(start: str, end: str, *bounds: str) -> list[str]:
            body = [f"double x = {w}.values[k];", *(bounds if self.guarded else ()), *use]
            return [f"for (k = {start}; k >= {end}; k--) {{", *(f"    {line}" for line in body), "}"]

        guards = [
            f"const int turned = last - ({w}.place - first);",
            f"double bound = {self.identity};",
            f"double inside = {w}.inside;",
        ]
        waits = f"if (k < turned) {{ {inner('x', 'inside')} {inner('inside', f'{w}.guards[k]')} }}"
        back = inner("x", "bound"), inner("bound", f"{w}.guards[k]")
        front = inner("x", f"{w}.earlier"), inner("x", f"{w}.later")
        return [
            "int k;",
            f"const int first = {w}.place < {half} ? 0 : {half};",
            f"const int last = ({w}.place < {half} ? {length} : {half}) - 1;",
            *(guards if self.guarded else []),
            *loop(f"{w}.place - 1", "first", *back),
            *loop("last", f"(first == 0 ? {half} : 0)", waits, inner("x", f"{w}.later")),
            *loop(f"(first == 0 ? {half} : {length}) - 1", f"{w}.place", *front),
        ]

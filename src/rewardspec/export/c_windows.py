"""Windows in C: a ring of slots in the state, changed in place, at a cost per step that never depends on the length.

The three parts of a window (see `rewardspec.machines.windows`) share the ring. A lap over it has two halves. New values
go into the half that is being written, over the front's oldest; the other half is the middle, whose values are turned
one at a step, from its newest slot down. So the place of the next value alone tells where everything is.
"""

from __future__ import annotations

from collections.abc import Callable

from rewardspec.machines.program import Program
from rewardspec.machines.windows import algebra, first_half


class CWindow:
    """The declarations and functions of one window.

    Args:
        program: The program.
        number: The window's number.
        prefix: What identifiers start with.
        literal: How numbers are written.
    """

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
        """What the state holds."""
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
            return [head, "{", f"    return {value};", "}", ""]
        if self.plain:
            return [head, "{", f"    return {w}.values[{w}.place];", "}", ""]
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
        return [head, "{", *(f"    {line}" for line in lines), "    return x;", "}", ""]

    def push(self) -> list[str]:
        """The function that takes one more value."""
        w, better, worse, length = f"s->w{self.number}", self.better, self.worse, self.window.length
        guard = ", double guard" if self.guarded else ""
        head = f"static void {self.prefix}_push{self.number}({self.prefix}_state *s, double value{guard})"
        if length == 1:
            return [head, "{", f"    {w} = value;", "}", ""]
        step = [f"    {w}.values[{w}.place] = value;"]
        if self.guarded:
            step.append(f"    {w}.guards[{w}.place] = guard;")
        step.append(f"    {w}.place += 1;")
        if self.plain:
            return [head, "{", *step, f"    if ({w}.place == {length}) {{ {w}.place = 0; }}", "}", ""]
        half = first_half(length)
        first = f"{w}.place < {half}"
        lines = [
            f"    const int turn = ({first} ? {length - 2} : {2 * half - 2}) - {w}.place;",
            f"    if (turn >= ({first} ? {half} : 0)) {{",
            f"        double other = {w}.values[turn];",
        ]
        if self.guarded:
            lines += [
                f"        if ({w}.inside {worse} other) {{ other = {w}.inside; }}",
                f"        if ({w}.guards[turn] {worse} {w}.inside) {{ {w}.inside = {w}.guards[turn]; }}",
            ]
        if not self.oldest:
            lines.append(f"        if ({w}.values[turn + 1] {better} other) {{ other = {w}.values[turn + 1]; }}")
        lines += [f"        {w}.values[turn] = other;", "    }"]
        if self.guarded:
            lines += [
                f"    if (guard {worse} {w}.extremum) {{ {w}.extremum = guard; }}",
                f"    if (guard {worse} {w}.later) {{ {w}.later = guard; }}",
            ]
        if not self.oldest:
            lines.append(f"    if (value {better} {w}.extremum) {{ {w}.extremum = value; }}")
        swap = [f"        {w}.total = {w}.extremum;", f"        {w}.extremum = {self.neutral};"]
        if self.guarded:
            swap += [
                f"        {w}.earlier = {w}.later;",
                f"        {w}.later = {self.identity};",
                f"        {w}.inside = guard;",
            ]
        return [
            head,
            "{",
            *lines,
            *step,
            f"    if ({w}.place == {half} || {w}.place == {length}) {{",
            *swap,
            f"        if ({w}.place == {length}) {{ {w}.place = 0; }}",
            "    }",
            "}",
            "",
        ]

    def contents(self) -> list[str]:
        """The function that writes every value that it holds, oldest first; newer ones stand for those they hide."""
        w, length, half = f"s->w{self.number}", self.window.length, first_half(self.window.length)
        head = f"static void {self.prefix}_contents{self.number}(const {self.prefix}_state *s, double *held)"
        if length == 1:
            return [head, "{", f"    held[0] = {w};", "}", ""]

        def inner(x: str, guard: str) -> str:
            return f"{x} = {x} {self.worse} {guard} ? {x} : {guard};"

        def put(*bounds: str) -> list[str]:
            lines = [f"        double x = {w}.values[k];", *(f"        {bound}" for bound in bounds if self.guarded)]
            if not self.oldest:
                lines.append(f"        if (n < {length} && held[n] {self.better} x) {{ x = held[n]; }}")
            return [*lines, "        n -= 1;", "        held[n] = x;", "    }"]

        guards = [f"    double bound = {self.identity};", f"    double inside = {w}.inside;"] if self.guarded else []
        turned = f"    const int turned = last - ({w}.place - first);"
        waits = f"if (k < turned) {{ {inner('x', 'inside')} {inner('inside', f'{w}.guards[k]')} }}"
        return [
            head,
            "{",
            "    int k;",
            f"    int n = {length};",
            f"    const int first = {w}.place < {half} ? 0 : {half};",
            f"    const int last = ({w}.place < {half} ? {length} : {half}) - 1;",
            *([turned] if self.guarded else []),
            *guards,
            f"    for (k = {w}.place - 1; k >= first; k--) {{",
            *put(inner("x", "bound"), inner("bound", f"{w}.guards[k]")),
            f"    for (k = last; k >= (first == 0 ? {half} : 0); k--) {{",
            *put(waits, inner("x", f"{w}.later")),
            f"    for (k = (first == 0 ? {half} : {length}) - 1; k >= {w}.place; k--) {{",
            *put(inner("x", f"{w}.earlier"), inner("x", f"{w}.later")),
            "}",
            "",
        ]

    def held(self, least: bool) -> list[str]:
        """The function that gives the largest, or the least, of the values that a delay holds; it looks at them all."""
        w, length, worse = f"s->w{self.number}", self.window.length, self.worse
        head = f"static double {self.held_name(least)}(const {self.prefix}_state *s)"
        if length == 1:
            return [head, "{", f"    return {w};", "}", ""]
        best = "<" if least else ">"
        if not self.guarded:
            return [
                head,
                "{",
                "    int k;",
                f"    double best = {w}.values[0];",
                f"    for (k = 1; k < {length}; k++) {{",
                f"        if ({w}.values[k] {best} best) {{ best = {w}.values[k]; }}",
                "    }",
                "    return best;",
                "}",
                "",
            ]
        half = first_half(length)
        return [
            head,
            "{",
            "    int k;",
            f"    const int first = {w}.place < {half} ? 0 : {half};",
            f"    const int end = {w}.place < {half} ? {half} : {length};",
            f"    const int middle = first == 0 ? {half} : 0;",
            f"    const int turned = (first == 0 ? {length} : {half}) - 1 - ({w}.place - first);",
            f"    double bound = {self.identity};",
            f"    double inside = {w}.inside;",
            f"    double best = {w}.values[{w}.place];  /* the oldest */",
            f"    if ({w}.earlier {worse} best) {{ best = {w}.earlier; }}",
            f"    if ({w}.later {worse} best) {{ best = {w}.later; }}",
            f"    for (k = {w}.place + 1; k < end; k++) {{",
            f"        double x = {w}.values[k];",
            f"        if ({w}.earlier {worse} x) {{ x = {w}.earlier; }}",
            f"        if ({w}.later {worse} x) {{ x = {w}.later; }}",
            f"        if (x {best} best) {{ best = x; }}",
            "    }",
            f"    for (k = (first == 0 ? {length} : {half}) - 1; k >= middle; k--) {{",
            f"        double x = {w}.values[k];",
            "        if (k < turned) {",
            f"            if (inside {worse} x) {{ x = inside; }}",
            f"            if ({w}.guards[k] {worse} inside) {{ inside = {w}.guards[k]; }}",
            "        }",
            f"        if ({w}.later {worse} x) {{ x = {w}.later; }}",
            f"        if (x {best} best) {{ best = x; }}",
            "    }",
            f"    for (k = {w}.place - 1; k >= first; k--) {{",
            f"        double x = {w}.values[k];",
            f"        if (bound {worse} x) {{ x = bound; }}",
            f"        if ({w}.guards[k] {worse} bound) {{ bound = {w}.guards[k]; }}",
            f"        if (x {best} best) {{ best = x; }}",
            "    }",
            "    return best;",
            "}",
            "",
        ]

    def held_name(self, least: bool) -> str:
        """What that function is called."""
        return f"{self.prefix}_{'least' if least else 'largest'}{self.number}"

"""Register programs as equations that people read: what one control state does with registers and windows, and pays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rewardspec.logic.formulas import Atom
from rewardspec.machines.expressions import Expression, all_parts, complement, constant, label
from rewardspec.machines.program import Program, Step

PRIME = "′"
_LONGEST_NAME = 16
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_READ_AS = {"max": "max", "min": "min", "last": "oldest"}


@dataclass(frozen=True)
class Equations:
    """One control state's program, as text.

    Attributes:
        updates: One line for each register written and each window, each after the lines whose new values it uses.
        reward: The line of the value that is paid.
    """

    updates: tuple[str, ...]
    reward: str

    @property
    def primed(self) -> bool:
        """True if a line uses a value that was computed in the same step."""
        return any(PRIME in line for line in (*self.updates, self.reward))


class Listing:
    r"""A program as text.

    A value that another line of the same step has just computed is written as that register's name with a prime.  A
    window into which every control state puts the same is written as `recent ← max(last 20 of a)`; else each control
    state says what it puts there, and a note what the window is.  `names` shortens long names.

    Example:
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> shown = Listing(synthesize("!a U (a & F b)").program).equations(0)
        >>> print(*shown.updates, shown.reward, sep="\n")
        min[!a] ← min(min[!a], 1 − a)
        if[F b] ← max(if[F b], min(min[!a], a))
        value ← max(value, min(b, if[F b]′))
        reward = value′
    """

    def __init__(self, program: Program, names: dict[str, str] | None = None) -> None:
        self.program = program
        short = names or {}
        self.registers = {k: short.get(name, name) for k, name in enumerate(program.registers)}
        self.windows = {k: short.get(each.name, each.name) for k, each in enumerate(program.windows)}
        self._steady = [len({step.pushes[k] for step in program.steps}) == 1 for k in self.windows]
        self._leaves = {label(atom): _atom(atom) for atom in program.atoms}
        negation = "1 − " if program.semantics == "degree" else "−"
        self._leaves |= {complement(atom): negation + _atom(atom) for atom in program.atoms}
        self._leaves |= {constant(value): _number(program.number(value)) for value in (0.0, 0.5, 1.0)}

    def equations(self, control: int) -> Equations:
        """List the updates of one control state."""
        step = self.program.steps[control]
        # Leaves keep their own, shorter, text: `prev[a] ← a` must not turn every other `a` into `prev[a]′`.
        primed: dict[Expression, str] = {}

        def text(expression: Expression) -> str:
            return expression.to_string(self.registers, self._leaves | primed, self.windows)

        lines: list[str] = []
        pending = dict.fromkeys(self.windows)

        def put(window: int) -> None:
            """The line of a window, after those of windows that it reads as they are after the step."""
            if window in pending:
                del pending[window]
                push = step.pushes[window]
                for expression in (push.value, push.guard):
                    for needed in _pushed(expression):
                        put(needed)
                guard = "" if push.guard is None else f", {self._limit(window)} {text(push.guard)}"
                name, entering, shape = self.windows[window], text(push.value), self.program.windows[window]
                if self._steady[window]:
                    lines.append(f"{name} ← {_READ_AS[shape.op]}(last {shape.length} of {entering}{guard})")
                else:
                    lines.append(f"push {entering} into {name}{guard}")

        for number, update in in_reading_order(step).items():
            for needed in _pushed(update):
                put(needed)
            lines.append(f"{self.registers[number]} ← {text(update)}")
            if update.operands:
                primed.setdefault(update, self.registers[number] + PRIME)
        for window in self.windows:
            put(window)
        return Equations(tuple(lines), f"reward = {text(step.outputs[0])}")

    def progress(self, control: int, successor: int) -> str | None:
        """The progress after a step in one control state that leads to another; None for a program of the value alone.

        Example:
            >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
            >>> Listing(synthesize("F(a & F b)", progress=True).program).progress(0, 0)
            'progress = max(reward, min(max[a]′, 0.5))'
        """
        if self.program.progress is None:
            return None
        expression = self.program.progress[successor]
        registers = {k: name + PRIME for k, name in self.registers.items()}
        windows = {k: name + PRIME for k, name in self.windows.items()}
        shares = {part: f"{part.args[0]:.3g}" for part in all_parts([expression]) if part.op == "constant"}
        ways = expression.operands if expression.op == "max" else (expression,)
        texts = [way.to_string(registers, self._leaves | shares, windows) for way in ways if way != constant(0.0)]
        return f"progress = max({', '.join(['reward', *texts])})" if texts else "progress = reward"

    def _limit(self, window: int) -> str:
        return "at least" if self.program.windows[window].neutral else "at most"

    def initial_values(self, order: Iterable[int]) -> tuple[str, ...]:
        """First values, one line each: of the registers in the given order, then of the windows."""
        program = self.program
        values = {self.registers[number]: program.initial[number] for number in order}
        values |= {self.windows[k]: each.neutral for k, each in enumerate(program.windows)}
        return tuple(f"{name} = {_number(program.number(value))}" for name, value in values.items())

    def notes(self) -> Iterator[str]:
        """List the explanations that the equations need."""
        for k, each in enumerate(self.program.windows):
            if not self._steady[k]:
                yield f"{self.windows[k]} is {_READ_AS[each.op]}(last {each.length} pushed)"
        limits = {
            self._limit(k)
            for step in self.program.steps
            for k, push in enumerate(step.pushes)
            if push.guard is not None
        }
        for limit in sorted(limits, reverse=True):
            others = "larger" if limit == "at most" else "smaller"
            yield f"{limit} …: at each step, {others} values in the window become this"
        if any(self.equations(control).primed for control in range(len(self.program.steps))):
            yield f"a prime ({PRIME}) marks the value just computed"


def _pushed(expression: Expression | None) -> list[int]:
    """The windows that an expression reads as they are after the step."""
    return [] if expression is None else [part.args[0] for part in expression.parts() if part.op == "pushed"]


def _number(value: float) -> str:
    return {float("inf"): "∞", float("-inf"): "−∞"}.get(value, f"{value:g}")


def in_reading_order(step: Step) -> dict[int, Expression]:
    """The registers written and their updates, those first whose whole update is a part of another's."""
    owners: dict[Expression, list[int]] = {}
    for number, update in enumerate(step.updates):
        if update is not None:
            owners.setdefault(update, []).append(number)
    # Parts come before what is made of them.
    return {number: part for part in all_parts(owners) for number in owners.get(part, ())}


def short_names(registers: Iterable[str], atoms: Iterable[str]) -> dict[str, str]:
    """Symbols that stand for the registers whose names are too long to read inside an equation.

    Example:
        >>> short_names(["value", "if[G(!a | X b) & b]"], ["a", "b"])
        {'if[G(!a | X b) & b]': 'c₁'}
        >>> short_names(["if[G(!c | X b) & b]"], ["b", "c"])
        {'if[G(!c | X b) & b]': 'v₁'}
    """
    taken = set(atoms)
    letter = next(letter for letter in ("c", "v", "w", "k", "m", "reg") if letter not in taken or letter == "reg")
    long = [name for name in registers if len(name) > _LONGEST_NAME]
    return {name: letter + str(number).translate(_SUBSCRIPTS) for number, name in enumerate(long, start=1)}


def _atom(name: str) -> str:
    """The text of an atom; one about a thing, as `held(box)`, needs no quotes."""
    predicate, parenthesis, thing = name.partition("(")
    if parenthesis and thing.endswith(")"):
        return f"{Atom(predicate).to_string()}({thing[:-1]})" if predicate else Atom(name).to_string()
    return Atom(name).to_string()

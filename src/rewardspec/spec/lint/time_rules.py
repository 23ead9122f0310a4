"""The rules of lint about time: bounds, deadlines, and what an agent does not see of windows and registers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula, Timed
from rewardspec.logic.fragments import is_past, is_safe
from rewardspec.logic.normal_form import negate, to_nnf
from rewardspec.logic.operators import PAST
from rewardspec.logic.printing import to_string
from rewardspec.logic.quantifiers import Quantified, inside
from rewardspec.machines.program import Window
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom
from rewardspec.spec.atoms.functions import Thresholded
from rewardspec.spec.lint.findings import Finding, LintedSpec, called, once_violated
from rewardspec.spec.pairs import Pair
from rewardspec.synthesis.quantitative.past import operand_text


def out_of_time(linted: LintedSpec) -> Iterator[Finding]:
    """A formula that no episode is long enough to meet, or to break."""
    limit = linted.max_episode_steps
    if limit is None:
        return
    spec = linted.spec
    least, most = 0.0, 1.0
    if spec.semantics == "robustness":
        most = math.inf if spec.bound is None else spec.bound
        least = -most
    for number, pair in enumerate(linted.pairs):
        met, broken = least_steps(to_nnf(pair.body)), least_steps(negate(pair.body))
        if met > limit and number not in linted.constants:
            message = f"{called(number, pair)} takes at least {met:g} steps, and episodes end after {limit}: its value "
            message += f"is {least:g} in all of them."
            remedy = "Shorten what it waits for, or let episodes be longer."
            yield Finding("out-of-time", "error", number, message, remedy)
        elif broken > limit and number not in linted.constants:
            message = f"{called(number, pair)} cannot fail in less than {broken:g} steps, and episodes end after "
            message += f"{limit}: its value is {most:g} in all of them."
            yield Finding("out-of-time", "warning", number, message, "Shorten its bounds, or remove the pair.")


def bound_past_limit(linted: LintedSpec) -> Iterator[Finding]:
    """A bound that no episode is long enough to reach."""
    limit = linted.max_episode_steps
    if limit is None:
        return
    for number, pair in enumerate(linted.pairs):
        for part in pair.formula.subformulas():
            if isinstance(part, Timed) and part.high is not None and part.low <= limit < part.high:
                direction = "back" if isinstance(part, PAST) else "ahead"
                message = (
                    f"{called(number, pair)} looks up to {part.high} steps {direction} in "
                    f"`{to_string(part, longest=80)}`, and episodes end after {limit}: the bound never counts."
                )
                yield Finding("bound-past-limit", "warning", number, message, "Lower it, or leave it out.")


def no_time_left(linted: LintedSpec) -> Iterator[Finding]:
    """An interval of the current step alone."""
    for number, pair in enumerate(linted.pairs):
        for part in pair.formula.subformulas():
            if isinstance(part, Timed) and part.low == part.high == 0:
                message = (
                    f"{called(number, pair)} leaves no time in `{to_string(part, longest=80)}`: the interval is the "
                    "current step alone, so that it says no more than its operand."
                )
                remedy = "Widen it: '[0,1]' is this step and the next. Or write the operand alone."
                yield Finding("no-time-left", "warning", number, message, remedy)


def cut_short(linted: LintedSpec) -> Iterator[Finding]:
    """A hold under `F` that a single step at an episode's end or start meets."""
    for number, pair in enumerate(linted.pairs):
        normal = to_nnf(pair.body)
        outermost = {normal, *(normal.args if isinstance(normal, fm.And | fm.Or) else ())}
        for part in normal.subformulas():
            if isinstance(part, fm.Eventually):
                yield from _cut_short(number, pair, part, anywhere=part.is_plain and part in outermost)


def _cut_short(number: int, pair: Pair, part: fm.Eventually, anywhere: bool) -> Iterator[Finding]:
    """The findings about one `F`; `anywhere` says whether it is about all steps of the episode."""
    asked = part.arg.args if isinstance(part.arg, fm.And) else (part.arg,)
    holds = [hold for hold in asked if isinstance(hold, fm.Always | fm.Historically) and hold.high is not None]
    # What is judged at the last step or at the first is so on purpose.
    for hold in holds if fm.LAST not in asked and fm.FIRST not in asked else ():
        high, ahead = hold.high or 0, isinstance(hold, fm.Always)
        if (least_steps(part.arg) if ahead else part.low + _least_before(part.arg)) >= high:
            continue
        if not ahead:
            whole = part.arg & fm.Previous(fm.TRUE, high)
        elif len(asked) > 1 or not anywhere:
            whole = part.arg & fm.Next(fm.TRUE, high)
        else:  # looking back needs a smaller machine, and says the same where the hold may be anywhere
            whole = fm.Historically(hold.arg, 0, high - hold.low) & fm.Previous(fm.TRUE, high)
        message = (
            f"{called(number, pair)} is met by less than it seems to ask for: `{to_string(hold, longest=80)}` is cut "
            f"off at the {'end' if ahead else 'start'} of the episode, so that under F a single step there is enough."
        )
        remedy = f"To ask for all of it, write `{to_string(part.rebuild(whole), longest=120)}`."
        yield Finding("cut-short", "warning", number, message, remedy)


def deadline_vetoes(linted: LintedSpec) -> Iterator[Finding]:
    """A pair that vetoes only because of its deadlines."""
    for number, pair in enumerate(linted.pairs):
        others = [other for other in linted.pairs if other is not pair and other.weight != 0]
        if pair.veto is not None or not pair.vetoes or not (others or linted.penalty_of(pair)):
            continue
        if needs_bounds_to_be_safe(pair):
            after = once_violated(linted.spec, linted.penalty_of(pair))
            message = (
                f"{called(number, pair)} vetoes all pairs once one of its deadlines is missed, since a formula whose "
                f"deadlines are bounded is a safety formula: once violated, {after}."
            )
            remedy = "Set veto=False to lose what this pair pays and no more, or veto=True if that is what you mean."
            yield Finding("deadline-vetoes", "warning", number, message, remedy)


def needs_bounds_to_be_safe(pair: Pair) -> bool:
    """Return whether a formula is no safety formula once its bounds are left out, as one with a deadline is not."""
    return not is_safe(pair.formula.fold(_without_bounds))


def unseen_window(linted: LintedSpec) -> Iterator[Finding]:
    """A window that the agent does not see all of."""
    for number, pair, monitor in linted.monitored if linted.observe is not None else ():
        windows = monitor.program.windows
        if linted.observe == "registers":  # of a single entry, and of labels of 0 and 1 in an extremum, it sees all
            windows = tuple(w for w in windows if w.length > 1 and (w.op == "last" or not _is_boolean(linted, pair, w)))
        if not windows:
            continue
        delays = [window for window in windows if window.op == "last"]
        longest = max(delays or windows, key=lambda window: window.length)
        part = _looked_through(pair, longest)
        looks = f"{called(number, pair)} depends on {_extent(part, longest)}, for `{to_string(part, longest=80)}`"
        if linted.observe != "registers":
            message = f"{looks}, of which the agent sees nothing: what it is paid is no function of what it sees."
            remedy = _to_show(linted)
        elif delays:
            message = f"{looks}. The agent sees only the oldest entry of this window."
            remedy = "Give it a policy with memory, or the last observations, or shorten the interval."
        else:
            message = (
                f"{looks}, of which the agent sees the extremum and how long it will last. That is all there is to see "
                "for labels of 0 and 1; between them, what comes after the extremum is hidden."
            )
            remedy = "Leave it so if labels are 0 or 1. Else give it a policy with memory, or the last observations."
        yield Finding("unseen-window", "warning", number, message, remedy)


def unseen_register(linted: LintedSpec) -> Iterator[Finding]:
    """A formula whose pay depends on earlier steps that the agent does not see."""
    if linted.observe is None or linted.observe == "registers":
        return
    for number, pair, monitor in linted.monitored:
        program = monitor.program
        registers, controls = len(program.registers), len(program.steps)
        if linted.observe == "values":  # which show one of the registers
            registers -= registers > 0
        hidden = {"register": registers, "control state": 0 if linted.observe == "control" else controls}
        # What a window hides is a finding of its own.
        if program.windows or not (registers or hidden["control state"] > 1) or _only_latches(pair.body):
            continue
        counts = [f"{n} {noun}{'s' * (n != 1)}" for noun, n in hidden.items() if n > (noun == "control state")]
        message = (
            f"{called(number, pair)} depends on what happened before ({', '.join(counts)}), which the agent does not "
            f"see with observe={linted.observe!r}."
        )
        yield Finding("unseen-register", "warning", number, message, _to_show(linted))


def _to_show(linted: LintedSpec) -> str:
    """What makes the agent see the registers, or do without."""
    if linted.spec.axes.named:  # whose registers no observation has room for
        return "Give it a policy with memory, or the last observations."
    return "Pass observe='registers'."


def _only_latches(formula: Formula) -> bool:
    """Return whether all there is to remember is that a formula is decided, after which no action counts for it.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> [_only_latches(parse(f)) for f in ("F a & G !b", "WX G !b", "!b U a", "F a & F b", "F(a & F b)")]
        [True, True, True, False, False]
    """
    formula = to_nnf(formula)
    while isinstance(formula, fm.Next | fm.WeakNext):
        formula = formula.arg
    parts = [part for part in (formula.args if isinstance(formula, fm.And) else (formula,)) if part.is_temporal]
    parts = [part for part in parts if not _reads_the_last_step(part)]
    goals = [part for part in parts if isinstance(part, fm.Eventually | fm.Until | fm.StrongRelease)]
    others = [part for part in parts if isinstance(part, fm.Always | fm.Release | fm.WeakUntil)]
    if len(goals) > 1 or len(goals) + len(others) < len(parts):
        return False
    timed = any(isinstance(part, Timed) and not part.is_plain for part in parts)
    return not timed and not any(arg.is_temporal for part in parts for arg in part.args)


def _reads_the_last_step(formula: Formula) -> bool:
    """Return whether a formula in normal form needs no memory, as `F G a | G F b` does not."""
    match formula:
        case fm.And() | fm.Or():
            return all(map(_reads_the_last_step, formula.args))
        case fm.Eventually(args=(fm.Always() as inner,)) | fm.Always(args=(fm.Eventually() as inner,)):
            return formula.is_plain and inner.is_plain and not inner.arg.is_temporal
    return False


def _looked_through(pair: Pair, window: Window) -> Formula:
    """The part of a formula that needs a window: by the window's name, or the one that looks furthest ahead."""
    parts = [part for part in to_nnf(pair.body).subformulas() if isinstance(part, Timed | fm.Shift)]
    past: list[Formula] = [
        part for part in parts if isinstance(part, PAST) and window.name.endswith(f"[{operand_text(part)}]")
    ]
    return max(past or [part for part in parts if not isinstance(part, PAST)] or [pair.body], key=_reach)


def _extent(part: Formula, window: Window) -> str:
    """How far a window reaches; for a part about the past, which may need several, how far they do together."""
    back = _reach(part) if isinstance(part, PAST) else 0
    steps = back or window.length
    return f"a window {'that reaches' if back else 'of'} {steps} step{'s' * (steps != 1)}{' back' * (back > 0)}"


def _reach(part: Formula) -> int:
    return max((bound for bound in part.params if isinstance(bound, int)), default=0)


def _is_boolean(linted: LintedSpec, pair: Pair, window: Window) -> bool:
    """Return whether what a window holds is known to be 0 or 1, since labels are."""
    if linted.spec.semantics != "degree":
        return False
    held = _looked_through(pair, window)
    if not isinstance(held, PAST):  # what is owed reads other parts too
        if pair.progress:
            return False
        held = pair.body
    functions = linted.atoms or {}
    for part in held.subformulas():
        if isinstance(part, fm.Atom):
            function = functions.get(part.name)
            if not isinstance(function, Thresholded) and not (
                isinstance(function, ExpressionAtom) and function.is_boolean
            ):
                return False
        elif isinstance(part, fm.Affine) or any(isinstance(number, float) and number % 1.0 for number in part.params):
            return False  # a scale, a discount or a constant between 0 and 1
    return True


def least_steps(formula: Formula) -> float:
    """At least how many steps after the first an episode has, if a formula in normal form has a value above 0 in it.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> least_steps(parse("F(key & X[3] F[5,9] door)")), least_steps(parse("G(key -> F[0,5] door)"))
        (8, 0)
    """
    return formula.fold(_least)


def forgiving(formula: Formula) -> Formula:
    """Return a formula that forgives, under `G`, what is still due when the episode ends; the formula if it can't be.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> forgiving(parse("G(call -> F[0,3] answer)")), forgiving(parse("F[0,9] goal & G(call -> X answer)"))
        (parse('G(call -> F[0,3] answer | WX[3] false)'), parse('F[0,9] goal & G(call -> WX answer)'))
    """
    if isinstance(formula, Quantified):
        return inside(formula, forgiving)
    if isinstance(formula, fm.And):
        return formula.rebuild(*map(forgiving, formula.args))
    return formula.rebuild(_met_at_end(formula.arg)) if isinstance(formula, fm.Always) else formula


def _met_at_end(formula: Formula) -> Formula:
    match formula:
        case fm.Eventually(high=int() as high, discount=1.0) if high > 0 and is_past(formula.arg):
            return formula | fm.WeakNext(fm.FALSE, high)
        case fm.Next() if is_past(formula.arg):
            return fm.WeakNext(formula.arg, formula.steps)
        case fm.Implies(args=(cause, effect)):
            return formula.rebuild(cause, _met_at_end(effect))
        case fm.And() | fm.Or() | fm.Always():
            return formula.rebuild(*map(_met_at_end, formula.args))
    return formula


def _least(part: Formula, args: tuple[float, ...]) -> float:
    match part:
        case fm.Constant():
            return 0 if part.value else float("inf")
        case fm.And():
            return max(args)
        case fm.Or() | fm.WeakUntil():
            return min(args)
        case fm.Affine():
            return 0 if part.offset else args[0]
        case fm.Next():
            return part.steps + args[0]
        case fm.Eventually() | fm.Until():
            return part.low + args[-1]
        case fm.AtLeastTimes():
            return part.count - 1 + args[0]
        case fm.Always() | fm.Release() if part.low == 0:
            return args[-1]
        case fm.StrongRelease():
            return args[-1]
    return 0  # what is weak, or looks back


def _least_before(formula: Formula) -> float:
    """At least how many steps come before one at which a formula has a value above 0."""
    match formula:
        case fm.And():
            return max(map(_least_before, formula.args))
        case fm.Or():
            return min(map(_least_before, formula.args))
        case fm.Previous():
            return formula.steps + _least_before(formula.arg)
        case fm.Once() | fm.Since():
            return formula.low + _least_before(formula.args[-1])
    return 0


def _without_bounds(part: Formula, args: tuple[Formula, ...]) -> Formula:
    """A part with operators that may take all the time there is."""
    if isinstance(part, Timed):
        return type(part)(*args, 0, None)
    return part.rebuild(*args) if args else part

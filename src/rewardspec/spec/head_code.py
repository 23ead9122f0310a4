"""The composite machine as code: monitors, weights and veto of one step in one function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rewardspec.errors import LabelError
from rewardspec.machines.array_code import UNIT, Array, Code, Namespace, choose
from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.scalar_code import label_lines, number, part_lines
from rewardspec.spec.composition import Composite
from rewardspec.spec.payment import Payment

ScalarState: TypeAlias = tuple[Any, ...]  # control state, registers …, penalty, level, values
ScalarStep: TypeAlias = Callable[..., tuple[Any, Any]]  # (state, labels, base_reward, terminated, truncated)
ArrayAdvance: TypeAlias = Callable[["SpecState", Mapping[str, Array], Namespace], "SpecState"]

NO_PENALTY = math.inf  # what the penalty is while nothing is violated
PENALTY, LEVEL, VALUES = -3, -2, -1  # where a scalar state holds them


class SpecState(NamedTuple):
    """The state of a batch of episodes; a pytree, so that JAX can carry it through `jit`, `vmap` and `scan`.

    Attributes:
        control: The control state of each element, or None where there is only one.
        registers: One array for each register.
        penalty: The lowest penalty among the violated safety objectives; infinite while there are none.
        level: The weighted sum of the values, or the penalty once there is one.
        values: The value of each formula.
    """

    control: Array | None
    registers: tuple[Array, ...]
    penalty: Array
    level: Array
    values: tuple[Array, ...]


def compile_step(
    machine: Composite,
    weights: Sequence[float],
    penalties: Sequence[float],
    payment: Payment,
    discount: float,
    otherwise: ScalarStep,
) -> ScalarStep:
    """The function `(state, labels, base_reward, terminated, truncated) -> (state, reward)` for one episode.

    `otherwise` takes its place for whatever is not plain numbers.
    """
    signature = "state, labels, base_reward=0.0, terminated=False, truncated=False"
    fallback = "        return otherwise(state, labels, base_reward, terminated, truncated)"
    inside = _inside(machine)
    head = [
        "    if state.__class__ is not tuple:",
        fallback,
        "    try:",
        *(f"        {line}" for k in range(len(machine.atoms)) for line in label_lines(f"l{k}", f"labels[a{k}]")),
        f"        good = {inside}",
        "    except Exception:",
        "        good = False",
        "    if not good:",
        fallback,
    ]
    names: dict[str, Any] = {f"a{k}": atom for k, atom in enumerate(machine.atoms)}
    names |= {"otherwise": otherwise, "discount": discount, "number": number}
    table = _scalar_table(machine, weights, penalties, payment, signature, head, names)
    if len(table) == 1:
        return table[0]

    def step(
        state: ScalarState, labels: Any, base_reward: Any = 0.0, terminated: Any = False, truncated: Any = False
    ) -> tuple[Any, Any]:
        if state.__class__ is not tuple:
            return otherwise(state, labels, base_reward, terminated, truncated)
        return table[state[0]](state, labels, base_reward, terminated, truncated)

    return step


def compile_transition(
    machine: Composite,
    weights: Sequence[float],
    penalties: Sequence[float],
    payment: Payment,
    discount: float,
    functions: Mapping[str, Callable[[Any, Any, Any], Any]],
) -> ScalarStep:
    """The function `(state, obs, action, next_obs, base_reward, terminated, truncated) -> (state, reward)`.

    It reads the labels of one environment's transition itself, which saves building a dict of them in every step.  A
    label outside [0, 1] is a LabelError that does not say more: whoever calls it finds out with `Spec.labels`.
    """
    signature = "state, obs, action, next_obs, base_reward, terminated, truncated"
    head = [
        *(f"    l{k} = float(f{k}(obs, action, next_obs))" for k in range(len(machine.atoms))),
        f"    if not ({_inside(machine)}): raise LabelError('a label is not in [0, 1]')",
    ]
    names: dict[str, Any] = {f"f{k}": functions[atom] for k, atom in enumerate(machine.atoms)}
    names |= {"discount": discount, "LabelError": LabelError}
    table = _scalar_table(machine, weights, penalties, payment, signature, head, names)
    if len(table) == 1:
        return table[0]
    return lambda state, *transition: table[state[0]](state, *transition)


def _inside(machine: Composite) -> str:
    return " and ".join(f"0.0 <= l{k} <= 1.0" for k in range(len(machine.atoms))) or "True"


def _scalar_table(
    machine: Composite,
    weights: Sequence[float],
    penalties: Sequence[float],
    payment: Payment,
    signature: str,
    head: Sequence[str],
    names: Mapping[str, Any],
) -> list[ScalarStep]:
    """One function for each control state, each with the same head, which reads the labels."""
    table: list[ScalarStep] = []
    for control in range(len(machine.steps)):
        body = _scalar_body(machine, control, weights, penalties, payment)
        source = "\n".join([f"def step({signature}):", *head, *body]) + "\n"
        namespace: dict[str, Any] = {**names, "none": NO_PENALTY}
        exec(compile(source, "<spec step>", "exec"), namespace)
        table.append(namespace["step"])
    return table


_PAID = {
    "value": "level",
    "delta": "level - before",
    "potential": "base_reward + (0.0 if terminated else discount * level) - before",
    "final": "level if terminated or truncated else 0.0",
}


def _scalar_body(
    machine: Composite, control: int, weights: Sequence[float], penalties: Sequence[float], payment: Payment
) -> list[str]:
    """The lines that compute the new state and the reward from the labels in `l0`, `l1` and so on."""
    step = machine.steps[control]
    atoms = {atom: f"l{k}" for k, atom in enumerate(machine.atoms)}
    registers = [f"r{k}" for k in range(len(machine.initial))]
    lines = [f"    {', '.join(['_', *registers, 'penalty', 'before', '_'])} = state"]
    place: dict[Expression, str] = {}
    for part in all_parts([*step.values, *step.uppers, *(u for u in step.updates if u is not None)]):
        lines.extend(f"    {line}" for line in part_lines(part, place, atoms))
    for upper, penalty in zip(step.uppers, penalties, strict=True):
        lines.append(f"    if {place[upper]} <= 0.0 and {penalty!r} < penalty: penalty = {penalty!r}")
    lines.append(f"    level = {_weighted(weights, [place[value] for value in step.values])}")
    if step.uppers:
        lines.append("    if penalty != none: level = penalty")
    new = [f"r{k}" if u is None else place[u] for k, u in enumerate(step.updates)]
    values = "".join(f"{place[value]}, " for value in step.values)
    state = ", ".join([str(machine.successor(control)), *new, "penalty", "level", f"({values})"])
    lines.append(f"    return ({state}), {_PAID[payment]}")
    return lines


def compile_arrays(
    machine: Composite, weights: Sequence[float], penalties: Sequence[float], *, reuse: bool
) -> ArrayAdvance:
    """The function `(state, labels, namespace) -> state` for a batch.

    `reuse` is for NumPy: results are written over intermediate arrays, and what is decided by the labels is looked up.
    """
    namespace: dict[str, Any] = {f"a{k}": atom for k, atom in enumerate(machine.atoms)}
    namespace |= {"SpecState": SpecState, "none": NO_PENALTY, "unit": UNIT, "copyto": np.copyto}
    namespace["count_nonzero"] = np.count_nonzero
    exec(compile(_array_source(machine, weights, penalties, reuse), "<spec batch step>", "exec"), namespace)
    advance: ArrayAdvance = namespace["advance"]
    return advance


def _array_source(machine: Composite, weights: Sequence[float], penalties: Sequence[float], reuse: bool) -> str:
    atoms = {atom: f"l{k}" for k, atom in enumerate(machine.atoms)}
    registers = [f"r{k}" for k in range(len(machine.initial))]
    last = len(machine.steps) - 1
    lines = [
        "def advance(state, labels, xp):",
        "    minimum = xp.minimum; maximum = xp.maximum; where = xp.where; isfinite = xp.isfinite",
        f"    control, ({''.join(f'{r}, ' for r in registers)}), penalty, previous, _ = state",
        *(f"    {name} = labels[a{name[1:]}]" for name in atoms.values()),
    ]
    code = Code(list(machine.expressions()), atoms, reuse)
    lines.extend(f"    {line}" for line in code.lines)

    def column(name: str, expressions: Sequence[Expression | None]) -> None:
        places = [None if e is None else code.place[e] for e in expressions]
        lines.append(f"    {name} = {choose(places, atoms, reuse)}")

    def overwrite(name: str, value: str, where: str, worthwhile: str) -> None:
        # Where arrays can be looked into, looking whether there is anything to do costs less than doing it.
        quick = f"if {worthwhile}: {name} = {name}.copy(); copyto({name}, {value}, where={where})"
        lines.append(f"    {quick}" if reuse else f"    {name} = where({where}, {value}, {name})")

    for k in range(len(weights)):
        column(f"v{k}", [step.values[k] for step in machine.steps])
    for k, penalty in enumerate(penalties):
        column(f"u{k}", [step.uppers[k] for step in machine.steps])
        milder = "" if penalty == min(penalties) else f" & (penalty > {penalty!r})"  # nothing is below the lowest one
        overwrite("penalty", repr(penalty), f"(u{k} <= 0.0){milder}", f"count_nonzero(u{k}) < u{k}.size")
    for k in range(len(registers)):
        column(f"n{k}", [step.updates[k] for step in machine.steps])
    level = _weighted(weights, [f"v{k}" for k in range(len(weights))], zero="xp.zeros_like(previous)")
    lines.append(f"    level = {level}")
    if penalties:
        lines.append("    in_force = isfinite(penalty)")
        overwrite("level", "penalty", "in_force", "count_nonzero(in_force)")
    control = f"where(control < {last}, control + 1, {machine.loop})" if last else "None"
    new = "".join(f"n{k}, " for k in range(len(registers)))
    values = "".join(f"v{k}, " for k in range(len(weights)))
    lines.append(f"    return SpecState({control}, ({new}), penalty, level, ({values}))")
    return "\n".join(lines) + "\n"


def _weighted(weights: Sequence[float], values: Sequence[str], zero: str = "0.0") -> str:
    terms = [
        value if weight == 1.0 else f"{weight!r} * {value}"
        for weight, value in zip(weights, values, strict=True)
        if weight != 0.0
    ]
    return " + ".join(terms) or zero

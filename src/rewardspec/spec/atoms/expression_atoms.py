"""Atoms that are written as expressions, as functions of a transition."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from rewardspec.errors import SpecError, shown
from rewardspec.machines.namespaces import namespace_of
from rewardspec.spec.atoms.components import Components, Path, reader, why_unreadable
from rewardspec.spec.atoms.expression_language import (
    Call,
    Node,
    Number,
    Read,
    ReadAgo,
    ReadWord,
    Reduce,
    margin_of,
    parse_expression,
    parts_of,
    rank_of,
)
from rewardspec.spec.atoms.functions import NO_INFO, AtomFunction, looks_like_a_comparison
from rewardspec.spec.atoms.operations import ON_FLOATS, SHAPES, Function, on_arrays, reduction
from rewardspec.spec.pairs import finite
from rewardspec.types import Action, Array, ArrayNamespace, Info, Observation

MOST_FACTORS = 8  # whole powers up to this one are products, which are the same to the last bit in every library
_MOMENTS = ("before", "action", "after", "info")  # in the order of the function's arguments
_NUMBERS = frozenset([float, int, bool, np.bool_, np.float32, np.float64, np.int32, np.int64])  # the usual ones

Inputs: TypeAlias = list[Array]
Evaluate: TypeAlias = Callable[[Inputs], Array]


def predicate_atom(text: str, components: Components, margin: bool = False) -> ExpressionAtom:
    """The function of an atom whose name is a comparison, such as `"abs(next_obs[0]) < 2.4"` in `G "abs(…) < 2.4"`.

    With `margin` it gives, instead of 1 or 0, the margin by which the comparison holds, negative where it does not: the
    difference of its sides. Of `a == b` it is 1 where they are equal, else minus their distance; of `and`, `or` and
    `not` it is minimum, maximum and minus, as in robustness.

    Example:
        >>> fast, margin = predicate_atom("next_obs[0] > 2", {}), predicate_atom("next_obs[0] > 2", {}, margin=True)
        >>> fast(None, 0, np.array([1.5])), margin(None, 0, np.array([1.5]))
        (0.0, -0.5)
    """
    margin_of(parse_expression(text, components))  # which only predicates have
    return ExpressionAtom(text, components, margin=margin)


def with_predicates(
    functions: Mapping[str, AtomFunction] | None, names: Iterable[str], components: Components, margin: bool = False
) -> dict[str, AtomFunction] | None:
    """The atoms' functions, and those of atoms without one whose names are comparisons.

    Where there are no functions, because labels are given directly, there are some only if the name of every atom is a
    comparison.
    """
    names = list(names)
    found: dict[str, AtomFunction] = dict(functions or {})
    missing = [name for name in names if name not in found and looks_like_a_comparison(name)]
    if functions is None and (not names or len(missing) < len(names)):
        return None
    for name in missing:
        try:
            found[name] = predicate_atom(name, components, margin)
        except SpecError as error:
            if functions is None:
                return None
            raise SpecError(
                f"The atom {name!r} has no function, and cannot be read as a comparison: {error}"
            ) from error
    return found


class ExpressionAtom:
    """An atom's function of `(obs, action, next_obs, info)`, for one environment, a NumPy batch, JAX and torch.

    Args:
        text: The expression.
        components: The place of each named observation component; see `rewardspec.spec.atoms.components`.
        at_reset: The label of the state after reset, where there is no action; needed if the action is read. As a
            margin, 0 is false too: it becomes -1, the margin of `a == b` for neighboring whole numbers.
        margin: Whether it gives the margin by which a comparison holds; see `predicate_atom`.

    Raises:
        SpecError: The text is not an expression, or names what does not exist. Shows the place and a remedy.

    Attributes:
        declared: The label at reset as it was given, for a spec of degrees or of robustness.

    Example:
        >>> near = ExpressionAtom("clip(1 - abs(x - 2) / 4, 0, 1)", {"x": (0,)})
        >>> near(None, None, np.array([3.0, 0.5]))
        0.75
        >>> near(None, None, np.array([[3.0, 0.5], [2.0, 0.5]]))
        array([0.75, 1.  ])
        >>> push = ExpressionAtom("action == 1", {}, at_reset=0.0)
        >>> push(None, 1, None), push(None, None, None)
        (1.0, 0.0)
    """

    def __init__(self, text: str, components: Components, at_reset: float | None = None, margin: bool = False) -> None:
        if not isinstance(text, str):
            raise SpecError(f"An atom's expression should be text. Received {text!r}.")
        self.text = text
        self.components: dict[str, Path] = dict(components)
        self.declared = checked_at_reset(at_reset)
        self.at_reset = false_as_margin(self.declared) if margin else self.declared
        self.margin = margin
        tree = parse_expression(text, self.components)
        tree = margin_of(tree) if margin else tree
        self.reads: tuple[Read, ...] = tuple(dict.fromkeys(part for part in parts_of(tree) if isinstance(part, Read)))
        if self.at_reset is None and any(read.moment == "action" for read in self.reads):
            raise SpecError(
                f"The expression {text!r} reads the action, and after reset there is none. "
                "Declare the label of that state with at_reset, for example at_reset = 0: an atom may be the table "
                f"{{ expression = {text!r}, at_reset = 0 }}, in Python {{'expression': {text!r}, 'at_reset': 0}}."
            )
        if any(isinstance(read, ReadWord) for read in self.reads):
            raise SpecError(
                f"The expression {text!r} compares with a word, which only columns of records can be, as in "
                "`rewardspec violations --trace`. Compare with a number, or write the atom as a function."
            )
        if any(isinstance(read, ReadAgo) for read in self.reads):
            raise SpecError(
                f"The expression {text!r} reads an earlier row with '@', which only records have, as in `rewardspec "
                "monitor --trace`. Write before.x for the observation before the step, or remember it in the formula."
            )
        self._tree = tree
        self._readers = [(_MOMENTS.index(read.moment), reader(read.path)) for read in self.reads]
        self._on_floats = evaluator(tree, self.reads, ON_FLOATS)
        _try_constant_limits(tree)
        self._on_arrays: dict[ArrayNamespace, Evaluate] = {}

    def with_margin(self, margin: bool) -> ExpressionAtom:
        """The same atom as a spec of robustness reads it (`margin`), or one of degrees; only comparisons differ."""
        if margin == self.margin:
            return self
        try:
            return ExpressionAtom(self.text, self.components, self.declared, margin)
        except SpecError:
            return self  # it is no comparison

    @property
    def is_boolean(self) -> bool:
        """True if it is a comparison, or several joined by `and`, `or` and `not`, so that its labels are 0 and 1."""
        if self.margin or self.at_reset not in (None, 0.0, 1.0):
            return False
        try:
            margin_of(self._tree)  # which only predicates have
        except SpecError:
            return False
        return True

    @property
    def reads_only_the_state(self) -> bool:
        """True if the label depends on `next_obs` alone."""
        return self.at_reset is None and all(read.moment == "after" for read in self.reads)

    @property
    def takes_info(self) -> bool:
        """True if the label depends on `info`."""
        return any(read.moment == "info" for read in self.reads)

    def __call__(self, obs: Observation, action: Action, next_obs: Observation, info: Info | None = None) -> Array:
        """The label of one transition, or the labels of a batch."""
        if action is None and self.at_reset is not None:
            return self.at_reset
        sources = (obs, action, next_obs, info)
        try:
            values = [read(sources[source]) for source, read in self._readers]
        except (IndexError, KeyError, TypeError, AttributeError):
            self._say_what_is_missing(sources)
            raise
        library = _library(values)
        if library is None:
            return self._on_floats([float(value) for value in values])
        if library not in self._on_arrays:
            self._on_arrays[library] = evaluator(self._tree, self.reads, on_arrays(library), library)
        evaluate = self._on_arrays[library]
        if library is not np:
            return evaluate([value * 1.0 for value in values])  # integers become floats, and do not wrap around
        with np.errstate(all="ignore"):
            # In double precision, so that a batch gives just what each of its environments alone gives.
            return evaluate([np.asarray(value, dtype=np.float64) for value in values])

    def _say_what_is_missing(self, sources: Sequence[Array]) -> None:
        """Raise a SpecError that names the first of what it reads that is not there."""
        names = {path: name for name, path in self.components.items()}
        for read in self.reads:
            source = sources[_MOMENTS.index(read.moment)]
            if read.moment == "info" and source is None:
                raise SpecError(f"{self.text!r} reads `info`, and {NO_INFO}")
            why = why_unreadable(source, read.path)
            if why is not None:
                why = why if read.moment in ("before", "after") else why.replace("observation", read.moment)
                named = read.moment in ("before", "after") and read.path in names
                name = repr(names[read.path]) if named else f"a part of {self.text!r}"
                remedy = "Was the spec written for another environment?"
                at_reset = sources[_MOMENTS.index("action")] is None
                if read.moment == "info" and at_reset and read.path[0] not in source:
                    remedy = f"If only `reset` does not give it: {{ expression = {self.text!r}, at_reset = 0 }}."
                raise SpecError(f"{name} is {why}. {remedy}")

    def __eq__(self, other: object) -> bool:
        return self._meaning() == other._meaning() if isinstance(other, ExpressionAtom) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._meaning())

    def _meaning(self) -> tuple[object, ...]:
        return self.text, self.reads, self.declared, self.margin

    def __reduce__(self) -> tuple[object, ...]:
        return ExpressionAtom, (self.text, self.components, self.declared, self.margin)

    def __repr__(self) -> str:
        at_reset = "" if self.declared is None else f", at_reset={self.declared:g}"
        return f"<atom {self.text!r}{at_reset}>"


def checked_at_reset(value: Array) -> float | None:
    """The label that is declared for the state after reset, of a spec whose semantics is not known yet."""
    if value is None:
        return None
    if isinstance(value, bool):
        raise SpecError(f"`at_reset` should be a number: 1 for true, 0 for false. Received {shown(value)}.")
    return finite(value, "at_reset")


def false_as_margin(at_reset: float | None) -> float | None:
    """The label at reset of a comparison that gives its margin, of which 0 would be neither kept nor broken."""
    return -1.0 if at_reset == 0.0 else at_reset


def _try_constant_limits(tree: Node) -> None:
    """Let a shape whose limits make no sense complain now, not in an episode; limits that are read, it sees then."""
    for part in parts_of(tree):
        if isinstance(part, Call) and part.function in SHAPES:
            limits = part.args[1:]
            if not any(isinstance(inner, Read) for limit in limits for inner in parts_of(limit)):
                ON_FLOATS[part.function](0.5, *(evaluator(limit, (), ON_FLOATS)([]) for limit in limits))


def _library(values: Iterable[Array]) -> ArrayNamespace:
    """The array library of the values; None when all are numbers."""
    library = None
    for value in values:
        if type(value) in _NUMBERS:
            continue
        if type(value) is np.ndarray:
            if value.ndim and library is None:
                library = np
        elif not isinstance(value, float | int | np.generic):
            found = namespace_of(value)
            library = library if found is None else found
    return library


def evaluator(
    node: Node, reads: tuple[Read, ...], operations: Mapping[str, Function], xp: ArrayNamespace = np
) -> Evaluate:
    """The function that evaluates a tree with these operations, given a list of what it reads."""
    match node:
        case Number():
            number = node.value
            return lambda inputs: number
        case Read():
            place = reads.index(node)
            return lambda inputs: inputs[place]
        case Reduce():
            several = evaluator(node.arg, reads, operations, xp)
            reduce = reduction(xp, node.function, rank_of(node.arg), node.axis)
            return lambda inputs: reduce(several(inputs))
    if not any(isinstance(part, Read) for part in parts_of(node)):
        # Constant parts are numbers in every library, where a function may insist on arrays.
        folded = _build_call(node, reads, ON_FLOATS, xp)([])
        return lambda inputs: folded
    return _build_call(node, reads, operations, xp)


def _build_call(
    node: Call, reads: tuple[Read, ...], operations: Mapping[str, Function], xp: ArrayNamespace
) -> Evaluate:
    function = operations[node.function]
    args = [evaluator(arg, reads, operations, xp) for arg in node.args]
    args = [_with_axes(evaluate, node.rank - rank_of(arg)) for evaluate, arg in zip(args, node.args, strict=True)]
    match node.args, args:
        case ([_, Number(c)], [first, _]) if node.function == "**" and c in range(1, MOST_FACTORS + 1):
            factors = int(c)
            return lambda inputs: functools.reduce(operator.mul, [first(inputs)] * factors)
        case ([_, Number(c)], [first, _]):
            return lambda inputs: function(first(inputs), c)
        case ([Number(c), _], [_, second]):
            return lambda inputs: function(c, second(inputs))
        case (_, [first]):
            return lambda inputs: function(first(inputs))
        case (_, [first, second]):
            return lambda inputs: function(first(inputs), second(inputs))
    return lambda inputs: function(*(arg(inputs) for arg in args))


def _with_axes(evaluate: Evaluate, axes: int) -> Evaluate:
    """The same values with further axes of length 1 at the end, so that each serves every place of a slice."""
    if not axes:
        return evaluate
    places = (..., *([None] * axes))

    def call(inputs: Inputs) -> Array:
        value = evaluate(inputs)
        return value[places] if hasattr(value, "ndim") else value

    return call

"""Reading specs from TOML files; `rewardspec.spec.toml_writing` writes them.

payment = "value"                       # these seven as for `Spec`, all optional
penalty = 0.0
discount = 0.99
clip = false
max_registers = 256
semantics = "robustness"                # or "degree", the default
bound = 10.0                            # under robustness alone: the largest absolute value that is paid
threshold = 0.99                        # optional: labels from here on count as 1, others as 0
observation = ["x", "x_dot"]            # or a table; see `rewardspec.spec.atoms.components`
sorts = { box = 4 }                     # optional: how many things each sort has, or a list of their names

[atoms]                                 # optional where labels are given directly
near_goal = "proximity(x, 2, 4)"        # an expression, or
balanced = "my_project.atoms:balanced"  # a function, or anything else of that name that can be called
pushes = { expression = "action == 1", at_reset = 0 }
low = { expression = "next_obs[0] < 0.2", per_agent = true }   # about every agent of a team; see `per_agent`
refund = { call = "refund", id = "order_id" }   # about a conversation; see `rewardspec.spec.atoms.event_atoms`

[[pairs]]
formula = "G balanced"
weight = 4                              # and optionally: veto, penalty, name, payment, progress
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from rewardspec.errors import Error, SpecError, did_you_mean, shown
from rewardspec.logic.quantifiers import atoms_of
from rewardspec.spec.atoms.components import Components, read_components
from rewardspec.spec.atoms.event_atoms import KINDS, read_event_atom
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom, with_predicates
from rewardspec.spec.atoms.functions import AtomFunction, Thresholded
from rewardspec.spec.atoms.per_agent import per_agent
from rewardspec.spec.atoms.references import is_reference, referenced_atom
from rewardspec.spec.pairs import Pair, is_number
from rewardspec.spec.sorts import as_sorts
from rewardspec.spec.spec import Spec
from rewardspec.types import Action, Json, Number, Observation

Resolving: TypeAlias = Callable[[str], AtomFunction]  # from a reference to its function; may refuse, by raising

_NUMBER, _TEXT, _TRUTH, _WHOLE = "a number", "text", "true or false", "a whole number"
_OPTIONS = {
    "payment": _TEXT,
    "penalty": _NUMBER,
    "discount": _NUMBER,
    "clip": _TRUTH,
    "max_registers": _WHOLE,
    "semantics": _TEXT,
    "bound": _NUMBER,
    "threshold": _NUMBER,
}
KEYS = (*_OPTIONS, "observation", "sorts", "atoms", "pairs")
_PAIR = {
    "formula": _TEXT,
    "weight": _NUMBER,
    "veto": _TRUTH,
    "penalty": _NUMBER,
    "name": _TEXT,
    "payment": _TEXT,
    "progress": _TRUTH,
}
_ATOM = {"expression": _TEXT, "function": _TEXT, "at_reset": _NUMBER, "per_agent": _TRUTH}


@dataclass(frozen=True)
class SpecDraft:
    """The entries of a spec file, each valid on its own, before they are checked together.

    Attributes:
        pairs: The pairs.
        atoms: The atoms' functions, or None where the file has none.
        options: The other arguments of `Spec`.
        threshold: Where labels turn into 0 or 1, or None.
        components: The observation's components that the file names.
        table: The whole file, as its entries are written.
    """

    pairs: tuple[Pair, ...]
    atoms: Mapping[str, AtomFunction] | None = None
    options: Mapping[str, Json] = field(default_factory=dict)
    threshold: float | None = None
    components: Components = field(default_factory=dict)
    table: Mapping[str, Json] = field(default_factory=dict)

    @property
    def entries(self) -> Mapping[str, Json]:
        """The atoms as the file writes them."""
        entries = self.table.get("atoms", {})
        return entries if isinstance(entries, dict) else {}

    @property
    def functions(self) -> Mapping[str, AtomFunction] | None:
        """The atoms' functions, with Boolean labels where the file has a threshold; None where it has none."""
        if self.atoms is None or self.threshold is None:
            return self.atoms
        return {name: Thresholded(function, self.threshold) for name, function in self.atoms.items()}

    def spec(self) -> Spec:
        """The spec."""
        spec = Spec(self.pairs, self.atoms, **self.options)
        return spec if self.threshold is None else spec.boolean(self.threshold)


def load_spec(path: str | os.PathLike[str], references: bool = True) -> Spec:
    """The spec in a TOML file; see `Spec.load`."""
    draft = read_draft(path, references=references)
    try:
        return draft.spec()
    except Error as error:
        raise SpecError(f"{os.fspath(path)}: {error}") from error


def loads_spec(text: str, references: bool = True) -> Spec:
    """The spec in a TOML text; `references` as for `load_spec`.

    Example:
        >>> spec = loads_spec('''
        ... observation = ["x"]
        ... atoms.near_goal = "proximity(x, 2, 4)"
        ... pairs = [["F near_goal", 2]]
        ... ''')
        >>> spec.labels(None, 0, [3.0])
        {'near_goal': 0.75}
    """
    return _draft(text, referenced_atom if references else _refused).spec()


def spec_to_show(text: str) -> Spec:
    """The spec in a TOML text, to be shown and not to be run: functions that its atoms name are not imported.

    Example:
        >>> spec = spec_to_show('''
        ... atoms.near = "my_project.atoms:near"
        ... pairs = [["F near", 2]]
        ... ''')
        >>> spec, spec.atom_functions["near"]
        (Spec([('F near', 2)], payment='value', penalty=0), NotImported(reference='my_project.atoms:near'))
    """
    return _draft(text, NotImported).spec()


@dataclass(frozen=True)
class NotImported:
    """The function of an atom that is named and was not imported."""

    reference: str

    def __call__(self, obs: Observation, action: Action, next_obs: Observation) -> Number:
        """Refuse to be called."""
        raise SpecError(f"the function {self.reference!r} was not imported, since the spec is only shown")


def read_draft(
    path: str | os.PathLike[str],
    *,
    references: bool = True,
    announce: Callable[[str], None] | None = None,
    atoms: bool = True,
    rewrite: Callable[[str], str] | None = None,
) -> SpecDraft:
    """Read a spec file without checking its parts against each other; `references` as for `Spec.load`.

    Every reference to a function is announced before its module is imported. Without `atoms`, where labels are given,
    nothing need be imported for them. The text of each formula is rewritten before it is parsed, for example to turn
    seconds into steps.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        where = f" Looked for {os.path.abspath(path)!r}." if isinstance(error, FileNotFoundError) else ""
        raise SpecError(f"Cannot read the spec {os.fspath(path)!r}: {error.strerror}.{where}") from None
    except UnicodeDecodeError:
        raise SpecError(f"The spec {os.fspath(path)!r} is not UTF-8 text, as TOML is.") from None

    def announced(reference: str) -> AtomFunction:
        if announce is not None:
            announce(reference)
        return referenced_atom(reference)

    resolving = announced if references else _refused
    try:
        return _draft(text, resolving if atoms else None, rewrite)
    except SpecError as error:
        raise SpecError(f"{os.fspath(path)}: {error}") from error


def draft_of_text(text: str) -> SpecDraft:
    """Read the text of a spec file without its atoms, so that nothing is imported."""
    return _draft(text, None)


def _refused(reference: str) -> AtomFunction:
    raise SpecError(
        f"it names the function {reference.strip()!r}, whose module would be imported; references are refused here. "
        "Write the atom as an expression, or allow references if you trust the file and the module."
    )


def _draft(text: str, resolving: Resolving | None, rewrite: Callable[[str], str] | None = None) -> SpecDraft:
    if not isinstance(text, str):
        raise SpecError(f"A spec's text should be a string. Received a {type(text).__name__}.")
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOML errors, absurd numbers, absurd nesting
        raise SpecError(f"This is not valid TOML: {error}.") from None
    _require_known_keys(table, KEYS, "the spec")
    options = {key: _typed(table[key], kind, f"`{key}`") for key, kind in _OPTIONS.items() if key in table}
    threshold = options.pop("threshold", None)
    if threshold is not None and options.get("semantics") == "robustness":
        raise SpecError(
            "A `threshold` makes labels 0 or 1, and as robustness 0 is neither true nor false. Leave one of "
            "`threshold` and `semantics` out."
        )
    if "sorts" in table:
        options["sorts"] = as_sorts(table["sorts"])
    components = read_components(table.get("observation", {}))
    entries = table.get("atoms", {})
    if "pairs" not in table and isinstance(entries, dict) and "pairs" in entries:
        raise SpecError(f"A spec needs pairs, and `pairs` is in the table of atoms.{_above_atoms('pairs')}")
    pairs = _read_pairs(table.get("pairs"), rewrite)
    _check_observation(
        table.get("observation"),
        [*(_expressions(entries) if isinstance(entries, dict) else ()), *(str(pair.formula) for pair in pairs)],
    )
    atoms = None
    if resolving is not None:
        atoms = _read_atoms(table["atoms"], components, resolving) if "atoms" in table else None
        names = dict.fromkeys(name for pair in pairs for name in atoms_of(pair.formula))
        margin = options.get("semantics") == "robustness"
        atoms = with_predicates(atoms, names, components, margin)
    return SpecDraft(pairs, atoms, options, threshold, components, table)


def _read_pairs(entries: Json, rewrite: Callable[[str], str] | None) -> tuple[Pair, ...]:
    if not isinstance(entries, list):
        raise SpecError(
            f"A spec needs pairs: a table [[pairs]] for each, with a formula and a weight. Received {shown(entries)}."
        )
    return tuple(_read_pair(entry, f"pair {number}", rewrite) for number, entry in enumerate(entries, start=1))


def _read_pair(entry: Json, where: str, rewrite: Callable[[str], str] | None) -> Pair:
    if isinstance(entry, list) and 2 <= len(entry) <= 3:
        entry = dict(zip(("formula", "weight", "veto"), entry, strict=False))
    if not isinstance(entry, dict):
        raise SpecError(
            f"{where} should be a table, or a list of formula, weight and, if wanted, veto. Received {shown(entry)}."
        )
    _require_known_keys(entry, _PAIR, where)
    for key in ("formula", "weight"):
        if key not in entry:
            raise SpecError(f"{where} has no {key}. Add a line `{key} = …`.")
    values = {key: _typed(value, _PAIR[key], f"`{key}` of {where}") for key, value in entry.items()}
    try:
        if rewrite is not None:
            values["formula"] = rewrite(values["formula"])
        return Pair(**values)
    except Error as error:
        raise SpecError(f"In {where}: {error}") from error


def _read_atoms(table: Json, components: Components, resolving: Resolving) -> dict[str, AtomFunction]:
    if not isinstance(table, dict):
        raise SpecError(f"`atoms` should be a table of names and expressions or functions. Received {shown(table)}.")
    atoms: dict[str, AtomFunction] = {}
    for name, entry in table.items():
        try:
            atoms[name] = read_atom(entry, components, resolving)
        except SpecError as error:
            raise SpecError(f"In atom {name!r}: {error}{_above_atoms(name)}") from error
    return atoms


def _expressions(entries: Mapping[str, Json]) -> list[str]:
    """The texts of the atoms that are expressions."""
    found = [entry.get("expression") if isinstance(entry, dict) else entry for entry in entries.values()]
    return [text for text in found if isinstance(text, str)]


def _check_observation(given: Json, texts: Sequence[str]) -> None:
    """Refuse a key of the file that has come into the table of the observation, so that no text reads it."""
    for key in KEYS if isinstance(given, dict) else ():
        if key in given and not any(reads_name(text, key) for text in texts):
            raise SpecError(
                f"`observation` has a component {key!r}, which no atom reads. If it is the spec's `{key}`, write it "
                "above [observation]; else leave the component out."
            )


def reads_name(text: str, name: str) -> bool:
    """Return whether an expression may read a component.

    Example:
        >>> reads_name("before.bound < 2", "bound"), reads_name("abs(x) < 2", "bound")
        (True, False)
    """
    return re.search(rf"\b{name}\b", text) is not None


def _above_atoms(name: str) -> str:
    """A remedy for a key of the file that has come into the table of atoms."""
    return f" If it is the spec's `{name}`, write it above [atoms]." if name in KEYS else ""


def read_atom(entry: Json, components: Components, resolving: Resolving = referenced_atom) -> AtomFunction:
    """The function of an atom from what a file says of it: an expression, a function's name, or a table with either.

    `resolving` gives the function of a name, by default by importing its module.

    Example:
        >>> read_atom({"expression": "action == 1", "at_reset": 0}, {})(None, 1, None)
        1.0
    """
    if isinstance(entry, str):
        entry = {"function" if is_reference(entry) else "expression": entry}
    if isinstance(entry, dict) and any(kind in entry for kind in KINDS):
        return read_event_atom(entry)
    if not isinstance(entry, dict):
        raise SpecError(
            f"an atom is an expression such as 'abs(x) < 2', or a function as 'package.module:function'. "
            f"Received {shown(entry)}."
        )
    _require_known_keys(entry, (*_ATOM, *KINDS), "it")
    values = {key: _typed(value, _ATOM[key], f"`{key}`") for key, value in entry.items()}
    if ("expression" in values) == ("function" in values):
        raise SpecError(f"an atom has either an expression or a function. Received {shown(entry)}.")
    function: AtomFunction
    if "expression" in values:
        function = ExpressionAtom(values["expression"], components, values.get("at_reset"))
    elif "at_reset" in values:
        raise SpecError("`at_reset` is for expressions. A function can return what it likes when action is None.")
    else:
        function = resolving(values["function"])
    return per_agent(function) if values.get("per_agent") else function


def _require_known_keys(table: Mapping[str, Json], known: Collection[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise SpecError(f"Unknown key {key!r} in {where}; known: {', '.join(known)}.{did_you_mean(key, known)}")


def _typed(value: Json, kind: str, what: str) -> Json:
    types = {_NUMBER: int | float, _TEXT: str, _TRUTH: bool, _WHOLE: int}
    if not isinstance(value, types[kind]) or (isinstance(value, bool) and kind != _TRUTH):
        raise SpecError(f"{what} should be {kind}. Received {shown(value)}.{_without_quotes(value, kind)}")
    return value


def _without_quotes(value: Json, kind: str) -> str:
    """A remedy for a number, or a truth value, that is written as text."""
    if not isinstance(value, str):
        return ""
    meant = value.strip() in ("true", "false") if kind == _TRUTH else is_number(value)
    return f" Write {value.strip()}, without quotes." if meant else ""

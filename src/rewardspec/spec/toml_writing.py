"""Writing specs to TOML files."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from rewardspec.errors import SpecError
from rewardspec.logic.quantifiers import with_plain_atoms
from rewardspec.spec.atoms.components import Components, read_components
from rewardspec.spec.atoms.event_atoms import EventAtom
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom, with_predicates
from rewardspec.spec.atoms.functions import AtomFunction, Thresholded
from rewardspec.spec.atoms.per_agent import PerAgent
from rewardspec.spec.atoms.references import ReferencedAtom, reference_to
from rewardspec.spec.pairs import Pair
from rewardspec.spec.sorts import NAMES, Things
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import KEYS, reads_name
from rewardspec.types import Json, JsonObject

_OPTIONS = ("penalty", "discount", "clip", "max_registers", "semantics", "bound")
_PAIR = ("name", "formula", "weight", "veto", "penalty", "payment", "progress")


def dumps_spec(spec: Spec, further: Mapping[str, Json] = MappingProxyType({})) -> str:
    """A spec as TOML text, which `loads_spec` reads back to the same spec.

    For a spec without functions, `further` has entries that are written as they are: its atoms, say, as text.

    Example:
        >>> print(dumps_spec(Spec([("F goal", 2), Pair("G !crash", 1, penalty=-5)])), end="")
        payment = "value"
        <BLANKLINE>
        [[pairs]]
        formula = "F goal"
        weight = 2.0
        <BLANKLINE>
        [[pairs]]
        formula = "G !crash"
        weight = 1.0
        penalty = -5.0
    """
    return "\n".join(_lines(spec, further)) + "\n"


def _lines(spec: Spec, further: Mapping[str, Json]) -> Iterator[str]:
    threshold, atoms = _without_threshold(spec.atom_functions or {})
    yield f"payment = {_value(spec.payment)}"
    defaults = inspect.signature(Spec).parameters
    for key in _OPTIONS:
        if getattr(spec, key) != defaults[key].default:
            yield f"{key} = {_value(getattr(spec, key))}"
    if spec.sorts:
        yield f"sorts = {{ {', '.join(f'{_key(name)} = {_things(own)}' for name, own in spec.sorts.items())} }}"
    if threshold is not None:
        yield f"threshold = {_value(threshold)}"
    for key, value in further.items():
        if not isinstance(value, dict):
            yield f"{_key(key)} = {_value(value)}"
    if not spec.pairs:
        yield "pairs = []"
    components = _shared_components(atoms)
    if components:
        yield from ["", "[observation]"]
        for name, place in _places(components).items():
            yield f"{'.'.join(map(_key, name.split('.')))} = {_value(place)}"
    # What an atom's name says already is left to it.
    named = {name for name in spec.axes.labels_of if name in atoms and _is_predicate(name, atoms[name])}
    entries = {name: _atom(name, function) for name, function in atoms.items() if name not in named}
    if entries or (spec.atom_functions is not None and not atoms):
        yield from ["", "[atoms]"]
        for name, entry in entries.items():
            yield f"{_key(name)} = {entry}"
    for key, value in further.items():
        if isinstance(value, dict):
            yield from ["", f"[{_key(key)}]", *(f"{_key(name)} = {_value(entry)}" for name, entry in value.items())]
    for pair in spec.pairs:
        yield from ["", "[[pairs]]"]
        for key, value in _pair(pair).items():
            yield f"{key} = {_value(value)}"


def _pair(pair: Pair) -> JsonObject:
    entry = {key: getattr(pair, key) for key in _PAIR}
    entry |= {"formula": str(with_plain_atoms(pair.formula)), "progress": pair.progress or None}
    return {key: value for key, value in entry.items() if value is not None}


def _things(things: Things) -> str:
    """The things of a sort: how many there are, or their names."""
    if not things:
        return _value(NAMES)
    return str(len(things)) if things == tuple(map(str, range(len(things)))) else _value(list(things))


def _is_predicate(name: str, function: AtomFunction) -> bool:
    """Return whether this is the comparison that the atom's own name denotes, which need not be written."""
    if not isinstance(function, ExpressionAtom) or function.text != name or function.declared is not None:
        return False
    return with_predicates(None, [name], function.components) is not None


def _atom(name: str, function: AtomFunction) -> str:
    if isinstance(function, PerAgent):
        own = _atom(name, function.function)
        if own.startswith("{"):
            return f"{own.removesuffix(' }')}, per_agent = true }}"
        key = "expression" if isinstance(function.function, ExpressionAtom) else "function"
        return f"{{ {key} = {own}, per_agent = true }}"
    if isinstance(function, ExpressionAtom):
        if function.declared is None:
            return _value(function.text)
        return f"{{ expression = {_value(function.text)}, at_reset = {_value(function.declared)} }}"
    if isinstance(function, EventAtom):
        return function.to_toml()
    if isinstance(function, ReferencedAtom):
        return _value(function.reference)
    try:
        return _value(reference_to(function))
    except SpecError as error:
        raise SpecError(f"The atom {name!r} cannot be saved: {error}") from error


def _without_threshold(atoms: Mapping[str, AtomFunction]) -> tuple[float | None, dict[str, AtomFunction]]:
    """The threshold that all atoms share, if they do, and the atoms without it."""
    thresholds = {f.threshold if isinstance(f, Thresholded) else None for f in atoms.values()}
    if thresholds <= {None}:
        return None, dict(atoms)
    if len(thresholds) > 1:
        raise SpecError(
            "Some atoms have a threshold and others none, or another one; a file has one for all. "
            "Write the comparisons into the atoms."
        )
    (threshold,) = thresholds
    return threshold, {name: f.function for name, f in atoms.items() if isinstance(f, Thresholded)}


def _shared_components(atoms: Mapping[str, AtomFunction]) -> Components:
    components: JsonObject = {}
    for atom, function in atoms.items():
        own = function.function if isinstance(function, PerAgent) else function
        if not isinstance(own, ExpressionAtom):
            continue
        for name, path in own.components.items():
            if name in KEYS and not reads_name(own.text, name):
                continue  # a reader would take it for a key that has come into the wrong table
            if components.setdefault(name, path) != path:
                raise SpecError(
                    f"The atom {atom!r} means {path} by {name!r} and another atom {components[name]}; "
                    "a file has one meaning for each name. Give the components different names."
                )
    return components


def _places(components: Components) -> JsonObject:
    """Map each component to its name in the file; a dotted name is a nested table, for one key of a Dict."""
    table: JsonObject = {}
    places: JsonObject = {}
    for name, path in components.items():
        *outer, last = name.split(".")
        inner = path[len(outer) :]
        places[name] = inner[0] if len(inner) == 1 else list(inner)
        level = table
        for key in outer:
            level = level.setdefault(key, {})
        level[last] = places[name]
    if read_components(table) != dict(components):
        raise SpecError(f"The observation components {dict(components)} cannot be written to a file. Rename them.")
    return places


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's too; TOML alone wants DEL escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_value(entry)}' for key, entry in value.items())} }}"
    return repr(value)

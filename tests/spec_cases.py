"""Random specs in which all features meet, episodes for them, and what the definition says they pay.

`tests/data/spec_rewards.json.gz` holds cases that `python -m tests.spec_cases` has written, because the definition is
slow, and `quantified_rewards.json.gz` some with formulas about things (`python -m tests.spec_cases quantified`). Every
path of the library is compared with all of them, and `tests/test_spec_definition.py` computes some of them anew.
`fresh_cases` makes others from any seed.

A case has episodes of one atom each for the three places that labels come from: `a` is in the observation, `b` in
`info`, and `c` is the action, or in the observation of a reset.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import Atom, Formula
from rewardspec.logic.quantifiers import AtomOf, Exists, Forall, Mean, Quantified
from rewardspec.machines.effort_limit import DEFAULT_REGISTERS
from rewardspec.spec import Pair, Spec
from rewardspec.spec.veto_conditions import veto_program
from rewardspec.synthesis.quantitative.compiler import Synthesis
from tests.spec_definition import Bools, Floats, Paid, horizon, judged_by_definition, paid_by_definition
from tests.strategies import ATOMS, LABELS, MONITORABLE, REALS, Language, random_batch, random_formula
from tests.synthesis.progress_definition import TooManyError

FILE = Path(__file__).parent / "data" / "spec_rewards.json.gz"
QUANTIFIED = FILE.with_name("quantified_rewards.json.gz")
STEPS, EPISODES = 9, 16
ROBUST = Language(past=True, intervals=True, counts=True, monitorable=True)
_LONGEST = 40  # the horizon of a formula, beyond which the definition takes too long


def a(obs: Any, action: Any, next_obs: Any) -> Any:
    return next_obs[..., 0]


def b(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
    return info["b"]


def c(obs: Any, action: Any, next_obs: Any) -> Any:
    return next_obs[..., 1] if action is None else action[..., 0]


def p(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
    return info["p"]


def q(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
    return info["q"]


def r(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
    return info["r"]


FUNCTIONS = {"a": a, "b": b, "c": c}
OF_THINGS = {"p": p, "q": q, "r": r}


@dataclass(frozen=True)
class Case:
    """A spec, episodes of equal length, and what they pay.

    Attributes:
        spec: The spec, with functions for its atoms.
        labels: For each atom an array of shape (steps + 1, episodes).
        base_rewards: The environment's own rewards, of shape (steps, episodes).
        terminated: Where an episode ends for good, of shape (steps, episodes).
        truncated: Where it is cut short, likewise.
        lengths: After how many steps each episode ends; what comes later is not looked at.
        paid: What the definition says.
        paid_ending: What it says where violations end the episode.
    """

    spec: Spec
    labels: dict[str, Floats]
    base_rewards: Floats
    terminated: Bools
    truncated: Bools
    lengths: NDArray[np.int64]
    paid: Paid
    paid_ending: Paid

    def steps_of(self, episode: int, ending: bool = False) -> int:
        """How many steps an episode has; with `ending`, where a violation ends it."""
        length = int(self.lengths[episode])
        ends = np.flatnonzero(self.paid.violated[1:length, episode]) if ending else []
        return int(ends[0]) + 1 if len(ends) else length


def random_spec(rng: random.Random, quantified: bool = False) -> Spec:
    """A spec of one to four pairs; each feature is drawn on its own.

    Args:
        rng: The source of randomness.
        quantified: Whether most pairs have a quantifier; else none has.
    """
    robust = rng.random() < 0.3
    payments = ("value", "delta", "potential", "final")
    pairs = []
    for _ in range(rng.choice((1, 2, 2, 3, 4))):
        language = ROBUST if robust else MONITORABLE
        if quantified and rng.random() < 0.75:
            formula = random_quantified(rng, rng.choice((1, 2, 2, 3)), language)
        else:
            formula = random_formula(rng, rng.choice((1, 2, 2, 3)), language=language)
        pair = Pair(
            formula,
            rng.choice((1, 1, 2, 0.5, 0, -1)),
            veto=rng.choice((None, None, True, False)),
            payment=rng.choice((None, None, *payments)),
            progress=rng.random() < 0.35,
        )
        if pair.vetoes and rng.random() < 0.5:
            options = {"veto": pair.veto, "payment": pair.payment, "progress": pair.progress}
            pair = Pair(formula, pair.weight, penalty=rng.choice((-1, -2, 0.5)), **options)
        pairs.append(pair)
    return Spec(
        pairs,
        FUNCTIONS | OF_THINGS if quantified else FUNCTIONS,
        penalty=rng.choice((0, 0, -1)),
        payment=rng.choice(payments),
        discount=rng.choice((0.5, 0.9, 1.0)),
        semantics="robustness" if robust else "degree",
        bound=8.0 if robust else None,
        sorts={"x": rng.choice((1, 2, 3)), "y": ("left", "right")} if quantified else None,
    )


def random_quantified(rng: random.Random, depth: int, language: Language) -> Quantified:
    """A formula about things of one of two sorts, `x` and `y`, and perhaps about what is not of them."""
    variable, predicates = rng.choice((("x", ("p", "q")), ("y", ("r",))))
    atoms = [*predicates, *predicates, "a", "b"]
    body = random_formula(rng, depth, atoms, language)

    def about(part: Formula, args: tuple[Formula, ...]) -> Formula:
        if isinstance(part, Atom) and part.name in predicates:
            return AtomOf(part.name, variable)
        return part.rebuild(*args) if args else part

    kinds = [Forall, Exists, Mean] if language.scales else [Forall, Exists]
    return rng.choice(kinds)(body.fold(about), variable)


def vetoes_at_once(formula: Formula) -> bool:
    """Whether the violation of a formula is noticed exactly."""
    return veto_program(formula, Synthesis(DEFAULT_REGISTERS).program(formula), DEFAULT_REGISTERS).exact


def random_case(rng: random.Random, quantified: bool = False, episodes: int = EPISODES) -> Case | None:
    """A case; None where the spec is too large to monitor, to veto at once, or to evaluate by the definition."""
    spec = random_spec(rng, quantified)
    if any(horizon(pair.body) > _LONGEST for pair in spec.pairs):
        return None
    try:
        _ = spec.machine
        if not all(vetoes_at_once(pair.body) for pair in spec.pairs if pair.vetoes):
            return None
        kinds = (REALS, (-1.0, 0.0, 1.0)) if spec.semantics == "robustness" else LABELS
        labels = random_batch(rng, STEPS + 1, episodes, (*ATOMS, *_of_things(spec)), kinds)
        lengths = np.array([rng.choice((STEPS, STEPS, STEPS - 1, 4, 1)) for _ in range(episodes)])
        last = np.arange(1, STEPS + 1)[:, None] == lengths
        how = np.array([rng.choice(("terminated", "truncated", "both", "neither")) for _ in range(episodes)])
        terminated, truncated = last & np.isin(how, ("terminated", "both")), last & np.isin(how, ("truncated", "both"))
        base_rewards = np.array([[rng.choice((-1.0, 0.0, 1.0)) for _ in range(episodes)] for _ in range(STEPS)])
        return _case(spec, labels, base_rewards, terminated, truncated, lengths)
    except (SynthesisError, TooManyError):
        return None


def _case(
    spec: Spec, labels: dict[str, Floats], base: Floats, terminated: Bools, truncated: Bools, lengths: Any
) -> Case:
    judged = judged_by_definition(spec, labels)
    paid = [
        paid_by_definition(spec, judged, base, terminated, truncated, terminate_on_violation=ending)
        for ending in (False, True)
    ]
    return Case(spec, labels, base, terminated, truncated, lengths, *paid)


def _of_things(spec: Spec) -> list[str]:
    """The names of all labels about things: `p(0)`, `p(1)`, …, `r(left)`, `r(right)`."""
    sort_of = {"p": "x", "q": "x", "r": "y"}
    return [f"{atom}({thing})" for atom, sort in sort_of.items() for thing in spec.sorts.get(sort, ())]


def fresh_cases(seed: int, count: int, quantified: bool = False, episodes: int = EPISODES) -> Iterator[Case]:
    """Cases that are in no file."""
    rng = random.Random(seed)
    found = 0
    while found < count:
        case = random_case(rng, quantified, episodes)
        if case is not None:
            found += 1
            yield case


def recomputed(case: Case) -> Case:
    """The same case with the definition's word on it of today."""
    return _case(case.spec, case.labels, case.base_rewards, case.terminated, case.truncated, case.lengths)


# Files.

_PAIR = ("weight", "veto", "penalty", "payment", "progress")
_SPEC = ("penalty", "payment", "discount", "semantics", "bound", "sorts")


def write(path: Path, cases: list[Case]) -> None:
    """Write cases to a file."""
    rows = [
        {
            "pairs": [{"formula": str(p.formula), **{key: getattr(p, key) for key in _PAIR}} for p in case.spec.pairs],
            "options": {key: getattr(case.spec, key) for key in _SPEC},
            "labels": {atom: column.tolist() for atom, column in case.labels.items()},
            "base_rewards": case.base_rewards.tolist(),
            "terminated": case.terminated.tolist(),
            "truncated": case.truncated.tolist(),
            "lengths": case.lengths.tolist(),
            "paid": _listed(case.paid),
            "paid_ending": _listed(case.paid_ending),
        }
        for case in cases
    ]
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(json.dumps(rows, separators=(",", ":")).encode())


def _listed(paid: Paid) -> dict[str, Any]:
    return {name: getattr(paid, name).tolist() for name in Paid.__dataclass_fields__}


def read(path: Path = FILE) -> list[Case]:
    """The cases of a file."""
    with gzip.open(path) as file:
        rows = json.load(file)
    return [
        Case(
            Spec(
                [Pair(**pair) for pair in row["pairs"]],
                FUNCTIONS | (OF_THINGS if row["options"].get("sorts") else {}),
                **row["options"],
            ),
            {atom: np.array(column) for atom, column in row["labels"].items()},
            np.array(row["base_rewards"]),
            np.array(row["terminated"], dtype=bool),
            np.array(row["truncated"], dtype=bool),
            np.array(row["lengths"]),
            *(Paid(**{name: np.array(value) for name, value in row[kind].items()}) for kind in ("paid", "paid_ending")),
        )
        for row in rows
    ]


def main(quantified: bool) -> None:
    """Write a file of cases."""
    cases: list[Case] = []
    path, count = (QUANTIFIED, 60) if quantified else (FILE, 300)
    for case in fresh_cases(0, count, quantified):
        cases.append(case)
        print(f"\r{len(cases)} of {count}", end="", file=sys.stderr, flush=True)
    write(path, cases)
    print(f"\n{count} specs, {sum(int(case.lengths.sum()) for case in cases):,} rewards", file=sys.stderr)


if __name__ == "__main__":
    main("quantified" in sys.argv)

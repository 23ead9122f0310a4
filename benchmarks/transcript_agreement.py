"""Random conversations against a brute-force definition: verdicts of rules, and decisions of the guard.

The definition shares nothing with the library but the text of the formulas. It has an evaluator of its own, from the
table of the semantics; it looks at every id of a conversation and at one that never occurs; and it tries every
continuation up to a horizon, over all truth values of the atoms. Run: python benchmarks/transcript_agreement.py
"""

from __future__ import annotations

import argparse
import functools
import itertools
import random
import time
from pathlib import Path

import rewardspec as rs
from rewardspec.spec.atoms.event_atoms import Event
from rewardspec.transcripts.rules import ANY, RuleBook

# Each rule as a nested tuple, for the definition, and as text, for the library. `p`, `q` take the id, `a` does not.
P, Q, A = ("p",), ("q",), ("a",)
RULES = {
    "forall x: G(p(x) -> O q(x))": ("G", ("imp", P, ("O", Q))),
    "forall x: G(p(x) -> O[1,2] a)": ("G", ("imp", P, ("Oab", A, 1, 2))),
    "forall x: G(p(x) -> F q(x))": ("G", ("imp", P, ("F", Q))),
    "forall x: G(p(x) -> F[0,2] q(x))": ("G", ("imp", P, ("Fab", Q, 0, 2))),
    "forall x: G(p(x) -> X !p(x))": ("G", ("imp", P, ("X", ("not", P)))),
    "forall x: G{2} !p(x)": ("Gk", ("not", P), 2),
    "forall x: G(a -> WX !p(x))": ("G", ("imp", A, ("WX", ("not", P)))),
    "forall x: !p(x) W q(x)": ("W", ("not", P), Q),
    "forall x: G(p(x) -> X q(x)) & G(a -> WX !q(x))": (
        "and",
        ("G", ("imp", P, ("X", Q))),
        ("G", ("imp", A, ("WX", ("not", Q)))),
    ),
    "exists x: F(q(x) & !O p(x))": ("F", ("and", Q, ("not", ("O", P)))),
    "G(a -> O[1,3] !a)": ("G", ("imp", A, ("Oab", ("not", A), 1, 3))),
    "G{3} !a & (F a)": ("and", ("Gk", ("not", A), 3), ("F", A)),
}
HORIZON = 2  # no rule above asks for anything more than two steps ahead, so a longer continuation can do no more
IDS = ("7", "8", "9")
NOBODY = "nobody"
ATOMS = ("p", "q", "a")


def truth(formula: tuple, trace: tuple, i: int) -> bool:
    """The truth of a formula at a position of a trace of sets of atoms, by the table of the semantics."""
    n = len(trace) - 1
    match formula:
        case ("not", f):
            return not truth(f, trace, i)
        case ("and", f, g):
            return truth(f, trace, i) and truth(g, trace, i)
        case ("imp", f, g):
            return not truth(f, trace, i) or truth(g, trace, i)
        case ("G", f):
            return all(truth(f, trace, j) for j in range(i, n + 1))
        case ("F", f):
            return any(truth(f, trace, j) for j in range(i, n + 1))
        case ("Fab", f, low, high):
            return any(truth(f, trace, j) for j in range(i + low, min(i + high, n) + 1))
        case ("Gk", f, k):
            return sum(not truth(f, trace, j) for j in range(i, n + 1)) <= k
        case ("W", f, g):
            return all(truth(f, trace, j) for j in range(i, n + 1)) or any(
                truth(g, trace, j) and all(truth(f, trace, k) for k in range(i, j)) for j in range(i, n + 1)
            )
        case ("X", f):
            return i < n and truth(f, trace, i + 1)
        case ("WX", f):
            return i == n or truth(f, trace, i + 1)
        case ("O", f):
            return any(truth(f, trace, j) for j in range(i + 1))
        case ("Oab", f, low, high):
            return any(truth(f, trace, j) for j in range(max(0, i - high), i - low + 1))
        case (atom,):
            return atom in trace[i]
    raise ValueError(formula)


LETTERS = [
    frozenset(a for a, on in zip(ATOMS, bits, strict=True) if on) for bits in itertools.product((0, 1), repeat=3)
]


def holds(formula: tuple, trace: tuple) -> bool:
    """Whether the formula holds of the trace."""
    return truth(formula, trace, 0)


def can_hold(formula: tuple, trace: tuple) -> bool:
    """Whether the formula holds of the trace or of a continuation by at most HORIZON steps."""
    return any(
        truth(formula, trace + more, 0)
        for length in range(HORIZON + 1)
        for more in itertools.product(LETTERS, repeat=length)
    )


def spec() -> rs.Spec:
    """The rules as a spec."""
    text = 'sorts = { x = "names" }\n[atoms]\np = { call = "p", id = "x" }\nq = { result = "q", id = "x" }\n'
    text += 'a = { user = "yes" }\n'
    for rule in RULES:
        text += f'[[pairs]]\nformula = "{rule}"\nweight = 1\n'
    return rs.Spec.from_toml(text)


def random_event(rng: random.Random) -> Event:
    """An event: a call or result about an id, a message with or without "yes", or a tool that no rule names."""
    draw = rng.random()
    if draw < 0.35:
        return Event("call", "p", {"x": rng.choice(IDS)})
    if draw < 0.6:
        return Event("result", "q", {"x": rng.choice(IDS)})
    if draw < 0.75:
        return Event("user", text="Yes, please.")
    return rng.choice([Event("user", text="No."), Event("error", "q", {"x": rng.choice(IDS)}), Event("call", "other")])


def letter_of(event: Event, thing: str) -> frozenset:
    """What an event makes true of one id."""
    if event.kind == "user":
        return frozenset({"a"} if "yes" in event.text.lower() else ())
    atom = {("call", "p"): "p", ("result", "q"): "q"}.get((event.kind, event.name))
    return frozenset({atom} if atom and event.arguments["x"] == thing else ())


class Prefix:
    """What the definition says of all rules after one trace: a bit for each rule."""

    def __init__(self, trace: tuple) -> None:
        self.trace = trace
        self.longer: dict[frozenset, Prefix] = {}
        self.holds = self.can = EVERY_RULE  # the empty trace: nothing is broken yet
        if trace:
            self.holds = sum(holds(formula, trace) << k for k, formula in enumerate(RULES.values()))
            self.can = sum(can_hold(formula, trace) << k for k, formula in enumerate(RULES.values()))

    def after(self, letter: frozenset) -> Prefix:
        """The trace with one more letter."""
        if letter not in self.longer:
            self.longer[letter] = Prefix((*self.trace, letter))
        return self.longer[letter]


EVERY_RULE = (1 << len(RULES)) - 1
SOME = sum(1 << k for k, rule in enumerate(RULES) if rule.startswith("exists"))
PLAIN = sum(1 << k for k, rule in enumerate(RULES) if not rule.startswith(("forall", "exists")))


def over_things(masks: list[int]) -> int:
    """The truth of each rule: of all ids, of some id, or of the conversation alone, which the last mask has."""
    every, some = functools.reduce(int.__and__, masks), functools.reduce(int.__or__, masks)
    return every & ~SOME & ~PLAIN | some & SOME | masks[-1] & PLAIN


def to_block(before: dict[str, Prefix], after: dict[str, Prefix]) -> set[tuple[int, str]]:
    """Rule and id of everything that one more event makes impossible."""
    found = set()
    lost = over_things([p.can for p in before.values()]) & ~over_things([p.can for p in after.values()])
    for k in range(len(RULES)):
        bit = 1 << k
        if bit & (SOME | PLAIN):
            found |= {(k, "" if bit & PLAIN else ANY)} if lost & bit else set()
            continue
        for thing in after:
            if before[thing].can & bit and not after[thing].can & bit:
                found.add((k, ANY if thing == NOBODY else thing))
    return found


def main() -> None:
    """Compare, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=6, help="events of the longest conversation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "transcript_agreement.md")
    options = parser.parse_args()
    rng, book = random.Random(options.seed), RuleBook(spec())
    numbers, empty = {rule: k for k, rule in enumerate(book.rules)}, Prefix(())
    events = conversations = verdicts = calls = blocked = wrong = false_blocks = missed = 0
    begun = time.time()
    while events < options.events:
        states, after = book.initial, dict.fromkeys((*IDS, NOBODY), empty)
        conversations += 1
        for _ in range(rng.randint(1, options.length)):
            event = random_event(rng)
            before, after = after, {thing: own.after(letter_of(event, thing)) for thing, own in after.items()}
            if event.kind == "call":
                said = {(numbers[rule], thing) for rule, thing in book.broken_by(states, event)}
                expected = to_block(before, after)
                calls += 1
                blocked += len(expected)
                false_blocks += len(said - expected)
                missed += len(expected - said)
            states = book.step(states, event)
            true = sum(rule.holds(state) << k for k, (rule, state) in enumerate(zip(book.rules, states, strict=True)))
            can = sum(rule.possible(state) << k for k, (rule, state) in enumerate(zip(book.rules, states, strict=True)))
            wrong += (true ^ over_things([own.holds for own in after.values()])).bit_count()
            wrong += (can ^ over_things([own.can for own in after.values()])).bit_count()
            verdicts += 2 * len(RULES)
            events += 1
    lines = [
        "# Rules over conversations, compared with a brute-force definition\n",
        f"`python benchmarks/transcript_agreement.py --events {options.events} --seed {options.seed}`\n",
        "| | |\n|---|---|",
        f"| conversations | {conversations:,} |",
        f"| events | {events:,} |",
        f"| rules | {len(RULES)} |",
        f"| verdicts compared (holds now, can still hold) | {verdicts:,} |",
        f"| verdicts that differ | {wrong:,} |",
        f"| calls judged by the guard | {calls:,} |",
        f"| reasons to block them (rule and id), by the definition | {blocked:,} |",
        f"| false blocks (rule and id) | {false_blocks:,} |",
        f"| missed blocks (rule and id) | {missed:,} |",
    ]
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines), f"\n{time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()

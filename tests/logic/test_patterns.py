"""Each pattern says what its description says: checked against plain Python on every short Boolean trace."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from rewardspec.errors import FormulaError
from rewardspec.logic import patterns
from rewardspec.logic.formulas import Atom, Formula
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate
from rewardspec.logic.words import paraphrase
from tests.definition import value_by_definition
from tests.strategies import random_batch

Trace = dict[str, tuple[bool, ...]]
Steps = tuple[bool, ...]


# The patterns, in plain Python.  Each argument is an event: for every step of the scope, whether it happens there.


def absence(p: Steps) -> bool:
    return not any(p)


def existence(p: Steps) -> bool:
    return any(p)


def at_most(times: int) -> Callable[[Steps], bool]:
    return lambda p: sum(now and not before for before, now in itertools.pairwise((False, *p))) <= times


def universality(p: Steps) -> bool:
    return all(p)


def precedence(s: Steps, p: Steps) -> bool:
    return all(any(s[: step + 1]) for step in range(len(p)) if p[step])


def response(p: Steps, s: Steps) -> bool:
    return all(any(s[step:]) for step in range(len(p)) if p[step])


def in_order(*events: Steps) -> list[tuple[int, ...]]:
    """Every way in which the events happen one after another, as the steps at which they do."""
    choices = itertools.combinations(range(max(map(len, events))), len(events))
    return [
        steps for steps in choices if all(t < len(event) and event[t] for event, t in zip(events, steps, strict=True))
    ]


def causes_come_first(causes: list[Steps], effects: list[Steps]) -> bool:
    return all(any(cause[-1] <= effect[0] for cause in in_order(*causes)) for effect in in_order(*effects))


def effects_follow(causes: list[Steps], effects: list[Steps], without: Steps | None = None) -> bool:
    def undisturbed(effect: tuple[int, ...]) -> bool:
        return without is None or not any(without[effect[0] : effect[-1]])

    answers = [effect for effect in in_order(*effects) if undisturbed(effect)]
    return all(any(effect[0] >= cause[-1] for effect in answers) for cause in in_order(*causes))


# The scopes, in plain Python: the (first, one past the last) steps of each stretch that the pattern must hold on.


def globally(trace: Trace, length: int) -> Iterator[tuple[int, int]]:
    yield 0, length


def before_r(trace: Trace, length: int) -> Iterator[tuple[int, int]]:
    if any(trace["r"]):
        yield 0, trace["r"].index(True)


def after_q(trace: Trace, length: int) -> Iterator[tuple[int, int]]:
    if any(trace["q"]):
        yield trace["q"].index(True), length


def between_q_and_r(trace: Trace, length: int) -> Iterator[tuple[int, int]]:
    q, r = trace["q"], trace["r"]
    for step in range(length):
        if q[step] and not r[step] and any(r[step:]):
            yield step, r.index(True, step)


def after_q_until_r(trace: Trace, length: int) -> Iterator[tuple[int, int]]:
    q, r = trace["q"], trace["r"]
    for step in range(length):
        if q[step] and not r[step]:
            yield step, r.index(True, step) if any(r[step:]) else length


SCOPES = [
    ({}, "", globally),
    ({"before": "r"}, "r", before_r),
    ({"after": "q"}, "q", after_q),
    ({"between": ("q", "r")}, "qr", between_q_and_r),
    ({"after": "q", "until": "r"}, "qr", after_q_until_r),
]

in_every_scope = pytest.mark.parametrize(
    ("scope", "markers", "stretches"), SCOPES, ids=[stretches.__name__ for *_, stretches in SCOPES]
)


def boolean_traces(atoms: str, longest: int, budget: int) -> Iterator[dict[str, np.ndarray]]:
    """All Boolean traces of each length; where they are too many, a random sample, of longer traces too.

    For each atom an array of shape (length, number of traces).
    """
    generator = np.random.default_rng(0)
    for length in range(1, longest + 1):
        shape = (len(atoms), length)
        bits = len(atoms) * length
        if 2**bits <= budget:
            batch = (np.arange(2**bits) >> np.arange(bits).reshape(*shape, 1)) & 1
        else:
            density = generator.choice([0.15, 0.5, 0.85], size=(len(atoms), 1, budget // 4))
            batch = generator.random((*shape, budget // 4)) < density
        yield dict(zip(atoms, batch.astype(float), strict=True))


def assert_says(
    formula: Formula,
    atoms: str,
    statement: Callable[[Trace, int], bool],
    longest: int = 5,
    budget: int = 2**15,
) -> None:
    """The formula is true on exactly the traces of which the statement is true."""
    said = set()
    for batch in boolean_traces(atoms, longest, budget):
        verdicts = value_by_definition(formula, batch)
        columns = [map(tuple, labels.T.astype(bool).tolist()) for labels in batch.values()]
        length = len(batch[atoms[0]])
        for verdict, *labels in zip(verdicts, *columns, strict=True):
            trace = dict(zip(atoms, labels, strict=True))
            expected = statement(trace, length)
            assert bool(verdict) == expected, f"{formula} on {trace}"
            said.add(expected)
    assert said == {True, False}, "the traces do not tell the pattern from a constant"


ONE_EVENT = [
    (patterns.absence, absence),
    (patterns.existence, existence),
    (patterns.universality, universality),
    (patterns.bounded_existence, at_most(2)),
    (lambda p, **scope: patterns.bounded_existence(p, 0, **scope), at_most(0)),
    (lambda p, **scope: patterns.bounded_existence(p, at_most=1, **scope), at_most(1)),
]
ONE_EVENT_NAMES = ["absence", "existence", "universality", "at-most-2", "at-most-0", "at-most-1"]


@in_every_scope
@pytest.mark.parametrize(("pattern", "plain"), ONE_EVENT, ids=ONE_EVENT_NAMES)
def test_patterns_of_one_event_say_what_their_description_says(pattern, plain, scope, markers, stretches):
    def statement(trace: Trace, length: int) -> bool:
        return all(plain(trace["p"][start:stop]) for start, stop in stretches(trace, length))

    assert_says(pattern("p", **scope), "p" + markers, statement, longest=6)


@in_every_scope
@pytest.mark.parametrize(("pattern", "plain"), [(patterns.precedence, precedence), (patterns.response, response)])
def test_patterns_of_cause_and_effect_say_what_their_description_says(pattern, plain, scope, markers, stretches):
    def statement(trace: Trace, length: int) -> bool:
        return all(plain(trace["c"][start:stop], trace["e"][start:stop]) for start, stop in stretches(trace, length))

    assert_says(pattern("c", "e", **scope), "ce" + markers, statement, longest=6, budget=2**12)


CHAINS = [("st", "p"), ("s", "tp"), ("st", "tp"), ("stu", "p"), ("s", "tup")]


@in_every_scope
@pytest.mark.parametrize(("causes", "effects"), CHAINS)
def test_a_precedence_chain_puts_the_causes_before_the_effects(causes, effects, scope, markers, stretches):
    def statement(trace: Trace, length: int) -> bool:
        return all(
            causes_come_first([trace[s][start:stop] for s in causes], [trace[p][start:stop] for p in effects])
            for start, stop in stretches(trace, length)
        )

    formula = patterns.precedence_chain(list(causes), list(effects), **scope)
    assert_says(formula, "".join(dict.fromkeys(causes + effects)) + markers, statement, longest=6, budget=2**12)


@in_every_scope
@pytest.mark.parametrize(
    ("causes", "effects", "without"),
    [*((*chain, "") for chain in CHAINS), *((*chain, "z") for chain in CHAINS if len(chain[1]) > 1)],
)
def test_a_response_chain_makes_the_effects_follow_the_causes(causes, effects, without, scope, markers, stretches):
    def statement(trace: Trace, length: int) -> bool:
        def holds_on(start: int, stop: int) -> bool:
            # The last of several effects may come with the event that closes the scope.
            end = stop + 1 if len(effects) > 1 else stop
            *others, last = effects
            return effects_follow(
                [trace[s][start:stop] for s in causes],
                [*(trace[p][start:stop] for p in others), trace[last][start:end]],
                trace["z"][start:stop] if without else None,
            )

        return all(holds_on(*stretch) for stretch in stretches(trace, length))

    keywords = {"without": without, **scope} if without else scope
    formula = patterns.response_chain(list(causes), list(effects), **keywords)
    assert_says(
        formula, "".join(dict.fromkeys(causes + effects)) + without + markers, statement, longest=6, budget=2**12
    )


MISSIONS = {
    "reach": (patterns.reach("p"), lambda t, n: any(t["p"])),
    "stay": (patterns.stay("p"), lambda t, n: all(t["p"])),
    "avoid": (patterns.avoid("p"), lambda t, n: not any(t["p"])),
    "avoid several": (patterns.avoid("p", "q"), lambda t, n: not any(t["p"]) and not any(t["q"])),
    "until": (
        patterns.until("p", "q"),
        lambda t, n: any(t["q"][step] and all(t["p"][:step]) for step in range(n)),
    ),
    "reach-avoid": (
        patterns.reach_avoid("p", "q"),
        lambda t, n: any(t["p"][step] and not any(t["q"][:step]) for step in range(n)),
    ),
    "reach-avoid several": (
        patterns.reach_avoid("p", "q", "r"),
        lambda t, n: any(t["p"][step] and not any(t["q"][:step] + t["r"][:step]) for step in range(n)),
    ),
    "reach and stay": (patterns.reach_and_stay("p"), lambda t, n: any(all(t["p"][step:]) for step in range(n))),
    "visit": (patterns.visit("p", "q", "r"), lambda t, n: any(t["p"]) and any(t["q"]) and any(t["r"])),
    "sequence": (
        patterns.sequence("p", "q", "r"),
        lambda t, n: any(
            t["p"][i] and t["q"][j] and t["r"][k] for i, j, k in itertools.combinations_with_replacement(range(n), 3)
        ),
    ),
    "strict sequence": (
        patterns.sequence("p", "q", "r", strict=True),
        lambda t, n: any(t["p"][i] and t["q"][j] and t["r"][k] for i, j, k in itertools.combinations(range(n), 3)),
    ),
    "ordered visit": (
        patterns.ordered_visit("p", "q", "r"),
        lambda t, n: (
            any(t["p"])
            and any(t["q"])
            and any(t["r"])
            and t["p"].index(True) <= t["q"].index(True) <= t["r"].index(True)
        ),
    ),
    "patrol": (patterns.patrol("p", "q"), lambda t, n: len(in_order(t["p"], t["q"], t["p"], t["q"])) > 0),
    "patrol thrice": (
        patterns.patrol("p", "q", rounds=3),
        lambda t, n: len(in_order(t["p"], t["q"], t["p"], t["q"], t["p"], t["q"])) > 0,
    ),
    "recurrence": (
        patterns.recurrence("p", "q"),
        lambda t, n: all(any(t["p"][step:]) and any(t["q"][step:]) for step in range(n)),
    ),
}


@pytest.mark.parametrize("name", MISSIONS)
def test_missions_say_what_their_description_says(name):
    formula, statement = MISSIONS[name]
    assert_says(formula, "".join(formula.atoms), statement, longest=6 if len(formula.atoms) < 3 else 5)


def runs(p: Steps) -> list[tuple[int, int]]:
    """The (first, one past the last) steps of each stretch at which the event holds."""
    edges = [step for step in range(len(p) + 1) if (step < len(p) and p[step]) != (step > 0 and p[step - 1])]
    return list(zip(edges[::2], edges[1::2], strict=True))


TIMED = {
    "within": (patterns.within("p", 2), lambda t, n: any(t["p"][:3])),
    "soon": (patterns.soon("p", 2, 1.0), lambda t, n: any(t["p"][:3])),
    "not before": (patterns.not_before("p", 2), lambda t, n: not any(t["p"][:2])),
    "response within": (
        patterns.response_within("p", "q", 2),
        lambda t, n: all(any(t["q"][step : step + 3]) for step in range(n) if t["p"][step]),
    ),
    "precedence within": (
        patterns.precedence_within("p", "q", 2),
        lambda t, n: all(any(t["p"][max(0, step - 2) : step + 1]) for step in range(n) if t["q"][step]),
    ),
    "recurrence within": (
        patterns.recurrence_within("p", 2),
        lambda t, n: all(any(t["p"][step : step + 3]) for step in range(n - 2)),
    ),
    "lasts": (patterns.lasts("p", 2), lambda t, n: all(t["p"][:3])),
    "held for": (
        patterns.held_for("p", 2),
        lambda t, n: any(all(t["p"][step - 2 : step + 1]) for step in range(2, n)),
    ),
    "holds for": (
        patterns.holds_for("p", "q", 2),
        lambda t, n: all(all(t["q"][step : step + 3]) for step in range(n) if t["p"][step]),
    ),
    "absence for": (patterns.absence_for("p", 2), lambda t, n: not any(t["p"][:3])),
    "absence for, after": (
        patterns.absence_for("p", 2, after="q"),
        lambda t, n: not any(any(t["p"][step : step + 3]) for step in range(n) if t["q"][step]),
    ),
    "minimum duration": (
        patterns.minimum_duration("p", 2),
        lambda t, n: all(stop - start > 2 or stop == n for start, stop in runs(t["p"])),
    ),
    "maximum duration": (
        patterns.maximum_duration("p", 2),
        lambda t, n: all(stop - start <= 2 for start, stop in runs(t["p"])),
    ),
    "at least": (patterns.at_least("p", 2), lambda t, n: sum(t["p"]) >= 2),
    "at most": (patterns.at_most("p", 2), lambda t, n: sum(t["p"]) <= 2),
    "exactly": (patterns.exactly("p", 2), lambda t, n: sum(t["p"]) == 2),
    "all but": (patterns.all_but("p", 2), lambda t, n: t["p"].count(False) <= 2),
    "now": (patterns.now("p"), lambda t, n: t["p"][-1]),
    "recently": (patterns.now(patterns.recently("p", 2)), lambda t, n: any(t["p"][-3:])),
    "for the last": (patterns.now(patterns.for_the_last("p", 2)), lambda t, n: all(t["p"][-3:])),
}


@pytest.mark.parametrize("name", TIMED)
def test_patterns_about_time_say_what_their_description_says(name):
    formula, statement = TIMED[name]
    assert_says(formula, "".join(sorted(formula.atoms)), statement, longest=8 if len(formula.atoms) == 1 else 6)


@pytest.mark.parametrize(
    ("formula", "trace", "value"),
    [
        (patterns.soon("p", discount=0.5), {"p": [0, 0, 1]}, 0.25),
        (patterns.soon("p", 1, 0.5), {"p": [0, 0, 1]}, 0.0),
        (patterns.within("p", 1, late=2, discount=0.5), {"p": [0, 1, 1]}, 1.0),
        (patterns.within("p", 1, late=2, discount=0.5), {"p": [0, 0, 1]}, 0.5),
        (patterns.within("p", 1, late=2, discount=0.5), {"p": [0, 0, 0, 1]}, 0.25),
        (patterns.within("p", 1, late=2, discount=0.5), {"p": [0, 0, 0, 0, 1]}, 0.0),
        (patterns.within("p", 0, late=1, discount=0.5), {"p": [0, 1]}, 0.5),
        (patterns.lasts("p", 3, short_by=2, discount=0.5), {"p": [1, 1, 1, 1, 0]}, 1.0),
        (patterns.lasts("p", 3, short_by=2, discount=0.5), {"p": [1, 1, 1, 0, 1]}, 0.5),
        (patterns.lasts("p", 3, short_by=2, discount=0.5), {"p": [1, 1, 0, 1, 1]}, 0.25),
        (patterns.lasts("p", 3, short_by=2, discount=0.5), {"p": [1, 0, 1, 1, 1]}, 0.0),
        (patterns.nearly_always("p", 2, 0.5), {"p": [1, 1, 1, 1]}, 1.0),
        (patterns.nearly_always("p", 2, 0.5), {"p": [1, 0, 1, 1]}, 0.5),
        (patterns.nearly_always("p", 2, 0.5), {"p": [1, 0, 0, 1]}, 0.25),
        (patterns.nearly_always("p", 2, 0.5), {"p": [0, 0, 0, 1]}, 0.0),
        (patterns.now(patterns.recently("p", 3, 0.5)), {"p": [1, 0, 0]}, 0.25),
        (patterns.response_within("p", "q", 3, 0.5), {"p": [1, 0, 0], "q": [0, 0, 1]}, 0.25),
    ],
)
def test_soft_patterns_give_part_of_the_value_for_a_near_miss(formula, trace, value):
    assert evaluate(formula, trace) == value


def test_patterns_about_time_have_their_words():
    assert {paraphrase(formula) for formula, _ in TIMED.values()} >= {
        "within 2 steps: p",
        "at every step: if p then within 2 steps: q",
        "at every step: if q then within the last 2 steps: p",
        "now and at the next 2 steps: p",
        "at 2 steps or more: p",
        "at every step but 2 steps at most: p",
        "at the current step: now and at the last 2 steps: p",
        "at the current step: within the last 2 steps: p",
    }
    assert paraphrase(patterns.soon("p", 9)) == "within 9 steps (times 0.9 for each step): p"
    assert paraphrase(patterns.recurrence_within("p", 9)) == (
        "at every step: (within the last 9 steps: p) or (fewer than 9 steps have passed)"
    )
    assert (
        paraphrase(patterns.held_for("p", 9))
        == "sooner or later: (now and at the last 9 steps: p) and at least 9 steps have passed"
    )


PUBLISHED = [
    (patterns.absence("p"), "G(!p)"),
    (patterns.absence("p", before="r"), "F r -> (!p U r)"),
    (patterns.absence("p", after="q"), "G(q -> G(!p))"),
    (patterns.absence("p", between=("q", "r")), "G((q & !r & F r) -> (!p U r))"),
    (patterns.absence("p", after="q", until="r"), "G(q & !r -> (!p W r))"),
    (patterns.existence("p"), "F p"),
    (patterns.existence("p", before="r"), "!r W (p & !r)"),
    (patterns.existence("p", after="q"), "G(!q) | F(q & F p)"),
    (patterns.existence("p", between=("q", "r")), "G(q & !r -> (!r W (p & !r)))"),
    (patterns.existence("p", after="q", until="r"), "G(q & !r -> (!r U (p & !r)))"),
    (patterns.bounded_existence("p"), "(!p W (p W (!p W (p W G !p))))"),
    (patterns.universality("p", before="r"), "F r -> (p U r)"),
    (patterns.universality("p", between=("q", "r")), "G((q & !r & F r) -> (p U r))"),
    (patterns.precedence("s", "p"), "!p W s"),
    (patterns.precedence("s", "p", before="r"), "F r -> (!p U (s | r))"),
    (patterns.precedence("s", "p", between=("q", "r")), "G((q & !r & F r) -> (!p U (s | r)))"),
    (patterns.response("p", "s"), "G(p -> F s)"),
    (patterns.response("p", "s", before="r"), "F r -> (p -> (!r U (s & !r))) U r"),
    (patterns.response("p", "s", after="q"), "G(q -> G(p -> F s))"),
    (
        patterns.response("p", "s", between=("q", "r")),
        "G((q & !r & F r) -> (p -> (!r U (s & !r))) U r)",
    ),
    (
        patterns.response("p", "s", after="q", until="r"),
        "G(q & !r -> ((p -> (!r U (s & !r))) W r))",
    ),
    (patterns.precedence_chain(["s", "t"], "p"), "F p -> (!p U (s & !p & X(!p U t)))"),
    (patterns.response_chain("p", ["s", "t"]), "G(p -> F(s & X F t))"),
    (
        patterns.response_chain("p", ["s", "t"], between=("q", "r")),
        "G((q & F r) -> (p -> (!r U (s & !r & X(!r U t)))) U r)",
    ),
    (patterns.response_chain("p", ["s", "t"], without="z"), "G(p -> F(s & !z & X(!z U t)))"),
    (patterns.sequence("a", "b", "c"), "F(a & F(b & F c))"),
    (patterns.recurrence("a", "b"), "G(F a) & G(F b)"),
    (patterns.recurrence("a", "b", "c"), "G(F a & F b & F c)"),
]


@pytest.mark.parametrize(("formula", "published"), PUBLISHED, ids=[text for _, text in PUBLISHED])
def test_published_patterns_have_the_value_of_the_published_formula(formula, published):
    rng = random.Random(published)
    for length in range(1, 9):
        batch = random_batch(rng, length, 50, sorted("abcpqrstz"))
        np.testing.assert_array_equal(value_by_definition(formula, batch), value_by_definition(parse(published), batch))


def test_events_may_be_formulas_or_their_text():
    busy = Atom("door") | "lift"
    assert patterns.absence(busy) == patterns.absence("door | lift") == parse("G !(door | lift)")
    assert patterns.response("a -> b", busy) == parse("G((a -> b) -> F(door | lift))")
    assert patterns.sequence("F a", Atom("b c")) == parse('F(F a & F "b c")')


def test_a_chain_of_one_cause_and_one_effect_is_the_plain_pattern():
    for scope, _, _ in SCOPES:
        assert patterns.precedence_chain(["s"], ("p",), **scope) == patterns.precedence("s", "p", **scope)
        assert patterns.response_chain("p", ["s"], **scope) == patterns.response("p", "s", **scope)


def test_a_scope_keyword_of_none_is_as_if_left_out():
    assert patterns.absence("p", before=None, after="q") == patterns.absence("p", after="q")


@pytest.mark.parametrize(
    ("scope", "remedy"),
    [
        ({"until": "r"}, "`until` is not a scope. `until` goes with `after`"),
        ({"after": "q", "before": "r"}, "`after` with `before` is not a scope. Use between="),
        ({"before": "r", "until": "r"}, "`before` with `until` is not a scope. Use `before`, `after`,"),
        ({"between": ("q", "r"), "after": "q"}, "`after` with `between` is not a scope. Use `before`, `after`,"),
        ({"between": "q"}, "`between` should be a pair, as in between=('start', 'stop'). Received 'q'."),
        ({"between": ("q", "r", "s")}, "`between` should be a pair"),
        ({"befor": "r"}, "Unknown keyword 'befor'. Did you mean 'before'?"),
        ({"xyz": "r"}, "Unknown keyword 'xyz'. A scope takes before, after, until and between."),
    ],
)
def test_keywords_that_make_no_scope_are_refused_with_a_remedy(scope, remedy):
    for pattern in (patterns.absence, patterns.existence, patterns.bounded_existence, patterns.universality):
        with pytest.raises(FormulaError) as caught:
            pattern("p", **scope)
        assert remedy in str(caught.value)
    for pattern in (patterns.precedence, patterns.response, patterns.precedence_chain, patterns.response_chain):
        with pytest.raises(FormulaError) as caught:
            pattern("p", "s", **scope)
        assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: patterns.absence("p &"), "stops too early"),
        (lambda: patterns.absence("p", before="r q"), "Join the two formulas"),
        (lambda: patterns.absence(3), "Expected a formula or its text. Received 3"),
        (lambda: patterns.bounded_existence("p", -1), "`at_most` should be a whole number, 0 or more. Received -1."),
        (lambda: patterns.bounded_existence("p", 1.5), "`at_most` should be a whole number, 0 or more. Received 1.5."),
        (lambda: patterns.bounded_existence("p", True), "Received True"),
        (lambda: patterns.patrol("a", "b", rounds=0), "`rounds` should be a whole number, 1 or more. Received 0."),
        (lambda: patterns.patrol("a"), "patrol takes at least 2 places. Received 1."),
        (lambda: patterns.sequence(), "sequence takes at least 1 goal. Received 0."),
        (lambda: patterns.ordered_visit(), "ordered_visit takes at least 1 goal"),
        (lambda: patterns.visit(), "visit takes at least 1 goal"),
        (lambda: patterns.avoid(), "avoid takes at least 1 hazard"),
        (lambda: patterns.reach_avoid("goal"), "reach_avoid takes at least 1 hazard"),
        (lambda: patterns.recurrence(), "recurrence takes at least 1 condition"),
        (lambda: patterns.sequence(["a", "b"]), "Received ['a', 'b'] of type list"),
        (lambda: patterns.response_chain([], "p"), "`causes` should be a formula, or a list"),
        (lambda: patterns.precedence_chain("p", []), "`effects` should be a formula, or a list"),
        (lambda: patterns.precedence_chain(7, "p"), "Received 7"),
        (lambda: patterns.within("p", -1), "`high` should be a whole number, 0 or more. Received -1."),
        (lambda: patterns.within("p", 5, late=-1), "`late` should be a whole number, 0 or more. Received -1."),
        (lambda: patterns.lasts("p", 2, short_by=3), "`short_by` should be at most `steps`, which is 2. Received 3."),
        (lambda: patterns.nearly_always("p", 2, 1.5), "Received a scale of 1.5"),
        (lambda: patterns.soon("p", 5, 0), "`discount` should be above 0 and at most 1. Received 0."),
        (lambda: patterns.at_least("p", 0), "`count` should be a whole number, 1 or more. Received 0."),
        (lambda: patterns.not_before("p", 0), "`steps` should be a whole number, 1 or more. Received 0."),
        (lambda: patterns.response_chain("p", "s", without="z"), "there is only one effect: s. Name a second one"),
    ],
)
def test_arguments_that_make_no_pattern_are_refused(build, message):
    with pytest.raises(FormulaError) as caught:
        build()
    assert message in str(caught.value)

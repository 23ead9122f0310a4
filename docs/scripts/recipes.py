"""Write docs/recipes.md and docs/images/recipe-*.svg: wishes in users' words, each with its formula and a picture.

Run from anywhere: python docs/scripts/recipes.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trace_pictures import Panel, Row, bars, card, rows, text, trace, value

import rewardspec as rs
from rewardspec.drawing import theme

DOCS = Path(__file__).resolve().parents[1]
STEPS = 12
LEFT, GAP, PANEL = 70, 18, 132


class Recipe(NamedTuple):
    """A wish and its formula, with two episodes: one that the user wants, and one that the user does not want.

    Attributes:
        name: The name of the picture.
        wish: The wish in a user's words.
        formula: The text of the formula.
        wanted: The labels of the first episode. `#` is 1, `+` is 0.7, `-` is 0.3 and `.` is 0.
        unwanted: The labels of the second episode.
        pays: What the formula pays, and when this becomes certain, in Markdown.
        captions: The names of the two episodes.
    """

    name: str
    wish: str
    formula: str
    wanted: dict[str, str]
    unwanted: dict[str, str]
    pays: str
    captions: tuple[str, str] = ("kept", "broken")


SECTIONS = {
    "Reach and visit": (
        Recipe(
            "reach",
            "Reach the goal",
            "F goal",
            {"goal": "..--+++#...."},
            {"goal": "..--...-...."},
            "Pays the largest label of `goal` so far. The value never falls. It is certain once `goal` was 1. If the "
            'goal ends the episode, use [`payment="delta"`](guides/payment.md), which pays each gain once.',
            ("reached", "not reached"),
        ),
        Recipe(
            "then",
            "Reach A, then B",
            "F(a & F b)",
            {"a": "..#.........", "b": "#......#...."},
            {"a": "......#.....", "b": "..#........."},
            "Pays 0 until B is reached after A, then 1 for the rest of the episode. B before A does not count. "
            "`Pair(…, progress=True)` pays one half for [A alone](guides/progress.md).",
        ),
        Recipe(
            "visit",
            "Visit A, B and C in any order",
            "F a & F b & F c",
            {"a": "......#.....", "b": "..#.........", "c": ".........#.."},
            {"a": "......#.....", "b": "..#.........", "c": "............"},
            "Pays 0 until the last of the three is reached, then 1. `Pair(…, progress=True)` pays one third for each.",
        ),
        Recipe(
            "some",
            "Visit at least two of three places",
            "F a & F b | F a & F c | F b & F c",
            {"a": "............", "b": "..#.........", "c": ".......#...."},
            {"a": "............", "b": "..#...#.....", "c": "............"},
            "Pays 0 until the second place is reached, then 1. The formula lists every pair of places.",
        ),
        Recipe(
            "patrol",
            "Patrol between A and B, two rounds",
            "F(a & X F(b & X F(a & X F b)))",
            {"a": ".#....#.....", "b": "...#.....#.."},
            {"a": ".#..........", "b": "...#...#...."},
            'Pays 0 until the second round is done, then 1. `rs.patterns.patrol("a", "b", rounds=2)` writes the '
            "formula. `Pair(…, progress=True)` pays one quarter for each visit.",
        ),
        Recipe(
            "avoid",
            "Reach the goal without touching lava",
            "!lava U goal",
            {"lava": "..........#.", "goal": ".......#...."},
            {"lava": "....#.......", "goal": ".......#...."},
            "Pays 0 until the goal is reached, then 1. Lava before the goal makes 0 certain. Lava after the goal does "
            "not matter. To forbid it there too, write `F goal & G !lava`.",
        ),
    ),
    "Deadlines": (
        Recipe(
            "deadline",
            "Reach the goal within 6 steps",
            "F[0,6] goal",
            {"goal": "....#......."},
            {"goal": "........#..."},
            "Pays 0 until the goal is reached, then 1. After step 6 the value is certain.",
        ),
        Recipe(
            "soon",
            "Reach the goal as soon as possible",
            "F[;0.9] goal",
            {"goal": "..#........."},
            {"goal": ".........#.."},
            "Pays 0.9 to the power of the step at which the goal was reached: 0.9² = 0.81 for step 2. Each step of "
            "delay costs a tenth of what is left.",
            ("early", "late"),
        ),
        Recipe(
            "answer",
            "Answer every call within 3 steps",
            "G(call -> F[0,3] answer)",
            {"call": ".#....#.....", "answer": "...#....#..."},
            {"call": ".#....#.....", "answer": "...#......#."},
            "Pays 1 while no call is open, and 0 while one is open. An answer in time restores 1. A missed deadline "
            "makes 0 certain. An answer that is still due when the episode ends counts as missed. "
            "`G(call -> F[0,3] answer | WX[3] false)` forgives it: `WX[3] false` says that fewer than 3 steps are "
            "left. It pays 1 until a deadline is missed. Take the first form to pay for an early answer, and the "
            "second to count missed deadlines.",
        ),
        Recipe(
            "recover",
            "Recover within 3 steps",
            "G(O[0,3] stable | WY[3] false)",
            {"stable": "###..####..#"},
            {"stable": "###....#####"},
            "Pays 1 as long as each loss of stability is over within 3 steps. The formula looks back, so an unstable "
            "step costs nothing while there is time. The fourth unstable step in a row makes 0 certain. `WY[3] false` "
            "is true at the first three steps, which have too little past to judge. A loss that is not over when the "
            "episode ends is forgiven. `G(!stable -> F[0,3] stable)` counts it as missed, and pays 0 while unstable. "
            "If no step may be unstable, write `G stable`: there is no `WY[0]`.",
        ),
        Recipe(
            "recharge",
            "Never go more than 5 steps without a recharge",
            "G(O[0,5] charge | WY[5] false)",
            {"charge": "...#....#..."},
            {"charge": "..#.......#."},
            "Pays 1 until the sixth step in a row without a charge. Then 0 is certain. "
            '`rs.patterns.recurrence_within("charge", 5)` writes the formula.',
        ),
    ),
    "Order": (
        Recipe(
            "first",
            "First wash, then eat, and do wash",
            "!eat U wash",
            {"wash": "...#........", "eat": ".......#...."},
            {"wash": ".......#....", "eat": "...#........"},
            "Pays 0 until `wash` comes, then 1. `eat` before `wash` makes 0 certain.",
        ),
        Recipe(
            "before",
            "Do not open the door before having the key",
            "!open W key",
            {"key": "....#.......", "open": "........#..."},
            {"key": "............", "open": "........#..."},
            "Pays 1 from the start. Once the key is there, 1 is certain. Opening before that makes 0 certain.",
        ),
        Recipe(
            "never_after",
            "Never move after the alarm",
            "G(alarm -> G !move)",
            {"alarm": "......#.....", "move": ".##.#......."},
            {"alarm": "....#.......", "move": ".##....#...."},
            "Pays 1 until there is a move at or after an alarm. Then 0 is certain.",
        ),
        Recipe(
            "alternate",
            "Alternate between left and right",
            "G(left -> WX(!left W right)) & G(right -> WX(!right W left))",
            {"left": ".#....#.....", "right": "...#.....#.."},
            {"left": ".#...#......", "right": "........#..."},
            "Pays 1 until the same side comes twice without the other in between. Then 0 is certain.",
        ),
        Recipe(
            "until",
            "Wait until the light is green",
            "wait U green",
            {"wait": "#####.......", "green": ".....#######"},
            {"wait": "###...######", "green": ".....#######"},
            "Pays 0 until the light is green, then 1. Not waiting before that makes 0 certain.",
        ),
    ),
    "Limits and counts": (
        Recipe(
            "never",
            "Never crash",
            "G !crash",
            {"crash": "............"},
            {"crash": "......#....."},
            "Pays 1 until a crash. Then 0 is certain. With labels between 0 and 1 it pays for the closest call so far.",
        ),
        Recipe(
            "not_twice",
            "Do not fire twice within 4 steps",
            "G(fire -> H[1,4] !fire)",
            {"fire": ".#.....#...."},
            {"fire": ".#..#......."},
            "Pays 1 until a second shot comes at most 4 steps after another. Then 0 is certain. The formula looks "
            "back, so the value does not drop while it waits.",
        ),
        Recipe(
            "cooldown",
            "After overheating, rest for 3 steps",
            "G(hot -> G[1,3] !use)",
            {"hot": "...#........", "use": "####...#####"},
            {"hot": "...#........", "use": "#####...####"},
            "Pays 1 until the machine is used at one of the 3 steps after `hot`. Then 0 is certain.",
        ),
        Recipe(
            "at_most",
            "Retry at most three times",
            "G{3} !retry",
            {"retry": ".#...#...#.."},
            {"retry": ".#.#...#..#."},
            "Pays 1 until the fourth step with a retry. Then 0 is certain. Each step with the label 1 counts as one. "
            "To count a run of such steps once, count its first step: `G{3} !(retry & WY !retry)`.",
        ),
        Recipe(
            "once",
            "Press the button exactly once",
            "F press & G{1} !press",
            {"press": "....#......."},
            {"press": "....#...#..."},
            "Pays 0 before the first press and 1 after it. A second press makes 0 certain.",
        ),
    ),
    "Keep something going": (
        Recipe(
            "hold",
            "Hold it for two seconds, once",
            "F(H[0,4] held & Y[4] true)",
            {"held": ".##..#####.."},
            {"held": ".###..####.."},
            "With 0.5 seconds per step, two seconds are 4 steps. They lie between 5 states, so the formula asks for 5 "
            "held states in a row. Pays 0 until then, and 1 from then on. `Y[4] true` says that there were 4 steps "
            'before; without it, a shorter hold at the start would count. `rs.patterns.held_for("held", 4)` is this '
            "formula. `F G[0,4] held` is not: the end of the episode cuts `G[0,4]` off, so one held state at the end "
            "is enough.",
        ),
        Recipe(
            "keep",
            "Keep the speed up at all times",
            "G fast",
            {"fast": "###++#+##+##"},
            {"fast": "###++#-##+##"},
            "Pays the smallest label of `fast` so far: one slow moment counts to the end of the episode. "
            "`now fast` pays for the current moment instead.",
            ("fast", "once slow"),
        ),
        Recipe(
            "average",
            "Be fast on average",
            "now fast",
            {"fast": ".#+++++##+++"},
            {"fast": ".#--.--#--.-"},
            "Give the pair the weight 1 / T for episodes of T steps, and pay it by value: "
            '`Pair("now fast", 1 / T, payment="value")`. Each step then pays its own label divided by T. The return of '
            "an episode of T steps is the average of its labels, without that of the reset. Here T is 11, and the "
            "episodes are paid {wanted:.4g} and {unwanted:.4g}. If an episode ends earlier, the missing labels count "
            "as 0. To require a number of fast steps instead, count: `F{{80}} fast` is true once 80 steps were fast. "
            'To measure the average, use `rewardspec compare --measure "now fast"`, which takes the mean over the '
            "steps of each episode.",
            ("fast", "slow"),
        ),
        Recipe(
            "smooth",
            "Move smoothly",
            "now smooth",
            {"smooth": "#++#+##+#+##"},
            {"smooth": "#.-#.-#.#-.-"},
            "Pays the current label of `smooth`. Let the atom compare the observations before and after the step: "
            '`smooth = "1 - min(abs(next_obs[1] - obs[1]) / 0.5, 1)"`. To compare successive actions, '
            "[put the last action into the observation](guides/atoms.md#compare-an-action-with-the-one-before). "
            "`G smooth` pays for the worst jerk so far.",
            ("smooth", "jerky"),
        ),
    ),
}
RECIPES = tuple(recipe for recipes in SECTIONS.values() for recipe in recipes)

TOP = """\
<!-- Written by docs/scripts/recipes.py; edit that. -->
# Recipes

{count} common wishes, each with its formula. Find yours, copy the formula, and give it a weight in a
[spec](glossary.md#spec). The [atoms](guides/atoms.md), such as `goal`, are functions that you write for your
environment.

```pycon
>>> import rewardspec as rs
>>> spec = rs.Spec([("F(a & F b)", 1), rs.Pair("G(fire -> H[1,4] !fire)", 0.5, veto=False)])
>>> rs.synthesize("G(fire -> H[1,4] !fire)").run({{"fire": [0, 1, 0, 0, 1, 0]}})
array([1., 1., 1., 1., 0., 0.])
```

**Steps, not seconds.** Intervals count steps. Divide the time by the time step of your environment: 2 seconds at 0.02
seconds per step are 100 steps.

**The pictures** show two episodes of 12 steps, numbered from 0. Bars are the labels of the atoms, from 0 to 1. The line
is the [value](glossary.md#value) of the formula after each step. With weight 1 and the default payment it is the
reward. The shaded area shows which values are still possible. Where there is no shading, the value is *certain*:
nothing that follows can change it.

**Vetoes.** A formula with a mark in the last column of the table can veto. After its
[violation](glossary.md#violation), *no* formula of the spec is paid for the rest of the episode. If a violation should
cost only what this formula pays, write `Pair(formula, weight, veto=False)`. [Safety](guides/safety.md) explains vetoes.

| wish | formula | can veto |
|---|---|---|
"""


def main() -> None:
    """Write the page and its pictures."""
    for recipe in RECIPES:
        path(recipe).write_text(picture(recipe), encoding="utf-8")
    (DOCS / "recipes.md").write_text(page(), encoding="utf-8")
    print(f"wrote recipes.md and {len(RECIPES)} pictures, images/recipe-*.svg")


def path(recipe: Recipe) -> Path:
    """Return where the picture of a recipe is."""
    return DOCS / "images" / f"recipe-{recipe.name}.svg"


def page() -> str:
    """Return the text of the page."""
    table = "".join(
        f"| [{recipe.wish}](#{_anchor(recipe.wish)}) | `{_cell(recipe.formula)}` | "
        f"{'●' if rs.Pair(recipe.formula, 1).vetoes else ''} |\n"
        for recipe in RECIPES
    )
    sections = "".join(
        f"\n## {title}\n" + "".join(_section(recipe) for recipe in recipes) for title, recipes in SECTIONS.items()
    )
    return TOP.format(count=len(RECIPES)) + table + sections


def _section(recipe: Recipe) -> str:
    results = [rows(rs.parse(recipe.formula), labels) for labels in (recipe.wanted, recipe.unwanted)]
    pays = recipe.pays
    if recipe.name == "average":
        pays = pays.format(wanted=average(recipe.wanted), unwanted=average(recipe.unwanted))
    ending = _mean if recipe.formula.startswith("now ") else _ending
    ends = " ".join(f"*{name}*: {ending(found)}." for name, found in zip(recipe.captions, results, strict=True))
    return (
        f"\n### {recipe.wish}\n\n`{recipe.formula}`\n\n"
        f"![{recipe.wish}](images/{path(recipe).name})\n\n{_wrapped(pays)}\n\n{_wrapped(f'In the picture, {ends}')}\n"
    )


def average(labels: dict[str, str]) -> float:
    """Return what a pair with the weight 1 / T pays in an episode of T steps."""
    (atom,) = labels
    steps = len(labels[atom]) - 1
    spec = rs.Spec([rs.Pair(f"now {atom}", 1 / steps, payment="value")])
    return sum(row.reward for row in spec.explain(trace(labels))[1:] if row.reward is not None)


def certain_from(found: list[Row]) -> int | None:
    """Return the first step after which nothing changes the value any more; None if there is none."""
    return next((step for step, (_, lower, upper) in enumerate(found) if lower == upper), None)


def _ending(found: list[Row]) -> str:
    certain = certain_from(found)
    return f"{found[-1][0]:.3g} at the end, " + ("not yet certain" if certain is None else f"certain at step {certain}")


def _mean(found: list[Row]) -> str:
    return f"{sum(row[0] for row in found[1:]) / (len(found) - 1):.4g} on average after step 0"


def picture(recipe: Recipe) -> str:
    """Return the picture of a recipe."""
    return card(LEFT + 2 * PANEL + GAP + 12, _height(recipe), f"{recipe.wish}: {recipe.formula}", list(_drawn(recipe)))


def _height(recipe: Recipe) -> float:
    return 32 + 23 * len(recipe.wanted) + 4 + 40 + 20


def _drawn(recipe: Recipe) -> Iterator[str]:
    for number, (caption, labels) in enumerate(zip(recipe.captions, (recipe.wanted, recipe.unwanted), strict=True)):
        left = LEFT + number * (PANEL + GAP)
        panel = Panel(left, left + PANEL, STEPS, strip=16, value=40)
        yield text(left, 20, caption, 11, theme.INK, bold=True)
        y = 32.0
        for atom, marks in labels.items():
            if number == 0:
                yield text(LEFT - 8, y + panel.strip - 4, atom, 11, theme.SOFT_INK, anchor="end")
            yield from bars(panel, marks, y)
            y += panel.strip + 7
        yield from value(panel, rows(rs.parse(recipe.formula), labels), y + 4, captions=number == 0)


def _cell(formula: str) -> str:
    return formula.replace("|", r"\|")


def _anchor(heading: str) -> str:
    return heading.lower().replace(",", "").replace(" ", "-")


def _wrapped(words: str, width: int = 120) -> str:
    lines = [""]
    for word in re.findall(r"(?:`[^`]*`|[^ `])+", words):
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


if __name__ == "__main__":
    main()

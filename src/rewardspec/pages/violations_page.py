"""The page of a record: for each rule where it was broken, and the list of its violations."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardspec.episodes.violations import Violation
from rewardspec.pages.front_files import front_file

_MOST_LISTED = 500  # violations of a rule in its table
_MOST_MARKS = 2000  # marks of a rule in its picture: more are narrower than a pixel
_WIDTH = 1000  # of the picture, in its own units
_NARROWEST = 3.0  # so that a single row stays visible among a million

_STYLE = """
main, header.top { max-width: 980px; }
.rule .words { margin-bottom: 8px; }
.track { display: block; width: 100%; height: 34px; background: var(--grid); border-radius: 6px; }
.track .violated { fill: var(--veto); }
.track .open { fill: var(--pair-1); }
.ends { display: flex; justify-content: space-between; font-size: 0.8rem; margin-bottom: 8px; }
.wide { overflow: auto; max-height: 400px; }
.violations { border-collapse: collapse; font-size: 0.86rem; white-space: nowrap; }
.violations th { text-align: left; font-weight: 600; color: var(--soft); }
.violations th, .violations td { padding: 3px 18px 3px 0; border-bottom: 1px solid var(--grid); }
.kept { color: var(--reward); } .broken { color: var(--veto); }
"""


@dataclass(frozen=True)
class RuleReport:
    """What was found about one rule: its formula also in words, unless these would be too long, and its violations."""

    name: str
    formula: str
    words: str | None
    violations: Sequence[Violation]


def violations_page(
    title: str, length: int, rules: Sequence[RuleReport], stamps: Mapping[int, object] | None, ends: tuple[str, str]
) -> str:
    """A page in one file that shows the violations of rules in a record of so many rows.

    `stamps` are the times of the steps that violations name; None without times. `ends` are the words for the first row
    and the last, below each picture.
    """
    certain = sum(violation.certain is not None for rule in rules for violation in rule.violations)
    verdict = f"{certain:,} violation{'' if certain == 1 else 's'}" if certain else "All rules are kept"
    cards = "\n".join(_card(rule, length, stamps, ends) for rule in rules)
    name = html.escape(title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rules and violations: {name}</title>
<style>{front_file("style.css")}{_STYLE}</style>
</head>
<body>
<header class="top"><h1>Rules and violations: {name}</h1></header>
<main>
<p><strong class="{"broken" if certain else "kept"}">{verdict}</strong>
<span class="soft">in {length:,} rows, {len(rules)} rule{"" if len(rules) == 1 else "s"}</span></p>
{cards}
<p class="soft">A rule that says “at every step” is broken at each row where the rest of it is false. Consecutive such
rows are one violation. It is <em>certain</em> at the row from which no further row could have changed that; for a
deadline, this is the deadline. It has <em>recovered</em> at the row where what was owed came, or else where the rule
holds again. <em>By</em> is the largest amount by which a comparison was missed. What the record
ends too early to tell is <em>open</em>.</p>
</main>
</body>
</html>
"""


def _card(rule: RuleReport, length: int, stamps: Mapping[int, object] | None, ends: tuple[str, str]) -> str:
    certain = sum(violation.certain is not None for violation in rule.violations)
    pending = len(rule.violations) - certain
    counts = [f"{certain:,} violation{'' if certain == 1 else 's'}" if certain else "kept"]
    counts += [f"{pending} open"] if pending else []
    colour = "broken" if certain else "kept"
    words = f'<p class="words soft">{html.escape(_sentence(rule.words))}</p>' if rule.words else ""
    named = "" if rule.name == rule.formula else f"<strong>{html.escape(rule.name)}</strong> "
    return f"""<section class="card rule">
<p>{named}<code>{html.escape(rule.formula)}</code> · <span class="{colour}">{", ".join(counts)}</span></p>
{words}
{_track(rule.violations, length)}
<div class="ends soft number"><span>{html.escape(ends[0])}</span><span>{html.escape(ends[1])}</span></div>
{_table(rule.violations, stamps)}
</section>"""


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _track(violations: Sequence[Violation], length: int) -> str:
    """A picture of the record with a mark for each violation."""
    marks: list[tuple[float, float, str]] = []
    for violation in violations:
        left = violation.step / length * _WIDTH
        right = max((violation.last + 1) / length * _WIDTH, left + _NARROWEST)
        kind = "open" if violation.certain is None else "violated"
        near = len(violations) > _MOST_MARKS and marks and marks[-1][2] == kind and left <= marks[-1][1]
        if near:  # marks that touch are one
            marks[-1] = (marks[-1][0], max(right, marks[-1][1]), kind)
        else:
            marks.append((left, right, kind))
    shapes = "".join(
        f'<rect class="{kind}" x="{min(left, _WIDTH - _NARROWEST):.2f}" y="4" width="{right - left:.2f}" height="26"/>'
        for left, right, kind in marks
    )
    label = f"{len(violations)} marks where the rule is broken"
    size = f'viewBox="0 0 {_WIDTH} 34" preserveAspectRatio="none"'
    return f'<svg class="track" {size} role="img" aria-label="{label}">{shapes}</svg>'


def _table(violations: Sequence[Violation], stamps: Mapping[int, object] | None) -> str:
    if not violations:
        return ""
    titles = ["from row", "to row", "certain at", "recovered at", "by"]
    if stamps is not None:
        titles = [f"{title} (time)" for title in titles[:4]] + titles[4:]
    head = "".join(f"<th>{title}</th>" for title in titles)
    rows = []
    for violation in violations[:_MOST_LISTED]:
        steps = (violation.step, violation.last, violation.certain, violation.recovered)
        cells = [_place(step, stamps) for step in steps]
        cells[2] = "open" if violation.certain is None else cells[2]
        cells.append("–" if violation.amount is None else f"{violation.amount:.6g}")
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    rest = len(violations) - _MOST_LISTED
    more = f'<p class="soft">{rest:,} more. --format csv lists all.</p>' if rest > 0 else ""
    table = f'<table class="violations number"><tr>{head}</tr>{"".join(rows)}</table>'
    return f'<div class="wide">{table}</div>{more}'


def _place(step: int | None, stamps: Mapping[int, object] | None) -> str:
    if step is None:
        return "–"
    time = f' <span class="soft">({html.escape(str(stamps[step]))})</span>' if stamps is not None else ""
    return f"{step:,}{time}"

"""The frame of the report: its style sheet, its head and its table of contents. Nothing is loaded from elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rewardspec.experiments.report.html import escape


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page that the table of contents names.

    Attributes:
        id: Its name for links.
        title: Its title.
        content: What is in it, as HTML.
        parts: Sections within it.
    """

    id: str
    title: str
    content: str
    parts: tuple[Section, ...] = ()


def page(title: str, head: str, sections: Sequence[Section]) -> str:
    """The whole page."""
    body = "\n".join(_section(section, 2) for section in sections)
    return _PAGE.format(title=escape(title), style=STYLE, head=head, contents=_contents(sections), body=body)


def _section(section: Section, level: int) -> str:
    parts = "\n".join(_section(part, level + 1) for part in section.parts)
    heading = f"<h{level}>{escape(section.title)}</h{level}>"
    return f'<section id="{section.id}">\n{heading}\n{section.content}\n{parts}\n</section>'


def _contents(sections: Sequence[Section]) -> str:
    items = []
    for section in sections:
        inner = _contents(section.parts) if section.parts else ""
        items.append(f'<li><a href="#{section.id}">{escape(section.title)}</a>{inner}</li>')
    return "<ul>" + "".join(items) + "</ul>"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header id="top">
<h1>{title}</h1>
{head}
</header>
<div class="columns">
<nav aria-label="Contents">
{contents}
</nav>
<main>
{body}
</main>
</div>
</body>
</html>
"""

STYLE = """
:root {
  --clear: transparent; --paper: #ffffff; --card: #ffffff; --ink: #22223a; --soft: #64647e;
  --line: #e4e4ef; --stripe: #f7f7fc;
  --accent: #4b3fa3; --good: #0b6b4f; --good-fill: #e2f4ec; --bad: #a3341a; --bad-fill: #fbe9e4; --fill: #eeeefa;
  --base: #5f6368; --boolean: #d55e00; --quantitative: #0072b2; --best: #00875f;
  --m-line: #4a4a68; --m-fill: #e6e6ff; --m-state: #d9d9ff; --m-stroke: #8c8cdc; --m-glow: #d2d2f7;
  --m-muted: #f3f3f6; --m-quiet: #a9a9ba;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16161f; --card: #1d1d29; --ink: #e8e8f2; --soft: #a2a2ba; --line: #34344a; --stripe: #1b1b27;
    --accent: #b3a9ff; --good: #7fe0bb; --good-fill: #143528; --bad: #ffab94; --bad-fill: #43201a; --fill: #29293c;
    --base: #b4b8bf; --boolean: #ff8a3d; --quantitative: #56b4e9; --best: #2fd3a0;
    --m-line: #b9b9d4; --m-fill: #2b2b4a; --m-state: #34345c; --m-stroke: #7d7dd0; --m-glow: #40406e;
    --m-muted: #26262f; --m-quiet: #6f6f84;
  }
}
* { box-sizing: border-box }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100% }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", sans-serif }
header, .columns { max-width: 90rem; margin: 0 auto; padding: 0 1.5rem }
header { padding-top: 2.2rem; padding-bottom: .6rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem }
h2 { font-size: 1.45rem; margin: 0 0 .8rem; padding-top: 1.6rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.15rem; margin: 1.8rem 0 .5rem }
h4 { font-size: 1rem; margin: 1.4rem 0 .4rem }
section { scroll-margin-top: 1rem; margin-bottom: 1.6rem }
section section > h3 { margin-top: 2.2rem }
h2 + section > h3 { margin-top: .8rem }
p { max-width: 48rem; margin: .5rem 0 }
a { color: var(--accent) }
code { font: .92em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere }
pre { overflow-x: auto; background: var(--stripe); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem }
ul { margin: .4rem 0; padding-left: 1.2rem; max-width: 52rem }
.note { color: var(--soft); font-size: .88rem }
.lead { font-size: 1.05rem }
.alert { background: var(--bad-fill); color: var(--bad); border-radius: .5rem; padding: .6rem .9rem; max-width: 52rem }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; padding: 0; list-style: none; max-width: none }
.tiles li { background: var(--stripe); border: 1px solid var(--line); border-radius: .6rem; padding: .5rem .9rem }
.tiles b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums }
.tiles span { color: var(--soft); font-size: .85rem }
.columns { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: 2rem; align-items: start }
nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.6rem 0; font-size: .9rem }
nav ul { list-style: none; padding: 0; margin: 0 }
nav ul ul { padding-left: .9rem }
nav a { display: block; padding: .14rem 0; color: var(--soft); text-decoration: none }
nav > ul > li > a { color: var(--ink); font-weight: 600; margin-top: .4rem }
nav a:hover, nav a:focus { color: var(--accent); text-decoration: underline }
.scroll { overflow-x: auto; margin: .8rem 0; border: 1px solid var(--line); border-radius: .6rem;
  background: var(--card); width: fit-content; max-width: 100% }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem }
th, td { padding: .36rem .7rem; text-align: left; vertical-align: top }
th { font-weight: 600 }
thead th { color: var(--soft); font-size: .8rem; white-space: nowrap; vertical-align: bottom }
tbody tr { border-top: 1px solid var(--line) }
tbody th { white-space: nowrap; font-weight: 500; background: var(--card); position: sticky; left: 0 }
.lines td { white-space: nowrap }
.number { text-align: right; white-space: nowrap }
.results { font-size: .82rem }
.results td, .results thead th { text-align: right; white-space: nowrap; padding: .3rem .42rem }
.results thead tr:first-child th { text-align: center }
.results thead tr:first-child th:first-child { text-align: left; padding-left: .7rem }
.results .start { border-left: 1px solid var(--line) }
.results .family th { color: var(--soft); font-size: .76rem; letter-spacing: .05em; text-transform: uppercase;
  background: var(--stripe); padding: .25rem .7rem }
.results small { display: block; color: var(--soft); font-size: .76rem; min-height: 1.1em }
.results b { color: var(--accent) }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: .2em; margin-right: .4em }
.chip { display: inline-block; background: var(--fill); border-radius: 1rem; padding: 0 .6rem; font-size: .82rem;
  white-space: nowrap }
.chip.good { background: var(--good-fill); color: var(--good) }
.chip.bad { background: var(--bad-fill); color: var(--bad) }
figure { margin: 1rem 0 }
figcaption { color: var(--soft); font-size: .85rem }
svg { max-width: 100%; height: auto }
.plot { display: block; width: 100% }
.plot * { stroke-linejoin: round; stroke-linecap: butt }
.single > .plot { max-width: 40rem }
.wide { overflow-x: auto }
.wide > .plot { min-width: 52rem }
.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem; margin: .6rem 0;
  max-width: 52rem; font-size: .93rem }
.facts dt { color: var(--soft) }
.facts dd { margin: 0 }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1rem;
  align-items: start }
.card { border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; background: var(--card);
  min-width: 0 }
.card h5 { margin: 0 0 .3rem; font-size: .95rem }
.card .scroll { border: 0; margin: .3rem 0; width: auto }
.card tbody th, .card thead th:first-child { text-align: right; width: 4rem }
.card td, .card th { padding: .2rem .4rem }
details { margin: .6rem 0 }
summary { cursor: pointer; color: var(--accent); font-size: .92rem }
.machine { overflow-x: auto }
.machines { display: grid; gap: .8rem; margin-top: .6rem }
.bars { display: grid; grid-template-columns: max-content minmax(6rem, 26rem) max-content; gap: .4rem .8rem;
  align-items: center; font-size: .92rem; margin: .8rem 0 }
.bar { position: relative; height: 1.1rem; background: var(--fill); border-radius: .3rem; overflow: hidden }
.bar i { position: absolute; inset: 0 auto 0 0 }
.bar s { position: absolute; top: 35%; bottom: 35%; background: var(--ink); min-width: 2px }
@media (max-width: 60rem) {
  header, .columns { padding-left: 1rem; padding-right: 1rem }
  .columns { display: block }
  nav { position: static; max-height: none; padding: .4rem 0 0 }
  nav > ul { columns: 2 }
  nav li li { break-inside: avoid }
  .results td, .results thead th { padding: .3rem .35rem }
  .bars { grid-template-columns: max-content minmax(3rem, 1fr) max-content }
  .facts { grid-template-columns: minmax(0, 1fr) }
  .facts dd { margin-bottom: .3rem }
}
@media print { nav { display: none } .columns { display: block } }
"""

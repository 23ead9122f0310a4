"""The front end's files, and pages that hold all they need."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from importlib import resources

from rewardspec.export.js_code import text as as_javascript


def front_file(name: str) -> str:
    """The text of a file of the front end."""
    return resources.files("rewardspec.pages").joinpath("front", name).read_text(encoding="utf-8")


def whole_page(template: str, scripts: Sequence[str], data: object, title: str, more: str = "") -> str:
    """A page in one file, from the names of its HTML file and of its scripts, those first that others import from.

    The scripts find the data in `globalThis.DATA`. Before them stands what JavaScript this package has made.
    """
    parts = [f"globalThis.DATA = {as_javascript(data)};", more]
    for name in scripts:
        # In one script there is nothing to import.
        script = re.sub(r"^import .*\n", "", front_file(name), flags=re.MULTILINE)
        parts.append(re.sub(r"^export (?=class|function|const|let)", "", script, flags=re.MULTILINE))
    filled = {"title": html.escape(title), "style": front_file("style.css"), "script": "\n".join(parts)}
    return re.sub(r"@(title|style|script)@", lambda found: filled[found[1]], front_file(template))

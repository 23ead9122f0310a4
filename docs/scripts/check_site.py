"""Check a built site: its links lead somewhere, and it loads nothing from elsewhere, so that it works offline.

Run after a build: python docs/scripts/check_site.py build/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Page(HTMLParser):
    """What a page links to, loads, and can be linked to by."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag's targets."""
        for name, value in attrs:
            if value and name == "id":
                self.anchors.add(value)
            elif value and (tag, name) in LOADED:
                self.loads.append(value)
            elif value and (tag, name) == ("a", "href"):
                self.links.append(value)


def problems(site: Path) -> list[str]:
    """What is wrong with a site, a line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = [] if pages else [f"{site}: there are no pages"]
    for path, page in pages.items():
        where = path.relative_to(site)
        for target in (*page.links, *page.loads):
            parts = urlsplit(target)
            if parts.scheme == "data" or (parts.scheme and target in page.links):
                continue
            if parts.scheme or parts.netloc:
                found.append(f"{where}: loads {target} from elsewhere")
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            if not file.exists():
                found.append(f"{where}: {target} leads nowhere")
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors:
                found.append(f"{where}: {target} has no such place")
    for path in sorted(site.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        if "url(http" in text or "@import" in text:
            found.append(f"{path.relative_to(site)}: loads a file from elsewhere")
    return found


def main(site: Path) -> int:
    """Print what is wrong; 1 if anything is."""
    found = problems(site.resolve())
    print("\n".join(found) or f"{site}: all links lead somewhere, and nothing is loaded from elsewhere")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))

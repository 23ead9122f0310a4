"""Writing pictures to files, in the format that the file's name asks for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rewardspec.atomic_files import write_whole
from rewardspec.drawing.diagrams import Diagram, DiagramError
from rewardspec.drawing.dot import to_dot
from rewardspec.drawing.figures import to_image
from rewardspec.drawing.mermaid import to_mermaid
from rewardspec.drawing.svg import to_svg
from rewardspec.errors import did_you_mean

_FORMATS: dict[str, Callable[[Diagram], str | bytes]] = {
    ".svg": to_svg,
    ".png": lambda diagram: to_image(diagram, "png"),
    ".pdf": lambda diagram: to_image(diagram, "pdf"),
    ".dot": to_dot,
    ".gv": to_dot,
    ".mmd": to_mermaid,
    ".md": lambda diagram: f"```mermaid\n{to_mermaid(diagram)}```\n",
}
FORMATS = tuple(_FORMATS)
"""The endings that `render` knows."""


def render(diagram: Diagram, path: str | os.PathLike[str]) -> None:
    """Write a picture; the name's ending says in which format.

    `.svg`, `.dot` and `.gv`, `.mmd` and `.md` (Mermaid, fenced in Markdown) need only Python; `.png` and `.pdf` need
    matplotlib.  The file is written whole or not at all.

    Raises:
        DiagramError: The ending is unknown, or the file cannot be written.
        MissingExtraError: The format needs matplotlib, and it is not installed.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _FORMATS:
        raise DiagramError(
            f"Cannot tell the picture's format from {target.name!r}. Known endings: {', '.join(FORMATS)}."
            f"{did_you_mean(suffix, FORMATS)}"
        )
    if not target.parent.is_dir():
        raise DiagramError(
            f"Cannot write {str(target)!r}: there is no directory {str(target.parent)!r}. Make it first."
        )
    if target.is_dir():
        raise DiagramError(f"Cannot write {str(target)!r}: it is a directory. Name a file.")
    content = _FORMATS[suffix](diagram)
    try:
        write_whole(target, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise DiagramError(f"Cannot write {str(target)!r}: {error.strerror}.") from None

"""Pictures of boards of characters: one tile per character, pieces drawn over the ground."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.types import Bools, Floats

Color: TypeAlias = tuple[int, int, int]
Image: TypeAlias = NDArray[np.uint8]
Shape: TypeAlias = Callable[[Floats, Floats], Bools]

TILE = 32
"""Side of a tile in pixels."""

GROUND: dict[str, Color] = {
    "#": (84, 88, 96),  # wall
    " ": (236, 234, 226),  # floor
    "W": (66, 135, 200),  # water
    "G": (122, 186, 104),  # goal
    ">": (196, 180, 160),  # belt
}

# Down and right run from -1 to 1 over the tile.
PIECES: dict[str, tuple[Color, Shape]] = {
    "A": ((214, 84, 56), lambda down, right: down**2 + right**2 < 0.5),  # agent: a disc
    "X": ((150, 102, 60), lambda down, right: np.maximum(abs(down), abs(right)) < 0.7),  # box: a square
    "O": ((132, 88, 168), lambda down, right: abs(down) + abs(right) < 0.8),  # vase: a diamond
    ":": (
        (132, 88, 168),
        lambda down, right: (abs(abs(down) - abs(right)) < 0.16) & (abs(down) < 0.7),
    ),  # broken: a cross
}
_MARKS: dict[str, tuple[Color, Shape]] = {
    ">": ((168, 150, 128), lambda down, right: abs(right + abs(down) - 0.4) < 0.16),  # direction of the belt
}


def paint(board: Sequence[str], ground: Sequence[str]) -> Image:
    """Draw a board, one string per row, over a ground without pieces, as an RGB image of shape (height, width, 3)."""
    down, right = np.meshgrid(*[np.linspace(-1.0, 1.0, TILE)] * 2, indexing="ij")
    image = np.zeros((len(board) * TILE, len(board[0]) * TILE, 3), dtype=np.uint8)
    for row, (seen_row, ground_row) in enumerate(zip(board, ground, strict=True)):
        for column, (seen, below) in enumerate(zip(seen_row, ground_row, strict=True)):
            tile = image[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
            tile[:] = GROUND[below]
            tile[-1:, :] = tile[:, -1:] = [channel * 9 // 10 for channel in GROUND[below]]
            for drawing in (_MARKS.get(below), PIECES.get(seen)):
                if drawing is not None:
                    color, shape = drawing
                    tile[shape(down, right)] = color
    return image

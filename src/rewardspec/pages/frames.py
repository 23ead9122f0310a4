"""Rendered frames as PNG pictures inside a page, with nothing but Python and NumPy."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error

_WIDEST = 360  # pixels; larger frames are made smaller, by leaving out rows and columns


def as_data_urls(frames: Sequence[np.ndarray]) -> list[str]:
    """The address of each frame's picture; equal frames share one text."""
    made: dict[bytes, str] = {}
    addresses = []
    for frame in frames:
        pixels = _smaller(_checked(frame))
        key = pixels.tobytes()
        if key not in made:
            made[key] = f"data:image/png;base64,{base64.b64encode(as_png(pixels)).decode()}"
        addresses.append(made[key])
    return addresses


def as_png(pixels: NDArray[np.uint8]) -> bytes:
    """A picture of red, green and blue as PNG.

    Example:
        >>> as_png(np.zeros((2, 2, 3), dtype=np.uint8))[1:4]
        b'PNG'
    """
    height, width, _ = pixels.shape
    # Each row as its difference from the one above, which packs well where much is alike.
    above = np.vstack([np.zeros((1, width, 3), dtype=np.uint8), pixels[:-1]])
    rows = np.full((height, 1 + 3 * width), 2, dtype=np.uint8)
    rows[:, 1:] = (pixels - above).reshape(height, 3 * width)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(rows.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def _checked(frame: np.ndarray) -> NDArray[np.uint8]:
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or 0 in frame.shape:
        raise Error(
            "A frame should be an array of red, green and blue, of shape (height, width, 3) and type uint8, as "
            f'`render_mode="rgb_array"` gives. Received shape {frame.shape} and type {frame.dtype}.'
        )
    return frame


def _smaller(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    stride = -(-frame.shape[1] // _WIDEST)
    return np.ascontiguousarray(frame[::stride, ::stride])

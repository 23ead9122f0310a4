"""Recordings of episodes, as an animated GIF or as a row of stills."""

from __future__ import annotations

import io
import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import gymnasium as gym
import numpy as np

from rewardspec.atomic_files import write_whole
from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.learning.playing import Episode, play
from rewardspec.lab.learning.policies import Policy
from rewardspec.types import Array

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = (".gif", ".png")
_WIDTH = 320  # maximum width of a frame in pixels
_FRAMES = 200  # maximum number of frames; longer episodes are subsampled
_STILLS = 8
_GAP, _FRAME = 3, "#dddddd"


def check_recording(path: str | os.PathLike[str]) -> None:
    """Raise an Error unless a recording can be written to this file; call it before training."""
    _pillow()
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise Error(
            f"Cannot tell the recording's format from {target.name!r}. Known endings: {', '.join(ENDINGS)}, for a "
            "moving picture and for a row of stills."
        )
    check_target(target)


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise an Error unless a file can be written at this path."""
    target = Path(path)
    if not target.parent.is_dir():
        raise Error(f"Cannot write {str(target)!r}: the directory {str(target.parent)!r} does not exist.")
    if target.is_dir():
        raise Error(f"Cannot write {str(target)!r}: that is a directory. Give the name of a file in it.")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise Error(f"Cannot write {str(target)!r}: permission denied. Give another place.")


def record(policy: Policy, path: str | os.PathLike[str], *, run: int = 0, seed: int = 0) -> Episode:
    """Play one episode of a run's policy and write its recording: `.gif` for an animation, `.png` for stills."""
    check_recording(path)
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        # pygame would look for a screen; with "dummy", environments such as highway-env draw nothing.
        os.environ.setdefault("SDL_VIDEODRIVER", "offscreen")
    try:
        episode = play(policy, run=run, seed=seed, pictures=True)
    except gym.error.DependencyNotInstalled:
        raise MissingExtraError("pygame", "envs", "Drawing this environment") from None
    if all((frame == episode.frames[0][0, 0]).all() for frame in episode.frames):
        warnings.warn(
            f"Every picture of the episode of {policy.task.title} has one color alone. Its environment may not draw "
            f"without a screen. SDL_VIDEODRIVER is {os.environ.get('SDL_VIDEODRIVER')!r}; set it to another driver.",
            stacklevel=2,
        )
    target = Path(path)
    content = moving(episode.frames) if target.suffix.lower() == ".gif" else stills(episode.frames)
    try:
        write_whole(target, content)
    except OSError as error:
        raise Error(f"Cannot write {str(target)!r}: {error.strerror}.") from None
    return episode


def moving(frames: Sequence[Array]) -> bytes:
    """Encode frames as a GIF of at most 8 seconds, which pauses on the last frame."""
    shown = [_image(frames[k]) for k in _spread(len(frames), _FRAMES)]
    pace = min(200, max(30, round(8000 / len(shown))))
    buffer = io.BytesIO()
    first, *others = (image.quantize(64) for image in shown)
    durations = [pace] * len(others) + [1500]
    first.save(buffer, "GIF", save_all=True, append_images=others, duration=durations, loop=0, optimize=True)
    return buffer.getvalue()


def stills(frames: Sequence[Array]) -> bytes:
    """Arrange a few frames from first to last in rows, labeled with their steps, as a PNG."""
    from PIL import ImageDraw

    steps = _spread(len(frames), _STILLS)
    shown = [_image(frames[step]) for step in steps]
    across = math.ceil(len(shown) / 2) if len(shown) > 3 else len(shown)
    wide, high = (size + _GAP for size in shown[0].size)
    sheet = _pillow().new("RGB", (across * wide + _GAP, math.ceil(len(shown) / across) * high + _GAP), _FRAME)
    pen = ImageDraw.Draw(sheet)
    for number, (step, image) in enumerate(zip(steps, shown, strict=True)):
        left, top = (number % across) * wide + _GAP, (number // across) * high + _GAP
        sheet.paste(image, (left, top))
        label = f"step {step}"
        pen.rectangle(pen.textbbox((left + 4, top + 3), label), fill=_FRAME)
        pen.text((left + 4, top + 3), label, fill="black")
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _spread(count: int, most: int) -> list[int]:
    """Choose at most `most` evenly spaced numbers from 0 to `count - 1`, both included.

    Example:
        >>> _spread(10, 4), _spread(2, 4)
        ([0, 3, 6, 9], [0, 1])
    """
    return [round(place) for place in np.linspace(0, count - 1, min(count, most))]


def _image(frame: Array) -> Image:
    image: Image = _pillow().fromarray(np.asarray(frame, dtype=np.uint8))
    if image.width > _WIDTH:
        image = image.resize((_WIDTH, round(image.height * _WIDTH / image.width)))
    return image


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("pillow", "plot", "Recording an episode") from None
    module: ModuleType = Image
    return module

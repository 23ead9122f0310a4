"""An episode as a picture."""

import io
import os
import sys

import numpy as np
import pytest
from PIL import Image

from rewardspec import tasks
from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.learning import animation
from rewardspec.lab.learning.animation import check_recording, check_target, moving, record, stills
from rewardspec.lab.learning.playing import Episode
from rewardspec.lab.learning.policies import Policy


@pytest.fixture
def policy():
    """A policy of frozen lake that always goes down, then right: it has not learned much."""
    lake = tasks.get("frozen_lake")
    states = lake.make().observation_space.n
    table = np.zeros((2, states, 4), dtype=np.float32)
    table[:, :, 1] = 1.0
    return Policy("table", lake, None, None, (0, 1), {"table": table})


def frames(count: int, width: int = 30, height: int = 20):
    return [np.full((height, width, 3), 10 * (k % 25), dtype=np.uint8) for k in range(count)]


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def test_a_gif_shows_every_frame_of_a_short_episode():
    with opened(moving(frames(12))) as image:
        assert (image.format, image.size, image.n_frames, image.info["loop"]) == ("GIF", (30, 20), 12, 0)


def test_a_long_or_large_episode_is_thinned_and_made_smaller():
    with opened(moving(frames(900, 640, 480))) as image:
        assert image.size == (320, 240)
        assert image.n_frames <= 200


@pytest.mark.parametrize(("count", "size"), [(1, (36, 26)), (3, (102, 26)), (8, (135, 49)), (500, (135, 49))])
def test_stills_stand_in_rows(count, size):
    with opened(stills(frames(count))) as image:
        assert (image.format, image.size) == ("PNG", size)


def test_pygame_draws_without_a_screen_unless_the_user_says_how(policy, tmp_path, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    record(policy, tmp_path / "lake.png")
    assert os.environ["SDL_VIDEODRIVER"] == "offscreen"
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    record(policy, tmp_path / "lake.png")
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"


def test_pictures_of_one_color_are_told(policy, tmp_path, monkeypatch):
    black = Episode([], [], [], {}, [np.zeros((20, 30, 3), dtype=np.uint8)] * 3)
    monkeypatch.setattr(animation, "play", lambda *_, **__: black)
    with pytest.warns(UserWarning, match="Every picture of the episode of Frozen Lake has one color alone"):
        record(policy, tmp_path / "lake.gif")


@pytest.mark.parametrize("ending", ["gif", "png"])
def test_a_policy_is_recorded(policy, tmp_path, ending):
    path = tmp_path / f"lake.{ending}"
    episode = record(policy, path, run=1, seed=3)
    assert 1 <= len(episode.actions) <= 100
    with Image.open(path) as image:
        assert image.format == ending.upper()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_what_cannot_be_written_is_known_before(tmp_path):
    with pytest.raises(Error, match=r"format from 'x.mp4'. Known endings: .gif, .png"):
        check_recording(tmp_path / "x.mp4")
    with pytest.raises(Error, match="does not exist"):
        check_recording(tmp_path / "absent" / "x.gif")
    with pytest.raises(Error, match="that is a directory"):
        check_target(tmp_path)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plot\]'"):
        check_recording("x.gif")

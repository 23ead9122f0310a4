"""The page of an episode holds what happened, as data that no name can turn into markup."""

import json
import re
import struct
import zlib

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.pages.frames import as_data_urls, as_png

OWN = rs.Spec([rs.Pair("G calm", 1, penalty=-1, name="calm"), ("G safe", 1), ("F goal", 1)])
SPEC = rs.Spec([("F(key & F goal)", 2), ("G[0,30] safe", 1)], penalty=-1)
LABELS = {"key": [0.0, 1.0, 0.0, 0.0], "goal": [0.0, 0.0, 0.5, 0.5], "safe": [1.0, 1.0, 0.75, 0.0]}
EVIL = "</script><img src=x onerror=alert(1)>"


def data_of(page):
    """What the page's script finds."""
    text = re.search(r"^globalThis\.DATA = (.*);$", page, flags=re.MULTILINE)[1]
    return json.loads(text)  # which reads NaN and Infinity, as JavaScript does


def test_the_page_has_values_bounds_progress_causes_and_registers():
    page = SPEC.explain(LABELS).to_html()
    (episode,) = data_of(page)["episodes"]
    monitor = rs.synthesize("F(key & F goal)", progress=True)
    state, expected = monitor.initial_state(), []
    for step in range(4):
        state, value = monitor.step(state, {atom: LABELS[atom][step] for atom in monitor.atoms})
        expected.append((value, *monitor.bounds(state), round(monitor.progress(state), 6)))
    first = episode["pairs"][0]
    assert list(zip(first["values"], first["lower"], first["upper"], first["progress"], strict=True)) == expected
    assert first["waiting"][:2] == [["key"], ["goal"]]
    assert first["causes"][2] == ["goal", 2]
    assert episode["pairs"][1]["causes"][2] == ["safe", 2]
    assert episode["rewards"][1:] == [row.reward for row in SPEC.explain(LABELS)][1:]
    assert episode["vetoed"] == [None, None, None, 1]
    machine = data_of(page)["spec"]["pairs"][0]["machine"]
    assert len(first["cells"]) == len(machine["registers"]) + len(machine["windows"])
    assert all(len(cell) == 4 for cell in first["cells"])


def test_the_page_shows_robustness_as_it_is_paid():
    spec = rs.Spec([("F a", 1), ("F[2,5] a", 1)], semantics="robustness", bound=2)
    explanation = spec.explain({"a": [0.0, 5.0, 1.0]})
    pairs = data_of(explanation.to_html())["episodes"][0]["pairs"]
    for number, pair in enumerate(pairs):
        assert pair["values"] == [row.values[number] for row in explanation]
    assert [pair["values"] for pair in pairs] == [[0.0, 2.0, 2.0], [-2.0, -2.0, 1.0]]
    assert [pair["upper"] for pair in pairs] == [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def test_the_page_says_what_is_paid_and_which_literal_decided_it():
    spec = rs.Spec([rs.Pair("F(key & F goal)", 2, progress=True), ("G !crash", 1)])
    data = data_of(spec.explain({"key": [0, 1], "goal": [0, 0], "crash": [0, 1]}).to_html())
    assert [pair["progress"] for pair in data["spec"]["pairs"]] == [True, False]
    keys, crash = data["episodes"][0]["pairs"]
    assert keys["progress"] == [0.0, 0.5]
    assert crash["causes"][1] == ["!crash", 1]


@pytest.mark.parametrize(
    ("spec", "lead"),
    [
        (SPEC, "Paid by value, penalty -1 after a veto."),
        (OWN, "Paid by value; penalty after a veto: -1 by calm, 0 by G safe."),
        (rs.Spec([rs.Pair("G safe", 1, penalty=-2)]), "Paid by value, penalty -2 after a veto."),
        (rs.Spec([rs.Pair("G safe", 1, veto=False)]), "Paid by value."),
    ],
)
def test_the_page_names_the_penalty_of_each_pair_that_can_veto(spec, lead):
    explanation = spec.explain({atom: [1.0, 1.0] for atom in spec.atoms})
    assert data_of(explanation.to_html())["lead"] == lead


def test_the_title_names_the_episode_where_it_has_a_name():
    explanation = SPEC.explain(LABELS)
    assert data_of(explanation.to_html())["title"] == "An episode of F(key & F goal), G[0,30] safe"
    named = explanation.to_html(title="CartPole-v1, seed 3")
    assert data_of(named)["title"] == "CartPole-v1, seed 3: F(key & F goal), G[0,30] safe"
    assert "<title>CartPole-v1, seed 3: F(key &amp; F goal), G[0,30] safe</title>" in named


def test_names_are_data_and_never_markup():
    spec = rs.Spec([rs.Pair(f"F {rs.Atom(EVIL)}", 1, name=EVIL)])
    page = spec.explain({EVIL: [0.0, 1.0]}).to_html()
    assert EVIL not in page
    assert "<img" not in page
    assert page.count("</script>") == 1
    assert data_of(page)["spec"]["atoms"] == [EVIL]


def test_a_page_loads_nothing_from_elsewhere():
    page = SPEC.explain(LABELS).to_html()
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//|@import|\bimport\b.*from""", page)


def test_robustness_and_its_infinities_are_numbers_of_javascript():
    spec = rs.Spec([("X[3] a", 1)], semantics="robustness")
    (episode,) = data_of(spec.explain({"a": [-2.0, 1.5]}).to_html())["episodes"]
    assert episode["pairs"][0]["values"][0] == -np.inf
    assert episode["pairs"][0]["progress"] is None


def test_several_episodes_share_a_page(tmp_path):
    path = tmp_path / "both.html"
    explanation = SPEC.explain(LABELS)
    frames = [np.full((4, 6, 3), 40 * k, dtype=np.uint8) for k in range(4)]
    rs.pages.write_episodes(path, {"one": explanation, "two": explanation}, {"two": frames})
    one, two = data_of(path.read_text(encoding="utf-8"))["episodes"]
    assert (one["title"], one["frames"], two["title"], len(two["frames"])) == ("one", None, "two", 4)


def test_episodes_that_name_different_things_share_a_page(tmp_path):
    path = tmp_path / "both.html"
    spec = rs.Spec([("mean order: F paid(order)", 1)], sorts={"order": "names"})
    found = {name: spec.explain({"paid": [{}, {name: 1.0}]}) for name in ("a", "b")}
    rs.pages.write_episodes(path, found)
    data = data_of(path.read_text(encoding="utf-8"))
    assert data["spec"]["atoms"] == ["paid(a)", "paid(any other)", "paid(b)"]
    assert [episode["labels"]["paid(b)"] for episode in data["episodes"]] == [[0, 0], [0, 1]]


def test_the_page_is_written_where_it_is_wanted(tmp_path):
    path = tmp_path / "episode.html"
    text = SPEC.explain(LABELS).to_html(path)
    assert path.read_text(encoding="utf-8") == text


def test_what_does_not_fit_is_refused():
    explanation, frame = SPEC.explain(LABELS), np.zeros((4, 6, 3), dtype=np.uint8)
    with pytest.raises(rs.Error, match=r"has 4 frames.*Received 3"):
        explanation.to_html(frames=[frame] * 3)
    with pytest.raises(rs.Error, match=r"Received shape \(4, 6\)"):
        explanation.to_html(frames=[frame[..., 0]] * 4)
    other = rs.Spec([("F a", 1)]).explain({"a": [0.0, 1.0]})
    with pytest.raises(rs.Error, match="of one spec"):
        rs.pages.write_episodes("x.html", {"a": explanation, "b": other})
    with pytest.raises(rs.Error, match="none of the episodes: a"):
        rs.pages.write_episodes("x.html", {"a": explanation}, {"b": [frame] * 4})
    with pytest.raises(rs.Error, match="needs an episode"):
        rs.pages.write_episodes("x.html", {})


def test_a_frame_is_a_png_of_the_same_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    png = as_png(pixels)
    assert struct.unpack(">II", png[16:24]) == (7, 5)
    start = png.index(b"IDAT") + 4
    (size,) = struct.unpack(">I", png[start - 8 : start - 4])
    rows = np.frombuffer(zlib.decompress(png[start : start + size]), dtype=np.uint8).reshape(5, 22)
    assert (rows[:, 0] == 2).all()
    assert (np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(5, 7, 3) == pixels).all()


def test_equal_frames_share_their_text():
    frame = np.zeros((3, 800, 3), dtype=np.uint8)
    first, second = as_data_urls([frame, frame.copy()])
    assert first is second

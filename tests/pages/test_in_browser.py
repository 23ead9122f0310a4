"""Page and playground in a real browser: `make browser`. Skipped where there is none."""

import itertools
import os
import shutil
import threading
import time

import pytest

import rewardspec as rs
from rewardspec.pages.live_figure import figure_html
from rewardspec.pages.play_server import PlayServer

pytestmark = pytest.mark.browser
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
EVIL = "<img src=x onerror=globalThis.hit=1>"


def until(page, expression, seconds=20.0):
    """Wait until a JavaScript expression holds; Playwright's own waiting needs `eval`, which the server forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"Boolean(globalThis.playground && ({expression}))"):
        assert time.monotonic() < end, f"still not: {expression}"
        page.wait_for_timeout(30)


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make browser")
    with playwright.sync_playwright() as driver:
        # Chromium's own sandbox does not start for root, as in most containers.
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if os.getuid() == 0 else [])
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    opened = context.new_page()
    problems = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
    assert problems == []


@pytest.fixture(scope="module")
def server():
    with PlayServer() as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


@pytest.fixture
def playing(page, server):
    page.goto(server.url)
    until(page, "document.body.dataset.ready && playground.board.monitors[0].kept.length > 0")
    return page


def write_episode(path):
    spec = rs.Spec([("F(key & F goal)", 2), rs.Pair(f"G {rs.Atom(EVIL)}", 1, name=EVIL)], penalty=-1)
    key, goal = [0.0] * 30, [0.0] * 30
    key[10], goal[20] = 1.0, 1.0
    episode = spec.explain({"key": key, "goal": goal, EVIL: [1.0] * 25 + [0.0] * 5})
    rs.pages.write_episodes(path, {"one": episode, "two": episode})
    return path.as_uri()


def test_an_episode_can_be_walked_through(page, tmp_path):
    page.goto(write_episode(tmp_path / "episode.html"))
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#step") == "step 19 of 29"
    assert "waits for goal" in page.inner_text("#beside")
    page.keyboard.press("End")
    assert "vetoed by <img" in page.inner_text("#beside")
    assert page.evaluate("globalThis.hit === undefined")
    page.select_option("#episodes", "1")
    page.locator("#machines details").first.locator("summary").first.click()
    assert "max[key]" in page.inner_text("#machines")
    canvas = page.locator("canvas").last.bounding_box()
    page.mouse.move(canvas["x"] + canvas["width"] * 0.9, canvas["y"] + 10)
    assert "is violated" in page.inner_text(".tip")


@pytest.mark.parametrize("width", [400, 1400])
def test_no_page_is_wider_than_the_screen(browser, server, tmp_path, width):
    for url in (write_episode(tmp_path / "episode.html"), server.url):
        context = browser.new_context(viewport={"width": width, "height": 800})
        opened = context.new_page()
        opened.goto(url)
        opened.wait_for_selector("canvas")
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        context.close()


def test_the_browser_steps_as_python_does(playing):
    board = playing.evaluate(
        "({ signals: Object.fromEntries([...playground.board.signals].map(([k, v]) => [k, [...v]])),"
        "   values: playground.board.monitors.map((run) => [...run.result]),"
        "   rewards: [...playground.board.specs.delta.result] })"
    )
    formulas = ("G(request -> F[0,20] grant)", "F(key & F door)")
    for formula, values in zip(formulas, board["values"], strict=True):
        assert rs.synthesize(formula).run({a: board["signals"][a] for a in rs.parse(formula).atoms}).tolist() == values
    spec = rs.Spec([(formula, 1) for formula in formulas], payment="delta")
    expected = [row.reward for row in spec.explain(board["signals"])]
    assert board["rewards"][1:] == expected[1:]


def test_a_live_figure_needs_no_server(page, tmp_path):
    path = tmp_path / "figure.html"
    signals = {"goal": [0.0, 0.5, 1.0], EVIL: [1.0, 1.0, 0.0]}
    spec = rs.Spec([("F goal", 2), (f"G {rs.Atom(EVIL)}", 1)], penalty=-1)
    path.write_text(figure_html(spec, signals, "A figure"), encoding="utf-8")
    page.goto(path.as_uri())
    until(page, "playground.board.specs.value.result[1] === 2")
    assert page.evaluate("[...playground.board.specs.value.result]") == [0, 2, -1]
    assert page.evaluate("globalThis.hit === undefined")
    page.locator("canvas").first.click(position={"x": 3, "y": 5})
    until(page, "playground.board.monitors[0].result[0] > 0.9")
    page.click("#again")
    until(page, "playground.board.monitors[0].result[0] === 0")


def test_formulas_are_completed_and_errors_have_a_caret(playing):
    text = playing.locator("textarea").nth(1)
    text.fill("F(key & eve")
    text.press("n")
    playing.locator(".menu li:visible").first.wait_for()
    text.press("Enter")
    assert text.input_value() == "F(key & eventually"
    playing.locator("pre.error:visible").wait_for()
    assert "^" in playing.inner_text("pre.error:visible")
    assert playing.inner_text("#lint p") == "Pair 2 has an error."
    text.fill("F(key & eventually goal)")
    until(playing, "playground.board.signals.has('goal')")
    playing.locator("pre.error").nth(1).wait_for(state="hidden")


def test_drawing_and_files_change_the_values(playing, tmp_path):
    canvas = playing.locator("canvas").first.bounding_box()
    playing.mouse.move(canvas["x"] + 5, canvas["y"] + 6)
    playing.mouse.down()
    playing.mouse.move(canvas["x"] + canvas["width"] - 5, canvas["y"] + 6, steps=10)
    playing.mouse.up()
    assert playing.evaluate("Math.min(...playground.board.signals.get('request'))") > 0.8
    trace = tmp_path / "trace.csv"
    trace.write_text("request,grant\n1,0\n0,1\n0,0.5\n", encoding="utf-8")
    playing.set_input_files("#file", str(trace))
    until(playing, "playground.board.length === 3 && playground.board.monitors[0]?.result.length === 3")
    until(playing, "playground.board.monitors[0].result[1] === 1")
    toml = tmp_path / "spec.toml"
    rs.Spec([("G calm", 1), ("F done", 3)], payment="final").save(toml)
    playing.set_input_files("#file", str(toml))
    until(playing, "playground.board.names.join() === 'G calm,F done'")
    assert playing.input_value("#payment") == "final"


def test_a_threshold_and_a_bound_count_as_they_do_in_python(playing, tmp_path):
    toml = tmp_path / "spec.toml"
    toml.write_text('threshold = 0.9\npairs = [["F done", 3]]\n', encoding="utf-8")
    playing.set_input_files("#file", str(toml))
    until(playing, "playground.board.names.join() === 'F done' && playground.board.monitors[0].kept.length > 0")
    playing.evaluate("playground.board.set('done', (k) => k < 50 ? 0.8 : 0.95)")
    until(playing, "playground.board.specs.value.result[40] === 0")
    assert playing.evaluate("playground.board.specs.value.result[60]") == 3
    toml.write_text('semantics = "robustness"\nbound = 2\npairs = [["F goal", 3]]\n', encoding="utf-8")
    playing.set_input_files("#file", str(toml))
    until(playing, "playground.board.names.join() === 'F goal'")
    playing.evaluate("playground.board.set('goal', () => 5)")
    until(playing, "playground.board.specs.value.result[60] === 6")
    run = "playground.board.monitors[0]"
    assert playing.evaluate(f"[{run}.result[60], {run}.upper[60]]") == [2, 2]
    playing.fill("#bound", "0")
    playing.get_by_text("`bound` should be above 0").wait_for()
    playing.fill("#bound", "1")
    until(playing, "playground.board.specs.value.result[60] === 3")


def test_a_link_holds_formulas_and_signals(playing, browser):
    playing.evaluate("playground.board.set('grant', () => 0.25)")
    playing.locator("textarea").first.fill("G(request -> F grant)")
    until(playing, "playground.board.names[0] === 'G(request -> F grant)'")
    playing.once("dialog", lambda dialog: dialog.dismiss())
    playing.click("[data-copy=link]")
    until(playing, "location.hash.length > 10")
    again = browser.new_page()
    again.goto(playing.url)
    until(again, "playground.board.names[0] === 'G(request -> F grant)'")
    assert again.evaluate("playground.board.signals.get('grant')[7]") == 0.25
    again.close()


def test_drawing_on_ten_thousand_steps_is_fluid(playing):
    playing.fill("#length", "10000")
    playing.locator("#length").press("Enter")
    until(playing, "playground.board.monitors[0]?.result.length === 10000")
    playing.evaluate(
        "globalThis.times = []; const tick = (now) => { times.push(now); requestAnimationFrame(tick); };"
        "requestAnimationFrame(tick)"
    )
    canvas = playing.locator("canvas").first.bounding_box()
    playing.mouse.move(canvas["x"] + 2, canvas["y"] + 20)
    playing.mouse.down()
    playing.evaluate("times.length = 0")
    for lap in range(4):  # from the very first steps, so that all others are computed anew
        for k in range(40):
            across = (k if lap % 2 == 0 else 39 - k) / 40 * 200
            playing.mouse.move(canvas["x"] + 2 + across, canvas["y"] + 8 + (k % 7) * 3)
    times = playing.evaluate("times")
    playing.mouse.up()
    gaps = [b - a for a, b in itertools.pairwise(times)]
    rate = 1000 * len(gaps) / (times[-1] - times[0])
    slow = sum(gap > 40 for gap in gaps)
    print(f"\n{rate:.0f} frames per second while drawing on 10,000 steps; {slow} of {len(gaps)} frames took over 40 ms")
    run = "playground.board.monitors[0]"
    assert playing.evaluate(f"{run}.result.length === 10000 && {run}.at(9999, playground.board.signals).value") == (
        playing.evaluate(f"{run}.result[9999]")
    )

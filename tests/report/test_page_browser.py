"""The page in a real browser: what is lit is happened-before, and mouse, keys, filter and links work."""

import json

import pytest

from antecede.report.page import render_page
from antecede.tables import Window
from tests.report.browser import PATH, WHY, Browser
from tests.report.samples import LATE, Run, events, findings, story, triangle
from tests.report.test_page import HOSTILE, LOST

pytestmark = [pytest.mark.skipif(PATH is None, reason=WHY), pytest.mark.slow]


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


@pytest.fixture
def show(browser, tmp_path):
    """Opens a page, and demands at the end that it neither complained nor asked for anything else."""

    def open_page(rows, windows, fragment=""):
        browser.problems.clear()
        browser.requests.clear()
        file = tmp_path / "page.html"
        file.write_text(render_page("verdict", {}, findings(*rows), windows, "title"), encoding="utf-8")
        browser.open(file, fragment)
        return browser

    yield open_page
    assert browser.problems == []
    assert {url.partition("#")[0] for url in browser.requests} == {(tmp_path / "page.html").as_uri()}


def rows_with(browser, name, picture=0):
    found = browser.run(f"[...document.querySelectorAll('#w{picture} .event.{name}')].map((e) => e.id)")
    return {int(identity.partition("-")[2]) for identity in found}


def links_with(browser, name):
    script = f"[...document.querySelectorAll('.links .{name}')].map((e) => [+e.dataset.from, +e.dataset.to])"
    return {tuple(pair) for pair in browser.run(script)}


@pytest.mark.parametrize("seed", range(3))
def test_a_click_lights_up_exactly_past_and_future(show, seed) -> None:
    run = Run(seed, 5, 80)
    browser = show([], [triangle(), run.window()])
    assert len(rows_with(browser, "late", 1)) == len(run.late) > 0
    for row in (0, 17, 40, 79):
        browser.mouse(f"#w1-{row} .hit", click=True)
        future = {other for other, past in enumerate(run.past) if row in past}
        assert rows_with(browser, "past", 1) == run.past[row]
        assert rows_with(browser, "future", 1) == future
        assert rows_with(browser, "here", 1) == {row}
        status = browser.run("document.querySelector('#w1 .status').textContent")
        rest = 79 - len(run.past[row]) - len(future)
        assert status.endswith(f"{len(run.past[row])} before, {len(future)} after, {rest} concurrent.")


def test_the_arrows_of_a_past_are_lit_and_the_rest_is_dim(show) -> None:
    browser = show([], [triangle()], "#w0-3")
    assert links_with(browser, "past") == {(0, 1), (1, 2), (2, 3)}
    assert links_with(browser, "future") == {(3, 4), (4, 5)}
    assert browser.run("getComputedStyle(document.querySelector('path[data-to=\"5\"].late')).opacity") < "0.5"
    assert browser.run("getComputedStyle(document.querySelector('#w0-0')).opacity") == "1"


def test_empty_space_and_escape_reset(show) -> None:
    browser = show([], [triangle()])
    for away in (lambda: browser.press("Escape"), lambda: empty_click(browser)):
        browser.mouse("#w0-3 .hit", click=True)
        assert rows_with(browser, "past") == {0, 1, 2}
        away()
        assert rows_with(browser, "past") == set()
        assert browser.run("document.querySelectorAll('svg.lit, svg .here, svg .future').length") == 0


def empty_click(browser):
    box = "document.querySelector('.scroll').getBoundingClientRect()"
    x, y = browser.run(f"(({{right, top}}) => [right - 30, top + 80])({box})")
    browser.point(x, y, click=True)


def test_hovering_shows_the_clock(show) -> None:
    browser = show([], [triangle()])
    assert browser.run("document.getElementById('card').hidden")
    browser.mouse("#w0-5 .hit")
    assert browser.run("document.getElementById('card').innerText").split("\n") == [
        "p3 delivers x (late)", "c.log:9", "clock: p3=2 p1=2 p2=2", "event: f",
    ]  # fmt: skip
    browser.point(2, 2)
    assert browser.run("document.getElementById('card').hidden")


def test_a_finding_leads_to_its_witness(show) -> None:
    far = Run(1, 60, 900).window()
    browser = show([LATE, LATE | {"events": ["e10", "e880"]}], [far, triangle()])
    browser.mouse(".findings a[href='#w1-0-1-2-3-4-5']", click=True)
    assert rows_with(browser, "witness", 1) == set(range(6))
    assert links_with(browser, "witness") == {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)}
    browser.mouse(".findings a[href='#w0-880']", click=True)
    assert rows_with(browser, "here", 0) == {880}
    assert rows_with(browser, "witness", 1) == set()
    assert is_in_sight(browser, "#w0-880") and not is_in_sight(browser, "#w0-10")
    browser.mouse(".findings a[href='#w0-10-880']", click=True)
    assert rows_with(browser, "witness", 0) == {10, 880}
    assert is_in_sight(browser, "#w0-10")


def is_in_sight(browser, selector):
    place = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
    x, y, width, height = browser.run(f"(({{x, y}}) => [x, y, innerWidth, innerHeight])({place})")
    return 0 < x < width and 0 < y < height


def test_an_arrival_lies_between_its_send_and_its_delivery(show) -> None:
    told = story("a send m, b receive m, b send k, b deliver m, b send n")
    browser = show([], [Window("", told, [("0", "3")])], "#w0-1")
    assert rows_with(browser, "past") == {0}
    assert rows_with(browser, "future") == {3, 4}
    browser.mouse("#w0-2 .hit", click=True)
    assert rows_with(browser, "past") == set()
    assert rows_with(browser, "future") == {3, 4}


def test_keys_reach_every_event(show) -> None:
    browser = show([], [triangle()])
    browser.run("document.querySelector('#w0 .scroll').focus()")
    browser.press("Tab")
    path = [browser.run("document.activeElement.id")]
    for key in ["Down", "Right", "Down", "Right", "Down", "Down", "Up", "Left"]:
        browser.press(f"Arrow{key}")
        path.append(browser.run("document.activeElement.id"))
    assert path == [f"w0-{row}" for row in (0, 1, 2, 3, 4, 5, 5, 4, 3)]
    assert browser.run("document.getElementById('card').innerText").startswith("p2 sends z\n")
    browser.press("Enter")
    assert rows_with(browser, "past") == {0, 1, 2}
    assert rows_with(browser, "future") == {4, 5}


def test_the_filter_finds_what_is_folded(show) -> None:
    browser = show([*LOST[:40], LATE], [])
    browser.run("document.getElementById('filter').focus()")
    browser.type("M37 never")
    assert (
        browser.run(
            "[...document.querySelectorAll('.findings > li')].filter((e) => e.checkVisibility()).length"
        )
        == 1
    )
    assert browser.run("document.getElementById('matches').textContent") == "1 of 41 on this page"
    assert browser.run("[...document.querySelectorAll('.kind')].map((e) => e.checkVisibility())") == [
        True,
        False,
    ]


def test_paper_has_no_folds(show) -> None:
    browser = show(LOST[:40], [triangle()])
    assert not browser.run("document.querySelector('details').open")
    browser.call("Page.printToPDF")
    assert browser.run("document.querySelector('details').open")


def test_two_thousand_events_on_two_hundred_processes(show) -> None:
    run = Run(7, 200, 2000)
    browser = show([], [run.window()], "#w0-1500")
    assert rows_with(browser, "past") == run.past[1500]
    box = "document.querySelector('.scroll')"
    assert browser.run(f"{box}.scrollWidth > 3 * {box}.clientWidth && {box}.scrollTop > 10000")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    names, top = (
        "document.querySelector('.names.top .band').getBoundingClientRect().top",
        f"{box}.getBoundingClientRect().top",
    )
    assert abs(browser.run(f"{names} - {top}")) < 3


def test_hostile_text_does_nothing(show) -> None:
    row = dict.fromkeys(("process", "event", "message", "text", "file"), HOSTILE) | {"kind": "send"}
    finding = LATE | {"kind": HOSTILE, "sentence": HOSTILE, "events": [HOSTILE]}
    browser = show([finding], [Window(HOSTILE, events(row), [], set(), set(), HOSTILE)], "#w0-0")
    assert browser.run("document.querySelectorAll('script').length") == 1
    assert browser.run("document.querySelectorAll('img').length") == 0
    shown = json.dumps(HOSTILE.replace("\x00", "\ufffd").replace("\u202e", "\ufffd"))
    assert browser.run(f"document.querySelector('.findings p').textContent === {shown}")
    browser.mouse("#w0-0 .hit")
    assert browser.run(f"document.getElementById('card').textContent.includes({shown})")

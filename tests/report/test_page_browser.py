"""The page in a real browser: what is lit is happened-before; mouse, keys, search and links work; it holds a
large log, and nothing that stands in a log runs.
"""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from bench.traffic import traffic_table
from tests.commands import here
from tests.report.browser import PATH, WHY, Browser
from tests.report.samples import TRIANGLE, Run, at, audit_page, events, story
from tests.report.test_page import HOSTILE

pytestmark = [pytest.mark.skipif(PATH is None, reason=WHY), pytest.mark.slow]


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


@pytest.fixture
def show(browser, tmp_path):
    """Opens a page, and demands at the end that it neither complained nor asked for anything else."""
    browser.problems.clear()
    browser.requests.clear()
    opened = set()

    def open_page(text, fragment=""):
        file = tmp_path / "page.html"
        if text is not None:
            file.write_text(text, encoding="utf-8")
        opened.add(file.as_uri())
        browser.open(file, fragment)
        browser.wait("document.documentElement.dataset.ready === 'all'")
        return browser

    yield open_page
    assert browser.problems == []
    assert {url.partition("#")[0] for url in browser.requests} == opened


def names_with(browser, name):
    """The ids of the drawn events of a class, as the page itself shows them."""
    rows = browser.run(f"[...document.querySelectorAll('.event.{name}')].map((e) => +e.dataset.row)")
    return set(rows)


def links_with(browser, name):
    """From which row to which row the links of a class lead."""
    script = (
        "(() => { const row = (at) => +document.getElementById(`event-${at}`).dataset.row; return "
        f"[...document.querySelectorAll('.links .{name}[data-from][data-to]')]"
        ".map((e) => [row(e.dataset.from), row(e.dataset.to)]); })()"
    )
    return {tuple(pair) for pair in browser.run(script)}


def text_of(browser, selector):
    return browser.run(f"document.querySelector({json.dumps(selector)}).textContent")


def event_at(row):
    return f".event[data-row='{row}'] .hit"


@pytest.mark.parametrize("seed", range(2))
def test_a_click_lights_up_exactly_past_and_future(show, seed) -> None:
    run = Run(seed, 5, 80)
    page = audit_page(events(*run.rows))
    browser = show(page.text)
    row = [page.row(f"e{number}") for number in range(80)]
    assert names_with(browser, "late") == {
        row[number]
        for number, event in enumerate(run.rows)
        if event["kind"] == "deliver" and (event["process"], event["message"]) in run.late
    }
    assert run.late
    for number in (0, 17, 40, 79):
        browser.mouse(event_at(row[number]), click=True)
        future = {row[other] for other, past in enumerate(run.past) if number in past}
        past = {row[other] for other in run.past[number]}
        assert names_with(browser, "past") == past
        assert names_with(browser, "future") == future
        assert names_with(browser, "here") == {row[number]}
        told = f"{len(past)} before, {len(future)} after, {79 - len(past) - len(future)} concurrent."
        assert text_of(browser, "#picture-status").endswith(told)


def test_the_triangle_by_mouse_and_by_keys(show) -> None:
    page = audit_page(events(*TRIANGLE))
    browser = show(page.text)
    row = {name: page.row(name) for name in "abcdef"}
    assert names_with(browser, "witness") == set(row.values()), "the worst finding is drawn first"
    browser.mouse(event_at(row["d"]), click=True)
    assert names_with(browser, "past") == {row["a"], row["b"], row["c"]}
    assert links_with(browser, "past") == {(row[s], row[t]) for s, t in ("ab", "bc", "cd")}
    assert links_with(browser, "future") == {(row[s], row[t]) for s, t in ("de", "ef")}
    for away in (lambda: browser.press("Escape"), lambda: click_beside(browser)):
        browser.mouse(event_at(row["d"]), click=True)
        assert names_with(browser, "past")
        away()
        assert browser.run("document.querySelectorAll('svg.lit, .event.past, .event.here').length") == 0
    browser.mouse(event_at(row["f"]))
    card = browser.run("document.getElementById('card').innerText").split("\n")
    assert card[0].startswith("p3 delivers x (late") and card[1:] == [
        "c.log:9", "clock: p3=2 p1=2 p2=2", "event: f",
    ]  # fmt: skip
    browser.point(2, 2)
    assert browser.run("document.getElementById('card').hidden")
    browser.run("document.getElementById('drawing').focus()")
    browser.press("Tab")
    walked = [browser.run("+document.activeElement.dataset.row")]
    for key in ("Down", "Right", "Down", "Right", "Down", "Down", "Up", "Left"):
        browser.press(f"Arrow{key}")
        walked.append(browser.run("+document.activeElement.dataset.row"))
    assert walked == [row[name] for name in "abcdeffed"]
    assert browser.run("document.getElementById('card').innerText").startswith("p2 sends z\n")
    browser.press("Enter")
    assert names_with(browser, "future") == {row["e"], row["f"]}


def click_beside(browser):
    box = "document.getElementById('drawing').getBoundingClientRect()"
    x, y = browser.run(f"(({{right, top}}) => [right - 12, top + 60])({box})")
    browser.point(x, y, click=True)


def test_an_arrival_lies_between_its_send_and_its_delivery(show) -> None:
    page = audit_page(story("a send m, b receive m, b send k, b deliver m, b send n"))
    browser = show(page.text)
    row = [page.row(str(number)) for number in range(5)]
    browser.mouse(event_at(row[1]), click=True)
    assert names_with(browser, "past") == {row[0]}
    assert names_with(browser, "future") == {row[3], row[4]}
    browser.mouse(event_at(row[2]), click=True)
    assert names_with(browser, "past") == set()
    assert names_with(browser, "future") == {row[3], row[4]}
    assert links_with(browser, "wait") == {(row[1], row[3])}
    assert links_with(browser, "message") == {(row[0], row[1])}


def test_ghosts_stubs_and_gaps_are_drawn(show) -> None:
    page = audit_page(events(at("a", "x"), at("b", "y", parents=["gone"]), at(None, "z", parents=["x"])))
    browser = show(page.text)
    assert names_with(browser, "ghost") == {page.row("gone")}
    assert links_with(browser, "ghost") == {(page.row("gone"), page.row("y"))}
    assert names_with(browser, "witness") == {page.row("gone"), page.row("y")}
    assert text_of(browser, "#overview-title") == "Overview 3 events"
    names = browser.run("[...document.querySelectorAll('.names.top text title')].map((e) => e.textContent)")
    assert names == ["a", "b", "no process"]
    assert browser.run("document.querySelectorAll('.lives path').length") == 2


def test_thousands_of_processes_share_lines(show) -> None:
    page = audit_page(events(*(at(f"p{i}", f"e{i}", "local", index=0) for i in range(2000))))
    browser = show(page.text)
    assert browser.run("document.getElementById('overview').clientHeight") < 500
    browser.mouse("#overview", click=True)
    browser.wait("document.querySelector('.event.here')")
    assert text_of(browser, "#picture-status").endswith("0 before, 0 after, 1,999 concurrent.")
    browser.press("n")
    assert "and others, event" in text_of(browser, "#overview-status")


@pytest.fixture(scope="module")
def large():
    """A log of 20,000 events on 40 processes, some of which are late."""
    return audit_page(traffic_table(20_000, 40))


def test_from_a_finding_to_its_picture_and_back(show, large) -> None:
    browser = show(large.text)
    findings = browser.run("document.querySelectorAll('.findings > li').length")
    assert findings == len(large.findings) > 8
    browser.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    last = findings - 1
    browser.mouse(f"#finding-{last} a.show", click=True)
    browser.wait(f"document.getElementById('back').hash === '#finding-{last}'")
    witness = set(map(int, browser.run(f"document.getElementById('finding-{last}').dataset.rows").split()))
    assert witness <= names_with(browser, "witness")
    assert text_of(browser, "#caption") == text_of(browser, f"#finding-{last} p")
    drawn = browser.run("document.querySelectorAll('.event').length")
    assert f"{drawn} events are drawn" in text_of(browser, "#picture-left")
    assert is_in_sight(browser, "#picture-title")
    browser.mouse("#back", click=True)
    assert browser.run("document.activeElement.id") == f"finding-{last}"
    assert is_in_sight(browser, f"#finding-{last}")
    browser.mouse("[data-tool='previous']", click=True)
    browser.wait(f"location.hash === '#picture-{last - 1}'")
    assert text_of(browser, "#caption") == text_of(browser, f"#finding-{last - 1} p")
    assert (
        browser.run(f"document.getElementById('finding-{last - 1}').getAttribute('aria-current')") == "true"
    )
    browser.call("Page.printToPDF")
    assert browser.run("[...document.querySelectorAll('details')].every((fold) => fold.open)")


def is_in_sight(browser, selector):
    place = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
    x, y, width, height = browser.run(f"(({{x, y}}) => [x, y, innerWidth, innerHeight])({place})")
    return 0 <= x < width and 0 <= y < height


def test_the_overview_by_keys_shows_past_and_future_of_the_whole_log(show, large) -> None:
    browser = show(large.text)
    browser.run("document.getElementById('overview').focus()")
    browser.press("n")
    assert any(kind in text_of(browser, "#overview-status") for kind in ("late", "fifo"))
    browser.press("+")
    browser.press("Enter")
    browser.wait("document.querySelector('.event.here')")
    (chosen,) = names_with(browser, "here")
    past = reach_back(large.view.links, chosen)
    assert f": {len(past):,} before, " in text_of(browser, "#picture-status")
    assert names_with(browser, "past") == past & drawn_rows(browser)
    before = pixels_of(browser)
    browser.press("Escape")
    assert pixels_of(browser) != before, "the overview shows past and future, too"


def reach_back(links: pa.Table, row: int) -> set[int]:
    """The definition: all that leads to a row."""
    causes: dict[int, list[int]] = {}
    for source, target in zip(links["source"].to_pylist(), links["target"].to_pylist(), strict=True):
        causes.setdefault(target, []).append(source)
    past: set[int] = set()
    ahead = [row]
    while ahead:
        for cause in causes.get(ahead.pop(), ()):
            if cause not in past:
                past.add(cause)
                ahead.append(cause)
    return past


def drawn_rows(browser):
    return set(browser.run("[...document.querySelectorAll('.event')].map((e) => +e.dataset.row)"))


def pixels_of(browser):
    return browser.run("document.getElementById('overview').toDataURL()")


def test_search_finds_processes_messages_events_and_findings(show, large) -> None:
    browser = show(large.text)
    browser.press("/")
    assert browser.run("document.activeElement.id") == "search"
    browser.type("m4321")
    browser.wait("document.querySelector('#results button')")
    assert text_of(browser, "#results button") == "message m4321"
    browser.press("Enter")
    browser.wait("document.getElementById('caption').textContent === 'message m4321'")
    rows = {at for at, name in enumerate(large.view.events["message"].to_pylist()) if name == "m4321"}
    assert rows and rows <= drawn_rows(browser)
    assert browser.run("+document.activeElement.dataset.row") == min(rows)
    late = large.findings.to_pylist()[0]
    browser.run("document.getElementById('search').value = ''; document.getElementById('search').focus()")
    browser.type(f"{late['process']} {late['message']}".upper())
    browser.wait("document.getElementById('matches').textContent")
    visible = "[...document.querySelectorAll('.findings > li')].filter((e) => e.checkVisibility())"
    sentences = browser.run(f"{visible}.map((e) => e.querySelector('p').textContent)")
    assert late["sentence"] in sentences and len(sentences) < len(large.findings)
    assert text_of(browser, "#matches").startswith(f"{len(sentences)} of {len(large.findings)} findings")
    browser.mouse(".bars .find", click=True)
    name = text_of(browser, ".bars .find")
    browser.wait("document.querySelector('#results button')")
    assert text_of(browser, "#results button") == f"process {name}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_can_be_read(show, large, scheme, width) -> None:
    browser = show(large.text)
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.call("Emulation.setEmulatedMedia", features=media)
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
    )
    browser.settle()
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(CONTRASTS) == []
    unnamed = "[...document.querySelectorAll('button, a, input, canvas')].filter((e) => e.checkVisibility()"
    unnamed += " && !(e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label'))).length"
    assert browser.run(unnamed) == 0
    browser.call("Emulation.clearDeviceMetricsOverride")
    browser.call("Emulation.setEmulatedMedia", features=[])


CONTRASTS = """(() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const texts = "p, h1, h2, h3, li, a, button, dt, dd, th, td, label, summary, svg text";
  return [...document.querySelectorAll(texts)]
    .filter((e) => e.checkVisibility() && e.textContent.trim())
    .filter((e) => {
      const style = getComputedStyle(e), ink = light(e.closest("svg") ? style.fill : style.color);
      return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05) < 4.5;
    }).map((e) => e.outerHTML.slice(0, 120));
})()"""


def test_nothing_in_a_log_runs_whatever_field_it_stands_in(show, monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text("\n".join(map(json.dumps, hostile_rows())))
    words = ("--report", "page.html", "--engine", "local", "--json")
    done = here(monkeypatch, capsys, "audit", "log.jsonl", *words)
    assert done.code == 1 and json.loads(done.out)["totals"]["events"] == 4
    browser = show(None)
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\u202e", "\ufffd")
    for row in drawn_rows(browser):
        browser.mouse(event_at(row), click=True)
        assert shown in browser.run("document.getElementById('card').textContent")
    browser.run("document.getElementById('search').focus()")
    browser.type("<script>")
    browser.wait("document.querySelector('#results button')")
    results = browser.run("[...document.querySelectorAll('#results button')].map((e) => e.textContent)")
    assert any(shown in result for result in results)
    browser.press("Enter")
    browser.settle()
    assert browser.run("document.querySelectorAll('img, iframe, object, embed').length") == 0
    kinds = browser.run("[...document.scripts].map((e) => e.type)")
    assert [kind for kind in kinds if kind not in ("text/plain", "application/json")] == [""]
    attributes = "[...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())"
    assert browser.run(f"{attributes}.filter((name) => /^on/i.test(name))") == []


def hostile_rows():
    """Hostile texts in every field that a log has."""
    base = {"execution": HOSTILE, "text": HOSTILE, "fields": {HOSTILE: HOSTILE}, "parents": [HOSTILE + "?"]}
    sent, got = f"{HOSTILE}1", f"{HOSTILE}2"
    return [
        base
        | {
            "process": HOSTILE,
            "index": 0,
            "event": sent,
            "kind": "send",
            "message": HOSTILE,
            "receivers": [got],
        },
        base
        | {"process": HOSTILE, "index": 1, "event": f"{HOSTILE}3", "kind": "local", "clock": {HOSTILE: 2}},
        base
        | {
            "process": got,
            "index": 0,
            "event": got,
            "kind": "deliver",
            "message": HOSTILE,
            "sender": HOSTILE,
        },
        base
        | {"process": got, "index": 1, "event": got, "kind": "deliver", "message": HOSTILE, "sender": sent},
    ]

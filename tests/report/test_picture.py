"""Pictures and DOT: what is drawn, from what, and that a log cannot break out of them."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from antecede.report.dot import render_dot
from antecede.report.picture import MOST_ENTRIES, render_svg
from antecede.report.window import DrawnLink, find_links, list_rows
from antecede.tables import Window
from tests.report.samples import ARROWS, TRIANGLE, Run, at, events, story, triangle

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</title></svg><script>alert(1)</script>"\'&\x00\x1b\u202e\n]]>\\N\\" -> x;'


def draw_window(window):
    """The elements of a picture by their classes; it must be well-formed XML."""
    root = ET.fromstring(render_svg(window))
    return (
        root,
        [e for e in root.iter() if "event" in e.get("class", "").split()],
        root.findall(".//*[@data-from]"),
    )


def test_every_event_has_a_row_of_its_own_in_the_given_order() -> None:
    _, found, _ = draw_window(triangle())
    places = [tuple(map(float, re.findall(r"[\d.]+", e.get("transform", "")))) for e in found]
    assert [e.get("id") for e in found] == [f"w-{i}" for i in range(6)]
    assert [y for _, y in places] == sorted({y for _, y in places})
    assert [x for x, _ in places] == [places[0][0]] * 2 + [places[2][0]] * 2 + [places[4][0]] * 2


def test_names_stand_at_both_ends() -> None:
    root, *_ = draw_window(triangle())
    for end in ("top", "bottom"):
        group = root.find(f".//{SVG}g[@class='names {end}']")
        assert group is not None
        assert ["".join(text.itertext()) for text in group.findall(f"{SVG}text")] == ["p1p1", "p2p2", "p3p3"]


def test_processes_are_sorted_as_people_count() -> None:
    root, *_ = draw_window(Window("", events(*(at(p, p) for p in ("p10", "p2", "p1", "q")))))
    group = root.find(f".//{SVG}g[@class='names top']")
    assert group is not None and [t.text for t in group.iter(f"{SVG}title")] == ["p1", "p2", "p10", "q"]


def test_late_messages_are_marked_and_only_they() -> None:
    _, found, arrows = draw_window(triangle())
    assert [e.get("id") for e in found if "late" in e.get("class", "")] == ["w-5"]
    assert [(e.get("data-from"), e.get("data-to")) for e in arrows if "late" in e.get("class", "")] == [
        ("0", "5")
    ]


def test_ghosts_are_marked_with_their_arrows() -> None:
    rows = [at("a", "g"), at("b", "x"), at("b", "y")]
    _, found, arrows = draw_window(Window("", events(*rows), [("g", "y")], ghosts={"g"}))
    assert [e.get("id") for e in found if "ghost" in e.get("class", "")] == ["w-0"]
    assert [e.get("class") for e in arrows] == ["step", "message ghost"]
    assert "ghost: not in the log" in "".join(found[0].itertext())


def test_titles_tell_clock_text_place_and_time() -> None:
    row = at(
        "p", "e9", "local", text="wrote <x>", clock=[("a", 3), ("p", 7)], file="x.log", line=12, time=1234.5
    )
    _, found, _ = draw_window(Window("", events(row | {"fields": [("level", "WARN")]})))
    title = found[0].find(f"{SVG}title")
    assert title is not None and title.text == (
        "p: wrote <x>\nx.log:12\ntext: wrote <x>\nclock: p=7 a=3\ntime: 1,234.500 ms\nevent: e9\nlevel: WARN"
    )


def test_a_long_clock_says_what_it_leaves_out() -> None:
    clock = [(f"q{i}", i + 1) for i in range(MOST_ENTRIES + 36)]
    text = render_svg(Window("", events(at("p", "e", clock=clock))))
    assert "q63=64 and 36 more" in text and "q64=" not in text


def test_links_are_steps_and_messages() -> None:
    steps = [DrawnLink("step", 0, 1), DrawnLink("step", 2, 3), DrawnLink("step", 4, 5)]
    messages = [DrawnLink("message", 0, 5), DrawnLink("message", 1, 2), DrawnLink("message", 3, 4)]
    assert find_links(list_rows(events(*TRIANGLE)), [*ARROWS, ("a", "b"), ("a", "f")]) == steps + messages


def test_an_arrival_waits_for_its_delivery_and_causes_nothing_else() -> None:
    told = "a send m, a send n, b receive n, b send k, b receive m, b deliver m, b deliver n, b receive m"
    found = find_links(list_rows(story(told)), [("0", "5"), ("1", "6")])
    assert {link[1:] for link in found if link.kind == "step"} == {(0, 1), (3, 5), (5, 6)}
    assert {link[1:] for link in found if link.kind == "wait"} == {(4, 5), (2, 6)}
    assert {link[1:] for link in found if link.kind == "message"} == {(0, 4), (1, 2), (0, 7)}


def test_who_is_delivered_twice_waited_once() -> None:
    found = find_links(
        list_rows(story("a send m, b receive m, b deliver m, b deliver m")), [("0", "2"), ("0", "3")]
    )
    assert {link[1:] for link in found if link.kind == "wait"} == {(1, 2)}
    assert {link[1:] for link in found if link.kind == "message"} == {(0, 1), (0, 3)}


def test_only_the_delivery_is_late() -> None:
    window = Window("", story("a send m, a receive m, a deliver m"), [("0", "2")], {("a", "m")})
    _, found, arrows = draw_window(window)
    assert [e.get("id") for e in found if "late" in e.get("class", "")] == ["w-2"]
    assert [e.get("class") for e in arrows] == ["step", "wait late", "message late"]


def test_a_cause_that_comes_later_is_drawn_and_not_taken_for_a_step() -> None:
    assert DrawnLink("message", 1, 0) in find_links(list_rows(events(*TRIANGLE)), [("b", "a")])


def test_arrows_lead_from_cause_to_effect() -> None:
    _, found, arrows = draw_window(
        Window("", events(at("a", "x"), at("b", "y"), at("a", "z")), [("x", "y"), ("y", "z")])
    )
    places = [tuple(map(float, re.findall(r"[\d.]+", e.get("transform", "")))) for e in found]
    for arrow in (e for e in arrows if e.get("class") == "message"):
        x, y, to_x, to_y = map(float, re.findall(r"[\d.]+", arrow.get("d", ""))[:4])
        for (px, py), row in (((x, y), arrow.get("data-from", "")), ((to_x, to_y), arrow.get("data-to", ""))):
            assert abs(px - places[int(row)][0]) <= 6 and abs(py - places[int(row)][1]) <= 6


def test_where_nothing_is_delivered_a_receive_is_an_event_like_others() -> None:
    rows = [at("a", "0", "send", "m"), at("b", "1", "receive", "m"), at("b", "2", "send", "n")]
    assert find_links(list_rows(events(*rows)), [("0", "1")]) == [
        DrawnLink("step", 1, 2),
        DrawnLink("message", 0, 1),
    ]


def test_causes_outside_the_window_are_stubs() -> None:
    root, _, _ = draw_window(
        Window("", events(at("a", "x"), at("b", "y")), [("gone", "x"), ("y", "later"), ("no", "nor")])
    )
    stubs = [e for e in root.iter(f"{SVG}path") if e.get("class") == "message"]
    assert [(e.get("data-from"), e.get("data-to")) for e in stubs] == [(None, "0"), ("1", None)]
    heights = [[float(y) for y in re.findall(r"[ML][\d.-]+ ([\d.-]+)", e.get("d", ""))[:2]] for e in stubs]
    assert all(start < end for start, end in heights)


def test_events_without_process_have_no_line_and_no_order() -> None:
    window = Window("", events(at(None, "x"), at(None, "y"), at("p", "z")), [("x", "y")])
    root, found, arrows = draw_window(window)
    lives = root.find(f".//{SVG}g[@class='lives']")
    assert lives is not None and len(lives) == 1 and len(found) == 3
    assert [(e.get("class"), e.get("data-from"), e.get("data-to")) for e in arrows] == [("message", "0", "1")]


def test_executions_do_not_share_lines() -> None:
    rows = [at("p", "x", execution="one"), at("p", "y", execution="two")]
    root, _, arrows = draw_window(Window("", events(*rows)))
    assert not arrows and "p · two" in [t.text for t in root.iter(f"{SVG}title")]


def test_no_events_and_nothing_known() -> None:
    assert draw_window(Window("", events()))[1] == []
    assert len(draw_window(Window("", events({}, {})))[1]) == 2


@pytest.mark.parametrize("column", ["process", "event", "message", "text", "file", "execution"])
def test_hostile_text_stays_text(column) -> None:
    row = at("p", "e", "send", "m") | {column: HOSTILE}
    root, found, _ = draw_window(
        Window(HOSTILE, events(row | {"fields": [(HOSTILE, HOSTILE)], "clock": [(HOSTILE, 1)]}))
    )
    assert len(found) == 1
    assert {e.tag for e in root.iter()} <= {
        SVG + t for t in ("svg", "g", "path", "rect", "circle", "text", "title")
    }
    assert not {"\x00", "\x1b", "\u202e"} & set(render_svg(Window(HOSTILE, events(row))))


def test_dot_names_causes_from_the_events_themselves() -> None:
    text = render_dot(events(*TRIANGLE), late={("p3", "x")})
    found = re.findall(r"n(\d) -> n(\d)", text)
    assert {(int(a), int(b)) for a, b in found} == {(0, 1), (2, 3), (4, 5), (0, 5), (1, 2), (3, 4)}
    assert text.count("subgraph cluster_") == 3
    assert re.search(r'n0 -> n5 \[color="#c4281c"\]', text)
    assert '"p3 delivers x (c.log:9)"' in text


def test_dot_follows_parents() -> None:
    text = render_dot(events(at(None, "x"), at(None, "y", parents=["x", "gone"])), ghosts={"x"})
    assert re.findall(r"n\d -> n\d", text) == ["n0 -> n1"] and "cluster" not in text and "dashed" in text


def test_dot_quotes_hostile_text() -> None:
    text = render_dot(events(at(HOSTILE, "e", text=HOSTILE, file=HOSTILE)))
    assert re.sub(r'"(?:[^"\\]|\\["\\])*"', "S", text).split("\n")[2:5] == [
        "  subgraph cluster_0 {", "    label=S;", "    n0 [label=S];",
    ]  # fmt: skip
    assert "&amp;" in text and "\\\\N" in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz: `dot` is not on the path")
def test_graphviz_reads_it() -> None:
    window = Run(5, 5, 60).window()
    done = subprocess.run(
        ["dot", "-Tplain"], input=render_dot(window.events, window.edges), capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.count("\nnode ") == 60
    hostile = render_dot(events(at(HOSTILE, "e", text=HOSTILE)))
    done = subprocess.run(["dot", "-Tsvg"], input=hostile, capture_output=True, text=True)
    assert done.returncode == 0 and "<script" not in done.stdout

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
    events = [e for e in root.iter() if has_class(e, "event")]
    return root, events, root.findall(".//*[@data-from]")


def has_class(element, name):
    return name in element.get("class", "").split()


def ids_with_class(elements, name):
    return [e.get("id") for e in elements if has_class(e, name)]


def list_ends(arrows):
    """From where to where each arrow leads."""
    return [(e.get("data-from"), e.get("data-to")) for e in arrows]


def list_places(elements):
    """The coordinates of each event."""
    moves = [e.get("transform", "") for e in elements]
    return [tuple(map(float, re.findall(r"[\d.]+", move))) for move in moves]


def list_titles(element):
    return [title.text for title in element.iter(f"{SVG}title")]


def ends_of_kind(links, kind):
    return {link[1:] for link in links if link.kind == kind}


def test_every_event_has_a_row_of_its_own_in_the_given_order() -> None:
    _, found, _ = draw_window(triangle())
    assert [e.get("id") for e in found] == [f"w-{i}" for i in range(6)]
    across, down = zip(*list_places(found), strict=True)
    assert list(down) == sorted(set(down))
    # The events lie in pairs, those of a process after each other.
    assert across[0::2] == across[1::2]
    assert len(set(across)) == 3


def test_names_stand_at_both_ends() -> None:
    root, *_ = draw_window(triangle())
    for end in ("top", "bottom"):
        group = root.find(f".//{SVG}g[@class='names {end}']")
        assert group is not None
        names = ["".join(text.itertext()) for text in group.findall(f"{SVG}text")]
        assert names == ["p1p1", "p2p2", "p3p3"]


def test_processes_are_sorted_as_people_count() -> None:
    rows = [at(process, process) for process in ("p10", "p2", "p1", "q")]
    root, *_ = draw_window(Window("", events(*rows)))
    group = root.find(f".//{SVG}g[@class='names top']")
    assert group is not None
    assert list_titles(group) == ["p1", "p2", "p10", "q"]


def test_late_messages_are_marked_and_only_they() -> None:
    _, found, arrows = draw_window(triangle())
    assert ids_with_class(found, "late") == ["w-5"]
    late_arrows = [e for e in arrows if has_class(e, "late")]
    assert list_ends(late_arrows) == [("0", "5")]


def test_ghosts_are_marked_with_their_arrows() -> None:
    rows = [at("a", "g"), at("b", "x"), at("b", "y")]
    window = Window("", events(*rows), [("g", "y")], ghosts={"g"})
    _, found, arrows = draw_window(window)
    assert ids_with_class(found, "ghost") == ["w-0"]
    assert [e.get("class") for e in arrows] == ["step", "message ghost"]
    assert "ghost: not in the log" in "".join(found[0].itertext())


def test_titles_tell_clock_text_place_and_time() -> None:
    row = at(
        "p",
        "e9",
        "local",
        text="wrote <x>",
        clock=[("a", 3), ("p", 7)],
        file="x.log",
        line=12,
        time=1234.5,
        fields=[("level", "WARN")],
    )
    _, found, _ = draw_window(Window("", events(row)))
    title = found[0].find(f"{SVG}title")
    assert title is not None and title.text == (
        "p: wrote <x>\nx.log:12\ntext: wrote <x>\nclock: p=7 a=3\ntime: 1,234.500 ms\nevent: e9\nlevel: WARN"
    )


def test_a_long_clock_says_what_it_leaves_out() -> None:
    clock = [(f"q{i}", i + 1) for i in range(MOST_ENTRIES + 36)]
    row = at("p", "e", clock=clock)
    text = render_svg(Window("", events(row)))
    assert "q63=64 and 36 more" in text and "q64=" not in text


def test_links_are_steps_and_messages() -> None:
    steps = [("a", "b"), ("a", "f")]
    assert find_links(list_rows(events(*TRIANGLE)), ARROWS + steps) == [
        DrawnLink("step", 0, 1),
        DrawnLink("step", 2, 3),
        DrawnLink("step", 4, 5),
        DrawnLink("message", 0, 5),
        DrawnLink("message", 1, 2),
        DrawnLink("message", 3, 4),
    ]


def test_an_arrival_waits_for_its_delivery_and_causes_nothing_else() -> None:
    told = "a send m, a send n, b receive n, b send k, b receive m, b deliver m, b deliver n, b receive m"
    found = find_links(list_rows(story(told)), [("0", "5"), ("1", "6")])
    assert ends_of_kind(found, "step") == {(0, 1), (3, 5), (5, 6)}
    assert ends_of_kind(found, "wait") == {(4, 5), (2, 6)}
    assert ends_of_kind(found, "message") == {(0, 4), (1, 2), (0, 7)}


def test_who_is_delivered_twice_waited_once() -> None:
    rows = list_rows(story("a send m, b receive m, b deliver m, b deliver m"))
    found = find_links(rows, [("0", "2"), ("0", "3")])
    assert ends_of_kind(found, "wait") == {(1, 2)}
    assert ends_of_kind(found, "message") == {(0, 1), (0, 3)}


def test_only_the_delivery_is_late() -> None:
    told = story("a send m, a receive m, a deliver m")
    window = Window("", told, [("0", "2")], late={("a", "m")})
    _, found, arrows = draw_window(window)
    assert ids_with_class(found, "late") == ["w-2"]
    assert [e.get("class") for e in arrows] == ["step", "wait late", "message late"]


def test_a_cause_that_comes_later_is_drawn_and_not_taken_for_a_step() -> None:
    rows = list_rows(events(*TRIANGLE))
    assert DrawnLink("message", 1, 0) in find_links(rows, [("b", "a")])


def test_arrows_lead_from_cause_to_effect() -> None:
    rows = [at("a", "x"), at("b", "y"), at("a", "z")]
    window = Window("", events(*rows), [("x", "y"), ("y", "z")])
    _, found, arrows = draw_window(window)
    places = list_places(found)
    messages = [arrow for arrow in arrows if arrow.get("class") == "message"]
    assert len(messages) == 2
    for arrow in messages:
        numbers = re.findall(r"[\d.]+", arrow.get("d", ""))
        x, y, to_x, to_y = map(float, numbers[:4])
        cause = places[int(arrow.get("data-from", ""))]
        effect = places[int(arrow.get("data-to", ""))]
        assert (x, y) == pytest.approx(cause, abs=6)
        assert (to_x, to_y) == pytest.approx(effect, abs=6)


def test_where_nothing_is_delivered_a_receive_is_an_event_like_others() -> None:
    rows = [
        at("a", "0", "send", "m"),
        at("b", "1", "receive", "m"),
        at("b", "2", "send", "n"),
    ]
    assert find_links(list_rows(events(*rows)), [("0", "1")]) == [
        DrawnLink("step", 1, 2),
        DrawnLink("message", 0, 1),
    ]


def test_causes_outside_the_window_are_stubs() -> None:
    rows = events(at("a", "x"), at("b", "y"))
    edges = [("gone", "x"), ("y", "later"), ("no", "nor")]
    root, _, _ = draw_window(Window("", rows, edges))
    stubs = [e for e in root.iter(f"{SVG}path") if e.get("class") == "message"]
    assert list_ends(stubs) == [(None, "0"), ("1", None)]
    for stub in stubs:
        start, end, *_ = re.findall(r"[ML][\d.-]+ ([\d.-]+)", stub.get("d", ""))
        assert float(start) < float(end)


def test_events_without_process_have_no_line_and_no_order() -> None:
    rows = [at(None, "x"), at(None, "y"), at("p", "z")]
    root, found, arrows = draw_window(Window("", events(*rows), [("x", "y")]))
    lives = root.find(f".//{SVG}g[@class='lives']")
    assert lives is not None and len(lives) == 1
    assert len(found) == 3
    assert [e.get("class") for e in arrows] == ["message"]
    assert list_ends(arrows) == [("0", "1")]


def test_executions_do_not_share_lines() -> None:
    rows = [at("p", "x", execution="one"), at("p", "y", execution="two")]
    root, _, arrows = draw_window(Window("", events(*rows)))
    assert not arrows
    assert "p · two" in list_titles(root)


def test_no_events_and_nothing_known() -> None:
    assert draw_window(Window("", events()))[1] == []
    assert len(draw_window(Window("", events({}, {})))[1]) == 2


@pytest.mark.parametrize("column", ["process", "event", "message", "text", "file", "execution"])
def test_hostile_text_stays_text(column) -> None:
    row = at("p", "e", "send", "m") | {column: HOSTILE}
    row |= {"fields": [(HOSTILE, HOSTILE)], "clock": [(HOSTILE, 1)]}
    window = Window(HOSTILE, events(row))
    root, found, _ = draw_window(window)
    assert len(found) == 1
    tags = {e.tag.removeprefix(SVG) for e in root.iter()}
    assert tags <= {"svg", "g", "path", "rect", "circle", "text", "title"}
    assert not set("\x00\x1b\u202e") & set(render_svg(window))


def test_dot_names_causes_from_the_events_themselves() -> None:
    text = render_dot(events(*TRIANGLE), late={("p3", "x")})
    found = re.findall(r"n(\d) -> n(\d)", text)
    steps = [("0", "1"), ("2", "3"), ("4", "5")]
    messages = [("0", "5"), ("1", "2"), ("3", "4")]
    assert set(found) == {*steps, *messages}
    assert text.count("subgraph cluster_") == 3
    assert re.search(r'n0 -> n5 \[color="#c4281c"\]', text)
    assert '"p3 delivers x (c.log:9)"' in text


def test_dot_follows_parents() -> None:
    rows = events(at(None, "x"), at(None, "y", parents=["x", "gone"]))
    text = render_dot(rows, ghosts={"x"})
    assert re.findall(r"n\d -> n\d", text) == ["n0 -> n1"]
    assert "cluster" not in text and "dashed" in text


def test_dot_quotes_hostile_text() -> None:
    text = render_dot(events(at(HOSTILE, "e", text=HOSTILE, file=HOSTILE)))
    assert re.sub(r'"(?:[^"\\]|\\["\\])*"', "S", text).split("\n")[2:5] == [
        "  subgraph cluster_0 {", "    label=S;", "    n0 [label=S];",
    ]  # fmt: skip
    assert "&amp;" in text and "\\\\N" in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz: `dot` is not on the path")
def test_graphviz_reads_it() -> None:
    window = Run(5, 5, 60).window()
    plain = run_graphviz("plain", render_dot(window.events, window.edges))
    assert plain.count("\nnode ") == 60
    row = at(HOSTILE, "e", text=HOSTILE)
    assert "<script" not in run_graphviz("svg", render_dot(events(row)))


def run_graphviz(form, text):
    command = ["dot", f"-T{form}"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout

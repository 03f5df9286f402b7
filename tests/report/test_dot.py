"""DOT: what is drawn, from what, and that a log cannot break out of it."""

import re
import shutil
import subprocess

import pytest

from antecede.report.dot import render_dot
from antecede.report.window import DrawnLink, list_drawn_links, list_event_rows
from tests.report.samples import ARROWS, TRIANGLE, Run, at, events, story

HOSTILE = '</title></svg><script>alert(1)</script>"\'&\x00\x1b\u202e\n]]>\\N\\" -> x;'


def ends_of_kind(links, kind):
    return {link[1:] for link in links if link.kind == kind}


def test_links_are_steps_and_messages() -> None:
    steps = [("a", "b"), ("a", "f")]
    assert list_drawn_links(list_event_rows(events(*TRIANGLE)), ARROWS + steps) == [
        DrawnLink("step", 0, 1),
        DrawnLink("step", 2, 3),
        DrawnLink("step", 4, 5),
        DrawnLink("message", 0, 5),
        DrawnLink("message", 1, 2),
        DrawnLink("message", 3, 4),
    ]


def test_an_arrival_waits_for_its_delivery_and_causes_nothing_else() -> None:
    told = "a send m, a send n, b receive n, b send k, b receive m, b deliver m, b deliver n, b receive m"
    found = list_drawn_links(list_event_rows(story(told)), [("0", "5"), ("1", "6")])
    assert ends_of_kind(found, "step") == {(0, 1), (3, 5), (5, 6)}
    assert ends_of_kind(found, "wait") == {(4, 5), (2, 6)}
    assert ends_of_kind(found, "message") == {(0, 4), (1, 2), (0, 7)}


def test_who_is_delivered_twice_waited_once() -> None:
    rows = list_event_rows(story("a send m, b receive m, b deliver m, b deliver m"))
    found = list_drawn_links(rows, [("0", "2"), ("0", "3")])
    assert ends_of_kind(found, "wait") == {(1, 2)}
    assert ends_of_kind(found, "message") == {(0, 1), (0, 3)}


def test_a_cause_that_comes_later_is_drawn_and_not_taken_for_a_step() -> None:
    rows = list_event_rows(events(*TRIANGLE))
    assert DrawnLink("message", 1, 0) in list_drawn_links(rows, [("b", "a")])


def test_where_nothing_is_delivered_a_receive_is_an_event_like_others() -> None:
    rows = [
        at("a", "0", "send", "m"),
        at("b", "1", "receive", "m"),
        at("b", "2", "send", "n"),
    ]
    assert list_drawn_links(list_event_rows(events(*rows)), [("0", "1")]) == [
        DrawnLink("step", 1, 2),
        DrawnLink("message", 0, 1),
    ]


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

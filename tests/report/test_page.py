"""The page as text: all counts are there, nothing is loaded, nothing in a log can break out."""

import base64
import html
import re
import xml.etree.ElementTree as ET
import zlib

import pyarrow as pa
import pytest

import antecede
from antecede.auditing import views
from antecede.auditing.sentences import KINDS
from antecede.report import page
from antecede.report.findings import LISTED_FINDINGS, SHOWN_FINDINGS
from antecede.report.gravity import GROUPS
from antecede.report.page import render_page
from antecede.tables import MARKS
from tests.report.samples import LATE, TRIANGLE, Run, at, audit_page, events, findings, view_of

HOSTILE = "</script></style></title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\u202e"
LOST = [
    {
        "kind": "lost",
        "process": "p2",
        "message": f"m{i}",
        "sentence": f"p2 never delivered m{i}.",
        "events": [],
    }
    for i in range(1234)
]


def parse_page(text):
    """The page must be well-formed XML too, but for what stands in its style and its scripts."""
    bare = re.sub(r"(?s)<(style|script)\b[^>]*>.*?</\1>", "", text.replace("<!DOCTYPE html>", ""))
    return ET.fromstring(bare)


def join_words(element):
    return " ".join("".join(element.itertext()).split())


def build_page(rows=(), table=None, verdict="found", totals=None, title="a title"):
    view = view_of(events() if table is None else table)
    return render_page(verdict, totals or {}, findings(*rows), view, title)


def read_block(text, name):
    """What is inside a block of numbers of one byte, or of text."""
    (found,) = re.findall(f'<script type="text/plain" id="block-{name}"[^>]*>([^<]*)</script>', text)
    return zlib.decompress(base64.b64decode(found))


def test_verdict_totals_and_counts_are_shown() -> None:
    totals: dict[str, str | int] = {"events": 1234567, "log": "a <b>.log"}
    root = parse_page(build_page([LATE, *LOST], events(*TRIANGLE), "1,235 findings", totals, "Audit of x"))
    assert [join_words(e) for e in root.iter("h1")] == ["Audit of x"]
    assert [join_words(e) for e in root.findall(".//p[@class='verdict bad']")] == ["1,235 findings"]
    assert [join_words(e) for e in root.iter("dd")] == ["1,234,567", "a <b>.log"]
    headings = [join_words(e) for e in root.iter("h2")]
    assert headings == ["Overview 6 events", "Picture", "Findings 1,235"]


def test_the_worst_kind_comes_first_however_few_there_are() -> None:
    odd = {**LATE, "kind": "odd"}
    times = [{**LATE, "kind": "timestamp"}] * 3
    root = parse_page(build_page([odd, *times, *LOST[:2], LATE]))
    expected = ["late 1", "lost 2", "timestamp 3", "odd 1"]
    assert [join_words(e) for e in root.findall(".//ul[@class='kinds']/li")] == expected
    assert [join_words(e) for e in root.iter("h3")] == expected


def test_every_kind_belongs_to_one_group() -> None:
    kinds = [kind for group in GROUPS.values() for kind in group]
    assert sorted(kinds) == sorted(KINDS)


def test_long_lists_are_folded_and_what_is_not_there_is_counted() -> None:
    root = parse_page(build_page(LOST))
    group = root.find(".//section[@id='kind-0']")
    assert group is not None
    fold = group.find("details")
    assert fold is not None and join_words(fold[0]) == f"show all {LISTED_FINDINGS}"
    assert len(fold.findall("ol/li")) == LISTED_FINDINGS - SHOWN_FINDINGS
    assert len(group.findall("ol/li")) == SHOWN_FINDINGS
    assert f"{1234 - LISTED_FINDINGS} more are not on this page" in join_words(group)
    assert parse_page(build_page(LOST[:SHOWN_FINDINGS])).find(".//details") is None


def test_findings_that_were_not_handed_over_are_counted() -> None:
    some = findings(LATE, {**LATE, "kind": "lost"}, {**LATE, "kind": "lost"})
    text = render_page("12 findings", {}, some, view_of(events()), "a log", {"late": 10, "lost": 2})
    assert "<h2>Findings <b>12</b></h2>" in text
    assert "<h3>late <b>10</b></h3>" in text and "9 more are not on this page" in text


def test_a_finding_knows_the_rows_of_its_witness() -> None:
    done = audit_page(events(*TRIANGLE))
    root = parse_page(done.text)
    (late,) = [
        e
        for e in root.findall(".//ol/li")
        if "p3 delivered z before x" in join_words(e).replace(" (c.log:7)", "")
    ]
    rows = [int(row) for row in late.get("data-rows", "").split()]
    names = done.view.events["event"].to_pylist()
    assert [names[row] for row in rows] == ["a", "b", "c", "d", "e", "f"]
    assert [a.get("href") for a in late.iter("a")] == [f"#picture-{late.get('id', '').partition('-')[2]}"]


def test_a_witness_that_the_page_does_not_hold_is_named() -> None:
    assert "witness: a → b → c → d → e → f (not in this page)" in build_page([LATE])
    two = events(*(at("p", e, execution="two") for e in "abcdef"))
    assert "(not in this page)" in build_page([LATE | {"execution": "one"}], two)
    assert "(not in this page)" not in build_page([LATE | {"execution": "two"}], two)


def test_clean_empty_and_unsure() -> None:
    clean = parse_page(build_page([], None, "clean"))
    assert clean.find(".//p[@class='verdict good']") is not None and "No findings." in join_words(clean)
    assert "No events were drawn." in join_words(clean) and clean.find(".//canvas") is None
    unsure = parse_page(build_page([], None, "3 rows in quarantine"))
    assert unsure.find(".//p[@class='verdict open']") is not None


def test_findings_without_anything_known() -> None:
    assert len(parse_page(build_page([{}, {"kind": "odd"}])).findall(".//ol/li")) == 2


def test_the_largest_line_number_is_shown(tmp_path) -> None:
    table = pa.table({"process": ["a", "b"], "file": ["f", None], "line": [-1, 2**63 - 1]})
    antecede.audit(table).page(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size


def test_charts_count_by_time_process_and_channel() -> None:
    done = audit_page(events(*TRIANGLE))
    root = parse_page(done.text)
    boxes = {join_words(box[0]): box for box in root.findall(".//div[@class='chart-box']")}
    assert list(boxes) == ["over the course of each process", "by process", "by channel"]
    bars = {name: [join_words(row) for row in box.iter("tr")] for name, box in boxes.items()}
    late = [row for row in done.findings.to_pylist() if row["kind"] == "late"]
    assert len(late) == 1
    assert bars["by process"][0].startswith("p3") and bars["by process"][0].endswith("1")
    assert bars["by channel"][0].startswith("p1 → p3")


def test_the_chart_over_time_has_every_finding_in_its_column() -> None:
    row = {"kind": "late", "execution": "", "process": "p", "message": "m"}
    table = events(*(at("p", f"e{i}", time=float(i * 100), execution="") for i in range(61)))
    marks = pa.Table.from_pylist([{**row, "events": [f"e{i}"]} for i in (0, 0, 30, 60)], MARKS)
    view = view_of(table)
    text = render_page("v", {}, findings(), view.__class__(table, view.links, marks, table), "t", {"late": 4})
    root = parse_page(text)
    titles = [title.text for title in root.findall(".//{*}svg[@class='times']//{*}title")]
    assert titles == [
        "0.000 s to 0.100 s: 2 order",
        "3.000 s to 3.100 s: 1 order",
        "5.900 s to 6.000 s: 1 order",
    ]


def test_findings_that_are_only_counted_are_told_beside_the_charts() -> None:
    done = audit_page(events(*TRIANGLE))
    text = render_page("v", {}, done.findings, done.view, "t", {"late": 40})
    shown = len(done.view.marks)
    assert f"show {shown} findings" in text and f"{40 - shown} more are only counted" in text


def test_what_makes_a_page_too_large_is_left_out_and_named(monkeypatch) -> None:
    table = events(*Run(3, 5, 400).rows)
    whole = audit_page(table)
    monkeypatch.setattr(page, "LARGEST_PAGE", len(whole.text.encode()) + page.FRAME - 2000)
    smaller = audit_page(table)
    assert len(smaller.text.encode()) <= page.LARGEST_PAGE
    assert 'id="block-clock"' in whole.text and "Left out" not in whole.text
    assert 'id="block-clock"' not in smaller.text
    assert "Left out, since the page would be larger than 30 MB: clocks of events." in smaller.text


def test_of_a_large_log_the_page_holds_what_surrounds_findings_and_says_so(monkeypatch) -> None:
    sends = [at("p1", f"s{i}", "send", f"m{i}", index=i) for i in range(300)]
    got = [1, 0, *range(2, 300)]
    table = events(*sends, *(at("p2", f"d{i}", "deliver", f"m{m}", index=i) for i, m in enumerate(got)))
    whole = audit_page(table)
    monkeypatch.setattr(views, "HELD_EVENTS", 500)
    part = audit_page(table)
    assert len(part.view.events) < 300 < len(whole.view.events) == 600
    assert f"This page holds {len(part.view.events)} of the 600 events" in part.text
    assert "(not in this page)" not in part.text
    assert parse_page(part.text).findall(".//div[@class='chart-box']//tr"), "charts are of the whole log"


def test_ghosts_stand_before_what_names_them() -> None:
    done = audit_page(
        events(at("a", "x"), at("b", "y", parents=["gone"]), at("b", "z", parents=["gone", "x"]))
    )
    names, kinds = done.view.events["event"].to_pylist(), done.view.events["kind"].to_pylist()
    assert names.index("gone") == min(names.index("y"), names.index("z")) - 1
    assert kinds[names.index("gone")] == "ghost"
    links = {(names[row["source"]], names[row["target"]]) for row in done.view.links.to_pylist()}
    assert {("gone", "y"), ("gone", "z"), ("x", "z")} <= links


def test_nothing_is_loaded_from_anywhere() -> None:
    text = audit_page(events(*TRIANGLE)).text
    assert not re.findall(
        r"(?i)@import|url\(|<link|<iframe|<img|<base|\bfetch\(|XMLHttpRequest|import\(|innerHTML|eval\(", text
    )
    root = parse_page(text)
    names = [name for e in root.iter() for name in e.attrib if name in ("src", "href", "srcset", "action")]
    assert set(names) == {"href"}
    assert all(e.get("href", "#").startswith("#") for e in root.iter())
    assert set(re.findall(r"https?://[^\s\"']*", text)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("text", [HOSTILE, "\u2028]]><!--", "javascript:alert(1)"])
def test_hostile_text_stays_text(text) -> None:
    finding = dict.fromkeys(("kind", "execution", "process", "message", "sentence", "file"), text)
    row = dict.fromkeys(("execution", "process", "event", "message", "text", "file"), text)
    row |= {"fields": [(text, text)], "clock": [(text, 1)], "kind": "send"}
    plain = build_page([{"kind": "k", "events": ["e"]}], events(at("p", "e")), "v", {"t": 1})
    hostile = build_page([finding | {"events": [text, "no"]}], events(row), text, {text: text}, text)
    assert hostile.count("<script") == plain.count("<script")
    assert {e.tag for e in parse_page(hostile).iter()} == {e.tag for e in parse_page(plain).iter()}
    names = {name for e in parse_page(hostile).iter() for name in e.attrib}
    assert not [name for name in names if name.startswith("on")]
    assert not {"\x00", "\u202e", "\u2028"} & set(hostile)
    assert text.encode() in read_block(hostile, "message-texts"), "the block has the name, and nobody runs it"


def test_the_policy_knows_the_script_by_its_hash() -> None:
    text = build_page()
    policy = html.unescape(re.search('Content-Security-Policy" content="([^"]*)"', text)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert re.search("script-src 'sha256-[A-Za-z0-9+/=]{44}'", policy)

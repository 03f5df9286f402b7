"""The page as text: all counts are there, nothing is loaded, nothing in a log can break out."""

import html
import re
import xml.etree.ElementTree as ET

import pytest

from antecede.report.findings import LISTED_FINDINGS, SHOWN_FINDINGS
from antecede.report.page import render_page
from antecede.tables import Window
from tests.report.samples import LATE, Run, at, events, findings, triangle

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
    """The page must be well-formed XML too, but for what stands in its style and its script."""
    return ET.fromstring(re.sub("(?s)<(style|script)>.*?</\\1>", "", text.replace("<!DOCTYPE html>", "")))


def join_words(element):
    return " ".join("".join(element.itertext()).split())


def build_page(rows=(), windows=(), verdict="found", totals=None, title="a title"):
    return render_page(verdict, totals or {}, findings(*rows), list(windows), title)


def test_verdict_totals_and_counts_are_shown() -> None:
    totals: dict[str, str | int] = {"events": 1234567, "log": "a <b>.log"}
    root = parse_page(build_page([LATE, *LOST], [triangle()], "1,235 findings", totals, "Audit of x"))
    assert [join_words(e) for e in root.iter("h1")] == ["Audit of x"]
    assert [join_words(e) for e in root.findall(".//p[@class='verdict bad']")] == ["1,235 findings"]
    assert [join_words(e) for e in root.iter("dd")] == ["1,234,567", "a <b>.log"]
    assert [join_words(e) for e in root.iter("h2")] == ["Findings 1,235", "Pictures 1"]
    assert [join_words(e) for e in root.iter("h3")] == ["lost 1,234", "late 1", "1. the triangle 6 events"]
    assert [join_words(e) for e in root.findall(".//ul[@class='kinds']/li")] == ["lost 1,234", "late 1"]


def test_long_lists_are_folded_and_what_is_not_there_is_counted() -> None:
    root = parse_page(build_page(LOST))
    group = root.find(".//section[@id='kind-0']")
    assert group is not None
    fold = group.find("details")
    assert fold is not None and join_words(fold[0]) == f"show all {LISTED_FINDINGS}"
    assert (
        len(fold.findall("ol/li")) == LISTED_FINDINGS - SHOWN_FINDINGS
        and len(group.findall("ol/li")) == SHOWN_FINDINGS
    )
    assert f"{1234 - LISTED_FINDINGS} more are not on this page" in join_words(group)
    assert parse_page(build_page(LOST[:SHOWN_FINDINGS])).find(".//details") is None


def test_a_finding_links_to_its_witness() -> None:
    root = parse_page(build_page([LATE], [Run(1, 2, 5).window(), triangle()]))
    links = [a.get("href", "") for a in root.findall(".//ol//a")]
    assert links == ["#w1-0-1-2-3-4-5", *(f"#w1-{i}" for i in range(6))]
    identities = {e.get("id") for e in root.iter()}
    assert set(links[1:]) <= {f"#{i}" for i in identities}
    assert join_words(root.findall(".//ol//a")[6]) == "p3 delivers x"


def test_a_witness_that_is_not_drawn_is_named() -> None:
    assert "witness: a → b → c → d → e → f (not drawn)" in build_page([LATE])
    other = Window("", events(*(at("p", e, execution="two") for e in "abcdef")))
    assert "(not drawn)" in build_page([LATE | {"execution": "one"}], [other])
    assert "(not drawn)" not in build_page([LATE | {"execution": "two"}], [other])


def test_clean_empty_and_unsure() -> None:
    clean = parse_page(build_page([], [Window("nothing", events())], "clean"))
    assert clean.find(".//p[@class='verdict good']") is not None and "No findings." in join_words(clean)
    assert "No events." in join_words(clean) and clean.find(".//{*}svg") is None
    assert (
        parse_page(build_page([], [], "3 rows in quarantine")).find(".//p[@class='verdict open']") is not None
    )


def test_findings_without_anything_known() -> None:
    assert len(parse_page(build_page([{}, {"kind": "odd"}])).findall(".//ol/li")) == 2


def test_windows_say_what_they_leave_out() -> None:
    root = parse_page(build_page([], [triangle("1,994 of 2,000 events are left out."), triangle()]))
    notes = [join_words(e) for e in root.findall(".//figcaption/p[@class='left']")]
    assert notes[0].startswith("1,994 of 2,000 events are left out.") and notes[1] == "Nothing is left out."


def test_nothing_is_loaded_from_anywhere() -> None:
    text = build_page([LATE], [triangle()])
    assert not re.findall(
        r"(?i)@import|url\(|<link|<iframe|<img|<base|\bfetch\(|XMLHttpRequest|import\(", text
    )
    root = parse_page(text)
    names = [name for e in root.iter() for name in e.attrib if name in ("src", "href", "srcset", "action")]
    assert set(names) == {"href"}
    assert all(e.get("href", "#").startswith("#") for e in root.iter())
    assert set(re.findall(r"https?://[^\s\"']*", text)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("text", [HOSTILE, "\u2028]]><!--", "javascript:alert(1)"])
def test_hostile_text_stays_text(text) -> None:
    finding = dict.fromkeys(("kind", "execution", "process", "message", "sentence", "file"), text)
    row = dict.fromkeys(("process", "event", "message", "text", "file"), text) | {"fields": [(text, text)]}
    plain = build_page([{"kind": "k", "events": ["e"]}], [Window("w", events(at("p", "e")))], "v", {"t": 1})
    other = Window(text, events(row | {"execution": text}), [], {(text, text)}, {text}, text)
    hostile = build_page([finding | {"events": [text, "no"]}], [other], text, {text: text}, text)
    assert hostile.count("<script") == plain.count("<script") == 1
    assert {e.tag for e in parse_page(hostile).iter()} == {e.tag for e in parse_page(plain).iter()}
    names = {name for e in parse_page(hostile).iter() for name in e.attrib}
    assert not [name for name in names if name.startswith("on")]
    assert not {"\x00", "\u202e", "\u2028"} & set(hostile)


def test_the_policy_knows_the_script_by_its_hash() -> None:
    text = build_page()
    policy = html.unescape(re.search('Content-Security-Policy" content="([^"]*)"', text)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert re.search("script-src 'sha256-[A-Za-z0-9+/=]{44}'", policy)


def test_findings_that_were_not_handed_over_are_counted() -> None:
    some = findings(LATE, {**LATE, "kind": "lost"}, {**LATE, "kind": "lost"})
    text = render_page("12 findings", {}, some, [], "a log", {"late": 10, "lost": 2})
    assert "<h2>Findings <b>12</b></h2>" in text
    assert "<h3>late <b>10</b></h3>" in text and "9 more are not on this page" in text
    assert text.index("<h3>late") < text.index("<h3>lost")

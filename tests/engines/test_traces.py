"""What an audit tells of traces: why parents are missing, which traces are complete, links as causes."""

from pathlib import Path

import pytest

from tests.engines.engines import rows_of
from tests.formats.samples import lines, otlp

LONG, CUT = "7ca373f7c7e0f17df9965485593768ce", "f9965485593768ce"
MS = 1_000_000


def span(trace, name, parent=None, start=0, end=1, **more):
    found = {"traceId": trace, "spanId": name, "name": name, "kind": 1, **more}
    found |= {"startTimeUnixNano": str(10**18 + start * MS), "endTimeUnixNano": str(10**18 + end * MS)}
    return found if parent is None else found | {"parentSpanId": parent}


@pytest.fixture
def judge(engine, monkeypatch, tmp_path):
    """Reads files of spans, a line for each, and audits them."""
    monkeypatch.chdir(tmp_path)

    def run(**files):
        for name, spans in files.items():
            Path(name).write_text(lines(*(otlp([one]) for one in spans)))
        return engine.audit(engine.read_logs(sorted(files)).events)

    return run


def explain(results):
    return {row["events"][-1]: (row["reason"], row["sentence"]) for row in rows_of(results.findings)}


def test_why_a_parent_is_missing(judge):
    results = judge(
        a=[
            span(LONG, "root", end=10),
            span(LONG, "call", "root", end=9),
            span(CUT, "cut", "call", end=2),
            span("o", "other", "root", end=2),
            span("s", "left", "gone", end=2, traceState="x=1,ot=th:8"),
            span("n", "never", "gone", end=2),
            span("l", "late", "gone", start=95, end=100),
        ]
    )
    found = explain(results)
    names = {name: f"start of span {name}" for name in ("cut", "other", "left", "never", "late")}
    assert {name: found[id][0] for name, id in names.items()} == {
        "cut": "cut-id",
        "other": "other-execution",
        "left": "sampled",
        "never": "not-found",
        "late": "later",
    }
    tails = {name: found[id][1].partition(" as its cause, which is ")[2] for name, id in names.items()}
    assert tails == {
        "cut": f"in trace {LONG} (a:2): {CUT} is what is left of {LONG}",
        "other": f"not there but in trace {LONG} (a:1)",
        "left": "not in the log: traces were sampled (traceState ot=th:8), and it may have been left out",
        "never": "not in the log",
        "late": "not in the log and may still come: its trace was active 0 ms before the log ends, and a "
        "complete one takes up to 10 ms",
    }
    assert results.summary.counts == {"missing": 5}
    assert results.summary.reasons == dict.fromkeys(
        ["cut-id", "other-execution", "sampled", "later", "not-found"], 1
    )
    assert results.summary.traces == {"complete": 1, "running": 1, "broken": 4}


def test_a_parent_that_comes_in_a_later_file_is_not_missing(judge):
    results = judge(a=[span("t", "child", "root")], b=[span("t", "root")])
    assert results.summary.counts == {} and results.summary.traces == {
        "complete": 1,
        "running": 0,
        "broken": 0,
    }
    (totals,) = rows_of(results.totals)
    assert (totals["spans"], totals["roots"], totals["since"]) == (2, 1, 1e12)
    assert totals["until"] == pytest.approx(1e12 + 1)


def test_links_are_causes(judge):
    links = [{"traceId": "p1", "spanId": "a"}, {"traceId": "p2", "spanId": "a"}]
    batch = span("c", "batch", start=5, end=6, links=links)
    results = judge(
        a=[span("p1", "a", start=7, end=8), span("p2", "a", start=1, end=2), span("x", "alone")], b=[batch]
    )
    assert results.summary.executions == 2
    (found,) = rows_of(results.findings)
    assert (found["kind"], found["execution"]) == ("timestamp", "c and 2 more")
    assert found["events"] == ["start of span a of trace p1", "start of span batch of trace c"]
    assert found["sentence"].startswith(
        "By their times shop's start of span batch of trace c (b:1) came 2 ms before"
    )
    assert results.summary.totals["ordered_pairs"] == 3 + 4 + 1


def test_a_link_to_a_trace_that_is_not_in_the_log(judge):
    results = judge(a=[span("c", "batch", links=[{"traceId": "p", "spanId": "a"}])])
    (found,) = rows_of(results.findings)
    assert (found["kind"], found["execution"], found["reason"]) == ("missing", "c", "not-found")
    assert found["events"][0] == "start of span a of trace p"


def test_a_missing_parent_is_found_in_traces_that_are_linked(judge):
    results = judge(
        a=[
            span("c", "batch", links=[{"traceId": "p", "spanId": "a"}]),
            span("p", "a"),
            span("o", "other", "batch"),
        ]
    )
    (found,) = rows_of(results.findings)
    assert (found["reason"], found["sentence"].rpartition(", ")[2]) == (
        "other-execution",
        "which is not there but in trace c (a:1)",
    )


def test_other_logs_have_no_traces(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(lines({"process": "a", "event": "e", "parents": ["gone"], "time": 5}))
    results = engine.audit(engine.read_logs(["log"]).events)
    (totals,) = rows_of(results.totals)
    assert (totals["spans"], totals["roots"], totals["until"]) == (None, None, 5.0)
    assert (results.summary.traces, results.summary.reasons) == ({}, {"not-found": 1})

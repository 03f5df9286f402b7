"""Formats whose events name their parents: X-Trace, CloudEvents, Matrix, spans, editing traces."""

import json

import pytest

from tests.formats.samples import JAEGER, OTLP_SPANS, SAMPLES, events_as_rows, lines, otlp, parse, rows


def parents(found):
    return {row["event"]: row["parents"] for row in found}


def test_xtrace():
    first, second = rows(SAMPLES["xtrace"])
    assert (first["event"], first["parents"], first["execution"], first["text"]) == ("aa", [], "T", "start")
    assert second["parents"] == ["aa"] and second["index"] is None
    task = {
        "id": "T",
        "reports": [
            {"EventID": ["aa"], "ParentEventID": "00"},
            {"EventID": "b", "ParentEventID": ["aa", "c"]},
        ],
    }
    found = rows(json.dumps(task, indent=1))
    assert parents(found) == {"aa": [], "b": ["aa", "c"]}
    assert [(row["execution"], row["line"]) for row in found] == [("T", 4), ("T", 10)]


def test_a_report_without_an_id_goes_to_quarantine():
    parsed = parse(lines({"EventID": "a", "ParentEventID": []}, {"ParentEventID": ["a"]}))
    assert [row["event"] for row in events_as_rows(parsed)] == ["a"]
    assert parsed.quarantine["reason"].to_pylist() == ["no EventID"]


def event(name, source="/s", cause=None, correlation="k", **more):
    found = {"specversion": "1.0", "id": name, "source": source, "type": "t", "correlationid": correlation}
    return found | ({} if cause is None else {"causationid": cause}) | more


def test_cloudevents():
    first, second = rows(SAMPLES["cloudevents"])
    assert (first["event"], first["process"], first["execution"], first["parents"]) == ("1", "/shop", "k", [])
    assert second["parents"] == ["1"] and second["text"] == "paid"
    assert len(rows(json.dumps([event("1"), event("2")]))) == 2


def test_an_id_of_two_sources_is_ambiguous_inside_a_correlation_only():
    found = rows(
        lines(event("1", "/a"), event("1", "/b"), event("2", "/c", "1"), event("1", "/a", correlation="l"))
    )
    assert [row["event"] for row in found] == ["/a#1", "/b#1", "2", "1"]
    assert found[2]["parents"] == ["/a#1", "/b#1"]
    assert found[2]["fields"] == {"causationid": "1", "ambiguous": "causationid 1 names /a#1, /b#1"}
    assert found[0]["fields"] == {"id": "1"}
    assert found[3]["fields"] is None


def test_an_event_is_not_its_own_cause_if_another_has_the_id():
    found = rows(lines(event("1", "/a"), event("1", "/b", "1")))
    assert parents(found) == {"/a#1": [], "/b#1": ["/a#1"]}
    assert "ambiguous" not in (found[1]["fields"] or {})
    assert parents(rows(lines(event("1", cause="1")))) == {"1": ["1"]}


def test_the_same_event_twice_and_an_unknown_cause_are_passed_on():
    found = rows(lines(event("1"), event("1"), event("2", cause="9")))
    assert [(row["event"], row["parents"]) for row in found] == [("1", []), ("1", []), ("2", ["9"])]


def test_sequence_of_cloudevents():
    numbers = [event(str(i), sequence=s, sequencetype="Integer") for i, s in enumerate(["10", "9", "1"])]
    words = [event(str(i), "/w", sequence=s) for i, s in enumerate(["b", "c", "a"])]
    half = [event("7", "/h", sequence="1"), event("8", "/h")]
    assert [row["index"] for row in rows(lines(*numbers, *words, *half))] == [2, 1, 0, 1, 2, 0, None, None]


def test_matrix():
    found = rows(SAMPLES["matrix-events"])
    assert parents(found) == {"$1": [], "$2": ["$1"]}
    assert [(row["process"], row["execution"]) for row in found] == [("x.org", "!r"), ("y.org:8448", "!r")]
    old = {
        "event_id": "$3",
        "prev_events": [["$2", {"sha256": "x"}]],
        "origin": "z.org",
        "origin_server_ts": 5,
    }
    (row,) = rows(json.dumps({"origin": "z.org", "pdus": [old]}))
    assert (row["parents"], row["process"], row["time"]) == (["$2"], "z.org", 5.0)
    assert len(rows('{"pdus": [\n' + json.dumps(old) + "\n]}")) == 1
    parsed = parse(lines(old, {"event_id": "$4", "prev_events": "$3"}))
    assert parsed.quarantine["reason"].to_pylist() == ["prev_events is no list"]


SPAN_PARENTS = {
    "start of span c": [],
    "end of span c": ["start of span c", "end of span s"],
    "start of span s": ["start of span c", "start of span x"],
    "end of span s": ["start of span s"],
}


def test_otlp():
    found = rows(SAMPLES["otlp"])
    linked = ["start of span y of trace u"]
    assert parents(found) == SPAN_PARENTS | {"start of span s": SPAN_PARENTS["start of span s"] + linked}
    assert [row["kind"] for row in found] == ["send", "receive", "receive", "send"]
    assert {row["process"] for row in found} == {"shop"}
    assert {row["execution"] for row in found} == {"t"}
    assert (
        found[0]["time"] == pytest.approx(1.7e12)
        and found[0]["fields"]["startTimeUnixNano"] == "1700000000000000001"
    )
    assert found[2]["fields"]["http.method"] == "GET"
    assert found[2]["time"] < found[0]["time"], "skewed clocks are not repaired"
    assert [row["index"] for row in found] == [None] * 4
    text = SAMPLES["otlp"].decode().split("\n")
    assert all(text[row["line"] - 1].strip() == "{" and '"traceId"' in text[row["line"]] for row in found)


def test_otlp_one_document_per_line_and_bad_spans():
    parsed = parse(
        lines(otlp(OTLP_SPANS[:1]), otlp([OTLP_SPANS[1], {"spanId": "z"}]), {"resourceSpans": 1}) + "{\n"
    )
    assert len(events_as_rows(parsed)) == 4
    refused = sorted((row["line"], row["reason"][:12]) for row in parsed.quarantine.to_pylist())
    assert refused == [(2, "no traceId"), (3, "no list of r"), (4, "not a JSON o")]


def test_a_document_that_is_cut_off_is_one_bad_record():
    parsed = parse(SAMPLES["otlp"][:-20])
    assert parsed.format == "otlp" and parsed.events.num_rows == 0
    assert parsed.quarantine.num_rows == 1
    assert parsed.quarantine["line"].to_pylist() == [1]


def test_jaeger():
    found = rows(json.dumps(JAEGER, indent=1))
    assert parents(found) == SPAN_PARENTS
    assert [row["process"] for row in found] == ["web", "web", "db", "db"]
    assert [row["time"] for row in found] == [1000.0, 1005.0, 900.0, 901.0]
    span = {
        "traceID": "t",
        "spanID": "1",
        "parentSpanID": "0",
        "process": {"serviceName": "w"},
        "startTime": 1,
    }
    (row,) = rows(lines(span))
    assert (row["event"], row["process"], row["parents"]) == ("start of span 1", "w", []), (
        "no duration, no end"
    )


def zipkin(name, kind=None, parent=None, service="w", **more):
    found = {
        "traceId": "t",
        "id": name,
        "timestamp": 5_000,
        "duration": 1_000,
        "localEndpoint": {"serviceName": service},
    }
    return found | ({"kind": kind} if kind else {}) | ({"parentId": parent} if parent else {}) | more


def test_zipkin_shared_ids():
    call = zipkin("1", "CLIENT", "0")
    serve = zipkin("1", "SERVER", "0", "db", shared=True)
    inner = zipkin("2", parent="1", service="db")
    other = zipkin("3", parent="1")
    events = rows(json.dumps([call, serve, inner, other]))
    assert [row["time"] for row in events] == [5.0, 6.0] * 4
    found = parents(events)
    assert found["start of span 1"] == ["start of span 0"] and found["start of span 1 at the server"] == [
        "start of span 1"
    ]
    assert found["end of span 1"] == ["start of span 1", "end of span 1 at the server"]
    assert found["start of span 2"] == ["start of span 1 at the server"] and found["start of span 3"] == [
        "start of span 1"
    ]
    assert parents(rows(json.dumps([serve])))["start of span 1 at the server"] == [
        "start of span 1",
        "start of span 0",
    ]
    del serve["shared"]
    assert "start of span 1 at the server" in parents(rows(json.dumps([[call], [serve]])))


def test_several_spans_of_one_id_stay_apart_and_copies_do_not():
    one = zipkin("1", "SERVER", shared=True)
    two = zipkin("1", "SERVER", shared=True, timestamp=9_000)
    events = [row["event"] for row in rows(json.dumps([one, two, one])) if row["event"].startswith("start")]
    assert events == [
        "start of span 1 at the server",
        "start of span 1 at the server, 2",
        "start of span 1 at the server",
    ]


def test_messaging_has_no_answer():
    found = parents(rows(json.dumps([zipkin("1", "PRODUCER"), zipkin("2", "CONSUMER", "1")])))
    assert found == {
        "start of span 1": [],
        "end of span 1": ["start of span 1"],
        "start of span 2": ["start of span 1"],
        "end of span 2": ["start of span 2"],
    }


def test_editing_traces_plain_and_in_runs():
    txns = [
        {"parents": [], "agent": 0},
        {"parents": [0], "agent": 1},
        {"parents": [0], "agent": 0},
        {"parents": [2, 1], "agent": 0},
    ]
    found = rows(json.dumps({"txns": txns}, indent=1))
    assert parents(found) == {"0": [], "1": ["0"], "2": ["0"], "3": ["2", "1"]}
    assert [row["index"] for row in found] == [0, 0, 1, 2]
    assert found[0]["execution"] == "log"
    runs = [
        {"span": [0, 10**15], "parents": [], "agent": "x", "seqStart": 0},
        {"span": [10**15, 10**15 + 2], "parents": [4], "agent": "y", "seqStart": 0},
    ]
    found = rows(json.dumps({"txns": runs}))
    assert parents(found) == {"4": [], str(10**15 - 1): ["4"], str(10**15 + 1): ["4"]}
    assert [(row["process"], row["index"]) for row in found] == [("x", 0), ("x", 1), ("y", 0)]
    assert found[0]["fields"] == {"span": "0..4"}


def test_bad_transactions():
    txns = [
        {"parents": [], "agent": 0},
        {"parents": [-1], "agent": 0},
        {"agent": 0},
        {"parents": [], "agent": 0, "span": [3, 3]},
        5,
    ]
    parsed = parse(json.dumps({"txns": txns}))
    assert parsed.events.num_rows == 1 and parsed.quarantine.num_rows == 4

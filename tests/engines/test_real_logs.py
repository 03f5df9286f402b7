"""Every real log through both engines: the numbers that others counted, true findings, and no false alarm."""

import json
from typing import Any

import pyarrow as pa
import pytest

from antecede.formats import Settings, read
from tests.engines.engines import LocalEngine, SparkEngine
from tests.formats.samples import DATA, needs_data

pytestmark = needs_data
EXPECTED = json.loads((DATA / "expected.json").read_text()) if DATA.is_dir() else {}
LOGS = EXPECTED.get("vector_clock_logs", [])
GRAPHS = EXPECTED.get("graphs_and_messages", {})
CLEAN = ("editing-traces/friendsforever.json.gz", "tsviz/tsviz_fslock_24t_4sp.log")
SPANS = {
    "zipkin/ascend.json": {"timestamp": 1},
    "zipkin/messaging-kafka.json": {"timestamp": 3},
    "zipkin/skew.json": {"timestamp": 1},
    "zipkin/smartthings-oauth-authorization.json": {"timestamp": 5},
    "zipkin/yelp.json": {"missing": 1},
}
"""Clocks of services differ, and one client did not report: all true."""
LAYOUTS: dict[str, dict[str, str | None]] = {
    file: {} for file in (*CLEAN, *SPANS, "ewd998/trace-unstable.ndjson")
}
LAYOUTS |= {log["file"]: {"regex": log["regex"], "delimiter": log["delimiter"] or None} for log in LOGS}
"""How each log is read."""


def read_events(file: str, **settings: Any) -> pa.Table:
    return read((DATA / file).read_bytes(), file, settings=Settings(**settings)).events


@pytest.fixture(scope="module")
def audited(engine):
    """Audit a file; returns the totals of each execution, and the summary."""

    def run(file, **settings):
        results = engine.audit(read_events(file, **settings))
        totals = {row["execution"]: row for row in results.totals.to_pylist()}
        return totals, results.summary

    return run


@pytest.mark.parametrize("file", sorted({log["file"] for log in LOGS}))
def test_vector_clock_logs_are_clean(audited, file):
    logs = {log["execution"]: log for log in LOGS if log["file"] == file}
    (one, *_) = logs.values()
    totals, brief = audited(file, regex=one["regex"], delimiter=one["delimiter"] or None)
    assert brief.counts == {} and len(brief.sample) == 0
    assert totals.keys() == logs.keys()
    assert brief.executions == len(logs)
    names = {"events": "events", "processes": "hosts", "edges": "cross_host_edges"}
    names |= {name: name for name in ("ordered_pairs", "concurrent_pairs")}
    for execution, log in logs.items():
        assert {own: totals[execution][own] for own in names} == {
            own: log[name] for own, name in names.items()
        }


def test_messages_of_ewd998(audited):
    want = GRAPHS["ewd998/trace-unstable.ndjson"]
    totals, brief = audited("ewd998/trace-unstable.ndjson")
    found = totals[""]
    assert (found["events"], found["processes"]) == (want["events"], want["nodes"])
    assert (found["sends"], found["deliveries"]) == (want["sends"], want["receive_records"])
    assert found["edges"] == want["cross_host_edges"]
    assert found["concurrent_pairs"] == want["concurrent_pairs"]
    assert found["ordered_pairs"] + found["concurrent_pairs"] == want["all_pairs"]
    assert want["fifo_violations"] == want["causal_violations"] == 0
    # Its network lost a message and repeated some; the first token was never sent by anyone.
    found = {"lost": "lost_sends", "orphan": "receives_without_a_send", "duplicate": "repeat_receives"}
    assert brief.counts == {kind: want[name] for kind, name in found.items()}


def test_editing_trace(audited):
    want = GRAPHS["editing-traces/friendsforever.json.gz"]
    totals, _ = audited("editing-traces/friendsforever.json.gz")
    found = totals["friendsforever"]
    assert (found["events"], found["processes"]) == (want["txns"], want["agents"])
    assert found["edges"] == want["cross_agent_edges"]
    assert found["ordered_pairs"] == want["ordered_pairs"]
    assert found["concurrent_pairs"] == want["concurrent_pairs"]


@pytest.mark.parametrize("file", CLEAN)
def test_other_clean_logs(audited, file):
    totals, brief = audited(file)
    assert brief.counts == {} and brief.uncounted == 0 and len(totals) == 1


@pytest.mark.parametrize("file", SPANS)
def test_spans(audited, file):
    totals, brief = audited(file)
    want = EXPECTED["spans"][file]
    assert brief.counts == SPANS[file]
    (found,) = totals.values()
    assert found["processes"] == want["services"]
    assert found["events"] <= 2 * want["spans"]


@pytest.mark.spark
@pytest.mark.parametrize("file", sorted(LAYOUTS))
def test_both_engines_give_the_same_tables_and_windows(spark, file):
    events = read_events(file, **LAYOUTS[file])
    engines = (LocalEngine(), SparkEngine(spark))
    one, two = (engine.audit(events, windows=True).rows() for engine in engines)
    assert one == two


@pytest.mark.spark
def test_huge_executions_give_the_same_tables(spark):
    """All logs at once, each of their executions judged by many tasks."""
    logs = []
    for file, layout in sorted(LAYOUTS.items()):
        events = read_events(file, **layout)
        names = [f"{file} {name or ''}" for name in events["execution"].to_pylist()]
        logs.append(events.set_column(0, "execution", pa.array(names)))
    events = pa.concat_tables(logs)
    one = LocalEngine().audit(events).rows()
    assert one == SparkEngine(spark, huge=0).audit(events).rows()

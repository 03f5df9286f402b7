"""The audit of event logs: numbers that fit a screen, and what is to be drawn."""

from datetime import datetime
from math import inf
from typing import Any

import pyarrow as pa
import pytest

from antecede.auditing import views
from antecede.auditing.judge import TOTALS
from antecede.auditing.views import HELD_EVENTS
from antecede.auditing.windows import DRAWN_NEARBY
from antecede.core.errors import CallerError
from antecede.formats import read
from antecede.tables import EVENTS, FINDINGS
from tests.commands import story
from tests.engines.engines import LocalEngine, SparkEngine
from tests.event_rows import table, talk, without
from tests.formats.samples import lines
from tests.mutations import simulate_log

FEW = {
    "process": ["a", "b", "b", "a"],
    "index": pa.array([0, 1, 0, 1], pa.int32()),
    "kind": ["send", "deliver", "send", "deliver"],
    "message": ["m", "m", "n", "n"],
}


def overtaking(execution: str | None) -> list[dict[str, Any]]:
    """c gets the answer before the question."""
    rows = [
        {"process": "a", "index": 0, "event": "a0", "kind": "send", "message": "m", "receivers": ["b", "c"]},
        {"process": "b", "index": 0, "event": "b0", "kind": "deliver", "message": "m"},
        {"process": "b", "index": 1, "event": "b1", "kind": "send", "message": "n", "receivers": ["c"]},
        {"process": "c", "index": 0, "event": "c0", "kind": "deliver", "message": "n"},
        {"process": "c", "index": 1, "event": "c1", "kind": "deliver", "message": "m"},
    ]
    return [row | {"execution": execution} for row in rows]


def long_log(size: int) -> pa.Table:
    """p1 sends to p2 in order, but for one message that is late; and p3 does things of its own."""
    told = [f"p1 send m{at}" for at in range(size)] + [f"p3 step s{at}" for at in range(size)]
    got = list(range(size))
    got[size // 2], got[size // 2 + 1] = got[size // 2 + 1], got[size // 2]
    rows = story("; ".join([*told, *(f"p2 deliver m{at}" for at in got)]))
    return read(lines(*rows).encode(), "log").events


def many_executions() -> pa.Table:
    """A large execution without a finding, and 500 small ones, of which one names a cause that is absent."""
    rows: list[dict[str, Any]]
    rows = [{"execution": f"x{n:03}", "process": "p", "event": "e", "parents": []} for n in range(500)]
    rows += [
        {"execution": "big", "process": f"p{n % 5}", "event": f"e{n}", "index": n // 5} for n in range(900)
    ]
    rows += [{"execution": "x007", "process": "q", "event": "f", "parents": ["e", "gone"]}]
    return read(lines(*rows).encode(), "log").events


def test_summary(audit_engine):
    rows = [row for number in range(30) for row in overtaking(f"x{number:02}")] + overtaking(None)
    results = audit_engine.audit(table(*rows), sample=3)
    brief = results.summary
    assert brief.executions == 31
    assert brief.counts == {"late": 31}
    assert brief.findings == 31
    assert brief.totals["pairs"] == 31
    assert brief.totals["events"] == 155
    assert brief.uncounted == 0
    assert brief.sample["execution"].to_pylist() == ["", "x00", "x01"]
    assert brief.sample["events"].to_pylist()[0] == ["a0", "b0", "b1", "c0", "c1"]
    assert results.findings.schema.names == FINDINGS.names
    assert results.totals.schema.names == TOTALS.names


def test_an_empty_log(audit_engine):
    brief = audit_engine.audit(EVENTS.empty_table()).summary
    assert (brief.executions, brief.counts, len(brief.sample)) == (0, {}, 0)


def test_the_summary_says_what_is_known(audit_engine):
    plain = simulate_log("matrix", False, rate=150.0)
    talking = simulate_log("matrix", False, workload="conversation", rate=150.0, seed=2)
    both = plain + [row | {"execution": "talk"} for row in talking]
    for rows, wanted in ((plain, False), (both, True)):
        totals = audit_engine.audit(table(*rows)).summary.totals
        assert ("needless_waits" in totals) == wanted == (totals.get("false_pairs", 0) > 0)


def test_few_columns_are_enough_and_infinite_times_are_unknown(audit_engine):
    times = [inf if kind == "send" else -inf for kind in FEW["kind"]]
    brief = audit_engine.audit(pa.table({**FEW, "time": times})).summary
    assert (brief.executions, brief.totals["events"], brief.counts) == (1, 4, {})


def test_processes_without_an_order_are_counted_over_all_executions(audit_engine):
    """Messages were delivered in an order that neither an index nor a clock nor parents tell."""
    rows = overtaking("x") + [
        row | {"index": None, "parents": []} for row in overtaking("y") + overtaking("z")
    ]
    results = audit_engine.audit(table(*rows[5:]))
    assert results.totals["unordered_processes"].to_pylist() == [1, 1]
    unjudged = "late and fifo are not judged in 2 processes: the log does not tell the order of their events"
    assert results.summary.verdict == f"nothing found in 10 events, but {unjudged}"
    assert results.summary.numbers["processes whose events have no order"] == 2
    brief = audit_engine.audit(table(*rows)).summary
    assert brief.verdict == "1 finding: 1 late" and brief.totals["unordered_processes"] == 2
    assert "processes whose events have no order" not in audit_engine.audit(table(*rows[:5])).summary.numbers


def test_timestamps_are_times(audit_engine):
    times = [datetime(2026, 1, 1, 0, 0, kind == "send") for kind in FEW["kind"]]
    brief = audit_engine.audit(pa.table({**FEW, "time": pa.array(times, pa.timestamp("us"))})).summary
    assert brief.counts == {"timestamp": 4}
    assert "1,000 ms" in brief.sample["sentence"][0].as_py()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_and_size(unit):
    two_seconds = pa.array([2 * (kind == "send") for kind in FEW["kind"]], pa.timestamp("s"))
    brief = LocalEngine().audit(pa.table({**FEW, "time": two_seconds.cast(pa.timestamp(unit))})).summary
    assert brief.counts == {"timestamp": 4} and "2,000 ms" in brief.sample["sentence"][0].as_py()
    largest = pa.array([2**62 * (kind == "send") for kind in FEW["kind"]], pa.timestamp(unit))
    assert LocalEngine().audit(pa.table({**FEW, "time": largest})).summary.counts == {"timestamp": 4}


def test_numbers_are_read_from_text_and_names_from_numbers(audit_engine):
    columns = {**FEW, "index": ["0", "1", "0", "1"], "process": [1, 2, 2, 1]}
    results = audit_engine.audit(pa.table(columns | {"message": [7, 7, 8, 9]}))
    assert sorted(row["sentence"] for row in results.findings.to_pylist()) == [
        "1 delivered 9, but the log has no send of it",
        "2 sent 8, which was never delivered",
    ]


def test_a_process_whose_events_have_no_place_is_not_said_to_have_none(audit_engine):
    columns = {"process": ["a", "b"], "kind": ["send", "receive"], "message": ["m", "m"]}
    clocks = pa.array([None, [("a", 1), ("b", 1)]], EVENTS.field("clock").type)
    (sentence,) = audit_engine.audit(pa.table({**columns, "clock": clocks})).findings["sentence"].to_pylist()
    assert sentence.endswith("but no event of a in the log has an index or a clock that counts it")


@pytest.mark.parametrize("count", [-1, 2**62], ids=["negative", "too large"])
def test_a_count_that_is_none_is_refused(audit_engine, count):
    rows = [{"process": "p", "index": at, "clock": [("p", at + 1), ("q", count)]} for at in range(2)]
    with pytest.raises(Exception, match=f"column 'clock' has {count} as .*counts are whole numbers from 0"):
        audit_engine.audit(pa.Table.from_pylist(rows, EVENTS))


def test_clocks_may_be_structs(audit_engine):
    rows = [row | {"clock": None} for row in overtaking(None)]
    counts = [{"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 1}, {"c": 2}]
    clocks = [list(one.items()) for one in counts]
    as_maps = table(*(row | {"clock": clock} for row, clock in zip(rows, clocks, strict=True)))
    structs = pa.array(counts, pa.struct([(name, pa.int32()) for name in "abc"]))
    as_structs = as_maps.set_column(as_maps.column_names.index("clock"), "clock", structs)
    results = audit_engine.audit(as_structs)
    assert results.rows() == audit_engine.audit(as_maps).rows()
    assert results.summary.counts["clock-backwards"] == 2


def test_kinds_may_be_the_words_that_readers_know(audit_engine):
    words = {"send": "Sent", "receive": "RECV", "deliver": "Delivered"}
    plain = audit_engine.audit(table(*overtaking(None)))
    worded = [row | {"kind": words[row["kind"]]} for row in overtaking(None)]
    assert audit_engine.audit(table(*worded)).rows() == plain.rows()


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("clock", r"'clock' is string and must be map<string, ?(bigint|int64)>: cast it first"),
        ("receivers", r"'receivers' is string and must be (array<string>|list<.*string>): cast it first"),
    ],
)
def test_a_column_of_no_use_is_refused(audit_engine, column, sentence):
    with pytest.raises(CallerError, match=sentence):
        audit_engine.audit(pa.table({**FEW, column: ["a:1"] * 4}))


def test_a_large_log_is_drawn_around_its_finding(audit_engine):
    results = audit_engine.audit(long_log(400), windows=True)
    (window,) = results.windows
    ids = window.events["event"].to_pylist()
    place = {event: at for at, event in enumerate(ids)}
    witness = [event for row in results.findings.to_pylist() for event in row["events"]]
    assert len(ids) == DRAWN_NEARBY == len(place)
    assert set(witness) <= set(ids)
    assert window.late == {("p2", "m200")} and window.ghosts == set()
    inside = [(a, b) for a, b in window.edges if a in place and b in place]
    assert inside
    assert all(place[a] < place[b] for a, b in inside)
    assert set(window.events["process"].to_pylist()) == {"p1", "p2"}


def test_windows_of_many_executions(audit_engine):
    events = many_executions()
    (window,) = audit_engine.audit(events, windows=True).windows
    assert window.title == "execution x007" and window.left_out == "500 other executions are not drawn."
    assert window.events["event"].to_pylist() == ["gone", "e", "f"]
    assert window.ghosts == {"gone"}


def test_windows_of_clean_executions(audit_engine):
    events = many_executions()
    clean = events.filter(pa.compute.not_equal(events["execution"], "x007"))
    windows = audit_engine.audit(clean, windows=True).windows
    titles = ["execution big: the beginning", "execution x000", "execution x001"]
    assert [window.title for window in windows] == titles
    assert windows[0].events.num_rows == DRAWN_NEARBY
    assert max(windows[0].events["index"].to_pylist()) == DRAWN_NEARBY // 5 - 1
    assert windows[0].left_out.startswith("800 of the 900 events")


@pytest.mark.spark
def test_all_engines_give_the_same_tables_windows_and_pages(spark, monkeypatch):
    rows = [row for seed in range(6) for row in without(talk(seed, 4, 60, f"x{seed}", 0.2), "parents")]
    rows += without(talk(9, 3, 700, "large", 0.1), "clock")
    rows += [row | {"index": None} for row in without(talk(8, 5, 600, "lines", 0.1), "clock", "parents")]
    # An audit costs Spark much the same whatever is in it, so the long log comes along.
    mixed = pa.concat_tables([table(*rows), long_log(300)], promote_options="default")
    for events, held in ((mixed, HELD_EVENTS), (many_executions(), 300)):
        monkeypatch.setattr(views, "HELD_EVENTS", held)  # fewer than there are: then a page holds a part
        local = LocalEngine().audit(events, windows=True).rows()
        assert local["windows"] and ("This page holds" in local["page"]) == (held == 300)
        assert local == SparkEngine(spark).audit(events, windows=True).rows()
        assert local == SparkEngine(spark, huge=0).audit(events, windows=True).rows()


def test_a_table_without_any_column_of_events_is_refused(audit_engine) -> None:
    with pytest.raises(CallerError, match=r"has no column of events .*; there are: x, y: rename"):
        audit_engine.audit(pa.table({"x": [1], "y": ["a"]}))

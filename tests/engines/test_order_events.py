"""Event logs in causal order: every event once, causes first, and what no order can keep apart."""

from random import Random

import pyarrow as pa
import pytest

from antecede.spark import order_events
from antecede.tables import EVENTS
from tests.engines.engines import rows_of
from tests.event_rows import Row, table, talk
from tests.message_rows import lines


def make_events(rows: list[Row]) -> pa.Table:
    return table(*({k: v for k, v in row.items() if k != "past"} for row in rows))


def test_every_event_comes_behind_its_causes_in_each_execution(engine):
    rows = [row for seed in range(4) for row in talk(seed, 4, 60, execution=f"x{seed}")]
    Random(1).shuffle(rows)
    outcome = engine.order_events(make_events(rows))
    assert outcome.counts == {"input": len(rows), "ordered": len(rows), "held": 0, "quarantined": 0}
    line = lines(rows_of(outcome.ordered), "execution", "event")
    past = {(row["execution"], row["event"]): row["past"] for row in rows}
    assert len(line) == 4
    for execution, events in line.items():
        for at, event in enumerate(events):
            assert past[execution, event] <= set(events[:at])


def test_the_order_does_not_depend_on_the_order_of_rows(engine):
    rows = [row for seed in range(3) for row in talk(seed, 3, 30, execution=f"x{seed}", faults=0.2)]
    for row in rows[::4]:  # concurrent events without a time or a place of their own
        row.update(time=None, index=None, clock=None)
    results = [
        engine.order_events(make_events(Random(seed).sample(rows, len(rows)))).rows() for seed in range(2)
    ]
    assert results[0] == results[1]
    assert results[0]["ordered"]


@pytest.mark.spark
def test_the_order_depends_neither_on_row_order_nor_on_partitions_nor_on_batches(spark):
    rows = [row for seed in range(3) for row in talk(seed, 3, 30, execution=f"x{seed}", faults=0.2)]
    for row in rows[::4]:  # concurrent events without a time or a place of their own
        row.update(time=None, index=None, clock=None)
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    usual, found = spark.conf.get(name), []
    try:
        for seed, parts, batch in ((0, 1, "100000"), (1, 4, "5"), (2, 2, "1")):
            spark.conf.set(name, batch)
            shuffled = spark.createDataFrame(make_events(Random(seed).sample(rows, len(rows)))).repartition(
                parts
            )
            outcome = order_events(shuffled, partitions=parts)
            found.append([sorted(map(str, part.collect())) for part in (outcome.ordered, outcome.quarantine)])
    finally:
        spark.conf.set(name, usual)
    assert found[0] == found[1] == found[2]
    assert found[0][0]


def link_events(*links: tuple[str, list[str]]) -> list[Row]:
    return [{"execution": "x", "event": event, "parents": parents} for event, parents in links]


def test_events_on_a_cycle_go_to_quarantine_with_its_members_and_the_rest_comes_out(engine):
    links = [
        ("a", ["f"]),
        ("b", ["a"]),
        ("c", ["e", "b"]),
        ("d", ["c"]),
        ("e", ["d"]),
        ("f", []),
        ("g", ["e"]),
    ]
    outcome = engine.order_events(make_events(link_events(*links)))
    assert lines(rows_of(outcome.ordered), "execution", "event") == {"x": ["f", "a", "b", "g"]}
    reasons = {row["event"]: row["reason"] for row in rows_of(outcome.quarantine)}
    assert reasons == dict.fromkeys("cde", "lies on a cycle of 3 events: c, d, e")


def test_an_event_that_is_its_own_parent_goes_to_quarantine(engine):
    outcome = engine.order_events(make_events(link_events(("a", ["a"]), ("b", ["a"]))))
    assert [(row["event"], row["reason"]) for row in rows_of(outcome.quarantine)] == [
        ("a", "names itself as its parent: a")
    ]
    assert [(row["event"], row["position"]) for row in rows_of(outcome.ordered)] == [("b", 0)]


def test_a_missing_parent_is_named_and_holds_nothing(engine):
    events = link_events(("a", []), ("b", ["a", "x", "y", "x"]), ("c", ["x"]))
    outcome = engine.order_events(make_events(events))
    ghosts = {row["event"]: row["ghosts"] for row in rows_of(outcome.ordered)}
    assert ghosts == {"a": None, "b": ["x", "y"], "c": ["x"]}
    assert sorted(tuple(row.values()) for row in rows_of(outcome.gaps)) == [("x", "x", 2), ("x", "y", 1)]
    assert rows_of(outcome.held) == []


def test_what_a_clock_knows_of_comes_first_also_where_the_log_lacks_the_event_in_between(engine):
    rows = [
        {"process": "a", "event": "effect", "clock": {"a": 1, "b": 2}},
        {"process": "b", "event": "cause", "clock": {"b": 1}},
        {"process": "b", "event": "later", "clock": {"b": 3}},
    ]
    ordered = rows_of(engine.order_events(table(*rows)).ordered)
    assert lines([row | {"execution": ""} for row in ordered], "execution", "event")[""][0] == "cause"


def test_long_cycles_are_told_by_some_of_their_members(engine):
    ring = [(f"e{k:02}", [f"e{(k + 1) % 15:02}"]) for k in range(15)]
    outcome = engine.order_events(make_events(link_events(*ring)))
    reasons = {row["reason"] for row in rows_of(outcome.quarantine)}
    assert len(reasons) == 1
    assert "a cycle of 15 events: e00, " in min(reasons) and min(reasons).endswith("e09 and 5 more")


def test_columns_are_those_of_events_and_a_few_more(engine):
    outcome = engine.order_events(make_events([]))
    assert outcome.counts == {"input": 0, "ordered": 0, "held": 0, "quarantined": 0}
    assert outcome.ordered.column_names == [*EVENTS.names, "position", "ghosts"]
    assert outcome.held.column_names == [*EVENTS.names, "missing", "since"]
    assert outcome.quarantine.column_names == [*EVENTS.names, "reason"]


def test_an_input_with_a_position_of_its_own_keeps_it(engine):
    outcome = engine.order_events(make_events([]).rename_columns({"text": "position"}))
    assert outcome.ordered.column_names[-2:] == ["antecede_position", "ghosts"]
    assert "position" in outcome.ordered.column_names and outcome.names["position"] == "antecede_position"

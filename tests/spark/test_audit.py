"""The audit on Spark: the same findings however executions are spread, in numbers that fit a screen."""

from random import Random

import pytest
from pyspark.sql import functions as sf

from antecede.auditing.judge import judge
from antecede.events.graph import build_event_graph
from antecede.spark.auditing import event_audit as module
from antecede.spark.auditing.event_audit import audit
from tests.engines.engines import in_any_order
from tests.event_rows import table, talk, without
from tests.spark_session import NOT_THROUGH_CONNECT

pytestmark = pytest.mark.spark


def rows(execution):
    """c gets the answer before the question."""
    p = {"execution": execution}
    return [
        {
            **p,
            "process": "a",
            "index": 0,
            "event": "a0",
            "kind": "send",
            "message": "m",
            "receivers": ["b", "c"],
        },
        {**p, "process": "b", "index": 0, "event": "b0", "kind": "deliver", "message": "m"},
        {**p, "process": "b", "index": 1, "event": "b1", "kind": "send", "message": "n", "receivers": ["c"]},
        {**p, "process": "c", "index": 0, "event": "c0", "kind": "deliver", "message": "n"},
        {**p, "process": "c", "index": 1, "event": "c1", "kind": "deliver", "message": "m"},
    ]


def test_only_large_executions_with_places_are_judged_by_many_tasks(spark):
    made = [row for size, name in ((400, "big"), (60, "small")) for row in talk(7, 4, size, name, 0.1)]
    made += [row | {"index": None} for row in talk(7, 4, 200, "nowhere")[:1]] + talk(7, 4, 200, "nowhere")[1:]
    events = table(*without(made, "clock"))
    found = audit(spark.createDataFrame(events), huge=300)
    assert found.huge == 1
    want = judge(build_event_graph(events))
    assert in_any_order(found.findings.toArrow()) == in_any_order(want.findings)
    assert in_any_order(found.totals.toArrow()) == in_any_order(want.totals)
    found.done()


def test_an_event_with_a_clock_counts_for_three(spark):
    made = without(talk(7, 4, 60, "x"), "parents")
    clocked = audit(spark.createDataFrame(table(*made)), huge=100)
    unclocked = audit(spark.createDataFrame(table(*without(made, "clock"))), huge=100)
    assert (clocked.huge, unclocked.huge) == (1, 0)
    clocked.done()
    unclocked.done()


def test_a_huge_execution_of_a_table_with_few_columns(spark):
    made = [{name: row[name] for name in ("process", "index", "kind", "message")} for row in rows("x")]
    found = audit(spark.createDataFrame(table(*made)).select("process", "index", "kind", "message"), huge=2)
    assert found.huge == 1 and found.summary().counts == {"late": 1}
    found.done()


@pytest.mark.parametrize("partitions", [1, 7])
def test_the_verdict_does_not_depend_on_partitions_batches_or_rows(spark, partitions, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)
    made = [row for number in range(9) for row in without(talk(number, 3, 40, f"x{number}", 0.2), "parents")]
    want = judge(build_event_graph(table(*made)))
    some = spark.createDataFrame(table(*Random(partitions).sample(made, len(made)))).repartition(partitions)
    names = ("spark.sql.shuffle.partitions", "spark.sql.execution.arrow.maxRecordsPerBatch")
    before = [spark.conf.get(name) for name in names]
    try:
        for name, value in zip(names, (str(partitions), "50"), strict=True):
            spark.conf.set(name, value)
        found = audit(some)
        rows = [[sorted(map(str, part.toArrow().to_pylist())) for part in (found.findings, found.totals)]]
    finally:
        for name, value in zip(names, before, strict=True):
            spark.conf.set(name, value)
    assert rows == [[sorted(map(str, part.to_pylist())) for part in want]]
    found.done()


@NOT_THROUGH_CONNECT  # it has no partitions to look at
def test_few_events_whose_number_is_known_are_judged_by_one_task(spark, monkeypatch):
    monkeypatch.setattr(module, "_count_events_and_find_huge_executions", None)
    made = [row for number in range(12) for row in rows(f"x{number}")]
    found = audit(spark.createDataFrame(table(*made)), number=len(made))
    assert found._sources[0].rdd.getNumPartitions() == 1
    assert found.summary().counts == {"late": 12}
    found.done()


def test_executions_are_counted_only_where_one_may_be_huge(spark, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 10)
    events = spark.createDataFrame(table(*talk(7, 4, 60, "x")))  # with clocks and parents: each counts for 5
    measured = []
    measure = module._count_events_and_find_huge_executions

    def note_and_measure(*how):
        measured.append(how)
        return measure(*how)

    monkeypatch.setattr(module, "_count_events_and_find_huge_executions", note_and_measure)
    number = events.count()
    audit(events, number=number, huge=5 * number).done()
    assert not measured
    found = audit(events, number=number, huge=5 * number - 1)
    assert len(measured) == 1
    found.done()


def test_many_events_are_shared_out_to_more_tasks(spark, monkeypatch):
    monkeypatch.setattr(module, "TASK", 10)
    monkeypatch.setattr(module, "SMALL", 10)
    made = [row for number in range(12) for row in rows(f"x{number}")]
    found = audit(spark.createDataFrame(table(*made)))
    assert found._sources[0].select(sf.spark_partition_id().alias("at")).distinct().count() > 3
    assert found.summary().counts == {"late": 12}
    found.done()


def test_a_note_tells_of_kinds_that_are_not_known(spark):
    events = spark.createDataFrame(
        [("a", "publish"), ("b", "RECV"), ("c", None)], "process string, kind string"
    )
    note = "kinds that are not known are taken as local: publish; name them send, receive, deliver, local"
    with audit(events) as unknown, audit(events.where("kind = 'RECV'")) as known:
        assert (unknown.note, known.note) == (note, None)
    with audit(events.drop("kind")) as kindless:
        assert kindless.note is None

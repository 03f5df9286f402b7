"""Huge executions, judged by many tasks, against the audit in memory: the same tables, row for row."""

from random import Random

import pyarrow as pa
import pytest

from antecede.auditing.judge import judge
from antecede.events.graph import build_event_graph
from antecede.spark.auditing import distributed_audit as module
from antecede.spark.auditing.distributed_audit import audit_executions
from antecede.tables import EVENTS
from tests.auditing.test_mutations import clean, join_logs, mutants
from tests.engines.engines import in_any_order
from tests.event_rows import table, talk, without
from tests.mutations import FAULTS

pytestmark = pytest.mark.spark


def assert_same(frame, events):
    audited = audit_executions(frame)
    want = judge(build_event_graph(events))
    assert in_any_order(audited.findings.drop("rank").toArrow()) == in_any_order(want.findings)
    assert in_any_order(audited.totals.toArrow()) == in_any_order(want.totals)
    for source in audited.sources:
        source.unpersist()
    return want


def test_logs_with_every_fault(spark):
    """Parents, clocks, messages astray, ids used twice, cycles: whatever the audit in memory finds."""
    logs = {name: log for fault in FAULTS for name, log in mutants(fault, clean(), 1).items()}
    events = join_logs(logs)
    want = assert_same(spark.createDataFrame(events), events)
    kinds = set(want.findings["kind"].to_pylist())
    assert kinds >= {"late", "fifo", "lost", "orphan", "duplicate", "unsent", "resent", "wrong-sender"}
    assert kinds >= {"cycle", "self-parent", "missing", "same-id", "timestamp", "false-causality"}
    assert kinds >= {"clock-unknown", "clock-beyond", "clock-not-transitive", "clock-hole", "concurrent"}


@pytest.mark.parametrize("partitions", [1, 5])
def test_many_small_tasks(spark, partitions, monkeypatch):
    """However rows are spread, and however few of them a task has."""
    monkeypatch.setattr(module, "MATCHED_TOGETHER", 100)
    made = without(talk(3, 5, 500, "one", 0.1)) + without(talk(4, 3, 300, "two", 0.2), "clock", "parents")
    rows = Random(partitions).sample(made, len(made))
    assert_same(spark.createDataFrame(table(*rows)).repartition(partitions), table(*rows))


def test_events_at_the_same_place(spark):
    """Lines that a log has twice: what comes first is decided as in memory."""
    made = without(talk(6, 4, 200, "twice", 0.1), "clock")
    again = [row | {"line": row["line"] + 1000 * (row["index"] % 2)} for row in made[::3]]
    events = table(*made, *again)
    assert_same(spark.createDataFrame(events), events)


def test_arrivals_and_their_deliveries(spark):
    """Receives before deliveries, some without one, and one that comes after it; there are no times."""
    told = "a send m; b receive m; b deliver m; c deliver m; c receive m; a send n; b receive n; c deliver n"
    count: dict[str, int] = {}
    rows = []
    for event in told.split("; "):
        process, kind, message = event.split()
        index = count[process] = count.get(process, -1) + 1
        rows.append({"execution": "x", "process": process, "index": index, "kind": kind, "message": message})
    events = pa.Table.from_pylist(rows, EVENTS)
    assert_same(spark.createDataFrame(events), events)

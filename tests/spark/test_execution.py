"""Tables of events as graphs: every source of causes, many executions, whatever is null."""

from antecede.spark.execution import trace
from antecede.tables import EVENTS
from tests.spark.event_rows import table


def test_an_empty_table():
    found = trace(EVENTS.empty_table())
    assert len(found.execution) == len(found.edges.source) == len(found.sorted.order) == 0
    assert len(trace(table({})).edges.source) == 0

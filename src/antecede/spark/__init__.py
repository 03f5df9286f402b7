"""The pipeline on Spark: the session, the tables in and out, order and audit at any size.

Owns: everything that imports pyspark. Must not know: the terminal, sockets, how pages look. Imported only
where Spark is wanted, since starting it takes seconds and a Java.

`reading` makes DataFrames of files, `ordering` puts rows into order, `streams` does so while rows come,
`auditing` finds what is wrong, `pictures` picks what to draw: each runs the functions of the rooms without
Spark inside Spark's tasks. What is listed here is for callers, and imported when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antecede.spark.auditing.event_audit import SparkAudit, audit
    from antecede.spark.compare import SparkCostReport, compare
    from antecede.spark.ordering.event_order import order_events
    from antecede.spark.ordering.message_order import order
    from antecede.spark.ordering.outcome import SparkOutcome
    from antecede.spark.reading.logs import read_logs
    from antecede.spark.streams.batch import write_ordered
    from antecede.spark.streams.listener import OrderListener
    from antecede.spark.streams.stream import order_stream

__all__ = [
    "OrderListener",
    "SparkAudit",
    "SparkCostReport",
    "SparkOutcome",
    "audit",
    "compare",
    "order",
    "order_events",
    "order_stream",
    "read_logs",
    "write_ordered",
]

_HOMES = {
    "OrderListener": "streams.listener",
    "SparkAudit": "auditing.event_audit",
    "SparkCostReport": "compare",
    "SparkOutcome": "ordering.outcome",
    "audit": "auditing.event_audit",
    "compare": "compare",
    "order": "ordering.message_order",
    "order_events": "ordering.event_order",
    "order_stream": "streams.stream",
    "read_logs": "reading.logs",
    "write_ordered": "streams.batch",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

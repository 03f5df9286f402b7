"""The pipeline on Spark: the session, the tables in and out, order and audit at any size.

Owns: everything that imports pyspark. Must not know: the terminal, sockets, how pages look. Imported only
where Spark is wanted, since starting it takes seconds and a Java.

`reading` makes DataFrames of files, `ordering` puts rows into order, `streams` does so while rows come,
`auditing` finds what is wrong, `pictures` picks what to draw: each runs the functions of the rooms without
Spark inside Spark's tasks. What is listed here is for callers, and imported when it is asked for. It never
changes the caller's session, and what runs a job before its result is used says so.

    import antecede.spark as causal

    with causal.read_logs(spark, "logs/") as logs, causal.audit(logs.events) as audit:
        print(logs.counts(), audit.summary().verdict)
        audit.page("page.html")
"""

from typing import TYPE_CHECKING

from antecede._lazy import make_lazy_importer

if TYPE_CHECKING:
    from antecede.spark.auditing.event_audit import SparkAudit, audit
    from antecede.spark.cells import spread_over
    from antecede.spark.cost_report import SparkCostReport, compare
    from antecede.spark.ordering.event_order import order_events
    from antecede.spark.ordering.message_order import order
    from antecede.spark.ordering.outcome import SparkOutcome
    from antecede.spark.reading.data_source import LogSource
    from antecede.spark.reading.logs import SparkLogs, read_logs
    from antecede.spark.shipping import ship_package
    from antecede.spark.streams.batch import write_ordered
    from antecede.spark.streams.listener import OrderListener
    from antecede.spark.streams.stream import order_stream
    from antecede.spark.transforms import to_findings, with_event_order, with_order

__all__ = [
    "LogSource",
    "OrderListener",
    "SparkAudit",
    "SparkCostReport",
    "SparkLogs",
    "SparkOutcome",
    "audit",
    "compare",
    "order",
    "order_events",
    "order_stream",
    "read_logs",
    "ship_package",
    "spread_over",
    "to_findings",
    "with_event_order",
    "with_order",
    "write_ordered",
]

_HOMES = {
    "auditing.event_audit": ("SparkAudit", "audit"),
    "cells": ("spread_over",),
    "cost_report": ("SparkCostReport", "compare"),
    "ordering.event_order": ("order_events",),
    "ordering.message_order": ("order",),
    "ordering.outcome": ("SparkOutcome",),
    "reading.data_source": ("LogSource",),
    "reading.logs": ("SparkLogs", "read_logs"),
    "shipping": ("ship_package",),
    "streams.batch": ("write_ordered",),
    "streams.listener": ("OrderListener",),
    "streams.stream": ("order_stream",),
    "transforms": ("to_findings", "with_event_order", "with_order"),
}
if not TYPE_CHECKING:  # a checker knows all names, and would take any other for one
    __getattr__ = make_lazy_importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__

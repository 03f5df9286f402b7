"""The tables that are the contract between rooms, as Arrow schemas. Unknown is null, never invented."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

EVENTS = pa.schema(
    {
        "execution": pa.string(),
        "process": pa.string(),
        "index": pa.int64(),  # position in the process's own order, from 0
        "event": pa.string(),
        "kind": pa.string(),  # send, receive (arrives), deliver, local
        "message": pa.string(),
        "sender": pa.string(),
        "receivers": pa.list_(pa.string()),
        "parents": pa.list_(pa.string()),
        "clock": pa.map_(pa.string(), pa.int64()),  # sends, deliveries and local events of the past
        "time": pa.float64(),  # milliseconds
        "text": pa.string(),
        "fields": pa.map_(pa.string(), pa.string()),
        "file": pa.string(),
        "line": pa.int64(),
    }
)

MESSAGES = pa.schema(
    {
        "group": pa.string(),  # the ordering domain: the process at which the copy arrived
        "sender": pa.string(),
        "protocol": pa.string(),
        "kind": pa.string(),  # message, extra, ack, release
        "number": pa.int64(),  # counts the packets of this sender to this process
        "stamp": pa.binary(),
        "message": pa.string(),
        "sent": pa.float64(),
        "arrived": pa.float64(),
        "arrival": pa.int64(),  # position among the arrivals of the group, from 0
    }
)

QUARANTINE = pa.schema(
    {
        "file": pa.string(),
        "line": pa.int64(),
        "reason": pa.string(),
        "raw": pa.string(),  # the record as it stood there
    }
)

FINDINGS = pa.schema(
    {
        "kind": pa.string(),
        "execution": pa.string(),
        "process": pa.string(),
        "message": pa.string(),
        "events": pa.list_(pa.string()),  # the smallest witness: ids of events, causes first
        "sentence": pa.string(),
        "file": pa.string(),
        "line": pa.int64(),
        "reason": pa.string(),  # why a cause is missing: cut-id, other-execution, sampled, later, not-found
    }
)

COSTS = pa.schema(
    {
        "study": pa.string(),
        "figure": pa.string(),
        "protocol": pa.string(),
        "parameters": pa.map_(pa.string(), pa.string()),
        "seed": pa.int64(),
        "metric": pa.string(),
        "value": pa.float64(),  # null for a cell that failed
        "reason": pa.string(),  # why it failed
    }
)

COMPARISON = pa.schema(
    {
        "execution": pa.string(),
        "protocol": pa.string(),
        "parameters": pa.map_(pa.string(), pa.string()),
        "metric": pa.string(),
        "value": pa.float64(),  # null where the protocol did not come to an end
        "low": pa.float64(),  # of the 95 % interval; null where there is none
        "high": pa.float64(),
    }
)

SPAN_STARTS = "start of span "
"""What the ids of events begin with that are starts of spans; behind it is the id of the span."""
OF_TRACE = " of trace "
"""What stands in the id of an event behind the id of its span where several traces are one execution."""

Copy = tuple[str | None, str | None]
"""The process at which a message is delivered, and the message."""


@dataclass(frozen=True)
class Window:
    """What one picture draws of a log.

    Events (EVENTS) in causal order; who causes whom across processes; which deliveries are late; which events
    are ghosts (named by others, not in the log); and in a sentence what is left out, if anything.
    """

    title: str
    events: pa.Table
    edges: Sequence[tuple[str, str]] = ()
    late: Collection[Copy] = frozenset()
    ghosts: Collection[str] = frozenset()
    left_out: str = ""


MARKS = pa.schema([FINDINGS.field(name) for name in ("kind", "execution", "process", "message", "events")])
"""Findings without their sentences."""

STEP_LINK, MESSAGE_LINK, WAIT_LINK, UNSENT_LINK = 0, 1, 2, 3
"""From an event of a process to its next one; from any other cause; from an arrival to its delivery; from a
send to a delivery that came before it."""
LINKS = pa.schema({"source": pa.int64(), "target": pa.int64(), "kind": pa.int64()})
"""Which row of a view led to which, by target."""


@dataclass(frozen=True)
class LogView:
    """What a page holds of a log.

    `events` (columns of EVENTS, whose names may be dictionaries) come causes first. They have two more kinds:
    `arrival`, which is no step of its process, and `ghost`, which others name and the log has not. `places`
    has process, index and time of the events that `marks` name.
    """

    events: pa.Table
    links: pa.Table
    marks: pa.Table
    places: pa.Table
    left_out: str = ""


def fit_table_to_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of the schema, in its order and with its types; those that the table lacks are null."""
    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(table[field.name].cast(field.type))
        else:
            columns.append(pa.nulls(len(table), field.type))
    return pa.table(columns, schema=schema)

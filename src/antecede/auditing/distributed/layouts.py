"""The tables that the tasks of a distributed audit hand on to each other, as Arrow schemas.

Events of all executions are numbered through: `row` is the place of an event in the canonical order, which
an audit in memory gives to its events too. All other rows that are named are such numbers.
"""

import pyarrow as pa

from antecede.auditing.judge import TOTALS

CAUSES = pa.schema(
    {
        "parents": pa.list_(pa.int64()),  # null for a parent that is not in the log, or the event itself
        "missing_parents": pa.list_(pa.string()),  # the names of those that are not in the log
        "is_own_parent": pa.bool_(),
        "namesake": pa.int64(),  # the first event with the same id, if that is another one
    }
)
"""What an event tells of other events by their ids."""
STEP = pa.schema(
    {
        "row": pa.int64(),
        "process": pa.int32(),  # a code of the catalog
        "act": pa.int8(),  # SEND, DELIVER, ARRIVE, OTHER
        "index": pa.int64(),
        "time": pa.float64(),
        "line": pa.int64(),
    }
)
"""What an event tells of itself."""
NUMBERED = pa.schema(
    [
        *STEP,
        *CAUSES,
        pa.field("message", pa.string()),
        pa.field("sender", pa.string()),
        pa.field("receivers", pa.list_(pa.string())),
        pa.field("clock", pa.map_(pa.string(), pa.int64())),
    ]
)
"""Events with their numbers; a task that matches messages gets all rows of each of its messages."""
MATCHED = pa.schema(
    [
        *STEP,
        *CAUSES,
        pa.field("execution", pa.int32()),  # a code of the catalog
        # As in `kernels.linking.MessageLinks`; null is none.
        pa.field("has_message", pa.bool_()),
        pa.field("send", pa.int64()),
        pa.field("cause", pa.int64()),
        pa.field("arrival", pa.int64()),
        pa.field("original", pa.int64()),
        pa.field("is_misdelivered", pa.bool_()),
        pa.field("wrong_sender", pa.string()),  # who is named as the sender and is not
        pa.field("lost_receivers", pa.list_(pa.string())),  # who lacks the message; null: nobody was named
        pa.field("clock_processes", pa.list_(pa.int32())),  # codes; null for a process that does not act
        pa.field("clock_strangers", pa.list_(pa.string())),  # the names of those that do not act, in order
        pa.field("clock_counts", pa.list_(pa.int64())),
    ]
)
"""Events as numbers alone, but for the few names that only findings need."""
DETAILS = pa.struct(
    {
        "receiver": pa.string(),
        "sender": pa.string(),
        "name": pa.string(),
        "slot": pa.string(),
        "value": pa.int64(),
        "was": pa.int64(),
        "has": pa.int64(),
        "last": pa.int64(),
        "own": pa.int64(),
        "size": pa.int64(),
        "middle": pa.float64(),
        "acts": pa.bool_(),
    }
)
"""What sentences are told besides events; each kind of finding has some of it."""
NUMBERED_FINDINGS = pa.schema(
    {
        "kind": pa.string(),
        "execution": pa.string(),
        "rank": pa.int64(),  # among the findings of its kind and execution
        "row": pa.int64(),  # the event at fault
        "witness": pa.list_(pa.int64()),
        "details": DETAILS,
    }
)
"""Findings whose events are numbers."""
JUDGED = TOTALS.append(
    pa.field("findings", pa.list_(pa.struct([f for f in NUMBERED_FINDINGS if f.name != "execution"])))
)
"""An execution with its totals and its findings."""

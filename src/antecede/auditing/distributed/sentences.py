"""Tasks that tell findings: each has the strings of the events that its findings name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from antecede.auditing.distributed.layouts import DETAILS
from antecede.auditing.findings import list_ids_of_one_witness
from antecede.auditing.sentences import write_sentence
from antecede.auditing.summary import RANKED_FINDINGS
from antecede.auditing.wording import Event
from antecede.tables import EVENTS

WITNESS = pa.struct([EVENTS.field(name) for name in Event._fields])
"""What is to be known of an event."""
TELLABLE = pa.schema(
    {
        "kind": pa.string(),
        "execution": pa.string(),
        "rank": pa.int64(),
        "details": DETAILS,
        "fault": WITNESS,  # the event at fault
        "witness": pa.list_(WITNESS),
    }
)
"""A finding with the strings of its events."""


def write_finding_sentences(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Called by Spark with TELLABLE rows; gives RANKED_FINDINGS."""
    for batch in batches:
        rows = [_build_ranked_finding_with_sentence(row) for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, RANKED_FINDINGS)


def _build_ranked_finding_with_sentence(tellable_row: dict[str, Any]) -> dict[str, Any]:
    events = [Event(**event) for event in tellable_row["witness"]]
    details = {name: value for name, value in tellable_row["details"].items() if value is not None}
    place = {name: tellable_row["fault"][name] for name in ("process", "message", "file", "line")}
    return {
        "kind": tellable_row["kind"],
        "execution": tellable_row["execution"],
        "rank": tellable_row["rank"],
        **place,
        "events": list_ids_of_one_witness(events, details.get("name")),
        "sentence": write_sentence(tellable_row["kind"], events, **details),
    }

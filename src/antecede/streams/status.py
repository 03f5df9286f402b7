"""What a stream has done and what it waits for, told by its checkpoint, whether it runs or not."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.errors import CallerError
from antecede.ordering.kernel_table import make_kernel_table
from antecede.ordering.message_plan import MessageOptions, MessagePlan, TableColumns, plan_messages
from antecede.ordering.plain_types import to_plain_types
from antecede.ordering.stream.explain import explain_waiting_rows
from antecede.streams.files import GROUP, RECEIVER, SINCE, read_states, read_waiting
from antecede.streams.marks import BucketFiles, Mark, read_newest_mark

LISTED_GAPS = 10
"""So many root gaps are listed."""
_TRIES = 5
_GAPS = pa.schema(
    {"group": pa.string(), "receiver": pa.string(), "missing": pa.string(), "waiting": pa.int64()}
)


class HeldBucket(NamedTuple):
    """The waiting rows of a bucket: the user's columns, what each lacks and since when; and root gaps."""

    rows: pa.Table
    missing: pa.ListArray
    since: pa.ChunkedArray
    gaps: pa.Table


def find_newest_mark(checkpoint: Path) -> Mark:
    """The last mark; a sentence if there is none."""
    mark = read_newest_mark(checkpoint)
    if mark is None:
        raise CallerError(
            f"{checkpoint}: there is no stream, or none of its micro-batches is done; name the folder that "
            "was given as checkpoint"
        )
    return mark


def list_status(checkpoint: Path) -> dict[str, Any]:
    """What is so behind the last micro-batch, for programs."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):  # the stream went on meanwhile, and removed what it had
            return _list_status(checkpoint)
    return _list_status(checkpoint)


def _list_status(checkpoint: Path) -> dict[str, Any]:
    mark = find_newest_mark(checkpoint)
    buckets = mark.buckets.values()
    parts = [read_held(checkpoint, mark, bucket).gaps for bucket in buckets]
    gaps = pa.concat_tables([_GAPS.empty_table(), *parts])
    by_size = gaps.sort_by([("waiting", "descending"), ("missing", "ascending"), ("group", "ascending")])
    oldest = [bucket.oldest for bucket in buckets if bucket.oldest is not None]
    return {
        "batch": mark.batch,
        "time": mark.time,
        "last": msgspec.structs.asdict(mark.counts),
        "totals": msgspec.structs.asdict(mark.totals),
        "held": mark.held_rows,
        "held_bytes": sum(bucket.held_bytes for bucket in buckets),
        "held_since": min(oldest, default=None),
        "gaps": by_size.slice(0, LISTED_GAPS).to_pylist(),
        "gap_count": len(gaps),
    }


def read_held(checkpoint: Path, mark: Mark, files: BucketFiles) -> HeldBucket:
    """The rows of a bucket that wait, with what they lack."""
    states = read_states(checkpoint, files, None)
    states = states.filter(pc.greater(states["held"], 0))
    waiting = read_waiting(checkpoint, files, states)
    if not len(waiting.filed):
        nothing = pa.array([], pa.list_(pa.string()))
        return HeldBucket(waiting.rows, nothing, waiting.filed[SINCE], _GAPS.empty_table())
    plan = _plan_rows(waiting.rows, mark)
    table = plan.project(make_kernel_table(waiting.rows, plan))
    missing, gaps = explain_waiting_rows(table, states, plan.reading)
    rows = pc.list_parent_indices(gaps)
    names, counts = pc.list_flatten(gaps).flatten()
    columns = [waiting.filed[GROUP].take(rows), waiting.filed[RECEIVER].take(rows), names, counts]
    return HeldBucket(waiting.rows, missing, waiting.filed[SINCE], pa.table(columns, schema=_GAPS))


def _plan_rows(rows: pa.Table, mark: Mark) -> MessagePlan:
    """How rows were read when the mark was written."""
    columns = TableColumns(rows.column_names, lambda name: to_plain_types(rows[name]).type)
    return plan_messages(columns, MessageOptions(**mark.options))

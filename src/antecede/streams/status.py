"""What a stream has done and what it waits for, told by its checkpoint, whether it runs or not."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.errors import CallerError, InputError
from antecede.ordering.kernel_table import make_kernel_table
from antecede.ordering.message_plan import MessageOptions, MessagePlan, TableColumns, plan_messages
from antecede.ordering.plain_types import to_plain_types
from antecede.ordering.stream.explain import explain_waiting_rows
from antecede.streams.files import GROUP, RECEIVER, SINCE, read_group_states, read_waiting_rows
from antecede.streams.marks import BucketFiles, Counts, Mark, read_mark, read_newest_mark

LISTED_GAPS = 10
"""So many root gaps are listed."""
EXPLAINED_ROWS = 100_000
"""While more rows wait, who asks at each micro-batch is not told why: that would mean to read them all."""
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


def require_newest_mark(checkpoint: Path) -> Mark:
    """The last mark; a sentence if there is none."""
    mark = read_newest_mark(checkpoint)
    if mark is None:
        raise CallerError(
            f"{checkpoint}: there is no stream, or none of its micro-batches is done; name the folder that "
            "was given as checkpoint"
        )
    return mark


def read_status(checkpoint: Path) -> dict[str, Any]:
    """What is so behind the last micro-batch, for programs."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):  # the stream went on meanwhile, and removed what it had
            mark = require_newest_mark(checkpoint)
            return compute_mark_figures(mark) | find_largest_gaps(checkpoint, mark)
    raise InputError(
        f"{checkpoint}: lacks a file that its newest mark names, so its state is not whole: restore the "
        "folder from a copy, or start with a new checkpoint and a new output folder"
    )


def build_empty_status() -> dict[str, Any]:
    """The same of a stream of which no micro-batch is done."""
    unknown = ("batch", "tick", "time", "took", "rows_per_second", "held_since", "oldest_wait")
    counts = msgspec.structs.asdict(Counts())
    nothing = {"last": counts, "totals": counts, "held": 0, "held_bytes": 0, "gaps": [], "gap_count": 0}
    return dict.fromkeys(unknown) | nothing


def compute_mark_figures(mark: Mark) -> dict[str, Any]:
    """What a mark says in figures: of its batch, of all batches, and of what waits; times are in ms."""
    rows_per_second = None
    if mark.took:
        rows_per_second = round(1000 * mark.counts.input / mark.took)
    oldest_wait = None
    if mark.oldest_waiting_ms is not None:
        oldest_wait = max(0, mark.time - mark.oldest_waiting_ms)
    return {
        "batch": mark.batch,
        "tick": mark.tick,
        "time": mark.time,
        "took": mark.took,
        "rows_per_second": rows_per_second,
        "last": msgspec.structs.asdict(mark.counts),
        "totals": msgspec.structs.asdict(mark.totals),
        "held": mark.held_rows,
        "held_bytes": mark.held_bytes,
        "held_since": mark.oldest_waiting_ms,
        "oldest_wait": oldest_wait,
    }


def find_largest_gaps(checkpoint: Path, mark: Mark) -> dict[str, Any]:
    """What the rows that wait behind a mark wait for; reads them all."""
    parts = [read_and_explain_held_rows(checkpoint, mark, bucket).gaps for bucket in mark.buckets.values()]
    gaps = pa.concat_tables([_GAPS.empty_table(), *parts])
    by_size = gaps.sort_by([("waiting", "descending"), ("missing", "ascending"), ("group", "ascending")])
    return {"gaps": by_size.slice(0, LISTED_GAPS).to_pylist(), "gap_count": len(gaps)}


def read_batch_figures(checkpoint: Path, batch: int) -> dict[str, Any]:
    """What a batch did, in figures; with gaps if few rows wait and the stream has not gone on since."""
    mark = read_mark(checkpoint, batch)
    facts = compute_mark_figures(mark)
    if mark.held_rows <= EXPLAINED_ROWS:
        with suppress(FileNotFoundError):
            facts |= find_largest_gaps(checkpoint, mark)
    return facts


def read_and_explain_held_rows(checkpoint: Path, mark: Mark, bucket_files: BucketFiles) -> HeldBucket:
    """The rows of a bucket that wait, with what they lack."""
    states = read_group_states(checkpoint, bucket_files, None)
    states = states.filter(pc.greater(states["held"], 0))
    waiting = read_waiting_rows(checkpoint, bucket_files, states)
    if not len(waiting.filed):
        nothing = pa.array([], pa.list_(pa.string()))
        return HeldBucket(waiting.rows, nothing, waiting.filed[SINCE], _GAPS.empty_table())
    plan = _restore_message_plan(waiting.rows, mark)
    table = plan.project_to_kernel_columns(make_kernel_table(waiting.rows, plan))
    missing, gaps = explain_waiting_rows(table, states, plan.reading)
    rows = pc.list_parent_indices(gaps)
    names, counts = pc.list_flatten(gaps).flatten()
    columns = [waiting.filed[GROUP].take(rows), waiting.filed[RECEIVER].take(rows), names, counts]
    return HeldBucket(waiting.rows, missing, waiting.filed[SINCE], pa.table(columns, schema=_GAPS))


def _restore_message_plan(rows: pa.Table, mark: Mark) -> MessagePlan:
    """How rows were read when the mark was written."""
    columns = TableColumns(rows.column_names, lambda name: to_plain_types(rows[name]).type)
    return plan_messages(columns, MessageOptions(**mark.options))

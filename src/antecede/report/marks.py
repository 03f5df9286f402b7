"""Where findings are: the row of the event at fault, its process and time, and the channel from the first
event of the witness to the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.tables import LogView

Rows = NDArray[np.int64]

LATEST_TIME = 1e15
"""Milliseconds: what is said to be later, in some thirty thousand years, is no time."""
_BETWEEN = pa.scalar("\0", pa.large_string())
FAULT_COMES_FIRST = ("lost",)
"""Kinds whose witness begins with the event at fault; the others end with it."""


class PlacedMarks(NamedTuple):
    """Findings with their places, in the order of the view's marks; -1, None and not-a-number are unknown."""

    kind: list[str]
    row: Rows  # of the event at fault, in the events of the view
    process: list[str | None]
    channel: list[tuple[str, str] | None]
    time: NDArray[np.float64]
    position: NDArray[np.float64]  # in its process


def place_marks(view: LogView) -> PlacedMarks:
    """The places of all findings that the view marks."""
    marks = view.marks
    executions = marks["execution"].combine_chunks()
    first, last = _take_end(marks["events"], 0), _take_end(marks["events"], -1)
    is_first = pc.is_in(marks["kind"], value_set=pa.array(FAULT_COMES_FIRST)).combine_chunks()
    fault = pc.if_else(is_first, first, last)
    place = find_rows(view.places, executions, fault)
    process_names = _decode(view.places["process"])
    sources = _take_or_null(process_names, find_rows(view.places, executions, first))
    targets = _take_or_null(process_names, find_rows(view.places, executions, last))
    channel = [
        (source, target) if source is not None and target is not None and source != target else None
        for source, target in zip(sources.to_pylist(), targets.to_pylist(), strict=True)
    ]
    time = _take_or_null(_decode(view.places["time"]), place)
    time = time.to_numpy(zero_copy_only=False).astype(np.float64)
    index = _take_or_null(_decode(view.places["index"]), place).cast(pa.float64())
    return PlacedMarks(
        kind=pc.fill_null(marks["kind"], "unknown").to_pylist(),
        row=place if view.places is view.events else find_rows(view.events, executions, fault),
        process=marks["process"].to_pylist(),
        channel=channel,
        time=np.where(np.abs(time) < LATEST_TIME, time, np.nan),
        position=index.to_numpy(zero_copy_only=False).astype(np.float64),
    )


def find_rows(places: pa.Table, executions: pa.Array, events: pa.Array) -> Rows:
    """The first row of each event, by execution and id; -1 for one that is not there."""
    if not len(places):
        return np.full(len(events), -1, dtype=np.int64)
    place_ids = _decode(places["event"]).cast(pa.large_string())
    place_executions = _decode(places["execution"]).cast(pa.large_string())
    wanted = events.cast(pa.large_string())
    if len(pc.unique(place_executions)) > 1:
        place_ids = pc.binary_join_element_wise(place_executions.fill_null(""), place_ids, _BETWEEN)
        named = executions.fill_null("").cast(pa.large_string())
        wanted = pc.binary_join_element_wise(named, wanted, _BETWEEN)
        found = pc.index_in(wanted, value_set=place_ids, skip_nulls=True)
    else:
        found = pc.index_in(wanted, value_set=place_ids, skip_nulls=True)
        (execution,) = pc.unique(place_executions.fill_null("")).to_pylist()
        is_here = pc.equal(executions.fill_null(""), execution)
        found = pc.if_else(is_here, found, pa.scalar(None, found.type))
    rows: Rows = found.cast(pa.int64()).fill_null(-1).to_numpy()
    return rows


def _take_end(lists: pa.ChunkedArray, end: int) -> pa.Array:
    """The first or the last item of each list, null for an empty one."""
    lists = lists.combine_chunks()
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    items = pc.list_flatten(lists)
    ends = np.cumsum(lengths)
    at = ends - 1 if end else ends - lengths
    return items.take(pa.array(at, mask=lengths == 0))


def _take_or_null(column: pa.Array, rows: Rows) -> pa.Array:
    return column.take(pa.array(rows, mask=rows < 0))


def _decode(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array

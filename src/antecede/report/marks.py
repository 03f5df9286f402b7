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


def locate_marked_findings(view: LogView) -> PlacedMarks:
    """The places of all findings that the view marks."""
    marks, places = view.marks, view.places
    executions = marks["execution"].combine_chunks()
    ends = pa.concat_arrays(
        [_take_first_or_last(marks["events"], 0), _take_first_or_last(marks["events"], -1)]
    )
    both = pa.concat_arrays([executions, executions])
    first, last = np.split(find_event_rows(places, both, ends), 2)
    names = _decode_dictionary(places["process"])
    sources, targets = (_take_rows_or_null(names, rows).to_pylist() for rows in (first, last))
    is_first = pc.is_in(marks["kind"], value_set=pa.array(FAULT_COMES_FIRST)).to_numpy()
    fault = np.where(is_first, first, last)
    if places is view.events:
        row = fault
    else:
        held_first, held_last = np.split(find_event_rows(view.events, both, ends), 2)
        row = np.where(is_first, held_first, held_last)
    time, index = (
        _take_rows_or_null(_decode_dictionary(places[name]), fault).cast(pa.float64(), safe=False)
        for name in ("time", "index")
    )
    times = time.to_numpy(zero_copy_only=False)
    return PlacedMarks(
        kind=pc.fill_null(marks["kind"], "unknown").to_pylist(),
        row=row,
        process=marks["process"].to_pylist(),
        channel=[_make_channel(*ends) for ends in zip(sources, targets, strict=True)],
        time=np.where(np.abs(times) < LATEST_TIME, times, np.nan),
        position=index.to_numpy(zero_copy_only=False),
    )


def _make_channel(source: str | None, target: str | None) -> tuple[str, str] | None:
    """From one process to another, if these are two."""
    if source is None or target is None or source == target:
        return None
    return source, target


def find_event_rows(event_table: pa.Table, executions: pa.Array, event_ids: pa.Array) -> Rows:
    """The first row of each event, by execution and id; -1 for one that is not there."""
    wanted = event_ids.cast(pa.large_string())
    # Rows of all places with a wanted id, which are few; whether the execution is the right one, they tell.
    ids = pc.unique(wanted).drop_null()
    number = pc.index_in(
        _decode_dictionary(event_table["event"]), value_set=ids.cast(event_table["event"].type)
    )
    rows = pc.indices_nonzero(pc.is_valid(number))
    numbers = number.take(rows).to_pylist()
    there = _decode_dictionary(event_table["execution"].take(rows)).fill_null("").to_pylist()
    first_rows: dict[tuple[str, int], int] = {}
    for row, execution, at in zip(rows.to_pylist(), there, numbers, strict=True):
        first_rows.setdefault((execution, at), row)
    named = zip(
        executions.fill_null("").to_pylist(), pc.index_in(wanted, value_set=ids).to_pylist(), strict=True
    )
    return np.array([first_rows.get(name, -1) for name in named], dtype=np.int64)


def _take_first_or_last(lists: pa.ChunkedArray, end: int) -> pa.Array:
    """The first or the last item of each list, null for an empty one."""
    lists = lists.combine_chunks()
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    items = pc.list_flatten(lists)
    ends = np.cumsum(lengths)
    at = ends - 1 if end else ends - lengths
    return items.take(pa.array(at, mask=lengths == 0))


def _take_rows_or_null(column: pa.Array, rows: Rows) -> pa.Array:
    return column.take(pa.array(rows, mask=rows < 0))


def _decode_dictionary(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array

"""What only all records of a file tell together: places in processes, and ids for those without."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.formats import order
from antecede.tables import EVENTS

GIVEN, BY_CLOCK, BY_SOME_CLOCKS, BY_PARENTS, BY_LINE = "given", "clock", "some clocks", "parents", "line"
"""What the index of events was made from."""


def fill_missing_index_and_tell_basis(
    events: pa.Table, own_entries: pa.ChunkedArray
) -> tuple[pa.Table, str | None]:
    """The events with an index where the file gives none, and what it was made from; None without events.

    `own_entries` are those of events for their own processes, null where a clock has none. The index goes by
    them if all events have clocks (one that does not count its process has no place in it); else by line,
    unless parents say what follows what.
    """
    size = len(events)
    if not size:
        return events, None
    if events["index"].null_count < size:
        return events, GIVEN
    is_counted = pc.is_valid(own_entries).to_numpy()
    if is_counted.any() and not events["clock"].null_count:
        groups = encode_processes(events)[is_counted]
        index = np.full(size, -1, np.int64)
        index[is_counted] = order.rank_events_by_clock(groups, own_entries.drop_null().to_numpy())
        column = pa.array(index, mask=~is_counted)
        return replace_column(events, "index", column), BY_CLOCK if is_counted.all() else BY_SOME_CLOCKS
    if events["parents"].null_count < size:
        return events, BY_PARENTS
    index = order.rank_rows_in_groups(encode_processes(events))
    return replace_column(events, "index", pa.array(index)), BY_LINE


def fill_missing_event_ids(events: pa.Table, file: str) -> pa.Table:
    """The events, those without an id named by process and index; without an index, by file and line."""
    if not events["event"].null_count:
        return events
    by_index = pc.binary_join_element_wise(events["process"], events["index"].cast(pa.string()), "#")
    by_line = pc.binary_join_element_wise(pa.scalar(file), events["line"].cast(pa.string()), ":")
    return replace_column(events, "event", pc.coalesce(events["event"], by_index, by_line))


def encode_processes(events: pa.Table) -> order.Ints:
    """A number for every process of every execution."""
    executions = _encode_strings(events["execution"])
    processes = _encode_strings(events["process"])
    # Both are less than the number of events, so the product fits into 64 bits.
    return np.asarray(executions * (processes.max(initial=0) + 1) + processes)


def _encode_strings(values: pa.ChunkedArray) -> order.Ints:
    encoded = values.combine_chunks().dictionary_encode("encode")
    return np.asarray(encoded.indices.to_numpy(), np.int64)


def replace_column(events: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The events with another column of this name."""
    position = EVENTS.get_field_index(name)
    return events.set_column(position, EVENTS.field(position), values)

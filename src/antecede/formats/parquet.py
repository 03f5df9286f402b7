"""Our own events table as Parquet, with its own column names or mapped ones.

Tables with our types, of which every value is as a reader would have made it, pass through at once; others go
row by row through the same mapping as JSON lines. Both give the same table. The line of a row is its number
from 1 where the table has no line of its own.
"""

from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.core.errors import InputError
from antecede.core.wire import LARGEST
from antecede.events.columns import flatten_lists, get_column
from antecede.events.kinds import KINDS
from antecede.formats.clocks import find_clock_entries
from antecede.formats.indexing import fill_missing_index_and_tell_basis
from antecede.formats.mapped import OWN
from antecede.formats.mapped_events import MappedEvents
from antecede.formats.rows import FileRows, Parsed, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source
from antecede.formats.values import as_text
from antecede.tables import EVENTS

NEVER_EMPTY = ("process", "event", "message", "sender", "file")
"""Columns of names in which an empty one is none."""
PARQUET_ERRORS = (pa.ArrowException, OSError, ValueError)
"""What Arrow raises when it opens or reads a broken file. Names that are no UTF-8 are a ValueError."""


def read_table(file: BinaryIO | pa.NativeFile | str, name: str, columns: list[str] | None = None) -> pa.Table:
    """The table in a file, or an InputError if the file is broken, be it in its footer or in its values."""
    try:
        table = pq.ParquetFile(file).read(columns=columns)
        table.validate(full=True)
        _ = table.column_names  # these are decoded here, and not before
    except PARQUET_ERRORS as error:
        why = " ".join(str(error).split())
        raise InputError(f"{name}: Parquet cannot be read ({why}); write or fetch it again") from None
    return table


def read(source: Source, settings: Settings) -> Parsed:
    """The events of one file."""
    table = read_table(pa.BufferReader(source.data), source.name)
    if not settings.fields and not settings.kinds and _needs_no_conversion(table):
        events = fill_missing_file_and_line(
            table.select(EVENTS.names).cast(EVENTS), source.name
        ).combine_chunks()
        own_entries = find_clock_entries(get_column(events, "clock"), get_column(events, "process"))
        events, _ = fill_missing_index_and_tell_basis(events, pa.chunked_array([own_entries]))
        return Parsed(events, FileRows("").make_quarantine_table(), "parquet")
    if len(set(table.schema.names)) < table.num_columns:
        raise InputError(f"{source.name}: two columns have one name; rename one of them")
    _check_process_column(table, source.name, settings)
    return _read_events_row_by_row(table, source.name, settings)


def _needs_no_conversion(table: pa.Table) -> bool:
    """Whether the columns are exactly ours, and the mapping would leave every value as it is."""
    if sorted(table.schema.names) != sorted(EVENTS.names):
        return False
    if any(table.schema.field(field.name).type != field.type for field in EVENTS):
        return False
    if any(table[name].null_count for name in ("process", "event", "execution")):
        return False
    has_names = all(pc.min(pc.binary_length(table[name])).as_py() != 0 for name in NEVER_EMPTY)
    has_kinds = set(table["kind"].unique().to_pylist()) <= {*KINDS, None}
    has_places = all(_are_counts(table[name], 0) for name in ("index", "line"))
    has_times = pc.all(pc.is_finite(table["time"])).as_py() is not False
    has_items = all(_has_plain_items(table[name]) for name in ("receivers", "parents", "clock", "fields"))
    return has_names and has_kinds and has_places and has_times and has_items


def _has_plain_items(column: pa.ChunkedArray) -> bool:
    """Whether no list has an item without a name, and no map one without a value; counts are from 1 on."""
    flat = [item for chunk in column.chunks for item in flatten_lists(chunk).items]
    if any(item.null_count for item in flat):
        return False
    if pa.types.is_map(column.type):
        return all(_are_counts(item, 1) for item in flat if pa.types.is_integer(item.type))
    return all(pc.min(pc.binary_length(item)).as_py() != 0 for item in flat)


def _are_counts(numbers: pa.Array | pa.ChunkedArray, least: int) -> bool:
    ends = pc.min_max(numbers).as_py()
    return ends["min"] is None or (least <= ends["min"] and ends["max"] <= LARGEST)


def fill_missing_file_and_line(table: pa.Table, file: str) -> pa.Table:
    """Name the file, and number the rows from 1, where the table does not."""
    numbers = pa.array(range(1, len(table) + 1), pa.int64())
    for column, value in (("file", pa.scalar(file)), ("line", numbers)):
        position = EVENTS.get_field_index(column)
        table = table.set_column(position, EVENTS.field(position), pc.coalesce(table[column], value))
    return table


def _check_process_column(table: pa.Table, name: str, settings: Settings) -> None:
    """Refuse a table of which no row could be an event."""
    chosen = settings.fields.get("process")
    columns = [chosen, chosen.split(".")[0]] if chosen else list(OWN["process"])
    if not set(columns) & set(table.schema.names):
        raise InputError(
            f"{name}: no column is {' or '.join(columns)}, so this is no table of events; name the column of "
            "processes with --field process=COLUMN, or, if these are messages, give antecede order "
            "--sender COLUMN --stamp COLUMN"
        )


def _read_events_row_by_row(table: pa.Table, name: str, settings: Settings) -> Parsed:
    events = MappedEvents(OWN, settings, name)
    for number, record in enumerate(_round_timestamps_to_microseconds(table).to_pylist(), start=1):
        plain = {str(key): _pairs_to_dict_or_drop_null_members(value) for key, value in record.items()}
        try:
            events.mapper.add_record(number, plain)
        except Refused as reason:
            events.add_to_quarantine(number, str(reason), as_text(record))
    return events.finish_file("parquet")


def _round_timestamps_to_microseconds(table: pa.Table) -> pa.Table:
    """Moments that Python can hold: its clock has no nanoseconds."""
    for position, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            kind = pa.timestamp("us", field.type.tz)
            table = table.set_column(position, field.name, table[field.name].cast(kind, safe=False))
    return table


def _pairs_to_dict_or_drop_null_members(value: Any) -> Any:
    """Maps come out of Arrow as lists of pairs, and objects with a null for every name they lack."""
    if isinstance(value, dict):
        return {key: one for key, one in value.items() if one is not None}
    if isinstance(value, list) and value and all(isinstance(one, tuple) and len(one) == 2 for one in value):
        return dict(value)
    return value

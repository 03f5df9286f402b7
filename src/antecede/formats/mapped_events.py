"""The events of one file whose records are mapped to our columns: read in blocks, settled at the end.

A block of JSON lines becomes columns at once where all of its lines are plain. Where one is odd, smaller
blocks are tried, and in the end the odd line and those around it are read one by one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from antecede.formats.columns import Odd
from antecede.formats.indexing import fill_missing_event_ids, fill_missing_index_and_tell_basis
from antecede.formats.jsons import Raw, Record, decode_objects, split_lines
from antecede.formats.mapped import Mapper, Names
from antecede.formats.rows import FileRows, Parsed, Part, Refused
from antecede.formats.settings import Settings
from antecede.formats.typed_records import TypedRecords
from antecede.tables import EVENTS

FIRST_BYTES = 8_192
"""What is read line by line to see what records look like."""
BLOCK_BYTES = 1_000_000
SMALLEST_BYTES = 2_000
"""Odd blocks of this size are read line by line."""
BLOCK_PARTS = 8
"""Into how many parts a larger one is cut."""

Check = Callable[[Mapper, dict[str, Any]], bool]
"""Whether a record is an event; raises Refused if it is neither an event nor a header."""


class LineBlock(NamedTuple):
    """Some whole lines of a file."""

    data: bytes
    first_line: int
    lines: int


class IndexedEvents(NamedTuple):
    """All events of a file or of a part of it."""

    events: pa.Table
    own_entries: pa.ChunkedArray
    """The entries of their clocks for their own processes."""
    basis: str | None
    """What the index was made from."""


class MappedEvents:
    """Collects the events of a file, and the records that are refused."""

    def __init__(self, names: Names, settings: Settings, file: str) -> None:
        self.file = file
        self.mapper = Mapper(names, settings, FileRows(file))
        self.blocks: list[pa.Table] = [EVENTS.empty_table()]
        self.owns: list[pa.Array] = [pa.array([], pa.int64())]

    def add_to_quarantine(self, line: int, reason: str, raw: str | bytes) -> None:
        """One record that goes to quarantine."""
        self.mapper.rows.add_to_quarantine(line, reason, raw)

    def add_block(self, events: pa.Table, own_entries: pa.Array) -> None:
        """Events with the entries of their clocks for their own processes."""
        self._move_rows_into_block()
        self.blocks.append(events)
        self.owns.append(own_entries)

    def _move_rows_into_block(self) -> None:
        """What was added one by one becomes a block."""
        rows = self.mapper.rows
        if len(rows):
            self.blocks.append(rows.make_events_table())
            self.owns.append(pa.array(self.mapper.owns, pa.int64()))
            self.mapper.rows = FileRows(self.file, rows.refused)
            self.mapper.owns = []

    def build_indexed_events(self) -> IndexedEvents:
        """All events with their index."""
        self._move_rows_into_block()
        owns = pa.chunked_array(self.owns)
        events, basis = fill_missing_index_and_tell_basis(
            pa.concat_tables(self.blocks).combine_chunks(), owns
        )
        return IndexedEvents(events, owns, basis)

    def make_quarantine_table(self) -> pa.Table:
        return self.mapper.rows.make_quarantine_table()

    def finish_file(self, format: str) -> Parsed:
        """Both tables of the whole file."""
        events = fill_missing_event_ids(self.build_indexed_events().events, self.file)
        return Parsed(events, self.make_quarantine_table(), format)

    def finish_part(self, is_whole_lines: bool = True) -> Part:
        """Both tables of some lines of the file; events have only the ids that are given."""
        events, _, basis = self.build_indexed_events()
        return Part(events, self.make_quarantine_table(), basis, alone=is_whole_lines)


def add_json_lines(
    data: bytes,
    events: MappedEvents,
    first_line: int = 1,
    is_event: Check | None = None,
    needed_columns: Sequence[str] = (),
) -> None:
    """Read JSON lines into events, whole blocks where that is possible.

    `needed_columns` are those of which a record must have one, or else `is_event` is to look at it.
    """
    mapper = events.mapper
    typed = TypedRecords(mapper.paths, mapper.settings.kinds, events.file, needed_columns)
    for block in split_into_blocks(data, first_line, FIRST_BYTES, BLOCK_BYTES):
        _add_json_block(block, events, typed, is_event)


def _add_json_block(
    block: LineBlock, events: MappedEvents, typed: TypedRecords, is_event: Check | None
) -> None:
    try:
        events.add_block(*typed.decode_block(*block))
    except Odd:
        parts = split_block(block)
        if len(parts) > 1:
            for part in parts:
                _add_json_block(part, events, typed, is_event)
            return
        for record in decode_objects(split_lines(block.data, block.first_line), events.mapper.rows):
            typed.learn_keys(record.value)
            _add_or_quarantine_json_record(record, events, is_event)


def split_block(block: LineBlock) -> list[LineBlock]:
    """Parts of a block; the block alone if it is small enough to be read line by line."""
    size = max(len(block.data) // BLOCK_PARTS, SMALLEST_BYTES)
    return list(split_into_blocks(block.data, block.first_line, size, size))


def add_json_records(records: Iterable[Raw], events: MappedEvents, is_event: Check | None = None) -> None:
    """Read records into events, one by one."""
    for record in decode_objects(records, events.mapper.rows):
        _add_or_quarantine_json_record(record, events, is_event)


def _add_or_quarantine_json_record(record: Record, events: MappedEvents, is_event: Check | None) -> None:
    """Add the event of a record, unless it is a header; a record that is refused goes to quarantine."""
    try:
        if is_event is None or is_event(events.mapper, record.value):
            events.mapper.add_record(record.line, record.value)
    except Refused as reason:
        events.add_to_quarantine(record.line, str(reason), record.raw)


def split_into_blocks(
    data: bytes, first_line: int, first_bytes: int, block_bytes: int
) -> Iterator[LineBlock]:
    """Blocks of whole lines, the first one of about `first_bytes`, the others of about `block_bytes`."""
    begin, line, wanted = 0, first_line, first_bytes
    while begin < len(data):
        end = data.find(b"\n", begin + wanted - 1) + 1
        if end == 0:
            end = len(data)
        ends = data.count(b"\n", begin, end)
        is_ended = data.endswith(b"\n", begin, end)
        yield LineBlock(data[begin:end], line, ends if is_ended else ends + 1)
        begin, line, wanted = end, line + ends, block_bytes

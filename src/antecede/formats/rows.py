"""Rows on their way into the events and quarantine tables: lists by column, arrays at the end."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antecede.tables import EVENTS, QUARANTINE

Clock = dict[str, int]
Fields = dict[str, str]


class Refused(Exception):  # noqa: N818
    """A record cannot be read; the text is the reason that stands in quarantine."""


class Parsed(NamedTuple):
    """What one file holds."""

    events: pa.Table
    quarantine: pa.Table
    format: str


class Part(NamedTuple):
    """What some lines of a file hold. See `parts` for what is left to do when all parts are there."""

    events: pa.Table
    quarantine: pa.Table
    basis: str | None
    """What the index of events was made from; None if there are no events."""
    unmatched: bool = False
    """Whether no record has a message id, so that sends and receives are to be matched."""
    alone: bool = True
    """Whether every record surely ends in the part in which it begins."""


class FileRows:
    """The columns of one file. A reader with many rows may put an array of Arrow's in the place of a list."""

    def __init__(self, file: str, refused: list[tuple[int, str, str]] | None = None) -> None:
        self.file = file
        self.execution: list[str | None] = []
        self.process: list[str | None] = []
        self.index: list[int | None] = []
        self.event: list[str | None] = []
        self.kind: list[str | None] = []
        self.message: list[str | None] = []
        self.sender: list[str | None] = []
        self.receivers: list[list[str] | None] = []
        self.parents: list[list[str] | None] = []
        self.clock: list[Clock | None] = []
        self.time: list[float | None] = []
        self.text: list[str | None] = []
        self.fields: list[Fields | None] = []
        self.origin: list[str | None] = []
        self.line: list[int | None] = []
        self.refused = [] if refused is None else refused

    @classmethod
    def from_table(cls, table: pa.Table) -> "FileRows":
        """The rows of an events table."""
        rows = cls("")
        for name in EVENTS.names:
            column = table[name].to_pylist()
            if pa.types.is_map(table.schema.field(name).type):
                column = [None if pairs is None else dict(pairs) for pairs in column]
            setattr(rows, "origin" if name == "file" else name, column)
        return rows

    def __len__(self) -> int:
        return len(self.line)

    def add_event(
        self,
        line: int,
        *,
        execution: str = "",
        process: str | None = None,
        index: int | None = None,
        event: str | None = None,
        kind: str | None = None,
        message: str | None = None,
        sender: str | None = None,
        receivers: list[str] | None = None,
        parents: list[str] | None = None,
        clock: Clock | None = None,
        time: float | None = None,
        text: str | None = None,
        fields: Fields | None = None,
        file: str | None = None,
    ) -> None:
        """One more event; what is not named is unknown."""
        self.execution.append(execution)
        self.process.append(process)
        self.index.append(index)
        self.event.append(event)
        self.kind.append(kind)
        self.message.append(message)
        self.sender.append(sender)
        self.receivers.append(receivers)
        self.parents.append(parents)
        self.clock.append(clock)
        self.time.append(time)
        self.text.append(text)
        self.fields.append(fields)
        self.origin.append(file or self.file)
        self.line.append(line)

    def add_to_quarantine(self, line: int, reason: str, raw: str | bytes) -> None:
        """One record that goes to quarantine, as it stood there."""
        text = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
        self.refused.append((line, reason, text))

    def make_events_table(self) -> pa.Table:
        """The events table. A column that a reader left empty is null in every row."""
        columns = [self._build_column(field) for field in EVENTS]
        return pa.Table.from_arrays(columns, schema=EVENTS)

    def _build_column(self, field: pa.Field) -> pa.Array:
        values: Any = getattr(self, "origin" if field.name == "file" else field.name)
        if isinstance(values, pa.Array | pa.ChunkedArray):
            return values
        if not values and len(self):
            return pa.nulls(len(self), field.type)
        if pa.types.is_map(field.type):
            return build_map_column(values, field.type)
        return pa.array(values, field.type)

    def make_quarantine_table(self) -> pa.Table:
        """The quarantine table."""
        lines, reasons, raws = zip(*self.refused, strict=True) if self.refused else ((), (), ())
        columns: Sequence[Iterable[Any]] = [[self.file] * len(lines), lines, reasons, raws]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, QUARANTINE, strict=True)]
        return pa.Table.from_arrays(arrays, schema=QUARANTINE)

    def make_tables(self, format: str) -> Parsed:
        """Both tables, and the format they came from."""
        return Parsed(self.make_events_table(), self.make_quarantine_table(), format)


def build_map_column(values: Sequence[dict[str, Any] | None], kind: pa.MapType) -> pa.Array:
    """A column of maps from flat keys, values and offsets.

    There are few sets of keys: each is looked at once, and rows only say which one they have.
    """
    is_absent = np.fromiter((value is None for value in values), np.bool_, len(values))
    full = [value or {} for value in values] if is_absent.any() else values
    keys_of_rows = list(map(tuple, full))  # type: ignore[arg-type]
    key_sets = list(dict.fromkeys(keys_of_rows))
    number_of_set = {keys: number for number, keys in enumerate(key_sets)}
    sets = np.fromiter(map(number_of_set.__getitem__, keys_of_rows), np.int64, len(full))
    set_sizes = np.fromiter(map(len, key_sets), np.int64, len(key_sets))
    sizes = set_sizes[sets]
    offsets = np.zeros(len(full) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    # All sets stand one behind the other; the keys of a row are a stretch of that.
    set_starts = np.cumsum(set_sizes) - set_sizes
    shifts = np.repeat(set_starts[sets] - offsets[:-1], sizes)
    places = np.arange(offsets[-1]) + shifts
    all_keys = pa.array(list(chain.from_iterable(key_sets)), kind.key_type)
    flat: Any = chain.from_iterable(map(dict.values, full))  # type: ignore[arg-type]
    is_whole = pa.types.is_integer(kind.item_type)
    items = np.fromiter(flat, np.int64, offsets[-1]) if is_whole else list(flat)
    mask = np.append(is_absent, False) if is_absent.any() else None
    ends = pa.array(offsets, pa.int32(), mask=mask)
    return pa.MapArray.from_arrays(ends, all_keys.take(pa.array(places)), pa.array(items, kind.item_type))

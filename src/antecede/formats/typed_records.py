"""JSON lines decoded block by block into columns, without a look at single records.

The keys of records that were read one by one make a type: a struct with a field for every key, whose type
is the plain one for what the key holds. A block whose lines are all records of that type is decoded at once.
Every other block is odd: a line that is no record, a key that was not seen before, a value of another type.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from antecede.core.wire import Count
from antecede.formats import values
from antecede.formats.clocks import (
    ClocksAndOwnEntries,
    build_clocks_and_own_entries,
    missing_entries_to_null,
    read_plain_clocks,
)
from antecede.formats.columns import (
    LIST_COLUMNS,
    NAME_COLUMNS,
    Odd,
    assemble_events,
    build_fields_column,
    build_kinds_and_unknown_words,
    build_name_column,
    build_name_list_column,
    build_text_column,
    build_times_ms_and_unknown_texts,
)
from antecede.formats.jsons import ERRORS, are_all_lines_objects
from antecede.kernels.ragged import compute_starts

MOST_KEYS = 500
"""Keys of a file for which a type is worth its making."""

Path = tuple[str, ...]
Steps = tuple[tuple[str, Any], ...]
"""The attributes on the way to a value, each with what stands for an inner object that is absent."""
Keys = dict[str, "Keys | None"]
"""The keys that objects have; below a key that leads to columns of ours, those of its objects."""

# Whole numbers of more than 64 bits are fractions to a decoder without types.
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Name = str | Whole
TYPES: dict[str, Any] = {
    **dict.fromkeys(NAME_COLUMNS, Name | None),
    **dict.fromkeys(LIST_COLUMNS, list[Name] | Name | None),
    "index": Count | None,
    "line": Count | None,
    "clock": msgspec.Raw,
    "kind": str | None,
    "time": Whole | float | str | None,
    "text": Any,
    "fields": dict[str, str] | None,
}
"""What a plain record has in each column. Clocks are scanned later, those of all records together."""
NULL = b"null"
_clocks = msgspec.json.Decoder(list[dict[str, Count] | None])


class TypedBlock(NamedTuple):
    """The events of a block, and the entries of their clocks for their own processes."""

    events: pa.Table
    owns: pa.Array


class TypedRecords:
    """Decodes blocks of lines that have the keys and the types of the records seen before."""

    def __init__(
        self,
        paths: dict[str, list[Path]],
        kinds: dict[str, str],
        file: str,
        needed_columns: Sequence[str] = (),
    ) -> None:
        """`needed_columns` are those of which every record must have one."""
        self.paths, self.kinds, self.file, self.needed_columns = paths, kinds, file, needed_columns
        self.inner = {
            path[:depth] for some in paths.values() for path in some for depth in range(1, len(path))
        }
        self.keys: Keys = {}
        self.type: _RecordType | None = None
        self.is_possible = True

    def learn_keys(self, record: dict[str, Any]) -> None:
        """Take note of the keys of a record."""
        if self.is_possible and self._add_new_keys(self.keys, record, ()):
            self.type = None

    def _add_new_keys(self, known: Keys, record: dict[str, Any], above: Path) -> bool:
        """Whether there are any that were not known."""
        is_new = False
        for key, value in record.items():
            path = (*above, key)
            if path in self.inner and isinstance(value, dict):
                below = known.setdefault(key, {})
                is_new |= below is not None and self._add_new_keys(below, value, path)
            elif key not in known:
                known[key] = None
                is_new = True
        return is_new

    def decode_block(self, block: bytes, first_line: int, line_count: int) -> TypedBlock:
        """The events of a block; raises Odd if its lines must be read one by one."""
        if self.type is None and self.is_possible:
            self.type = _make_record_type(self.keys, self.paths)
            self.is_possible = self.type is not None
        body = block.removesuffix(b"\n").removesuffix(b"\r")
        if self.type is None or not are_all_lines_objects(body, line_count):
            raise Odd
        try:
            records = self.type.decoder.decode_lines(body)
        except ERRORS:
            raise Odd from None
        if len(records) != line_count:
            raise Odd
        columns = _Columns(self.type, records)
        columns.check_needed_columns(self.needed_columns)
        return columns.build_events(self.kinds, first_line, self.file)


class _RecordType(NamedTuple):
    """A type for records, and where its fields lead."""

    decoder: Any
    getters: dict[Path, Steps]
    """How to get at the value at the end of each path."""
    columns: dict[str, Path]
    """Where each column of ours stands."""
    spare: dict[str, list[Path]]
    """Where else it could stand: what is there is used only if the column is null."""
    others: list[Path]
    """All that belongs into the fields."""


def _make_record_type(keys: Keys, paths: dict[str, list[Path]]) -> _RecordType | None:
    """The type of records with these keys; None if there is no plain one."""
    leaves = set(_list_leaf_paths(keys))
    columns: dict[str, Path] = {}
    spare: dict[str, list[Path]] = {}
    for own, candidates in paths.items():
        present = [path for path in candidates if path in leaves]
        if present:
            columns[own] = present[0]
            spare[own] = present[1:]
    is_plain = len(leaves) <= MOST_KEYS and len(set(columns.values())) == len(columns)
    # A dot in a key could make the path to a value that lies deeper.
    if not is_plain or any("." in key for path in leaves for key in path):
        return None
    types = {path: TYPES[own] for own, path in columns.items()}
    try:
        struct, getters = _make_struct_type_and_getters(keys, types, ())
    except ValueError:
        return None
    others = [path for path in getters if path not in types]
    return _RecordType(msgspec.json.Decoder(struct), getters, columns, spare, others)


def _list_leaf_paths(keys: Keys, above: Path = ()) -> Iterator[Path]:
    for key, below in keys.items():
        if below is None:
            yield (*above, key)
        else:
            yield from _list_leaf_paths(below, (*above, key))


def _make_struct_type_and_getters(
    keys: Keys, types: dict[Path, Any], above: Path
) -> tuple[type, dict[Path, Steps]]:
    """A struct with a field for every key, and how to get at the values in it and below it."""
    fields: list[tuple[str, Any, Any]] = []
    getters: dict[Path, Steps] = {}
    names = {}
    for number, (key, below) in enumerate(keys.items()):
        name, path = f"field{number}", (*above, key)
        names[name] = key
        if below is None:
            fields.append((name, types.get(path, Any), None))
            getters[path] = ((name, None),)
        else:
            struct, inner = _make_struct_type_and_getters(below, types, path)
            fields.append((name, struct | None, None))
            empty = struct()
            getters |= {path: ((name, empty), *steps) for path, steps in inner.items()}
    return msgspec.defstruct(
        "Record", fields, rename=names, forbid_unknown_fields=True, gc=False, frozen=True
    ), getters


class _Columns:
    """The values of some records by path, and the columns made from them."""

    def __init__(self, record_type: _RecordType, records: Sequence[Any]) -> None:
        self.type = record_type
        self.records = records
        self.values: dict[Path, list[Any]] = {}
        self.inner: dict[Steps, Sequence[Any]] = {(): records}

    def _get_values_at_path(self, path: Path) -> list[Any]:
        if path not in self.values:
            *above, (name, _) = self.type.getters[path]
            objects = self._get_objects_at_path(tuple(above))
            found = list(map(attrgetter(name), objects))
            is_clock = path == self.type.columns.get("clock")
            self.values[path] = _json_nulls_to_none(found) if is_clock else found
        return self.values[path]

    def _get_objects_at_path(self, steps: Steps) -> Sequence[Any]:
        """The objects in which the values at the end of some paths stand."""
        if steps not in self.inner:
            *above, (name, empty) = steps
            objects = list(map(attrgetter(name), self._get_objects_at_path(tuple(above))))
            # An empty object is a value of its own, and looks like one whose values are all null.
            if empty in objects:
                raise Odd
            self.inner[steps] = [empty if one is None else one for one in objects]
        return self.inner[steps]

    def _collect_column_values(self, event_column: str) -> list[Any] | None:
        """What the records have for a column of ours; None if they have nothing."""
        path = self.type.columns.get(event_column)
        if path is None:
            return None
        column = self._get_values_at_path(path)
        for other in self.type.spare[event_column]:
            pairs = zip(column, self._get_values_at_path(other), strict=True)
            if any(value is None and further is not None for value, further in pairs):
                raise Odd
        return column

    def check_needed_columns(self, needed_columns: Sequence[str]) -> None:
        """Raise Odd if a record has none of these columns."""
        columns = [self._collect_column_values(own) or [None] * len(self.records) for own in needed_columns]
        if all(None in column for column in columns):
            rows = zip(*columns, strict=True)
            if any(row.count(None) == len(row) for row in rows):
                raise Odd

    def build_events(self, kinds: dict[str, str], first_line: int, file: str) -> TypedBlock:
        """The events table of the records, which are on lines of their own."""
        columns: dict[str, pa.Array] = {}
        fields = self._collect_other_fields()
        for own in (*NAME_COLUMNS, *LIST_COLUMNS, "index", "line"):
            given = self._collect_column_values(own)
            if given is None:
                continue
            if own in NAME_COLUMNS:
                columns[own] = build_name_column(given)
            elif own in LIST_COLUMNS:
                columns[own] = build_name_list_column(given)
            else:
                columns[own] = pa.array(given, pa.int64())
        if "process" not in columns:
            raise Odd
        owns = pa.nulls(len(self.records), pa.int64())
        if (given := self._collect_column_values("clock")) is not None:
            columns["clock"], own_entries = _parse_clocks_and_own_entries(given, columns["process"])
            owns = missing_entries_to_null(own_entries)
        if (given := self._collect_column_values("text")) is not None:
            columns["text"] = build_text_column(given)
        if (given := self._collect_column_values("kind")) is not None:
            columns["kind"], words = build_kinds_and_unknown_words(pa.array(given, pa.string()), kinds)
            if words.null_count < len(words):
                fields = _add_field_to_rows(fields, "kind", words.to_pylist())
        if (given := self._collect_column_values("time")) is not None:
            columns["time"], texts = build_times_ms_and_unknown_texts(given)
            if texts:
                fields = _add_field_to_rows(fields, "time", texts)
        if fields is not None:
            columns["fields"] = build_fields_column(fields)
        lines = pa.array(np.arange(first_line, first_line + len(self.records)))
        return TypedBlock(assemble_events(columns, lines, file), owns)

    def _collect_other_fields(self) -> list[dict[str, str]] | None:
        """What is not for our columns, as fields; None if there is nothing of that kind."""
        given = self._collect_column_values("fields")
        others = {path: self._get_values_at_path(path) for path in self.type.others}
        others = {path: column for path, column in others.items() if column.count(None) < len(column)}
        if not others and (given is None or given.count(None) == len(given)):
            return None
        result: list[dict[str, str]] = [{} for _ in self.records]
        for path, column in others.items():
            name = ".".join(path)
            for fields, value in zip(result, column, strict=True):
                if type(value) is str:
                    fields[name] = value
                elif value is not None:
                    fields |= values.flatten_to_fields(value, name, values.DEEPEST - len(path) + 1)
        for fields, more in zip(result, given or [], strict=given is not None):
            fields |= more or {}
        return result


def _json_nulls_to_none(raws: Sequence[msgspec.Raw | None]) -> list[msgspec.Raw | None]:
    size = len(NULL)
    return [None if raw is None or (len(raw) == size and bytes(raw) == NULL) else raw for raw in raws]


def _parse_clocks_and_own_entries(
    raw_clocks: Sequence[msgspec.Raw | None], process_of_record: pa.Array
) -> ClocksAndOwnEntries:
    """Clocks from their JSON, and their entries for these processes; raises Odd if one is no clock."""
    texts = [NULL if raw is None else raw for raw in raw_clocks]
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    starts = pa.py_buffer(compute_starts(lengths).astype(np.int32))
    joined = pa.py_buffer(b"".join(texts))
    column = pa.Array.from_buffers(pa.binary(), len(texts), [None, starts, joined])
    plain = read_plain_clocks(column, process_of_record)
    if plain is not None:
        return plain
    try:
        clocks = _clocks.decode(b"[" + b",".join(texts) + b"]")
    except ERRORS:
        raise Odd from None
    return build_clocks_and_own_entries(clocks, process_of_record)


def _add_field_to_rows(
    fields: list[dict[str, str]] | None, key: str, texts: Sequence[str | None]
) -> list[dict[str, str]]:
    fields = fields or [{} for _ in texts]
    for one, text in zip(fields, texts, strict=True):
        if text is not None:
            one[key] = text
    return fields

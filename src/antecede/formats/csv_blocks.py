"""Lines of CSV as columns, a block at a time, by Arrow's reader.

Arrow reads cells as we do, as long as each line is one record: no cell in quotes goes on over a line's end,
and no line is blank. If a block has as many rows as lines, that is so. Blocks with other lines are odd.
"""

import csv
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from antecede.core.wire import Count
from antecede.formats.clocks import build_clocks_and_own_entries, missing_entries_to_null, read_plain_clocks
from antecede.formats.columns import (
    LIST_COLUMNS,
    NAME_COLUMNS,
    Odd,
    assemble_events,
    build_fields_column,
    build_kinds_and_unknown_words,
    build_list_array,
    build_name_list_column,
    build_times_ms_and_unknown_texts,
    pack_columns_into_fields_map,
)
from antecede.formats.jsons import ERRORS
from antecede.formats.mapped import Mapper

MOST_DIGITS = 18
"""Digits of counts that are surely not too large."""

_clocks = msgspec.json.Decoder(list[dict[str, Count]])
_fields = msgspec.json.Decoder(list[dict[str, str]])
_lists = msgspec.json.Decoder(list[list[str]])


class CsvBlockReader:
    """Reads blocks of lines under one header."""

    def __init__(self, names: list[str], separator: str, mapper: Mapper, file: str) -> None:
        self.names, self.kinds, self.file = names, mapper.settings.kinds, file
        self.columns: dict[str, str] = {}
        self.spare: dict[str, list[str]] = {}
        for own, paths in mapper.paths.items():
            present = [path[0] for path in paths if len(path) == 1 and path[0] in names]
            if present:
                self.columns[own] = present[0]
                self.spare[own] = present[1:]
        used = list(self.columns.values())
        self.others = [name for name in names if name not in used]
        has_dots = any("." in name for name in names)
        is_unique = len(set(names)) == len(names) and len(set(used)) == len(used)
        self.is_possible = "process" in self.columns and len(names) > 1 and is_unique and not has_dots
        self.parse = pa_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
        types = dict.fromkeys(names, pa.string())
        self.convert = pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False)

    def decode_events_and_own_entries(
        self, block: bytes, first_line: int, line_count: int
    ) -> tuple[pa.Table, pa.Array]:
        """The events of a block, and the entries of their clocks for their own processes."""
        body = block.removesuffix(b"\n")
        if not self.is_possible or not body or b"\r" in body or b"\0" in body:
            raise Odd
        # Arrow closes a last cell that is open; all others take the line behind them with them.
        last_line = body[body.rfind(b"\n") + 1 :]
        if b'"' in last_line and ends_inside_record(last_line.decode(errors="replace"), self.parse.delimiter):
            raise Odd
        options = pa_csv.ReadOptions(column_names=self.names, use_threads=False, block_size=len(block) + 1)
        try:
            table = pa_csv.read_csv(pa.BufferReader(body), options, self.parse, self.convert)
        except (pa.ArrowException, ValueError):
            raise Odd from None
        if len(table) != line_count:
            raise Odd
        cells = {name: _empty_cells_to_null(table[name]) for name in self.names}
        return self._build_events_and_own_entries(
            cells, pa.array(np.arange(first_line, first_line + line_count))
        )

    def _build_events_and_own_entries(
        self, cells: dict[str, pa.Array], lines: pa.Array
    ) -> tuple[pa.Table, pa.Array]:
        given = {own: self._get_cells_of_event_column(own, cells) for own in self.columns}
        columns: dict[str, pa.Array] = {}
        others = {name: cells[name] for name in self.others if cells[name].null_count < len(lines)}
        for own, column in given.items():
            if own in LIST_COLUMNS:
                columns[own] = _parse_list_cells(column)
            elif own in ("index", "line"):
                columns[own] = _parse_count_cells(column)
            elif own in (*NAME_COLUMNS, "text"):
                columns[own] = column
        if "kind" in given:
            columns["kind"], words = build_kinds_and_unknown_words(given["kind"], self.kinds)
            _keep_unknown_texts_as_field(others, "kind", words)
        if "time" in given:
            columns["time"], texts = _parse_times_ms_and_unknown_texts(given["time"])
            _keep_unknown_texts_as_field(others, "time", texts)
        owns = pa.nulls(len(lines), pa.int64())
        if "clock" in given:
            columns["clock"], owns = _parse_clocks_and_own_entries(given["clock"], columns["process"])
        if "fields" in given and given["fields"].null_count < len(lines):
            columns["fields"] = _merge_given_fields_with_other_columns(
                _decode_json_cells(given["fields"], _fields), others
            )
        elif others:
            columns["fields"] = pack_columns_into_fields_map(others)
        return assemble_events(columns, lines, self.file), owns

    def _get_cells_of_event_column(self, event_column: str, cells: dict[str, pa.Array]) -> pa.Array:
        column = cells[self.columns[event_column]]
        for name in self.spare[event_column]:
            if pc.any(pc.and_(pc.is_null(column), pc.is_valid(cells[name]))).as_py():
                raise Odd
        return column


def ends_inside_record(text: str, separator: str) -> bool:
    """Whether the last line has a cell in quotes that is not closed, or ends its record by other means."""
    last = text.rstrip().rpartition("\n")[2]
    try:
        list(csv.reader([last + "\n"], delimiter=separator, strict=True))
    except csv.Error:
        return True
    return "\r" in text


def _empty_cells_to_null(column: pa.ChunkedArray) -> pa.Array:
    """The cells of a column; an empty one is null."""
    cells = column.combine_chunks()
    sizes = pc.binary_length(cells)
    if pc.max(sizes).as_py() >= csv.field_size_limit():
        raise Odd
    return pc.if_else(pc.equal(sizes, 0), None, cells) if pc.min(sizes).as_py() == 0 else cells


def _keep_unknown_texts_as_field(other_columns: dict[str, pa.Array], name: str, texts: pa.Array) -> None:
    """Keep what could not be understood among the fields."""
    if texts.null_count < len(texts):
        if name in other_columns:
            raise Odd
        other_columns[name] = texts


def _parse_count_cells(cells: pa.Array) -> pa.Array:
    is_plain = pc.and_(pc.ascii_is_decimal(cells), pc.less_equal(pc.binary_length(cells), MOST_DIGITS))
    if not pc.all(is_plain).as_py():
        raise Odd
    return cells.cast(pa.int64())


def _parse_times_ms_and_unknown_texts(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Times, and the text of what is none."""
    try:
        times = cells.cast(pa.float64())
        if pc.all(pc.is_finite(times)).as_py() is not False:
            return times, pa.nulls(len(cells), pa.string())
    except pa.ArrowInvalid:
        pass
    times, texts = build_times_ms_and_unknown_texts(cells.to_pylist())
    return times, pa.array(texts, pa.string()) if texts else pa.nulls(len(cells), pa.string())


def _parse_clocks_and_own_entries(cells: pa.Array, processes: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Clocks, and the entries of their own processes."""
    # A clock that is absent is null, but a cell that says so has no clock that could be read.
    if pc.any(pc.equal(cells, "null")).as_py():
        raise Odd
    column = read_plain_clocks(pc.fill_null(cells, "null"), processes)
    if column is None:
        column = build_clocks_and_own_entries(_decode_json_cells(cells, _clocks), processes)
    return column.clocks, missing_entries_to_null(column.own_entries)


def _parse_list_cells(cells: pa.Array) -> pa.Array:
    """Lists, which are JSON or separated."""
    if pc.any(pc.match_substring_regex(cells, r"^\s*[{\[]")).as_py():
        return build_name_list_column(_decode_json_cells(cells, _lists))
    has_semicolons = pc.any(pc.match_substring(cells, ";")).as_py()
    if has_semicolons and pc.any(pc.match_substring(cells, ",")).as_py():
        lists = [None if cell is None else split_list_cell(cell) for cell in cells.to_pylist()]
        return pa.array(lists, pa.list_(pa.string()))
    split = pc.split_pattern(cells, ";" if has_semicolons else ",")
    names = pc.list_flatten(split)
    is_plain = pc.and_(pc.equal(names, pc.utf8_trim_whitespace(names)), pc.not_equal(names, ""))
    if pc.all(is_plain).as_py():
        sizes = pc.fill_null(pc.list_value_length(split), 0).to_numpy()
        return build_list_array(names, sizes, pc.is_valid(cells).to_numpy(zero_copy_only=False))
    lists = [None if cell is None else split_list_cell(cell) for cell in cells.to_pylist()]
    return pa.array(lists, pa.list_(pa.string()))


def split_list_cell(cell: str) -> list[str]:
    """The names in a cell: separated by semicolons, or where there are none, by commas."""
    parts = cell.split(";" if ";" in cell else ",")
    return [part.strip() for part in parts if part.strip()]


def _decode_json_cells(cells: pa.Array, decoder: Any) -> list[Any]:
    """The values of cells that are JSON; None for empty ones."""
    texts = cells.drop_null().to_pylist()
    try:
        # A string cannot run on over a line's end, so no text can swallow the next one.
        values: list[Any] = decoder.decode("[" + ",\n".join(texts) + "]")
    except ERRORS:
        raise Odd from None
    if len(values) != len(texts):
        raise Odd
    if not cells.null_count:
        return values
    remaining = iter(values)
    return [next(remaining) if is_given else None for is_given in pc.is_valid(cells).to_pylist()]


def _merge_given_fields_with_other_columns(
    given: Sequence[dict[str, str] | None], others: dict[str, pa.Array]
) -> pa.Array:
    """Fields that records give as such, and other columns; those given win, except over kind and time."""
    merged: list[dict[str, str]] = [dict(one or {}) for one in given]
    for name, column in others.items():
        for fields, text in zip(merged, column.to_pylist(), strict=True):
            if text is not None and (name not in fields or name in ("kind", "time")):
                fields[name] = text
    return build_fields_column(merged)

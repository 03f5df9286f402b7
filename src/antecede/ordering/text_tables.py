"""Tables of messages in text, JSON lines or CSV with a header: from numbered lines to typed columns.

A line is a record: a quoted cell of CSV that goes on over a line's end is refused, since behind a stray quote
nobody could tell where the next record begins. All files of CSV have one header.

This takes two looks at the lines. The first one summarizes which types the columns have and what kind of
stamps there are: parts of files may be summarized apart, and the summaries be put together. The second one
makes rows, each with its file and line, or with the reason why it is none.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from antecede.core.errors import CallerError, InputError, NewColumnsError
from antecede.formats.csv_table import find_separator
from antecede.formats.text_lines import LineRange, read_lines
from antecede.ordering.added_columns import normalize_column_names_and_refuse_equal_ones
from antecede.ordering.strict_json import RepeatedKeyError, decode_json
from antecede.ordering.text_stamps import (
    KINDS,
    choose_stamp_kind,
    decode_if_json,
    find_name_fault,
    list_stamp_kinds,
    match_stamp_kinds,
    read_number_or_fault,
    read_stamp_or_fault,
)
from antecede.ordering.text_types import (
    TextType,
    find_json_type,
    find_type_of_csv_cells,
    make_column_of_csv_cells,
    make_column_of_json_values,
    merge_types,
    to_arrow_type,
)

FILE, LINE = "antecede file", "antecede line"
"""Columns of ours beside the user's: the number of the file and the line that a row was read from."""
RAW, REASON = "antecede raw", "antecede reason"
"""The same of what is no row: the text that stood there, and why it is none."""
PLACE_TYPES = {FILE: pa.int32(), LINE: pa.int64(), RAW: pa.string(), REASON: pa.string()}

NO_OBJECT = "is no JSON object"
NO_UTF8 = "is no UTF-8: convert the file"
OPEN_CELL = "a quoted cell does not end on its line"
_OPEN_CELL = '(?:^|{separator})"(?:[^"]++|"")*+$'
"""A cell that is opened by a quote and not closed before the line's end."""
_PLAIN_TYPES = {bool: "boolean", int: "bigint", float: "double", str: "string"}


class CsvHeader(NamedTuple):
    """The header of CSV files, and the line on which it stands in each."""

    names: list[str]
    separator: str
    lines: dict[int, int]


class TextQuestion(NamedTuple):
    """What is to be found in a table in text."""

    sender: str
    stamp: str
    number: str | None
    stamp_kinds: list[str]
    """The kinds that stamps may have; none if they stand for themselves."""
    header: CsvHeader | None
    """None for JSON lines."""
    name_columns: tuple[tuple[str, str], ...] = ()
    """What is named beside the sender, and in which columns: in CSV these are texts, since 01 and 1 are two
    names."""
    moments: tuple[str, ...] = ()
    """Columns that rows are put in order by: in CSV 01 and 1 are one number there."""


class TextSummary(NamedTuple):
    """What a first look at lines tells."""

    columns: dict[str, TextType]
    stamp_kinds: dict[str, int]
    """How many stamps can be of each kind."""


class TextPlan(NamedTuple):
    """How the lines of a table are read."""

    question: TextQuestion
    columns: dict[str, TextType]
    stamp_kind: str | None

    @property
    def name_columns(self) -> tuple[tuple[str, str], ...]:
        """The columns that must hold names, by what they name; messages with parents need no sender."""
        sender = () if self.stamp_kind == "ids" else (("sender", self.question.sender),)
        return (*sender, *self.question.name_columns)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows, then ours."""
        types = {name: self.find_column_type(name) for name in self.columns}
        return pa.schema({**types, **PLACE_TYPES})

    def find_column_type(self, name: str) -> pa.DataType:
        question = self.question
        if name == question.stamp and self.stamp_kind is not None:
            return KINDS[self.stamp_kind].type
        if name == question.number:
            return pa.int64()
        return to_arrow_type(self.columns[name])


class _Row(NamedTuple):
    """One record, or what stood in its place."""

    file: int
    line: int | None
    record: dict[str, Any] | None
    text: str | None
    fault: str | None


def make_text_question_and_read_csv_header(
    format: str,
    files: list[str],
    ranges: list[LineRange],
    sender: str = "sender",
    stamp: str = "stamp",
    form: str | None = None,
    number: str | None = None,
    id: str | None = None,
    group: str | None = None,
    receiver: str | None = None,
    arrival: str | None = None,
    time: str | None = None,
) -> TextQuestion:
    """What is to be found in these files; the header of CSV is read here."""
    stamp_kinds = list_stamp_kinds(form, has_id=id is not None)
    header = _read_common_csv_header(files, ranges) if format == "csv" else None
    names = list_roles_and_name_columns(id=id, group=group, receiver=receiver)
    moments = tuple(name for name in ("arrival", arrival, time) if name is not None)
    return TextQuestion(sender, stamp, number, stamp_kinds, header, names, moments)


def list_roles_and_name_columns(**column_of_role: str | None) -> tuple[tuple[str, str], ...]:
    """The columns of names that are there, by what they name."""
    return tuple((role, column) for role, column in column_of_role.items() if column is not None)


def _read_common_csv_header(files: list[str], ranges: list[LineRange]) -> CsvHeader:
    first_lines = {part.number: _read_first_nonblank_line(part) for part in ranges if part.low == 0}
    headers = {number: first for number, first in first_lines.items() if first is not None}
    if not headers:
        return CsvHeader([], ",", {})
    first_file = min(headers)
    text = headers[first_file][1]
    for number, (_, other) in headers.items():
        if other != text:
            raise CallerError(
                f"{files[first_file]} and {files[number]} have different headers: "
                "order files of one header at a time"
            )
    separator = find_separator(text)
    try:
        cells = next(csv.reader([text], delimiter=separator))
    except csv.Error as error:
        if "\r" in text.rstrip("\r"):
            reason = f"{files[first_file]}: its lines end in CR alone"
            raise InputError(f"{reason}; write them with LF, as dos2unix -c mac does") from None
        reason = f"{files[first_file]}: its first line is no header of CSV ({error})"
        raise InputError(f"{reason}; name a table of messages") from None
    names = _make_distinct_column_names(cells)
    return CsvHeader(names, separator, {number: line for number, (line, _) in headers.items()})


def _read_first_nonblank_line(part: LineRange) -> tuple[int, str] | None:
    """The first line of a file that is not blank."""
    for batch in read_lines(part):
        for row in batch.to_pylist():
            text = _decode_line(row["text"])
            if text is not None and text.strip():
                return row["line"], text
    return None


def _make_distinct_column_names(header_cells: list[str]) -> list[str]:
    """Names for the columns: a name that is there twice, or not at all, gets its number."""
    counts = Counter(cell.lower() for cell in header_cells)
    names = []
    for place, cell in enumerate(header_cells):
        if not cell:
            names.append(f"_c{place}")
        else:
            names.append(cell if counts[cell.lower()] == 1 else f"{cell}{place}")
    return names


def summarize_lines(batches: Iterable[pa.RecordBatch], question: TextQuestion) -> TextSummary:
    """The types of the columns, and what stamps can be."""
    types: dict[str, TextType] = {}
    kinds: Counter[str] = Counter()
    for batch in batches:
        records = [row.record for row in _parse_records_of_lines(batch, question) if row.record is not None]
        for name, kind in _find_column_types(records, question).items():
            types[name] = merge_types(types.get(name, "null"), kind)
        if len(question.stamp_kinds) > 1:
            for record in records:
                kinds.update(_find_stamp_kinds(record.get(question.stamp), question.stamp_kinds))
    return TextSummary(types, dict(kinds))


def _find_stamp_kinds(stamp: Any, possible_kinds: list[str]) -> list[str]:
    try:
        return match_stamp_kinds(decode_if_json(stamp), possible_kinds)
    except RepeatedKeyError:
        return []


def _find_column_types(records: list[dict[str, Any]], question: TextQuestion) -> dict[str, TextType]:
    types: dict[str, TextType] = {}
    if question.header is not None:
        for name in question.header.names:
            cells = _collect_cells(records, name)
            types[name] = find_type_of_csv_cells(cells, is_moment=name in question.moments)
        return types
    for record in records:
        for name, value in record.items():
            known = types.get(name, "null")
            if known != _PLAIN_TYPES.get(type(value)) or type(value) is int:
                types[name] = merge_types(known, find_json_type(value))
    return types


def _collect_cells(records: list[dict[str, Any]], name: str) -> pa.Array:
    return pa.array([record[name] for record in records], pa.string())


def merge_summaries(summaries: Iterable[TextSummary]) -> TextSummary:
    """What several parts of the lines tell together."""
    types: dict[str, TextType] = {}
    kinds: Counter[str] = Counter()
    for summary in summaries:
        for name, kind in summary.columns.items():
            types[name] = merge_types(types.get(name, "null"), kind)
        kinds.update(summary.stamp_kinds)
    return TextSummary(types, dict(kinds))


def plan_text_table(question: TextQuestion, summary: TextSummary, *, exact_names: bool = False) -> TextPlan:
    """How all lines are read. The columns of JSON are in the order of their names."""
    names = sorted(summary.columns) if question.header is None else question.header.names
    normalize_column_names_and_refuse_equal_ones(names, exact=exact_names)
    columns = {name: summary.columns.get(name, "null") for name in names}
    texts = [question.stamp]
    if question.header is not None:
        texts += [question.sender, *(column for _, column in question.name_columns)]
    for name in texts:
        if name in columns:
            columns[name] = "string"
    kinds = question.stamp_kinds
    kind = choose_stamp_kind(kinds, summary.stamp_kinds) if kinds and question.stamp in columns else None
    plan = TextPlan(question, columns, kind)
    for _, name in plan.name_columns:
        if not isinstance(columns.get(name, ""), str):  # no value of it is a name, and no row can be read
            columns[name] = "string"
    return plan


def parse_lines(batches: Iterable[pa.RecordBatch], plan: TextPlan) -> Iterator[pa.RecordBatch]:
    """Rows with the columns of the plan; where there is a reason, the user's columns are null."""
    schema = plan.schema
    for batch in batches:
        yield _make_row_batch(_parse_records_of_lines(batch, plan.question), plan, schema)


def parse_lines_or_refuse_new_columns(
    batches: Iterable[pa.RecordBatch], plan: TextPlan
) -> Iterator[pa.RecordBatch]:
    """The same, for lines of JSON that came after the plan was made.

    Raises NewColumnsError if the plan has no room for them: nothing is left out, and nothing is guessed.
    """
    schema = plan.schema
    for batch in batches:
        rows = _parse_records_of_lines(batch, plan.question)
        _check_no_new_columns(rows, plan)
        yield _make_row_batch(rows, plan, schema)


def _check_no_new_columns(rows: list[_Row], plan: TextPlan) -> None:
    records = [row.record for row in rows if row.record is not None]
    changed = []
    for name, kind in _find_column_types(records, plan.question).items():
        known = plan.columns.get(name)
        if known is None or merge_types(known, kind) != known:
            changed.append(name)
    if changed:
        names = ", ".join(repr(name) for name in sorted(changed))
        raise NewColumnsError(f"columns are new, or of another type than before: {names[:300]}")


def _make_row_batch(rows: list[_Row], plan: TextPlan, schema: pa.Schema) -> pa.RecordBatch:
    records, reasons = _convert_rows(rows, plan)
    columns = [make_record_column(records, name, plan) for name in plan.columns]
    raws = [None if reason is None else row.text for row, reason in zip(rows, reasons, strict=True)]
    places = ([row.file for row in rows], [row.line for row in rows], raws, reasons)
    columns += [pa.array(values, kind) for values, kind in zip(places, PLACE_TYPES.values(), strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _convert_rows(rows: list[_Row], plan: TextPlan) -> tuple[list[dict[str, Any]], list[str | None]]:
    """Records with stamps and numbers as what they mean, and the reasons of those that cannot be rows."""
    records, reasons = [], []
    for row in rows:
        record, reason = row.record or {}, row.fault
        if reason is None:
            record, reason = convert_record(record, plan)
        records.append(record if reason is None else {})
        reasons.append(reason)
    return records, reasons


def convert_record(record: dict[str, Any], plan: TextPlan) -> tuple[dict[str, Any], str | None]:
    """The record with stamp and number as what they mean, or the reason why it cannot be a row."""
    question = plan.question
    reason = _find_first_name_fault(record, plan)
    if reason is None and plan.stamp_kind is not None:
        stamp, reason = read_stamp_or_fault(record.get(question.stamp), plan.stamp_kind)
        record = {**record, question.stamp: stamp}
    if reason is None and question.number is not None and question.number != question.stamp:
        number, reason = read_number_or_fault(record.get(question.number), question.number)
        record = {**record, question.number: number}
    return record, reason


def _find_first_name_fault(record: dict[str, Any], plan: TextPlan) -> str | None:
    for role, column in plan.name_columns:
        value = record.get(column)
        if isinstance(value, list | dict | str):
            fault = find_name_fault(role, value)
            if fault is not None:
                return fault
    return None


def make_record_column(records: list[dict[str, Any]], name: str, plan: TextPlan) -> pa.Array:
    """A column of records that were converted."""
    values = [record.get(name) for record in records]
    question = plan.question
    is_converted = name == question.number or (name == question.stamp and plan.stamp_kind is not None)
    if is_converted:
        return pa.array(values, plan.find_column_type(name))
    if question.header is not None:
        return make_column_of_csv_cells(pa.array(values, pa.string()), plan.columns[name])
    return make_column_of_json_values(values, plan.columns[name])


def _parse_records_of_lines(batch: pa.RecordBatch, question: TextQuestion) -> list[_Row]:
    """The records of some lines; blank lines and headers are none."""
    rows: list[_Row] = []
    header = question.header
    parse = _parse_json_line if header is None else _make_csv_parser(header)
    for file, line, data, error in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        text = _decode_line(data)
        if text is None:
            rows.append(_Row(file, line, None, None, error))
        elif text.strip() and (header is None or header.lines.get(file) != line):
            records = parse(text) if _was_decoded_without_loss(data, text) else [(None, NO_UTF8)]
            rows += [_Row(file, line, record, text, fault) for record, fault in records]
    return rows


def _decode_line(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace").removesuffix("\r")


def _was_decoded_without_loss(data: bytes, decoded: str) -> bool:
    """Whether a line was decoded as it is: nothing stands in for bytes that are no text."""
    return "\ufffd" not in decoded or data.removesuffix(b"\r") == decoded.encode()


Parsed = tuple[dict[str, Any] | None, str | None]
"""A record, or the reason why there is none."""


def _parse_json_line(text: str) -> list[Parsed]:
    """The object on a line; a line that is a list of objects has a row for each."""
    try:
        value = decode_json(text)
    except (msgspec.DecodeError, RecursionError):
        return [(None, NO_OBJECT)]
    except RepeatedKeyError as error:
        return [(None, str(error))]
    items = value if isinstance(value, list) and value else [value]
    return [(item, None) if isinstance(item, dict) else (None, NO_OBJECT) for item in items]


def _make_csv_parser(header: CsvHeader) -> Callable[[str], list[Parsed]]:
    names, separator = header.names, header.separator
    open_cell = re.compile(_OPEN_CELL.format(separator=re.escape(separator)))
    wrong_size = f"does not have the {len(names)} cells that the header has"

    def parse_csv_line(text: str) -> list[Parsed]:
        if '"' not in text:
            cells = text.split(separator)
        elif open_cell.search(text):
            return [(None, OPEN_CELL)]
        else:
            try:
                cells = next(csv.reader([text], delimiter=separator))
            except csv.Error as error:
                return [(None, f"is no record of CSV ({error})")]
        if len(cells) != len(names):
            return [(None, wrong_size)]
        return [({name: cell or None for name, cell in zip(names, cells, strict=True)}, None)]

    return parse_csv_line

"""Change events of Debezium as tables of messages: from lines of files, and from records of topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from antecede.formats.debezium import CHANGES, Change, Commits, TransactionMark, make_change_row, read_change
from antecede.formats.rows import Refused
from antecede.ordering.kafka_records import KAFKA_COLUMNS, convert_kafka_column
from antecede.ordering.strict_json import RepeatedKeyError, decode_json
from antecede.ordering.text_tables import FILE, LINE, PLACE_TYPES, RAW, REASON

FROM_LINES = pa.schema([*CHANGES, ("value", pa.string()), *PLACE_TYPES.items()])
FROM_RECORDS = pa.schema([*CHANGES, *KAFKA_COLUMNS.items(), (REASON, pa.string())])
MARKS = pa.schema({FILE: pa.int32(), LINE: pa.int64(), "kind": pa.string(), "transaction": pa.string()})
"""Where transactions begin and end in files."""
SHOWN_FILES = 5
"""So many files are named in the order in which they are believed to be."""


class _Read(NamedTuple):
    """The row of a record, or the reason why there is none."""

    row: dict[str, Any]
    reason: str | None


def list_transaction_marks(lines: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The transactions that begin or end on these lines."""
    for batch in lines:
        rows = []
        for file, line, text, _ in _iterate_nonblank_lines(batch):
            change = _parse_change_or_give_reason(text)
            if isinstance(change, Change) and change.kind in ("begin", "end"):
                place = {FILE: file, LINE: line}
                rows.append({**place, "kind": change.kind, "transaction": change.transaction})
        yield pa.RecordBatch.from_pylist(rows, MARKS)


def order_commits(marks: pa.Table) -> Commits:
    """The transactions in the order in which files tell of their begins and ends."""
    by_place = marks.sort_by([(FILE, "ascending"), (LINE, "ascending")])
    kinds, transactions = by_place["kind"].to_pylist(), by_place["transaction"].to_pylist()
    return Commits().add_transactions(map(TransactionMark, kinds, transactions), most_remembered=None)


def describe_commit_order_if_in_several_files(marks: pa.Table, files: list[str]) -> tuple[str, ...]:
    """A sentence if the order of commits is believed to be that of files."""
    numbers = sorted(marks[FILE].unique().to_pylist())
    if len(numbers) < 2:
        return ()
    shown = ", ".join(files[number] for number in numbers[:SHOWN_FILES])
    more = ", ..." if len(numbers) > SHOWN_FILES else ""
    return (
        f"transactions begin or end in {len(numbers)} files, and commits are believed to be in the order "
        f"of these: {shown}{more}; if that is wrong, name the files one by one, in their order",
    )


def parse_change_lines(lines: Iterable[pa.RecordBatch], commits: Commits) -> Iterator[pa.RecordBatch]:
    """The rows of lines; where there is a reason, the columns of changes are null."""
    for batch in lines:
        rows = []
        for file, line, text, error in _iterate_nonblank_lines(batch):
            found = _Read({}, error)
            if text is not None:
                found = _read_change_row(text, f"line {line} of file {file}", line, commits)
            value = None if text is None else text.decode(errors="replace")
            raw = None if found.reason is None else value
            place = {FILE: file, LINE: line, RAW: raw, REASON: found.reason}
            rows.append({**found.row, "value": value, **place})
        yield pa.RecordBatch.from_pylist(rows, FROM_LINES)


def _iterate_nonblank_lines(batch: pa.RecordBatch) -> Iterator[tuple[int, int, bytes | None, str | None]]:
    """File, line, text and error of all lines that are not blank."""
    for file, line, text, error in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        if text is None or text.strip():
            yield file, line, text, error


def parse_change_records(records: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of records; which transaction came before each one is still to be told."""
    for batch in records:
        names = ("kafka_topic", "kafka_partition", "kafka_offset", "kafka_value")
        rows, reasons = [], []
        for topic, partition, offset, value in zip(*(batch[name].to_pylist() for name in names), strict=True):
            found = _read_change_row(value, f"{topic}/{partition}/{offset}", offset, Commits())
            if found.reason is None and found.row["kind"] == "tombstone":
                found.row["group"], found.row["table"] = f"topic {topic}", topic
            rows.append(found.row)
            reasons.append(found.reason)
        changes = pa.RecordBatch.from_pylist(rows, CHANGES)
        own = [convert_kafka_column(batch, name) for name in KAFKA_COLUMNS]
        columns = [*changes.columns, *own, pa.array(reasons, pa.string())]
        yield pa.RecordBatch.from_arrays(columns, schema=FROM_RECORDS)


def _read_change_row(text: bytes | None, fallback_id: str, place: int, commits: Commits) -> _Read:
    change = _parse_change_or_give_reason(text)
    if isinstance(change, str):
        return _Read({}, change)
    return _Read(make_change_row(change, fallback_id, place, commits), None)


def _parse_change_or_give_reason(text: bytes | None) -> Change | str:
    """What a record says, or the reason why it says nothing."""
    try:
        return read_change(None if text is None else decode_json(text.decode()))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return "no JSON object"
    except (RepeatedKeyError, Refused) as error:
        return str(error)

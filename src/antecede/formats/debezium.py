"""Change events of Debezium, and its topic of transactions: what each record is, and what it must wait for.

A database's changes come through a topic for each table. With `provide.transaction.metadata` each change
tells its transaction and its place in it, and one more topic has a BEGIN and an END for each transaction, in
the order of commits; the END tells how many changes there are. So

    begin of t     comes behind the end of the transaction before it, once the end of t and all of t have come
    change k of t  comes behind change k - 1 of t, the first one behind the begin
    end of t       comes behind the last change

and a transaction comes out whole, in the order of commits, or is held with what it lacks. What is in no
transaction (rows of a snapshot, tombstones, changes of a connector that tells none) waits for nothing.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from antecede.core.errors import InputError
from antecede.formats.rows import Refused
from antecede.formats.source import GZIP, UTF8, inflate_blocks
from antecede.formats.sources import list_files

TRANSACTIONS = "transactions"
"""The group of all that is in transactions; that of the rest is `table ...` or `topic ...`."""
STAMP = pa.struct([("behind", pa.list_(pa.string())), ("with", pa.list_(pa.string()))])
CHANGES = pa.schema(
    {
        "group": pa.string(),
        "id": pa.string(),
        "stamp": STAMP,
        "kind": pa.string(),  # begin, end, change, outside (of transactions) or tombstone
        "transaction": pa.string(),
        "total_order": pa.int64(),
        "event_count": pa.int64(),
        "table": pa.string(),
        "op": pa.string(),
        "place": pa.int64(),  # the offset in the partition, or the line
    }
)
"""What is read of each record."""
COLUMNS = {"group": "group", "id": "id", "stamp": "stamp", "time": "place"}
"""The options under which such rows are put in order."""
HEAD_BYTES = 1 << 20
"""Bytes at the beginning of a file in which the first record must end that is no tombstone."""
MOST_CHANGES = 1_000_000
"""Changes of a transaction that can be waited for together: each is named, and so many take about a GB."""
LARGEST = 2**63 - 1
"""The largest number that a column of integers holds."""
REMEMBERED = 1_000
"""Transactions whose places are remembered: after a failure Debezium may send the last ones again."""


class Change(NamedTuple):
    """A record of Debezium; what it does not tell is null."""

    kind: str
    transaction: str | None = None
    order: int | None = None
    event_count: int | None = None
    table: str | None = None
    op: str | None = None


class TransactionMark(NamedTuple):
    """A BEGIN or an END, in the order of commits."""

    kind: str
    transaction: str


class Commits(msgspec.Struct, frozen=True):
    """The transactions so far: the last one, and which ones the last so many came behind."""

    last: str | None = None
    before: dict[str, str | None] = {}

    def add_transactions(
        self, marks: Iterable[TransactionMark], most_remembered: int | None = REMEMBERED
    ) -> Commits:
        """The same with more transactions, in the order of commits; those sent again keep their places.

        An END tells the place of a transaction whose BEGIN is lost. Only where it is the first mark of all
        has the log begun in the middle of that transaction, and then nothing comes behind it. Of the earlier
        transactions the last `most_remembered` are kept.
        """
        last, before = self.last, dict(self.before)
        for kind, transaction in marks:
            if transaction in before:
                continue
            is_cut_off = kind == "end" and not before
            before[transaction] = last
            last = None if is_cut_off else transaction
        recent = list(before.items())
        return Commits(last, dict(recent if most_remembered is None else recent[-most_remembered:]))


def has_change_log(paths: list[str]) -> bool:
    """Whether one of these files begins with a record of Debezium, behind any number of tombstones."""
    return any(_begins_with_change(file) for file in list_files(paths))


def _begins_with_change(file: str) -> bool:
    for line in _read_first_lines(file):
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return False
        if _unwrap_envelope(value) is not None:
            return looks_like_change(value)
    return False


def _read_first_lines(file: str) -> Iterator[bytes]:
    """The lines at the beginning of a file that are not blank; no more is read than is taken."""
    try:
        with open(file, "rb") as stream:
            if stream.peek(len(GZIP)).startswith(GZIP):
                stream = io.BufferedReader(io.BytesIO(next(inflate_blocks(stream), b"")))
            read = 0
            while read < HEAD_BYTES and (line := stream.readline(HEAD_BYTES)):
                text = line.removeprefix(UTF8) if not read else line
                read += len(line)
                if text.strip():
                    yield text
    except (OSError, InputError):
        return


def looks_like_change(value: Any) -> bool:
    """Whether a JSON value is a record of Debezium."""
    payload = _unwrap_envelope(value)
    if not isinstance(payload, dict):
        return False
    is_change = isinstance(payload.get("op"), str) and isinstance(payload.get("source"), dict)
    is_mark = payload.get("status") in ("BEGIN", "END") and "event_count" in payload
    return is_change or is_mark


def read_change(value: Any) -> Change:
    """What a record says; null is a tombstone. Raises Refused."""
    if value is None:
        return Change("tombstone")
    payload = _unwrap_envelope(value)
    if payload is None:
        return Change("tombstone")
    if not isinstance(payload, dict):
        raise Refused("no JSON object")
    if payload.get("status") in ("BEGIN", "END"):
        return _parse_transaction_mark(payload)
    op, source = payload.get("op"), payload.get("source")
    if not isinstance(op, str) or not isinstance(source, dict):
        raise Refused("neither a change, with op and source, nor the BEGIN or END of a transaction")
    table = ".".join(str(source[key]) for key in ("db", "schema", "table", "collection") if source.get(key))
    transaction = payload.get("transaction")
    if transaction is None:
        return Change("outside", table=table, op=op)
    if not isinstance(transaction, dict):
        raise Refused("its transaction is no object")
    order = _require_count(transaction.get("total_order"), "total_order", least=1)
    return Change("change", _read_transaction_id(transaction), order, table=table, op=op)


def _unwrap_envelope(value: Any) -> Any:
    """The payload, where the converter writes the schema beside it."""
    is_envelope = isinstance(value, dict) and "payload" in value and value.keys() <= {"schema", "payload"}
    return value["payload"] if is_envelope else value


def _parse_transaction_mark(payload: dict[str, Any]) -> Change:
    if payload["status"] == "BEGIN":
        return Change("begin", _read_transaction_id(payload))
    count = _require_count(payload.get("event_count"), "event_count", least=0)
    if count > MOST_CHANGES:
        raise Refused(f"event_count is {count:.7g}, and {MOST_CHANGES:,} changes can be held together")
    return Change("end", _read_transaction_id(payload), event_count=count)


def _read_transaction_id(mapping: dict[str, Any]) -> str:
    name = mapping.get("id")
    if not isinstance(name, str | int) or name == "":
        raise Refused("its transaction has no id")
    return str(name)


def _require_count(value: Any, name: str, least: int) -> int:
    if type(value) is int and value > LARGEST:
        raise Refused(f"{name} is above 2^63 - 1")
    if type(value) is not int or value < least:
        raise Refused(f"{name} is no number from {least} on: {json.dumps(value)[:80]}")
    return value


def make_begin_id(transaction: str) -> str:
    """The id of the record with which a transaction begins."""
    return f"begin of {transaction}"


def make_end_id(transaction: str) -> str:
    """The id of the record with which a transaction ends."""
    return f"end of {transaction}"


def make_change_id(transaction: str, order: int) -> str:
    """The id of a change."""
    return f"change {order} of {transaction}"


def make_change_row(change: Change, fallback_id: str, place: int, commits: Commits) -> dict[str, Any]:
    """The row of a record; `fallback_id` is the id of one that is in no transaction."""
    order, transaction = change.order, str(change.transaction)
    name, behind, together = fallback_id, [], []
    if change.kind == "begin":
        name, together = make_begin_id(transaction), [make_end_id(transaction)]
        before = commits.before.get(transaction)
        behind = [] if before is None else [make_end_id(before)]
    elif change.kind == "end":
        name = make_end_id(transaction)
        together = [make_change_id(transaction, k) for k in range(1, (change.event_count or 0) + 1)]
        behind = together[-1:] or [make_begin_id(transaction)]
    elif change.kind == "change":
        assert order is not None
        name = make_change_id(transaction, order)
        behind = [make_change_id(transaction, order - 1) if order > 1 else make_begin_id(transaction)]
    return {
        "group": _choose_group(change),
        "id": name,
        "stamp": {"behind": behind, "with": together},
        "kind": change.kind,
        "transaction": change.transaction,
        "total_order": order,
        "event_count": change.event_count,
        "table": change.table,
        "op": change.op,
        "place": place,
    }


def _choose_group(change: Change) -> str:
    """Whatever a table is called, its group is not that of transactions."""
    if change.transaction is not None:
        return TRANSACTIONS
    return f"table {change.table}" if change.table else ""

"""A database's changes as Debezium writes them: a topic for each table, and one for transactions."""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple

TRANSACTION_TOPIC = "shop.transaction"
TABLES = ("orders", "payments", "items")


class ChangeRecord(NamedTuple):
    """A record: its topic, its value and the name that it gets in the tables."""

    topic: str
    value: Any
    name: str | None = None

    def write(self, with_schema: bool) -> bytes:
        """As one of the two forms of Kafka Connect's JSON converter."""
        if self.value is None:
            return b"null"
        value = {"schema": {"type": "struct"}, "payload": self.value} if with_schema else self.value
        return json.dumps(value).encode()


def commit_transactions(random: Random, count: int) -> list[list[ChangeRecord]]:
    """So many transactions over several tables, in the order of commits."""
    return [commit(f"{500 + n}:{90000 + n}", random, random.randrange(1, 6)) for n in range(count)]


def commit(transaction: str, random: Random, size: int) -> list[ChangeRecord]:
    """The records of one transaction, from BEGIN to END."""
    mark = {"id": transaction, "ts_ms": 1}
    begin = {**mark, "status": "BEGIN", "event_count": None, "data_collections": None}
    records = [ChangeRecord(TRANSACTION_TOPIC, begin, f"begin of {transaction}")]
    counts = dict.fromkeys(TABLES, 0)
    for order in range(1, size + 1):
        table = random.choice(TABLES)
        counts[table] += 1
        place = {"id": transaction, "total_order": order, "data_collection_order": counts[table]}
        value = make_change(table, "u", place)
        records.append(ChangeRecord(f"shop.{table}", value, f"change {order} of {transaction}"))
    lists = [{"data_collection": f"public.{t}", "event_count": n} for t, n in counts.items() if n]
    end = {**mark, "status": "END", "event_count": size, "data_collections": lists}
    return [*records, ChangeRecord(TRANSACTION_TOPIC, end, f"end of {transaction}")]


def make_change(table: str, op: str, transaction: dict[str, Any] | None) -> dict[str, Any]:
    """A change of a row of a table."""
    source = {"connector": "postgresql", "db": "shop", "schema": "public", "table": table, "lsn": 1}
    row = {"id": 1, "amount": 2}
    return {
        "before": None,
        "after": None if op == "d" else row,
        "source": source,
        "op": op,
        "ts_ms": 1,
        "transaction": transaction,
    }


OUTSIDE = [
    ChangeRecord("shop.orders", make_change("orders", "r", None)),
    ChangeRecord("shop.items", make_change("items", "r", None)),
    ChangeRecord("shop.orders", None),
]
"""Two rows of a snapshot and a tombstone: all in no transaction."""

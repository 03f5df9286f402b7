"""Rows in micro-batches through the step and its files, as Spark drives them but in this process."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.ordering.message_plan import MessageOptions, TableColumns
from antecede.ordering.stream.give_up import GiveUp
from antecede.streams.bucket import BucketReport, order_and_write_bucket
from antecede.streams.files import read_group_states, read_waiting_rows
from antecede.streams.ledger import Ledger, Turn
from antecede.streams.marks import TABLES, Mark, read_newest_mark
from antecede.streams.stream_plan import plan_stream
from tests.message_rows import Row

BUCKETS = 2


class Tables(NamedTuple):
    """All that a stream has written, and the rows that wait."""

    ordered: list[Row]
    late: list[Row]
    held: list[Row]
    quarantine: list[Row]
    waiting: list[Row]

    @property
    def out(self) -> list[Row]:
        return self.ordered + self.late

    def every_row(self) -> list[Row]:
        return [row for table in self for row in table]


class Driver:
    """A stream in a folder."""

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        *,
        give_up: GiveUp = GiveUp(),  # noqa: B008
        horizon: int | None = None,
        query: str | None = None,
        sink: str = "parquet",
        **options: Any,
    ) -> None:
        columns = TableColumns(schema.names, lambda name: schema.field(name).type)
        plan = plan_stream(columns, MessageOptions(**options), give_up, horizon)
        self.schema = schema
        self.group = plan.messages.group
        self.ledger = Ledger(folder / "checkpoint", folder / "out", plan, query, sink)

    def run_all(self, batches: Iterable[list[Row]]) -> Tables:
        for number, rows in enumerate(batches):
            self.run_batch(number, rows)
        return self.read()

    def run_batch(self, number: int, rows: list[Row], time: int | None = None) -> Mark | None:
        turn = self.begin(number, time)
        if turn is None:
            return None
        return turn.commit_batch(self.run_tasks(turn, rows), self.schema)

    def begin(self, number: int, time: int | None = None) -> Turn | None:
        return self.ledger.begin_batch(number, 1000 * number if time is None else time, BUCKETS)

    def run_tasks(self, turn: Turn, rows: list[Row]) -> list[BucketReport]:
        parts: dict[int, list[Row]] = {bucket: [] for bucket in turn.list_expired_buckets()}
        for row in rows:
            group = "" if self.group is None else str(row[self.group])
            parts.setdefault(zlib.crc32(group.encode()) % turn.bucket_count, []).append(row)
        return [
            order_and_write_bucket(turn.make_task(bucket), pa.Table.from_pylist(part, self.schema))
            for bucket, part in parts.items()
        ]

    def read(self) -> Tables:
        tables = {name: pq.read_table(self.ledger.out / name).to_pylist() for name in TABLES}
        return Tables(**tables, waiting=self.read_waiting())

    def read_waiting(self) -> list[Row]:
        mark = read_newest_mark(self.ledger.checkpoint)
        rows: list[Row] = []
        for files in mark.buckets.values() if mark else ():
            states = read_group_states(self.ledger.checkpoint, files, None)
            waiting = read_waiting_rows(self.ledger.checkpoint, files, states)
            rows += waiting.rows.to_pylist()
            assert len(waiting.filed) == files.held_rows == sum(states["held"].to_pylist())
        return rows


def cut(random: Random, rows: list[Row], parts: int) -> list[list[Row]]:
    """The rows in about so many batches, cut anywhere."""
    cuts = sorted(random.randrange(len(rows) + 1) for _ in range(parts - 1))
    return [rows[low:high] for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def check_positions(tables: Tables, group: str = "group") -> dict[Any, list[Row]]:
    """What came out of each group, by position; positions are dense and unique."""
    lines: dict[Any, list[Row]] = {}
    for row in tables.out:
        lines.setdefault(row[group], []).append(row)
    for line in lines.values():
        line.sort(key=lambda row: row["position"])
        assert [row["position"] for row in line] == list(range(len(line)))
    return lines

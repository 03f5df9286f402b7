"""The ledger of a stream: which micro-batch is next, from what it starts, and when it counts."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from antecede.core.errors import AntecedeError, CallerError
from antecede.ordering.stream.give_up import GiveUp
from antecede.ordering.stream.states import VERSION
from antecede.ordering.text_tables import RAW, REASON
from antecede.streams.bucket import BucketReport, BucketTask, order_and_write_bucket
from antecede.streams.files import FILED, write_parquet_atomically
from antecede.streams.marks import (
    KEPT_MARKS,
    TABLES,
    Attempt,
    BucketFiles,
    Counts,
    Mark,
    list_begun_batches,
    list_marked_batches,
    read_attempt,
    read_newest_mark,
    record_or_read_attempt,
    remove_old_files_and_marks,
    write_commit_mark,
)
from antecede.streams.stream_plan import (
    StreamPlan,
    check_bucket_count_unchanged,
    check_plan_unchanged,
    check_sink_unchanged,
)

BUCKETS = 16
"""Groups are spread over so many buckets, unless the caller asks for others when the stream begins."""
EMPTY = "empty.parquet"
"""A file without rows, so that each table has a schema from the first batch on."""


class Ledger(NamedTuple):
    """Where a stream keeps its checkpoint and its tables, and how it is put in order."""

    checkpoint: Path
    out: Path
    plan: StreamPlan
    query: str | None = None
    """What tells this stream from others; Spark's id of the query."""
    sink: str = "parquet"
    """What the tables are: files of Parquet, or Delta tables of such files."""
    publish: Callable[[Mark, Collection[str]], None] | None = None
    """What else is done with the new files of tables before the mark is written; it may be done again."""

    def begin_batch(self, batch: int, time_ms: int, buckets: int | None = None) -> Turn | None:
        """The turn of a batch at a time, in ms; None if it is done. A tick that was begun comes first."""
        mark = read_newest_mark(self.checkpoint)
        if mark is not None:
            self._check_mark_fits_stream(mark, batch, buckets)
            if batch <= mark.batch:
                return None
            mark = self._finish_tick_if_begun(mark)
        attempt = record_or_read_attempt(self.checkpoint, batch, 0, self._make_attempt(time_ms))
        bucket_count = mark.bucket_count if mark else buckets or BUCKETS
        try_name = self._make_try_name_if_delta()
        return Turn(
            self._copy_with_rules_of_attempt(attempt),
            batch,
            attempt.time,
            mark,
            bucket_count,
            try_name=try_name,
        )

    def give_up_expired_rows(self, time_ms: int) -> Mark | None:
        """Give up what has waited too long at a time, in ms, as a tick behind the last batch.

        None if nothing has, or if a batch was begun: then it is for that one to do. Must not be called while
        a batch is on its way.
        """
        mark = read_newest_mark(self.checkpoint)
        if mark is None or max(list_begun_batches(self.checkpoint), default=0) > mark.batch:
            return None
        self._check_mark_fits_stream(mark, mark.batch, None)
        mark = self._finish_tick_if_begun(mark)
        turn = Turn(self, mark.batch, time_ms, mark, mark.bucket_count, mark.tick + 1)
        if not turn.list_expired_buckets():
            return None
        record_or_read_attempt(self.checkpoint, turn.batch, turn.tick, self._make_attempt(time_ms))
        return self._finish_tick_if_begun(mark)

    def put_aside_all_waiting_rows(self, time_ms: int) -> Mark | None:
        """Put aside all that waits behind the last batch, with what it lacks; the newest mark.

        The stream must not run meanwhile. It may go on afterwards.
        """
        at_once = self._replace(plan=self.plan._replace(give_up=GiveUp("divert", seconds=0)))
        mark = read_newest_mark(self.checkpoint)
        if mark is None:
            return None
        return at_once.give_up_expired_rows(max(time_ms, mark.time)) or mark

    def _make_try_name_if_delta(self) -> str | None:
        """Files that a log names must not change, so each try has others; else each overwrites the last."""
        return uuid.uuid4().hex if self.sink == "delta" else None

    def _make_attempt(self, time_ms: int) -> Attempt:
        return Attempt(time_ms, self.plan.give_up, self.plan.horizon)

    def _copy_with_rules_of_attempt(self, attempt: Attempt) -> Ledger:
        """The same with the rules under which a step was begun."""
        return self._replace(plan=self.plan._replace(give_up=attempt.give_up, horizon=attempt.horizon))

    def _finish_tick_if_begun(self, mark: Mark) -> Mark:
        """The newest mark: behind a tick that was begun behind this one, or else this one."""
        attempt = read_attempt(self.checkpoint, mark.batch, mark.tick + 1)
        if attempt is None:
            return mark
        ledger = self._copy_with_rules_of_attempt(attempt)
        place = (mark.batch, attempt.time, mark, mark.bucket_count, mark.tick + 1)
        turn = Turn(ledger, *place, try_name=self._make_try_name_if_delta())
        expired = turn.list_expired_buckets()
        schemas = [
            _read_schema_of_waiting_rows(self.checkpoint, mark.get_bucket_files(bucket)) for bucket in expired
        ]
        tasks = [turn.make_task(bucket) for bucket in expired]
        reports = [
            order_and_write_bucket(task, schema.empty_table())
            for task, schema in zip(tasks, schemas, strict=True)
        ]
        return turn.commit_tick(reports, _list_all_columns(schemas))

    def _check_mark_fits_stream(self, mark: Mark, batch: int, buckets: int | None) -> None:
        """Refuse to go on from what another stream, or this one under other options, has left."""
        is_other = None not in (self.query, mark.query) and self.query != mark.query
        if is_other or batch <= mark.batch - KEPT_MARKS:
            raise CallerError(
                f"{self.checkpoint} has the state of another stream, which is at batch {mark.batch}: "
                "start with a new checkpoint and a new output folder"
            )
        check_sink_unchanged(self.sink, mark, str(self.checkpoint))
        check_plan_unchanged(self.plan, mark, str(self.checkpoint))
        check_bucket_count_unchanged(buckets, mark, str(self.checkpoint))


class Turn(NamedTuple):
    """A batch, or a tick behind it, on its way."""

    ledger: Ledger
    batch: int
    time: int
    mark: Mark | None
    """That of the step before."""
    bucket_count: int
    tick: int = 0
    try_name: str | None = None

    @property
    def step(self) -> int:
        return 0 if self.mark is None else self.mark.step + 1

    def make_task(self, bucket: int) -> BucketTask:
        """What is to be done with a bucket."""
        mark = self.mark or self.make_mark(())
        plan, checkpoint, out = self.ledger.plan, self.ledger.checkpoint, self.ledger.out
        return BucketTask(
            plan,
            checkpoint,
            out,
            self.step,
            self.batch,
            self.tick,
            self.time,
            bucket,
            mark.get_bucket_files(bucket),
            self.try_name,
        )

    def list_expired_buckets(self) -> list[int]:
        """Buckets with rows that have waited for too many seconds, whether new ones come or not."""
        if self.mark is None:
            return []
        tasks = [self.make_task(int(bucket)) for bucket in self.mark.buckets]
        return [task.bucket for task in tasks if _has_expired_rows(task)]

    def commit_batch(
        self, reports: Collection[BucketReport], schema: pa.Schema, took_ms: int | None = None
    ) -> Mark:
        """Let the batch count, which took so many ms; refuses to lose a row.

        `schema` is that of the user's rows.
        """
        mark = replace(self.make_mark(reports), took=took_ms)
        check_row_accounting(mark)
        checkpoint = self.ledger.checkpoint
        if self.batch not in list_marked_batches(checkpoint):
            self._check_mark_is_newest()
            self._publish_new_files(mark, mark.tables)
            mark = self._commit_table_files(mark, mark.tables, schema)
            write_commit_mark(checkpoint, mark)
        remove_old_files_and_marks(checkpoint, mark)
        return mark

    def commit_tick(self, reports: Collection[BucketReport], schema: pa.Schema) -> Mark:
        """Let the tick count. State files that no longer do are left to the next batch."""
        assert self.mark is not None
        tick = self.make_mark(reports)
        mark = replace(
            tick,
            counts=self.mark.counts.add(tick.counts),
            tables=tuple(sorted((*self.mark.tables, *tick.tables))),
            took=self.mark.took,
        )
        check_row_accounting(mark)
        self._check_mark_is_newest()
        self._publish_new_files(mark, tick.tables)
        mark = self._commit_table_files(mark, tick.tables, schema)
        write_commit_mark(self.ledger.checkpoint, mark)
        return mark

    def _check_mark_is_newest(self) -> None:
        """Refuse to go on from a mark that is no longer the newest."""
        newest = read_newest_mark(self.ledger.checkpoint)
        if newest is not None and newest.step != self.step - 1:
            raise AntecedeError(
                f"{self.ledger.checkpoint}: another run of this stream has gone on meanwhile, behind batch "
                f"{newest.batch}; stop one of them"
            )

    def make_mark(self, reports: Iterable[BucketReport]) -> Mark:
        before = self.mark
        buckets = dict(before.buckets) if before else {}
        counts = Counts()
        tables: list[str] = []
        for report in reports:
            buckets[str(report.bucket)] = report.files
            counts = counts.add(report.counts)
            tables += report.tables
        totals = counts.add(before.totals) if before else counts
        plan = self.ledger.plan
        query = self.ledger.query or (before.query if before else None)
        return Mark(
            VERSION,
            self.batch,
            self.time,
            query,
            plan.fingerprint,
            plan.options._asdict(),
            self.bucket_count,
            buckets,
            counts,
            totals,
            tuple(sorted(tables)),
            self.step,
            self.tick,
            sink=self.ledger.sink,
        )

    def _publish_new_files(self, mark: Mark, new: Collection[str]) -> None:
        if self.ledger.publish is not None:
            self.ledger.publish(mark, new)

    # -- what becomes of the files of tables -----------------------------------------------------------

    def _commit_table_files(self, mark: Mark, new: Collection[str], schema: pa.Schema) -> Mark:
        """Let the tables have the new files and nothing of other tries; the mark that is to be written."""
        if self.ledger.sink == "delta":
            self._commit_to_delta(str(mark.query), new, schema)
            return replace(mark, tables=())
        if self.mark is None:
            mark = self._write_empty_tables(mark, schema)
        _remove_uncommitted_table_files(self.ledger.out, mark)
        return mark

    def _write_empty_tables(self, mark: Mark, schema: pa.Schema) -> Mark:
        """Let each table have its columns before it has rows."""
        paths = []
        for name in TABLES:
            path = f"{name}/batch={self.batch}/{EMPTY}"
            columns = _make_table_schema(self.ledger.plan, schema, name)
            write_parquet_atomically(columns.empty_table(), self.ledger.out / path)
            paths.append(path)
        return replace(mark, tables=(*mark.tables, *paths))

    def _commit_to_delta(self, query: str, paths: Collection[str], schema: pa.Schema) -> None:
        """One commit for each table that got rows; none, where an earlier try has made it."""
        from antecede.streams.delta import DeltaSink

        parts = []
        for name in TABLES:
            columns = _make_table_schema(self.ledger.plan, schema, name)
            table = DeltaSink(self.ledger.out / name, query)
            if self.mark is None:
                table.create_table_if_absent(columns)
            own = [path.removeprefix(f"{name}/") for path in paths if path.startswith(f"{name}/")]
            parts.append((table, own, table.find_new_columns(own, columns)))
        for table, own, new_columns in parts:  # none of them has anything new if one is refused
            if new_columns:
                table.add_columns(new_columns)
            if own:
                table.add_files_unless_step_is_done(self.step, own)


def check_row_accounting(mark: Mark) -> None:
    """Refuse a mark behind which a row is missing, or there twice."""
    totals, waiting = mark.totals, mark.held_rows
    in_tables = totals.rows_in_tables
    if totals.input != in_tables + waiting:
        raise AntecedeError(
            f"internal error: {totals.input:,} rows in, but {in_tables:,} in tables and {waiting:,} "
            f"waiting behind batch {mark.batch}; it does not count: please report this"
        )


def _read_schema_of_waiting_rows(checkpoint: Path, files: BucketFiles) -> pa.Schema:
    """The columns of the rows that wait, as the user knows them."""
    schema = pq.read_schema(checkpoint / files.held[-1].path)
    return pa.schema([field for field in schema if field.name not in FILED.names])


def _list_all_columns(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """All columns, each of the first type that it has; where a type matters, it is looked at in the files."""
    fields: dict[str, pa.Field] = {}
    for field in (field for schema in schemas for field in schema):
        fields.setdefault(field.name, field)
    return pa.schema(fields.values())


def _remove_uncommitted_table_files(out: Path, mark: Mark) -> None:
    """Remove files of tables in the folders of a batch that its mark does not name."""
    named = set(mark.tables)
    for name in TABLES:
        for file in (out / name / f"batch={mark.batch}").glob("*.parquet"):
            if str(file.relative_to(out)) not in named:
                file.unlink(missing_ok=True)


def _has_expired_rows(task: BucketTask) -> bool:
    limit, oldest = task.expiry_limit_ms, task.files.oldest
    return limit is not None and oldest is not None and oldest <= limit


def _make_table_schema(plan: StreamPlan, schema: pa.Schema, table: str) -> pa.Schema:
    """The columns of a table: those of the input, and those that are added."""
    own = [field for field in schema if field.name not in (RAW, REASON)]
    return pa.schema([*own, *_list_added_fields(plan, schema, table)])


def _list_added_fields(plan: StreamPlan, schema: pa.Schema, table: str) -> list[pa.Field]:
    """The columns that a table has beside those of the input."""
    names, texts = plan.names, pa.list_(pa.string())
    arrival_type = pa.int64()
    if plan.messages.arrival is not None:
        arrival_type = schema.field(plan.messages.arrival).type
    if table == "quarantine":
        raw = [pa.field(names["raw"], pa.string())] if RAW in schema.names else []
        return [*raw, pa.field(names["reason"], pa.string())]
    if table == "held":
        return [pa.field(names["missing"], texts), pa.field(names["since"], arrival_type)]
    arrival = [pa.field(names["arrival"], arrival_type)] if plan.messages.arrival != "arrival" else []
    return [pa.field(names["position"], pa.int64()), *arrival, pa.field(names["missed"], texts)]

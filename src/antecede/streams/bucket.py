"""The step of one bucket of groups: new rows in; tables, states and waiting rows written, and a report.

All that is written is a function of the mark that the batch starts from, of its time and of the set of its
rows, and lies under its number and that of the bucket. So it does not matter how often this runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import to_integers
from antecede.kernels.ragged import Ints
from antecede.ordering.kernel_table import make_kernel_table
from antecede.ordering.message_plan import MessagePlan
from antecede.ordering.stream.sizes import estimate_row_bytes
from antecede.ordering.stream.states import NONE, list_group_keys_of_states
from antecede.ordering.stream.step import (
    Moment,
    StepRows,
    StreamStep,
    list_group_keys_of_rows,
    run_stream_step,
)
from antecede.ordering.stream.wake_up import find_groups_to_load
from antecede.ordering.text_tables import RAW, REASON
from antecede.streams.files import (
    ARRIVAL,
    FILED,
    SINCE,
    WaitingRows,
    merge_waiting_files_if_worthwhile,
    read_group_states,
    read_waiting_rows,
    write_group_states,
    write_parquet_atomically,
    write_waiting_rows,
)
from antecede.streams.joining import join_older_and_newer_rows
from antecede.streams.marks import BucketFiles, Counts
from antecede.streams.stream_plan import StreamPlan


class BucketTask(NamedTuple):
    """What is to be done with the new rows of a bucket, or with what waits in it."""

    plan: StreamPlan
    checkpoint: Path
    out: Path
    step: int
    batch: int
    tick: int
    """0 for the batch itself; else the number of a tick behind it, which has no new rows."""
    time: int
    bucket: int
    files: BucketFiles
    """The state files before the step."""
    try_name: str | None = None
    """What tells the tables' files of this try from those of others, where that matters."""

    @property
    def file_label(self) -> str:
        """What its files are called in the folders of the batch."""
        return f"{self.bucket:05}.tick{self.tick}" if self.tick else f"{self.bucket:05}"

    def name_table_file(self, table: str) -> str:
        """The path of its part of a table."""
        label = f"{self.file_label}.{self.try_name}" if self.try_name else self.file_label
        return f"{table}/batch={self.batch}/{label}.parquet"

    @property
    def moment(self) -> Moment:
        return Moment(self.step, self.time, self.plan.give_up, self.plan.horizon)

    @property
    def expiry_limit_ms(self) -> float | None:
        """Rows that wait since before this time, in ms, have waited too long."""
        seconds = self.plan.give_up.seconds
        return None if seconds is None else self.time - seconds * 1000


class BucketReport(msgspec.Struct, frozen=True):
    """What was done: which state files are valid behind it, and where the rows went."""

    bucket: int
    files: BucketFiles
    counts: Counts
    tables: tuple[str, ...]


class _LoadedRows(NamedTuple):
    """The rows of a step as the user knows them, the waiting ones first, and as the step reads them."""

    table: pa.Table
    step_rows: StepRows
    states: pa.Table
    waiting_count: int


def order_and_write_bucket(task: BucketTask, new_rows: pa.Table) -> BucketReport:
    """Put the new rows of a bucket in order, behind what came before."""
    loaded = _load_new_and_waiting_rows(task, new_rows)
    if not len(loaded.table):
        return BucketReport(task.bucket, task.files, Counts(), ())
    step = run_stream_step(loaded.step_rows, loaded.states, task.plan.messages.reading, task.moment)
    counts, tables = _write_output_tables_and_count_rows(task, loaded, step, len(new_rows))
    files = _write_bucket_state(task, loaded, step)
    return BucketReport(task.bucket, files, counts, tables)


def _load_new_and_waiting_rows(task: BucketTask, rows: pa.Table) -> _LoadedRows:
    """The new rows, and the waiting ones that the step needs."""
    messages = task.plan.messages
    size = estimate_row_bytes(rows)
    kernel_table = _make_kernel_table_with_faults(rows, messages) if len(rows) else None
    keys = pa.array([], pa.string())
    if kernel_table is not None:
        keys = list_group_keys_of_rows(kernel_table).unique().drop_null()
    states = read_group_states(task.checkpoint, task.files, keys, task.expiry_limit_ms)
    arriving = pa.table({}) if kernel_table is None else kernel_table
    to_load = find_groups_to_load(arriving, size, states, messages.reading, task.plan.give_up, task.time)
    is_loaded = pc.is_in(list_group_keys_of_states(states).combine_chunks(), value_set=to_load)
    exact_names = task.plan.exact_names
    waiting = read_waiting_rows(
        task.checkpoint, task.files, states.filter(is_loaded), exact_names=exact_names
    )
    if len(waiting.filed):
        rows = join_older_and_newer_rows(waiting.rows, rows, exact_names=exact_names)
        size = estimate_row_bytes(rows)
        kernel_table = _make_kernel_table_with_faults(rows, messages)
    arrival, since = (to_integers(waiting.filed[name].combine_chunks(), 0) for name in (ARRIVAL, SINCE))
    step_rows = StepRows(kernel_table, arrival, since, size, to_load)
    return _LoadedRows(rows, step_rows, states, len(waiting.filed))


def _make_kernel_table_with_faults(rows: pa.Table, messages: MessagePlan) -> pa.Table:
    """The rows as the kernel reads them; those that a reader could not read have its reason."""
    table = messages.project_to_kernel_columns(make_kernel_table(drop_reader_columns(rows), messages))
    if REASON not in rows.column_names:
        return table
    fault = rows[REASON]
    if "fault" in table.column_names:
        fault = pc.coalesce(fault, table["fault"])
        table = table.drop_columns(["fault"])
    return table.append_column("fault", fault)


def drop_reader_columns(rows: pa.Table) -> pa.Table:
    """The columns of the user, without those that tell of lines which are no rows."""
    return rows.drop_columns([name for name in (RAW, REASON) if name in rows.column_names])


# -- what is written -----------------------------------------------------------------------------------


def _write_output_tables_and_count_rows(
    task: BucketTask, loaded: _LoadedRows, step: StreamStep, new_count: int
) -> tuple[Counts, tuple[str, ...]]:
    """Write the rows that end here, each into its table."""
    names, messages = task.plan.names, task.plan.messages
    arrival = pa.array(step.arrival, mask=step.arrival == NONE)
    if messages.arrival is not None:
        arrival = loaded.table[messages.arrival]
    comes_out = step.position != NONE
    is_diverted = np.asarray(step.missing.is_valid())
    is_refused = np.asarray(step.reason.is_valid())
    came_out: dict[str, pa.Array] = {names["position"]: pa.array(step.position)}
    if messages.arrival != "arrival":
        came_out[names["arrival"]] = arrival
    came_out[names["missed"]] = step.missed
    put_aside = {names["missing"]: step.missing, names["since"]: arrival}
    refused: dict[str, pa.Array] = {}
    if RAW in loaded.table.column_names:
        refused[names["raw"]] = loaded.table[RAW]
    refused[names["reason"]] = step.reason
    in_order = _sort_by_group_and_position(loaded, step)
    parts = {
        "ordered": (in_order[(comes_out & ~step.is_late)[in_order]], came_out),
        "late": (in_order[(comes_out & step.is_late)[in_order]], came_out),
        "held": (np.flatnonzero(is_diverted), put_aside),
        "quarantine": (np.flatnonzero(is_refused), refused),
    }
    written = []
    for name, (chosen, added) in parts.items():
        if len(chosen):
            path = task.name_table_file(name)
            write_parquet_atomically(
                _take_rows_and_add_columns(drop_reader_columns(loaded.table), chosen, added), task.out / path
            )
            written.append(path)
    duplicates = pc.sum(pc.starts_with(step.reason, "duplicate: ")).as_py() or 0
    counts = Counts(
        input=new_count,
        ordered=len(parts["ordered"][0]),
        late=len(parts["late"][0]),
        diverted=len(parts["held"][0]),
        quarantined=len(parts["quarantine"][0]),
        released=len(step.missed) - step.missed.null_count,
        duplicates=int(duplicates),
    )
    return counts, tuple(written)


def _sort_by_group_and_position(loaded: _LoadedRows, step: StreamStep) -> Ints:
    """All rows: group by group, each by position."""
    keys = list_group_keys_of_rows(loaded.step_rows.table).combine_chunks().dictionary_encode()
    code = to_integers(keys.indices, NONE)
    return np.lexsort((step.position, code))


def _take_rows_and_add_columns(table: pa.Table, rows: Ints, added: dict[str, pa.Array]) -> pa.Table:
    """Some rows with more columns behind their own."""
    at = pa.array(rows)
    taken = table.take(at)
    for name, column in added.items():
        taken = taken.append_column(name, column.take(at))
    return taken


def _write_bucket_state(task: BucketTask, loaded: _LoadedRows, step: StreamStep) -> BucketFiles:
    """Write what is remembered behind the step; the files that are valid then."""
    states = step.states
    held = np.flatnonzero(step.is_held)
    at = pa.array(held)
    kernel_table = loaded.step_rows.table
    receiver = pa.nulls(len(held), pa.string())
    if "ordered_at" in kernel_table.column_names:
        receiver = kernel_table["ordered_at"].take(at).cast(pa.string())
    filed = [
        pa.repeat(task.step, len(held)).cast(pa.int64()),
        kernel_table["group"].take(at).cast(pa.string()),
        receiver,
        pa.array(step.arrival[held]),
        pa.array(step.since[held]),
    ]
    waiting = WaitingRows(drop_reader_columns(loaded.table).take(at), pa.table(filed, schema=FILED))
    place = (task.checkpoint, task.files)
    groups = write_group_states(*place, states, task.batch, task.file_label)
    segments = write_waiting_rows(*place, waiting, task.batch, task.file_label)
    before, behind = _count_waiting_rows_and_bytes(loaded.states), _count_waiting_rows_and_bytes(states)
    files = BucketFiles(
        groups,
        segments,
        task.files.held_rows - before[0] + behind[0],
        task.files.held_bytes - before[1] + behind[1],
    )
    oldest = _find_oldest_waiting_ms(task, loaded.states, files, states)
    files = msgspec.structs.replace(files, oldest=oldest)
    exact_names = task.plan.exact_names
    merged = merge_waiting_files_if_worthwhile(
        task.checkpoint, files, task.batch, task.file_label, exact_names=exact_names
    )
    return msgspec.structs.replace(files, held=merged)


def _count_waiting_rows_and_bytes(states: pa.Table) -> tuple[int, int]:
    """How many rows of these groups wait, and how many bytes they have."""
    return pc.sum(states["held"]).as_py() or 0, pc.sum(states["held_bytes"]).as_py() or 0


def _find_oldest_waiting_ms(
    task: BucketTask, states_before: pa.Table, files: BucketFiles, states_after: pa.Table
) -> int | None:
    """Since when the bucket's oldest row waits; all groups are asked only if it was of a touched one."""
    oldest = task.files.oldest
    if oldest is not None and pc.min(states_before["oldest"]).as_py() == oldest:
        states_after = read_group_states(task.checkpoint, files, None)
        oldest = None
    oldest_after: int | None = pc.min(states_after["oldest"]).as_py()
    times = [time for time in (oldest, oldest_after) if time is not None]
    return min(times, default=None)

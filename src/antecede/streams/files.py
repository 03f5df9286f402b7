"""State files of a bucket: what is remembered of its groups, and its waiting rows.

Both are logs. A batch adds a file with the states of the groups that it touched, and one with the rows that
it left waiting; of several states of a group the newest counts. A waiting row is dead once its group was
loaded by a later batch: that one let it out, or filed it again. Files are merged when they are many or
mostly dead, so that a batch costs what it touches.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.events.columns import to_integers
from antecede.kernels.ragged import Ints
from antecede.ordering.columns import Mask
from antecede.ordering.stream.states import STATES, list_group_keys_of_states, make_group_keys
from antecede.streams.joining import can_join_without_changes, join_older_and_newer_rows
from antecede.streams.marks import BucketFiles, StateFile

MOST_FILES = 8
"""With more files of a kind, they are merged."""
FEW_ROWS = 10_000
"""So many dead rows are no reason to merge."""
STEP, GROUP, RECEIVER, ARRIVAL, SINCE = (
    f"antecede {name}" for name in ("step", "group", "receiver", "arrival", "since")
)
"""Columns of waiting rows, beside those of the user."""
FILED = pa.schema(
    {STEP: pa.int64(), GROUP: pa.string(), RECEIVER: pa.string(), ARRIVAL: pa.int64(), SINCE: pa.int64()}
)


class WaitingRows(NamedTuple):
    """Rows that wait, as the user knows them, and when they came."""

    rows: pa.Table
    filed: pa.Table


def write_parquet_atomically(table: pa.Table, file: Path) -> None:
    """Write a file that appears whole, or not at all."""
    with _write_atomically(file) as part:
        pq.write_table(table, part)


def _write_arrow_atomically(table: pa.Table, file: Path) -> None:
    """The same as an Arrow file, of which a reader touches only the rows that it takes."""
    with _write_atomically(file) as part, pa.ipc.new_file(part, table.schema) as writer:
        writer.write_table(table.combine_chunks())


@contextmanager
def _write_atomically(file: Path) -> Iterator[Path]:
    """The place for a file's content, which takes its own place when it is written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    try:
        yield part
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def _read_parquet(file: Path, columns: list[str] | None = None) -> pa.Table:
    return pq.ParquetFile(file).read(columns)


# -- states of groups ----------------------------------------------------------------------------------


def read_group_states(
    checkpoint: Path,
    files: BucketFiles,
    keys: pa.Array | None,
    or_waiting_since_before_ms: float | None = None,
) -> pa.Table:
    """The states of groups: of those with these keys, or of all; and of those with rows that wait so long."""
    parts = []
    known = pa.array([], pa.string())
    for file in reversed(files.groups):
        states = _memory_map_arrow(checkpoint / file.path)
        file_keys = list_group_keys_of_states(states).combine_chunks()
        is_wanted = np.ones(len(states), dtype=bool)
        if keys is not None:
            is_wanted = _mark_keys_among(file_keys, keys)
        if or_waiting_since_before_ms is not None:
            is_wanted |= to_integers(states["oldest"].combine_chunks(), 2**62) <= or_waiting_since_before_ms
        wanted = np.flatnonzero(is_wanted)
        wanted_keys = file_keys.take(pa.array(wanted))
        newest = wanted[~_mark_keys_among(wanted_keys, known)]
        if len(newest):
            parts.append(states.take(pa.array(newest)).cast(STATES))
        # An older state may be wanted for its age, though there is a newer one that is not.
        passed = wanted_keys if or_waiting_since_before_ms is None else file_keys
        known = pa.concat_arrays([known, passed])
    return pa.concat_tables([STATES.empty_table(), *parts])


def _memory_map_arrow(file: Path) -> pa.Table:
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all()


def _mark_keys_among(keys: pa.Array, others: pa.Array) -> Mask:
    return np.asarray(pc.is_in(keys, value_set=others))


def write_group_states(
    checkpoint: Path, files: BucketFiles, states: pa.Table, batch: int, label: str
) -> tuple[StateFile, ...]:
    """Add a file with new states of some groups; merge it with others if there are too many."""
    path = f"state/{batch}/{label}.groups.arrow"
    base, *more = files.groups or (StateFile("", 0),)
    kept, merged = files.groups, files.groups[:0]
    if sum(file.rows for file in more) + len(states) > base.rows:
        kept, merged = files.groups[:0], files.groups
    elif len(files.groups) >= MOST_FILES:  # the first file has most of the groups, and stays
        kept, merged = files.groups[:1], files.groups[1:]
    if merged:
        new_keys = list_group_keys_of_states(states).combine_chunks()
        others = read_group_states(checkpoint, BucketFiles(merged), None)
        is_replaced = _mark_keys_among(list_group_keys_of_states(others).combine_chunks(), new_keys)
        states = pa.concat_tables([others.filter(pa.array(~is_replaced)), states])
    _write_arrow_atomically(states, checkpoint / path)
    return (*kept, StateFile(path, len(states)))


# -- waiting rows --------------------------------------------------------------------------------------


def read_waiting_rows(
    checkpoint: Path, files: BucketFiles, states: pa.Table, *, exact_names: bool = True
) -> WaitingRows:
    """The waiting rows of groups with these states."""
    keys = list_group_keys_of_states(states).combine_chunks()
    filed = to_integers(states["filed"].combine_chunks(), 0)
    parts = []
    for file in files.held if len(keys) else ():
        place = checkpoint / file.path
        brief = _read_parquet(place, [STEP, GROUP, RECEIVER])
        chosen = np.flatnonzero(_mark_rows_still_waiting(brief, keys, filed))
        if len(chosen):
            parts.append(_read_parquet(place).take(pa.array(chosen)))
    if not parts:
        return WaitingRows(pa.table({}), FILED.empty_table())
    together = parts[0]
    for part in parts[1:]:
        together = join_older_and_newer_rows(together, part, exact_names=exact_names)
    return WaitingRows(together.drop_columns(FILED.names), together.select(FILED.names).cast(FILED))


def _mark_rows_still_waiting(rows: pa.Table, group_keys: pa.Array, filed_steps: Ints) -> Mask:
    """Which rows are of groups with these keys, and were filed since the group was last loaded."""
    has_receiver = rows[RECEIVER].null_count < len(rows)
    row_keys = make_group_keys(rows[GROUP], rows[RECEIVER] if has_receiver else None).combine_chunks()
    state = to_integers(pc.index_in(row_keys, value_set=group_keys, skip_nulls=True), -1)
    step = to_integers(rows[STEP].combine_chunks(), 0)
    is_live: Mask = (state >= 0) & (step >= np.append(filed_steps, 0)[state])
    return is_live


def write_waiting_rows(
    checkpoint: Path, files: BucketFiles, rows: WaitingRows, batch: int, label: str
) -> tuple[StateFile, ...]:
    """Add a file with rows that this batch left waiting, if there are any."""
    if not len(rows.filed):
        return files.held
    path = f"state/{batch}/{label}.held.parquet"
    write_parquet_atomically(_join_filed_columns(rows), checkpoint / path)
    return (*files.held, StateFile(path, len(rows.filed)))


def merge_waiting_files_if_worthwhile(
    checkpoint: Path, files: BucketFiles, batch: int, label: str, *, exact_names: bool
) -> tuple[StateFile, ...]:
    """One file instead of many, or of some that are mostly dead; `files` are those behind the batch.

    Those of columns that have changed are merged at once: rows of which no table can be made are refused
    while their batch can still be read otherwise, and not when they are to come out.
    """
    total = sum(file.rows for file in files.held)
    is_dead = total - files.held_rows > max(files.held_rows, FEW_ROWS)
    if not files.held_rows:
        return ()
    has_few_files = len(files.held) <= MOST_FILES and not is_dead
    if has_few_files and _have_files_same_columns(checkpoint, files.held, exact_names=exact_names):
        return files.held
    states = read_group_states(checkpoint, files, None)
    rows = read_waiting_rows(checkpoint, files, states, exact_names=exact_names)
    path = f"state/{batch}/{label}.merged.parquet"
    write_parquet_atomically(_join_filed_columns(rows), checkpoint / path)
    return (StateFile(path, len(rows.filed)),)


def _have_files_same_columns(checkpoint: Path, files: tuple[StateFile, ...], *, exact_names: bool) -> bool:
    """Whether columns that several files have are the same in all of them."""
    if len(files) < 2:
        return True
    schemas = [pq.read_schema(checkpoint / file.path) for file in files]
    return can_join_without_changes(schemas, exact_names=exact_names)


def _join_filed_columns(rows: WaitingRows) -> pa.Table:
    table = rows.rows
    for name in FILED.names:
        table = table.append_column(name, rows.filed[name])
    return table

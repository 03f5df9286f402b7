"""One log file inside a Spark task: read it, stage its events and refused records, and say how it went.

A task writes under a name made from the file's number, and renames when all is written: tried again, or
tried twice at a time, it leaves the same files. No error of a file leaves the task; it is told in a row.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.core.errors import AntecedeError, CallerError
from antecede.formats import Parsed, Settings, read
from antecede.tables import EVENTS

TOLD = pa.schema(
    {
        "number": pa.int64(),
        "format": pa.string(),
        "events": pa.int64(),
        "quarantined": pa.int64(),
        "unknown": pa.list_(pa.string()),  # words for kinds that are not known, some
        "error": pa.string(),
        "caller": pa.bool_(),  # the error is the caller's, and would be the same for every file
    }
)
"""What a task says of a file."""

SPANS = pa.schema(
    {
        "number": pa.int64(),
        "execution": pa.string(),
        "process": pa.string(),
        "low": pa.int64(),
        "high": pa.int64(),
        "rows": pa.int64(),  # 0 for a process that is only named by clocks
        "counted": pa.bool_(),  # low and high are own clock entries, or an editing trace's; else lines
        "since": pa.float64(),  # the first and the last time, where every event has one
        "until": pa.float64(),
    }
)
"""Which part of each process's own order a file has."""

CLOCK = EVENTS.field("clock").type
STAGED = EVENTS.append(pa.field("number", pa.int64()))
WORDS = 5
"""Words for kinds that are told of a file."""
GROUP = 100_000
"""Rows of a row group: what Spark can split a staged file at."""


class Stage(NamedTuple):
    """Reads files, called by Spark with batches of number, name and path: workers may run in another folder
    than the one in which files were named."""

    folder: str
    format: str | None
    settings: Settings
    several: bool
    """Whether the file is one of several, so that what it has of each process matters."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([self.told(**file)], TOLD)

    def told(self, number: int, name: str, path: str) -> dict[str, Any]:
        """Read one file; what there is to say of it."""
        try:
            return {"number": number, **self._staged(number, name, path)}
        except AntecedeError as error:
            return {"number": number, "error": str(error), "caller": isinstance(error, CallerError)}
        except OSError as error:
            remedy = "check the path and its permissions; on a cluster every worker must see it"
            return {"number": number, "error": f"{name}: cannot be read ({error.strerror}); {remedy}"}

    def _staged(self, number: int, name: str, path: str) -> dict[str, Any]:
        with open(path, "rb") as file:
            parsed = read(file.read(), name, self.format, self.settings)
        events = parsed.events.append_column("number", pa.repeat(pa.scalar(number), len(parsed.events)))
        tables = {"events": events, "quarantine": parsed.quarantine}
        if self.several:
            tables["spans"] = spans(parsed, number)
        for kind, table in tables.items():
            if len(table):
                write(table, os.path.join(self.folder, kind, f"{number:08}.parquet"))
        counts = {"events": len(events), "quarantined": len(parsed.quarantine)}
        return {"format": parsed.format, "unknown": unknown(parsed.events), **counts}


def unknown(events: pa.Table) -> list[str]:
    """Words for kinds that are not known, which readers leave in the fields."""
    words = pc.map_lookup(events["fields"], "kind", "first").filter(pc.is_null(events["kind"]))
    return sorted(words.unique().drop_null().to_pylist())[:WORDS]


def write(table: pa.Table, path: str) -> None:
    """The file appears when all of it is there."""
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    part = os.path.join(folder, f".{name}.{uuid4().hex}")
    pq.write_table(table, part, row_group_size=GROUP)
    os.replace(part, path)


def spans(parsed: Parsed, number: int) -> pa.Table:
    """The part of each process's order that this file has, where the events have positions; and which other
    processes its clocks name."""
    ordered = parsed.events.filter(pc.is_valid(parsed.events["index"]))
    clocks = _Clocks(ordered)
    owns = clocks.owns()
    place = ordered["index"] if owns is None else owns
    table = ordered.select(["execution", "process", "time"]).append_column("place", place)
    every = pc.ScalarAggregateOptions(skip_nulls=False)
    place_of = [("place", name, None) for name in ("min", "max", "count")]
    wanted = [*place_of, ("time", "min", every), ("time", "max", every)]
    found = table.group_by(["execution", "process"]).aggregate(wanted)
    found = found.rename_columns([*found.column_names[:2], "low", "high", "rows", "since", "until"])
    if owns is not None:
        named = clocks.named().join(found, ["execution", "process"], join_type="left anti")
        zero = named.append_column("rows", pa.repeat(pa.scalar(0), len(named)))
        found = pa.concat_tables([found, zero], promote_options="default")
    counted = owns is not None or parsed.format == "editing"
    for name, value in (("number", number), ("counted", counted)):
        found = found.append_column(name, pa.repeat(pa.scalar(value), len(found)))
    return found.select(SPANS.names).cast(SPANS)


class _Clocks:
    """The entries of all clocks, flat."""

    def __init__(self, events: pa.Table) -> None:
        clocks = pa.concat_arrays([pa.array([], CLOCK), *events["clock"].chunks])
        starts = clocks.offsets.to_numpy()
        whole = slice(starts[0], starts[-1])
        self.events, self.full = events, len(events) > 0 and not clocks.null_count
        self.rows = np.repeat(np.arange(len(clocks)), np.diff(starts))
        self.keys, self.items = clocks.keys[whole], clocks.items[whole]

    def _of_event(self, name: str) -> pa.Array:
        column = self.events[name].combine_chunks()
        return pa.concat_arrays(column.chunks if isinstance(column, pa.ChunkedArray) else [column]).take(
            pa.array(self.rows)
        )

    def owns(self) -> pa.Array | None:
        """Each event's own entry; None if an event has none."""
        if not self.full:
            return None
        own = pc.fill_null(pc.equal(self.keys, self._of_event("process")), False)
        mine = np.flatnonzero(own.to_numpy(zero_copy_only=False))
        if len(mine) != len(self.events):
            return None
        return self.items.take(pa.array(mine))

    def named(self) -> pa.Table:
        """The processes that clocks name, by execution."""
        table = pa.table({"execution": self._of_event("execution"), "process": self.keys})
        return table.group_by(["execution", "process"]).aggregate([])

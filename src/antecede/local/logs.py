"""Logs into Arrow tables, in this process: every file is read in turn, and nothing is staged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.errors import AntecedeError, CallerError
from antecede.formats import Settings, read
from antecede.formats.across import (
    AMBIGUOUS,
    CAN_BE_AMBIGUOUS,
    RULES,
    describe_ambiguous_cause,
    link_events_across_files,
)
from antecede.formats.executions import group_files_into_executions, measure_process_spans
from antecede.formats.linked_traces import WITH_LINKS, join_traces, list_trace_links, rename_events
from antecede.formats.logs import (
    FileRead,
    check_any_readable,
    check_counts,
    check_settings,
    describe_counts,
    describe_unknown_kinds,
    join_notes,
    list_unknown_kinds,
    list_unreadable_files,
)
from antecede.formats.native import count_native_rows, read_native_table
from antecede.formats.settings import DEFAULT
from antecede.formats.sources import PathLike, list_files, list_paths
from antecede.local.gather import apply_gathering
from antecede.report.notebook import preview_files, render_result
from antecede.tables import EVENTS, QUARANTINE


@dataclass(frozen=True)
class Logs:
    """`events, quarantine, files = read_logs(...)`: every record is an event, or in quarantine.

    logs = antecede.read_logs("logs/")
    print(logs.counts(), logs.note)
    antecede.audit(logs.events)
    """

    events: pa.Table
    """The events of all files, with the columns of EVENTS (docs/tables.md)."""
    quarantine: pa.Table
    """The records that could not be read: `file`, `line`, `reason`, and `raw`, what stood there."""
    files: list[FileRead]
    """How each file was read."""
    note: str | None = None
    """A sentence where files that look like one log were taken for several, a cause is ambiguous, or a kind
    not known."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.events, self.quarantine, self.files))

    def counts(self) -> dict[str, int]:
        """How many files, events and quarantined records there are; an error if that is not what was read."""
        return check_counts(self.files, len(self.events), len(self.quarantine))

    def _repr_html_(self) -> str:
        """For notebooks: how each file was read."""
        return render_result(describe_counts(self.files), preview_files(self.files, self.note))


class _FileTables(NamedTuple):
    """What one file holds."""

    file: FileRead
    events: pa.Table = EVENTS.empty_table()
    quarantine: pa.Table = QUARANTINE.empty_table()
    is_native: bool = False


def read_logs(
    paths: PathLike | Sequence[PathLike], format: str | None = None, settings: Settings = DEFAULT
) -> Logs:
    """Read the logs in these files, folders and globs into an Arrow table of events.

    The format of each file is told by its content, unless one is named. A file that no reader knows is
    quarantined whole, unless there is none that can be read: that is an InputError. Files that belong
    together become one execution; `note` says where that was a guess.

        events, quarantine, files = antecede.read_logs(["gateway.log", "workers/"])
    """
    check_settings(format, settings)
    names = list_files(list_paths(paths))
    tables = [_read_file(name, format, settings) for name in names]
    files = [table.file for table in tables]
    check_any_readable(files)
    events, gather_note = _gather_files(tables)
    events = _join_linked_traces(events, tables)
    events, across_note = _link_events_by_format(events, files)
    quarantine = pa.concat_tables([*(table.quarantine for table in tables), list_unreadable_files(files)])
    note = join_notes([gather_note, across_note, describe_unknown_kinds(files)])
    return Logs(events.select(EVENTS.names), quarantine, files, note)


def _read_file(name: str, format: str | None, settings: Settings) -> _FileTables:
    """Read one file. What is wrong with it is told in its FileRead; the caller's errors are raised."""
    try:
        if count_native_rows(name, format, settings):
            events = read_native_table(name, name)
            return _FileTables(FileRead(name, "parquet", len(events), 0), events, is_native=True)
        with open(name, "rb") as file:
            parsed = read(file.read(), name, format, settings)
    except CallerError:
        raise
    except AntecedeError as error:
        return _FileTables(FileRead(name, None, 0, 1, str(error)))
    except OSError as error:
        reason = f"{name}: cannot be read ({error.strerror}); check the path and its permissions"
        return _FileTables(FileRead(name, None, 0, 1, reason))
    unknown = tuple(list_unknown_kinds(parsed.events))
    file_read = FileRead(name, parsed.format, len(parsed.events), len(parsed.quarantine), None, unknown)
    return _FileTables(file_read, parsed.events, parsed.quarantine)


def _gather_files(tables: list[_FileTables]) -> tuple[pa.Table, str | None]:
    """The events of all files with a column `number` for their file, executions put together; and a note."""
    numbered = []
    spans = []
    for number, table in enumerate(tables):
        numbers = pa.array(np.full(len(table.events), number))
        numbered.append(table.events.append_column("number", numbers))
        if not table.is_native and len(tables) > 1:
            spans.append(measure_process_spans(table.events, table.file.format, number))
    events = pa.concat_tables(numbered)
    if len(spans) < 2:
        return events, None
    gathering = group_files_into_executions(pa.concat_tables(spans), [table.file.name for table in tables])
    return apply_gathering(events, gathering), gathering.note


def _join_linked_traces(events: pa.Table, tables: list[_FileTables]) -> pa.Table:
    """The events, with one execution of traces that are linked."""
    links = [list_trace_links(table.events) for table in tables if table.file.format in WITH_LINKS]
    if not any(map(len, links)):
        return events
    all_links = pa.concat_tables(links)
    is_present = pc.is_in(all_links["linked"], value_set=events["execution"].unique())
    present = set(all_links["linked"].filter(is_present).to_pylist())
    return rename_events(events, join_traces(all_links, present))


def _link_events_by_format(events: pa.Table, files: list[FileRead]) -> tuple[pa.Table, str | None]:
    """The events, linked where only all files of a format together tell how; and a note."""
    note = None
    for format in RULES:
        numbers = [number for number, file in enumerate(files) if file.format == format]
        if len(numbers) > 1:
            events = _link_events_of_files(events, format, numbers)
        if numbers and format == CAN_BE_AMBIGUOUS:
            note = _describe_ambiguous_causes(events, numbers)
    return events, note


def _link_events_of_files(events: pa.Table, format: str, numbers: list[int]) -> pa.Table:
    is_settled = pc.is_in(events["number"], pa.array(numbers)).to_numpy()
    mine = events.filter(pa.array(is_settled))
    settled = link_events_across_files(mine.select(EVENTS.names), format).append_column(
        "number", mine["number"]
    )
    others = events.filter(pa.array(~is_settled))
    # Back into the order of files: settled rows go where they were.
    rows = np.concatenate([np.flatnonzero(is_settled), np.flatnonzero(~is_settled)])
    return pa.concat_tables([settled, others]).take(pa.array(np.argsort(rows)))


def _describe_ambiguous_causes(events: pa.Table, numbers: list[int]) -> str | None:
    events = events.filter(pc.is_in(events["number"], pa.array(numbers)))
    texts = pc.map_lookup(events["fields"], AMBIGUOUS, "first")
    ambiguous = events.select(["file", "line"]).append_column("text", texts).drop_null()
    if not len(ambiguous):
        return None
    first = ambiguous.sort_by([(name, "ascending") for name in ambiguous.column_names]).slice(0, 1)
    return describe_ambiguous_cause(**first.to_pylist()[0], count=len(ambiguous))

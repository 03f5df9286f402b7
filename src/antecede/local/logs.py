"""Logs into Arrow tables, in this process: every file is read in turn, and nothing is staged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from antecede.formats import Settings
from antecede.formats.across import AMBIGUOUS, CAN_BE_AMBIGUOUS, describe_ambiguous_cause
from antecede.formats.logs import (
    FileRead,
    check_and_list_row_counts,
    check_any_file_readable,
    check_format_and_settings,
    describe_file_counts,
    describe_unknown_kinds,
    join_notes,
)
from antecede.formats.settings import DEFAULT
from antecede.formats.sources import PathLike, list_files, normalize_paths
from antecede.local.file_sets import (
    apply_decisions_to_events,
    collect_file_facts,
    decide_executions_and_traces,
)
from antecede.local.files import collect_quarantine, read_file_or_note_error
from antecede.report.notebook import preview_files, render_heading_with_previews
from antecede.tables import EVENTS


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
        return check_and_list_row_counts(self.files, len(self.events), len(self.quarantine))

    def _repr_html_(self) -> str:
        """For notebooks: how each file was read."""
        return render_heading_with_previews(
            describe_file_counts(self.files), preview_files(self.files, self.note)
        )


def read_logs(
    paths: PathLike | Sequence[PathLike], format: str | None = None, settings: Settings = DEFAULT
) -> Logs:
    """Read the logs in these files, folders and globs into an Arrow table of events.

    The format of each file is told by its content, unless one is named. A file that no reader knows is
    quarantined whole, unless there is none that can be read: that is an InputError. Files that belong
    together become one execution; `note` says where that was a guess.

        events, quarantine, files = antecede.read_logs(["gateway.log", "workers/"])
    """
    check_format_and_settings(format, settings)
    names = list_files(normalize_paths(paths))
    tables = [read_file_or_note_error(name, name, format, settings) for name in names]
    files = [table.file for table in tables]
    check_any_file_readable(files)
    is_alone = len(tables) == 1
    decisions = decide_executions_and_traces(
        [collect_file_facts(number, table, is_alone) for number, table in enumerate(tables)]
    )
    events = apply_decisions_to_events(dict(enumerate(tables)), decisions)
    across_note = _describe_ambiguous_causes(events, files)
    note = join_notes([decisions.gathering.note, across_note, describe_unknown_kinds(files)])
    return Logs(events.select(EVENTS.names), collect_quarantine(tables), files, note)


def _describe_ambiguous_causes(events: pa.Table, files: list[FileRead]) -> str | None:
    """A sentence on causes that are the ids of several events; None if there is none."""
    numbers = [number for number, file in enumerate(files) if file.format == CAN_BE_AMBIGUOUS]
    if not numbers:
        return None
    events = events.filter(pc.is_in(events["number"], pa.array(numbers)))
    texts = pc.map_lookup(events["fields"], AMBIGUOUS, "first")
    ambiguous = events.select(["file", "line"]).append_column("text", texts).drop_null()
    if not len(ambiguous):
        return None
    first = ambiguous.sort_by([(name, "ascending") for name in ambiguous.column_names]).slice(0, 1)
    return describe_ambiguous_cause(**first.to_pylist()[0], count=len(ambiguous))

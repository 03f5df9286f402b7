"""What only several files of a log tell together: which are one execution, which traces are linked.

It is decided from a few facts of each file, and then applied to their events. `read_logs` does both while it
has all files in memory. A reader that cannot hold them keeps the facts, and reads the files again.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.formats.across import RULES, link_events_across_files
from antecede.formats.executions import (
    BY_RESTART,
    BY_TIME,
    SPANS,
    Gathering,
    group_files_into_executions,
    measure_process_spans,
)
from antecede.formats.linked_traces import (
    JOINED_TRACES,
    TRACE_LINKS,
    WITH_LINKS,
    join_traces,
    list_trace_links,
    move_events_into_joined_traces,
)
from antecede.formats.logs import FileRead, check_any_file_readable
from antecede.formats.native import count_native_rows
from antecede.formats.settings import Settings
from antecede.local.files import FileTables, collect_quarantine, read_file_or_note_error
from antecede.local.gather import join_files_into_executions
from antecede.tables import EVENTS


class FileFacts(NamedTuple):
    """What must be known of a file to decide: much less than its events."""

    file: FileRead
    spans: pa.Table
    links: pa.Table
    executions: pa.Array


class Decisions(NamedTuple):
    """What the facts of all files led to."""

    gathering: Gathering
    joined_traces: pa.Table


class FileSet(NamedTuple):
    """Files whose events are needed to place, or to link, each other's; most sets are one file."""

    files: dict[int, tuple[str, str]]
    """Of each file by its number among all, the name that the user gave and the whole path."""
    decisions: Decisions | None
    """What was decided; None if there is one file, which decides for itself."""


def collect_file_facts(file_number: int, tables: FileTables, is_alone: bool) -> FileFacts:
    """The facts of a file that has this number among all, or is alone."""
    events, format = tables.events, tables.file.format
    if tables.is_native:
        return make_empty_facts(tables.file)
    links = list_trace_links(events) if format in WITH_LINKS else TRACE_LINKS.empty_table()
    spans = SPANS.empty_table() if is_alone else measure_process_spans(events, format, file_number)
    return FileFacts(tables.file, spans, links, events["execution"].unique())


def make_empty_facts(file: FileRead) -> FileFacts:
    """Nothing: such a table has no part in what is decided."""
    return FileFacts(file, SPANS.empty_table(), TRACE_LINKS.empty_table(), pa.array([], pa.string()))


def decide_executions_and_traces(facts: list[FileFacts]) -> Decisions:
    """Decide from the facts of all files."""
    spans = pa.concat_tables([one.spans for one in facts])
    gathering = group_files_into_executions(spans, [one.file.name for one in facts])
    links = pa.concat_tables([one.links for one in facts])
    if not len(links):
        return Decisions(gathering, JOINED_TRACES.empty_table())
    executions = _list_gathered_executions(facts, gathering)
    is_present = pc.is_in(links["linked"], value_set=executions)
    present = set(links["linked"].filter(is_present).to_pylist())
    return Decisions(gathering, join_traces(links, present))


def _list_gathered_executions(facts: list[FileFacts], gathering: Gathering) -> pa.Array:
    """The names of all executions once files are put together."""
    executions = pa.concat_arrays([one.executions for one in facts])
    numbers = np.repeat(np.arange(len(facts)), [len(one.executions) for one in facts])
    named = pa.table({"execution": executions, "number": numbers})
    only_names = gathering._replace(index_shifts=gathering.index_shifts.slice(0, 0))
    return join_files_into_executions(named, only_names)["execution"].unique()


def apply_decisions_to_events(tables_by_number: dict[int, FileTables], decisions: Decisions) -> pa.Table:
    """The events of these files, given with their numbers; a column `number` tells the file of each.

    Files that must be read together (a FileSet) are all there, or none of them.
    """
    numbered = {
        number: _append_file_number(table.events, number) for number, table in tables_by_number.items()
    }
    plain = [events for number, events in numbered.items() if not tables_by_number[number].is_native]
    if not plain:
        return pa.concat_tables(numbered.values())
    events = pa.concat_tables(plain)
    gathering, joined = decisions
    if len(gathering.index_shifts) or len(gathering.new_names):
        events = join_files_into_executions(events, gathering)
    if len(joined):
        events = move_events_into_joined_traces(events, joined)
    for format in RULES:
        mine = [number for number, table in tables_by_number.items() if table.file.format == format]
        if len(mine) > 1:
            events = _link_events_of_files(events, format, mine)
    native = [events for number, events in numbered.items() if tables_by_number[number].is_native]
    if not native:
        return events
    events = pa.concat_tables([events, *native])
    in_order = np.argsort(events["number"].to_numpy(), kind="stable")
    return events.take(pa.array(in_order))


def _append_file_number(events: pa.Table, file_number: int) -> pa.Table:
    return events.append_column("number", pa.array(np.full(len(events), file_number)))


def _link_events_of_files(events: pa.Table, format: str, file_numbers: list[int]) -> pa.Table:
    is_settled = pc.is_in(events["number"], pa.array(file_numbers)).to_numpy()
    mine = events.filter(pa.array(is_settled))
    settled = link_events_across_files(mine.select(EVENTS.names), format).append_column(
        "number", mine["number"]
    )
    others = events.filter(pa.array(~is_settled))
    # Back into the order of files: settled rows go where they were.
    rows = np.concatenate([np.flatnonzero(is_settled), np.flatnonzero(~is_settled)])
    return pa.concat_tables([settled, others]).take(pa.array(np.argsort(rows)))


def _group_dependent_files(facts: list[FileFacts], decisions: Decisions) -> list[list[int]]:
    """The numbers of all files, those together whose events are needed to place or to link each other's."""
    group_of = list(range(len(facts)))

    def merge_groups_of_files(file_numbers: Iterable[int]) -> None:
        groups = {group_of[number] for number in file_numbers}
        for number, group in enumerate(group_of):
            if group in groups:
                group_of[number] = min(groups)

    for format in RULES:
        merge_groups_of_files(number for number, one in enumerate(facts) if one.file.format == format)
    shifts = decisions.gathering.index_shifts
    by_events = shifts.filter(pc.is_in(shifts["how"], pa.array([BY_RESTART, BY_TIME])))
    tracks = by_events.group_by("track").aggregate([("number", "list")])
    for numbers in tracks["number_list"].to_pylist():
        merge_groups_of_files(numbers)
    groups: dict[int, list[int]] = {}
    for number, group in enumerate(group_of):
        groups.setdefault(group, []).append(number)
    return list(groups.values())


def plan_file_sets(names: list[str], format: str | None, settings: Settings) -> list[FileSet]:
    """All of these files in sets, each to be read by itself.

    Looks through each file if there are several, unless it is our own table. No more than one is in memory.
    """
    paths = [os.path.abspath(name) for name in names]
    if len(names) == 1:
        return [FileSet({0: (names[0], paths[0])}, None)]
    facts = [_read_file_facts(number, name, format, settings) for number, name in enumerate(names)]
    check_any_file_readable([one.file for one in facts])
    decisions = decide_executions_and_traces(facts)
    return [
        FileSet({number: (names[number], paths[number]) for number in numbers}, decisions)
        for numbers in _group_dependent_files(facts, decisions)
    ]


def _read_file_facts(file_number: int, name: str, format: str | None, settings: Settings) -> FileFacts:
    rows = count_native_rows(name, format, settings)
    if rows:
        return make_empty_facts(FileRead(name, "parquet", rows, 0))
    tables = read_file_or_note_error(name, name, format, settings)
    return collect_file_facts(file_number, tables, is_alone=False)


def read_events_and_quarantine(
    file_set: FileSet, format: str | None, settings: Settings
) -> tuple[pa.Table, pa.Table]:
    """The events of a set of files, and the records that could not be read."""
    tables = {
        number: read_file_or_note_error(name, path, format, settings)
        for number, (name, path) in file_set.files.items()
    }
    decisions = file_set.decisions
    if decisions is None:
        check_any_file_readable([table.file for table in tables.values()])
        decisions = decide_executions_and_traces(
            [collect_file_facts(number, table, is_alone=True) for number, table in tables.items()]
        )
    events = apply_decisions_to_events(tables, decisions).select(EVENTS.names)
    return events, collect_quarantine(list(tables.values()))

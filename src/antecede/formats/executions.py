"""Which files belong together, where a log is spread over several: per-node files, parts, separate runs.

Files whose clocks name processes of each other are one execution, and so are files in which one process goes
on counting. Files that know nothing of each other, or count the same events of a process, are separate
executions. Which of several runs a file belongs to, its folder tells. Without clocks files are one execution,
and a process goes on from file to file: in the order of their times where these do not overlap, event by
event where they do, and in the order in which files were named where there are no times.

The spans of processes in files decide this, and they are few: `measure_process_spans` makes them when a file
is read, `group_files_into_executions` decides, and each engine applies the decision to its own kind of table.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

SPANS = pa.schema(
    {
        "number": pa.int64(),  # of the file
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

NEW_NAMES = pa.schema({"number": pa.int64(), "execution": pa.string(), "new_name": pa.string()})
"""What stands before the name of an execution in a file, or in the place of the name that is empty."""

INDEX_SHIFTS = pa.schema(
    {
        "number": pa.int64(),
        "execution": pa.string(),
        "process": pa.string(),
        "how": pa.string(),  # BY_CLOCK, BY_TIME or FURTHER
        "further": pa.int64(),  # how many events of the process the files before this one have
    }
)
"""How the positions of a process in a file become its positions in all files together."""

BY_CLOCK = "clock"
"""The own clock entry, less one, is the position."""
BY_TIME = "time"
"""Events of several files go by the latest time so far in their file, then by file, then by position: the
lines of one file stay in their order when its clock goes back."""
FURTHER = "further"
"""The position, and so much further."""


class FileSpan(NamedTuple):
    """A row of SPANS."""

    number: int
    execution: str
    process: str | None
    low: int
    high: int
    rows: int
    counted: bool
    since: float | None
    until: float | None


class IndexShift(NamedTuple):
    """A row of INDEX_SHIFTS."""

    number: int
    execution: str
    process: str
    how: str
    further: int


class Gathering(NamedTuple):
    """What is decided over several files: tables of NEW_NAMES and INDEX_SHIFTS.

    The note is a sentence for the user where files were kept apart, or put into an order that nothing but
    their names tells.
    """

    new_names: pa.Table
    index_shifts: pa.Table
    note: str | None


def group_files_into_executions(spans: pa.Table, files: list[str]) -> Gathering:
    """Decide from the spans of all files; a span's number is the place of its file in `files`."""
    executions = [_SpreadExecution(group, files) for group in _group_spans_of_spread_executions(spans)]
    names = [(number, one.name, name) for one in executions for number, name in one.new_names.items()]
    shifts = [shift for one in executions for shift in one.find_index_shifts()]
    notes = [one.note for one in executions if one.note]
    return Gathering(
        pa.Table.from_pylist([dict(zip(NEW_NAMES.names, row, strict=True)) for row in names], NEW_NAMES),
        pa.Table.from_pylist([shift._asdict() for shift in shifts], INDEX_SHIFTS),
        notes[0] if notes else None,
    )


def _group_spans_of_spread_executions(spans: pa.Table) -> list[list[FileSpan]]:
    """The spans of each execution that is in several files."""
    files = spans.group_by("execution").aggregate([("number", "count_distinct")])
    in_several = files.filter(pc.greater(files["number_count_distinct"], 1))["execution"]
    groups: dict[str, list[FileSpan]] = defaultdict(list)
    for row in spans.filter(pc.is_in(spans["execution"], in_several)).to_pylist():
        groups[row["execution"]].append(FileSpan(**row))
    return list(groups.values())


class _SpreadExecution:
    """An execution that several files speak of, and which of those files are really one.

    Files with clocks are joined in a union-find structure (`parent`); those that end up in different sets
    are separate executions. Files without clocks say nothing of others and stay together.
    """

    def __init__(self, spans: list[FileSpan], files: list[str]) -> None:
        self.name = spans[0].execution
        self.files = files
        self.note: str | None = None
        self.parent = {span.number: span.number for span in spans if span.counted}
        self.spans_of: dict[str, list[FileSpan]] = defaultdict(list)
        with_rows = [span for span in spans if span.rows]
        for span in sorted(with_rows, key=lambda span: (span.low, span.high, span.number)):
            self.spans_of[span.process or ""].append(span)
        in_several_runs = {
            process
            for process, spans in sorted(self.spans_of.items())
            if not self._join_files_of_process(spans)
        }
        for span in spans:
            if not span.rows:
                self._join_files_named_in_clocks(span, span.process in in_several_runs)
        self.new_names = self._name_executions_of_separate_files()

    def _join_files_of_process(self, spans: list[FileSpan]) -> bool:
        """Join the files in which a process goes on counting; no if it counts the same events in two."""
        repeated = [pair for pair in pairwise(spans) if pair[1].counted and _have_common_event(*pair)]
        if repeated:
            first, second = (self.files[span.number] for span in repeated[0])
            sentence = f"process {spans[0].process} counts the same events in {first} and {second}"
            self.note = self.note or sentence
            return False
        for one, two in pairwise(spans):
            if one.counted and two.counted:
                self._join_files(one.number, two.number)
        return True

    def _join_files_named_in_clocks(self, span: FileSpan, in_several_runs: bool) -> None:
        """Join a file with those of a process that its clocks name; of several runs, the one beside it."""
        holders = [one.number for one in self.spans_of.get(span.process or "", []) if one.counted]
        if in_several_runs:
            folder = os.path.dirname(self.files[span.number])
            holders = [number for number in holders if os.path.dirname(self.files[number]) == folder]
            if len(holders) > 1:
                return
        for number in holders:
            self._join_files(span.number, number)

    def _join_files(self, one: int, two: int) -> None:
        self.parent[self._find_root(one)] = self._find_root(two)

    def _find_root(self, number: int) -> int:
        while self.parent[number] != number:
            self.parent[number] = self.parent[self.parent[number]]
            number = self.parent[number]
        return number

    def _name_executions_of_separate_files(self) -> dict[int, str]:
        """A name for each file that is apart from others: its folder where that tells, else a file's."""
        runs: dict[int, list[int]] = defaultdict(list)
        for number in sorted(self.parent):
            runs[self._find_root(number)].append(number)
        if len(runs) < 2:
            return {}
        reason = self.note or "some files know nothing of others"
        self.note = f"{reason}: they are taken as separate executions"
        folders = {root: {os.path.dirname(self.files[n]) for n in run} for root, run in runs.items()}
        runs_in_folder = Counter(folder for some in folders.values() for folder in some)
        names: dict[int, str] = {}
        for root, run in runs.items():
            folder = min(folders[root])
            if len(folders[root]) == 1 and runs_in_folder[folder] == 1:
                name = folder
            elif len(run) == 1:
                name = self.files[run[0]]
            else:
                name = f"{self.files[run[0]]} and {len(run) - 1} more"
            names |= dict.fromkeys(run, name)
        return names

    def find_index_shifts(self) -> Iterator[IndexShift]:
        """Where the indexes begin of each process that is in several files of one run."""
        for process, spans in self.spans_of.items():
            if not process:
                continue
            # A run is what has one new name, or none.
            runs: dict[str | None, list[FileSpan]] = defaultdict(list)
            for span in spans:
                runs[self.new_names.get(span.number)].append(span)
            for run in runs.values():
                if len(run) > 1:
                    yield from self._find_shifts_of_process(process, run)

    def _find_shifts_of_process(self, process: str, spans: list[FileSpan]) -> Iterator[IndexShift]:
        """By clocks where all files have them; else each file behind those before it, if they count lines."""
        if all(span.counted for span in spans):
            how = BY_CLOCK
        elif any(span.low or span.high != span.rows - 1 for span in spans):
            return  # the files say positions of their own
        else:
            how, spans = self._order_files_of_process(process, spans)
        before = 0
        for span in spans:
            yield IndexShift(span.number, self.name, process, how, before)
            before += span.rows

    def _order_files_of_process(self, process: str, spans: list[FileSpan]) -> tuple[str, list[FileSpan]]:
        """How a process goes on from file to file, and the files in that order."""
        as_named = sorted(spans, key=lambda span: span.number)
        first, second = (self.files[span.number] for span in as_named[:2])
        if any(span.since is None for span in spans):
            others = " and others" if len(spans) > 2 else ""
            sentence = (
                f"process {process} goes on from {first} to {second}{others} "
                "in the order in which they were named: no times or clocks tell"
            )
            self.note = self.note or sentence
            return FURTHER, as_named
        by_time = sorted(as_named, key=lambda span: (span.since, span.until))
        if all(one.until <= two.since for one, two in pairwise(by_time)):  # type: ignore[operator]
            return FURTHER, by_time
        sentence = (
            f"process {process} wrote {first} and {second} at the same time: "
            "its events are taken by their times"
        )
        self.note = self.note or sentence
        return BY_TIME, by_time


def _have_common_event(one: FileSpan, two: FileSpan) -> bool:
    """Whether two spans have an event in common: one of them has no holes, or an end is in both."""
    one_has_no_holes = any(span.rows > span.high - span.low for span in (one, two))
    share_an_end = one.low == two.low or one.high == two.high
    return one.high >= two.low and (share_an_end or one_has_no_holes)


def measure_process_spans(events: pa.Table, format: str | None, file_number: int) -> pa.Table:
    """The part of each process's order that a file has, where its events have positions; and which other
    processes its clocks name."""
    ordered = events.filter(pc.is_valid(events["index"]))
    own = find_own_entries(ordered)
    is_clocked = len(ordered) > 0 and not own.null_count
    place = own if is_clocked else ordered["index"]
    table = ordered.select(["execution", "process", "time"]).append_column("place", place)
    # An event without a time makes the times of its process unknown.
    no_nulls = pc.ScalarAggregateOptions(skip_nulls=False)
    spans = table.group_by(["execution", "process"]).aggregate(
        [
            ("place", "min"),
            ("place", "max"),
            ("place", "count"),
            ("time", "min", no_nulls),
            ("time", "max", no_nulls),
        ]
    )
    spans = spans.rename_columns(["execution", "process", "low", "high", "rows", "since", "until"])
    if is_clocked:
        named = _list_processes_in_clocks(ordered).join(
            spans, ["execution", "process"], join_type="left anti"
        )
        named = named.append_column("rows", pa.repeat(pa.scalar(0), len(named)))
        spans = pa.concat_tables([spans, named], promote_options="default")
    counted = is_clocked or format == "editing"
    spans = spans.append_column("number", pa.repeat(pa.scalar(file_number), len(spans)))
    spans = spans.append_column("counted", pa.repeat(pa.scalar(counted), len(spans)))
    return spans.select(SPANS.names).cast(SPANS)


def find_own_entries(events: pa.Table) -> pa.ChunkedArray:
    """Each event's clock entry for its own process; null if its clock has none."""
    return pa.chunked_array(
        [_ClockEntries(batch).find_own_entries() for batch in events.to_batches()], pa.int64()
    )


def _list_processes_in_clocks(events: pa.Table) -> pa.Table:
    """The processes that clocks name, by execution."""
    tables = [_ClockEntries(batch).list_named_processes() for batch in events.to_batches()]
    return pa.concat_tables(tables).group_by(["execution", "process"]).aggregate([])


class _ClockEntries:
    """The entries of all clocks of some events, flat: `rows` has the event of each entry."""

    def __init__(self, events: pa.RecordBatch) -> None:
        clocks = events["clock"]
        offsets = clocks.offsets.to_numpy()
        used = slice(offsets[0], offsets[-1])
        self.events = events
        self.rows: NDArray[np.int64] = np.repeat(np.arange(len(clocks)), np.diff(offsets))
        self.processes, self.counts = clocks.keys[used], clocks.items[used]

    def find_own_entries(self) -> pa.Array:
        is_own = pc.equal(self.processes, self.events["process"].take(pa.array(self.rows)))
        is_own = pc.fill_null(is_own, False).to_numpy(zero_copy_only=False)
        entries = np.flatnonzero(is_own)
        entry_of_event = np.full(len(self.events), -1, np.int64)
        entry_of_event[self.rows[entries]] = entries
        return self.counts.take(pa.array(entry_of_event, mask=entry_of_event < 0))

    def list_named_processes(self) -> pa.Table:
        executions = self.events["execution"].take(pa.array(self.rows))
        table = pa.table({"execution": executions, "process": self.processes})
        return table.group_by(["execution", "process"]).aggregate([])

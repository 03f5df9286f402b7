"""Which files belong together, where a log is spread over several: per-node files, parts, separate runs.

An execution that records name is one, whatever files it is in. Where they name none, files whose clocks name
processes of each other are one execution, and so are files in which one process goes on counting. Files that
know nothing of each other, or count the same events of a process, are separate executions. Which of several
runs a file belongs to, its folder tells. Without clocks files are one execution, and a process goes on from
file to file: in the order of their times where these do not overlap, event by event where they do, and in the
order in which files were named where there are no times.

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

from antecede.formats.indexing import encode_processes

Ints = NDArray[np.int64]

SPANS = pa.schema(
    {
        "number": pa.int64(),  # of the file
        "execution": pa.string(),
        "process": pa.string(),
        "named": pa.bool_(),  # records name the execution, or else the reader does
        "rows": pa.int64(),  # 0 for a process that is only named by clocks
        "placed": pa.bool_(),  # records give positions that neither ranks nor clocks would
        "counted": pa.bool_(),  # its events have own clock entries, or are an editing trace's
        "repeats": pa.bool_(),  # two of its events have one entry
        "firsts": pa.list_(pa.int64()),  # of each stretch of entries without a hole, the first and the last
        "lasts": pa.list_(pa.int64()),
        "since": pa.float64(),  # the first and the last time, where every event has one
        "until": pa.float64(),
    }
)
"""Which part of each process's own order a file has."""

LABELLED_IN_FILE = ("shiviz", "editing")
"""Formats in which an execution is called by a line of its file or by the file's name: other files may have
others of that name. In all other formats records name it."""

NEW_NAMES = pa.schema({"number": pa.int64(), "execution": pa.string(), "new_name": pa.string()})
"""What stands before the name of an execution in a file, or in the place of the name that is empty."""

INDEX_SHIFTS = pa.schema(
    {
        "number": pa.int64(),
        "execution": pa.string(),
        "process": pa.string(),
        "how": pa.string(),  # BY_CLOCK, BY_RESTART, BY_TIME or FURTHER
        "further": pa.int64(),  # how many events of the process the files before this one have
        "track": pa.int64(),  # the number of the process in its run
    }
)
"""How the positions of a process in a file become its positions in all files together."""

BY_CLOCK = "clock"
"""The own clock entry, less one, is the position."""
BY_RESTART = "restart"
"""Events of several files go by how often their process had counted from 1 before them, then by their own
clock entry, then by file, then by line: as they do in one file."""
BY_TIME = "time"
"""Events of several files go by the latest time so far in their file, then by file, then by position: the
lines of one file stay in their order when its clock goes back."""
FURTHER = "further"
"""The position, and so much further."""


class FileSpan(NamedTuple):
    """A row of SPANS, but for the stretches."""

    number: int
    execution: str
    process: str | None
    named: bool
    rows: int
    placed: bool
    counted: bool
    repeats: bool
    since: float | None
    until: float | None


class ProcessFiles(NamedTuple):
    """The files that a process has in an execution, all of them or those in a folder."""

    execution: str
    process: str | None
    folder: str | None = None


FilesWithRepeats = dict[ProcessFiles, tuple[int, int]]
"""Two of the files that have events with the same own clock entry, where there are any."""


class IndexShift(NamedTuple):
    """A row of INDEX_SHIFTS."""

    number: int
    execution: str
    process: str
    how: str
    further: int
    track: int


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
    spans = _choose_spans_of_spread_executions(spans)
    repeats = _find_files_repeating_own_entries(spans, files)
    executions = [_SpreadExecution(group, repeats, files) for group in _group_by_execution(spans)]
    names = [(number, one.name, name) for one in executions for number, name in one.new_names.items()]
    tracks = [shifts for one in executions for shifts in one.find_index_shifts()]
    shifts = [shift._replace(track=number) for number, shifts in enumerate(tracks) for shift in shifts]
    notes = [one.note for one in executions if one.note]
    return Gathering(
        pa.Table.from_pylist([dict(zip(NEW_NAMES.names, row, strict=True)) for row in names], NEW_NAMES),
        pa.Table.from_pylist([shift._asdict() for shift in shifts], INDEX_SHIFTS),
        notes[0] if notes else None,
    )


def _choose_spans_of_spread_executions(spans: pa.Table) -> pa.Table:
    """The spans of executions that are in several files."""
    files = spans.group_by("execution").aggregate([("number", "count_distinct")])
    in_several = files.filter(pc.greater(files["number_count_distinct"], 1))["execution"]
    return spans.filter(pc.is_in(spans["execution"], in_several))


def _group_by_execution(spans: pa.Table) -> list[list[FileSpan]]:
    groups: dict[str, list[FileSpan]] = defaultdict(list)
    for row in spans.select(FileSpan._fields).to_pylist():
        groups[row["execution"]].append(FileSpan(**row))
    return list(groups.values())


def _find_files_repeating_own_entries(spans: pa.Table, files: list[str]) -> FilesWithRepeats:
    """Where a process has own clock entries that two files have, in all folders and in each one."""
    folders = [os.path.dirname(files[number]) for number in spans["number"].to_pylist()]
    _, processes = np.unique(encode_processes(spans), return_inverse=True)
    _, folder_codes = np.unique(folders, return_inverse=True)
    in_folders = processes * len(spans) + folder_codes
    rows = spans.select(["execution", "process"])
    found: FilesWithRepeats = {}
    for groups, is_by_folder in ((processes, False), (in_folders, True)):
        for span, pair in _find_file_pairs_with_common_entries(spans, groups):
            folder = folders[span] if is_by_folder else None
            found[ProcessFiles(**rows.slice(span, 1).to_pylist()[0], folder=folder)] = pair
    return found


def _find_file_pairs_with_common_entries(
    spans: pa.Table, groups: Ints
) -> Iterator[tuple[int, tuple[int, int]]]:
    """A span of each group in which files have an own entry in common, and two of these files.

    In order, of stretches with a common entry there are always two that stand side by side; and those of one
    file have none in common.
    """
    firsts, lasts = (spans[name].combine_chunks() for name in ("firsts", "lasts"))
    span = pc.list_parent_indices(firsts).to_numpy()
    number, group = spans["number"].to_numpy()[span], groups[span]
    first, last = (np.asarray(pc.list_flatten(column).to_numpy(), np.int64) for column in (firsts, lasts))
    in_order = np.lexsort((number, last, first, group))
    one, other = in_order[:-1], in_order[1:]
    are_common = (group[one] == group[other]) & (first[other] <= last[one])
    one, other = one[are_common], other[are_common]
    _, chosen = np.unique(group[one], return_index=True)
    one, other = one[chosen], other[chosen]
    pairs = zip(number[one].tolist(), number[other].tolist(), strict=True)
    yield from zip(span[one].tolist(), pairs, strict=True)


class _SpreadExecution:
    """An execution that several files speak of, and which of those files are really one.

    Files with clocks are joined in a union-find structure (`parent`); those that end up in different sets
    are separate executions, unless records name the execution. Files without clocks say nothing of others and
    stay together.
    """

    def __init__(self, spans: list[FileSpan], repeats: FilesWithRepeats, files: list[str]) -> None:
        self.name = spans[0].execution
        self.files = files
        self.repeats = repeats
        self.note: str | None = None
        self.new_names: dict[int, str] = {}
        self.spans_of: dict[str, list[FileSpan]] = defaultdict(list)
        with_rows = [span for span in spans if span.rows]
        for span in sorted(with_rows, key=lambda span: span.number):
            self.spans_of[span.process or ""].append(span)
        self.parent = {span.number: span.number for span in spans if span.counted}
        if not any(span.named for span in spans):
            self._join_files_of_one_run(spans)
            self.new_names = self._name_executions_of_separate_files()

    def _join_files_of_one_run(self, spans: list[FileSpan]) -> None:
        in_several_runs = set()
        for process, spans_of_process in sorted(self.spans_of.items()):
            if not self._join_files_of_process_and_tell_if_one_run(spans_of_process):
                in_several_runs.add(process)
        for span in spans:
            if not span.rows:
                self._join_file_with_process_in_its_clocks(span, span.process in in_several_runs)

    def _join_files_of_process_and_tell_if_one_run(self, spans: list[FileSpan]) -> bool:
        """Join the files in which a process goes on counting; no if it counts the same events in two.

        Then it has several runs, and goes on counting in the files of a folder.
        """
        process, numbers = spans[0].process, [span.number for span in spans if span.counted]
        repeated = self.repeats.get(ProcessFiles(self.name, process))
        if repeated is None:
            self._join_all_files(numbers)
            return True
        first, second = (self.files[number] for number in repeated)
        sentence = f"process {process} counts the same events in {first} and {second}"
        self.note = self.note or sentence
        for folder, in_folder in self._group_files_by_folder(numbers).items():
            if ProcessFiles(self.name, process, folder) not in self.repeats:
                self._join_all_files(in_folder)
        return False

    def _join_file_with_process_in_its_clocks(self, span: FileSpan, has_several_runs: bool) -> None:
        """Join a file with those of a process that its clocks name; of several runs, the one beside it."""
        holders = [one.number for one in self.spans_of.get(span.process or "", []) if one.counted]
        if has_several_runs:
            folder = os.path.dirname(self.files[span.number])
            holders = self._group_files_by_folder(holders).get(folder, [])
            if ProcessFiles(self.name, span.process, folder) in self.repeats:
                return
        self._join_all_files([span.number, *holders])

    def _group_files_by_folder(self, file_numbers: list[int]) -> dict[str, list[int]]:
        folders: dict[str, list[int]] = defaultdict(list)
        for number in file_numbers:
            folders[os.path.dirname(self.files[number])].append(number)
        return folders

    def _join_all_files(self, file_numbers: list[int]) -> None:
        for one, two in pairwise(file_numbers):
            self._join_two_files(one, two)

    def _join_two_files(self, one: int, two: int) -> None:
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

    def find_index_shifts(self) -> Iterator[list[IndexShift]]:
        """Where the indexes begin of each process that is in several files of one run, for each of these."""
        for process, spans in self.spans_of.items():
            if not process:
                continue
            # A run is what has one new name, or none.
            runs: dict[str | None, list[FileSpan]] = defaultdict(list)
            for span in spans:
                runs[self.new_names.get(span.number)].append(span)
            for run in runs.values():
                if len(run) > 1:
                    yield self._find_shifts_of_process(process, run)

    def _find_shifts_of_process(self, process: str, spans: list[FileSpan]) -> list[IndexShift]:
        """By clocks where all files have them; else each file behind those before it."""
        if any(span.placed for span in spans):
            return []  # what the files say of positions stands
        if not all(span.counted for span in spans):
            how, spans = self._choose_shift_kind_and_file_order(process, spans)
        elif ProcessFiles(self.name, process) in self.repeats or any(span.repeats for span in spans):
            how, spans = BY_RESTART, _sort_files_by_time_unless_overlapping(spans) or spans
        else:
            how = BY_CLOCK
        shifts, before = [], 0
        for span in spans:
            shifts.append(IndexShift(span.number, self.name, process, how, before, track=0))
            before += span.rows
        return shifts

    def _choose_shift_kind_and_file_order(
        self, process: str, spans: list[FileSpan]
    ) -> tuple[str, list[FileSpan]]:
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
        if by_time := _sort_files_by_time_unless_overlapping(as_named):
            return FURTHER, by_time
        sentence = (
            f"process {process} wrote {first} and {second} at the same time: "
            "its events are taken by their times"
        )
        self.note = self.note or sentence
        return BY_TIME, as_named


def _sort_files_by_time_unless_overlapping(spans: list[FileSpan]) -> list[FileSpan] | None:
    """The files in which a process went on; None if it wrote two at the same time, or no times tell."""
    if any(span.since is None for span in spans):
        return None
    by_time = sorted(spans, key=lambda span: (span.since, span.until))
    if any(one.until > two.since for one, two in pairwise(by_time)):  # type: ignore[operator]
        return None
    return by_time


def measure_process_spans(events: pa.Table, format: str | None, file_number: int) -> pa.Table:
    """The part of each process's order that a file has, where its events have positions; and which other
    processes its clocks name."""
    ordered = events.filter(pc.is_valid(events["index"]))
    own = find_own_entries(ordered)
    is_clocked = len(ordered) > 0 and not own.null_count
    is_counted = is_clocked or format == "editing"
    codes = encode_processes(ordered)
    spans = _measure_positions_and_times(ordered, codes, own)
    if is_counted:
        entries = own if is_clocked else ordered["index"]
        spans = _append_entry_stretches_and_repeats(spans, codes, np.asarray(entries.to_numpy(), np.int64))
    if is_clocked:
        named = _list_processes_in_clocks(ordered).join(
            spans.select(["execution", "process"]), ["execution", "process"], join_type="left anti"
        )
        named = named.append_column("rows", pa.repeat(pa.scalar(0), len(named)))
        spans = pa.concat_tables([spans, named], promote_options="default")
    is_named = pc.and_(pc.not_equal(spans["execution"], ""), format not in LABELLED_IN_FILE)
    spans = spans.append_column("named", is_named)
    spans = spans.append_column("number", pa.repeat(pa.scalar(file_number), len(spans)))
    spans = spans.append_column("counted", pa.repeat(pa.scalar(is_counted), len(spans)))
    for field in SPANS:
        if field.name not in spans.column_names:
            spans = spans.append_column(field, pa.nulls(len(spans), field.type))
    return spans.select(SPANS.names).cast(SPANS)


def _measure_positions_and_times(
    events: pa.Table, process_codes: Ints, own_entries: pa.ChunkedArray
) -> pa.Table:
    """What SPANS says of these for each process; the codes of processes ascend."""
    table = events.select(["execution", "process", "index", "time"]).append_column(
        "code", pa.array(process_codes)
    )
    table = table.append_column("is_own", pc.equal(pc.subtract(own_entries, 1), events["index"]))
    # An event without a time makes the times of its process unknown, and one without an entry that they tell.
    no_nulls = pc.ScalarAggregateOptions(skip_nulls=False)
    spans = table.group_by(["code", "execution", "process"]).aggregate(
        [
            ("index", "count"),
            ("index", "min"),
            ("index", "max"),
            ("is_own", "all", no_nulls),
            ("time", "min", no_nulls),
            ("time", "max", no_nulls),
        ]
    )
    columns = ["code", "execution", "process", "rows", "low", "high", "are_own", "since", "until"]
    spans = spans.rename_columns(columns).sort_by("code")
    ends = pc.add(spans["high"], 1)
    are_ranks = pc.and_(pc.equal(spans["low"], 0), pc.equal(ends, spans["rows"]))
    is_told = pc.or_(are_ranks, pc.fill_null(spans["are_own"], False))
    return spans.append_column("placed", pc.invert(is_told))


def _append_entry_stretches_and_repeats(spans: pa.Table, process_codes: Ints, entries: Ints) -> pa.Table:
    """The spans with the stretches of their entries; given are the code and the entry of each event."""
    in_order = np.lexsort((entries, process_codes))
    code, entry = process_codes[in_order], entries[in_order]
    step = np.diff(entry)
    goes_on = code[1:] == code[:-1]
    begins = np.flatnonzero(np.append(True, ~goes_on | (step > 1))[: len(code)])
    ends = np.append(begins[1:], len(code)) - 1
    offsets = pa.array(np.searchsorted(code[begins], np.unique(process_codes)), pa.int32())
    offsets = pa.concat_arrays([offsets, pa.array([len(begins)], pa.int32())])
    for name, rows in (("firsts", begins), ("lasts", ends)):
        spans = spans.append_column(name, pa.ListArray.from_arrays(offsets, pa.array(entry[rows])))
    repeating = pa.array(code[1:][goes_on & (step == 0)])
    return spans.append_column("repeats", pc.is_in(spans["code"], value_set=repeating))


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

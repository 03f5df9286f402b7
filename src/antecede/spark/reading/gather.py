"""Which files belong together, where a log is spread over several: per-node files, parts, separate runs.

Files whose clocks name processes of each other are one execution, and so are files in which one process goes
on counting. Files that know nothing of each other, or count the same events of a process, are separate
executions. Which of several runs a file belongs to, its folder tells. Without clocks files are one execution,
and a process goes on from file to file: in the order of their times where these do not overlap, event by
event where they do, and in the order in which files were named where there are no times.

The spans of processes in files decide this, and they are few; events are only joined to what is decided.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

Span = dict[str, Any]
PROCESS = ["number", "execution", "process"]


class Gathered(NamedTuple):
    """Events whose executions are those of all files together, and a sentence where files were kept apart."""

    events: DataFrame
    note: str | None


def gathered(spark: SparkSession, events: DataFrame, spans: pa.Table, files: list[str]) -> Gathered:
    """`events` and `spans` have the number of their file; events lose it."""
    found = [Execution(rows, files) for rows in _by_execution(spans)]
    units = pa.Table.from_pylist([row for one in found for row in one.units()], UNITS)
    moves = pa.Table.from_pylist([row for one in found for row in one.moves()], MOVES)
    if len(moves):
        timed = "time" in moves["how"].to_pylist()
        events = _moved(events, sf.broadcast(spark.createDataFrame(moves)), timed)
    if len(units):
        events = _apart(events, sf.broadcast(spark.createDataFrame(units)))
    return Gathered(events.drop("number"), next((one.note for one in found if one.note), None))


UNITS = pa.schema({"number": pa.int64(), "execution": pa.string(), "unit": pa.string()})
"""The new name of an execution in a file."""
MOVES = pa.schema(
    {
        "number": pa.int64(),
        "execution": pa.string(),
        "process": pa.string(),
        "how": pa.string(),  # positions are "own" entries, by "time", or "further" on
        "further": pa.int64(),  # by so much
    }
)


def _by_execution(spans: pa.Table) -> list[list[Span]]:
    """The spans of each execution that is in several files."""
    files = spans.group_by("execution").aggregate([("number", "count_distinct")])
    several = files.filter(pc.greater(files["number_count_distinct"], 1))["execution"]
    groups: dict[str, list[Span]] = defaultdict(list)
    for span in spans.filter(pc.is_in(spans["execution"], several)).to_pylist():
        groups[span["execution"]].append(span)
    return list(groups.values())


class Execution:
    """The files of one execution, and which of them are really one."""

    def __init__(self, spans: list[Span], files: list[str]) -> None:
        self.name, self.files = spans[0]["execution"], files
        self.note: str | None = None
        self.root = {span["number"]: span["number"] for span in spans if span["counted"]}
        self.logged: dict[str, list[Span]] = defaultdict(list)
        for span in sorted((s for s in spans if s["rows"]), key=lambda s: (s["low"], s["high"], s["number"])):
            self.logged[span["process"] or ""].append(span)
        twice = {process for process, rows in sorted(self.logged.items()) if not self._goes_on(rows)}
        for span in spans:
            if not span["rows"]:
                self._meet(span, span["process"] in twice)
        self.names = self._named()

    def _goes_on(self, rows: list[Span]) -> bool:
        """Join the files in which a process goes on counting; no if it counts the same events in two."""
        apart = [pair for pair in pairwise(rows) if pair[1]["counted"] and _same(*pair)]
        for one, two in pairwise(rows):
            if one["counted"] and two["counted"] and not apart:
                self._join(one["number"], two["number"])
        if apart:
            first, then = (self.files[span["number"]] for span in apart[0])
            told = f"process {rows[0]['process']} counts the same events in {first} and {then}"
            self.note = self.note or told
        return not apart

    def _meet(self, span: Span, several: bool) -> None:
        """Join a file with those of a process that its clocks name; of several, with the one beside it."""
        number = span["number"]
        there = [row["number"] for row in self.logged.get(span["process"], []) if row["counted"]]
        if several:
            folder = os.path.dirname(self.files[number])
            there = [other for other in there if os.path.dirname(self.files[other]) == folder]
        if not several or len(there) == 1:
            for other in there:
                self._join(number, other)

    def _join(self, one: int, two: int) -> None:
        self.root[self._find(one)] = self._find(two)

    def _find(self, number: int) -> int:
        while self.root[number] != number:
            self.root[number] = number = self.root[self.root[number]]
        return number

    def _named(self) -> dict[int, str]:
        """A name for each file that is apart from others: its folder where that tells, else a file's."""
        parts: dict[int, list[int]] = defaultdict(list)
        for number in sorted(self.root):
            parts[self._find(number)].append(number)
        if len(parts) < 2:
            return {}
        self.note = (
            f"{self.note or 'some files know nothing of others'}: they are taken as separate executions"
        )
        folders = {root: {os.path.dirname(self.files[n]) for n in part} for root, part in parts.items()}
        count = Counter(folder for found in folders.values() for folder in found)
        names: dict[int, str] = {}
        for root, part in parts.items():
            (first, *more), known = part, folders[root]
            one = len(known) == 1 and count[min(known)] == 1
            name = min(known) if one else self.files[first] + (f" and {len(more)} more" if more else "")
            names |= dict.fromkeys(part, name)
        return names

    def units(self) -> list[Span]:
        """Rows of UNITS."""
        return [{"number": n, "execution": self.name, "unit": name} for n, name in self.names.items()]

    def moves(self) -> Iterator[Span]:
        """Rows of MOVES: for each process in several files of one unit."""
        for process, rows in self.logged.items():
            units: dict[str, list[Span]] = defaultdict(list)
            for span in rows:
                units[self.names.get(span["number"], "")].append(span)
            for part in units.values():
                if process and len(part) > 1:
                    yield from self._moves(process, part)

    def _moves(self, process: str, spans: list[Span]) -> Iterator[Span]:
        """By own entries where all are counted; else each behind those before it, if they count lines."""
        own = all(span["counted"] for span in spans)
        if not own and any(span["low"] or span["high"] != span["rows"] - 1 for span in spans):
            return
        how, spans = ("own", spans) if own else self._in_turn(process, spans)
        before = 0
        for span in spans:
            place = {"how": how, "further": before}
            yield {"number": span["number"], "execution": self.name, "process": process, **place}
            before += span["rows"]

    def _in_turn(self, process: str, spans: list[Span]) -> tuple[str, list[Span]]:
        """How a process goes on from file to file, and the files in that order."""
        named = sorted(spans, key=lambda span: int(span["number"]))
        first, then = (self.files[span["number"]] for span in named[:2])
        goes_on = f"{process} goes on from {first} to {then}" + (" and others" if len(spans) > 2 else "")
        if any(span["since"] is None for span in spans):
            told = f"process {goes_on} in the order in which they were named: no times or clocks tell"
            self.note = self.note or told
            return "further", named
        line = sorted(named, key=lambda span: (span["since"], span["until"]))
        if all(one["until"] <= two["since"] for one, two in pairwise(line)):
            return "further", line
        told = f"process {process} wrote {first} and {then} at the same time"
        self.note = self.note or f"{told}: its events are taken by their times"
        return "time", line


def _same(one: Span, two: Span) -> bool:
    """Whether two spans have an event in common: one of them has no holes, or an end is in both."""
    whole = any(span["rows"] > span["high"] - span["low"] for span in (one, two))
    ends = one["low"] == two["low"] or one["high"] == two["high"]
    return one["high"] >= two["low"] and (ends or whole)


def _moved(events: DataFrame, moves: DataFrame, timed: bool) -> DataFrame:
    """Positions, and the event ids that were made from them; `timed` if some go by time.

    By time means by the latest time so far in their file: the lines of one file stay in their order.
    """
    joined = events.join(moves, PROCESS, "left")
    how = sf.col("how")
    own = sf.expr("try_element_at(clock, process)") - 1
    place = sf.when(how == "own", own).when(how == "further", sf.col("index") + sf.col("further"))
    if timed:
        joined = joined.withColumn("since", sf.max("time").over(Window.partitionBy(PROCESS).orderBy("index")))
        line = Window.partitionBy("execution", "process", "how").orderBy("since", "further", "index")
        place = place.when(how == "time", sf.row_number().over(line) - 1)
    place = sf.coalesce(place, sf.col("index")).cast("long")
    made = sf.col("event") == sf.concat_ws("#", "process", "index")
    named = sf.when(made, sf.concat_ws("#", "process", place)).otherwise(sf.col("event"))
    return joined.withColumns({"event": named, "index": place}).select(events.columns)


def _apart(events: DataFrame, units: DataFrame) -> DataFrame:
    """Executions named by what they are in, where they are separate."""
    unit, own = sf.col("unit"), sf.col("execution")
    label = sf.when(own == "", unit).otherwise(sf.concat_ws(": ", unit, own))
    joined = events.join(units, ["number", "execution"], "left")
    return joined.withColumn("execution", sf.when(unit.isNull(), own).otherwise(label)).select(events.columns)

"""Which files belong together, where a log is spread over several: per-node files, parts, separate runs.

Files of one execution are merged. But where a process counts the same events in two of them, they are
separate runs: then each folder is an execution of its own, or each file if a folder does not settle it. A
process that goes on from file to file gets positions over all of them: by its own clock entries, or without
clocks in the order in which the files were named.

The spans of processes in files decide this, and they are few; events are only joined to what is decided.
"""

import os
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

Ints = NDArray[np.int64]
PROCESS = ["number", "execution", "process"]


class Gathered(NamedTuple):
    """Events whose executions are those of all files together, and a sentence where files were kept apart."""

    events: DataFrame
    note: str | None


def gathered(spark: SparkSession, events: DataFrame, spans: pa.Table, files: list[str]) -> Gathered:
    """`events` and `spans` have the number of their file; events lose it."""
    shared = _Shared(spans, files)
    note, moves, units = shared.note(), shared.moves(), shared.units
    if len(moves):
        events = _moved(events, sf.broadcast(spark.createDataFrame(moves)))
    if units:
        names = pa.table({"execution": list(units), "fine": list(units.values())})
        table = pa.table({"number": range(len(files)), "path": files, "folder": shared.folders})
        by = sf.broadcast(spark.createDataFrame(names))
        events = _apart(events, by, sf.broadcast(spark.createDataFrame(table)))
    return Gathered(events.drop("number"), note)


class _Shared:
    """The spans of processes that are in several files, sorted by execution, process and place."""

    def __init__(self, spans: pa.Table, files: list[str]) -> None:
        group = _codes(spans["execution"].to_numpy(), spans["process"].to_numpy())
        several = np.bincount(group)[group] > 1
        places = [(name, "ascending") for name in ("low", "high", "number")]
        spans = spans.append_column("group", pa.array(group)).filter(pa.array(several))
        self.spans = spans.sort_by([("group", "ascending"), *places])
        self.files, self.folders = files, [os.path.dirname(file) for file in files]
        self.group, self.number = self._column("group"), self._column("number")
        self.folder = _codes(np.array(self.folders, object))[self.number]
        self.clash = self.clashes(np.zeros(len(self.spans), np.int64))
        self.fine = self.clashes(self.folder)
        self.units = dict.fromkeys(self._executions(self.clash), False)
        self.units |= dict.fromkeys(self._executions(self.fine), True)
        """Executions to be taken apart: by folder, or by file (True)."""

    def _column(self, name: str) -> Any:
        return self.spans[name].to_numpy()

    def _executions(self, rows: Ints) -> list[str]:
        return self.spans["execution"].take(pa.array(rows)).unique().to_pylist()  # type: ignore[no-any-return]

    def clashes(self, unit: Ints) -> Ints:
        """Rows whose process counts some of the same events in the file before, inside a unit: one of the two
        has no holes, or an end is in both."""
        order = np.lexsort((np.arange(len(unit)), self.group, unit))
        first, then = order[:-1], order[1:]
        low, high = self._column("low"), self._column("high")
        whole = self._column("rows") > high - low
        same = (unit[first] == unit[then]) & (self.group[first] == self.group[then])
        ends = (low[first] == low[then]) | (high[first] == high[then])
        common = (high[first] >= low[then]) & (ends | whole[first] | whole[then])
        return np.sort(then[same & common & self._column("counted")[then].astype(bool)])

    def note(self) -> str | None:
        """What was taken apart, by an example."""
        if not len(self.clash):
            return None
        row = int(self.clash[0])
        one, two = (self.files[number] for number in self.number[row - 1 : row + 1])
        process = self.spans["process"][row].as_py()
        apart = f"process {process} counts the same events in {one} and {two}"
        return f"{apart}: they are taken as separate executions"

    def moves(self) -> pa.Table:
        """For each process in several files of one execution: positions by own entry, or so much further."""
        executions = self.spans["execution"].to_pylist()
        kinds = [self.units.get(name) for name in executions]
        fine = np.array([kind is True for kind in kinds], bool)
        coarse = np.array([kind is False for kind in kinds], bool)
        unit = np.where(fine, self.number + len(self.files), np.where(coarse, self.folder, -1)) + 1
        group = _codes(self.group, unit)
        rows, counted = self._column("rows"), self._column("counted").astype(bool)
        lines = (self._column("low") == 0) & (self._column("high") == rows - 1)
        own = ~_any(group, ~counted)
        further = np.where(own | _any(group, ~lines), 0, _before(group, self.number, rows))
        columns = {name: self.spans[name] for name in PROCESS} | {"own": own, "further": further}
        return pa.table(columns).filter(pa.array((np.bincount(group)[group] > 1) & (own | (further > 0))))


def _codes(*arrays: Any) -> Ints:
    """A number for every combination of values."""
    numbers = np.zeros(len(arrays[0]), np.int64)
    for array in arrays:
        code = np.unique(array.astype(str) if array.dtype == object else array, return_inverse=True)[1]
        numbers = np.unique(numbers * (len(array) + 1) + code, return_inverse=True)[1]
    return numbers.astype(np.int64)


def _any(group: Ints, flags: Any) -> Any:
    """Whether a flag is up anywhere in the group of each row."""
    return (np.bincount(group, flags) > 0)[group]


def _before(group: Ints, number: Ints, rows: Ints) -> Ints:
    """The rows of the same group in files before."""
    order = np.lexsort((number, group))
    ends = np.cumsum(rows[order])
    begins = ends - rows[order]
    starts = np.maximum.accumulate(np.where(np.diff(group[order], prepend=-1) > 0, begins, 0))
    result = np.empty(len(rows), np.int64)
    result[order] = begins - starts
    return result


def _moved(events: DataFrame, moves: DataFrame) -> DataFrame:
    """Positions, and the event ids that were made from them."""
    joined = events.join(moves, PROCESS, "left")
    own = sf.when(sf.col("own"), sf.expr("try_element_at(clock, process)") - 1)
    place = sf.coalesce(own, sf.col("index") + sf.col("further"), sf.col("index"))
    made = sf.col("event") == sf.concat_ws("#", "process", "index")
    named = sf.when(made, sf.concat_ws("#", "process", place)).otherwise(sf.col("event"))
    return joined.withColumns({"event": named, "index": place}).select(events.columns)


def _apart(events: DataFrame, units: DataFrame, files: DataFrame) -> DataFrame:
    """Executions named by their folder or file where they are separate runs."""
    joined = events.join(units, "execution", "left").join(files, "number")
    unit = sf.when(sf.col("fine"), sf.col("path")).otherwise(sf.col("folder"))
    label = sf.when(sf.col("execution") == "", unit).otherwise(sf.concat_ws(": ", unit, "execution"))
    name = sf.when(sf.col("fine").isNull(), sf.col("execution")).otherwise(label)
    return joined.withColumn("execution", name).select(events.columns)

"""Which files belong together, where a log is spread over several: per-node files, parts, separate runs.

Files of one execution are merged. But where a process counts the same events in two of them, they are
separate runs: then each folder is an execution of its own, or each file if a folder does not settle it. A
process that goes on from file to file gets positions over all of them: by its own clock entries, or without
clocks in the order in which the files were named.

All this is told by the spans of processes in files, which are few; events are only joined to what is decided.
"""

import os
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
KEYS = ["number", "execution", "process"]


class Gathered(NamedTuple):
    """Events whose executions are those of all files together, and a sentence where files were kept apart."""

    events: DataFrame
    note: str | None


def gathered(spark: SparkSession, events: DataFrame, spans: pa.Table, files: list[str]) -> Gathered:
    """`events` and `spans` have the number of their file; events lose it."""
    shared = _Shared(spans, files)
    clash = shared.clashes()
    note = shared.note(clash) if len(clash) else None
    moves = shared.moves(clash)
    if len(moves):
        events = _moved(events, sf.broadcast(spark.createDataFrame(moves)))
    if len(clash):
        events = _apart(events, sf.broadcast(spark.createDataFrame(shared.units(clash))))
    return Gathered(events.drop("number"), note)


class _Shared:
    """The spans of processes that are in several files, as arrays sorted by execution, process and place."""

    def __init__(self, spans: pa.Table, files: list[str]) -> None:
        keys = [_codes(spans[name]) for name in ("execution", "process")]
        _, group, counts = np.unique(np.stack(keys), axis=1, return_inverse=True, return_counts=True)
        spans = spans.filter(pa.array(counts[group] > 1)) if len(spans) else spans
        keys = [("execution", "ascending"), ("process", "ascending"), ("low", "ascending")]
        self.spans = spans.sort_by([*keys, ("high", "ascending"), ("number", "ascending")])
        self.files, self.folders = files, [os.path.dirname(file) for file in files]
        self.number, self.low, self.high, self.rows = (
            self.spans[name].to_numpy() for name in ("number", "low", "high", "rows")
        )
        self.counted = self.spans["counted"].to_numpy()
        self.execution, self.process = _codes(self.spans["execution"]), _codes(self.spans["process"])

    def clashes(self, unit: Ints | None = None) -> Ints:
        """Rows whose process counts some of the same events in an earlier file, of the same unit if named."""
        unit = np.zeros(len(self.spans), np.int64) if unit is None else unit
        order = np.lexsort((np.arange(len(unit)), self.process, self.execution, unit))
        first, then = order[:-1], order[1:]
        same = unit[first] == unit[then]
        same &= (self.execution[first] == self.execution[then]) & (self.process[first] == self.process[then])
        whole = self.rows >= self.high - self.low + 1
        ends = (self.low[first] == self.low[then]) | (self.high[first] == self.high[then])
        common = (self.high[first] >= self.low[then]) & (ends | whole[first] | whole[then])
        return np.sort(then[same & common & self.counted[then]])

    def units(self, clash: Ints) -> pa.Table:
        """The new name of each execution in each file that is to be taken apart."""
        by_folder, by_file = self._finer(clash)
        pairs = {(name, False) for name in by_folder} | {(name, True) for name in by_file}
        rows = [
            {"number": number, "execution": name, "unit": path if fine else os.path.dirname(path)}
            for name, fine in sorted(pairs)
            for number, path in enumerate(self.files)
        ]
        return pa.Table.from_pylist(rows)

    def _finer(self, clash: Ints) -> tuple[set[str], set[str]]:
        """Executions to be taken apart by folder, and by file."""
        names = self.spans["execution"].take(pa.array(clash)).to_pylist()
        folder = _codes(pa.array(self.folders))[self.number]
        fine = set(self.spans["execution"].take(pa.array(self.clashes(folder))).to_pylist())
        return set(names) - fine, set(names) & fine

"""The folder of a study: which study it is, one file for each finished cell, and what is made of them.

A cell's file appears when the cell is finished, and only then: it is written beside its place and renamed. So
a run may be killed at any moment, and the next one goes on. Tasks on several machines write to the same
folder, which all of them must see.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.errors import CallerError
from antecede.scratch import replace_file_atomically
from antecede.study.estimates import format_parameter
from antecede.study.experiment import Cell, Metrics, Study
from antecede.tables import COSTS

FAILED = "failed"
"""The metric of a cell that could not be run; its value is null, and `reason` says why."""


class Identity(msgspec.Struct, frozen=True):
    """Whose folder it is."""

    study: str
    version: int


class CellResult(msgspec.Struct, frozen=True):
    """What a cell measured; or why it could not be run."""

    cell: Cell
    metrics: Metrics
    reason: str | None = None
    seconds: float = 0.0


class CellStore(NamedTuple):
    """The results of a study in a folder."""

    folder: str

    @classmethod
    def open_folder(cls, folder: str, study: Study) -> CellStore:
        """Make the folder of this study, or recognise it by what an earlier run left."""
        place = Path(folder)
        identity = Identity(study.name, study.version)
        mark = place / "study.json"
        try:
            if mark.exists():
                _check_study_identity(mark, identity)
            elif place.exists() and any(not entry.name.startswith(".") for entry in place.iterdir()):
                raise CallerError(f"--out {folder}: is not empty and holds no study; name another folder")
            (place / "cells").mkdir(parents=True, exist_ok=True)
            replace_file_atomically(mark, msgspec.json.encode(identity))
        except OSError as error:
            raise CallerError(f"--out {folder}: {error.strerror}; name another folder") from None
        return cls(os.path.abspath(folder))

    def write_cell_result(self, result: CellResult) -> None:
        """Keep the result of a cell."""
        replace_file_atomically(self._find_cell_path(result.cell.key), msgspec.json.encode(result))

    def read_cell_result(self, cell: Cell) -> CellResult | None:
        """The result of a cell; None if it is not finished, or its file is damaged."""
        try:
            result = msgspec.json.decode(self._find_cell_path(cell.key).read_bytes(), type=CellResult)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return result if result.cell == cell else None

    def is_finished(self, cell: Cell) -> bool:
        """Whether a cell need not be run again: it was run, and did not fail."""
        result = self.read_cell_result(cell)
        return result is not None and result.reason is None

    def count_results(self) -> int:
        """How many cells have results: cheap, for progress."""
        return sum(entry.name.endswith(".json") for entry in os.scandir(Path(self.folder) / "cells"))

    def write_costs(self, costs: pa.Table) -> str:
        """Write the costs table, as Spark writes tables: a folder of Parquet. Where it is."""
        place = Path(self.folder) / "costs"
        place.mkdir(exist_ok=True)
        table = pa.BufferOutputStream()
        pq.write_table(costs, table)
        replace_file_atomically(place / "part-00000.parquet", table.getvalue())
        return str(place)

    def collect_costs(self, cells: Iterable[Cell]) -> pa.Table:
        """The costs table of the cells that have results."""
        results = (self.read_cell_result(cell) for cell in cells)
        rows = [row for result in results if result is not None for row in _list_cost_rows(result)]
        return pa.Table.from_pylist(rows, schema=COSTS)

    def _find_cell_path(self, key: str) -> Path:
        return Path(self.folder) / "cells" / f"{key}.json"


def _list_cost_rows(result: CellResult) -> Iterator[dict[str, object]]:
    """A row for each measured value; one for a cell that failed."""
    cell = result.cell
    metrics: dict[str, float | None] = dict(result.metrics) if result.reason is None else {FAILED: None}
    for metric, value in metrics.items():
        yield {
            "study": cell.study,
            "figure": cell.figure,
            "protocol": cell.protocol,
            "parameters": {name: format_parameter(value) for name, value in cell.parameters.items()},
            "seed": cell.seed,
            "metric": metric,
            "value": value,
            "reason": result.reason,
        }


def _check_study_identity(file: Path, wanted: Identity) -> None:
    try:
        there = msgspec.json.decode(file.read_bytes(), type=Identity)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise CallerError(f"--out {file.parent}: {file.name} is damaged; name another folder") from None
    if there.study != wanted.study:
        raise CallerError(
            f"--out {file.parent}: holds the study {there.study!r}, not {wanted.study!r}; name another folder"
        )
    if there.version != wanted.version:
        raise CallerError(
            f"--out {file.parent}: holds version {there.version} of {there.study!r}, and this is version "
            f"{wanted.version}; its cells do not mean the same: name another folder"
        )

"""How a study is run: the cells that are not finished are spread by some engine, each leaves its result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from antecede.core.errors import SetupError
from antecede.study.experiment import Cell, Scale, Study
from antecede.study.store import CellResult, CellStore


@dataclass(frozen=True)
class CellWork:
    """The work on a cell: measure, and keep the result. Engines send it to where the cell is run."""

    study: Study
    store: CellStore

    def __call__(self, cell: Cell) -> None:
        self.store.write_cell_result(run_cell(self.study, cell))


def run_cell(study: Study, cell: Cell) -> CellResult:
    """Measure a cell. Whatever is wrong with it is its own: the others go on."""
    start = time.monotonic()
    try:
        values = {name: float(value) for name, value in study.measure(cell).items()}
    except Exception as error:
        return CellResult(cell, {}, reason=f"{type(error).__name__}: {error}")
    for name, value in values.items():
        if not math.isfinite(value):
            return CellResult(cell, {}, reason=f"{name} is {value}: leave out what cannot be measured")
    return CellResult(cell, values, seconds=time.monotonic() - start)


Spread = Callable[[Sequence[Cell], CellWork], None]
"""An engine: calls the work for each cell, in any process and any order."""


class FinishedStudy(NamedTuple):
    """The costs of all cells, how many there are, how many were run this time, and those that failed."""

    costs: pa.Table
    cells: int
    run_now: int
    failures: list[CellResult]


def run_unfinished_cells_and_collect_costs(
    study: Study, store: CellStore, scale: Scale, spread: Spread
) -> FinishedStudy:
    """Run the cells that are not finished, then collect the results of all."""
    cells = list(study.list_cells(scale))
    unfinished = [cell for cell in cells if not store.is_finished(cell)]
    if unfinished:
        spread(unfinished, CellWork(study, store))
    results = [store.read_cell_result(cell) for cell in cells]
    missing = results.count(None)
    if missing:
        raise SetupError(
            f"{missing} of {len(cells)} cells left no result in {store.folder}: every worker must be able to "
            "write to that folder"
        )
    failures = [result for result in results if result is not None and result.reason is not None]
    return FinishedStudy(store.collect_costs(cells), len(cells), len(unfinished), failures)


def run_cells_in_process(cells: Sequence[Cell], work: CellWork) -> None:
    """The engine without Spark: one cell after the other."""
    for cell in cells:
        work(cell)

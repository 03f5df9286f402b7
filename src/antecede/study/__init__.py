"""Experiments as grids of cells, and advice on a recorded log: a cell goes in, its costs come out. No Spark.

`Study` is what the studies of the five papers are made of, and what users make their own of: `run_study` runs
one, goes on where a run was stopped, and writes costs, charts and text.
"""

from antecede.study.estimates import Estimate, Results
from antecede.study.experiment import Cell, Figure, Metrics, Plot, Point, Study, fill_grid
from antecede.study.result import StudyRun, run_study

__all__ = [
    "Cell",
    "Estimate",
    "Figure",
    "Metrics",
    "Plot",
    "Point",
    "Results",
    "Study",
    "StudyRun",
    "fill_grid",
    "run_study",
]

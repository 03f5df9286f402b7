"""A study that is quick and whose answers are known: y = a * x + seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from antecede.study import Cell, Figure, Metrics, Plot, Point, Results, Study, fill_grid

SEEDS = 3


def list_points(scale: str) -> Iterator[Point]:
    xs = [1, 2] if scale == "quick" else [1, 2, 3]
    return fill_grid(["plain", "double"], x=xs, where=[""])


def measure_line(cell: Cell) -> Metrics:
    factor = 2 if cell.protocol == "double" else 1
    return {"y": factor * float(cell.parameters["x"]) + cell.seed, "seed_seen": cell.seed}


def conclude_line(results: Results) -> str:
    return f"At x = 2 y is {results.estimate('y', 'double', x=2)}."


def make_figure(measure=measure_line, grid=list_points, conclude=conclude_line) -> Figure:
    return Figure(
        name="line",
        title="A line",
        question="How steep is it?",
        grid=grid,
        measure=measure,
        plots=(Plot("y over x", metric="y", x="x"),),
        conclude=conclude,
        seeds={"quick": SEEDS, "paper": SEEDS},
    )


def make_study(version: int = 1, name: str = "small", **parts) -> Study:
    return Study(name, "A small study", "It is about a line.", (make_figure(**parts),), version)


def count_cells(folder: Path) -> int:
    return len(list((folder / "cells").glob("*.json")))

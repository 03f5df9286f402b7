"""Cells that cost little, for the tests of the studies."""

from collections.abc import Callable

import msgspec

from antecede.study.estimates import Results, format_parameter
from antecede.study.experiment import Cell, Figure, Metrics, Point, Scale, Study, Value

SMALL = {"messages": 60, "programs": 2}
"""The most that is run of each, whatever the grid says."""


def make_cell(figure: Figure, protocol: str, seed: int = 0, **parameters: Value) -> Cell:
    """A cell of a figure."""
    return Cell(study="test", figure=figure.name, protocol=protocol, parameters=parameters, seed=seed)


def measure(figure: Figure, protocol: str, seed: int = 0, **parameters: Value) -> Metrics:
    """What such a cell measures."""
    return figure.measure(make_cell(figure, protocol, seed, **parameters))


def shrink(point: Point) -> Point:
    """The same point, with few messages."""
    limits = {name: most for name, most in SMALL.items() if name in point.parameters}
    if point.parameters.get("programs") is not None:
        limits["messages"] = 3
    parameters = {
        name: min(int(value), limits[name]) if name in limits else value
        for name, value in point.parameters.items()
    }
    return Point(point.protocol, parameters)


def run_small(figure: Figure, seeds: int = 2, scale: Scale = "quick") -> Results:
    """The results of a figure's whole grid, with few messages."""
    rows = []
    for point in map(shrink, figure.grid(scale)):
        for seed in range(seeds):
            metrics = measure(figure, point.protocol, seed, **point.parameters)
            texts = {name: format_parameter(value) for name, value in point.parameters.items()}
            for metric, value in metrics.items():
                rows.append(make_row(metric, point.protocol, texts, seed, value))
    return Results(rows, figure.count_trials)


def make_row(metric: str, protocol: str, texts: dict[str, str], seed: int, value: float) -> dict[str, object]:
    """What `Results` reads of a row of the costs table."""
    return {"metric": metric, "protocol": protocol, "parameters": texts, "seed": seed, "value": value}


def check_grids(study: Study) -> None:
    """Every figure has points at both scales, all different, that survive the way to a worker and back."""
    for scale in ("quick", "paper"):
        cells = list(study.list_cells(scale))
        assert len({cell.key for cell in cells}) == len(cells)
        for figure in study.figures:
            assert [cell for cell in cells if cell.figure == figure.name], figure.name
        decoded = msgspec.json.decode(msgspec.json.encode(cells), type=list[Cell])
        assert [cell.key for cell in decoded] == [cell.key for cell in cells]


def check_figure(figure: Figure) -> Results:
    """A figure runs, plots what it measures, and concludes in words, without a number that is unknown."""
    results = run_small(figure)
    for plot in figure.plots:
        points = results.list_points(plot.metric)
        assert points, plot.metric
        assert all(plot.x in point.parameters for point in points), plot.x
    text = figure.conclude(results)
    assert len(text) > 100 and "nan" not in text and "inf" not in text, text
    return results


def make_results(metrics: Callable[[Point], dict[str, tuple[float, ...]]], figure: Figure) -> Results:
    """Results that a run could have had: for each point of a figure, a value of each metric for each seed."""
    rows = []
    for point in figure.grid("quick"):
        texts = {name: format_parameter(value) for name, value in point.parameters.items()}
        for metric, values in metrics(point).items():
            for seed, value in enumerate(values):
                rows.append(make_row(metric, point.protocol, texts, seed, value))
    return Results(rows, figure.count_trials)

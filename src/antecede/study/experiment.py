"""What an experiment is: a study has figures, a figure has a grid of points, a point is run with some seeds.

One point with one seed is a *cell*: the unit of work. What a cell measures depends on the cell alone, so
cells can be run anywhere, in any order, once.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import msgspec

from antecede.core.errors import CallerError
from antecede.study.estimates import CountTrials, Results, count_message_trials

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "paper")
Value = str | int | float | bool
Metrics = dict[str, float]
"""What a cell measured, by name."""


class Point(NamedTuple):
    """A place in a grid: a protocol and its parameters, those of the traffic included."""

    protocol: str
    parameters: dict[str, Value]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One point of one figure, with one seed."""

    study: str
    figure: str
    protocol: str
    parameters: dict[str, Value]
    seed: int

    @property
    def key(self) -> str:
        """A name for its file: the same for the same cell, on every machine."""
        text = msgspec.json.encode(self, order="sorted")
        return hashlib.blake2b(text, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Plot:
    """A picture of a metric: over a parameter `x`, a line for each value of `series`, which is a parameter or
    "protocol"."""

    title: str
    metric: str
    x: str
    series: str = "protocol"
    unit: str = ""
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """One question of a study, and how it is answered.

    `grid` gives the points for a scale, `measure` runs a cell, `conclude` says in plain words what the
    results show, with their intervals. `seeds` says how often a point is run; where a cell costs much, it is
    less. `count_trials` says what rates are out of: without more words, metrics that end in `_rate` are out
    of as many messages as the parameter `messages` says.
    """

    name: str
    title: str
    question: str
    grid: Callable[[Scale], Iterable[Point]]
    measure: Callable[[Cell], Metrics]
    plots: tuple[Plot, ...]
    conclude: Callable[[Results], str]
    seeds: dict[Scale, int]
    count_trials: CountTrials = count_message_trials


@dataclass(frozen=True)
class Study:
    """A question that somebody asked, and the figures that answer it.

    Raise `version` when cells that are finished no longer stand for what `measure` would measure now.
    """

    name: str
    title: str
    about: str
    figures: tuple[Figure, ...]
    version: int = 1

    def list_cells(self, scale: Scale) -> Iterator[Cell]:
        """Every cell of every figure."""
        for figure in self.figures:
            for point, seed in product(figure.grid(scale), range(figure.seeds[scale])):
                yield Cell(
                    study=self.name,
                    figure=figure.name,
                    protocol=point.protocol,
                    parameters=dict(point.parameters),
                    seed=seed,
                )

    def check(self, scale: Scale) -> None:
        """Refuse what could not be run or told apart, before anything is run."""
        names = [figure.name for figure in self.figures]
        for figure in self.figures:
            if not re.fullmatch(r"[\w-]+", figure.name) or names.count(figure.name) > 1:
                raise CallerError(
                    f"figure {figure.name!r}: its name must be its own, of letters, digits, _ and -, since "
                    "files are called after it"
                )
            if scale not in figure.seeds:
                raise CallerError(
                    f"figure {figure.name!r}: its seeds do not say how many for scale {scale!r}"
                )
        keys = set()
        for cell in self.list_cells(scale):
            where = f"figure {cell.figure!r}, {cell.protocol}, {cell.parameters}"
            wrong = [name for name, value in cell.parameters.items() if not _is_storable_value(value)]
            if wrong:
                raise CallerError(f"{where}: {wrong[0]!r} must be a text, a finite number, or a truth value")
            if cell.key in keys:
                raise CallerError(f"{where}: the grid has this point twice")
            keys.add(cell.key)

    def measure(self, cell: Cell) -> Metrics:
        """Run a cell."""
        figure = next((one for one in self.figures if one.name == cell.figure), None)
        if figure is None:
            raise CallerError(f"study {self.name!r} has no figure {cell.figure!r}")
        return figure.measure(cell)


def _is_storable_value(value: object) -> bool:
    """Whether a parameter can be written down and read again."""
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def fill_grid(protocols: Iterable[str], **parameters: Iterable[Value]) -> Iterator[Point]:
    """Every protocol with every combination of parameters."""
    names = list(parameters)
    for protocol in protocols:
        for values in product(*parameters.values()):
            yield Point(protocol, dict(zip(names, values, strict=True)))

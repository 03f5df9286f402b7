"""What `antecede order` does with an outcome: write its tables, add up the rows, and tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from rich.console import Console
from rich.markup import escape

from antecede.cli.folders import write_spark_table
from antecede.cli.steps import show_spark_stages
from antecede.core.errors import AntecedeError
from antecede.report.text import many, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from antecede.spark.ordering.outcome import Outcome

GAPS = 10
"""So many root gaps are listed."""
NAMES = {"ordered": "ordered", "held": "held", "quarantined": "quarantine"}
"""The parts of the sum, and the tables that hold them."""


class Ordered(NamedTuple):
    """How many rows went where, what is missing, and where the tables are."""

    counts: dict[str, int]
    gaps: list[dict[str, Any]]
    gap_count: int
    places: dict[str, str]
    lines: list[str]
    facts: dict[str, Any]

    @property
    def clean(self) -> bool:
        return not self.counts["held"] and not self.counts["quarantined"]


def settled(
    outcome: Outcome, quarantine: DataFrame, out: str, overwrite: bool
) -> tuple[dict[str, str], dict[str, int]]:
    """Write the three tables; where they are, and how many rows are in each, as read back from there."""
    outcome.keep()
    tables = {"ordered": outcome.ordered, "held": outcome.held, "quarantine": quarantine}
    spark = quarantine.sparkSession
    with show_spark_stages(spark, "ordering"):
        places = {name: write_spark_table(table, out, name, overwrite) for name, table in tables.items()}
    counts = {name: spark.read.parquet(places[table]).count() for name, table in NAMES.items()}
    return places, counts


def ordered(
    outcome: Outcome,
    quarantine: DataFrame,
    rows: int,
    target: tuple[str, bool],
    lines: list[str],
    facts: dict[str, Any],
) -> Ordered:
    """The outcome, written and added up; an error if a row is missing or is there twice."""
    places, counts = settled(outcome, quarantine, *target)
    if sum(counts.values()) != rows:
        told = " + ".join(f"{count:,} {name}" for name, count in counts.items())
        raise AntecedeError(
            f"internal error: {many(rows, 'row')} in, but {told} out; the tables in {target[0]} cannot be "
            "trusted: please report this with the command and, if you can, the input"
        )
    gaps = outcome.gaps.orderBy("waiting", "missing", ascending=[False, True])
    found = [row.asDict() for row in gaps.limit(GAPS).collect()]
    number = outcome.gaps.count() if len(found) == GAPS else len(found)
    outcome.done()
    return Ordered({"input": rows, **counts}, found, number, places, lines, facts)


def renamed(names: dict[str, str]) -> Iterator[str]:
    """A line for each column of ours whose name the table has already."""
    for name, ours in names.items():
        if name != ours:
            yield f"the table has a column {name!r} of its own: ours is called {ours}"


def tell(found: Ordered, json: bool) -> None:
    """For programs, or for people."""
    if json:
        facts = {**found.counts, "gaps": found.gaps, "gap_count": found.gap_count, "written": found.places}
        sys.stdout.write(msgspec.json.encode(facts | found.facts).decode() + "\n")
        return
    console = Console()
    for line in _lines(found):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(found: Ordered) -> Iterator[str]:
    yield from (escape(shown(line)) for line in found.lines)
    counts = found.counts
    parts = " + ".join(f"{counts[name]:,} {name}" for name in NAMES)
    yield f"[bold {'green' if found.clean else 'yellow'}]{many(counts['input'], 'row')} = {parts}[/]"
    if found.gaps:
        yield f"[bold]missing[/] {found.gap_count:,}"
    for gap in found.gaps:
        where = next((value for name, value in gap.items() if name not in ("missing", "waiting")), None)
        place = f" in {where}" if where else ""
        verb = "depends" if gap["waiting"] == 1 else "depend"
        yield escape(shown(f"  {gap['missing']}{place}: {gap['waiting']:,} {verb} on it"))
    if found.gap_count > len(found.gaps):
        yield f"  [dim]... and {found.gap_count - len(found.gaps):,} more[/]"
    for name, place in found.places.items():
        yield escape(f"{name}: {place}")

"""`antecede doctor`: what this machine has of what the pipeline needs, and the remedy for what is missing."""

from __future__ import annotations

import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from antecede import java
from antecede.cli.engine import format_bytes
from antecede.cli.output import Json, print_json
from antecede.core.errors import SetupError
from antecede.machine import read_memory_gigabytes
from antecede.scratch import list_leftover_folders, measure_folder_bytes, remove_leftover_folders

if TYPE_CHECKING:
    from rich.table import Table

OLDEST_PYTHON = (3, 11)
FIRST_WITH_RACE, LAST_WITH_RACE = (3, 7, 0), (3, 51, 2)
"""Versions of SQLite in which two connections that checkpoint at one moment can damage a file in WAL mode."""
LEAST_MEMORY = 2
"""Gigabytes, for an embedded Spark."""
LEAST_SPACE = 2
"""Gigabytes of temporary space, for what Spark spills."""


class Check(NamedTuple):
    """One thing that is needed, and what there is of it; `remedy` is empty where that is enough."""

    what: str
    found: str
    remedy: str = ""


Clean = Annotated[
    bool, typer.Option("--clean", help="Remove the folders that runs left when they were killed.")
]


def doctor_command(json: Json = False, clean: Clean = False) -> None:
    """Check Python, SQLite, Java, Spark, memory and space, and name the remedy for each thing missing.

    Temporary folders of runs that were killed are named, and removed with --clean.

    Small inputs need no Java and no Spark: `antecede audit` and `antecede order` run in this process then.

    Example: antecede doctor

    Example: antecede doctor --clean

    Exit code: 0 if nothing is missing, else 2.
    """
    if clean:
        remove_leftover_folders()
    checks = list(check_machine())
    if json:
        print_json([check._asdict() for check in checks])
    else:
        from rich.console import Console

        Console().print(_make_check_table(checks))
    raise typer.Exit(2 if any(check.remedy for check in checks) else 0)


def check_machine() -> Iterator[Check]:
    """Everything that is needed, one after the other."""
    yield _check_python()
    yield _check_sqlite()
    yield _check_java()
    yield _check_spark()
    yield _check_memory()
    yield _check_disk_space()
    yield _check_leftover_folders()


def _check_python() -> Check:
    is_enough = sys.version_info >= OLDEST_PYTHON
    return Check("Python", platform.python_version(), "" if is_enough else "install Python 3.11 or newer")


def _check_sqlite() -> Check:
    """All versions will do; of most one should know what they must not be asked to do."""
    found = sqlite3.sqlite_version
    if FIRST_WITH_RACE <= sqlite3.sqlite_version_info <= LAST_WITH_RACE:
        found += " (two connections can damage a file; a node has one and locks it: leave its journal alone)"
    return Check("SQLite", found)


def _check_java() -> Check:
    try:
        chosen = java.find_java()
    except SetupError as error:
        return Check("Java", "none that Spark can use", str(error))
    return Check("Java", f"{chosen.version}, {chosen.path} ({chosen.origin})")


def _check_spark() -> Check:
    try:
        return Check("Spark", f"PySpark {version('pyspark')}")
    except PackageNotFoundError:
        return Check("Spark", "PySpark is not installed", "run: pip install 'antecede[spark]'")


def _check_memory() -> Check:
    memory = read_memory_gigabytes()
    return Check("memory", f"{memory:.1f} GB", "" if memory >= LEAST_MEMORY else "use a cluster: --master")


def _check_disk_space() -> Check:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free / 2**30
    remedy = ""
    if free < LEAST_SPACE:
        remedy = f"free some space in {folder}, or set TMPDIR to another folder"
    return Check("temporary space", f"{free:.1f} GB in {folder}", remedy)


def _check_leftover_folders() -> Check:
    """They do no harm but for their space, so there is no remedy that would make the exit code 2."""
    leftovers = list_leftover_folders()
    if not leftovers:
        return Check("leftovers", "none")
    size = format_bytes(sum(map(measure_folder_bytes, leftovers)))
    names = ", ".join(map(str, leftovers))
    found = f"{size} of runs that were killed in {names}; antecede doctor --clean removes them"
    return Check("leftovers", found)


def _make_check_table(checks: list[Check]) -> Table:
    from rich.table import Table

    table = Table(show_header=False)
    for check in checks:
        sign = "[red]✗[/]" if check.remedy else "[green]✓[/]"
        remedy = f"[yellow]{check.remedy}[/]" if check.remedy else ""
        table.add_row(sign, check.what, check.found, remedy)
    return table

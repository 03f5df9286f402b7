"""`antecede doctor`: what this machine has of what the pipeline needs, and the remedy for what is missing."""

import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from antecede import java
from antecede.cli.output import Json
from antecede.core.errors import SetupError
from antecede.machine import memory_gigabytes

PYTHON = (3, 11)
LEAST_MEMORY = 2
"""Gigabytes, for an embedded Spark."""
LEAST_SPACE = 2
"""Gigabytes of temporary space, for what Spark spills."""


class Check(NamedTuple):
    """One thing that is needed; `remedy` is empty where it is there."""

    what: str
    found: str
    remedy: str = ""


def doctor(json: Json = False) -> None:
    """Check Python, Java, Spark, memory and temporary space, and name the remedy for each thing missing.

    Example: antecede doctor

    Exit code: 0 if nothing is missing, else 2.
    """
    checks = list(_checks())
    if json:
        sys.stdout.write(msgspec.json.encode([check._asdict() for check in checks]).decode() + "\n")
    else:
        Console().print(_table(checks))
    raise typer.Exit(2 if any(check.remedy for check in checks) else 0)


def _checks() -> Iterator[Check]:
    remedy = "" if sys.version_info >= PYTHON else "install Python 3.11 or newer"
    yield Check("Python", platform.python_version(), remedy)
    yield _java()
    yield _spark()
    memory = memory_gigabytes()
    yield Check("memory", f"{memory:.1f} GB", "" if memory >= LEAST_MEMORY else "use a cluster: --master")
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free / 2**30
    remedy = "" if free >= LEAST_SPACE else f"free some space in {folder}, or set TMPDIR to another folder"
    yield Check("temporary space", f"{free:.1f} GB in {folder}", remedy)


def _java() -> Check:
    try:
        found = java.find()
    except SetupError as error:
        return Check("Java", "none that Spark can use", str(error))
    return Check("Java", f"{found.version}, {found.path} ({found.origin})")


def _spark() -> Check:
    try:
        return Check("Spark", f"PySpark {version('pyspark')}")
    except PackageNotFoundError:
        return Check("Spark", "PySpark is not installed", "run: pip install 'antecede[spark]'")


def _table(checks: list[Check]) -> Table:
    table = Table(show_header=False)
    for check in checks:
        sign = "[red]✗[/]" if check.remedy else "[green]✓[/]"
        table.add_row(sign, check.what, check.found, f"[yellow]{check.remedy}[/]" if check.remedy else "")
    return table

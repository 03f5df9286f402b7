"""Folders that commands write tables to: never over something that is there, unless the user says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antecede.core.errors import CallerError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run left in --out.")]


def checked(out: str, overwrite: bool) -> None:
    """Refuse a folder that holds something, before any work is done. Addresses are left to Spark."""
    if "://" in out:
        return
    path = Path(out)
    if path.exists() and not path.is_dir():
        raise CallerError(f"--out {out}: is a file; name a folder")
    if not overwrite and path.is_dir() and any(path.iterdir()):
        raise CallerError(f"--out {out}: is not empty; name another folder, or add --overwrite")


def stored(table: DataFrame, out: str, name: str, overwrite: bool) -> str:
    """Write a table into the folder; where it is."""
    place = f"{out.rstrip('/')}/{name}" if "://" in out else str(Path(out).absolute() / name)
    table.write.parquet(place, mode="overwrite" if overwrite else "errorifexists")
    return place


def saved(file: Path, text: str, option: str) -> None:
    """Write a text file; it replaces an older one."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CallerError(f"{option} {file}: {error.strerror}; name a file that can be written") from None

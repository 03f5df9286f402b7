"""Folders that commands write tables to: never over something that is there, unless the user says so."""

from __future__ import annotations

import os
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
    there = next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())
    if not os.access(there, os.W_OK | os.X_OK) or not there.is_dir():
        raise CallerError(f"--out {out}: {there} cannot be written to; name another folder")
    if not overwrite and path.is_dir() and any(path.iterdir()):
        raise CallerError(f"--out {out}: is not empty; name another folder, or add --overwrite")


def stored(table: DataFrame, out: str, name: str, overwrite: bool) -> str:
    """Write a table into the folder; where it is."""
    place = f"{out.rstrip('/')}/{name}" if "://" in out else str(Path(out).absolute() / name)
    table.write.parquet(place, mode="overwrite" if overwrite else "errorifexists")
    return place


def check_file(file: Path | None, option: str) -> None:
    """Refuse a file that cannot be one, before any work is done."""
    if file is not None and file.is_dir():
        raise CallerError(f"{option} {file}: is a folder; name a file that can be written")
    wrong = next((one for one in (file.parents if file else ()) if one.exists() and not one.is_dir()), None)
    if wrong is not None:
        raise CallerError(f"{option} {file}: {wrong} is no folder; name a file that can be written")


def saved(file: Path, text: str, option: str) -> str:
    """Write a text file, which replaces an older one; where it is, and whether its folder is new. Like --out,
    it may lie in a folder that is still to be made."""
    new = not file.parent.exists()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CallerError(f"{option} {file}: {error.strerror}; name a file that can be written") from None
    return f"{file} (in a new folder)" if new else str(file)

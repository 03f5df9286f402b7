"""Where commands write: never over something that is there, unless the user says so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from antecede.core.errors import CallerError

if TYPE_CHECKING:
    import pyarrow as pa

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run left in --out.")]


def check_output_folder(out: str, tables: Iterable[str], files: list[str], overwrite: bool) -> None:
    """Refuse a folder that holds something, before any work is done. Addresses elsewhere are left to Spark.

    With --overwrite the folders of the tables are replaced, but neither input files nor the user's own.
    """
    local = _find_local_path(out)
    if local is None:
        return
    path = Path(local)
    if path.exists() and not path.is_dir():
        raise CallerError(f"--out {out}: is a file; name a folder")
    nearest = next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())
    if not os.access(nearest, os.W_OK | os.X_OK) or not nearest.is_dir():
        raise CallerError(f"--out {out}: {nearest} cannot be written to; name another folder")
    if not overwrite and path.is_dir() and any(path.iterdir()):
        raise CallerError(f"--out {out}: is not empty; name another folder, or add --overwrite")
    for name in tables:
        _check_replaced_folder(path.absolute() / name, out, files)


def _find_local_path(out: str) -> str | None:
    """The path of a folder on this machine; None if the address is elsewhere."""
    if "://" not in out:
        return out
    scheme, _, place = out.partition("://")
    return place[place.find("/") :] if scheme.lower() == "file" and "/" in place else None


def _check_replaced_folder(place: Path, out: str, files: list[str]) -> None:
    """Refuse to replace a folder with an input file, or with something that no run wrote."""
    if not place.exists():
        return
    real_place = Path(os.path.realpath(place))
    for file in files:
        if real_place in Path(os.path.realpath(file)).parents:
            raise CallerError(f"--out {out}: would replace the input {file}; name another folder")
    entries = sorted(place.iterdir()) if place.is_dir() else [place]
    foreign = next((entry for entry in entries if not _is_written_by_runs(entry)), None)
    if foreign is not None:
        raise CallerError(
            f"--out {out}: {foreign} was not written by an earlier run; move it, or name another folder"
        )


def _is_written_by_runs(entry: Path) -> bool:
    if entry.is_dir():
        return entry.name == "_temporary"  # what Spark leaves when it is stopped
    is_checksum = entry.name.startswith(".") and entry.suffix == ".crc"
    return entry.suffix == ".parquet" or entry.name == "_SUCCESS" or is_checksum


def place_of_table(out: str, name: str) -> str:
    """Where a table of this name goes in an output folder."""
    return f"{out.rstrip('/')}/{name}" if "://" in out else str(Path(out).absolute() / name)


def describe_places(places: dict[str, str]) -> list[str]:
    """A line for each thing written, in rich's markup; paths below the working folder start there."""
    from rich.markup import escape

    here = f"{os.getcwd()}/"
    return [escape(f"{name}: {place.removeprefix(here)}") for name, place in places.items()]


def write_spark_table(table: Any, out: str, name: str, overwrite: bool) -> str:
    """Write a DataFrame as Parquet into the folder; where it is."""
    place = place_of_table(out, name)
    table.write.parquet(place, mode="overwrite" if overwrite else "errorifexists")
    return place


def write_arrow_table(table: pa.Table, out: str, name: str, overwrite: bool) -> str:
    """Write an Arrow table as Spark does, as a folder of Parquet; it appears when all of it is there."""
    import pyarrow.parquet as pq

    place = Path(place_of_table(out, name))
    if place.exists() and not overwrite:
        raise CallerError(f"--out {out}: {name} is there already; name another folder, or add --overwrite")
    part = place.with_name(f".{name}.{os.getpid()}")
    try:
        part.mkdir(parents=True)
        pq.write_table(table, part / "part-00000.parquet")
        if place.exists():
            shutil.rmtree(place)
        part.replace(place)
    except OSError as error:
        raise CallerError(f"--out {out}: {error.strerror}; name another folder, or make room") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return str(place)


def check_output_file(file: Path | None, option: str, inputs: list[str]) -> None:
    """Refuse a file that cannot be one, or that is an input, before any work is done."""
    if file is None:
        return
    if file.is_dir():
        raise CallerError(f"{option} {file}: is a folder; name a file that can be written")
    not_a_folder = next((one for one in file.parents if one.exists() and not one.is_dir()), None)
    if not_a_folder is not None:
        raise CallerError(f"{option} {file}: {not_a_folder} is no folder; name a file that can be written")
    if os.path.realpath(file) in map(os.path.realpath, inputs):
        raise CallerError(f"{option} {file}: is an input, which would be lost; name another file")


def write_text(file: Path, text: str, option: str) -> str:
    """Write a text file, which replaces an older one; where it is, and whether its folder is new. Like --out,
    it may lie in a folder that is still to be made."""
    is_new_folder = not file.parent.exists()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CallerError(f"{option} {file}: {error.strerror}; name a file that can be written") from None
    return f"{file} (in a new folder)" if is_new_folder else str(file)

"""Where commands write: never over something that is there, unless the user says so."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from antecede.core.errors import CallerError
from antecede.scratch import make_scratch_folder, replace_file_atomically

if TYPE_CHECKING:
    import pyarrow as pa

OURS = ".antecede"
"""How names begin of what a run has in its output folder while it runs."""
LOCK = f"{OURS}.lock"
PART_PREFIX = f"{OURS}-part-"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk that is full, for all or for this user, and of a file that must not grow."""

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run left in --out.")]


class OutputFolder(NamedTuple):
    """The tables of a run: written beside their places, and put there together when all of them are whole."""

    out: str
    """As the user named it."""
    folder: str
    """An address, or an absolute path."""
    tables: tuple[str, ...]
    part: str | None
    """Where tables are written first; None for an address, which Spark writes to directly."""
    overwrite: bool = False

    def write_arrow_table(self, table: pa.Table, name: str) -> str:
        """Write an Arrow table as Spark does, as a folder of Parquet; where it is until it is published."""
        import pyarrow.parquet as pq

        assert self.part is not None, "only Spark writes to addresses"
        place = Path(self.part, name)
        with explain_write_errors(f"--out {self.out}"):
            place.mkdir()
            pq.write_table(table, place / "part-00000.parquet")
        return str(place)

    def write_spark_table(self, table: Any, name: str) -> str:
        """Write a DataFrame as Parquet; where it is until it is published."""
        if self.part is None:
            place = self._make_final_table_path(name)
            table.write.parquet(place, mode="overwrite" if self.overwrite else "errorifexists")
            return place
        place = str(Path(self.part, name))
        table.write.parquet(place)
        return place

    def publish_tables(self) -> dict[str, str]:
        """Put the tables in their places; where each is.

        Tables of different runs are never mixed: those of an earlier run are all gone before the first new
        one appears.
        """
        places = {name: self._make_final_table_path(name) for name in self.tables}
        if self.part is None:
            return places
        with explain_write_errors(f"--out {self.out}"):
            for name, place in places.items():
                if os.path.exists(place):
                    os.rename(place, Path(self.part, f"old-{name}"))
            for name, place in places.items():
                os.rename(Path(self.part, name), place)
        return places

    def _make_final_table_path(self, name: str) -> str:
        return f"{self.folder.rstrip('/')}/{name}"


@contextmanager
def open_output_folder(
    out: str, tables: Iterable[str], input_files: list[str], overwrite: bool
) -> Iterator[OutputFolder]:
    """An output folder that no other run writes to while the block runs.

    What cannot be written to, or holds something, is refused before any work is done; with --overwrite the
    tables of an earlier run are replaced, but neither input files nor the user's own. Addresses elsewhere are
    left to Spark.
    """
    names = tuple(tables)
    local = _parse_local_path(out)
    if local is None:
        yield OutputFolder(out, out, names, None, overwrite)
        return
    path = Path(local).absolute()
    with claim_folder(path, f"--out {out}"):
        _check_folder_empty_or_replaceable(path, out, names, input_files, overwrite)
        _remove_abandoned_parts(path)
        # Workers of a cluster may be run by another user.
        with make_scratch_folder(str(path), PART_PREFIX, mode=0o777) as part:
            yield OutputFolder(out, str(path), names, part, overwrite)


@contextmanager
def claim_folder(path: Path, option: str) -> Iterator[None]:
    """A folder that is one run's alone while the block runs: made if need be, gone if it stays empty."""
    check_folder_writable(path, option)
    new_folders = [one for one in (path, *path.parents) if not one.exists()]
    with explain_write_errors(option):
        path.mkdir(parents=True, exist_ok=True)
    try:
        with _lock_folder(path, option):
            yield
    finally:
        for folder in new_folders:
            with suppress(OSError):  # something is in it
                folder.rmdir()


@contextmanager
def _lock_folder(path: Path, option: str) -> Iterator[None]:
    """A lock that ends with the process, however that ends."""
    lock = path / LOCK
    with explain_write_errors(option):
        file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _make_second_run_error(option) from None
        except OSError:
            pass  # a file system without locks
        # Whoever had the lock may have ended and removed its file, so that the next run has locked another.
        if not lock.exists() or not os.path.samestat(os.fstat(file), lock.stat()):
            raise _make_second_run_error(option)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(file)


def _make_second_run_error(option: str) -> CallerError:
    return CallerError(f"{option}: another run is writing there; wait until it ends, or name another folder")


def check_folder_writable(path: Path, option: str) -> None:
    """Refuse what is no folder and cannot become one, or cannot be written to."""
    if path.exists() and not path.is_dir():
        raise CallerError(f"{option}: is a file; name a folder")
    nearest = next(one for one in (path, *path.parents) if one.exists())
    if not os.access(nearest, os.W_OK | os.X_OK) or not nearest.is_dir():
        raise CallerError(f"{option}: {nearest} cannot be written to; name another folder")


def _check_folder_empty_or_replaceable(
    path: Path, out: str, tables: Iterable[str], input_files: list[str], overwrite: bool
) -> None:
    """Refuse a folder that holds something; with --overwrite one that holds what must not be replaced."""
    others = (entry for entry in path.iterdir() if not entry.name.startswith(OURS))
    if not overwrite and any(others):
        raise CallerError(f"--out {out}: is not empty; name another folder, or add --overwrite")
    for name in tables:
        _check_table_folder_replaceable(path / name, out, input_files)


def _remove_abandoned_parts(path: Path) -> None:
    """Remove what runs that were killed left here: who has the lock is the only one that works here."""
    for part in path.glob(f"{PART_PREFIX}*"):
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def explain_write_errors(option: str) -> Iterator[None]:
    """What the system says of writing, as a sentence."""
    try:
        yield
    except OSError as error:
        raise CallerError(f"{option}: {describe_write_error(error)}") from None


def describe_write_error(error: OSError) -> str:
    """Why something cannot be written, with the next step."""
    if error.errno in FULL:
        return "no space left on the disk; make room, or name a folder on another disk"
    return f"cannot be written ({error.strerror or error}); name another place"


def _parse_local_path(out: str) -> str | None:
    """The path of a folder on this machine; None if the address is elsewhere."""
    if "://" not in out:
        return out
    scheme, _, place = out.partition("://")
    return place[place.find("/") :] if scheme.lower() == "file" and "/" in place else None


def _check_table_folder_replaceable(place: Path, out: str, input_files: list[str]) -> None:
    """Refuse to replace a folder with an input file, or with something that no run wrote."""
    if not place.exists():
        return
    real_place = Path(os.path.realpath(place))
    for file in input_files:
        if real_place in Path(os.path.realpath(file)).parents:
            raise CallerError(f"--out {out}: would replace the input {file}; name another folder")
    entries = sorted(place.iterdir()) if place.is_dir() else [place]
    foreign = next((entry for entry in entries if not _is_named_like_run_output(entry)), None)
    if foreign is not None:
        raise CallerError(
            f"--out {out}: {foreign} was not written by an earlier run; move it, or name another folder"
        )


def _is_named_like_run_output(entry: Path) -> bool:
    if entry.is_dir():
        return entry.name == "_temporary"  # what Spark leaves when it is stopped
    is_checksum = entry.name.startswith(".") and entry.suffix == ".crc"
    return entry.suffix == ".parquet" or entry.name == "_SUCCESS" or is_checksum


def format_written_paths(places: dict[str, str]) -> list[str]:
    """A line for each thing written, in rich's markup; paths below the working folder start there."""
    from rich.markup import escape

    here = f"{os.getcwd()}/"
    return [escape(f"{name}: {place.removeprefix(here)}") for name, place in places.items()]


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


def write_text_and_describe_place(file: Path, text: str, option: str) -> str:
    """Write a text file, which replaces an older one when all of it is there; where it is, and whether its
    folder is new. Like --out, it may lie in a folder that is still to be made."""
    is_new_folder = not file.parent.exists()
    with explain_write_errors(f"{option} {file}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file_atomically(file, text.encode(errors="replace"))
    return f"{file} (in a new folder)" if is_new_folder else str(file)

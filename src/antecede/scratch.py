"""Temporary folders: gone when the run that made them ends, and known by name where it could not clean up.
And files that appear whole, or not at all.

A run that is killed cleans up nothing. So each folder has a note in the user's own folder, which its run
keeps locked: a note that nobody locks tells of a folder that nobody uses any more (`antecede doctor`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from antecede.machine import make_user_folder


@contextmanager
def make_scratch_folder(
    parent: str | None = None, prefix: str = "antecede-", mode: int = 0o700
) -> Iterator[str]:
    """A new folder, gone behind the block; in the temporary folder if no parent is named."""
    place = Path(parent or tempfile.gettempdir()).absolute() / f"{prefix}{uuid4().hex}"
    with _register_folder(place):
        place.mkdir(mode=mode)
        try:
            yield str(place)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def list_leftover_folders() -> list[Path]:
    """The folders on this machine that runs of this user left when they were killed."""
    leftovers = []
    for note in sorted(_list_folder_notes()):
        with suppress(OSError), note.open("r+") as file:
            if not _try_to_lock(file.fileno()):
                continue
            machine, _, place = file.read().partition("\n")
            if machine != socket.gethostname():
                continue
            if Path(place).is_dir():
                leftovers.append(Path(place))
            else:
                note.unlink()
    return leftovers


def remove_leftover_folders() -> list[Path]:
    """Remove these folders; those that are gone."""
    leftovers = list_leftover_folders()
    for place in leftovers:
        shutil.rmtree(place, ignore_errors=True)
    left = set(list_leftover_folders())
    return [place for place in leftovers if place not in left]


@contextmanager
def _register_folder(folder: Path) -> Iterator[None]:
    """Note the name of a folder for as long as it may be there."""
    note = _locate_folder_notes() / folder.name.lstrip(".")
    file = _write_locked_note(note, folder)
    try:
        yield
    finally:
        if file is not None and not folder.exists():
            note.unlink(missing_ok=True)
        if file is not None:
            os.close(file)


def _write_locked_note(note: Path, folder: Path) -> int | None:
    """The note, open and locked; None where it cannot be written: nothing else depends on it."""
    try:
        note.parent.mkdir(exist_ok=True)
        file = os.open(note, os.O_RDWR | os.O_CREAT, 0o600)
        _try_to_lock(file)
        os.write(file, f"{socket.gethostname()}\n{folder}".encode())
    except OSError:
        return None
    return file


def _list_folder_notes() -> list[Path]:
    folder = _locate_folder_notes()
    return list(folder.iterdir()) if folder.is_dir() else []


def _locate_folder_notes() -> Path:
    return make_user_folder() / "runs"


def _try_to_lock(file: int) -> bool:
    """Whether nobody else has the lock; it is ours then until the file is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def replace_file_atomically(file: Path, content: bytes) -> None:
    """Write a file, which takes the place of an older one when all of it is there."""
    target = Path(os.path.realpath(file))
    part = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        part.write_bytes(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def measure_folder_bytes(folder: Path) -> int:
    """The bytes of all files in a folder."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(parent, name)).st_size
    return size

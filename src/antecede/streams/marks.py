"""The marks of a checkpoint: what a micro-batch did, and which files are valid behind it.

A mark appears by a rename, when all that it names is there; that is the moment in which a batch counts. A
batch whose mark exists is done. Any other starts from the newest mark below it, and writes only files that
have its number in their paths: so it may be tried as often as need be, by whoever believes it is its turn.

What waits too long while no batch comes is given up by a *tick* behind the last batch. It writes files of its
own into the folders of that batch, and replaces its mark. Batches and ticks are *steps*. A step is written
down as begun before it does anything, with all that its result depends on beside its rows; what was begun
first is done first, by whoever goes on.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import msgspec

from antecede.core.errors import CallerError, InputError
from antecede.ordering.stream.give_up import GiveUp
from antecede.ordering.stream.states import VERSION

KEPT_MARKS = 100
"""So many marks are kept, which tell what happened; only the newest is needed."""
TABLES = ("ordered", "late", "held", "quarantine")
"""Where rows end; `held` has those that are held for good."""


class StateFile(msgspec.Struct, frozen=True):
    """A file of the checkpoint."""

    path: str
    rows: int


class BucketFiles(msgspec.Struct, frozen=True):
    """What is remembered of a bucket, the newest file last, and how much of it waits."""

    groups: tuple[StateFile, ...] = ()
    held: tuple[StateFile, ...] = ()
    held_rows: int = 0
    held_bytes: int = 0
    oldest: int | None = None
    """When the first of the waiting rows came, in ms."""


class Counts(msgspec.Struct, frozen=True):
    """How many rows came, and where they went.

    Those that were released are among the ordered ones, and duplicates among the quarantined ones.
    """

    input: int = 0
    ordered: int = 0
    late: int = 0
    diverted: int = 0
    quarantined: int = 0
    released: int = 0
    duplicates: int = 0

    def add(self, other: Counts) -> Counts:
        """Both together."""
        mine, others = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return Counts(*(one + more for one, more in zip(mine, others, strict=True)))

    @property
    def rows_in_tables(self) -> int:
        """Rows that ended in a table."""
        return self.ordered + self.late + self.diverted + self.quarantined


class Mark(msgspec.Struct, frozen=True):
    """What is so behind a batch."""

    version: int
    batch: int
    time: int
    query: str | None
    fingerprint: dict[str, Any]
    options: dict[str, Any]
    """What the caller said of the columns."""
    bucket_count: int
    buckets: dict[str, BucketFiles]
    counts: Counts
    totals: Counts
    tables: tuple[str, ...]
    """The files of the tables that this batch wrote, below OUT; none if the tables themselves tell."""
    step: int
    """How many batches and ticks came before."""
    tick: int = 0
    """How many ticks there were behind the batch."""
    took: int | None = None
    """Milliseconds that the try of the batch took which counts."""
    sink: str = "parquet"

    @property
    def held_rows(self) -> int:
        """How many rows wait."""
        return sum(bucket.held_rows for bucket in self.buckets.values())

    @property
    def held_bytes(self) -> int:
        """About how many bytes they have."""
        return sum(bucket.held_bytes for bucket in self.buckets.values())

    @property
    def oldest_waiting_ms(self) -> int | None:
        """Since when the first of them waits, in ms."""
        times = [bucket.oldest for bucket in self.buckets.values() if bucket.oldest is not None]
        return min(times, default=None)

    def get_bucket_files(self, bucket: int) -> BucketFiles:
        return self.buckets.get(str(bucket), BucketFiles())

    def list_state_files(self) -> set[str]:
        """All files of the checkpoint that are valid."""
        return {file.path for one in self.buckets.values() for file in (*one.groups, *one.held)}


def list_marked_batches(checkpoint: Path) -> list[int]:
    """The batches that have a mark, in order."""
    folder = checkpoint / "commits"
    if not folder.is_dir():
        return []
    names = (file.stem for file in folder.iterdir() if file.suffix == ".json")
    return sorted(int(name) for name in names if name.isdigit())


def read_mark(checkpoint: Path, batch: int) -> Mark:
    """The mark of a batch."""
    file = checkpoint / "commits" / f"{batch}.json"
    try:
        raw = file.read_bytes()
        version = msgspec.json.decode(raw)["version"]
        if version != VERSION:
            raise CallerError(
                f"{file}: is of version {version}, and this antecede reads version {VERSION}: go on with the "
                "antecede that wrote it, or start with a new checkpoint and a new output folder"
            )
        return msgspec.json.decode(raw, type=Mark)
    except (OSError, msgspec.MsgspecError, KeyError, TypeError) as error:
        raise InputError(f"{file}: is no mark of a stream: {error}; restore it from a copy") from None


def read_newest_mark(checkpoint: Path) -> Mark | None:
    """The last mark; None if no batch is done."""
    batches = list_marked_batches(checkpoint)
    return read_mark(checkpoint, batches[-1]) if batches else None


def write_commit_mark(checkpoint: Path, mark: Mark) -> None:
    """Let the batch count: its rows are in the tables from here on, and it is not done again."""
    write_file_atomically(checkpoint / "commits" / f"{mark.batch}.json", msgspec.json.encode(mark))


class Attempt(msgspec.Struct, frozen=True):
    """What the result of a step depends on, beside its rows and what was before it."""

    time: int  # in ms
    give_up: GiveUp
    horizon: int | None


def record_or_read_attempt(checkpoint: Path, batch: int, tick: int, attempt: Attempt) -> Attempt:
    """Write down that a step is begun; what an earlier try wrote stays, so that all tries do the same."""
    file = _locate_attempt_file(checkpoint, batch, tick)
    part = _make_partial_path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(msgspec.json.encode(attempt))
    try:
        os.link(part, file)  # fails if it is there, and shows it only whole
    except FileExistsError:
        pass
    finally:
        part.unlink()
    return msgspec.json.decode(file.read_bytes(), type=Attempt)


def read_attempt(checkpoint: Path, batch: int, tick: int) -> Attempt | None:
    """What was written down of a step; None if it was not begun."""
    try:
        return msgspec.json.decode(_locate_attempt_file(checkpoint, batch, tick).read_bytes(), type=Attempt)
    except FileNotFoundError:
        return None


def list_begun_batches(checkpoint: Path) -> list[int]:
    """The batches of which it is written down that they were begun, but for old ones."""
    return [int(file.stem) for file in (checkpoint / "attempts").glob("*.json") if file.stem.isdigit()]


def _locate_attempt_file(checkpoint: Path, batch: int, tick: int) -> Path:
    name = f"{batch}.tick{tick}" if tick else str(batch)
    return checkpoint / "attempts" / f"{name}.json"


def write_file_atomically(file: Path, raw: bytes) -> None:
    """A file that appears whole, or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = _make_partial_path(file)
    part.write_bytes(raw)
    os.replace(part, file)


def _make_partial_path(file: Path) -> Path:
    """Where a file is written before it appears; readers of tables pass over such names."""
    return file.with_name(f".{file.name}.{uuid.uuid4().hex}")


def remove_old_files_and_marks(checkpoint: Path, mark: Mark) -> None:
    """Remove state files that no longer count, and old marks.

    Only those of batches up to this one: whoever goes on from here has other files. What the mark before
    names stays, for whoever copies the folder meanwhile.
    """
    batches = list_marked_batches(checkpoint)
    named = mark.list_state_files()
    earlier = [batch for batch in batches if batch < mark.batch]
    if earlier:
        named |= read_mark(checkpoint, earlier[-1]).list_state_files()
    state = checkpoint / "state"
    folders = [folder for folder in state.iterdir() if folder.name.isdigit()] if state.is_dir() else []
    for folder in folders:
        if int(folder.name) < mark.batch:
            _remove_files_except(checkpoint, folder, named)
    for batch in batches:
        if batch <= mark.batch - KEPT_MARKS:
            (checkpoint / "commits" / f"{batch}.json").unlink(missing_ok=True)
    for file in (checkpoint / "attempts").glob("[0-9]*.json"):
        if int(file.name.partition(".")[0]) < mark.batch:
            file.unlink(missing_ok=True)


def _remove_files_except(checkpoint: Path, folder: Path, kept: set[str]) -> None:
    """Remove what is not kept, and the folder if nothing is left."""
    for file in list(folder.iterdir()):
        if str(file.relative_to(checkpoint)) not in kept:
            file.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()

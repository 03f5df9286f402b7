"""What reading some files gives, whichever engine reads them, and the sentences that go with it."""

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.errors import AntecedeError, CallerError, InputError
from antecede.events.kinds import LISTED_WORDS, describe_unknown_words
from antecede.formats import ndjson
from antecede.formats.mapped import OWN
from antecede.formats.regexes import compile_javascript_regex
from antecede.formats.registry import FORMATS, join_format_names
from antecede.formats.settings import Settings
from antecede.formats.shiviz_forms import GROUPS
from antecede.tables import QUARANTINE


class FileRead(NamedTuple):
    """How the reading of one file went."""

    name: str
    format: str | None
    """The name of its format; None if no reader knows it."""
    events: int
    quarantined: int
    """Records that could not be read; 1 for a file that could not be read at all."""
    error: str | None = None
    """Why the whole file could not be read."""
    unknown: tuple[str, ...] = ()
    """Words for kinds that are not known, some."""


def check_format_and_settings(format: str | None, settings: Settings) -> None:
    """Refuse an unknown format and wrong settings: the caller's fault, and said before any file is read."""
    if format is not None and format not in FORMATS:
        raise CallerError(f"no format {format!r}; choose one of {join_format_names()}")
    known_fields = OWN.keys() | ndjson.NAMES.keys()
    if unknown := sorted(settings.fields.keys() - known_fields):
        raise CallerError(f"no field {', '.join(unknown)}; fields are {', '.join(OWN)}")
    if settings.regex:
        compile_javascript_regex(settings.regex, GROUPS, "regex")
    if settings.delimiter:
        compile_javascript_regex(settings.delimiter, (), "delimiter")


def check_any_file_readable(files: list[FileRead]) -> None:
    """A file that nobody can read is quarantined whole, unless there is none that can be read."""
    if any(file.error is None for file in files):
        return
    error = str(files[0].error)
    others = len(files) - 1
    if others:
        error += f" (and {others:,} other file{'s' * (others > 1)} cannot be read either)"
    raise InputError(error)


def list_unreadable_files(files: list[FileRead]) -> pa.Table:
    """A row of the quarantine table for each file that could not be read at all."""
    rows = [{"file": file.name, "reason": file.error} for file in files if file.error]
    return pa.Table.from_pylist(rows, QUARANTINE)


def list_unknown_kinds(events: pa.Table) -> list[str]:
    """Words for kinds that are not known, some; readers leave them in the fields."""
    words = pc.map_lookup(events["fields"], "kind", "first").filter(pc.is_null(events["kind"]))
    return sorted(words.unique().drop_null().to_pylist())[:LISTED_WORDS]


def describe_unknown_kinds(files: list[FileRead]) -> str | None:
    """A sentence on kinds that are not known; None if all are."""
    words = {word for file in files for word in file.unknown}
    return describe_unknown_words(words, f"say what they are, as in --kind {min(words, default='')}=send")


def check_and_list_row_counts(
    files: list[FileRead], event_count: int, quarantined_count: int
) -> dict[str, int]:
    """How many files, events and quarantined records there are; an error if readers counted otherwise.

    Every record of a file is an event or in quarantine.
    """
    read = (sum(file.events for file in files), sum(file.quarantined for file in files))
    if read != (event_count, quarantined_count):
        raise AntecedeError(
            f"internal error: {read[0]:,} events and {read[1]:,} quarantined records were read, but the "
            f"tables have {event_count:,} and {quarantined_count:,}; please report this with, if you can, "
            "the files"
        )
    return {"files": len(files), "events": event_count, "quarantined": quarantined_count}


def describe_file_counts(files: list[FileRead]) -> str:
    """How many files, events and records that cannot be read there are, in a few words."""
    events, quarantined = sum(file.events for file in files), sum(file.quarantined for file in files)
    bad = f", {quarantined:,} cannot be read" if quarantined else ""
    return f"{len(files):,} file{'s' * (len(files) != 1)}: {events:,} event{'s' * (events != 1)}{bad}"


def join_notes(notes: Iterable[str | None]) -> str | None:
    """One sentence of several; None if there is none."""
    return "; ".join(note for note in notes if note) or None

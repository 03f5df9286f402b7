"""One file of a log into Arrow tables, in this process."""

from typing import NamedTuple

import pyarrow as pa

from antecede.core.errors import AntecedeError, CallerError
from antecede.formats import Settings, read
from antecede.formats.logs import FileRead, list_unknown_kinds, list_unreadable_files
from antecede.formats.native import count_native_rows, read_native_table
from antecede.tables import EVENTS, QUARANTINE


class FileTables(NamedTuple):
    """What one file holds."""

    file: FileRead
    events: pa.Table = EVENTS.empty_table()
    quarantine: pa.Table = QUARANTINE.empty_table()
    is_native: bool = False
    """Whether it is our own table, which is taken as it is, whatever other files say."""


def read_file_or_note_error(shown_name: str, path: str, format: str | None, settings: Settings) -> FileTables:
    """Read the file at a path; its rows and errors call it by the shown name.

    What is wrong with it is told in its FileRead; the caller's errors are raised.
    """
    try:
        if count_native_rows(path, format, settings):
            events = read_native_table(path, shown_name)
            return FileTables(FileRead(shown_name, "parquet", len(events), 0), events, is_native=True)
        with open(path, "rb") as file:
            parsed = read(file.read(), shown_name, format, settings)
    except CallerError:
        raise
    except AntecedeError as error:
        return FileTables(FileRead(shown_name, None, 0, 1, str(error)))
    except OSError as error:
        reason = f"{shown_name}: cannot be read ({error.strerror}); check the path and its permissions"
        return FileTables(FileRead(shown_name, None, 0, 1, reason))
    unknown = tuple(list_unknown_kinds(parsed.events))
    file_read = FileRead(shown_name, parsed.format, len(parsed.events), len(parsed.quarantine), None, unknown)
    return FileTables(file_read, parsed.events, parsed.quarantine)


def collect_quarantine(tables: list[FileTables]) -> pa.Table:
    """The records of these files that cannot be read, and the files that cannot be read at all."""
    whole_files = list_unreadable_files([table.file for table in tables])
    return pa.concat_tables([*(table.quarantine for table in tables), whole_files])

"""The journal of a node: one SQLite file, many inputs in one commit, one call at a time.

    <path>         SQLite in WAL mode, synchronous=FULL, locked for as long as the node runs
    <path>-mark    40 bytes: which journal this is, the number of its last commit, and a hash of the two

A *record* is the list of inputs of one commit. Records are numbered, and each has a hash over the record
before it, its number and its inputs; so an altered, missing or moved record is found. A *snapshot* of the
station stands for all records up to its number, which are then deleted: recovery is short and the file stays
small.

SQLite passes silently over commits at the end of a damaged WAL. So the number of the last commit is also
written to the mark, after each commit and before anything that follows from it leaves the node: a journal
that ends before its mark has lost commits, and is refused. The first mark is synced before the journal has
anything in it, later ones are not: after a loss of power the mark may be behind, never ahead and never gone.

The application may keep tables of its own in the same file; `Transaction` writes them in the commit of a
record.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.live.errors import JournalError
from antecede.live.inputs import NodeInput, encode_inputs, read_inputs

HASH_BYTES = 16
INCARNATION_BYTES = 16
MARK_BYTES = INCARNATION_BYTES + 8 + HASH_BYTES
TABLES = """
CREATE TABLE antecede_journal (
    id INTEGER PRIMARY KEY CHECK (id = 1), header BLOB NOT NULL, hash BLOB NOT NULL);
CREATE TABLE antecede_snapshot (
    id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL, chain BLOB NOT NULL,
    state BLOB NOT NULL, hash BLOB NOT NULL);
CREATE TABLE antecede_records (number INTEGER PRIMARY KEY, inputs BLOB NOT NULL, chain BLOB NOT NULL);
"""

Parameters = Sequence[Any] | Mapping[str, Any]
Statement = tuple[str, Parameters]


class JournalHeader(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Whose journal it is."""

    format: Literal[1]
    process: str
    protocol: str
    group: str
    tag: int
    incarnation: bytes


class Stored(msgspec.Struct, frozen=True):
    """What a journal has: the station's last snapshot and the inputs of each commit since."""

    incarnation: bytes
    snapshot: bytes
    records: list[list[NodeInput]]


class MarkContent(NamedTuple):
    """Which journal a mark belongs to, and the number of the last commit that it tells of."""

    incarnation: bytes
    commit_number: int


class Unit(msgspec.Struct):
    """Inputs and statements of the application that are written together or not at all.

    `error` is why its statements failed; then nothing of the unit was written.
    """

    inputs: list[NodeInput]
    statements: list[Statement] = []
    error: Exception | None = None


class NodeJournal(Protocol):
    """What a node asks of a journal. Calls come one after the other, not all from the same thread."""

    def open(self, header: JournalHeader, snapshot: bytes) -> Stored:
        """What is there; a new journal begins with this header and snapshot."""

    def commit(self, units: list[Unit], snapshot: bytes | None) -> None:
        """Make units durable; one whose statements fail is left out, and says so in its `error`.

        A snapshot stands for all commits before this one.
        """

    def query(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Rows of the application's own tables."""

    def close(self) -> None:
        """Give the journal free."""


_read_header = wire.make_decoder(JournalHeader, "not a header of a journal")


def _hash_parts(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=HASH_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _pack_number(number: int) -> bytes:
    return number.to_bytes(8, "big")


class SqliteJournal:
    """A journal on disk."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._mark_path = Path(f"{path}-mark")
        self.number = 0
        self._chain = b""
        self._header = b""
        self._incarnation = b""
        self._connection: sqlite3.Connection | None = None
        self._mark: int | None = None

    # -- opening -----------------------------------------------------------------------------------

    def open(self, header: JournalHeader, snapshot: bytes) -> Stored:
        """What is there; a new journal begins with this header and snapshot."""
        try:
            return self._create_or_recover(header, snapshot)
        except sqlite3.Error as error:
            self.close()
            raise JournalError(f"{self.path}: {_describe_sqlite_error(error)}") from None
        except (InputError, OSError) as error:
            self.close()
            if isinstance(error, JournalError):
                raise
            raise JournalError(f"{self.path}: {error}") from None

    def _create_or_recover(self, header: JournalHeader, snapshot: bytes) -> Stored:
        self._connection = sqlite3.connect(
            self.path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        self._configure_and_lock_database()
        with suppress(FileNotFoundError):
            self._mark = os.open(self._mark_path, os.O_RDWR)
        mark = self._read_mark_file()
        if not self._has_tables():
            if mark is not None and mark.commit_number > 0:
                raise JournalError(
                    f"{self.path}: {self._mark_path.name} tells of {mark.commit_number} commits, and the "
                    "journal is empty: it was lost or replaced"
                )
            return self._create_journal(header, snapshot)
        return self._recover_journal(header, mark)

    def _configure_and_lock_database(self) -> None:
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            self._execute(f"PRAGMA {pragma}")
        self._execute("BEGIN EXCLUSIVE")
        self._execute("COMMIT")

    def _has_tables(self) -> bool:
        rows = self._execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'antecede_%'").fetchone()
        return bool(rows[0])

    def _create_journal(self, header: JournalHeader, snapshot: bytes) -> Stored:
        self._header = wire.encode(header)
        self._incarnation = header.incarnation
        self._chain = _hash_parts(self._header)
        self._create_mark_file()
        self._execute("BEGIN")
        for table in TABLES.split(";"):
            self._execute(table)
        row = (self._header, _hash_parts(self._header))
        self._execute("INSERT INTO antecede_journal VALUES (1, ?, ?)", row)
        self._replace_snapshot(snapshot)
        self._execute("COMMIT")
        return Stored(header.incarnation, snapshot, [])

    def _recover_journal(self, expected_header: JournalHeader, mark: MarkContent | None) -> Stored:
        self._check_integrity()
        own = self._read_and_check_header(expected_header)
        self._incarnation = own.incarnation
        snapshot = self._read_and_check_snapshot()
        records = [read_inputs(data) for data in self._read_and_check_records()]
        if mark is None or mark.incarnation != own.incarnation:
            raise JournalError(f"{self.path}-mark is missing, damaged or that of another journal")
        if mark.commit_number > self.number:
            raise JournalError(
                f"{self.path} ends at commit {self.number}, and {mark.commit_number} were made: its end is "
                "damaged or cut off"
            )
        self._write_mark_file()
        return Stored(own.incarnation, snapshot, records)

    def _check_integrity(self) -> None:
        problems = [row[0] for row in self._execute("PRAGMA integrity_check(3)").fetchall()]
        if problems != ["ok"]:
            raise JournalError(f"{self.path} is damaged: {problems[0]}")

    def _read_and_check_header(self, expected: JournalHeader) -> JournalHeader:
        rows = self._execute("SELECT header, hash FROM antecede_journal").fetchall()
        if len(rows) != 1 or _hash_parts(_expect_bytes(rows[0][0])) != rows[0][1]:
            raise JournalError(f"{self.path} is damaged: its header is not as it was written")
        self._header = rows[0][0]
        own = _read_header(self._header)
        whose = f"{self.path} is the journal of process {own.process!r}, protocol {own.protocol!r}"
        for what in ("process", "protocol", "group"):
            theirs, ours = getattr(own, what), getattr(expected, what)
            if theirs != ours:
                raise JournalError(f"{whose}, group {own.group!r}: its {what} is {theirs!r}, not {ours!r}")
        if own.tag != expected.tag:
            raise JournalError(f"{whose}, group {own.group!r}, with other members or other options")
        return own

    def _read_and_check_snapshot(self) -> bytes:
        rows = self._execute("SELECT number, chain, state, hash FROM antecede_snapshot").fetchall()
        if len(rows) != 1:
            raise JournalError(f"{self.path} is damaged: it has no snapshot")
        number, chain, state, seal = rows[0]
        number, chain, state = _expect_count(number), _expect_bytes(chain), _expect_bytes(state)
        if _hash_parts(self._header, _pack_number(number), chain, state) != seal:
            raise JournalError(f"{self.path} is damaged: its snapshot is not as it was written")
        self.number, self._chain = number, chain
        return state

    def _read_and_check_records(self) -> Iterable[bytes]:
        rows = self._execute("SELECT number, inputs, chain FROM antecede_records ORDER BY number")
        for number, inputs, chain in rows:
            expected = _hash_parts(self._chain, _pack_number(self.number + 1), _expect_bytes(inputs))
            if number != self.number + 1 or chain != expected:
                raise JournalError(
                    f"{self.path} is damaged: record {self.number + 1} is not as it was written"
                )
            self.number, self._chain = number, chain
            yield inputs

    # -- writing -----------------------------------------------------------------------------------

    def commit(self, units: list[Unit], snapshot: bytes | None) -> None:
        """Make units durable; those whose statements fail are left out, and carry the error."""
        try:
            if snapshot is None and not any(unit.statements for unit in units):
                # A statement alone is a transaction, and this thread waits but once.
                self._insert_record_of_units(units)
            else:
                self._commit_with_statements_or_snapshot(units, snapshot)
            self._write_mark_file()
        except sqlite3.Error as error:
            raise JournalError(f"{self.path}: {_describe_sqlite_error(error)}") from None
        except OSError as error:
            raise JournalError(f"{self.path}-mark: {error}") from None

    def _commit_with_statements_or_snapshot(self, units: list[Unit], snapshot: bytes | None) -> None:
        while not self._begin_transaction_and_run_statements(units):
            continue  # without the unit that failed and took the others with it
        if snapshot is not None:
            self._replace_snapshot(snapshot)
            self._execute("DELETE FROM antecede_records WHERE number <= ?", (self.number,))
        self._insert_record_of_units(units)
        self._execute("COMMIT")

    def _begin_transaction_and_run_statements(self, units: list[Unit]) -> bool:
        """Returns whether the transaction goes on; `INSERT OR ROLLBACK` and full disks may end it."""
        self._execute("BEGIN")
        for unit in units:
            if unit.statements and unit.error is None:
                self._run_statements_in_savepoint(unit)
            if not self._is_in_transaction():
                return False
        return True

    def _insert_record_of_units(self, units: list[Unit]) -> None:
        inputs = encode_inputs([one for unit in units if unit.error is None for one in unit.inputs])
        number = self.number + 1
        chain = _hash_parts(self._chain, _pack_number(number), inputs)
        self._execute("INSERT INTO antecede_records VALUES (?, ?, ?)", (number, inputs, chain))
        self.number, self._chain = number, chain

    def _run_statements_in_savepoint(self, unit: Unit) -> None:
        self._execute("SAVEPOINT application")
        try:
            for sql, parameters in unit.statements:
                self._execute(sql, parameters)
        except Exception as error:  # also what Python says of numbers and texts that SQLite cannot have
            unit.error = error
            if not self._is_in_transaction():
                return
            self._execute("ROLLBACK TO application")
        self._execute("RELEASE application")

    def _is_in_transaction(self) -> bool:
        return self._connection is not None and self._connection.in_transaction

    def query(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Rows of the application's own tables."""
        return self._execute(*statement).fetchall()

    def close(self) -> None:
        """Give the journal free."""
        connection, mark = self._connection, self._mark
        self._connection = self._mark = None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
        if mark is not None:
            os.close(mark)

    def _replace_snapshot(self, state: bytes) -> None:
        seal = _hash_parts(self._header, _pack_number(self.number), self._chain, state)
        row = (self.number, self._chain, state, seal)
        self._execute("INSERT OR REPLACE INTO antecede_snapshot VALUES (1, ?, ?, ?, ?)", row)

    def _execute(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        if self._connection is None:
            raise JournalError(f"{self.path} is closed")
        return self._connection.execute(sql, parameters)

    # -- the mark ----------------------------------------------------------------------------------

    def _create_mark_file(self) -> None:
        """A new mark, whole and on disk, or none: it gets its name when it is synced, and then that is."""
        if self._mark is not None:
            os.close(self._mark)
        unnamed = Path(f"{self._mark_path}.new")
        self._mark = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._write_mark_file()
        os.fsync(self._mark)
        unnamed.rename(self._mark_path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _write_mark_file(self) -> None:
        if self._mark is not None:
            content = self._incarnation + _pack_number(self.number)
            os.pwrite(self._mark, content + _hash_parts(content), 0)

    def _read_mark_file(self) -> MarkContent | None:
        """None if there is no mark yet, or nothing in it."""
        if self._mark is None:
            return None
        data = os.pread(self._mark, MARK_BYTES + 1, 0)
        if not data:
            return None
        content, seal = data[:-HASH_BYTES], data[-HASH_BYTES:]
        if len(data) != MARK_BYTES or _hash_parts(content) != seal:
            raise JournalError(f"{self.path}-mark is damaged: nobody can tell whether the journal is whole")
        number = int.from_bytes(content[INCARNATION_BYTES:], "big")
        return MarkContent(content[:INCARNATION_BYTES], number)


def _expect_bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise JournalError("a value that should be bytes is not")
    return value


def _expect_count(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**62:
        raise JournalError("a value that should be a count is not")
    return value


def _describe_sqlite_error(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text:
        return "in use: a journal belongs to one running node, in this process or another"
    if "unable to open" in text:
        return f"{text}; name a file in a folder that is there and can be written to"
    return text

"""How long a node takes to come back with its journal, and what snapshots make of it.

The journal is that of a busy process in a group of eight, an input to a record: what others sent to it, what
its application acknowledged and sent. A journal in which a snapshot was taken some records before the end is
what `snapshot_every` leaves behind in the worst case. All end in the same state.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import NamedTuple

from rich.table import Table

from antecede import endpoint
from antecede.core.station import Station
from antecede.live import open_node
from antecede.live.inputs import AcknowledgeInput, NodeInput, ParcelsInput, SendInput, apply_input
from antecede.live.journal import INCARNATION_BYTES, JournalHeader, SqliteJournal, Stored, Unit
from antecede.live.records import encode_record
from bench.live.group import NAMES, PAYLOAD

PROTOCOL = "optimal"
ME, *PEERS = NAMES
GROUP = "bench"
UNLIMITED = 2**40
LARGEST_RECORD = 2**20
INPUTS_OF_ROUND = 3


class UnsyncedJournal(SqliteJournal):
    """Written without waiting for the disk, to have many records soon; the bytes are the same."""

    def _configure_and_lock_database(self) -> None:
        super()._configure_and_lock_database()
        self._execute("PRAGMA synchronous = OFF")


class TimedJournal(SqliteJournal):
    """Notes how long it took to read and check what is there."""

    seconds = 0.0

    def open(self, header: JournalHeader, snapshot: bytes) -> Stored:
        start = perf_counter()
        stored = super().open(header, snapshot)
        self.seconds = perf_counter() - start
        return stored


class BusyProcess:
    """One process and its peers, without a network."""

    def __init__(self) -> None:
        self.stations = {name: Station(endpoint(PROTOCOL, process=name, group=NAMES)) for name in NAMES}
        self.station = self.stations[ME]
        self._random = Random(1)

    def take_round(self) -> Iterator[NodeInput]:
        """A message of a peer comes and is acknowledged, and another is sent: the inputs, once applied."""
        source, target = self._random.choice(PEERS), self._random.choice(PEERS)
        self.stations[source].send(PAYLOAD, [ME], {})
        yield self._apply(ME, ParcelsInput(source, self._transmit(source, ME)))
        yield self._acknowledge(ME)
        yield self._apply(ME, SendInput(PAYLOAD, [target], {}))
        self._apply(target, ParcelsInput(ME, self._transmit(ME, target)))
        self._acknowledge(target)

    def _apply(self, name: str, one: NodeInput) -> NodeInput:
        apply_input(self.stations[name], one)
        return one

    def _acknowledge(self, name: str) -> NodeInput:
        number = self.stations[name].hand_next_delivery().number
        return self._apply(name, AcknowledgeInput(number))

    def _transmit(self, source: str, target: str) -> bytes:
        """What goes over the connection; the other side has it at once, and says so."""
        channel = self.stations[source].channels[target]
        channel.allowed = UNLIMITED
        first, parcels = channel.take_first_number_and_batch_to_transmit(1, LARGEST_RECORD)
        channel.apply_acknowledgement(first, UNLIMITED)
        return encode_record(0, UNLIMITED, first, parcels)


class Written(NamedTuple):
    """Journals by their number of records, and what a snapshot takes that would make them shorter."""

    paths: dict[int, Path]
    snapshot_seconds: float
    snapshot_bytes: int


def write_journals(folder: Path, lengths: list[int]) -> Written:
    """A journal for each number of records; all end in one state."""
    process = BusyProcess()
    rounds = [-(-length // INPUTS_OF_ROUND) for length in lengths]
    paths = {number * INPUTS_OF_ROUND: folder / f"{number}.db" for number in rounds}
    journals: list[SqliteJournal] = []
    for left in range(max(rounds), 0, -1):
        if left in rounds:
            journals.append(_begin_journal(folder / f"{left}.db", process.station))
        for one in process.take_round():
            for journal in journals:
                journal.commit([Unit([one])], None)
    for journal in journals:
        journal.close()
    start = perf_counter()
    snapshot = process.station.snapshot()
    return Written(paths, perf_counter() - start, len(snapshot))


def _begin_journal(path: Path, station: Station) -> SqliteJournal:
    own = station.endpoint
    journal = UnsyncedJournal(path)
    journal.open(
        JournalHeader(1, own.process, own.facts.name, GROUP, own.group_fingerprint, bytes(INCARNATION_BYTES)),
        station.snapshot(),
    )
    return journal


async def _recover(path: Path) -> tuple[float, float, float]:
    """Seconds to read and check a journal, and to do again what it says; and of processor time for both."""
    journal = TimedJournal(path)
    start, processor = perf_counter(), process_time()
    node = await open_node(
        PROTOCOL,
        process=ME,
        listen="tcp://127.0.0.1:0",
        peers=dict.fromkeys(PEERS),
        journal=journal,
        group=GROUP,
    )
    seconds, processor = perf_counter() - start, process_time() - processor
    node.abort()
    return journal.seconds, seconds - journal.seconds, processor


def tables(quick: bool) -> Iterator[Table]:
    lengths = [1_000, 100] if quick else [1_000_000, 100_000, 10_000, 1_000]
    table = Table(title=f"Live: recovery of a node of `{PROTOCOL}` with its journal", title_justify="left")
    for name in (
        "records",
        "journal MB",
        "reading s",
        "applying s",
        "in all s",
        "processor s",
        "snapshots' share",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        written = write_journals(Path(folder), lengths)
        applied_in = 0.0
        for records, path in written.paths.items():
            megabytes = path.stat().st_size / 1e6
            reading, applying, processor = asyncio.run(_recover(path))
            applied_in = applied_in or applying / records
            share = written.snapshot_seconds / (written.snapshot_seconds + records * applied_in)
            table.add_row(
                f"{records:,}",
                f"{megabytes:.1f}",
                f"{reading:.2f}",
                f"{applying:.2f}",
                f"{reading + applying:.2f}",
                f"{processor:.2f}",
                f"{100 * share:.3f} %",
            )
    milliseconds = 1e3 * written.snapshot_seconds
    table.caption = (
        f"Records since the last snapshot; seconds on the wall. A snapshot takes {milliseconds:.1f} ms and "
        f"has {written.snapshot_bytes:,} bytes; its share is that of the time to apply inputs between two. "
        "The setting `snapshot_every` is 10,000 inputs, unless told otherwise."
    )
    yield table

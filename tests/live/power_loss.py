"""Loss of power: every write of a journal is recorded, and disks are built as a loss of power may leave them.

`strace` records which bytes a real node writes to which file, and when it syncs. From that a disk follows for
every moment. What was synced is there. Of what was not, every sector of 512 bytes is there or not, in any
version that it has had since, whatever became of the others; a file that was made longer may be short, or
have zeros or garbage where nothing was written; a name that was made or removed may be there or not, until
its folder is synced. The node is then started from that disk: it must come back with all that was promised
until that moment, and with nothing that never was.

This supposes a disk that has what it said to have synced, and writes a sector as a whole or not at all.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from antecede import live
from antecede.live.journal import SqliteJournal

SECTOR = 512
ROOT = Path(__file__).resolve().parents[2]
CALLS = "openat,pwrite64,write,ftruncate,fdatasync,fsync,unlink,rename,mmap"
RUNS = ["killed", "closed", "killed"]
"""How the runs end that are recorded, one after the other over the same files."""
_LINE = re.compile(r"\d+ +(\w+)\((.*)\) += (\d+)")
_OPEN = re.compile(r'AT_FDCWD<[^>]*>, "([^"]*)", ([A-Z_|]+)')
_FILE = re.compile(r"\d+<([^>]*)>(?:, (?:\"([^\"]*)\", \d+)?(?:, )?(\d+)?)?")
_NAMES = re.compile(r'"([^"]*)"')


@dataclass
class Operation:
    """A call: `create`, `rename`, `remove`, `write`, `cut`, `sync`, `sync folder`; or a `promise`."""

    kind: str
    name: str = ""
    at: int = 0
    data: bytes = b""


# -- recording -------------------------------------------------------------------------------------------


@cache
def find_obstacle() -> str:
    """Why writes cannot be recorded here; empty if they can."""
    if shutil.which("strace") is None:
        return "needs strace"
    done = subprocess.run(
        ["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False
    )
    return f"no rights for strace: {done.stderr.strip()}" if done.returncode else ""


def record_runs(folder: Path, seed: int, runs: list[str], *more: str) -> list[Operation]:
    """What a node does to its files in several runs, each after the other."""
    operations: list[Operation] = []
    for number, ending in enumerate(runs):
        trace = folder / f"trace-{number}"
        words = [str(folder), str(seed + number), ending, *more]
        command = [sys.executable, "-m", "tests.live.power_writer", *words]
        tracing = ["strace", "-f", "-y", "-xx", "-s", "10000000", "-e", f"trace={CALLS}", "-o", str(trace)]
        done = subprocess.run([*tracing, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode not in (0, -9, 137):
            raise AssertionError(f"the recorded program failed: {done.stderr[-2000:]}")
        operations += read_trace(trace, folder)
        trace.unlink()
    return operations


def read_trace(trace: Path, folder: Path) -> Iterator[Operation]:
    """The operations on the journal of `a`, and the promises."""
    mark = encode_text(str(folder))
    unfinished: dict[str, str] = {}
    with trace.open() as lines:
        for line in lines:
            thread = line.split(" ", 1)[0]
            if line.rstrip().endswith("<unfinished ...>"):
                unfinished[thread] = line.rstrip().removesuffix("<unfinished ...>")
                continue
            if " resumed>" in line and thread in unfinished:
                line = unfinished.pop(thread) + line.partition(" resumed>")[2]
            if mark in line:
                yield from read_call(line, folder)


def encode_text(text: str) -> str:
    """Text as strace -xx shows it."""
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def decode(shown: str) -> bytes:
    return bytes.fromhex(shown.replace("\\x", ""))


def read_call(line: str, folder: Path) -> Iterator[Operation]:
    """What one line means for the files of the journal; calls that failed did nothing."""
    call = _LINE.match(line)
    if call is None:
        return
    kind, arguments = call[1], call[2]
    if kind == "openat":
        opened = _OPEN.match(arguments)
        if opened and "O_CREAT" in opened[2]:
            yield from name_operation(Operation("create"), decode(opened[1]), folder)
        if opened and "O_TRUNC" in opened[2]:
            yield from name_operation(Operation("cut"), decode(opened[1]), folder)
    elif kind in ("unlink", "rename"):
        old, *new = map(decode, _NAMES.findall(arguments))
        yield from name_operation(
            Operation("remove" if kind == "unlink" else "rename", data=b"".join(new)), old, folder
        )
    elif kind == "mmap":
        if f"{encode_text(str(folder))}\\x2f" in line:
            raise AssertionError(f"a journal that is written through memory cannot be recorded: {line}")
    else:
        yield from read_file_call(kind, arguments, folder)


def read_file_call(kind: str, arguments: str, folder: Path) -> Iterator[Operation]:
    """Calls whose first argument is an open file."""
    parts = _FILE.match(arguments)
    if parts is None:
        return
    path, data, at = decode(parts[1]), decode(parts[2] or ""), int(parts[3] or 0)
    if kind in ("fdatasync", "fsync"):
        if path == str(folder).encode():
            yield Operation("sync folder")
        else:
            yield from name_operation(Operation("sync"), path, folder)
    elif kind == "ftruncate":
        yield from name_operation(Operation("cut", at=at), path, folder)
    elif path == str(folder / "ledger").encode():
        yield Operation("promise", data=data)
    else:
        yield from name_operation(Operation("write", at=at, data=data), path, folder)


def name_operation(operation: Operation, path: bytes, folder: Path) -> Iterator[Operation]:
    """The operation with the name of its file, if that belongs to the journal of `a`."""
    place, _, name = path.decode().rpartition("/")
    if place == str(folder) and name.startswith("a.db"):
        operation.name = name
        yield operation


# -- the disk --------------------------------------------------------------------------------------------


@dataclass
class RecordedFile:
    """What is on disk for sure, and what was changed since; `size` is that of the file as programs see it."""

    synced: bytearray = field(default_factory=bytearray)
    changes: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for at, data in self.changes:
            apply_change(self.synced, at, data)
        self.changes.clear()

    def build(self, random: Random) -> bytes:
        """What may be found in it after a loss of power."""
        versions: dict[int, list[bytes]] = {}
        sizes = [len(self.synced)]
        for at, data in self.changes:
            if data is None:
                sizes.append(at)
                continue
            sizes.append(max(sizes[-1], at + len(data)))
            for sector in range(at // SECTOR, -(-(at + len(data)) // SECTOR)):
                known = versions.setdefault(sector, [self._read_sector(sector)])
                content = bytearray(known[-1])
                begin = sector * SECTOR
                first, last = max(at, begin), min(at + len(data), begin + SECTOR)
                content[first - begin : last - begin] = data[first - at : last - at]
                known.append(bytes(content))
        size = random.choice([sizes[0], sizes[-1], random.choice(sizes)])
        return self._assemble(versions, size, random)

    def _read_sector(self, sector: int) -> bytes:
        return bytes(self.synced[sector * SECTOR : (sector + 1) * SECTOR]).ljust(SECTOR, b"\0")

    def _assemble(self, versions: dict[int, list[bytes]], size: int, random: Random) -> bytes:
        content = self.synced.ljust(max(size, len(self.synced)), b"\0")[:size]
        chosen = choose_sectors(sorted(versions), random)
        is_garbage = random.random() < 0.3
        for sector, known in versions.items():
            begin = sector * SECTOR
            if sector in chosen:
                new = known[-1] if random.random() < 0.8 else random.choice(known)
            elif begin >= len(self.synced) and is_garbage:
                new = random.randbytes(SECTOR)
            else:
                continue
            if begin < size:
                content[begin : begin + SECTOR] = new[: size - begin]
        return bytes(content)


def apply_change(content: bytearray, at: int, data: bytes | None) -> None:
    """Write at a place, or cut off there."""
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
    else:
        content.extend(bytes(max(at - len(content), 0)))
        content[at : at + len(data)] = data


def choose_sectors(sectors: list[int], random: Random) -> set[int]:
    """Which of the sectors that were not synced are on disk: all, none, all but one, the first, or any."""
    if not sectors:
        return set()
    how = random.randrange(6)
    if how == 0:
        return set(sectors)
    if how == 1:
        return set()
    if how == 2:
        return set(sectors) - {random.choice(sectors)}
    if how == 3:
        return set(sectors[: random.randrange(len(sectors) + 1)])
    if how == 4:
        return set(sectors[random.randrange(len(sectors) + 1) :])
    chance = random.random()
    return {sector for sector in sectors if random.random() < chance}


class Disk:
    """The files of a journal. `synced` are the names that are there for sure, `names` those since."""

    def __init__(self) -> None:
        self.synced: dict[str, RecordedFile] = {}
        self.names: dict[str, list[RecordedFile | None]] = {}
        self.promises: list[str] = []

    def apply(self, operation: Operation) -> None:
        name = operation.name
        if operation.kind == "promise":
            self.promises += operation.data.decode().splitlines()
        elif operation.kind == "sync folder":
            self._sync_folder()
        elif operation.kind == "create":
            if self._find(name) is None:
                self._rename(name, RecordedFile())
        elif operation.kind == "rename":
            self._rename(Path(operation.data.decode()).name, self._find(name))
            self._rename(name, None)
        elif operation.kind == "remove":
            self._rename(name, None)
        else:
            self._change(self._find(name), operation)

    def _rename(self, name: str, file: RecordedFile | None) -> None:
        self.names.setdefault(name, [self.synced.get(name)]).append(file)

    def _find(self, name: str) -> RecordedFile | None:
        return self.names[name][-1] if name in self.names else self.synced.get(name)

    def _sync_folder(self) -> None:
        for name, versions in self.names.items():
            self.synced.pop(name, None)
            if versions[-1] is not None:
                self.synced[name] = versions[-1]
        self.names.clear()

    def _change(self, file: RecordedFile | None, operation: Operation) -> None:
        if file is None:
            raise AssertionError(f"{operation.kind} of {operation.name}, which is not there")
        if operation.kind == "sync":
            file.sync()
        else:
            data = operation.data if operation.kind == "write" else None
            file.changes.append((operation.at, data))

    def has_unsynced(self) -> bool:
        """Whether a loss of power would lose anything."""
        return bool(self.names) or any(file.changes for file in self.synced.values())

    def build(self, folder: Path, random: Random) -> None:
        """Write down the files as they may be found after a loss of power."""
        found: dict[str, RecordedFile | None] = dict(self.synced)
        for name, versions in self.names.items():
            found[name] = random.choice(versions)
        for name, file in found.items():
            if file is not None:
                (folder / name).write_bytes(file.build(random))


# -- the verdict -----------------------------------------------------------------------------------------


@dataclass
class Promises:
    """What the ledger said until a moment."""

    sent: int = 0
    done: int = 0


def read_promises(lines: list[str]) -> Promises:
    promises = Promises()
    for line in lines:
        word, number, *_ = line.split()
        if word == "sent":
            promises.sent = max(promises.sent, int(number))
        if word == "done":
            promises.done = max(promises.done, int(number))
    return promises


class Truth:
    """What really happened, over all runs."""

    def __init__(self, operations: list[Operation]) -> None:
        self.records: dict[int, str] = {}
        self.deliveries: dict[int, str] = {}
        for operation in operations:
            for line in operation.data.decode().splitlines() if operation.kind == "promise" else []:
                word, number, *rest = line.split()
                if word == "record":
                    self.records[int(number)] = rest[0]
                if word == "got":
                    self.deliveries[int(number)] = rest[0]


def judge_disk(folder: Path, promises: Promises, truth: Truth) -> list[str]:
    """Start the node from a disk; returns what is wrong with it."""
    return asyncio.run(_judge_disk(folder, promises, truth))


async def _judge_disk(folder: Path, promises: Promises, truth: Truth) -> list[str]:
    journal = SqliteJournal(folder / "a.db")
    try:
        node = await live.open_node(
            "vector", process="a", listen="memory://after-the-loss", peers={"b": None}, journal=journal
        )
    except live.JournalError as error:
        return [f"refused: {str(error).replace(str(folder), '')}"]
    problems = []
    station = node.station
    if station.sent < promises.sent:
        problems.append(f"{promises.sent} messages were sent, {station.sent} are known")
    if station.last_acknowledged < promises.done:
        problems.append(f"{promises.done} deliveries were done, {station.last_acknowledged} are")
    channel = station.channels["b"]
    if channel.acknowledged + len(channel.waiting) != station.sent:
        problems.append("not every message is with b or waits for it")
    if journal.number and truth.records[journal.number] != journal._chain.hex():
        problems.append(f"record {journal.number} never was")
    for item in station.queue:
        if (
            truth.deliveries.get(item.number, f"{item.sender}#{item.message}")
            != f"{item.sender}#{item.message}"
        ):
            problems.append(f"delivery {item.number} was {truth.deliveries[item.number]}")
    tables = await node.query("SELECT count(*) FROM sqlite_master WHERE name = 'effects'")
    effects = await node.query("SELECT delivery FROM effects ORDER BY 1") if tables[0][0] else []
    expected = [(number,) for number in range(3, station.last_acknowledged + 1, 3)]
    if effects != expected:
        problems.append(f"effects {effects}, not {expected}")
    await node.close(linger=0)
    return problems


def lose_power(seed: int, number: int) -> tuple[list[str], Counter[str]]:
    """Record some runs, and try so many disks that a loss of power may leave behind."""
    with tempfile.TemporaryDirectory() as name:
        operations = record_runs(Path(name), seed, RUNS)
    return judge_losses(operations, seed, number)


def judge_losses(operations: list[Operation], seed: int, number: int) -> tuple[list[str], Counter[str]]:
    """What is wrong after some losses of power, and what has happened."""
    random = Random(seed)
    truth = Truth(operations)
    counts = Counter(f"{operation.kind} recorded" for operation in operations)
    problems: list[str] = []
    disk, at = Disk(), 0
    for moment in sorted(choose_moments(operations, random, number)):
        for operation in operations[at:moment]:
            disk.apply(operation)
        at = moment
        promises = read_promises(disk.promises)
        with tempfile.TemporaryDirectory() as place:
            disk.build(Path(place), random)
            found = judge_disk(Path(place), promises, truth)
        counts["losses of power"] += 1
        counts["after promises"] += promises.sent > 0
        counts["with something unsynced"] += disk.has_unsynced()
        problems += [f"seed {seed}, after operation {moment}: {problem}" for problem in found]
    return problems, counts


def choose_moments(operations: list[Operation], random: Random, number: int) -> list[int]:
    """Moments at which the power goes; those after rare kinds of operations are as likely as the others."""
    kinds: dict[tuple[str, str], list[int]] = {}
    for at, operation in enumerate(operations, 1):
        kinds.setdefault((operation.kind, operation.name), []).append(at)
    groups = list(kinds.values())
    return [random.choice(random.choice(groups)) for _ in range(number)]

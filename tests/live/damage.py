"""Journals as a killed process leaves them, then cut off or changed: refused, or they say what they said."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from antecede import live
from antecede.live.journal import JournalHeader, SqliteJournal, Stored

SUFFIXES = ("", "-wal", "-mark")
HEADER = JournalHeader(1, "a", "optimal", "antecede", 7, b"i" * 16)


def write_journal(path: Path, commits: int, snapshot_at: int = -1) -> None:
    """A journal as a killed process leaves it: not closed, so that the last commits are in the WAL."""
    script = f"""
import os, sys
from antecede.live.inputs import SendInput
from antecede.live.journal import JournalHeader, SqliteJournal, Unit
journal = SqliteJournal({str(path)!r})
journal.open(JournalHeader(1, "a", "optimal", "antecede", 7, b"i" * 16), b"first snapshot")
for number in range({commits}):
    snapshot = b"second snapshot" * 50 if number == {snapshot_at} else None
    journal.commit([Unit([SendInput(b"message %d" % number, ["b"], {{}})])], snapshot)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -9


def read_journal(path: Path) -> Stored:
    journal = SqliteJournal(path)
    try:
        return journal.open(HEADER, b"")
    finally:
        journal.close()


def copy_journal(path: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, folder)
    return folder / path.name


def is_refused(path: Path, whole: Stored) -> bool:
    """Whether a journal is refused with a clear error; if it is not, it must say what it always said."""
    try:
        stored = read_journal(path)
    except live.JournalError:
        return True
    assert stored == whole
    return False


def damage_journals(seed: int, number: int) -> Counter[str]:
    """Cut journals off at any byte, or flip a bit anywhere; raises if one is misread."""
    random = Random(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "killed").mkdir()
        killed = folder / "killed" / "a.db"
        write_journal(killed, 8, snapshot_at=4)
        whole = read_journal(copy_journal(killed, folder / "copy"))
        for _ in range(number):
            path = copy_journal(killed, folder / "damaged")
            file = Path(f"{path}{random.choice(SUFFIXES)}")
            kind = random.choice(("cut off", "flipped"))
            damage_file(file, kind, random)
            counts[kind] += 1
            counts["refused"] += is_refused(path, whole)
    return counts


def damage_file(file: Path, kind: str, random: Random) -> None:
    """Cut a file off, or flip one bit of it."""
    data = bytearray(file.read_bytes())
    at = random.randrange(len(data))
    if kind == "cut off":
        os.truncate(file, at)
    else:
        data[at] ^= 1 << random.randrange(8)
        file.write_bytes(data)

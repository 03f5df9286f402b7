"""Journals: what was committed is there after a crash, and a damaged journal is refused, never misread."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from antecede import CallerError, live
from antecede.live.inputs import AcknowledgeInput, SendInput
from antecede.live.journal import JournalHeader, SqliteJournal, Stored, Unit
from tests.live.cluster import Cluster
from tests.live.damage import HEADER, copy_journal, damage_file, is_refused, read_journal, write_journal


def list_messages(stored: Stored) -> list[bytes]:
    return [one.data for record in stored.records for one in record if isinstance(one, SendInput)]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("killed") / "a.db"
    write_journal(path, 8, snapshot_at=4)
    return path


def test_a_killed_process_has_lost_nothing(killed: Path, tmp_path: Path) -> None:
    stored = read_journal(copy_journal(killed, tmp_path / "copy"))
    assert stored.snapshot == b"second snapshot" * 50
    assert list_messages(stored) == [b"message %d" % number for number in range(4, 8)]
    assert stored.incarnation == b"i" * 16


@pytest.mark.parametrize("suffix", ["", "-wal", "-mark"])
def test_a_journal_cut_off_at_any_byte_is_refused(killed: Path, tmp_path: Path, suffix: str) -> None:
    whole = read_journal(copy_journal(killed, tmp_path / "copy"))
    size = Path(f"{killed}{suffix}").stat().st_size
    step = 1 if size < 2000 else 97  # the others are in the campaign
    lengths = [*range(0, size, step), size - 1]
    refused = 0
    for length in lengths:
        path = copy_journal(killed, tmp_path / "cut")
        os.truncate(f"{path}{suffix}", length)
        refused += is_refused(path, whole)
    # the WAL may be cut in what follows the last commit, the file itself where all pages are in the WAL
    assert refused > len(lengths) * 0.9 or suffix == ""


@pytest.mark.parametrize("suffix", ["", "-wal", "-mark"])
@pytest.mark.parametrize("closed", [False, True])
def test_flipped_bits_are_found_or_do_not_matter(
    killed: Path, tmp_path: Path, suffix: str, closed: bool
) -> None:
    source = copy_journal(killed, tmp_path / "source")
    if closed:
        if suffix == "-wal":
            pytest.skip("a journal that was closed has no WAL")
        read_journal(source)
    whole = read_journal(copy_journal(source, tmp_path / "whole"))
    random = Random(5)
    refused = 0
    for _ in range(150):
        path = copy_journal(source, tmp_path / "flipped")
        damage_file(Path(f"{path}{suffix}"), "flipped", random)
        refused += is_refused(path, whole)
    assert refused > 0 or (suffix == "" and not closed)


def test_a_lost_file_is_noticed(killed: Path, tmp_path: Path) -> None:
    for lost in ("-wal", "-mark", ""):
        path = copy_journal(killed, tmp_path / "lost")
        Path(f"{path}{lost}").unlink()
        with pytest.raises(live.JournalError, match=r"a\.db"):
            read_journal(path)


def test_records_that_were_changed_with_sql_are_refused(killed: Path, tmp_path: Path) -> None:
    changes = [
        "DELETE FROM antecede_records WHERE number = 6",
        "DELETE FROM antecede_records WHERE number = 8",
        "UPDATE antecede_records SET inputs = (SELECT inputs FROM antecede_records WHERE number = 6) "
        "WHERE number = 7",
        "UPDATE antecede_snapshot SET number = 5",
        "DELETE FROM antecede_snapshot",
        "UPDATE antecede_journal SET header = x'00'",
        "DELETE FROM antecede_journal",
    ]
    for change in changes:
        path = copy_journal(killed, tmp_path / "changed")
        connection = sqlite3.connect(path)
        connection.execute(change)
        connection.commit()
        connection.close()
        with pytest.raises(live.JournalError):
            read_journal(path)


def test_a_journal_of_somebody_else_is_refused(killed: Path, tmp_path: Path) -> None:
    path = copy_journal(killed, tmp_path / "copy")
    for other in (
        JournalHeader(1, "b", "optimal", "antecede", 7, b"j" * 16),
        JournalHeader(1, "a", "vector", "antecede", 7, b"j" * 16),
        JournalHeader(1, "a", "optimal", "others", 7, b"j" * 16),
        JournalHeader(1, "a", "optimal", "antecede", 8, b"j" * 16),
    ):
        journal = SqliteJournal(path)
        with pytest.raises(live.JournalError, match="is the journal of process 'a'"):
            journal.open(other, b"")


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0"])
def test_what_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with pytest.raises(live.JournalError, match=r"a\.db"):
        read_journal(path)
    with pytest.raises(live.JournalError):
        read_journal(tmp_path / "no such folder" / "a.db")


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "a.db")
    journal.open(HEADER, b"")
    with pytest.raises(live.JournalError, match="in use: a journal belongs to one running node"):
        read_journal(tmp_path / "a.db")
    script = f"""
from antecede.live.journal import JournalHeader, SqliteJournal
journal = SqliteJournal({str(tmp_path / "a.db")!r})
journal.open(JournalHeader(1, "a", "optimal", "antecede", 7, b"i" * 16), b"")
"""
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "in use: a journal belongs to one running node" in other.stderr
    journal.commit([Unit([AcknowledgeInput(1)])], None)
    journal.close()
    assert read_journal(tmp_path / "a.db").records == [[AcknowledgeInput(1)]]


def test_snapshots_keep_the_file_small(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "a.db")
    journal.open(HEADER, b"s")
    for number in range(2000):
        unit = Unit([SendInput(b"x" * 1000, ["b"], {})])
        journal.commit([unit], b"snapshot" if number % 100 == 0 else None)
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    journal.close()
    assert size < 6_000_000
    assert len(read_journal(tmp_path / "a.db").records) == 100


# -- nodes with journals -------------------------------------------------------------------------------


def test_a_node_that_crashes_comes_back_where_it_was(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster(
            "optimal", 3, journals=tmp_path, event_files=tmp_path, snapshot_every=7
        ) as cluster:
            a, b, c = cluster.nodes.values()
            for number in range(20):
                await a.send(b"%d" % number, to=["p1", "p2"])
            got = []
            for _ in range(12):
                got.append(await anext(b))
            await got[9].done()
            cluster.stop("p1")
            await asyncio.sleep(0.05)
            b = await restart(cluster, "p1")
            again = [await anext(b)]
            # The eleventh was acknowledged when the twelfth was asked for: on disk by then, or not.
            assert again[0].number in (11, 12)
            while again[-1].payload != b"19":
                again.append(await anext(b))
            assert [d.number for d in again] == list(range(again[0].number, 21))
            assert [d.payload for d in again] == [b"%d" % (d.number - 1) for d in again]
            assert await b.send(b"answer", to=["p2"]) == "p1#1"
            assert [(await anext(c)).payload for _ in range(21)][-1] == b"answer"

    asyncio.run(run())


def test_a_process_that_is_killed_again_and_again_has_a_short_journal(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path, snapshot_every=30) as cluster:
            for _ in range(12):
                for _ in range(10):
                    await cluster.nodes["p0"].send(b"x", to=["p1"])
                cluster.stop("p0")
                await asyncio.sleep(0.02)
                await restart(cluster, "p0")
            assert cluster.nodes["p0"].status().records <= 45

    asyncio.run(run())


async def restart(cluster: Cluster, name: str) -> live.Node:
    """Start again; the journal of the old one may take a moment to be free."""
    for _ in range(100):
        try:
            return await cluster.start(name)
        except live.JournalError as error:
            if "in use" not in str(error):
                raise
            await asyncio.sleep(0.02)
    raise AssertionError("the journal stays locked")


def test_what_was_sent_before_a_crash_arrives_after_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            cluster.stop("p1")
            a = cluster.nodes["p0"]
            for number in range(5):
                await a.send(b"%d" % number, to=["p1"])
            cluster.stop("p0")
            await asyncio.sleep(0.05)
            await restart(cluster, "p0")
            b = await restart(cluster, "p1")
            assert [(await anext(b)).payload for _ in range(5)] == [b"%d" % number for number in range(5)]

    asyncio.run(run())


def test_effects_happen_once_when_they_are_in_the_transaction(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            a, b = cluster.nodes.values()
            async with b.transaction() as setup:
                setup.execute("CREATE TABLE account (total INTEGER)")
                setup.execute("INSERT INTO account VALUES (0)")
            for _ in range(10):
                await a.send(b"5", to=["p1"])
            for _ in range(4):
                await pay(b, await anext(b))
            await anext(b)  # handed over, neither written nor acknowledged
            cluster.stop("p1")
            await asyncio.sleep(0.05)
            b = await restart(cluster, "p1")
            assert await b.query("SELECT total FROM account") == [(20,)]
            for _ in range(6):
                await pay(b, await anext(b))
            assert await b.query("SELECT total FROM account") == [(50,)]
            answers = [(await anext(a)).payload for _ in range(10)]
            assert answers == [b"paid %d" % number for number in range(1, 11)]

    asyncio.run(run())


async def pay(node: live.Node, delivery: live.LiveDelivery) -> None:
    async with node.transaction() as tx:
        tx.execute("UPDATE account SET total = total + ?", (int(delivery.payload),))
        tx.send(b"paid %d" % delivery.number, to=["p0"])


def test_a_transaction_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            a, b = cluster.nodes.values()
            await a.send(b"1", to=["p1"])
            delivery = await anext(b)
            bad_statements = ["CREATE TABLE left_behind (x)", "INSERT INTO nowhere VALUES (1)"]
            with pytest.raises(sqlite3.Error, match="no such table"):
                await run_statements(b, bad_statements)
            with pytest.raises(KeyError):
                async with b.transaction():
                    raise KeyError(delivery.message)
            for bad in (
                "COMMIT",
                "DROP TABLE antecede_records",
                "PRAGMA synchronous = OFF",
                "-- a comment\n; /* another */ END",
            ):
                with pytest.raises(CallerError, match="cannot run"):
                    await run_statements(b, [bad])
                with pytest.raises(CallerError, match="cannot run"):
                    await b.query(bad)
            assert await b.query("SELECT count(*) FROM sqlite_master WHERE name = 'left_behind'") == [(0,)]
            assert b.status().sent == 0 and b.status().handed == 1
            cluster.stop("p1")
            await asyncio.sleep(0.05)
            b = await restart(cluster, "p1")
            assert (await anext(b)).message == delivery.message

    asyncio.run(run())


async def run_statements(node: live.Node, statements: list[str]) -> None:
    async with node.transaction() as tx:
        for statement in statements:
            tx.execute(statement)
        tx.send(b"never", to=["p0"])


def test_a_transaction_with_a_send_that_cannot_be_leaves_nothing_behind(tmp_path: Path) -> None:
    async def pay_nobody(node: live.Node) -> None:
        async with node.transaction() as tx:
            tx.execute("CREATE TABLE left_behind (x)")
            tx.send(b"", to=["nobody"])

    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            node = cluster.nodes["p0"]
            with pytest.raises(CallerError, match="not in the group"):
                await pay_nobody(node)
            with pytest.raises(CallerError, match="not in the group"):
                await node.send(b"", to=["nobody"])
            assert await node.query("SELECT count(*) FROM sqlite_master WHERE name = 'left_behind'") == [(0,)]
            assert node.status().records <= 1  # it has met its peer

    asyncio.run(run())


@pytest.mark.parametrize(
    ("statement", "value", "error"),
    [
        ("INSERT INTO own VALUES (?)", 2**64, OverflowError),
        ("INSERT INTO own VALUES (?)", "\ud800", UnicodeEncodeError),
        ("INSERT INTO own VALUES (?)", 1, sqlite3.IntegrityError),
        ("INSERT OR ROLLBACK INTO own VALUES (?)", 1, sqlite3.IntegrityError),
    ],
)
def test_statements_that_fail_cost_their_own_transaction_alone(
    tmp_path: Path, statement: str, value: object, error: type[Exception]
) -> None:
    async def insert(node: live.Node, sql: str, value: object) -> None:
        async with node.transaction() as tx:
            tx.execute(sql, [value])

    def join() -> Any:
        more: dict[str, Any] = {"journal": tmp_path / "a.db", "snapshot_every": 2, "linger": 0.0}
        return live.join("fifo", process="a", listen="memory://own", peers={"b": None}, **more)

    async def run() -> None:
        async with join() as node:
            async with node.transaction() as tx:
                tx.execute("CREATE TABLE own (value UNIQUE)")
                tx.execute("INSERT INTO own VALUES (:value)", {"value": 1})
            tasks = [
                insert(node, "INSERT INTO own VALUES (?)", 2),
                node.send(b"beside", to=["b"]),
                insert(node, statement, value),
                insert(node, "INSERT INTO own VALUES (?)", 3),
            ]
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(result) for result in results] == [type(None), str, error, type(None)]
            assert await node.send(b"behind", to=["b"]) == "a#2"
            rows = await node.query("SELECT value FROM own WHERE value >= :least", {"least": 0})
            assert rows == [(1,), (2,), (3,)]
        async with join() as node:
            assert node.status().sent == 2

    asyncio.run(run())


def test_what_is_asked_of_a_closed_node_is_answered(tmp_path: Path) -> None:
    async def run_transaction(node: live.Node) -> None:
        async with node.transaction():
            pass

    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            a, b = cluster.nodes.values()
            await a.send(b"1", to=["p1"])
            delivery = await b.take()
            await b.close()
            for question in (delivery.done(), run_transaction(b), b.exclude("p0"), b.query("SELECT 1")):
                with pytest.raises(live.NodeClosedError):
                    await asyncio.wait_for(question, 5)

    asyncio.run(run())


def test_a_node_that_could_not_be_opened_lets_go_of_its_files(tmp_path: Path) -> None:
    async def run() -> None:
        more: dict[str, Any] = {"journal": tmp_path / "a.db", "events": tmp_path / "a.jsonl", "linger": 0.0}
        await (await live.open_node("fifo", process="a", peers={"b": "memory://nobody"}, **more)).close()
        with pytest.raises(live.JournalError, match="its protocol is 'fifo'"):
            await live.open_node("vector", process="a", peers={"b": "memory://nobody"}, **more)
        with pytest.raises(CallerError, match="at least 16 bytes"):
            await live.open_node("fifo", process="a", peers={"b": "memory://nobody"}, key=b"short", **more)
        (tmp_path / "a.jsonl").write_text("something else\n")
        with pytest.raises(CallerError, match="not an event"):
            await live.open_node("fifo", process="a", peers={"b": "memory://nobody"}, **more)
        (tmp_path / "a.jsonl").unlink()
        await (await live.open_node("fifo", process="a", peers={"b": "memory://nobody"}, **more)).close()

    asyncio.run(run())


def test_a_disk_that_is_full_stops_the_journal_and_loses_nothing(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "a.db")
    journal.open(HEADER, b"")
    journal.query(("PRAGMA max_page_count = 40", ()))
    with pytest.raises(live.JournalError, match="full"):
        write_many(journal, 1000)
    written = journal.number
    journal.close()
    assert 10 < written < 1000
    assert len(read_journal(tmp_path / "a.db").records) == written


def write_many(journal: SqliteJournal, commits: int) -> None:
    for _ in range(commits):
        journal.commit([Unit([SendInput(b"x" * 2000, ["b"], {})])], None)


class FullDisk(SqliteJournal):
    """A journal whose disk is full after some commits."""

    def __init__(self, path: Path, commits: int) -> None:
        super().__init__(path)
        self.commits = commits

    def commit(self, units: list[Unit], snapshot: bytes | None) -> None:
        self.commits -= 1
        if self.commits < 0:
            raise live.JournalError("database or disk is full")
        super().commit(units, snapshot)


def test_a_node_whose_journal_fails_stops_and_says_so(tmp_path: Path) -> None:
    async def run() -> None:
        more: dict[str, Any] = {"journal": FullDisk(tmp_path / "a.db", 5)}
        node = await live.open_node("fifo", process="a", listen="memory://full", peers={"b": None}, **more)
        for _ in range(5):
            await node.send(b"x", to=["b"])
        with pytest.raises(live.JournalError, match="disk is full"):
            await node.send(b"x", to=["b"])
        with pytest.raises(live.JournalError, match="disk is full"):
            await anext(node)
        assert node.status().sent == 5
        await node.close()

    asyncio.run(run())

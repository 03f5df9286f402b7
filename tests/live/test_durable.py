"""What a node with a journal has said is on disk, whatever else goes on at the same time."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from antecede import live
from antecede.core.errors import CallerError
from tests.live.cluster import Cluster, find_free_port
from tests.live.test_journal import restart


async def take_some(node: live.Node, count: int) -> list[live.LiveDelivery]:
    return [await asyncio.wait_for(node.take(), 10) for _ in range(count)]


def test_an_earlier_delivery_that_is_done_later_takes_nothing_back(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            for number in range(5):
                await cluster.nodes["p1"].send(b"%d" % number, to=["p0"])
            first, second, third, fourth = await take_some(cluster.nodes["p0"], 4)
            await asyncio.gather(fourth.done(), third.done(), second.done(), first.done())
            cluster.stop("p0")
            node = await restart(cluster, "p0")
            assert [one.payload for one in await take_some(node, 1)] == [b"4"]

    asyncio.run(run())


def test_transactions_of_a_protocol_that_sends_one_at_a_time_wait_for_each_other(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("sync", 2, journals=tmp_path, form="site") as cluster:
            node = cluster.nodes["p0"]
            cluster.consume("p1")
            async with node.transaction() as transaction:
                transaction.execute("CREATE TABLE sent (number INTEGER)")

            async def send_in_transaction(number: int) -> None:
                async with node.transaction() as transaction:
                    transaction.execute("INSERT INTO sent VALUES (?)", (number,))
                    transaction.send(b"%d" % number, ["p1"])

            plain = [node.send(b"plain %d" % number, ["p1"]) for number in range(5)]
            async with asyncio.timeout(30):
                await asyncio.gather(*map(send_in_transaction, range(5)), *plain)
            await cluster.wait_for(10, "p1")
            rows = [number for (number,) in await node.query("SELECT number FROM sent")]
            assert sorted(rows) == [0, 1, 2, 3, 4]
            numbers = [payload for payload in cluster.payloads("p1") if payload.isdigit()]
            assert sorted(numbers) == [b"0", b"1", b"2", b"3", b"4"]

    asyncio.run(run())


def test_receivers_are_those_of_the_moment_of_the_call(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 3, journals=tmp_path) as cluster:
            cluster.consume("p1", "p2")
            node = cluster.nodes["p0"]
            names = ["p1"]
            sending = asyncio.create_task(node.send(b"one", names))
            await asyncio.sleep(0)
            names[:] = ["p2"]
            await sending
            names[:] = ["p1"]
            later = await node.begin_send(b"two", names)
            names[:] = ["p2"]
            await later
            async with node.transaction() as transaction:
                names[:] = ["p1"]
                transaction.send(b"three", iter(names))
                names[:] = ["p2"]
            await cluster.wait_for(3, "p1")
            assert cluster.payloads("p1") == [b"one", b"two", b"three"]
            assert cluster.payloads("p2") == []

    asyncio.run(run())


def test_messages_on_their_way_to_the_journal_take_room(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 3, journals=tmp_path, window=8) as cluster:
            cluster.stop("p2")
            cluster.consume("p1")
            node = cluster.nodes["p0"]
            sends = [asyncio.create_task(node.send(b"%d" % number, ["p2"])) for number in range(100)]
            await asyncio.sleep(0.3)
            assert sum(task.done() for task in sends) <= 16  # a window waits, and one may be on its way
            assert node.status().peers["p2"].waiting <= 8
            await asyncio.gather(*(node.send(b"other %d" % number, ["p1"]) for number in range(100)))
            await cluster.start("p2")
            cluster.consume("p2")
            async with asyncio.timeout(30):
                await asyncio.gather(*sends)
            await cluster.wait_for(100, "p2")
            assert sorted(map(int, cluster.payloads("p2"))) == list(range(100))

    asyncio.run(run())


async def send_and_fail(node: live.Node) -> None:
    async with node.transaction() as transaction:
        transaction.send(b"x", ["p1"])
        transaction.execute("INSERT INTO no_table VALUES (1)")


def test_a_transaction_that_fails_takes_no_room(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path, window=4) as cluster:
            cluster.stop("p1")
            node = cluster.nodes["p0"]
            for _ in range(8):
                with pytest.raises(sqlite3.Error, match="no such table"):
                    await send_and_fail(node)
            async with asyncio.timeout(10):
                for _ in range(4):
                    await node.send(b"y", ["p1"])

    asyncio.run(run())


def test_a_block_that_is_cut_short_lets_go_of_everything(tmp_path: Path) -> None:
    async def run() -> None:
        address = f"tcp://127.0.0.1:{find_free_port()}"
        peers = {"b": f"tcp://127.0.0.1:{find_free_port()}"}
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with (
                    asyncio.timeout(0.5),
                    live.join(
                        "optimal", process="a", listen=address, peers=peers, journal=tmp_path / "a.db"
                    ) as node,
                ):
                    await node.send(b"x", ["b"])  # b is not there: the end of the block waits for it
            async with asyncio.timeout(10):
                while len(asyncio.all_tasks()) > 1:
                    await asyncio.sleep(0.01)
            assert not (tmp_path / "a.db-wal").exists(), "the journal is closed"

    asyncio.run(run())


def test_no_word_ends_the_commit_of_the_journal() -> None:
    transaction = live.Transaction()
    for sql in ("\ufeffCOMMIT", " \ufeff ;COMMIT", "/* x */\ufeffROLLBACK"):
        with pytest.raises(CallerError, match="the journal commits them"):
            transaction.execute(sql)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1", "tcp://h:p", "tcp://h:70000", "nothing"])
def test_an_address_that_nobody_can_dial_is_refused(address: str) -> None:
    async def run() -> None:
        async with live.join("optimal", process="a", listen="tcp://127.0.0.1:0", peers={"b": address}):
            pass

    with pytest.raises(CallerError, match="write tcp://host:port"):
        asyncio.run(run())

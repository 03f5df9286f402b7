"""Nodes of every protocol, over memory and over sockets: all arrives, once and in order; errors are clear."""

import asyncio
import logging
import os
from pathlib import Path
from typing import Any

import pytest

import antecede
from antecede import CallerError, live
from antecede.live.journal import SqliteJournal, Unit
from tests.cases import EXACT, OTHER, Case
from tests.live.cluster import Cluster, audit_events, count_events, get_hub, run_case

FITTING = [case for case in [*EXACT, *OTHER] if case.name != "sync-rendezvous"]


def test_all_protocols_are_run_here() -> None:
    assert {case.protocol for case in FITTING} == set(antecede.list_protocols())


@pytest.mark.parametrize("case", FITTING, ids=lambda case: case.name)
def test_every_protocol_runs_as_nodes(case: Case, tmp_path: Path) -> None:
    expected = asyncio.run(run_case(case, "memory", tmp_path))
    files = sorted(tmp_path.glob("*.jsonl"))
    counts = count_events(files)
    assert counts["deliver"] == expected
    assert counts["receive"] > 0 or case.protocol in ("flood", "history")
    findings = audit_events(files)
    assert findings["lost"] == findings["twice"] == findings["orphan"] == 0
    if case.facts.order == "causal" and case.watch is None:
        assert findings["late"] == 0


@pytest.mark.parametrize("protocol", ["vector", "optimal", "buffered"])
def test_nodes_over_tcp(protocol: str, tmp_path: Path) -> None:
    (case,) = (case for case in FITTING if case.name == protocol)
    asyncio.run(run_case(case, "tcp", tmp_path))
    files = sorted(tmp_path.glob("*.jsonl"))
    assert sum(audit_events(files).values()) == 0


def test_the_example_of_the_documentation() -> None:
    async def run() -> tuple[str, bytes, str]:
        async with (
            live.join("optimal", process="a", listen="memory://doc-a", peers={"b": "memory://doc-b"}) as a,
            live.join("optimal", process="b", listen="memory://doc-b", peers={"a": "memory://doc-a"}) as b,
        ):
            await a.send(b"hello", to=["b"])
            async for delivery in b:
                await delivery.done()
                return delivery.sender, delivery.payload, delivery.message
        raise AssertionError("nothing came")

    assert asyncio.run(run()) == ("a", b"hello", "a#1")


class CountingJournal(SqliteJournal):
    """Notes how many inputs each commit carried."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.sizes: list[int] = []

    def commit(self, units: list[Unit], snapshot: bytes | None) -> None:
        self.sizes.append(len(units))
        super().commit(units, snapshot)


def test_messages_that_are_sent_at_once_share_commits_and_have_their_names_in_order(tmp_path: Path) -> None:
    journal = CountingJournal(tmp_path / "a.db")

    async def take_all(node: live.Node) -> None:
        async for _ in node:
            pass

    async def run() -> list[str]:
        async with live.join("fifo", process="a", peers={}, journal=journal, window=16) as node:
            taking = asyncio.create_task(take_all(node))
            futures = [await node.begin_send(b"x") for _ in range(100)]
            names = await asyncio.gather(*futures)
        await taking
        return names

    assert asyncio.run(run()) == [f"a#{number}" for number in range(1, 101)]
    assert len(journal.sizes) < 50
    assert max(journal.sizes) <= 17  # a window of messages, and an acknowledgement


def test_a_message_that_cannot_be_sent_is_refused_at_once(tmp_path: Path) -> None:
    async def run() -> str:
        async with live.join("fifo", process="a", peers={}, journal=tmp_path / "a.db") as node:
            with pytest.raises(CallerError, match="not in the group"):
                await node.begin_send(b"x", ["z"])
            return await (await node.begin_send(b"x"))

    assert asyncio.run(run()) == "a#1"


def test_a_peer_without_an_address_connects_by_itself() -> None:
    async def run() -> bytes:
        async with (
            live.join("fifo", process="z", listen="memory://hidden", peers={"a": None}) as z,
            live.join("fifo", process="a", peers={"z": "memory://hidden"}) as a,
        ):
            await z.send(b"down", to=["a"])
            return (await anext(a)).payload

    assert asyncio.run(run()) == b"down"


def test_closing_waits_until_peers_have_what_was_sent() -> None:
    async def run() -> list[bytes]:
        async with live.join("fifo", process="b", listen="memory://late-b", peers={"a": None}) as b:
            async with live.join("fifo", process="a", peers={"b": "memory://late-b"}) as a:
                for number in range(50):
                    await a.send(str(number).encode(), to=["b"])
            return [(await anext(b)).payload for _ in range(50)]

    assert asyncio.run(run()) == [str(number).encode() for number in range(50)]


def test_a_closed_node_ends_its_iteration_and_refuses_to_send() -> None:
    async def run() -> None:
        node = await live.open_node("fifo", process="a", listen="memory://end", peers={"b": None})
        ended = asyncio.create_task(_drain(node))
        await asyncio.sleep(0)
        await node.close()
        assert await ended == 0
        with pytest.raises(live.NodeClosedError, match="closed"):
            await node.send(b"", to=["b"])

    asyncio.run(run())


async def _drain(node: live.Node) -> int:
    return sum([1 async for _ in node])


def test_a_slow_consumer_slows_its_senders_and_memory_stays_bounded() -> None:
    async def run() -> None:
        async with Cluster("optimal", 3, window=16) as cluster:
            a, b, c = cluster.nodes.values()
            await cluster.wait_until_connected()
            sent = 0

            async def flood_b() -> None:
                nonlocal sent
                for _ in range(500):
                    await a.send(b"x" * 100, to=["p1"])
                    sent += 1

            task = asyncio.create_task(flood_b())
            await asyncio.sleep(0.3)
            assert not task.done()
            assert sent <= 2 * 16 + 1  # what b has not taken, and what waits for it at a
            assert b.status().peers["p0"].untaken == 16
            await c.send(b"others are not disturbed", to=["p0"])
            assert (await anext(a)).payload == b"others are not disturbed"
            cluster.consume("p1")
            await cluster.wait_for(500, "p1")
            await task
            assert [d.message for d in cluster.taken["p1"]] == [f"p0#{i + 1}" for i in range(500)]

    asyncio.run(run())


def test_status_tells_of_what_is_held_and_who_is_silent() -> None:
    async def run() -> None:
        async with Cluster("optimal", 3, silence=0.5, heartbeat=0.1) as cluster:
            a, b, c = cluster.nodes.values()
            await cluster.wait_until_connected()
            connection = get_hub(a).peers["p2"].connection
            assert connection is not None
            connection.close("cut by the test")
            get_hub(c).listener.close()  # type: ignore[union-attr]
            await a.send(b"cause", to=["p2"])
            await a.send(b"to b", to=["p1"])
            await anext(b)
            await b.send(b"effect", to=["p2"])
            await asyncio.sleep(0.1)
            status = c.status()
            assert [(held.sender, held.payload[8:]) for held in status.held] == [("p1", b"effect")]
            assert [gap.slot for gap in status.root_gaps] == ["p0"]
            assert not status.peers["p0"].connected and status.peers["p1"].connected
            assert status.peers["p0"].silent_for is not None
            assert a.status().peers["p2"].waiting == 1

    asyncio.run(run())


def test_an_excluded_member_keeps_nobody_waiting() -> None:
    async def run() -> None:
        async with Cluster("vector", 3, window=8) as cluster:
            cluster.consume()
            await cluster.wait_until_connected()
            cluster.stop("p2")
            a, b = cluster.nodes.values()

            async def chat() -> None:
                for _ in range(60):
                    await a.send(b"x")

            task = asyncio.create_task(chat())
            await asyncio.sleep(0.2)
            assert not task.done()
            await a.exclude("p2")
            await b.exclude("p2")
            await asyncio.wait_for(task, 5)
            await cluster.wait_for(120, "p0", "p1")
            assert a.status().peers["p2"].excluded

    asyncio.run(run())


def test_a_process_that_comes_back_without_its_memory_is_refused() -> None:
    async def run() -> None:
        async with Cluster("optimal", 2) as cluster:
            a, b = cluster.nodes.values()
            await a.send(b"1", to=["p1"])
            await anext(b)
            await asyncio.sleep(0.1)  # b has said that it has it
            cluster.stop("p1")
            await asyncio.sleep(0.1)
            await cluster.start("p1")
            await asyncio.sleep(0.3)
            assert not a.status().peers["p1"].connected
            assert a.status().refused["handshake", "p1"] > 0

    asyncio.run(run())


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no such protocol": ({"protocol": "nonsense"}, "unknown protocol"),
    "no such option": ({"colour": 1}, "no option colour"),
    "a rendezvous": ({"protocol": "sync"}, "rendezvous"),
    "no address": ({"peers": {"b": "somewhere"}}, "is no address"),
    "no such transport": ({"peers": {"b": "pigeon://b"}}, "no transport 'pigeon'"),
    "itself among the peers": ({"peers": {"a": "memory://a"}}, "other members"),
    "nobody can connect": ({"peers": {"b": None}, "listen": None}, "nobody can connect"),
    "window": ({"window": 0}, "settings of a node"),
    "key": ({"key": b"short"}, "at least 16 bytes"),
}


@pytest.mark.parametrize(("more", "text"), BAD.values(), ids=BAD.keys())
def test_what_cannot_run_is_refused_with_the_reason(more: dict[str, Any], text: str) -> None:
    arguments = {
        "protocol": "optimal",
        "process": "a",
        "listen": "memory://bad",
        "peers": {"b": None},
        **more,
    }

    async def run() -> None:
        async with live.join(arguments.pop("protocol"), **arguments):
            pass

    with pytest.raises(CallerError, match=text):
        asyncio.run(run())


def test_bad_sends_are_refused_and_change_nothing() -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, largest_message=100) as cluster:
            a, b = cluster.nodes.values()
            for data, to in [(b"", ["p9"]), (b"", "p1"), ("text", ["p1"]), (b"x" * 101, ["p1"])]:
                with pytest.raises(CallerError):
                    await a.send(data, to=to)  # type: ignore[arg-type]
            with pytest.raises(CallerError, match="does not take"):
                await a.send(b"", to=["p1"], depends_on=1)
            assert await a.send(b"good", to=["p1"]) == "p0#1"
            assert (await anext(b)).payload == b"good"
            with pytest.raises(CallerError, match="needs a journal"):
                async with a.transaction():
                    pass

    asyncio.run(run())


def test_taking_does_not_acknowledge_and_the_end_is_told() -> None:
    async def run() -> None:
        async with Cluster("vector", 2) as cluster:
            a, b = cluster.nodes["p0"], cluster.nodes["p1"]
            for number in range(3):
                await a.send(b"%d" % number)
            first, second, third = [await b.take() for _ in range(3)]
            assert [first.payload, second.payload, third.payload] == [b"0", b"1", b"2"]
            assert b.status().handed == 3
            await second.done()
            assert b.status().handed == 1
            ending = asyncio.create_task(b.wait_until_closed())
            waiting = asyncio.create_task(b.take())
            await asyncio.sleep(0)
            assert not ending.done()
            await b.close(linger=0)
            assert isinstance(await ending, live.NodeClosedError)
            with pytest.raises(live.NodeClosedError):
                await waiting

    asyncio.run(run())


def test_a_send_that_waits_is_told_that_the_node_was_closed() -> None:
    async def run() -> None:
        async with live.join(
            "optimal", process="a", listen="memory://full-a", peers={"b": None}, window=4
        ) as a:
            for _ in range(4):
                await a.send(b"x", to=["b"])
            waiting = asyncio.create_task(a.send(b"x", to=["b"]))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            await a.close(linger=0)
            with pytest.raises(live.NodeClosedError):
                await asyncio.wait_for(waiting, 5)

    asyncio.run(run())


def test_the_log_says_once_why_a_peer_cannot_be_reached(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with live.join("vector", process="a", peers={"b": "memory://nobody"}, linger=0.0):
            await asyncio.sleep(0.3)

    caplog.set_level(logging.INFO, "antecede.live")
    asyncio.run(run())
    (record,) = caplog.records
    reason = "nobody listens at memory://nobody"
    assert record.getMessage() == f"a is not connected with b yet, and keeps trying: {reason}"


def test_an_aborted_node_keeps_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    async def run() -> None:
        join = live.join("vector", process="a", listen="memory://aborted", peers={"b": None}, events=path)
        async with join as node:
            await node.send(b"x")
            assert path in list_open_files()
            node.abort()
            assert path not in list_open_files()
            node.abort()

    asyncio.run(run())


@pytest.mark.parametrize(
    "content",
    ["notes without an end", "notes\n", '{"a": 1}\n', '{"process":"b","event":"b:send:1","kind":"send"}\n'],
)
def test_a_file_that_has_something_else_is_not_taken_for_events(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)

    async def run() -> None:
        await live.open_node("vector", process="a", listen="memory://a", peers={"b": None}, events=path)

    with pytest.raises(CallerError, match="line 1 is not an event of 'a'; choose another file"):
        asyncio.run(run())
    assert path.read_text() == content


def test_events_of_an_earlier_run_are_not_continued_by_a_node_without_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    async def run() -> None:
        join = live.join("vector", process="a", listen="memory://a", peers={"b": None}, events=path, linger=0)
        async with join as node:
            await node.send(b"x")

    asyncio.run(run())
    first_run = path.read_bytes()
    with pytest.raises(CallerError, match="move the file of the earlier run away"):
        asyncio.run(run())
    assert path.read_bytes() == first_run


def test_a_node_whose_events_cannot_be_written_ends_and_hands_nothing_over(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("vector", 2, event_files=tmp_path) as cluster:
            a, b = cluster.nodes.values()
            assert b._events is not None
            b._events.close()
            b._events._file = os.open("/dev/full", os.O_WRONLY)
            await a.send(b"x")
            with pytest.raises(live.NodeFailedError, match=r"events .*: No space left on device"):
                await asyncio.wait_for(anext(b), 5)
            with pytest.raises(live.NodeFailedError, match="No space left"):
                await b.send(b"y")
            assert isinstance(await asyncio.wait_for(b.wait_until_closed(), 5), live.NodeFailedError)
            await b.close()

    asyncio.run(run())


def list_open_files() -> list[Path]:
    """What this process has open, where the system tells."""
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("this system does not tell which files are open")
    return [link.resolve() for link in folder.iterdir()]

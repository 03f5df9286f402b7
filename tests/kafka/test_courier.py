"""Nodes over a broker: all arrives, once and in order, whatever happens to nodes, broker and topics."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from antecede import CallerError, live
from antecede.live.kafka.courier import KafkaCourier
from antecede.live.kafka.letters import LetterForm, WriterIdentity
from tests.cases import EXACT, OTHER
from tests.kafka.topics import (
    delete_records,
    get_topic,
    limit_records,
    make_topic,
    read_records,
    wait_until,
    write_records,
)
from tests.live.cluster import Cluster, audit_events, count_events, run_case
from tests.live.kills import KillCampaign
from tests.live.processes import NAMES

CASES = {case.name: case for case in [*EXACT, *OTHER]}
KEY = b"the key of this group"


def make_cluster(broker: str, n: int = 2, protocol: str = "optimal", **options: Any) -> Cluster:
    return Cluster(protocol, n, f"kafka://{broker}", **options)


def get_trouble(node: live.Node) -> str:
    """Why there is no session with the broker; empty if there is one."""
    assert isinstance(node._courier, KafkaCourier)
    return node._courier._trouble


def partition_of(cluster: Cluster, name: str) -> int:
    return cluster.names.index(name)


@pytest.mark.parametrize("protocol", ["vector", "optimal", "buffered", "flood"])
def test_protocols_over_a_broker(protocol: str, broker_address: str, tmp_path: Path) -> None:
    asyncio.run(run_case(CASES[protocol], f"kafka://{broker_address}", tmp_path, n=3, messages=30))
    files = sorted(tmp_path.glob("*.jsonl"))
    assert count_events(files)["deliver"] > 90
    assert sum(audit_events(files).values()) == 0


def test_any_client_can_read_what_was_sent(broker_address: str) -> None:
    async def run() -> list[Any]:
        async with make_cluster(broker_address) as cluster:
            cluster.consume("p1")
            for data in (b"one", b"", b"three"):
                await cluster.nodes["p0"].send(data, to=["p1"])
            await cluster.wait_for(3, "p1")
            assert cluster.payloads("p1") == [b"one", b"", b"three"]
            return await read_records(broker_address, get_topic(cluster.addresses["p1"]), 0)

    records = [record for record in asyncio.run(run()) if dict(record.headers)["kind"] == b"message"]
    assert [record.value for record in records] == [b"one", b"", b"three"]
    names = {"from": b"p0", "to": b"p1", "protocol": b"optimal", "group": b"antecede", "antecede": b"1"}
    for number, record in enumerate(records, 1):
        headers = dict(record.headers)
        assert names.items() <= headers.items()
        assert headers["number"] == headers["message"] == str(number).encode()
        assert set(headers) - set(names) == {"kind", "number", "message", "stamp", "tag", "life", "to-life"}


def test_a_node_goes_on_where_it_was(broker_address: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with make_cluster(broker_address, journals=tmp_path, event_files=tmp_path) as cluster:
            cluster.consume("p1")
            await cluster.nodes["p0"].send(b"before", to=["p1"])
            await cluster.wait_for(1, "p1")
            await cluster.nodes["p1"].close()
            cluster.tasks.pop("p1")
            for number in range(50):  # nobody is there: the broker keeps it, and the sender may leave, too
                await cluster.nodes["p0"].send(b"%d" % number, to=["p1"])
            await cluster.nodes["p0"].close()
            assert not any(channel.waiting for channel in cluster.nodes["p0"].station.channels.values())
            await cluster.start("p1")
            cluster.consume("p1")
            await cluster.wait_for(51, "p1")
            assert cluster.payloads("p1") == [b"before", *(b"%d" % number for number in range(50))]
            await cluster.start("p0")
            await cluster.nodes["p0"].send(b"after", to=["p1"])
            await cluster.wait_for(52, "p1")
            topic = get_topic(cluster.addresses["p1"])
            records = await read_records(broker_address, topic, partition_of(cluster, "p0"))
            numbers = [dict(record.headers).get("number") for record in records]
            packets = [int(number) for number in numbers if number is not None]
            assert packets == list(range(1, 53)), "what the broker has is not sent again"

    asyncio.run(run())
    assert sum(audit_events(sorted(tmp_path.glob("*.jsonl"))).values()) == 0


@pytest.mark.slow
def test_killed_processes_lose_nothing_and_repeat_nothing(broker_address: str, tmp_path: Path) -> None:
    addresses = {name: f"kafka://{broker_address}/{tmp_path.name}-{name}" for name in NAMES}
    campaign = KillCampaign(tmp_path, 11, "optimal", "multicast", {}, addresses)
    assert campaign.run(trouble=5) == []
    assert campaign.counts["killed"] >= 5
    assert campaign.counts["deliver"] > 50
    assert campaign.counts["effects"] > 10


@pytest.mark.slow
def test_a_broker_that_comes_late_and_is_killed_and_comes_back(own_broker, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "journals": tmp_path,
        "event_files": tmp_path,
        "window": 64,
        "silence": 1.0,
        "handshake_time": 0.1,
    }

    async def run() -> None:
        async with make_cluster(own_broker.address, 3, **options) as cluster:
            nodes = list(cluster.nodes.values())
            channels = [channel for node in nodes for channel in node.station.channels.values()]
            sent = 0
            is_over = False

            def is_connected() -> bool:
                return any(peer.connected for node in nodes for peer in node.status().peers.values())

            def is_full() -> bool:
                return all(len(channel.waiting) >= 64 for channel in channels)

            async def produce(name: str) -> None:
                nonlocal sent
                others = [other for other in cluster.names if other != name]
                while not is_over:
                    await cluster.nodes[name].send(b"x" * 50, to=others)
                    sent += len(others)
                    await asyncio.sleep(0.002)

            cluster.consume()
            producers = [asyncio.create_task(produce(name)) for name in cluster.names]
            await wait_until(is_full)
            assert sent == 2 * 3 * 64, "who sends waits when a window is full"
            assert not is_connected()
            await asyncio.to_thread(own_broker.start)
            await cluster.wait_for(sent + 300, timeout=60)
            await asyncio.to_thread(own_broker.stop, signal.SIGKILL)
            await wait_until(lambda: is_full() and not is_connected())
            while_away = sent
            await asyncio.to_thread(own_broker.start)
            await cluster.wait_for(while_away + 300, timeout=60)
            is_over = True
            await asyncio.gather(*producers)
            await cluster.wait_for(sent)
            assert all(node.status().refused == {} for node in nodes)

    asyncio.run(run())
    files = sorted(tmp_path.glob("*.jsonl"))
    assert sum(audit_events(files).values()) == 0
    assert count_events(files)["deliver"] > 900


def test_what_the_broker_does_not_take_stays_with_its_sender(broker_address: str) -> None:
    async def run() -> None:
        async with make_cluster(broker_address) as cluster:
            a = cluster.nodes["p0"]
            cluster.consume("p1")
            await a.send(b"before", to=["p1"])
            await cluster.wait_for(1, "p1")
            topic = get_topic(cluster.addresses["p1"])
            await limit_records(broker_address, topic, 2000)
            await a.send(b"x" * 5000, to=["p1"])
            await a.send(b"behind", to=["p1"])
            await wait_until(lambda: get_trouble(a))
            channel = a.station.channels["p1"]
            assert channel.acknowledged == 1 and len(channel.flying) + len(channel.waiting) == 2
            await limit_records(broker_address, topic, 20_000)
            await cluster.wait_for(3, "p1")
            assert cluster.payloads("p1") == [b"before", b"x" * 5000, b"behind"]
            assert cluster.nodes["p1"].status().refused == {}

    asyncio.run(run())


def test_repeated_records_are_passed_over(broker_address: str) -> None:
    async def run() -> None:
        async with make_cluster(broker_address, key=KEY) as cluster:
            cluster.consume("p1")
            topic = get_topic(cluster.addresses["p1"])
            for number in range(20):
                await cluster.nodes["p0"].send(b"%d" % number, to=["p1"])
            await cluster.wait_for(20, "p1")
            records = await read_records(broker_address, topic, 0)
            again = [(record.value, list(record.headers)) for record in records]
            await write_records(broker_address, topic, 0, [*again, *reversed(again)])
            await cluster.nodes["p0"].send(b"last", to=["p1"])
            await cluster.wait_for(21, "p1")
            assert cluster.payloads("p1") == [*(b"%d" % number for number in range(20)), b"last"]
            assert cluster.nodes["p1"].status().refused == {}

    asyncio.run(run())


def test_foreign_and_altered_records_are_refused_and_counted(broker_address: str) -> None:
    async def run() -> None:
        async with make_cluster(broker_address, key=KEY) as cluster:
            cluster.consume("p1")
            topic = get_topic(cluster.addresses["p1"])
            await cluster.nodes["p0"].send(b"good", to=["p1"])
            await cluster.wait_for(1, "p1")
            good = (await read_records(broker_address, topic, 0))[-1]
            headers = dict(good.headers)
            station = cluster.nodes["p0"].station
            own = WriterIdentity(
                "antecede",
                "optimal",
                station.endpoint.group_fingerprint,
                "p0",
                bytes.fromhex(headers["life"].decode()),
            )
            stranger = LetterForm(own, b"another key, or none")
            head = stranger.build_common_headers("p1", bytes.fromhex(headers["to-life"].decode()))
            forged = stranger.build_packet_letter(head, 2, (0, headers["stamp"], bytes(8) + b"forged"))
            bad = [
                (b"of another program", []),
                (None, list(good.headers)),
                (b"altered", list(good.headers)),
                (good.value, [*good.headers, ("kind", b"message")]),
                (good.value, [(name, b"2" if name == "number" else text) for name, text in good.headers]),
                (good.value, [(name, text) for name, text in good.headers if name != "seal"]),
                forged,
            ]
            await write_records(broker_address, topic, 0, bad)
            await cluster.nodes["p0"].send(b"next", to=["p1"])
            await cluster.wait_for(2, "p1")
            assert cluster.payloads("p1") == [b"good", b"next"]
            assert cluster.nodes["p1"].status().refused == {("letter", ""): len(bad)}

    asyncio.run(run())


def test_packets_that_the_broker_has_deleted_are_told(broker_address: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with make_cluster(broker_address, 3, journals=tmp_path) as cluster:
            cluster.consume("p1")
            await cluster.nodes["p0"].send(b"taken", to=["p1"])
            await cluster.wait_for(1, "p1")
            await cluster.nodes["p1"].close()
            cluster.tasks.pop("p1")
            for number in range(10):
                await cluster.nodes["p0"].send(b"%d" % number, to=["p1"])
            await wait_until(lambda: not cluster.nodes["p0"].status().peers["p1"].unacknowledged)
            topic = get_topic(cluster.addresses["p1"])
            end = (await read_records(broker_address, topic, 0))[-1].offset + 1
            await delete_records(broker_address, topic, 0, end - 3)
            node = await cluster.start("p1")
            cluster.consume("p1")
            await cluster.nodes["p2"].send(b"of another", to=["p1"])
            await wait_until(lambda: ("gap", "p0") in node.status().refused)
            await cluster.wait_for(2, "p1")
            assert cluster.payloads("p1") == [b"taken", b"of another"], "nothing is taken behind a gap"
            assert node.status().refused[("deleted", "p0")] == 1

    asyncio.run(run())


def test_records_that_are_deleted_while_a_node_reads(broker_address: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with make_cluster(broker_address, window=4) as cluster:
            for number in range(40):
                await cluster.nodes["p0"].send(b"%d" % number, to=["p1"])
            await wait_until(lambda: cluster.nodes["p1"].status().queued == 4)
            topic = get_topic(cluster.addresses["p1"])
            end = (await read_records(broker_address, topic, 0))[-1].offset + 1
            await delete_records(broker_address, topic, 0, end)
            cluster.consume("p1")
            status = cluster.nodes["p1"].status
            await wait_until(lambda: ("deleted", "p0") in status().refused)
            taken = len(cluster.taken["p1"])
            assert taken < 40
            await cluster.nodes["p0"].send(b"behind", to=["p1"])
            await wait_until(lambda: ("gap", "p0") in status().refused)
            assert len(cluster.taken["p1"]) == taken

    asyncio.run(run())


def test_a_slow_receiver_has_a_bound_and_keeps_nobody_back(broker_address: str) -> None:
    async def run() -> None:
        async with make_cluster(broker_address, 3, window=16) as cluster:
            a, b, c = (cluster.nodes[name] for name in cluster.names)
            for number in range(200):
                await a.send(b"%d" % number, to=["p2"])  # the broker takes it all
            await wait_until(lambda: c.status().queued > 12)
            await b.send(b"of another", to=["p2"])
            await wait_until(lambda: c.status().peers["p1"].untaken == 1)
            await wait_until(lambda: c.status().peers["p0"].unread > 100)
            peer = c.status().peers["p0"]
            assert 12 < peer.untaken <= 16
            assert len(c.station.queue) <= 17
            most = 0
            for _ in range(201):
                delivery = await c.take()
                most = max(most, c.status().peers["p0"].untaken)
                await delivery.done()
            assert most <= 16

    asyncio.run(run())


def test_who_comes_back_without_its_memory_is_refused(broker_address: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with make_cluster(broker_address) as cluster:
            cluster.consume("p1")
            await cluster.nodes["p0"].send(b"one", to=["p1"])
            await cluster.wait_for(1, "p1")
            cluster.stop("p1")
            await cluster.nodes["p0"].send(b"two", to=["p1"])
            node = await cluster.start("p1")
            cluster.consume("p1")
            await wait_until(lambda: ("memory", "p1") in cluster.nodes["p0"].status().refused)
            await asyncio.sleep(0.2)
            assert len(cluster.taken["p1"]) == 1
            assert not node.status().peers["p0"].connected

    asyncio.run(run())


def test_letters_of_an_earlier_life_mean_nothing(broker_address: str) -> None:
    """A group without journals begins anew in used topics; somebody brings old letters again."""

    async def run() -> None:
        async with make_cluster(broker_address, key=KEY) as cluster:
            cluster.consume("p1")
            await cluster.nodes["p0"].send(b"old", to=["p1"])
            await cluster.wait_for(1, "p1")
            for name in cluster.names:
                cluster.stop(name)
            topic = get_topic(cluster.addresses["p1"])
            old = [
                (record.value, list(record.headers))
                for record in await read_records(broker_address, topic, 0)
            ]
            node = await cluster.start("p1")
            cluster.consume("p1")
            await node.send(b"early", to=["p0"])
            await write_records(broker_address, topic, 0, old)
            await wait_until(lambda: node.status().refused == {("life", "p0"): 1})
            await cluster.start("p0")
            cluster.consume("p0")
            await cluster.nodes["p0"].send(b"new", to=["p1"])
            await cluster.wait_for(3)
            assert cluster.payloads("p1") == [b"old", b"new"]
            assert cluster.payloads("p0") == [b"early"]
            assert node.status().refused == {("life", "p0"): 1}

    asyncio.run(run())


def test_a_node_that_crashes_before_it_has_read_anything(broker_address: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with make_cluster(broker_address, journals=tmp_path) as cluster:
            await cluster.wait_until_connected()
            cluster.stop("p1")
            for number in range(3):
                await cluster.nodes["p0"].send(b"%d" % number, to=["p1"])
            await wait_until(lambda: cluster.nodes["p0"].station.channels["p1"].acknowledged == 3)
            await cluster.start("p1")
            cluster.consume("p1")
            await cluster.wait_for(3, "p1")
            assert cluster.nodes["p1"].status().refused == {}

    asyncio.run(run())


def test_what_was_read_may_be_deleted(broker_address: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with make_cluster(broker_address, journals=tmp_path) as cluster:
            cluster.consume("p1")
            for number in range(5):
                await cluster.nodes["p0"].send(b"%d" % number, to=["p1"])
            await cluster.wait_for(5, "p1")
            cluster.stop("p1")
            topic = get_topic(cluster.addresses["p1"])
            end = (await read_records(broker_address, topic, 0))[-1].offset + 1
            await delete_records(broker_address, topic, 0, end)
            await cluster.start("p1")
            cluster.consume("p1")
            await cluster.nodes["p0"].send(b"next", to=["p1"])
            await wait_until(lambda: b"next" in cluster.payloads("p1"))
            assert cluster.nodes["p1"].status().refused == {}

    asyncio.run(run())


def test_a_broker_over_mutual_tls(broker) -> None:
    def certify(name: str) -> live.Certificate:
        folder = broker.folder / "certificates"
        return live.Certificate(
            certificate=folder / f"{name}.pem",
            private_key=folder / f"{name}.key",
            authority=folder / "ca.pem",
        )

    async def run() -> None:
        address = f"localhost:{broker.tls_port}"
        async with make_cluster(address, tls=certify("p0"), handshake_time=20) as cluster:
            cluster.consume("p1")
            await cluster.nodes["p0"].send(b"secret", to=["p1"])
            await cluster.wait_for(1, "p1")
        other_host = f"127.0.0.1:{broker.tls_port}"  # for which the broker has no certificate
        for place, tls in [(address, None), (other_host, certify("p0"))]:
            async with make_cluster(place, tls=tls, handshake_time=0.1, silence=1.0) as cluster:
                node = cluster.nodes["p0"]
                await wait_until(lambda: get_trouble(node))  # noqa: B023
                assert not node.status().peers["p1"].connected

    asyncio.run(run())


def test_a_topic_with_too_few_partitions_is_refused(broker_address: str, tmp_path: Path) -> None:
    async def run() -> None:
        topic = f"{tmp_path.name}-small"
        await make_topic(broker_address, topic, 1)
        address = f"kafka://{broker_address}"
        with pytest.raises(CallerError, match=r"small has 1 partitions.*--partitions 2"):
            await live.open_node(
                "vector", process="a", listen=f"{address}/{topic}", peers={"b": f"{address}/{topic}-b"}
            )

    asyncio.run(run())

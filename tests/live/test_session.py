"""One application at a node: what waits, what does not, and what comes again."""

import asyncio
import json
import socket
from pathlib import Path
from random import Random
from typing import Any

from antecede import live
from antecede.live.service.session import Desk, Session
from antecede.live.settings import NodeSettings
from tests.live.cluster import Cluster
from tests.live.test_journal import restart

LIMIT = 2**20


class Application:
    """The other end of a session, in the same program."""

    def __init__(self, desk: Desk, reader: Any, writer: Any, owns: bool) -> None:
        self.reader, self.writer, self.owns = reader, writer, owns
        self.desk = desk
        self.task: asyncio.Task[None]

    @classmethod
    async def connect(
        cls, desk: Desk, owns: bool = True, input_ended: asyncio.Event | None = None
    ) -> "Application":
        near, far = socket.socketpair()
        application = cls(desk, *await asyncio.open_connection(sock=near, limit=LIMIT), owns)
        session = Session(
            desk, *await asyncio.open_connection(sock=far, limit=LIMIT), owns=owns, input_ended=input_ended
        )
        application.task = asyncio.create_task(session.run())
        assert (await application.hear())["event"] == "ready"
        return application

    def say(self, do: str, **facts: Any) -> None:
        self.writer.write(json.dumps({"do": do, **facts}).encode() + b"\n")

    async def hear(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self.reader.readline(), 10)
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def leave(self) -> None:
        self.writer.close()
        await asyncio.wait_for(self.task, 10)


def test_sends_that_wait_do_not_keep_acknowledgements_from_being_heard() -> None:
    async def run() -> None:
        async with Cluster("optimal", 3, window=4) as cluster:
            cluster.stop("p2")
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=4))
            application = await Application.connect(desk)
            for number in range(8):  # four may wait at the node, four more in the session
                application.say("send", to=["p2"], data=str(number), id=number)
            assert [(await application.hear())["id"] for _ in range(4)] == [0, 1, 2, 3]
            await cluster.nodes["p1"].send(b"from p1", to=["p0"])
            assert (await application.hear())["data"] == "from p1"
            application.say("done", number=1)
            assert (await application.hear())["event"] == "done"
            application.say("status")
            assert (await application.hear())["handed"] == 0
            application.say("send", to=["p2"], data="8", id=8)
            application.say("send", to=["p2"], data="9", id=9)  # there is no room: nothing is read behind it
            application.say("status")
            await asyncio.sleep(0.1)
            await cluster.start("p2")
            cluster.consume("p2")
            rest = [await application.hear() for _ in range(7)]
            assert [answer["id"] for answer in rest if answer["event"] == "sent"] == [4, 5, 6, 7, 8, 9]
            await cluster.wait_for(10, "p2")
            assert cluster.payloads("p2") == [b"%d" % number for number in range(10)]

    asyncio.run(run())


def test_what_an_application_has_not_done_comes_again_to_the_next() -> None:
    async def run() -> None:
        async with Cluster("vector", 2) as cluster:
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=4))
            first = await Application.connect(desk, owns=False)
            first.say("receive")
            assert (await first.hear())["event"] == "receiving"
            for number in range(3):
                await cluster.nodes["p1"].send(b"%d" % number)
            assert [(await first.hear())["data"] for _ in range(3)] == ["0", "1", "2"]
            first.say("done", number=1)
            assert (await first.hear())["number"] == 1
            await first.leave()
            assert not desk.stopping.is_set()

            second = await Application.connect(desk, owns=False)
            second.say("receive")
            assert (await second.hear())["event"] == "receiving"
            assert [(await second.hear())["number"] for _ in range(2)] == [2, 3]
            await cluster.nodes["p1"].send(b"3")
            assert (await second.hear())["number"] == 4
            second.say("done", number=4)
            assert (await second.hear())["number"] == 4
            assert cluster.nodes["p0"].status().handed == 0
            await second.leave()

    asyncio.run(run())


def test_the_node_ends_with_its_owner_after_what_was_asked_for() -> None:
    async def run() -> None:
        async with Cluster("vector", 2) as cluster:
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=100))
            application = await Application.connect(desk)
            for number in range(50):
                application.say("send", data=str(number), id=number)
            application.writer.write_eof()
            await asyncio.wait_for(desk.stopping.wait(), 10)
            assert cluster.nodes["p0"].status().sent == 50
            desk.closed.set()
            answers = [await application.hear() for _ in range(51)]
            while answers[-1]["event"] != "closed":
                answers.append(await application.hear())
            sent = [answer["id"] for answer in answers if answer["event"] == "sent"]
            assert sent == list(range(50))

    asyncio.run(run())


def test_the_node_ends_behind_more_sends_than_can_wait() -> None:
    async def run() -> None:
        async with Cluster("optimal", 3, window=4) as cluster:
            cluster.stop("p2")
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=4, linger=0.2))
            input_ended = asyncio.Event()
            application = await Application.connect(desk, input_ended=input_ended)
            for number in range(50):
                application.say("send", to=["p2"], data=str(number), id=number)
            application.writer.write_eof()
            input_ended.set()
            await asyncio.wait_for(desk.stopping.wait(), 10)
            assert cluster.nodes["p0"].status().peers["p2"].waiting == 4
            desk.closed.set()
            await asyncio.wait_for(application.task, 10)

    asyncio.run(run())


def test_a_session_tells_of_a_node_that_was_closed() -> None:
    async def run() -> None:
        async with live.join("vector", process="a", listen="memory://session-a", peers={"b": None}) as node:
            desk = Desk(node, NodeSettings(window=4))
            application = await Application.connect(desk)
            await node.close(linger=0)
            application.say("send", data="too late")
            answer = await application.hear()
            assert answer["event"] == "error" and "was closed" in answer["reason"]
            desk.stopping.set()
            desk.closed.set()
            assert (await application.hear())["event"] == "closed"

    asyncio.run(run())


def test_sends_of_one_application_share_commits_and_keep_their_order(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            cluster.consume("p1")
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=500))
            application = await Application.connect(desk)
            for number in range(500):
                to = ["p1"] if number % 100 else ["nobody"]
                application.say("send", to=to, data=str(number), id=number)
            answers = [await application.hear() for _ in range(500)]
            assert [answer["id"] for answer in answers] == list(range(500))
            assert [answer["id"] for answer in answers if answer["event"] == "error"] == [
                0,
                100,
                200,
                300,
                400,
            ]
            assert cluster.nodes["p0"].status().records < 100
            await cluster.wait_for(495, "p1")
            assert cluster.payloads("p1") == [b"%d" % number for number in range(500) if number % 100]

    asyncio.run(run())


def test_an_application_that_does_not_read_slows_its_senders_and_nobody_else() -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, window=8) as cluster:
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=8))
            lazy = await Application.connect(desk)
            lazy.reader._transport.pause_reading()

            async def pour() -> None:
                for number in range(400):
                    await cluster.nodes["p1"].send(b"%d " % number + b"x" * 50_000, to=["p0"])

            pouring = asyncio.create_task(pour())
            waited = 0
            while (waiting := cluster.nodes["p1"].status().peers["p0"].waiting) < 8 and waited < 500:
                await asyncio.sleep(0.01)
                waited += 1
            assert waiting == 8 and not pouring.done()
            assert len(desk.handed) <= 8

            other = await Application.connect(desk, owns=False)
            other.say("status")
            assert (await other.hear())["handed"] == len(desk.handed)
            lazy.reader._transport.resume_reading()
            for number in range(1, 401):
                delivery = await lazy.hear()
                while delivery["event"] != "delivery":
                    delivery = await lazy.hear()
                assert delivery["number"] == number
                lazy.say("done", number=number)
            await pouring
            await other.leave()

    asyncio.run(run())


def test_lines_at_random_are_answered_and_change_nothing() -> None:
    async def run() -> None:
        random = Random(11)
        words = [
            "do",
            "send",
            "to",
            "data",
            "id",
            "done",
            "number",
            "p1",
            "p9",
            1,
            -1,
            2**70,
            None,
            True,
            [],
            {},
        ]
        async with Cluster("vector", 2) as cluster:
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=8))
            application = await Application.connect(desk)
            for _ in range(3000):
                kind = random.randrange(3)
                if kind == 0:
                    line = random.randbytes(random.randrange(1, 60)).replace(b"\n", b"")
                elif kind == 1:
                    line = json.dumps(
                        {str(random.choice(words)): random.choice(words) for _ in range(4)}
                    ).encode()
                else:
                    command = bytearray(b'{"do": "done", "number": 1, "id": "\xc3\xa9"}')
                    command[random.randrange(len(command))] = random.randrange(32, 256)
                    line = bytes(command)
                if not line.strip():
                    continue
                application.writer.write(line + b"\n")
                assert (await application.hear())["event"] == "error", line
            assert cluster.nodes["p0"].status().sent == 0

    asyncio.run(run())


def test_a_receiver_that_is_gone_does_not_keep_the_node_from_ending() -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, window=4) as cluster:
            cluster.stop("p1")
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=4, linger=0.2))
            application = await Application.connect(desk)
            for number in range(7):
                application.say("send", to=["p1"], data=str(number), id=number)
            application.say("close")
            await asyncio.wait_for(desk.stopping.wait(), 10)
            await cluster.nodes["p0"].close(linger=0)
            desk.closed.set()
            answers = [await application.hear() for _ in range(8)]
            assert [answer["event"] for answer in answers] == ["sent"] * 4 + ["error"] * 3 + ["closed"]

    asyncio.run(run())


def test_a_message_that_cannot_be_decoded_costs_itself_alone() -> None:
    async def run() -> None:
        async with Cluster("vector", 2) as cluster:
            desk = Desk(cluster.nodes["p0"], NodeSettings())
            application = await Application.connect(desk, owns=False)
            application.say("send", base64="é", id=1)
            application.say("send", base64="eA", id=2)
            application.say("send", data="x", id=3)
            answers = [await application.hear() for _ in range(3)]
            assert [(one["event"], one["id"]) for one in answers] == [("error", 1), ("error", 2), ("sent", 3)]
            await application.leave()

    asyncio.run(run())


def test_done_is_answered_when_it_is_on_disk_however_often_it_is_said(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            desk = Desk(cluster.nodes["p0"], NodeSettings())
            application = await Application.connect(desk)
            for _ in range(5):
                await cluster.nodes["p1"].send(b"x", to=["p0"])
            assert [(await application.hear())["number"] for _ in range(5)] == [1, 2, 3, 4, 5]
            for number in (5, 5, 3):
                application.say("done", number=number)
            assert (await application.hear())["event"] == "done"
            cluster.stop("p0")
            node = await restart(cluster, "p0")
            await cluster.nodes["p1"].send(b"next", to=["p0"])
            assert (await asyncio.wait_for(node.take(), 10)).payload == b"next"

    asyncio.run(run())


def test_what_is_done_is_done_though_the_application_leaves_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, journals=tmp_path) as cluster:
            desk = Desk(cluster.nodes["p0"], NodeSettings())
            first = await Application.connect(desk, owns=False)
            first.say("receive")
            assert (await first.hear())["event"] == "receiving"
            for _ in range(40):
                await cluster.nodes["p1"].send(b"x", to=["p0"])
            assert [(await first.hear())["number"] for _ in range(40)] == list(range(1, 41))
            for number in range(1, 41):
                first.say("done", number=number)
            await first.leave()
            assert cluster.nodes["p0"].status().handed == 0
            cluster.stop("p0")
            node = await restart(cluster, "p0")
            await cluster.nodes["p1"].send(b"next", to=["p0"])
            assert (await asyncio.wait_for(node.take(), 10)).payload == b"next"

    asyncio.run(run())


def test_what_is_done_while_it_comes_again_does_not_come() -> None:
    async def run() -> None:
        async with Cluster("optimal", 2, window=64) as cluster:
            desk = Desk(cluster.nodes["p0"], NodeSettings(window=64))
            first = await Application.connect(desk, owns=False)
            first.say("receive")
            assert (await first.hear())["event"] == "receiving"
            for _ in range(40):
                await cluster.nodes["p1"].send(b"x" * 100_000, to=["p0"])
            assert [(await first.hear())["number"] for _ in range(40)] == list(range(1, 41))
            await first.leave()

            second = await Application.connect(desk, owns=False)
            second.reader._transport.pause_reading()  # four megabytes do not fit between the two
            second.say("receive")
            await asyncio.sleep(0.2)  # the first of them are on their way
            second.say("done", number=40)
            for _ in range(500):
                if not desk.handed:
                    break
                await asyncio.sleep(0.01)
            assert not desk.handed
            second.reader._transport.resume_reading()
            numbers = []
            while (answer := await second.hear())["event"] != "done":
                if answer["event"] == "delivery":
                    numbers.append(answer["number"])
            assert 0 < len(numbers) < 40 and numbers == list(range(1, len(numbers) + 1))
            await cluster.nodes["p1"].send(b"next", to=["p0"])
            while (answer := await second.hear())["event"] != "delivery" or answer["number"] <= len(numbers):
                pass
            assert answer["number"] == 41
            await second.leave()

    asyncio.run(run())

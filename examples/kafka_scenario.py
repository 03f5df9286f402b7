"""Kafka's transactions, and what happens to them when an effect overtakes its cause.

    python examples/kafka_scenario.py

Jepsen's analysis of Bufstream 0.1.0 (2024) found torn transactions and reads of aborted data in Kafka itself:
the protocol counts on order, but sends its messages over different connections, to different nodes, with
retries. A commit that is delayed then ends a later transaction. This is a model of that, with live nodes over
TCP; there is no broker in it.

A producer writes x and y, which live at two partition leaders, and asks a coordinator to commit or abort; the
coordinator sends a marker to both leaders, and tells the producer that it may go on. The connection between
the coordinator and one leader is dead for a while: what was lost is sent again, over the next one, and comes
after the writes of the next transaction. Transaction 1 is committed, 2 aborted, 3 committed: a consumer must
read 1 and 3 of both x and y. With `unordered` it does not. With any protocol that keeps causal order it does:
the next write depends on the marker, and waits for it.
"""

import asyncio
from pathlib import Path

from group import audit_folder, choose_folder, join_group, make_folder, wait_for

from antecede import live

NAMES = ["coordinator", "leader-x", "leader-y", "producer"]
TRANSACTIONS = {1: "commit", 2: "abort", 3: "commit"}


class Leader:
    """A partition: a marker ends the transaction of all writes since the marker before it."""

    def __init__(self, node: live.Node) -> None:
        self.node = node
        self.open: list[str] = []
        self.published: list[str] = []
        self.story: list[str] = []
        self.markers: set[str] = set()

    async def serve(self) -> None:
        """Take writes and markers as they are delivered."""
        async for delivery in self.node:
            word, what = delivery.payload.decode().split()
            if word == "write":
                self.open.append(what)
                self.story.append(f"write {what}")
                continue
            self.markers.add(what)
            ended, self.open = self.open, []
            fate = "publishes" if word == "commit" else "drops"
            self.story.append(f"{word} {what} ({fate} {', '.join(ended) or 'NOTHING'})")
            if word == "commit":
                self.published += ended


async def coordinate(node: live.Node) -> None:
    """Pass the producer's decision on to both leaders, and tell the producer that it holds."""
    async for delivery in node:
        for leader in ("leader-x", "leader-y"):
            await node.send(delivery.payload, to=[leader])
        await node.send(b"decided", to=["producer"])


async def run_transaction(producer: live.Node, number: int) -> None:
    """Write x and y, then ask for the end of the transaction and wait for the answer."""
    await producer.send(b"write x=%d" % number, to=["leader-x"])
    await producer.send(b"write y=%d" % number, to=["leader-y"])
    await producer.send(f"{TRANSACTIONS[number]} {number}".encode(), to=["coordinator"])
    await anext(producer)


async def run_scenario(protocol: str, folder: Path) -> bool:
    """Returns whether a consumer reads what it must."""
    async with join_group(protocol, NAMES, folder, disturbed=("coordinator", "leader-y")) as (nodes, link):
        x, y = Leader(nodes["leader-x"]), Leader(nodes["leader-y"])
        producer, coordinator = nodes["producer"], nodes["coordinator"]
        serving = [coordinate(coordinator), x.serve(), y.serve()]
        tasks = [asyncio.create_task(work) for work in serving]

        link.cut()
        first_two = asyncio.create_task(run_two(producer))
        await wait_for(lambda: "write y=2" in y.story or list_what_waits(coordinator, y.node))
        waiting = list_what_waits(coordinator, y.node)
        link.heal()  # the connection breaks; there is a new one, on which what was lost is sent again
        await first_two
        await wait_for(lambda: not coordinator.status().peers["leader-y"].unacknowledged)
        await run_transaction(producer, 3)
        await wait_for(lambda: "3" in x.markers & y.markers)
        for task in tasks:
            task.cancel()
    print(f"{protocol}:")
    print(f"  while the link is cut: {', '.join(waiting) or 'nothing waits'}")
    print(f"  at leader-y: {'; '.join(y.story)}")
    print(f"  a consumer reads {', '.join(x.published)} and {', '.join(y.published) or 'no y'}")
    is_right = (x.published, y.published) == (["x=1", "x=3"], ["y=1", "y=3"])
    print(f"  {'right' if is_right else 'WRONG: transaction 2 was aborted, and a part of it is read'}")
    print(f"  audit: {audit_folder(folder)}\n")
    return is_right


async def run_two(producer: live.Node) -> None:
    """The transactions during which the link is cut."""
    await run_transaction(producer, 1)
    await run_transaction(producer, 2)


def list_what_waits(coordinator: live.Node, leader: live.Node) -> list[str]:
    """What a protocol keeps back so that no effect comes before its cause."""
    held = [str(held) for held in leader.status().held]
    backlog = coordinator.status().backlog
    return held + [f"the coordinator keeps back {backlog}"] * bool(backlog)


def main() -> None:
    """Run the scenario under several protocols."""
    with choose_folder(__doc__) as folder:
        for protocol in ("unordered", "optimal", "matrix", "buffered"):
            is_right = asyncio.run(run_scenario(protocol, make_folder(folder, protocol)))
            assert is_right == (protocol != "unordered")


if __name__ == "__main__":
    main()

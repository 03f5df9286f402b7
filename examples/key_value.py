"""A replicated key-value store. It is causally consistent because its updates are delivered in causal order.

    python examples/key_value.py

Three replicas: north, south and west. A write is sent to all, and each replica applies the writes in the
order in which they are delivered: that is the whole store. Two clients write, ann at north and bob at south;
a visitor reads at west, while north and west cannot reach each other.

First with `unordered`, where the visitor reads a comment on a photo that is not there. Then with protocols
that keep causal order: the comment waits for the photo. The audit judges both, by the events of the nodes.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from group import audit_folder, choose_folder, join_group, make_folder, wait_for

from antecede import live

REPLICAS = ["north", "south", "west"]
NEEDED = {"comment": "album", "album": "photo"}
"""Who wrote the first of these had read, or written, the second."""


class Replica:
    """All keys, at one node."""

    def __init__(self, node: live.Node) -> None:
        self.node = node
        self.values: dict[str, tuple[int, str, str]] = {}
        self.changed = asyncio.Condition()

    def get(self, key: str) -> str | None:
        """Read here, without asking anybody."""
        return self.values[key][2] if key in self.values else None

    async def put(self, key: str, value: str) -> None:
        """Write: returns when the write is applied here."""
        version = self.values[key][0] + 1 if key in self.values else 1
        update = (version, self.node.process, value)
        await self.node.send(json.dumps([key, update]).encode())  # to all, this replica included
        await self.wait_until(lambda: self.values.get(key, (0,)) >= update)

    async def apply_updates(self) -> None:
        """Apply writes in the order of their delivery.

        A write that has seen another one has a higher version, and comes after it. Two that are concurrent
        may come in any order: there the name of the replica decides, everywhere in the same way.
        """
        async for delivery in self.node:
            key, update = json.loads(delivery.payload)
            async with self.changed:
                self.values[key] = max(self.values.get(key, (0, "", "")), tuple(update))
                self.changed.notify_all()

    async def wait_until(self, is_so: Callable[[], object]) -> None:
        """Wait for something to be true of this replica."""
        async with self.changed:
            await self.changed.wait_for(is_so)


async def run_story(protocol: str, folder: Path) -> int:
    """Returns how many reads found an effect without its cause."""
    print(f"{protocol}:")
    async with join_group(protocol, REPLICAS, folder, disturbed=("north", "west")) as (nodes, link):
        replicas = north, south, west = [Replica(nodes[name]) for name in REPLICAS]
        tasks = [asyncio.create_task(replica.apply_updates()) for replica in replicas]

        link.cut()  # the partition begins
        await north.put("photo", "beach.jpg")
        await north.put("album", "holidays, with one photo")  # ann has written the photo before
        await south.wait_until(lambda: south.get("album"))
        await south.put("comment", "what a beach!")  # bob has read the album before
        await asyncio.gather(north.put("title", "Beach"), south.put("title", "Sea"))  # at the same time

        await wait_for(lambda: west.get("comment") or west.node.status().held)  # it has arrived at west
        anomalies = report_reads(west)

        link.heal()
        await wait_for(lambda: len(north.values) == 4 and north.values == south.values == west.values)
        titles = {replica.get("title") for replica in replicas}
        print(f"  after it all replicas have the same four keys, and the same title: {', '.join(titles)}")
        for task in tasks:
            task.cancel()
    print(f"  audit: {audit_folder(folder)}\n")
    return anomalies


def report_reads(replica: Replica) -> int:
    """Read everything at a replica, as a visitor would, and look for causes that are missing."""
    anomalies = 0
    print("  during the partition a visitor reads at west:")
    for held in replica.node.status().held:
        print(f"    (held: {held})")
    for key in ("photo", "album", "comment"):
        value = replica.get(key)
        cause = NEEDED.get(key)
        note = ""
        if value and cause and replica.get(cause) is None:
            note = f"   <- but there is no {cause}!"
            anomalies += 1
        print(f"    {key:8} {value or '-'}{note}")
    return anomalies


def main() -> None:
    """Run the story under several protocols."""
    with choose_folder(__doc__) as folder:
        for protocol in ("unordered", "vector", "optimal"):
            anomalies = asyncio.run(run_story(protocol, make_folder(folder, protocol)))
            assert (anomalies > 0) == (protocol == "unordered")


if __name__ == "__main__":
    main()

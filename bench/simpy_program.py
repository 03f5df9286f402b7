"""The job of the simulator, as one writes it with SimPy: processes, stores, and a queue that is gone through.

Causal broadcast with vector clocks over a network with exponential delays. A copy under way is a SimPy
process that sleeps and puts the packet into the receiver's store, which is SimPy's way to do it; stamps are
lists that are handed over as they are. What comes out is what the simulator tells of such a run: the bytes
and entries of stamps, how long messages waited, how long of that needlessly, how long they were under way,
how many were held at once, and what went wrong. The oracle is in plain Python, like the rest; it was the
simulator's own before that was compiled.
"""

from collections.abc import Generator
from random import Random
from typing import Any

import msgspec
import numpy as np

from bench.window import Window


class Packet:
    """A copy of a message; `ready`: since when its receiver has every cause of it."""

    __slots__ = ("arrived", "message", "ready", "sender", "sent", "stamp")

    def __init__(self, sender: int, message: int, stamp: list[int], sent: float) -> None:
        self.sender, self.message, self.stamp, self.sent = sender, message, stamp, sent
        self.arrived = 0.0
        self.ready: float | None = None


class Program:
    """n processes that broadcast at a rate (per ms) until so many messages are sent."""

    def __init__(self, n: int, messages: int, rate: float, delay: float) -> None:
        import simpy

        self.env = simpy.Environment()
        self.n, self.left, self.rate, self.delay = n, messages, rate, delay
        self.random = Random(0)
        self.stores = [simpy.Store(self.env) for _ in range(n)]
        self.clocks = [[0] * n for _ in range(n)]
        self.pending: list[list[Packet]] = [[] for _ in range(n)]
        self.newest = [[-1] * n for _ in range(n)]
        self.oracle = Window(n)
        self.arrivals = self.peak_held = 0
        self.counts = {"early": 0, "late": 0, "out of turn": 0, "duplicated": 0}
        self.notes: dict[str, list[float]] = {
            name: [] for name in ("control bytes", "entries", "wait", "needless", "latency")
        }

    def run(self) -> dict[str, float]:
        """Every figure of the run; those of waits are of all deliveries."""
        for i in range(self.n):
            self.env.process(self.sender(i))
            self.env.process(self.receiver(i))
        self.env.run()
        figures: dict[str, float] = {**self.counts, "lost or stuck": len(self.oracle.undelivered())}
        for name, notes in self.notes.items():
            figures[f"{name}, mean"] = float(np.mean(notes))
            figures[f"{name}, p99"] = float(np.quantile(notes, 0.99, method="inverted_cdf"))
        return {**figures, "arrivals": self.arrivals, "peak held": self.peak_held}

    def sender(self, i: int) -> Generator[Any, Any, None]:
        others = [x for x in range(self.n) if x != i]
        while True:
            yield self.env.timeout(self.random.expovariate(self.rate))
            if self.left <= 0:
                return
            self.left -= 1
            message = self.oracle.send(i, others)
            self.clocks[i][i] += 1
            stamp = list(self.clocks[i])
            size = len(msgspec.msgpack.encode(stamp))
            for other in others:
                self.notes["control bytes"].append(size)
                self.notes["entries"].append(len(stamp))
                self.env.process(self.courier(other, Packet(i, message, stamp, self.env.now)))

    def courier(self, target: int, packet: Packet) -> Generator[Any, Any, None]:
        yield self.env.timeout(self.random.expovariate(1 / self.delay))
        yield self.stores[target].put(packet)

    def receiver(self, i: int) -> Generator[Any, Any, None]:
        pending = self.pending[i]
        while True:
            packet = yield self.stores[i].get()
            self.arrivals += 1
            packet.arrived = self.env.now
            pending.append(packet)
            self.note_ready(i, [packet])
            while (ready := next((p for p in pending if self.is_deliverable(i, p)), None)) is not None:
                pending.remove(ready)
                self.deliver(i, ready)
                self.note_ready(i, pending)
            self.peak_held = max(self.peak_held, len(pending))

    def is_deliverable(self, i: int, packet: Packet) -> bool:
        sender, stamp, clock = packet.sender, packet.stamp, self.clocks[i]
        return stamp[sender] == clock[sender] + 1 and all(
            count <= clock[x] for x, count in enumerate(stamp) if x != sender
        )

    def note_ready(self, i: int, packets: list[Packet]) -> None:
        for packet in packets:
            if packet.ready is None and not self.oracle.missing(i, packet.message):
                packet.ready = self.env.now

    def deliver(self, i: int, packet: Packet) -> None:
        sender, message, now = packet.sender, packet.message, self.env.now
        self.clocks[i][sender] += 1
        if not self.oracle.expects(i, message):
            self.counts["duplicated"] += 1
            return
        self.counts["late"] += self.oracle.late(i, message)
        self.counts["early"] += bool(self.oracle.deliver(i, message))
        self.counts["out of turn"] += message < self.newest[i][sender]
        self.newest[i][sender] = max(message, self.newest[i][sender])
        self.notes["wait"].append(now - packet.arrived)
        self.notes["needless"].append(0.0 if packet.ready is None else now - packet.ready)
        self.notes["latency"].append(now - packet.sent)

"""The job of the simulator, as one writes it with SimPy: processes, stores, and a queue that is gone through.

Causal broadcast with vector clocks over a network with exponential delays; every delivery is shown to the
same oracle that antecede's simulator asks, and waits and latencies are noted. A copy under way is a SimPy
process that sleeps and puts the packet into the receiver's store, which is SimPy's way to do it.
"""

from collections.abc import Generator
from random import Random
from typing import Any

from antecede.causality.window import Window

Packet = tuple[int, int, list[int], float, float]
"""Sender, message, stamp, time of the send, time of the arrival."""


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
        self.oracle = Window(n)
        self.arrivals = self.delivered = self.early = 0
        self.waits: list[float] = []
        self.latencies: list[float] = []

    def run(self) -> int:
        for i in range(self.n):
            self.env.process(self.sender(i))
            self.env.process(self.receiver(i))
        self.env.run()
        return self.arrivals

    def sender(self, i: int) -> Generator[Any, Any, None]:
        while True:
            yield self.env.timeout(self.random.expovariate(self.rate))
            if self.left <= 0:
                return
            self.left -= 1
            others = [x for x in range(self.n) if x != i]
            message = self.oracle.send(i, others)
            self.clocks[i][i] += 1
            stamp = list(self.clocks[i])
            for other in others:
                self.env.process(self.courier(other, i, message, stamp))

    def courier(self, target: int, i: int, message: int, stamp: list[int]) -> Generator[Any, Any, None]:
        sent = self.env.now
        yield self.env.timeout(self.random.expovariate(1 / self.delay))
        yield self.stores[target].put((i, message, stamp, sent, self.env.now))

    def receiver(self, i: int) -> Generator[Any, Any, None]:
        while True:
            packet = yield self.stores[i].get()
            self.arrivals += 1
            self.pending[i].append(packet)
            while (ready := next((p for p in self.pending[i] if self.is_ready(i, p)), None)) is not None:
                self.pending[i].remove(ready)
                self.deliver(i, ready)

    def is_ready(self, i: int, packet: Packet) -> bool:
        sender, _, stamp, _, _ = packet
        clock = self.clocks[i]
        return stamp[sender] == clock[sender] + 1 and all(
            count <= clock[x] for x, count in enumerate(stamp) if x != sender
        )

    def deliver(self, i: int, packet: Packet) -> None:
        sender, message, _, sent, arrived = packet
        self.clocks[i][sender] += 1
        self.early += bool(self.oracle.deliver(i, message))
        self.delivered += 1
        self.latencies.append(self.env.now - sent)
        if self.env.now > arrived:
            self.waits.append(self.env.now - arrived)

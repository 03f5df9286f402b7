"""Carries packets straight from endpoint to endpoint, where the network loses and repeats nothing."""

from collections import Counter

from antecede.core.endpoint import Endpoint
from antecede.core.packet import Effects, Packet
from antecede.simulate.applications import Applications, Wish
from antecede.simulate.network import Wires
from antecede.simulate.queue import Queue
from antecede.simulate.watch import Watch


class Direct:
    """Packets go from endpoint to endpoint."""

    def __init__(
        self, queue: Queue, wires: Wires, endpoints: list[Endpoint], watch: Watch, applications: Applications
    ) -> None:
        self.queue, self.wires, self.endpoints, self.watch = queue, wires, endpoints, watch
        self.applications = applications
        self.index = watch.index
        self.counts: Counter[str] = Counter()
        self.latest: dict[tuple[str, str], int] = {}
        self.blocking = type(endpoints[0])._stopped is not Endpoint._stopped

    def may_send(self, i: int) -> bool:
        """Whether the application of a process need not wait now."""
        return not (self.blocking and self.endpoints[i].blocked)

    def send(self, wish: Wish) -> None:
        """The application of a process sends."""
        i, n = wish.process, len(self.endpoints)
        targets = [x for x in range(n) if x != i] if wish.targets is None else wish.targets
        payload = self.watch.sent(i, targets, wish.depends_on)
        to = None if wish.targets is None else [self.watch.names[x] for x in targets]
        how = {} if wish.depends_on is None else {"depends_on": wish.depends_on}
        effects = self.endpoints[i].send(payload, to, **how)
        self._follow(i, effects)

    def arrive(self, packet: Packet) -> None:
        """A packet reaches its target."""
        i = self.index[packet.target]
        pair = (packet.source, packet.target)
        if packet.number < self.latest.get(pair, 0):
            self.counts["overtaken"] += 1
        else:
            self.latest[pair] = packet.number
        effects = self.endpoints[i].receive(packet)
        self.watch.arrived(i, packet, effects.deliveries)
        self._follow(i, effects)
        if self.applications.line[i]:
            self.applications.go_on(i)

    def _follow(self, i: int, effects: Effects) -> None:
        if effects.packets:
            self.watch.posted(effects.packets)
            wires, index, now, at = self.wires, self.index, self.queue.now, self.queue.at
            mean = wires.mean()
            for packet in effects.packets:
                at(wires.arrival(i, index[packet.target], now, mean), self.arrive, packet)
        for delivery in effects.deliveries:
            self.applications.delivered(i, delivery)

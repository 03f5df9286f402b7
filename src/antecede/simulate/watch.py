"""The watch: sees everything that happens in a run, asks the oracle about each delivery, tallies the costs.

It knows no protocol: a message is a number in the payload, and what a protocol promises is in its facts.
"""

from collections import Counter

import msgspec

from antecede.causality.window import Flight, SemanticWindow, Window
from antecede.core.facts import Facts
from antecede.core.packet import Delivery, Packet
from antecede.protocols.detectors import DETECTORS
from antecede.protocols.sizes import count_entries
from antecede.simulate.costs import Tally
from antecede.simulate.queue import Queue
from antecede.simulate.trace import Trace

EXAMPLES = 5
"""So many broken deliveries are told in words."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong. `early`, `late`: deliveries against causal (or declared) order; `out_of_turn`:
    against the order of their sender. `missed`: late ones that a detector let pass, by detector."""

    early: int
    late: int
    out_of_turn: int
    duplicated: int
    stuck: int
    lost: int
    alarms: dict[str, int]
    missed: dict[str, int]
    examples: list[str]

    def broken(self, facts: Facts) -> bool:
        """Whether the protocol broke what it promises."""
        order = self.early + self.late if facts.exact else 0
        turns = self.out_of_turn if facts.exact or facts.order == "fifo" else 0
        return bool(order + turns + self.duplicated + self.stuck + self.lost)


class Watch:
    """Processes are numbered; `promised` says where order is promised."""

    def __init__(
        self, queue: Queue, names: list[str], facts: Facts, promised: list[bool], trace: Trace | None
    ) -> None:
        n = len(names)
        self.queue, self.names, self.facts, self.promised, self.trace = queue, names, facts, promised, trace
        self.index = {name: i for i, name in enumerate(names)}
        self.declared = SemanticWindow(n) if facts.order == "semantic" else None
        self.oracle: Window = self.declared or Window(n)
        self.tally = Tally()
        self.last = 0.0
        """When something happened last."""
        self.events = [0] * n
        """How many sends and deliveries each process has had: the number of its latest own event."""
        self.under_way: dict[bytes, tuple[Flight, float]] = {}
        """By payload: what is not delivered everywhere, and when it was sent."""
        self.held: list[dict[int, float]] = [{} for _ in names]
        """For each process, what has arrived and was not delivered: since when."""
        self.ready: list[dict[int, float]] = [{} for _ in names]
        """For each process, what of that waits for no cause any more: since when."""
        self.filed: list[dict[int, list[Flight]]] = [{} for _ in names]
        """For each process, by the slot of a missing cause: what waits for that one at least."""
        self.newest = [[-1] * n for _ in names]
        self.early = self.late = self.out_of_turn = self.duplicated = 0
        self.alarms: Counter[str] = Counter()
        self.caught: Counter[str] = Counter()
        self.examples: list[str] = []

    def sent(self, i: int, targets: list[int], depends_on: int | None) -> bytes:
        """A process is about to send; returns the payload."""
        if self.declared is not None:
            message = self.declared.send_after(i, targets, depends_on)
        else:
            message = self.oracle.send(i, targets)
        self.events[i] += 1
        if self.trace is not None:
            self.trace.send(i, message, targets, depends_on)
        payload = message.to_bytes(8, "little")
        self.last = self.queue.now
        self.under_way[payload] = (self.oracle.flights[message], self.last)
        return payload

    def posted(self, packets: list[Packet]) -> None:
        """Packets are transmitted for the first time."""
        if len(packets) == 1 or len({(p.kind, p.stamp, p.payload) for p in packets}) == 1:
            self._tally(packets[0], len(packets))
            return
        for packet in packets:
            self._tally(packet, 1)

    def _tally(self, packet: Packet, alike: int) -> None:
        """Count a packet, and others that differ from it in their target only."""
        tally, now, size = self.tally, self.queue.now, len(packet.stamp)
        tally.packets[packet.kind] += alike
        if packet.kind != "message":
            tally.control_size += alike * size
            return
        tally.stamp_sizes[size] += alike
        tally.stamp_entries[count_entries(packet)] += alike
        _, sent = self.under_way.get(packet.payload, (None, now))
        if now > sent:
            tally.backs.extend([now - sent] * alike)

    def arrived(self, i: int, packet: Packet, deliveries: list[Delivery]) -> None:
        """A packet came to the endpoint of a process, and this is what it delivered."""
        self.tally.arrivals += 1
        self.last = self.queue.now
        if self.trace is not None:
            message = int.from_bytes(packet.payload, "little") if packet.kind == "message" else None
            self.trace.receive(i, packet, message)
        payload = packet.payload
        for delivery in deliveries:
            if delivery.payload == payload:
                return
        if packet.kind == "message" and payload in self.under_way:
            flight, _ = self.under_way[payload]
            if self.oracle.due[i] & flight.bit:
                self._hold(i, flight)

    def delivered(self, i: int, delivery: Delivery) -> None:
        """The application of a process gets a message."""
        source, oracle = self.index[delivery.sender], self.oracle
        if source == i:
            return
        flight, sent = self.under_way.get(delivery.payload, (None, 0.0))
        if flight is None or not oracle.due[i] & flight.bit:
            self.duplicated += 1
            return
        message, now = flight.message, self.queue.now
        self.events[i] += 1
        self.tally.latencies.append(now - sent)
        late = oracle.past[i] & flight.bit
        early = oracle.land(i, flight)
        if self.promised[i]:
            newest = self.newest[i]
            if message > newest[source]:
                newest[source] = message
            else:
                self.out_of_turn += 1
            if early or late or delivery.alarms:
                self._judge(i, message, early, bool(late), delivery.alarms)
        if self.trace is not None:
            self.trace.deliver(i, source, message, "early" if early else "late" if late else None)
        if self.held[i]:
            self._release(i, flight, now)
        if not flight.left:
            del self.under_way[delivery.payload]

    def verdict(self) -> Verdict:
        """At the end of a run, when nothing more can happen."""
        left = self.oracle.undelivered()
        stuck = sum(message in self.held[i] for i, message in left)
        detectors = DETECTORS if self.facts.order == "probably causal" else ()
        return Verdict(
            early=self.early,
            late=self.late,
            out_of_turn=self.out_of_turn,
            duplicated=self.duplicated,
            stuck=stuck,
            lost=len(left) - stuck,
            alarms={name: self.alarms[name] for name in detectors},
            missed={name: self.late - self.caught[name] for name in detectors},
            examples=self.examples,
        )

    def _judge(self, i: int, message: int, early: int, late: bool, alarms: tuple[str, ...]) -> None:
        if alarms:
            self.alarms.update(alarms)
        if late:
            self.late += 1
            self.caught.update(alarms)
        if early:
            self.early += 1
            if len(self.examples) < EXAMPLES:
                before = ", ".join(f"m{cause}" for cause in self.oracle.named(early))
                self.examples.append(f"{self.names[i]} delivered m{message} before {before}")

    def _hold(self, i: int, flight: Flight) -> None:
        held = self.held[i]
        held[flight.message] = self.queue.now
        if len(held) > self.tally.peak_held:
            self.tally.peak_held = len(held)
        self._file(i, flight)

    def _file(self, i: int, flight: Flight) -> None:
        """Note under one missing cause that a message waits; without any, that it need not."""
        missing = flight.past & self.oracle.due[i]
        if not missing:
            self.ready[i][flight.message] = self.queue.now
            return
        filed, last = self.filed[i], missing.bit_length() - 1  # most likely delivered last
        if last in filed:
            filed[last].append(flight)
        else:
            filed[last] = [flight]

    def _release(self, i: int, flight: Flight, now: float) -> None:
        held, filed, message = self.held[i], self.filed[i], flight.message
        if message in held:
            arrived, ready = held.pop(message), self.ready[i].pop(message, now)
            if now > arrived:
                self.tally.waits.append(now - arrived)
            if now > ready:
                self.tally.needless.append(now - ready)
        if flight.slot in filed:
            for other in filed.pop(flight.slot):
                if other.message in held:
                    self._file(i, other)

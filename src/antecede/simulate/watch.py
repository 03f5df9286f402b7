"""The watch: sees everything that happens in a run, asks the oracle about each delivery, tallies the costs.

It knows no protocol: a message is a number in the payload, and what a protocol promises is in its facts.
"""

from collections import Counter

import msgspec

from antecede.causality.window import SemanticWindow, Window
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


class Held:
    """A copy that has arrived and was not delivered; `ready`: since when nothing speaks against it."""

    __slots__ = ("arrived", "ready")

    def __init__(self, arrived: float) -> None:
        self.arrived = arrived
        self.ready: float | None = None


class Watch:
    """Processes are numbered; `watched` are those where order is promised."""

    def __init__(
        self, queue: Queue, names: list[str], facts: Facts, watched: set[int], trace: Trace | None
    ) -> None:
        n = len(names)
        self.queue, self.names, self.facts, self.watched, self.trace = queue, names, facts, watched, trace
        self.index = {name: i for i, name in enumerate(names)}
        self.declared = SemanticWindow(n) if facts.order == "semantic" else None
        self.oracle: Window = self.declared or Window(n)
        self.tally = Tally()
        self.sent_at: dict[int, float] = {}
        self.held: list[dict[int, Held]] = [{} for _ in names]
        self.filed: list[dict[int, list[int]]] = [{} for _ in names]
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
        self.sent_at[message] = self.queue.now
        if self.trace is not None:
            self.trace.send(i, message, targets)
        return message.to_bytes(8, "little")

    def posted(self, packets: list[Packet]) -> None:
        """Packets are transmitted for the first time."""
        tally, now = self.tally, self.queue.now
        for packet in packets:
            tally.packets[packet.kind] += 1
            if packet.kind != "message":
                tally.control_size += len(packet.stamp)
                continue
            tally.stamp_sizes[len(packet.stamp)] += 1
            tally.stamp_entries[count_entries(packet)] += 1
            back = now - self.sent_at.get(int.from_bytes(packet.payload, "little"), now)
            if back:
                tally.backs.append(back)

    def arrived(self, i: int, packet: Packet, deliveries: list[Delivery]) -> None:
        """A packet came to the endpoint of a process, and this is what it delivered."""
        self.tally.arrivals += 1
        message = int.from_bytes(packet.payload, "little") if packet.kind == "message" else None
        if self.trace is not None:
            self.trace.receive(i, packet, message)
        at_once = any(delivery.payload == packet.payload for delivery in deliveries)
        if message is not None and not at_once and self.oracle.expects(i, message):
            self._hold(i, message)

    def delivered(self, i: int, delivery: Delivery) -> None:
        """The application of a process gets a message."""
        message, now, oracle = int.from_bytes(delivery.payload, "little"), self.queue.now, self.oracle
        source = self.index[delivery.sender]
        if source == i:
            return
        flight = oracle.flights.get(message)
        if flight is None or not oracle.due[i] & flight.bit:
            self.duplicated += 1
            return
        self.tally.deliveries += 1
        self.tally.latencies.append(now - self.sent_at[message])
        late = oracle.past[i] & flight.bit
        early = oracle.deliver(i, message)
        if i in self.watched:
            self._turn(i, source, message)
            if early or late or delivery.alarms:
                self._judge(i, message, early, bool(late), delivery.alarms)
        if self.trace is not None:
            self.trace.deliver(i, source, message, "early" if early else "late" if late else None)
        if self.held[i]:
            self._release(i, message, now)
        if not flight.left:
            del self.sent_at[message]

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

    def _turn(self, i: int, source: int, message: int) -> None:
        newest = self.newest[i]
        if message < newest[source]:
            self.out_of_turn += 1
        else:
            newest[source] = message

    def _judge(self, i: int, message: int, early: int, late: bool, alarms: tuple[str, ...]) -> None:
        self.alarms.update(alarms)
        if late:
            self.late += 1
            self.caught.update(alarms)
        if early:
            self.early += 1
            if len(self.examples) < EXAMPLES:
                before = ", ".join(f"m{cause}" for cause in self.oracle.named(early))
                self.examples.append(f"{self.names[i]} delivered m{message} before {before}")

    def _hold(self, i: int, message: int) -> None:
        held = self.held[i]
        held[message] = Held(self.queue.now)
        self.tally.peak_held = max(self.tally.peak_held, len(held))
        self._file(i, message)

    def _file(self, i: int, message: int) -> None:
        """Note under one missing cause that a message waits; without any, that it need not."""
        missing = self.oracle.missing(i, message)
        if missing:
            self.filed[i].setdefault(self.oracle.first(missing), []).append(message)
        else:
            self.held[i][message].ready = self.queue.now

    def _release(self, i: int, message: int, now: float) -> None:
        held = self.held[i].pop(message, None)
        if held is not None and now > held.arrived:
            self.tally.waits.append(now - held.arrived)
            if held.ready is not None and now > held.ready:
                self.tally.needless.append(now - held.ready)
        for other in self.filed[i].pop(message, ()):
            if other in self.held[i]:
                self._file(i, other)

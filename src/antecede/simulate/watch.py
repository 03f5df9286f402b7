"""The watch: sees everything that happens in a run, has each delivery judged, tallies the costs.

It knows no protocol: a message is a number in the payload, and what a protocol promises is in its facts.
What happens is only written down; now and then the judge gets it as a block.
"""

from collections import Counter

import msgspec

from antecede.core.facts import Facts
from antecede.core.packet import Delivery, Packet
from antecede.protocols.detectors import DETECTORS
from antecede.protocols.registry import count_stamp_entries
from antecede.simulate.costs import CostTally
from antecede.simulate.queue import Queue
from antecede.simulate.records import Records
from antecede.simulate.trace import Recorder, RunTrace
from antecede.simulate.verdict.judge import Example, Judge
from antecede.simulate.verdict.layout import DELIVER, EARLY, HOLD, LATE, SEND, TRANSMIT

MEMORY = 1024
"""So many of its latest own events a process can name as what a message depends on."""


_ORDERS = {0: None, EARLY: "early", LATE: "late", EARLY | LATE: "early"}


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
        self,
        queue: Queue,
        names: list[str],
        facts: Facts,
        promised: list[bool],
        trace: Recorder | None,
    ) -> None:
        n = len(names)
        self.queue, self.names, self.trace = queue, names, trace
        self.facts, self.promised = facts, promised
        self.id_by_process = {name: i for i, name in enumerate(names)}
        self.declared = facts.order == "semantic"
        """Whether messages depend on what is declared."""
        self.judge = Judge(promised, MEMORY if self.declared else 0)
        self.records = Records()
        self.rows = self.records.rows
        self.sends, self.delivers = SEND * n, DELIVER * n
        self.holds, self.transmits = HOLD * n, TRANSMIT * n
        self.tally = CostTally()
        self.last = 0.0
        """When something happened last."""
        self.messages = 0
        """How many were sent."""
        self.newest, self.sent_at = b"", 0.0
        """The payload of the latest, and when it was sent."""
        self.events = [0] * n
        """How many sends and deliveries each process has had: the number of its latest own event."""
        self.due: list[set[bytes]] = [set() for _ in names]
        """For each process, the payloads of what is addressed to it and was not delivered."""
        self.arrived: list[set[bytes]] = [set() for _ in names]
        """For each process, where others pass messages on: what is due and has arrived, if only once."""
        self.alarmed: list[tuple[int, tuple[str, ...]]] = []
        """Deliveries with alarms since the judge was asked last, by the number of their record."""
        self.duplicated = 0
        self.alarms: Counter[str] = Counter()
        self.caught: Counter[str] = Counter()
        self.examples: list[str] = []
        if isinstance(trace, RunTrace):
            trace.ask_for_verdicts = self.judge_records

    def record_send_and_make_payload(
        self,
        process: int,
        targets: list[int],
        depends_on: int | None,
    ) -> bytes:
        """A process is about to send; returns the payload."""
        message, now = self.messages, self.queue.now
        self.messages = message + 1
        self.events[process] += 1
        if self.trace is not None:
            self.trace.on_send(process, message, targets, depends_on)
        self.newest = payload = message.to_bytes(8, "little")
        self.last = self.sent_at = now
        self.records.add_send(now, self.sends + process, payload, targets, depends_on)
        due = self.due
        for target in targets:
            due[target].add(payload)
        return payload

    def on_transmit(self, packets: list[Packet]) -> None:
        """Packets are transmitted for the first time."""
        first = packets[0]
        kind, stamp, payload = first.kind, first.stamp, first.payload
        for packet in packets:
            if packet.stamp != stamp or packet.payload != payload or packet.kind != kind:
                break
        else:
            self._count_equal_packets(first, len(packets))
            return
        for packet in packets:
            self._count_equal_packets(packet, 1)

    def _count_equal_packets(self, packet: Packet, how_many: int) -> None:
        """Count a packet and those that differ from it in their target only: so many in all."""
        tally, now = self.tally, self.queue.now
        size, payload = len(packet.stamp), packet.payload
        tally.packets[packet.kind] += how_many
        if packet.kind != "message":
            tally.control_size += how_many * size
            return
        tally.stamp_sizes[size] += how_many
        tally.stamp_entries[count_stamp_entries(packet)] += how_many
        if self.facts.relays:  # nothing is kept back; what leaves later is passed on
            return
        target = self.id_by_process[packet.target]
        if (now > self.sent_at or payload != self.newest) and payload in self.due[target]:
            self.rows += (now, self.transmits + target, payload) * how_many

    def on_arrive(
        self,
        process: int,
        packet: Packet,
        deliveries: list[Delivery],
    ) -> None:
        """A packet came to the endpoint of a process, and this is what it delivered."""
        self.tally.arrivals += 1
        self.last = self.queue.now
        if self.trace is not None:
            message = int.from_bytes(packet.payload, "little") if packet.kind == "message" else None
            self.trace.on_receive(process, packet, message)
        payload = packet.payload
        for delivery in deliveries:
            if delivery.payload == payload:
                return
        if packet.kind != "message" or payload not in self.due[process]:
            return
        if self.facts.relays:
            if payload in self.arrived[process]:
                return  # it waits since its first copy
            self.arrived[process].add(payload)
        self.rows += (self.last, self.holds + process, payload)

    def on_deliver(self, process: int, delivery: Delivery) -> None:
        """The application of a process gets a message."""
        if delivery.sender == self.names[process]:
            return
        payload = delivery.payload
        try:
            self.due[process].remove(payload)
        except KeyError:
            self.duplicated += 1
            return
        self.arrived[process].discard(payload)
        self.rows += (self.queue.now, self.delivers + process, payload)
        self.events[process] += 1
        if delivery.alarms and self.promised[process]:
            self.alarms.update(delivery.alarms)
            self.alarmed.append((len(self.rows) // 3 - 1, delivery.alarms))
        if self.trace is not None:
            self.trace.on_deliver(
                process, self.id_by_process[delivery.sender], int.from_bytes(payload, "little")
            )

    def judge_records(self) -> None:
        """Have everything judged that has happened until now."""
        if not self.rows:
            return
        block, tally = self.records.take_block(), self.tally
        judged = self.judge.judge(block)
        for times, more in (
            (tally.latencies, judged.latencies), (tally.waits, judged.waits),
            (tally.needless, judged.needless), (tally.backs, judged.backs),
        ):  # fmt: skip
            times.frombytes(more.tobytes())
        tally.peak_held = self.judge.peak_held
        for number, alarms in self.alarmed:
            if judged.orders[number] & LATE:
                self.caught.update(alarms)
        self.examples += map(self._describe_example, judged.examples)
        if self.trace is not None:
            orders = judged.orders[block.what // len(self.names) == DELIVER]
            self.trace.on_verdicts([_ORDERS[order] for order in orders.tolist()])
        self.alarmed = []

    def make_verdict(self) -> Verdict:
        """At the end of a run, when nothing more can happen and all is settled."""
        judge, stuck = self.judge, self.judge.held
        detectors = DETECTORS if self.facts.order == "probably causal" else ()
        return Verdict(
            early=judge.early,
            late=judge.late,
            out_of_turn=judge.out_of_turn,
            duplicated=self.duplicated,
            stuck=stuck,
            lost=sum(map(len, self.due)) - stuck,
            alarms={name: self.alarms[name] for name in detectors},
            missed={name: judge.late - self.caught[name] for name in detectors},
            examples=self.examples,
        )

    def _describe_example(self, example: Example) -> str:
        before = ", ".join(f"m{cause}" for cause in example.causes)
        return f"{self.names[example.process]} delivered m{example.message} before {before}"

"""Replays recorded communication through the real endpoints of a protocol: what would it have cost here?

The network is that of the log: a copy travels for as long as it did there. What the log does not have, such
as acknowledgements, travels for the median time of its link; where that has none, of all. A process sends
when it did in the log, but not before it has been handed what it had been handed then: no application answers
what it was not given. That cannot come to a standstill by itself, since what was handed over was sent before.

Delay is what a protocol adds: from the moment in which a copy would have arrived, had it left when the
application wished to send it, to its delivery. So it counts alike whether a message waits at its sender or at
its receiver. Needless is the part of it in which all that the copy depends on had been delivered.
"""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import msgspec
import numpy as np

from antecede.core.endpoint import Endpoint
from antecede.core.packet import Delivery, Packet
from antecede.kernels.arrays import group_by_key
from antecede.kernels.ragged import Ints
from antecede.protocols.registry import endpoint, list_protocols
from antecede.simulate.applications import Wish
from antecede.simulate.costs import CostFigure, summarize_counted_values
from antecede.simulate.direct import DirectCarrier
from antecede.simulate.queue import Queue
from antecede.simulate.recording import EVERYTHING, NOTHING, Floats, Recording
from antecede.simulate.verdict.judge import Judge
from antecede.simulate.watch import MEMORY, Verdict, Watch

STEP = 20_000
"""Events between two looks of the judge."""
MOST_EVENTS = 1000
"""For each message and process: more than any protocol needs that comes to an end."""
OLDEST = MEMORY - 8
"""Own events that are longer ago cannot be named, and a message depends on everything then."""


LARGE_STAMP, LARGE_ENTRY = 8192, 16
"""Bytes of a stamp at which a replay is stopped: 8 kB, or 16 for each pair of processes. A stamp whose size
depends on the group alone is smaller; what is larger grows with the run, and the replay's time with it."""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What a protocol made of a recording. Times are in the unit of the recording.

    `bytes`, `packets` and `delay` have the mean of each stretch of the recording: control bytes of a message
    (the stamps of its copies, and whole control packets), control packets for a message, delay of a copy.
    A message that somebody passes on is an extra packet, and control information as a whole. `needless` is a
    share of the delay. `unsent` messages and `undelivered` copies are those of a protocol that came to a
    standstill, or did not come to an end; its other figures mean nothing.
    """

    protocol: str
    options: dict[str, Any]
    messages: int
    copies: int
    unsent: int
    undelivered: int
    is_overgrown: bool
    """Whether it was stopped since its stamps had become too large to be of use."""
    control_bytes: CostFigure
    total_bytes: float
    extras: float
    acks: float
    delay_mean: float
    delay_p99: float
    needless: float
    waited: int
    peak_held: int
    verdict: Verdict
    bytes: list[float]
    packets: list[float]
    delay: list[float]

    @property
    def finished(self) -> bool:
        """Whether all was sent and delivered."""
        return not self.unsent and not self.undelivered


def replay(recording: Recording, protocol: str, options: dict[str, Any]) -> Replay:
    """Let everything happen once more, under a protocol."""
    return _Replay(recording, protocol, options).run()


class _StampTooLargeError(Exception):
    """The stamps of a protocol have grown so much that nobody would use it here."""


class _ReplayWatch(Watch):
    """Knows messages by their numbers in the recording, beside those in the order of this run."""

    def __init__(self, queue: Queue, recording: Recording, promised: list[bool], protocol: str) -> None:
        super().__init__(queue, recording.names, list_protocols()[protocol], promised, None)
        if recording.declares_dependence and not self.declared:
            self.judge = Judge(promised, MEMORY)
        self.starts = recording.starts.tolist()
        self.recorded: list[int] = []
        """The number in the recording of each message that was sent."""
        self.sending = -1
        """The message that is being sent, or was sent last, by its number in the recording."""
        self.copies: dict[bytes, dict[int, int]] = {}
        """By payload and target, the copies that are not delivered."""
        self.untransmitted: dict[int, int] = {}
        """The copies of the message that is being sent, by target, until they leave."""
        self.waiting: list[set[bytes]] = [set() for _ in recording.names]
        """For each process, what should be there by now, and is not delivered."""
        self.senders = [recording.names[sender] for sender in recording.sender.tolist()]
        self.bytes = [0] * recording.messages
        self.more_packets = [0] * recording.messages
        """Packets that are no copies from the sender of a message."""
        self.relayed = 0
        self.largest_stamp = max(LARGE_STAMP, LARGE_ENTRY * len(recording.names) ** 2)

    def record_send_and_make_payload(self, process: int, targets: list[int], depends_on: int | None) -> bytes:
        payload = super().record_send_and_make_payload(process, targets, depends_on)
        self.recorded.append(self.sending)
        copies = range(self.starts[self.sending], self.starts[self.sending + 1])
        self.copies[payload] = dict(zip(targets, copies, strict=True))
        self.untransmitted = self.copies[payload].copy()
        return payload

    def _count_equal_packets(self, packet: Packet, how_many: int) -> None:
        super()._count_equal_packets(packet, how_many)
        if len(packet.stamp) > self.largest_stamp:
            raise _StampTooLargeError
        if packet.kind != "message":
            self.bytes[self.sending] += how_many * len(packet.encode())
            self.more_packets[self.sending] += how_many
            return
        message = self.recorded[int.from_bytes(packet.payload, "little")]
        if packet.source == self.senders[message]:
            self.bytes[message] += how_many * len(packet.stamp)
        else:
            # Somebody passes it on: one more packet, all of which is the protocol's.
            self.bytes[message] += how_many * len(packet.encode())
            self.more_packets[message] += how_many
            self.relayed += how_many

    def on_arrive(self, process: int, packet: Packet, deliveries: list[Delivery]) -> None:
        self.tally.arrivals += 1
        self.last = self.queue.now
        if packet.kind == "message" and all(one.payload != packet.payload for one in deliveries):
            self.mark_copy_waiting_unless_delivered((process, packet.payload))

    def mark_copy_waiting_unless_delivered(self, process_and_payload: tuple[int, bytes]) -> None:
        """A copy is there, or should be by now; it waits from now on if it is not delivered."""
        i, payload = process_and_payload
        if payload in self.due[i] and payload not in self.waiting[i]:
            self.waiting[i].add(payload)
            self.rows += (self.queue.now, self.holds + i, payload)

    def pop_copy_at_its_first_delivery(self, process: int, delivery: Delivery) -> int | None:
        """The copy that is delivered here for the first time; None for any other delivery."""
        copies = self.copies.get(delivery.payload)
        copy = copies.pop(process, None) if copies else None
        if copies is not None and not copies:
            del self.copies[delivery.payload]
        if copy is not None:
            self.waiting[process].discard(delivery.payload)
        return copy


class _RecordedApplications:
    """They send what the recording has, each process in its order."""

    answers = True

    def __init__(self, queue: Queue, recording: Recording, watch: _ReplayWatch, only_broadcast: bool) -> None:
        self.queue, self.watch, self.only_broadcast = queue, watch, only_broadcast
        n = len(recording.names)
        self.sent, self.heard = recording.sent.tolist(), recording.heard.tolist()
        self.targets, self.starts = recording.target.tolist(), watch.starts
        self.depends_on = recording.depends_on.tolist()
        starts, messages = group_by_key(recording.sender, n)
        self.outgoing = _split_into_reversed_parts(messages, starts)
        """Of each process, the messages that it has not sent, the next one last."""
        self.expected = _split_into_reversed_parts(recording.handed, recording.handed_starts)
        """Of each process, the copies that it was handed in the log and not yet here, the next one last."""
        self.heard_here = [0] * n
        """Of each process, how many of those in the log it was handed without a gap."""
        self.is_early = bytearray(recording.copies)
        """Copies that were handed over before some that came earlier in the log."""
        self.event = [0] * (recording.copies + recording.messages)
        """The numbers of own events here, by what they are in the recording."""
        self.wished = [nan] * recording.messages
        """When each message would have been sent, had nothing kept it back."""
        self.left = [nan] * recording.messages
        """When it was sent."""
        self.delivered = [nan] * recording.copies
        self.line = [False] * n
        """Processes that may not send though they wish to."""
        self.copies = recording.copies
        self.carrier: DirectCarrier

    def start_sending(self) -> None:
        """Every process looks at its first message."""
        for i in range(len(self.outgoing)):
            self.send_waiting_messages(i)

    def send_waiting_messages(self, process: int) -> None:
        """Send what is to be sent by now."""
        outgoing, now = self.outgoing[process], self.queue.now
        self.line[process] = False
        while outgoing:
            message = outgoing[-1]
            if self.heard_here[process] < self.heard[message]:
                return  # the delivery that is missing will ask again
            if self.sent[message] > now:
                self.queue.schedule(self.sent[message], self.send_waiting_messages, process)
                return
            if isnan(self.wished[message]):
                self.wished[message] = now
            if not self.carrier.may_send(process):
                self.line[process] = True
                return
            outgoing.pop()
            self._send_message(process, message)

    def _send_message(self, process: int, message: int) -> None:
        start, end = self.starts[message], self.starts[message + 1]
        targets = None if self.only_broadcast else self.targets[start:end]
        self.watch.sending = message
        self.left[message] = self.queue.now
        self.carrier.send(Wish(process, targets, self._find_dependence(process, message)))
        self.event[self.copies + message] = self.watch.events[process]

    def _find_dependence(self, process: int, message: int) -> int | None:
        """The own event that a message depends on, by its number here; 0 for none, None for all before."""
        code = self.depends_on[message]
        if code == EVERYTHING:
            return None
        number = 0 if code == NOTHING else self.event[code]
        is_forgotten = 0 < number < self.watch.events[process] - OLDEST
        return None if is_forgotten else number

    def on_deliver(self, process: int, delivery: Delivery) -> None:
        """A message is handed over; whoever waited for it may send, when all that is delivered now is."""
        self.watch.on_deliver(process, delivery)
        copy = self.watch.pop_copy_at_its_first_delivery(process, delivery)
        if copy is None:
            return
        self.delivered[copy] = self.queue.now
        self.event[copy] = self.watch.events[process]
        self.is_early[copy] = True
        expected, before = self.expected[process], self.heard_here[process]
        while expected and self.is_early[expected[-1]]:
            expected.pop()
            self.heard_here[process] += 1
        outgoing = self.outgoing[process]
        if outgoing and before < self.heard[outgoing[-1]] <= self.heard_here[process]:
            self.queue.schedule(self.queue.now, self.send_waiting_messages, process)


class _ReplayCarrier(DirectCarrier):
    """Packets travel as the recording says, and never by the wires of a simulated network."""

    watch: _ReplayWatch

    def __init__(
        self, recording: Recording, endpoints: list[Endpoint], watch: _ReplayWatch, applications: Any
    ) -> None:
        no_wires: Any = None
        super().__init__(watch.queue, no_wires, endpoints, watch, applications)
        links, of_all = recording.find_median_travel_times_by_link_and_overall()
        links[np.isnan(links)] = of_all
        self.typical: list[list[float]] = links.tolist()
        """How long packets travel that are not in the recording, [source, target]."""
        self.travel: list[float] = recording.travel.tolist()
        self.sender = np.repeat(recording.sender, np.diff(recording.starts)).tolist()
        """Of each copy."""

    def send(self, wish: Wish) -> None:
        super().send(wish)
        watch, now = self.watch, self.queue.now
        for target, copy in watch.untransmitted.items():
            # It is kept back: here it would have arrived.
            when = now + self.travel[copy]
            self.queue.schedule(when, watch.mark_copy_waiting_unless_delivered, (target, watch.newest))

    def _transmit(self, process: int, packets: list[Packet]) -> None:
        self.watch.on_transmit(packets)
        now = self.queue.now
        times = [now + self._note_departure_and_find_travel_time(process, packet) for packet in packets]
        self.queue.schedule_all(times, self.on_packet_arrival, packets)

    def _note_departure_and_find_travel_time(self, process: int, packet: Packet) -> float:
        """How long a packet travels. Messages that others pass on do not take the way of the log."""
        target = self.id_by_process[packet.target]
        if packet.kind == "message":
            if packet.payload == self.watch.newest:
                self.watch.untransmitted.pop(target, None)
            copy = self.watch.copies.get(packet.payload, {}).get(target)
            if copy is not None and self.sender[copy] == process:
                return self.travel[copy]
        return self.typical[process][target]


class _Replay:
    """The parts of a replay, put together."""

    def __init__(self, recording: Recording, protocol: str, options: dict[str, Any]) -> None:
        facts, names = list_protocols()[protocol], recording.names
        endpoints = [endpoint(protocol, process=name, group=names, **options) for name in names]
        place = options.get("server", options.get("monitor"))
        promised = [place in (None, name) for name in names]
        self.recording, self.protocol, self.options = recording, protocol, options
        self.queue = Queue()
        self.watch = _ReplayWatch(self.queue, recording, promised, protocol)
        self.applications = _RecordedApplications(self.queue, recording, self.watch, not facts.unicast)
        self.carrier = _ReplayCarrier(recording, endpoints, self.watch, self.applications)
        self.applications.carrier = self.carrier

    def run(self) -> Replay:
        """Let everything happen."""
        self.applications.start_sending()
        limit = MOST_EVENTS * (self.recording.messages + 1) * len(self.recording.names)
        finished = is_overgrown = False
        while limit > 0 and not finished and not is_overgrown:
            try:
                finished = self.queue.run(STEP)
            except _StampTooLargeError:
                is_overgrown = True
            limit -= STEP
            self.watch.judge_records()
        return self._summarize_replay(is_overgrown)

    def _summarize_replay(self, is_overgrown: bool) -> Replay:
        recording, tally = self.recording, self.watch.tally
        delay = self._compute_copy_delays()
        costs = tally.summarize_costs(self.watch.messages)
        needless = self._sum_needless_wait()
        total = float(delay.sum())
        return Replay(
            protocol=self.protocol,
            options=self.options,
            messages=recording.messages,
            copies=recording.copies,
            unsent=recording.messages - self.watch.messages,
            undelivered=int(np.isnan(self.applications.delivered).sum()),
            is_overgrown=is_overgrown,
            control_bytes=summarize_counted_values(tally.stamp_sizes),
            total_bytes=sum(self.watch.bytes) / max(recording.messages, 1),
            extras=costs.extras + self.watch.relayed / max(recording.messages, 1),
            acks=costs.acks,
            delay_mean=total / max(len(delay), 1),
            delay_p99=_find_99th_percentile(delay),
            needless=min(1.0, needless / total) if total > 0 else 0.0,
            waited=int((delay > 0).sum()),
            peak_held=costs.peak_held,
            verdict=self.watch.make_verdict(),
            bytes=self._average_message_values_by_stretch(self.watch.bytes),
            packets=self._average_message_values_by_stretch(self.watch.more_packets),
            delay=self._average_copy_values_by_stretch(delay),
        )

    def _compute_copy_delays(self) -> Floats:
        """Of each copy, what was added to its way; 0 if it was never delivered."""
        lengths = np.diff(self.recording.starts)
        wished = np.repeat(self.applications.wished, lengths)
        delay = self.applications.delivered - (wished + self.recording.travel)
        return np.maximum(np.nan_to_num(delay, nan=0.0), 0.0)

    def _sum_needless_wait(self) -> float:
        """What the judge found needless, and all the time in which applications might not send."""
        kept = np.subtract(self.applications.left, self.applications.wished)
        blocked = kept * np.diff(self.recording.starts)
        return sum(self.watch.tally.needless) + float(np.nansum(blocked))

    def _average_message_values_by_stretch(self, values: list[int]) -> list[float]:
        """The mean of each stretch, over its messages."""
        stretch = self.recording.assign_messages_to_stretches()
        return _average_by_stretch(np.array(values, dtype=np.float64), stretch)

    def _average_copy_values_by_stretch(self, values: Floats) -> list[float]:
        """The mean of each stretch, over its copies."""
        stretch = np.repeat(self.recording.assign_messages_to_stretches(), np.diff(self.recording.starts))
        return _average_by_stretch(values, stretch)


def _split_into_reversed_parts(items: Ints, starts: Ints) -> list[list[int]]:
    """The items of each part, the last one first."""
    parts = np.split(items, starts[1:-1])
    return [part[::-1].tolist() for part in parts]


def _average_by_stretch(values: Floats, stretch_numbers: Ints) -> list[float]:
    sums = np.bincount(stretch_numbers, values)
    numbers = np.bincount(stretch_numbers)
    means: list[float] = (sums / np.maximum(numbers, 1)).tolist()
    return means


def _find_99th_percentile(values: Floats) -> float:
    """The value that 99 of 100 do not exceed."""
    if not len(values):
        return 0.0
    rank = int(np.ceil(0.99 * len(values))) - 1
    return float(np.partition(values, rank)[rank])

"""Carries packets straight from endpoint to endpoint, where the network loses and repeats nothing."""

from collections import Counter

from antecede.core.endpoint import Endpoint
from antecede.core.packet import Packet
from antecede.simulate.applications import Applications, Wish
from antecede.simulate.queue import Queue
from antecede.simulate.watch import Watch
from antecede.simulate.wires import Wires


class DirectCarrier:
    """Packets go from endpoint to endpoint."""

    def __init__(
        self,
        queue: Queue,
        wires: Wires,
        endpoints: list[Endpoint],
        watch: Watch,
        applications: Applications,
    ) -> None:
        self.queue, self.wires, self.endpoints, self.watch = queue, wires, endpoints, watch
        self.applications = applications
        self.id_by_process = watch.id_by_process
        self.counts: Counter[str] = Counter()
        self.latest: list[dict[str, int]] = [{} for _ in endpoints]
        everybody = range(len(endpoints))
        self.others = [[x for x in everybody if x != i] for i in everybody]
        self.hand_up = applications.on_deliver if applications.answers else watch.on_deliver
        self.blocking = type(endpoints[0])._is_application_blocked is not Endpoint._is_application_blocked

    def may_send(self, process: int) -> bool:
        """Whether the application of a process need not wait now."""
        return not (self.blocking and self.endpoints[process].blocked)

    def send(self, wish: Wish) -> None:
        """The application of a process sends."""
        i = wish.process
        targets = self.others[i] if wish.targets is None else wish.targets
        payload = self.watch.record_send_and_make_payload(i, targets, wish.depends_on)
        to = None if wish.targets is None else [self.watch.names[x] for x in targets]
        endpoint = self.endpoints[i]
        if not self.watch.declared or wish.depends_on is None:
            effects = endpoint.send(payload, to)
        else:
            how = {"depends_on": wish.depends_on}
            effects = endpoint.send(payload, to, **how)
        if effects.packets:
            self._transmit(i, effects.packets)
        for delivery in effects.deliveries:
            self.hand_up(i, delivery)

    def on_packet_arrival(self, packet: Packet) -> None:
        """A packet reaches its target."""
        i, number, source = self.id_by_process[packet.target], packet.number, packet.source
        latest = self.latest[i]
        if number < latest.get(source, 0):
            self.counts["overtaken"] += 1
        else:
            latest[source] = number
        effects = self.endpoints[i].receive(packet)
        deliveries = effects.deliveries
        self.watch.on_arrive(i, packet, deliveries)
        if effects.packets:
            self._transmit(i, effects.packets)
        for delivery in deliveries:
            self.hand_up(i, delivery)
        if self.blocking and self.applications.line[i]:
            self.applications.send_waiting_messages(i)

    def _transmit(self, process: int, packets: list[Packet]) -> None:
        self.watch.on_transmit(packets)
        wires, index, now = self.wires, self.id_by_process, self.queue.now
        if wires.plain:
            delays = wires.pairs[process]
            times = [now + delays[index[packet.target]]() for packet in packets]
        else:
            mean = wires.draw_mean_delay_of_message()
            times = [wires.draw_arrival_time(process, index[packet.target], now, mean) for packet in packets]
        self.queue.schedule_all(times, self.on_packet_arrival, packets)

"""Drives real endpoints over a network in which any packet may be next, and asks the oracle about each
delivery. Knows no protocol's rules: only which options it needs to be run."""

from collections.abc import Callable, Sequence
from typing import Any

import antecede
from antecede import Delivery, Effects, Endpoint, Packet
from antecede.simulate.oracle import Oracle

Make = Callable[[str, list[str]], Endpoint]


def maker(protocol: str, **options: Any) -> Make:
    """How a process gets its endpoint of a protocol."""
    return lambda process, group: antecede.endpoint(protocol, process=process, group=group, **options)


class World:
    """n processes p0, p1, ...; message m is the payload str(m). Every step checks and records."""

    def __init__(self, make: Make, n: int, fifo: bool = False, watch: Sequence[str] | None = None) -> None:
        self.names = [f"p{i}" for i in range(n)]
        self.endpoints = {name: make(name, self.names) for name in self.names}
        self.oracle = Oracle(self.names)
        self.fifo = fifo
        self.watch = set(self.names if watch is None else watch)
        """Where causal order is promised."""
        self.network: list[bytes] = []
        self.violations: list[tuple[str, int, list[int]]] = []
        self.needless: list[tuple[str, int]] = []
        """Arrived, allowed by causal order, and yet not delivered."""
        self.deliveries: list[tuple[str, int]] = []
        self.waiting: dict[str, set[int]] = {name: set() for name in self.names}
        self.packets: list[Packet] = []

    def send(self, process: str, to: Sequence[str] | None = None, **how: Any) -> int:
        """Send message number len(messages); returns that number."""
        targets = self.names if to is None else list(to)
        message = self.oracle.record_send(process, targets)
        effects = self.endpoints[process].send(str(message).encode(), to=to, **how)
        self._take_effects(process, effects)
        return message

    def choices(self) -> list[int]:
        """Places in the network whose packet may arrive next."""
        if not self.fifo:
            return list(range(len(self.network)))
        first: dict[tuple[str, str], int] = {}
        for at, data in enumerate(self.network):
            packet = antecede.decode(data)
            first.setdefault((packet.source, packet.target), at)
        return sorted(first.values())

    def arrive(self, choice: int) -> Effects:
        """Let the packet at place choices()[choice] arrive."""
        packet = antecede.decode(self.network.pop(self.choices()[choice]))
        target = packet.target
        if packet.kind == "message" and not self.oracle.delivered[target] >> int(packet.payload) & 1:
            self.waiting[target].add(int(packet.payload))
        effects = self.endpoints[target].receive(packet)
        self._take_effects(target, effects)
        return effects

    def arrive_message(self, message: int, at: str) -> Effects:
        """Let the copy of a message for one process arrive."""
        for choice, place in enumerate(self.choices()):
            packet = antecede.decode(self.network[place])
            if packet.kind == "message" and packet.target == at and int(packet.payload) == message:
                return self.arrive(choice)
        raise AssertionError(f"message {message} for {at} is not in the network")

    def drain(self, pick: Callable[[int], int] = lambda size: 0) -> None:
        """Let everything arrive; pick(size) chooses among the possible next arrivals."""
        while choices := self.choices():
            self.arrive(pick(len(choices)))

    def order(self, process: str) -> list[int]:
        """The messages delivered at a process, in order."""
        return [message for at, message in self.deliveries if at == process]

    def _take_effects(self, process: str, effects: Effects) -> None:
        self.network += [packet.encode() for packet in effects.packets]
        self.packets += effects.packets
        for delivery in effects.deliveries:
            self._note_delivery(process, delivery)
        if process in self.watch:
            ready = (m for m in sorted(self.waiting[process]) if self.oracle.is_ready(process, m))
            self.needless += [(process, m) for m in ready]

    def _note_delivery(self, process: str, delivery: Delivery) -> None:
        message = int(delivery.payload)
        assert delivery.sender == self.oracle.sender[message]
        missing = self.oracle.record_delivery_and_list_missing_causes(process, message)
        if missing and process in self.watch:
            self.violations.append((process, message, missing))
        self.waiting[process].discard(message)
        self.deliveries.append((process, message))

    def stuck(self) -> list[tuple[object, int]]:
        """What is never delivered although everything arrived."""
        assert not self.network
        return self.oracle.list_undelivered_messages()


def run_script(world: World, script: Sequence[tuple[int, int, int]], kind: str) -> None:
    """Play a list of numbers as sends and arrivals, then let everything arrive.

    kind: "unicast", "multicast" or "broadcast".
    """
    n = len(world.names)
    for action, a, b in script:
        if action % 2 and world.network:
            world.arrive(a % len(world.choices()))
        else:
            sender = world.names[a % n]
            if not world.endpoints[sender].blocked:
                world.send(sender, destinations(world.names, a % n, b, kind))
    numbers = [b for _, _, b in script] or [0]
    world.drain(lambda size: numbers[len(world.network) % len(numbers)] % size)


def destinations(names: list[str], sender: int, choice: int, kind: str) -> list[str] | None:
    """The destinations that a number stands for."""
    others = [name for i, name in enumerate(names) if i != sender]
    if kind == "broadcast":
        return None
    if kind == "unicast":
        return [others[choice % len(others)]]
    mask = choice % (2 ** len(others) - 1) + 1
    return [name for i, name in enumerate(others) if mask >> i & 1]

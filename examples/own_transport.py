"""Causal delivery over a transport of one's own: endpoints without I/O, and a network that reorders.

    python examples/own_transport.py

The network here is a list of packets that arrive in random order. In its place could be a web socket, a queue
or a radio: an endpoint only wants to be handed what has come, and hands back what is to be sent.
"""

from random import Random

import antecede

PEOPLE = ["ann", "bob", "cid"]


class Network:
    """Packets under way, which arrive in any order."""

    def __init__(self, seed: int) -> None:
        self.packets: list[bytes] = []
        self.random = Random(seed)

    def carry(self, effects: antecede.Effects) -> None:
        self.packets += [packet.encode() for packet in effects.packets]

    def take(self) -> antecede.Packet:
        packet = self.packets.pop(self.random.randrange(len(self.packets)))
        return antecede.decode(packet)


def main() -> None:
    network = Network(seed=8)
    ends = {name: antecede.endpoint("vector", process=name, group=PEOPLE) for name in PEOPLE}
    network.carry(ends["ann"].send(b"shall we meet at five?"))
    while network.packets:
        packet = network.take()
        end = ends[packet.target]
        effects = end.receive(packet)
        network.carry(effects)
        for delivery in effects.deliveries:
            text = delivery.payload.decode()
            print(f"{packet.target} reads {delivery.sender}: {text}")
            if packet.target == "bob" and text.endswith("?"):
                network.carry(end.send(b"five is fine"))
        for held in end.held():
            print(f"{packet.target} is not shown yet: {held}")


if __name__ == "__main__":
    main()

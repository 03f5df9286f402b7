"""A world that looks at its endpoints after every step, and counts on its own what invariants speak of."""

from typing import Any

import numpy as np

import antecede
from antecede import Effects, Packet
from antecede.core.gated import Gated
from antecede.simulate.oracle import list_set_bits
from tests.harness import World, maker

KINDS = ["unicast", "multicast", "broadcast"]


class Checked(World):
    """A world that looks at the process that made a step, after every step."""

    def __init__(self, protocol: str, n: int, fifo: bool = False, **options: Any) -> None:
        super().__init__(maker(protocol, **options), n, fifo)
        self.targets: list[list[str]] = []
        """Per message, the processes it was sent to, without its sender."""
        self.knows: dict[str, set[tuple[int, str]]] = {name: set() for name in self.names}
        """Per process, the deliveries (message, process) in its past."""
        self.knew: list[set[tuple[int, str]]] = []
        self.arrivals: list[Packet] = []

    def send(self, process: str, to: Any = None, **how: Any) -> int:
        self.targets.append([name for name in (to or self.names) if name != process])
        self.knew.append(set(self.knows[process]))
        return super().send(process, to, **how)

    def arrive(self, choice: int) -> Effects:
        self.arrivals.append(antecede.decode(self.network[self.choices()[choice]]))
        return super().arrive(choice)

    def _take_effects(self, process: str, effects: Effects) -> None:
        super()._take_effects(process, effects)
        self.check(process, effects)

    def _note_delivery(self, process: str, delivery: antecede.Delivery) -> None:
        super()._note_delivery(process, delivery)
        message = int(delivery.payload)
        if delivery.sender != process:
            self.knows[process] |= self.knew[message] | {(message, process)}

    def check(self, process: str, effects: Effects) -> None:
        """Assert what holds after a step of this process."""
        raise NotImplementedError

    def sends_in_past(self, process: str) -> np.ndarray[Any, Any]:
        """[x][y]: how many messages of x to y were sent in the past of the process."""
        counts = np.zeros((len(self.names),) * 2, np.int64)
        for message in list_set_bits(self.oracle.past[process]):
            for target in self.targets[message]:
                counts[self.names.index(str(self.oracle.sender[message])), self.names.index(target)] += 1
        return counts

    def count(self, message: int) -> int:
        """Which of its sender's messages this is, from 1."""
        return self.oracle.sender[: message + 1].count(self.oracle.sender[message])


def vector(endpoint: Gated, size: int | None = None) -> list[int]:
    """The gate's counts, dense."""
    return [endpoint.gate.have.get(x, 0) for x in range(size or endpoint.n)]

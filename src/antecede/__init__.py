"""antecede puts the events of distributed systems back into causal order.

The core in one screen: `endpoint` makes one process's end of a protocol; `send` and `receive` return
effects (packets to transmit, deliveries in order); `protocols` tells what each protocol promises.
"""

from antecede.core.endpoint import Endpoint
from antecede.core.errors import AntecedeError, CallerError, DuplicateError, InputError
from antecede.core.facts import Facts
from antecede.core.packet import Delivery, Effects, Gap, Held, Missing, Packet, decode
from antecede.protocols.registry import endpoint, protocols, restore

__all__ = [
    "AntecedeError",
    "CallerError",
    "Delivery",
    "DuplicateError",
    "Effects",
    "Endpoint",
    "Facts",
    "Gap",
    "Held",
    "InputError",
    "Missing",
    "Packet",
    "decode",
    "endpoint",
    "protocols",
    "restore",
]

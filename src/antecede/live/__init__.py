"""Nodes: the protocols between real processes. The only room that touches sockets, brokers and disks.

    async with antecede.live.join("optimal", process="a", listen="tcp://0.0.0.0:7001",
                                  peers={"b": "tcp://..."}, journal="a.db") as node:
        await node.send(b"hello", to=["b"])
        async for delivery in node:
            ...

Owns connections, credit, the journal and the events file. Knows core and protocols; not Spark, nor how logs
are read.
"""

from antecede.live.errors import JournalError, NodeClosedError, NodeFailedError
from antecede.live.joining import join, open_node
from antecede.live.node import Invitation, LiveDelivery, Node
from antecede.live.status import PeerStatus, Status
from antecede.live.transaction import Transaction
from antecede.live.transports.tcp import Certificate

__all__ = [
    "Certificate",
    "Invitation",
    "JournalError",
    "LiveDelivery",
    "Node",
    "NodeClosedError",
    "NodeFailedError",
    "PeerStatus",
    "Status",
    "Transaction",
    "join",
    "open_node",
]

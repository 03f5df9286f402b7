"""server: causal delivery at one server (Kearns, Koodalattupuram 1989).

As told by Mattern and Fünfrocken 1995, section 2. V[i] counts the messages of client i to the server.
Corrected: as told there is no test on the sender's own entry, so two messages of one client may be swapped
unless the channel is FIFO; with that test added any channel will do.
"""

from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.packet import Packet
from antecede.protocols.one_place import OnePlace


class Server(OnePlace, kw_only=True):
    """V as in the paper; at the server the gate's `have` counts what was delivered from each client."""

    facts = Facts(
        name="server",
        title="causal delivery at one server",
        paper="Kearns, Koodalattupuram 1989",
        order="causal at one process",
        unicast=True,
        monitor=True,
        exact=True,
        delay_optimal=True,
        stamp="n",
        options={"server": "name of the process that receives in causal order"},
    )
    shared = ("server",)
    counts_itself = True

    server: str

    @property
    def causal_receiver(self) -> str:
        """The server."""
        return self.server

    @staticmethod
    def find_needs_and_gains(stamp: list[int], source: int, receiver: int) -> tuple[list[int], Pairs]:
        """At the server all that V counts comes first, but for the message itself."""
        wanted = stamp.copy()
        wanted[source] = max(stamp[source] - 1, 0)  # 0 in a stamp is right elsewhere than at the server
        return wanted, [(source, stamp[source])]

    def _decode_and_check_stamp(self, packet: Packet) -> list[int]:
        stamp: list[int] = super()._decode_and_check_stamp(packet)
        own_entry = stamp[self.id_by_process[packet.source]]
        if self.process == self.server and own_entry == 0:
            raise InputError("stamp of 'server': the client's own entry is 0, it must count this message")
        return stamp

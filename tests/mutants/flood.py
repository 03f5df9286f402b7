"""Wrong rules for `flood`: PC-broadcast of Nedelec18, with links that stay and with links that change."""

from collections.abc import Callable
from random import Random

from antecede import Effects
from antecede.core.gate import Pairs
from antecede.core.packet import Packet
from antecede.core.seen import Seen
from antecede.protocols.flood import Flood, Flooded, FloodStamp, Opening
from tests.cases import make_line
from tests.mutants.drives import STEPS, broadcast
from tests.mutants.table import Mutant
from tests.mutants.trials import Trial
from tests.overlay import play_with_changing_links


def changing_links(world: Trial, random: Random) -> None:
    """Broadcasts while links come and go."""
    play_with_changing_links(world, random.randrange, 3 * STEPS)


class WithoutOrder(Flood, kw_only=True):
    """Links do not keep order."""

    @staticmethod
    def find_needs_and_gains(stamp: FloodStamp | int, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        _, gains = Flood.find_needs_and_gains(stamp, source, receiver)
        return [], gains


class PassesNothingOn(Flood, kw_only=True):
    """Only the origin of a message sends it."""

    def _forward_over_links(self, flooded: Flooded, source: int | None = None) -> None:
        if flooded.origin == self.me:
            super()._forward_over_links(flooded, source)


class DeliversCopies(Flood, kw_only=True):
    """What comes again is delivered again."""

    def _process_ready_packet(self, packet: Packet, stamp: FloodStamp) -> None:
        if self.known[stamp.origin].has(stamp.number) and stamp.origin != self.me:
            self._add_to_inbox(self.group[stamp.origin], packet)
        super()._process_ready_packet(packet, stamp)


class OpensAtOnce(Flood, kw_only=True):
    """A link is used as soon as it is added."""

    def add_link(self, peer: str) -> Effects:
        self.linked = sorted([*self.linked, self._get_peer_id(peer)])
        return Effects([], [])


class PingsStraight(Flood, kw_only=True):
    """The ping goes over the new link instead of the old ones."""

    def add_link(self, peer: str) -> Effects:
        target = self._get_peer_id(peer)
        ping = self._assign_message_number()
        self._send_over_link(target, Flooded("ping", self.me, ping, target, b""))
        self.opening[target] = Opening(ping, [])
        return self._deliver_ready_and_take_outbox([])


class KeepsNothing(Flood, kw_only=True):
    """What is delivered between ping and pong does not go over the new link."""

    def _process_control_packet(self, packet: Packet, stamp: int) -> None:
        for opening in self.opening.values():
            opening.kept.clear()
        super()._process_control_packet(packet, stamp)


class KeepsBackwards(Flood, kw_only=True):
    """What was kept goes over the new link, the latest first."""

    def _process_control_packet(self, packet: Packet, stamp: int) -> None:
        for opening in self.opening.values():
            opening.kept.reverse()
        super()._process_control_packet(packet, stamp)


class TakesAnyPong(Flood, kw_only=True):
    """A pong of a link that was given up and is added again opens it."""

    def _process_control_packet(self, packet: Packet, stamp: int) -> None:
        opening = self.opening.get(self.id_by_process[packet.source])
        super()._process_control_packet(packet, opening.ping if opening else stamp)


class ForgetsOrigin(Flood, kw_only=True):
    """Only the newest message of an origin is known: then an old copy is news."""

    def _process_ready_packet(self, packet: Packet, stamp: FloodStamp) -> None:
        if self.known[stamp.origin].low != stamp.number and stamp.origin != self.me:
            self.known[stamp.origin] = Seen(stamp.number - 1)
        super()._process_ready_packet(packet, stamp)


def draw_line(process: str, group: list[str]) -> dict[str, list[str]]:
    return make_line(len(group))


LINE: dict[str, Callable[[str, list[str]], object]] = {"overlay": draw_line}

ROWS = [
    Mutant(
        "flood-no-order",
        "links do not keep order",
        "Nedelec18",
        "unsafe",
        WithoutOrder,
        broadcast,
        sizes=(4, 5),
    ),
    Mutant("flood-no-relay", "nobody passes on", "Nedelec18", "unsafe", PassesNothingOn, broadcast, LINE),
    Mutant(
        "flood-copies",
        "what comes again is delivered again",
        "Nedelec18",
        "error",
        DeliversCopies,
        broadcast,
        says="delivered there before",
    ),
    Mutant(
        "flood-forgets",
        "only the newest message of each origin is known",
        "Nedelec18",
        "error",
        ForgetsOrigin,
        broadcast,
        says="delivered there before",
    ),
    *(
        Mutant(name, wrong, "Nedelec18, links that change", verdict, kind, changing_links, LINE, sizes=(4, 5))
        for name, wrong, verdict, kind in [
            ("flood-opens-at-once", "a link is used as soon as it is added", "unsafe", OpensAtOnce),
            ("flood-pings-straight", "the ping goes over the new link", "unsafe", PingsStraight),
            (
                "flood-keeps-nothing",
                "what comes before the pong is not sent over the link",
                "unsafe",
                KeepsNothing,
            ),
            ("flood-keeps-backwards", "what was kept is sent the latest first", "unsafe", KeepsBackwards),
            ("flood-any-pong", "a late pong opens a link that was added again", "unsafe", TakesAnyPong),
        ]
    ),
]

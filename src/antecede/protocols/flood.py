"""flood: causal broadcast over links, with the id of a message as its only control data.

PC-broadcast of Nédelec, Molli and Mostefaoui 2018. Each process has links to some others, and a link keeps
the order of what goes over it (here by a number of its own, as the network reorders). Whoever gets a message
for the first time passes it on over all its links, then delivers it; what comes again is dropped. So of each
link it is true that

    what a process has delivered went over the link before anything that it delivered later,
    unless the process at the other end had it already,                                        (*)

and nobody gets a message before its causes. A stamp has a constant size; the price is that a message crosses
every link, and waits for what is before it on the link, be it a cause or not.

Links may come and go while messages are under way:
- A link that were simply opened would break (*): what is sent over it overtakes what was delivered before and
  is still on its way along the old links. So `add_link` first floods a *ping* over the links there are. When
  the other end gets the ping it has got all that was delivered before it, and answers with a *pong*. What is
  delivered meanwhile is kept; it goes over the link when the pong is there, and then the link is open.
- `remove_link` sends nothing more over a link; what is under way on it is taken in. That cannot break (*). It
  must not cut the group in two, not for a moment: whoever cannot be reached over open links gets no messages
  and no pings. So remove a link after the one that replaces it is open (`links` names those that are). A
  process knows its own links only, and refuses to remove the last one.

A link leads one way; for both ways it is added, or removed, at both ends. The overlay at the start is a ring
with chords to the processes 2, 4, 8, ... places away: few links (about 2 * log2(n) each) and few hops, and up
to five processes everybody is linked with everybody. The group itself stays as it is.
"""

from typing import Literal, NamedTuple

import msgspec

from antecede.core import wire
from antecede.core.errors import CallerError, InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.packet import Effects, Held, Packet
from antecede.core.seen import Seen
from antecede.protocols.numbered import Numbered
from antecede.protocols.stamps import check_process_ids, refuse_claimed_count_above_actual, refuse_packet_kind

Overlay = dict[str, list[str]]
"""To whom each process has a link."""


class FloodStamp(NamedTuple):
    """Broadcast `number` of `origin`, and how many went over the link before; a ping names who answers."""

    origin: int
    number: int
    earlier: int
    end: int = 0


class Flooded(msgspec.Struct):
    """A message or a ping that is passed on."""

    kind: Literal["message", "ping"]
    origin: int
    number: int
    end: int
    payload: bytes


class Opening(msgspec.Struct):
    """A link that is to be opened: the number of its ping, and what was delivered since."""

    ping: int
    kept: list[Flooded]


_decode_message = wire.make_decoder(tuple[wire.Count, wire.Number, wire.Count], "stamp of 'flood'")
_decode_ping = wire.make_decoder(tuple[wire.Count, wire.Number, wire.Count, wire.Count], "ping of 'flood'")
_decode_pong = wire.make_decoder(wire.Number, "pong of 'flood'")


class Flood(Numbered, kw_only=True):
    """`known` has, by origin, which of its messages and pings have come: in order, so that is one number.

    `linked` are the ids of those to whom there is an open link; `opening` has links that are to be opened.
    """

    facts = Facts(
        name="flood",
        title="causal broadcast over links that keep order",
        paper="Nédelec, Molli, Mostefaoui 2018",
        order="causal",
        broadcast=True,
        exact=True,
        delay_optimal=False,
        relays=True,
        counts="packets on the link from that process",
        stamp="3, on every link that the message crosses",
        options={
            "overlay": "who has links to whom: 'chords' (default), 'ring', 'full', or {process: [processes]}"
        },
    )
    shared = ("overlay",)

    overlay: Literal["chords", "ring", "full"] | Overlay = "chords"
    linked: list[int] = []
    opening: dict[int, Opening] = {}
    known: list[Seen] = []

    def _init_state(self) -> None:
        if isinstance(self.overlay, dict):
            self.overlay = _check_and_sort_overlay(self.overlay, self.group)
            self.linked = [self.id_by_process[name] for name in self.overlay[self.process]]
        else:
            self.linked = _list_overlay_links(self.overlay, self.me, self.n)
        self.known = [Seen() for _ in self.group]

    @property
    def links(self) -> list[str]:
        """To whom this process passes messages on."""
        return [self.group[target] for target in self.linked]

    def add_link(self, peer: str) -> Effects:
        """Open a link to another process, as soon as it has answered; the packets are the ping."""
        target = self._get_peer_id(peer)
        if target in self.linked or target in self.opening:
            raise CallerError(f"{self.process} has a link to {peer}, or is opening one")
        ping = self._assign_message_number()
        self._forward_over_links(Flooded("ping", self.me, ping, target, b""))
        self.opening[target] = Opening(ping, [])
        return self._deliver_ready_and_take_outbox([])

    def remove_link(self, peer: str) -> None:
        """Send nothing more over a link, or give up to open it; the others must keep the group connected."""
        target = self._get_peer_id(peer)
        if self.linked == [target]:
            raise CallerError(f"the link to {peer} is the last one of {self.process}; open another one first")
        if target in self.opening:
            del self.opening[target]
        elif target in self.linked:
            self.linked.remove(target)
        else:
            raise CallerError(f"{self.process} has no link to {peer}; it has links to {self.links}")

    def _get_peer_id(self, peer: str) -> int:
        if not isinstance(peer, str) or peer not in self.seen:
            raise CallerError(f"{peer!r} is not another member of the group {self.group}")
        return self.id_by_process[peer]

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        number = self._assign_message_number()
        self._forward_over_links(Flooded("message", self.me, number, 0, payload))

    def _assign_message_number(self) -> int:
        own = self.known[self.me]
        own.add(own.low + 1)
        return own.low

    def _forward_over_links(self, flooded: Flooded, except_to: int | None = None) -> None:
        """Send over all links, but not back to where it came from: (*) holds there already."""
        for target in self.linked:
            if target != except_to:
                self._send_over_link(target, flooded)
        for target, opening in self.opening.items():
            if target != except_to:
                opening.kept.append(flooded)

    def _send_over_link(self, target: int, flooded: Flooded) -> None:
        earlier = self._increment_sent_count_and_return_old(target)
        fields = [flooded.origin, flooded.number, earlier]
        if flooded.kind == "ping":
            fields.append(flooded.end)
        self._emit_packet(target, wire.encode(fields), flooded.payload, flooded.kind)

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> FloodStamp | int:
        """What is flooded and its place on the link; of a pong, the number of the ping."""
        if kind == "pong":
            return _decode_pong(data)
        if kind == "message":
            stamp = FloodStamp(*_decode_message(data))
        elif kind == "ping":
            stamp = FloodStamp(*_decode_ping(data))
        else:
            refuse_packet_kind("flood", kind)
        check_process_ids((stamp.origin, stamp.end), group_size)
        return stamp

    @staticmethod
    def find_needs_and_gains(stamp: FloodStamp | int, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        """All that went over the link before comes first."""
        if isinstance(stamp, int):
            return [], []
        return [(source, stamp.earlier)], [(source, stamp.earlier + 1)]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """Three of a message, four of a ping, one of a pong."""
        read = msgspec.msgpack.decode(stamp)
        return len(read) if isinstance(read, list) else 1

    def _refuse_claim_of_unsent_messages(self, stamp: FloodStamp | int) -> None:
        own = self.known[self.me].low
        if isinstance(stamp, int):
            if stamp > own:
                raise InputError(f"answers ping {stamp} of {self.process}, which was never sent")
        elif stamp.origin == self.me:
            refuse_claimed_count_above_actual(stamp.number, own)

    def _process_ready_packet(self, packet: Packet, stamp: FloodStamp) -> None:
        known = self.known[stamp.origin]
        if known.has(stamp.number):
            return
        known.add(stamp.number)
        kind: Literal["message", "ping"] = "ping" if packet.kind == "ping" else "message"
        flooded = Flooded(kind, stamp.origin, stamp.number, stamp.end, packet.payload)
        self._forward_over_links(flooded, self.id_by_process[packet.source])
        if kind == "message":
            self._add_to_inbox(self.group[stamp.origin], packet)
        elif stamp.end == self.me:
            self._emit_packet(stamp.origin, wire.encode(stamp.number), kind="pong")

    def _process_control_packet(self, packet: Packet, stamp: int) -> None:
        """Open the link whose ping this pong answers, unless it was given up."""
        target = self.id_by_process[packet.source]
        opening = self.opening.get(target)
        if opening is None or opening.ping != stamp:
            return
        del self.opening[target]
        for flooded in opening.kept:
            self._send_over_link(target, flooded)
        self.linked = sorted([*self.linked, target])

    def held(self) -> list[Held]:
        """Every message that waits here, once, with what is before its first copy on the link of that."""
        waiting: dict[tuple[int, int], Held] = {}
        for packet, unmet in self.gate.iterate_held_with_unmet_needs():
            stamp = self._decode_and_check_stamp(packet)
            flooded = stamp.origin, stamp.number
            if flooded not in waiting and not self.known[stamp.origin].has(stamp.number):
                waiting[flooded] = self._describe_held_packet(packet, unmet)
        return list(waiting.values())


def _list_overlay_links(overlay: str, process_id: int, group_size: int) -> list[int]:
    """The links of a process in an overlay by name."""
    if overlay == "full":
        return [other for other in range(group_size) if other != process_id]
    steps = [1]
    if overlay == "chords":
        steps = [2**power for power in range(group_size.bit_length()) if 2**power < group_size]
    ends = {(process_id + way * step) % group_size for step in steps for way in (1, -1)}
    return sorted(ends - {process_id})


def _check_and_sort_overlay(overlay: Overlay, group: list[str]) -> Overlay:
    """The overlay in one order; refuses one that does not connect the group."""
    strangers = {*overlay}.union(*overlay.values()) - {*group}
    odd = strangers or {*group} - {*overlay}
    if odd:
        raise CallerError(f"the overlay has the links of each process of {group}: see {sorted(odd)}")
    links = {name: sorted({*overlay[name]} - {name}) for name in group}
    backwards: Overlay = {name: [] for name in group}
    for name, ends in links.items():
        for end in ends:
            backwards[end].append(name)
    for ways in (links, backwards):
        unreached = {*group} - _find_reachable_processes(group[0], ways)
        if unreached:
            raise CallerError(f"the overlay does not connect {group[0]} with {sorted(unreached)}, both ways")
    return links


def _find_reachable_processes(start: str, links: Overlay) -> set[str]:
    reached, news = {start}, [start]
    while news:
        unseen = [name for name in links[news.pop()] if name not in reached]
        reached.update(unseen)
        news += unseen
    return reached

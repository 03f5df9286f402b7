"""The endpoint contract: what every protocol's endpoint does the same way.

An endpoint is a pure state machine, and its fields are its whole state: a snapshot is those fields. This
class checks what comes in, numbers packets, refuses duplicates and hands local copies to the sender; a
protocol fills in the five hooks at the end. A hook that may refuse (`_decode_and_check_stamp`) changes
nothing; a hook that changes state cannot fail.
"""

import zlib
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from antecede.core import wire
from antecede.core.errors import CallerError, DuplicateError, InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.packet import Delivery, Effects, Gap, Held, Kind, Packet
from antecede.core.seen import Seen
from antecede.core.wire import LARGEST

SNAPSHOT_VERSION = 2


def check_process_name(name: object) -> str:
    """Refuse what cannot be the name of a process."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise CallerError(f"{name!r} cannot name a process: use a non-empty string of printable characters")
    return name


class Endpoint(msgspec.Struct, kw_only=True, dict=True, eq=False):
    """One process's end of a protocol. Made by `antecede.endpoint`."""

    facts: ClassVar[Facts]
    shared: ClassVar[tuple[str, ...]] = ()
    """Names of the options on which all members of a group must agree."""

    dense: ClassVar[bool] = True
    """Whether every count of a slot is one packet to this process, so that gaps are whole stretches."""
    gains_time: ClassVar[bool] = False
    """Whether a packet gains the whole time of its send, the sum of which grows from cause to effect."""
    brings_past: ClassVar[bool] = False
    """Whether messages bring their past along: then they name all of it, and nothing ever waits."""
    shares_entries: ClassVar[bool] = False
    """Whether several senders count on one entry, so that needs and gains are not by sender."""
    names_all_causes: ClassVar[bool] = True
    """Whether stamps alone put the packets to a process in order, without knowing how they arrived."""
    blocks: ClassVar[bool] = False
    """Whether a send may keep the application from sending again until something arrives."""
    tells_past: ClassVar[bool] = False
    """Whether `read_past_counts` names causes that nobody waits for: they are known to be delivered."""

    process: str
    group: list[str]
    manual: bool = False
    numbers: dict[str, int] = {}
    seen: dict[str, Seen] = {}
    pending_take: str | None = None

    # -- the public contract ---------------------------------------------------------------------

    def send(self, payload: bytes, to: Iterable[str] | None = None) -> Effects:
        """Send to the named processes; `to=None` is a broadcast, which reaches its sender at once."""
        return self._check_and_send_message(payload, to, self._send_message)

    def check_send(self, payload: bytes, to: Iterable[str] | None = None) -> None:
        """Raise what `send` would raise for these arguments, and do nothing else."""
        if not isinstance(payload, bytes):
            raise CallerError(f"a payload is bytes, not {type(payload).__name__}; encode it first")
        self._resolve_targets_and_whether_self(to)

    def receive(self, packet: Packet) -> Effects:
        """Take in a packet from the network; what can be delivered comes out in order."""
        if not (
            type(packet) is Packet
            and type(source := packet.source) is type(packet.kind) is str
            and type(packet.stamp) is type(packet.payload) is bytes
            and type(number := packet.number) is int
            and type(protocol := packet.protocol) is type(target := packet.target) is str
            and (protocol, packet.group, target) == self.protocol_group_and_process
            and (seen := self.seen.get(source)) is not None
            and seen.low < number <= LARGEST
            and number not in seen.above
        ):
            seen = self._refuse_wrong_or_repeated_packet(packet)
            number = packet.number
        stamp = self._decode_and_check_stamp(packet)
        if number == seen.low + 1 and not seen.above:
            seen.low = number
        else:
            seen.add(number)
        delivery = self._accept_packet(packet, stamp)
        return self._deliver_ready_and_take_outbox([] if delivery is None else [delivery])

    def take(self, sender: str | None = None) -> Effects:
        """Receive one message (from `sender`) on an endpoint made with `manual=True`.

        With nothing to receive there is no delivery, and `blocked` stays true until there is something.
        """
        if not self.manual:
            raise CallerError("take() needs an endpoint made with manual=True; this one delivers by itself")
        known = sender is None or (isinstance(sender, str) and sender in self.id_by_process)
        if not known:
            raise CallerError(f"{sender!r} is not in the group {self.group}")
        key = None if self._is_application_blocked() else self._find_next_deliverable(sender)
        if key is None:
            self.pending_take = sender or ""
            return self._deliver_ready_and_take_outbox([])
        self.pending_take = None
        return self._deliver_ready_and_take_outbox([self._pop_delivery(key)])

    @property
    def blocked(self) -> bool:
        """Whether the application has to wait: in a synchronous send, or in a `take` not yet served."""
        return self._is_application_blocked() or (
            self.pending_take is not None and self._find_next_deliverable(self.pending_take or None) is None
        )

    @property
    def backlog(self) -> int:
        """How many messages of this process the protocol keeps here, not yet on their way."""
        return 0

    def will_never_deliver(self, packet: Packet) -> bool:
        """Whether `receive` will not deliver this message, ever: it came with the state of a sponsor."""
        return False

    def held(self) -> list[Held]:
        """Every message that waits here, and what each one misses."""
        return []

    def root_gaps(self) -> list[Gap]:
        """What is waited for here and is not itself held.

        Stamps that name only the latest causes leave the rest to those: what is recovered may wait for more.
        So recover these and ask again, until there are none. Where stamps tell of the whole past, the first
        answer is all that is missing; docs/guarantees.md says for which protocols.
        """
        return []

    def snapshot(self) -> bytes:
        """The whole state; `antecede.restore` makes an endpoint that behaves the same from here on."""
        state = wire.encode(wire.convert_sets_to_sorted_lists(self))
        return wire.encode((SNAPSHOT_VERSION, self.facts.name, zlib.crc32(state), state))

    # -- what a stamp says without an endpoint: for tables of packets, and for costs ---------------

    @classmethod
    def read_needs_and_gains(
        cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int
    ) -> tuple[Pairs, Pairs]:
        """The needs and gains of a packet from `source` at `receiver`, by process.

        All that the stamp names is needed, met or not. Raises InputError if the stamp is not right.
        """
        raise NotImplementedError

    @classmethod
    def read_past_counts(cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int) -> Pairs:
        """How many messages of each process came before a packet, of those with `tells_past`."""
        return []

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """How many numbers a stamp holds: the size that the papers compare, beside the bytes on the wire."""
        raise NotImplementedError

    # -- what protocols use ----------------------------------------------------------------------

    @cached_property
    def id_by_process(self) -> dict[str, int]:
        """Process name to id; ids follow the sorted names, so every member counts alike."""
        return {name: i for i, name in enumerate(self.group)}

    @cached_property
    def me(self) -> int:
        """This process's id."""
        return self.id_by_process[self.process]

    @cached_property
    def n(self) -> int:
        """Number of processes."""
        return len(self.group)

    @cached_property
    def group_fingerprint(self) -> int:
        """Fingerprint of the group and of the options that all members must share."""
        return zlib.crc32(wire.encode(self._list_shared_settings()))

    @cached_property
    def protocol_group_and_process(self) -> tuple[str, int, str]:
        """What the packets for this process have in common: protocol, tag and target."""
        return self.facts.name, self.group_fingerprint, self.process

    @cached_property
    def other_ids(self) -> list[int]:
        """The ids of the other processes."""
        return [i for i in range(self.n) if i != self.me]

    @cached_property
    def outbox(self) -> list[Packet]:
        """Packets of the call under way; empty between calls."""
        return []

    def _check_and_send_message(
        self, payload: bytes, to: Iterable[str] | None, send_to_others: Callable[[bytes, list[int]], None]
    ) -> Effects:
        if not isinstance(payload, bytes):
            self.check_send(payload, to)
        if self._is_application_blocked():
            raise CallerError(f"{self.process} is blocked in a send; give it the acknowledgement first")
        targets, own = self._resolve_targets_and_whether_self(to)
        self.pending_take = None
        send_to_others(payload, targets)
        own_copies = [Delivery(self.process, payload)] if own else []
        return self._deliver_ready_and_take_outbox(own_copies)

    def _resolve_targets_and_whether_self(self, to: Iterable[str] | None) -> tuple[list[int], bool]:
        """The ids of the other processes named, and whether this one is; most calls name all or one."""
        if to is None and self.facts.broadcast:
            return self.other_ids[:], True
        if type(to) is list and len(to) == 1 and self.facts.unicast and type(to[0]) is str:
            target = self.id_by_process.get(to[0], self.me)
            if target != self.me:
                return [target], False
        names = self._check_and_list_destinations(to)
        targets = [self.id_by_process[name] for name in names if name != self.process]
        return targets, to is None or self.process in names

    def _emit_packet(
        self, target: int | str, stamp: bytes, payload: bytes = b"", kind: Kind = "message"
    ) -> int:
        name = self.group[target] if isinstance(target, int) else target
        number = self.numbers[name] = self.numbers.get(name, 0) + 1
        protocol, tag, process = self.protocol_group_and_process
        self.outbox.append(Packet(protocol, tag, kind, process, name, number, stamp, payload))
        return number

    def _emit_copies(self, targets: list[int], stamp: bytes, payload: bytes) -> None:
        """The same message to several processes."""
        protocol, tag, process = self.protocol_group_and_process
        group, numbers, outbox = self.group, self.numbers, self.outbox
        for target in targets:
            name = group[target]
            number = numbers[name] = numbers.get(name, 0) + 1
            outbox.append(Packet(protocol, tag, "message", process, name, number, stamp, payload))

    def _deliver_ready_and_take_outbox(self, deliveries: list[Delivery]) -> Effects:
        if not self.manual:
            while (key := self._find_next_deliverable(None)) is not None:
                deliveries.append(self._pop_delivery(key))
        packets = self.outbox
        if not packets:
            return Effects([], deliveries)
        self.outbox = []
        return Effects(packets, deliveries)

    # -- checks ----------------------------------------------------------------------------------

    def _check_and_list_destinations(self, to: Iterable[str] | None) -> list[str]:
        if to is None:
            names = [name for name in self.group if name != self.process]
        elif isinstance(to, str | bytes) or not isinstance(to, Iterable):
            raise CallerError(f"`to` is a list of process names: write to=[{to!r}]")
        else:
            names = list(to)
        for name in names:
            if not isinstance(name, str) or name not in self.id_by_process:
                raise CallerError(f"destination {name!r} is not in the group {self.group}")
        if len(set(names)) < len(names):
            raise CallerError(f"a destination is named twice in {names}")
        if to is not None and not names:
            raise CallerError("no destination: name at least one process, or leave `to` out to broadcast")
        self._check_receiver_count(len({*names} - {self.process}))
        return names

    def _check_receiver_count(self, other_receivers: int) -> None:
        """Refuse a message to so many other processes if the protocol cannot send it."""
        facts = self.facts
        only_broadcasts = facts.broadcast and not facts.unicast
        if only_broadcasts and other_receivers < self.n - 1:
            raise CallerError(f"{facts.name!r} only broadcasts: leave `to` out, or use 'optimal' or 'matrix'")
        if other_receivers > 1 and not (facts.multicast or facts.broadcast):
            raise CallerError(
                f"{facts.name!r} sends to one process at a time, not to {other_receivers}: copies sent one "
                "after the other are not in causal order; use a protocol with multicast, such as 'optimal'"
            )

    def _refuse_wrong_or_repeated_packet(self, packet: Packet) -> Seen:
        """Find out what is wrong with a packet, if anything; returns which of its source have come."""
        if not isinstance(packet, Packet):
            raise CallerError("receive() takes a Packet; turn bytes into one with antecede.decode")
        packet.check_field_types()
        if packet.protocol != self.facts.name:
            raise InputError(
                f"a packet of protocol {packet.protocol!r}; this endpoint runs {self.facts.name!r}"
            )
        if packet.target != self.process:
            raise InputError(f"a packet for {packet.target!r}; this is {self.process!r}")
        if packet.source not in self.seen:
            raise InputError(f"a packet from {packet.source!r}, who is not another member of the group")
        if packet.group != self.group_fingerprint:
            raise InputError(
                "the packet was made for another group, or for this one with other options: "
                "all members must be made with the same group and the same shared options"
            )
        seen = self.seen[packet.source]
        if seen.has(packet.number):
            raise DuplicateError(f"packet {packet.number} from {packet.source} was received before")
        return seen

    # -- the hooks of a protocol -----------------------------------------------------------------

    def _list_shared_settings(self) -> tuple[object, ...]:
        """What all members must have in common; packets of those who differ are refused."""
        options = [getattr(self, name) for name in self.shared]
        return (self.group, *options)

    def _init_state(self) -> None:
        """Check the options and make the initial state (not called when restored)."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        """Stamp and emit a message to other processes (to none, if it was only for the sender)."""
        raise NotImplementedError

    def _decode_and_check_stamp(self, packet: Packet) -> Any:
        """Decode and check the stamp; raise InputError and change nothing if it is not right."""
        raise NotImplementedError

    def _accept_packet(self, packet: Packet, stamp: Any) -> Delivery | None:
        """Take in a packet whose stamp was read; returns its delivery if it need not wait for anything."""
        raise NotImplementedError

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        """The key of the message to be delivered next (from `sender`), or None."""
        raise NotImplementedError

    def _pop_delivery(self, key: int) -> Delivery:
        """Deliver the message that `_find_next_deliverable` found."""
        raise NotImplementedError

    def _is_application_blocked(self) -> bool:
        """Whether the protocol keeps the application from going on."""
        return False

"""probabilistic, with processes that join and leave: Mostefaoui and Weiss 2017 say that they may, not how.

A joiner needs the entries V and the set of delivered messages of a sponsor, taken at one instant, and
every message not in that set. So, in this order:
1. every member calls `admit(name)`: from then on it also sends to the newcomer. The answer is how many
   messages it had sent before, which the newcomer will not get;
2. a sponsor calls `welcome(name, sent)` with those answers; it refuses until it has delivered them all;
3. the newcomer, not used before, calls `join(state)` and may then receive what was sent to it meanwhile.
Leaving: the others call `dismiss(name, sent)` with the number of messages that the leaver has sent; those
that are still under way are taken in, and nobody is welcomed before the sponsor has them.
"""

import msgspec

from antecede.core import wire
from antecede.core.endpoint import check_process_name
from antecede.core.errors import CallerError, InputError, TooEarlyError
from antecede.core.facts import Facts
from antecede.core.seen import Seen
from antecede.protocols.detectors import Recent
from antecede.protocols.probabilistic import Sharing


class Welcome(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What a sponsor hands to a newcomer."""

    tag: int
    name: str
    have: dict[wire.Count, wire.Count]
    known: dict[str, Seen]
    recent: list[Recent]
    left: dict[str, wire.Count]


_decode_welcome = wire.make_decoder(Welcome, "state of a sponsor")


class Probabilistic(Sharing, kw_only=True):
    """The protocol of Mostefaoui and Weiss 2017. The group may change, so packets are tied to R and K only.

    `left` has, for each process that left, how many messages it sent.
    """

    facts = Facts(
        name="probabilistic",
        title="probabilistic causal broadcast, R entries and K keys",
        paper="Mostefaoui, Weiss 2017",
        order="probably causal",
        broadcast=True,
        exact=False,
        delay_optimal=False,
        counts="deliveries counted on that entry",
        stamp="R + 2",
        options={
            "R": "number of entries (default 100)",
            "K": "number of keys of each process (default 4)",
            "set_id": "which keys this process has, 0 to comb(R, K) - 1 (default: drawn from its name)",
            "memory": "how many recent messages the detectors remember (default 256)",
        },
    )

    left: dict[str, int] = {}

    def _list_shared_settings(self) -> tuple[object, ...]:
        return (self.R, self.K)

    def admit(self, name: str) -> int:
        """Let a newcomer in; returns how many messages this process sent before."""
        if check_process_name(name) in self.seen or name == self.process:
            raise CallerError(f"{name!r} is or was a member; a newcomer needs a name of its own")
        self._set_group_members({*self.group, name})
        self.seen[name] = Seen()
        return self.sent

    def dismiss(self, name: str, sent: int) -> None:
        """Stop sending to a member that leaves, which has broadcast `sent` messages."""
        if check_process_name(name) not in self.id_by_process or name == self.process:
            raise CallerError(f"{name!r} is not another member of the group {self.group}")
        if not isinstance(sent, int) or not 0 <= sent <= wire.LARGEST:
            raise CallerError(f"sent={sent}: give the number of messages that {name} has broadcast")
        self.left[name] = sent
        self._set_group_members({*self.group} - {name})

    def has_delivered(self, name: str, sent: int) -> bool:
        """Whether the first `sent` messages of a member are delivered here."""
        return self.known.get(name, Seen()).low >= sent

    def welcome(self, name: str, sent: dict[str, int]) -> bytes:
        """The state for a newcomer, once everything that members sent before they admitted it is here."""
        counts = sent.values() if isinstance(sent, dict) else [None]
        if not all(isinstance(count, int) for count in counts):
            raise CallerError("`sent` has, for each member, the number that its admit() returned")
        is_member = check_process_name(name) in self.id_by_process
        if not is_member or set(sent) != {*self.group} - {name}:
            raise CallerError(f"admit {name!r} everywhere first, and give the answers of {self.group}")
        known = {**self.known, self.process: Seen(self.sent)}
        for member, count in (sent | self.left).items():
            if known.get(member, Seen()).low < count:
                raise TooEarlyError(
                    f"too early: message {count} of {member} is not delivered here; try later"
                )
        welcome = Welcome(self.group_fingerprint, name, self.gate.have, known, self.recent, self.left)
        return wire.encode(welcome)

    def join(self, state: bytes) -> None:
        """Begin as a newcomer, with the state of a sponsor."""
        welcome = _decode_welcome(state)
        if welcome.tag != self.group_fingerprint or welcome.name != self.process:
            raise InputError(
                f"a welcome for {welcome.name!r}; this is {self.process!r}, R={self.R}, K={self.K}"
            )
        delivered = sum(self.gate.have.values())
        if self.sent or self.gate.arrivals or delivered:
            raise CallerError("join() comes first: this endpoint has already sent or received")
        gone = [name for name in welcome.left if name in self.id_by_process]
        if gone:
            raise CallerError(f"{', '.join(gone)} left before {self.process} came: leave them out")
        self._check_welcome_entries(welcome)
        self.gate.have = welcome.have
        self.known, self.recent, self.left = welcome.known, welcome.recent, welcome.left

    def _check_welcome_entries(self, welcome: Welcome) -> None:
        """Refuse the state of a sponsor with another number of entries."""
        places = range(self.R)
        keys = {x for recent in welcome.recent for x in recent.keys}
        sizes = {len(recent.vector) for recent in welcome.recent}
        if [*welcome.have] != [*places] or keys - {*places} or sizes - {self.R}:
            raise InputError(f"state of a sponsor: made for other entries than the {self.R} here")

    def _set_group_members(self, members: set[str]) -> None:
        self.group = sorted(members)
        for cached in ("id_by_process", "me", "n", "other_ids"):
            self.__dict__.pop(cached, None)

"""A site: one process's endpoint over its link, made so that it survives a crash.

Whatever changes a site is an input (a message to send, a frame that arrived, the time to look at timers), and
what follows is a function of the state and the input. So: write the `record` of an input down, then `apply`
it, then transmit its frames and hand up its deliveries. After a crash `recover` from the last snapshot and
the records: the site is as it was, what was acknowledged is there, and what was transmitted but not
acknowledged will be sent again. Records are numbered, so old ones may follow a new snapshot; deliveries are
numbered, so the application, which knows how many it has taken, gets none twice. Writing things down is the
caller's business: a site does no I/O.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from antecede.core import wire
from antecede.core.endpoint import Endpoint
from antecede.core.errors import CallerError, InputError
from antecede.core.link import Frame, Link, decode_frame
from antecede.core.packet import Delivery, Packet, decode

RestoreEndpoint = Callable[[bytes], Endpoint]


class Input(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Something that happens to a site. `how`: further arguments of the protocol's `send`."""

    kind: Literal["send", "frame", "tick"]
    now: float
    data: bytes = b""
    to: tuple[str, ...] | None = None
    how: dict[str, int] = {}


class _Record(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    process: str
    number: wire.Count
    happening: Input


class Output(msgspec.Struct, frozen=True):
    """What follows: frames to transmit, deliveries to hand up; packets made and packets that came in.

    `refused` are pieces of data that the link brought and the endpoint would not take, with the reason.
    """

    frames: list[Frame] = []
    deliveries: list[Delivery] = []
    made: list[Packet] = []
    arrived: list[Packet] = []
    refused: list[tuple[bytes, str]] = []


class _Saved(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    endpoint: bytes
    link: Link
    delivered: wire.Count
    applied: wire.Count


class _Sealed(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    version: Literal[1]
    checksum: int
    saved: bytes


_read_record = wire.make_decoder(_Record, "not a record of a site")
_read_saved = wire.make_decoder(_Saved, "not a snapshot of a site")
_read_sealed = wire.make_decoder(_Sealed, "not a snapshot of a site")


class Site:
    """`delivered` counts the deliveries ever made, `applied` the inputs."""

    def __init__(self, endpoint: Endpoint, link: Link, delivered: int = 0, applied: int = 0) -> None:
        if endpoint.process != link.process or endpoint.manual:
            raise CallerError("a site has an endpoint and a link of one process, and delivers by itself")
        others = set(endpoint.group) - {endpoint.process}
        strangers = others - set(link.peers)
        if strangers:
            raise CallerError(f"the link of {link.process!r} does not reach {sorted(strangers)}")
        self.endpoint, self.link = endpoint, link
        self.delivered, self.applied = delivered, applied

    def record(self, happening: Input) -> bytes:
        """What to write down before the input is applied; what could not be read again is refused here."""
        record = _Record(self.endpoint.process, self.applied + 1, happening)
        written = wire.encode(record)
        try:
            _read_record(written)
        except InputError as error:
            raise CallerError(str(error)) from None
        return written

    def apply(self, happening: Input) -> Output:
        """Do what an input asks for; one that is refused with an error has changed nothing."""
        output = self._dispatch_input(happening)
        self.applied += 1
        return output

    def _dispatch_input(self, happening: Input) -> Output:
        if happening.kind == "send":
            try:
                effects = self.endpoint.send(happening.data, happening.to, **happening.how)
            except TypeError:
                protocol, how = self.endpoint.facts.name, sorted(happening.how)
                raise CallerError(f"send of {protocol!r} does not take {how}: leave it out") from None
            output = Output([], effects.deliveries, effects.packets)
            return self._make_frames_and_count_deliveries(output, happening.now)
        if happening.kind == "tick":
            return Output(self.link.tick(happening.now))
        return self._receive_frame(decode_frame(happening.data), happening.now)

    def snapshot(self) -> bytes:
        """The whole state, with a checksum."""
        state = _Saved(self.endpoint.snapshot(), self.link, self.delivered, self.applied)
        saved = wire.encode(wire.convert_sets_to_sorted_lists(state))
        return wire.encode(_Sealed(1, zlib.crc32(saved), saved))

    def _receive_frame(self, frame: Frame, now: float) -> Output:
        data, frames = self.link.receive(frame, now)
        output = Output(frames)
        for piece in data:
            try:
                packet = decode(piece)
                effects = self.endpoint.receive(packet)
            except InputError as error:
                output.refused.append((piece, str(error)))
                continue
            output.made.extend(effects.packets)
            output.deliveries.extend(effects.deliveries)
            output.arrived.append(packet)
        return self._make_frames_and_count_deliveries(output, now)

    def _make_frames_and_count_deliveries(self, output: Output, now: float) -> Output:
        """The link makes frames of the packets that were made: they are what is to be transmitted."""
        for packet in output.made:
            frames = self.link.send(packet.target, packet.encode(), now)
            output.frames.extend(frames)
        self.delivered += len(output.deliveries)
        return output


class Recovered(msgspec.Struct, frozen=True):
    """A site that is back, the deliveries that its application has not taken, and what each input brought."""

    site: Site
    deliveries: list[Delivery]
    outputs: list[Output]


def recover(snapshot: bytes, records: list[bytes], taken: int, restore: RestoreEndpoint) -> Recovered:
    """The site that took this snapshot and wrote down these records; its application took `taken`.

    `restore` makes an endpoint of its snapshot: `antecede.restore`. Records from before the snapshot are
    passed over. The frames of the outputs need not be transmitted: what was not acknowledged is sent again
    at the next tick.
    """
    site = _restore_site(snapshot, restore)
    outputs = [
        _reapply_input_even_if_refused(site, happening) for happening in _iterate_newer_inputs(site, records)
    ]
    deliveries = [delivery for output in outputs for delivery in output.deliveries]
    first = site.delivered - len(deliveries)
    if not first <= taken <= site.delivered:
        raise InputError(
            f"the application took {taken} deliveries; this snapshot and its records know numbers {first} to "
            f"{site.delivered}: use the snapshot that belongs to them"
        )
    return Recovered(site, deliveries[taken - first :], outputs)


def _restore_site(snapshot: bytes, restore: RestoreEndpoint) -> Site:
    sealed = _read_sealed(snapshot)
    if zlib.crc32(sealed.saved) != sealed.checksum:
        raise InputError("the snapshot of a site is damaged (wrong checksum); use an earlier one")
    saved = _read_saved(sealed.saved)
    return Site(restore(saved.endpoint), saved.link, saved.delivered, saved.applied)


def _iterate_newer_inputs(site: Site, records: list[bytes]) -> Iterator[Input]:
    """The inputs of the records that come after the snapshot, without a gap and of this process."""
    for record in map(_read_record, records):
        if record.process != site.endpoint.process:
            raise InputError(f"a record of {record.process!r} in the journal of {site.endpoint.process!r}")
        if record.number > site.applied + 1:
            raise InputError(f"the journal lacks records {site.applied + 1} to {record.number - 1}")
        if record.number == site.applied + 1:
            yield record.happening


def _reapply_input_even_if_refused(site: Site, happening: Input) -> Output:
    """An input that was refused then is refused now, and did nothing then."""
    try:
        return site.apply(happening)
    except (CallerError, InputError):
        return Output()

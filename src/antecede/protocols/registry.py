"""The protocols by name, and how an endpoint is made, restored and described."""

import zlib
from collections.abc import Iterable
from typing import Literal, overload

import msgspec

from antecede.core import wire
from antecede.core.endpoint import SNAPSHOT_VERSION, Endpoint, check_process_name
from antecede.core.errors import CallerError, InputError
from antecede.core.facts import Facts
from antecede.core.packet import Packet
from antecede.core.seen import Seen
from antecede.protocols.acknowledged import Acknowledged
from antecede.protocols.bounded import Bounded
from antecede.protocols.buffered import Buffered
from antecede.protocols.eager import Eager
from antecede.protocols.fifo import Fifo
from antecede.protocols.flood import Flood
from antecede.protocols.history import History
from antecede.protocols.matrix import Matrix
from antecede.protocols.membership import Probabilistic
from antecede.protocols.monitor import Monitor
from antecede.protocols.optimal import Optimal
from antecede.protocols.pairs import Pairs89
from antecede.protocols.predecessors import Predecessors
from antecede.protocols.probabilistic import Plausible, Scalar
from antecede.protocols.release import Release
from antecede.protocols.semantic import Semantic
from antecede.protocols.server import Server
from antecede.protocols.sync import Sync
from antecede.protocols.unordered import Unordered
from antecede.protocols.vector import Vector

_CLASSES: tuple[type[Endpoint], ...] = (
    Unordered, Fifo, Sync, Matrix, Pairs89, Optimal, Acknowledged, Predecessors, Vector, Flood, History,
    Server, Bounded, Monitor, Buffered, Release, Eager, Semantic, Probabilistic, Plausible, Scalar,
)  # fmt: skip
_BY_NAME = {kind.facts.name: kind for kind in _CLASSES}
_READERS = {name: wire.make_decoder(kind, f"snapshot of {name!r}") for name, kind in _BY_NAME.items()}
_read_snapshot = wire.make_decoder(tuple[int, str, int, bytes], "not a snapshot of antecede")


def list_protocols() -> dict[str, Facts]:
    """Every protocol by name, with its facts."""
    return {name: kind.facts for name, kind in _BY_NAME.items()}


def get_protocol_class(name: str) -> type[Endpoint]:
    """The class of a protocol: its rule, its sizes and what else is known without an endpoint."""
    return _BY_NAME[name]


def count_stamp_entries(packet: Packet) -> int:
    """How many numbers the stamp of a packet holds; 0 for an empty stamp."""
    return _BY_NAME[packet.protocol].count_entries(packet.stamp)


@overload
def endpoint(
    protocol: Literal["semantic"], *, process: str, group: list[str], manual: bool = ..., **options: object
) -> Semantic: ...
@overload
def endpoint(
    protocol: Literal["probabilistic"],
    *,
    process: str,
    group: list[str],
    manual: bool = ...,
    **options: object,
) -> Probabilistic: ...
@overload
def endpoint(
    protocol: Literal["flood"], *, process: str, group: list[str], manual: bool = ..., **options: object
) -> Flood: ...
@overload
def endpoint(
    protocol: str, *, process: str, group: list[str], manual: bool = ..., **options: object
) -> Endpoint: ...
def endpoint(
    protocol: str, *, process: str, group: list[str], manual: bool = False, **options: object
) -> Endpoint:
    """One process's endpoint of a protocol; options are those that its facts list.

    >>> endpoint("matrix", process="a", group=["a", "b"]).send(b"hello", to=["b"]).packets[0].target
    'b'
    """
    kind = _BY_NAME.get(protocol) if isinstance(protocol, str) else None
    if kind is None:
        raise CallerError(f"unknown protocol {protocol!r}; choose one of {', '.join(_BY_NAME)}")
    return build_endpoint(kind, process=process, group=group, manual=manual, **options)


def build_endpoint(
    kind: type[Endpoint], *, process: str, group: list[str], manual: bool = False, **options: object
) -> Endpoint:
    """An endpoint of the given class, with everything checked."""
    protocol = kind.facts.name
    unknown = options.keys() - kind.facts.options.keys()
    if unknown:
        known = ", ".join(kind.facts.options) or "none"
        raise CallerError(f"{protocol!r} has no option {', '.join(sorted(unknown))}; it has: {known}")
    names = _check_and_sort_group(group, process)
    fields = {"process": process, "group": names, "manual": manual, **options}
    try:
        made = msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise CallerError(f"{protocol!r}: {error}; its options: {dict(kind.facts.options)}") from None
    made.seen = {name: Seen() for name in names if name != process}
    made._init_state()
    return made


def restore(snapshot: bytes) -> Endpoint:
    """The endpoint that `snapshot()` was taken of, as it was then."""
    version, name, checksum, state = _read_snapshot(snapshot)
    if version != SNAPSHOT_VERSION or name not in _READERS:
        raise InputError(f"a snapshot of version {version} of {name!r}; this is version {SNAPSHOT_VERSION}")
    if zlib.crc32(state) != checksum:
        raise InputError(f"the snapshot of {name!r} is damaged (wrong checksum); use an earlier one")
    return _READERS[name](state)


def _check_and_sort_group(group: list[str], process: str) -> list[str]:
    if isinstance(group, str | bytes) or not isinstance(group, Iterable):
        raise CallerError(f"group is a list of process names, not {type(group).__name__}")
    names = sorted(check_process_name(name) for name in group)
    if len(set(names)) < len(names):
        raise CallerError(f"a process is named twice in the group {names}")
    if process not in names:
        raise CallerError(f"process {process!r} is not in the group {names}")
    return names

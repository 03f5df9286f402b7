"""The settings of a node, with their bounds."""

from typing import Annotated, Any

import msgspec

from antecede.core.errors import CallerError

_Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
_Number = Annotated[int, msgspec.Meta(ge=1, le=2**20)]


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All have defaults that suit a group of some dozens on one network."""

    window: Annotated[int, msgspec.Meta(ge=4, le=2**20)] = 1024
    """How many packets of a peer may be here that were not taken, and may wait here for a peer."""
    largest_message: Annotated[int, msgspec.Meta(ge=1, le=2**30)] = 2**20
    """In bytes."""
    heartbeat: _Seconds = 1.0
    """A connection on which nothing else goes says so, that often."""
    silence: _Seconds = 10.0
    """A connection on which no whole record has come for so long is given up, and made anew."""
    handshake_time: _Seconds = 5.0
    most_strangers: _Number = 64
    """Connections that have not finished their handshake, at one time."""
    linger: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 5.0
    """How long a node that is closed waits for its peers to have what it sent."""
    snapshot_every: _Number = 10_000
    """Inputs in the journal between two snapshots."""


def split_node_settings(options: dict[str, object]) -> tuple[NodeSettings, dict[str, Any]]:
    """The settings among some options, and the others, which are the protocol's."""
    names = set(NodeSettings.__struct_fields__)
    own = {name: value for name, value in options.items() if name in names}
    rest = {name: value for name, value in options.items() if name not in names}
    try:
        return msgspec.convert(own, NodeSettings), rest
    except msgspec.ValidationError as error:
        raise CallerError(f"settings of a node: {error}") from None

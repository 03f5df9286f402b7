"""The lines that an application and a node exchange: one JSON object each.

A command has its name in `do` and may have an `id` of any kind, which its answer repeats. An answer, or a
delivery, has its name in `event`. Payloads are bytes: they travel as `data` where they are text (UTF-8), else
as `base64`.
"""

import asyncio
from base64 import b64decode, b64encode
from typing import Annotated, Any

import msgspec

from antecede.core.errors import CallerError, InputError
from antecede.live.node import LiveDelivery
from antecede.live.status import Status

COMMANDS = "send, done, receive, status, exclude or close"


class Command(msgspec.Struct, tag_field="do", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all commands may have."""

    id: Any = msgspec.UNSET


class SendCommand(Command, tag="send", frozen=True, kw_only=True):
    """Send a message to some members, or to all. `depends_on` is for the protocol `semantic`."""

    to: list[str] | None = None
    data: str | None = None
    base64: str | None = None
    depends_on: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None

    def decode_payload(self) -> bytes:
        """The bytes to send."""
        if (self.data is None) == (self.base64 is None):
            raise CallerError("a message has either data (text) or base64 (bytes)")
        if self.data is not None:
            return self.data.encode()
        try:
            return b64decode(self.base64 or "", validate=True)
        except ValueError as error:  # binascii.Error, or another one if it is not ASCII
            raise CallerError(f"base64: {error}") from None


class DoneCommand(Command, tag="done", frozen=True, kw_only=True):
    """All deliveries up to this number are dealt with."""

    number: int


class ReceiveCommand(Command, tag="receive", frozen=True, kw_only=True):
    """Hand deliveries over on this connection."""


class StatusCommand(Command, tag="status", frozen=True, kw_only=True):
    """Say how the node is doing."""


class ExcludeCommand(Command, tag="exclude", frozen=True, kw_only=True):
    """Have nothing to do with a member any more."""

    member: str


class CloseCommand(Command, tag="close", frozen=True, kw_only=True):
    """End the node."""


AnyCommand = SendCommand | DoneCommand | ReceiveCommand | StatusCommand | ExcludeCommand | CloseCommand
_decoder = msgspec.json.Decoder(AnyCommand)
_encode = msgspec.json.Encoder().encode


def read_command(line: bytes) -> AnyCommand:
    """The command in a line."""
    try:
        command: AnyCommand = _decoder.decode(line)
    except msgspec.ValidationError as error:
        raise InputError(f"{error}; a command has do: {COMMANDS}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not a line of JSON: {error}") from None
    return command


def find_command_id(line: bytes) -> Any:
    """The id in a line that is no command, if there is one."""
    try:
        content = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.UNSET
    return content.get("id", msgspec.UNSET) if isinstance(content, dict) else msgspec.UNSET


def encode_line(event: str, **facts: Any) -> bytes:
    """A line for the application."""
    known = {name: value for name, value in facts.items() if value is not msgspec.UNSET}
    return _encode({"event": event, **known}) + b"\n"


def encode_delivery(delivery: LiveDelivery) -> bytes:
    """A message for the application."""
    facts: dict[str, Any] = {
        "number": delivery.number,
        "sender": delivery.sender,
        "message": delivery.message,
        **encode_payload(delivery.payload),
    }
    if delivery.alarms:
        facts["alarms"] = delivery.alarms
    if delivery.event is not None:
        facts["own_event"] = delivery.event
    return encode_line("delivery", **facts)


def encode_payload(payload: bytes) -> dict[str, str]:
    """Bytes as they stand in a line."""
    try:
        return {"data": payload.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(payload).decode()}


def convert_status_to_dict(status: Status) -> dict[str, Any]:
    """A status in terms of JSON; what is held is told in words."""
    return {
        "process": status.process,
        "protocol": status.protocol,
        "address": status.address,
        "sent": status.sent,
        "delivered": status.delivered,
        "queued": status.queued,
        "handed": status.handed,
        "backlog": status.backlog,
        "held": [str(held) for held in status.held],
        "root_gaps": [str(gap) for gap in status.root_gaps],
        "peers": msgspec.to_builtins(status.peers),
        "refused": [
            {"kind": kind, "peer": peer, "count": count} for (kind, peer), count in status.refused.items()
        ],
        "records": status.records,
    }


async def read_line_or_refuse_too_long(reader: asyncio.StreamReader) -> bytes:
    """The next line, b"" at the end; one that is too long is passed over, and InputError says so."""
    is_too_long = False
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            line = error.partial
        except asyncio.LimitOverrunError as error:
            is_too_long = True
            await reader.readexactly(max(error.consumed, 1))
            continue
        if is_too_long:
            raise InputError("a line that is too long was passed over; see largest_message")
        return line

"""OTLP as protobuf, the way the collector's file exporter writes it: each message behind its length, which is
four bytes, the most significant first.

Messages become the objects that OTLP JSON has in their place; `SCHEMA` has what is read of them. The line of
an event is the number of its message.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from antecede.formats.rows import FileRows, Refused

LENGTH = 4
VARINT, EIGHT_BYTES, LENGTH_DELIMITED, FOUR_BYTES = 0, 1, 2, 5
FIRST_TAG = 0x0A
"""The first byte of a message of traces: its field 1, which is a message."""


class Field(NamedTuple):
    """A field of a message: its name in JSON, and how its value is read; `is_list` if it may come again."""

    name: str
    read: str | Callable[[Any], Any]
    """The name of a message, or what turns a number or some bytes into a value of JSON."""
    is_list: bool = False


def _decode_text(value: bytes) -> str:
    return value.decode()


def _decode_double(bits: int) -> float:
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def _format_signed(bits: int) -> str:
    return str(bits - 2**64 if bits >= 2**63 else bits)


def _encode_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


_READ_FROM_NUMBERS = {int, str, bool, _format_signed, _decode_double}
"""What reads a number; the others read bytes."""
SCHEMA: dict[str, dict[int, Field]] = {
    "traces": {1: Field("resourceSpans", "resource_spans", True)},
    "resource_spans": {1: Field("resource", "resource"), 2: Field("scopeSpans", "scope_spans", True)},
    "resource": {1: Field("attributes", "pair", True)},
    "scope_spans": {2: Field("spans", "span", True)},
    "span": {
        1: Field("traceId", bytes.hex),
        2: Field("spanId", bytes.hex),
        3: Field("traceState", _decode_text),
        4: Field("parentSpanId", bytes.hex),
        5: Field("name", _decode_text),
        6: Field("kind", int),
        7: Field("startTimeUnixNano", str),
        8: Field("endTimeUnixNano", str),
        9: Field("attributes", "pair", True),
        10: Field("droppedAttributesCount", int),
        11: Field("events", "event", True),
        12: Field("droppedEventsCount", int),
        13: Field("links", "link", True),
        14: Field("droppedLinksCount", int),
        15: Field("status", "status"),
        16: Field("flags", int),
    },
    "event": {
        1: Field("timeUnixNano", str),
        2: Field("name", _decode_text),
        3: Field("attributes", "pair", True),
    },
    "link": {
        1: Field("traceId", bytes.hex),
        2: Field("spanId", bytes.hex),
        3: Field("traceState", _decode_text),
        4: Field("attributes", "pair", True),
    },
    "status": {2: Field("message", _decode_text), 3: Field("code", int)},
    "pair": {1: Field("key", _decode_text), 2: Field("value", "value")},
    "value": {
        1: Field("stringValue", _decode_text),
        2: Field("boolValue", bool),
        3: Field("intValue", _format_signed),
        4: Field("doubleValue", _decode_double),
        5: Field("arrayValue", "array"),
        6: Field("kvlistValue", "pairs"),
        7: Field("bytesValue", _encode_base64),
    },
    "array": {1: Field("values", "value", True)},
    "pairs": {1: Field("values", "pair", True)},
}
"""The messages of opentelemetry-proto, as far as they are read."""


def is_otlp_protobuf(data: bytes) -> bool:
    """Whether a file begins with a message of traces behind its length."""
    size = int.from_bytes(data[:LENGTH], "big")
    return len(data) > LENGTH and data[LENGTH] == FIRST_TAG and 0 < size <= len(data) - LENGTH


def read_documents(data: bytes, quarantine: FileRows) -> Iterator[tuple[int, dict[str, Any]]]:
    """The messages of a file, each with its number; what cannot be read goes to quarantine."""
    begin, number = 0, 0
    while begin < len(data):
        number += 1
        end = begin + LENGTH + int.from_bytes(data[begin : begin + LENGTH], "big")
        frame = data[begin + LENGTH : end]
        if end > len(data):
            quarantine.add_to_quarantine(number, "the file ends in the middle of a message", frame)
            return
        try:
            yield number, _decode_message("traces", frame)
        except (Refused, ValueError) as reason:
            quarantine.add_to_quarantine(number, f"no message of OTLP: {reason}", frame)
        begin = end


def _decode_message(kind: str, data: bytes) -> dict[str, Any]:
    """A message as an object; fields that are not in the schema are passed over."""
    fields = SCHEMA[kind]
    message: dict[str, Any] = {}
    for number, value in _split_fields(data):
        field = fields.get(number)
        if field is None:
            continue
        if isinstance(value, int) != (field.read in _READ_FROM_NUMBERS):
            raise Refused(f"the field {field.name} has a value of another type")
        found = _decode_message(field.read, value) if isinstance(field.read, str) else field.read(value)
        if field.is_list:
            message.setdefault(field.name, []).append(found)
        else:
            message[field.name] = found
    return message


def _split_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The numbers of the fields, with integers or bytes."""
    at = 0
    while at < len(data):
        tag, at = _read_varint_and_next_position(data, at)
        wire = tag & 7
        if wire == VARINT:
            value, at = _read_varint_and_next_position(data, at)
            yield tag >> 3, value
            continue
        if wire == LENGTH_DELIMITED:
            size, at = _read_varint_and_next_position(data, at)
        elif wire in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if wire == EIGHT_BYTES else 4
        else:
            raise Refused(f"a field of type {wire}")
        if at + size > len(data):
            raise Refused("a field goes on behind its end")
        piece = data[at : at + size]
        at += size
        yield tag >> 3, piece if wire == LENGTH_DELIMITED else int.from_bytes(piece, "little")


def _read_varint_and_next_position(data: bytes, position: int) -> tuple[int, int]:
    """A number of any length up to 64 bits, and where the next thing begins."""
    if position < len(data) and data[position] < 0x80:
        return data[position], position + 1
    number = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise Refused("a number goes on behind its end")
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & (2**64 - 1), position
    raise Refused("a number of more than 64 bits")

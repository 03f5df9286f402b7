"""Values of Kafka Connect: each stands in an envelope with its schema, as JsonConverter writes it.

What is in the envelopes may be of any format with lines; they are opened before anything else is looked at.
"""

import msgspec

from antecede.core.errors import InputError
from antecede.formats.jsons import (
    ERRORS,
    are_all_lines_objects,
    list_line_numbers_of_stripped_data,
    list_object_keys,
)
from antecede.formats.source import Source

ENVELOPE = {"schema", "payload"}


class _Envelope(msgspec.Struct, gc=False):
    payload: msgspec.Raw


_envelopes = msgspec.json.Decoder(_Envelope)


def unwrap_connect_envelopes(source: Source) -> Source:
    """The file with the payloads in the place of their envelopes, line by line; any other file as it is."""
    data = source.data
    head = data[:100].lstrip()
    if head.startswith(b"Struct{"):
        raise InputError(
            "Kafka Connect has written these values as Struct{...}, which cannot be read back; set "
            "value.converter of the sink to org.apache.kafka.connect.storage.StringConverter, and write them "
            "again"
        )
    if not head.startswith(b"{") or not (b'"schema"' in head or b'"payload"' in head):
        return source
    first_line = data.lstrip().partition(b"\n")[0]
    if list_object_keys(first_line) != ENVELOPE:
        return source
    body, lines = data.strip(), list_line_numbers_of_stripped_data(data)
    payloads = _unwrap_lines_if_all_envelopes(body) if are_all_lines_objects(body, len(lines)) else None
    if payloads is None:
        payloads = [_unwrap_line_if_envelope(line) for line in body.split(b"\n")]
    blank = b"\n" * (lines.start - 1)
    return source._replace(data=blank + b"\n".join(payloads) + b"\n")


def _unwrap_lines_if_all_envelopes(body: bytes) -> list[bytes] | None:
    try:
        return [bytes(one.payload) for one in _envelopes.decode_lines(body)]
    except ERRORS:
        return None


def _unwrap_line_if_envelope(line: bytes) -> bytes:
    """A line that is no envelope stays as it is, for its reader to refuse."""
    try:
        return bytes(_envelopes.decode(line).payload)
    except ERRORS:
        return line

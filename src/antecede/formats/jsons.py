"""JSON records and the lines they start on: one per line, in an array, or one after the other.

A broken file is read as far as it goes: what cannot be decoded comes out as raw bytes all the same, so that
its reader can put it into quarantine.
"""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from antecede.formats.rows import FileRows, Refused

ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)
LONGEST_LINE = 1_000_000
"""Bytes in which the end of a first line is looked for."""
_anything = msgspec.json.Decoder(msgspec.Raw)
_listed = msgspec.json.Decoder(list[msgspec.Raw])
_object = msgspec.json.Decoder(dict[str, Any])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any = msgspec.json.Decoder(Any)
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
"""A string, also one that never ends (else every quote in it would be tried in turn), or a bracket."""


class Raw(NamedTuple):
    """One record as it stands in the file."""

    line: int
    data: bytes


class Record(NamedTuple):
    """One JSON object, and where it stands."""

    line: int
    value: dict[str, Any]
    place: "bytes | ElementPlace"
    """Its text, or where that can be had."""

    @property
    def raw(self) -> bytes:
        """The record as it stands in the file."""
        return self.place if isinstance(self.place, bytes) else self.place.get_text()

    @property
    def is_one_line(self) -> bool:
        """Whether it ends on the line on which it begins. Only then its elements are not located at once."""
        return b"\n" not in self.place if isinstance(self.place, bytes) else True


class ElementTexts:
    """The texts of the elements of a list inside an object, which are cut out when they are asked for."""

    def __init__(self, parent: Record, key: str) -> None:
        self.parent, self.key = parent, key
        self.texts: list[bytes] | None = None

    def get_texts(self) -> list[bytes]:
        if self.texts is None:
            self.texts = _split_list(_get_member_text(self.parent.raw, self.key))
        return self.texts


class ElementPlace(NamedTuple):
    """The place of an element in its list."""

    texts: ElementTexts
    number: int

    def get_text(self) -> bytes:
        return self.texts.get_texts()[self.number]


def read_objects(data: bytes, quarantine: FileRows) -> Iterator[Record]:
    """All records that are JSON objects; the others go to quarantine."""
    return decode_objects(split_records(data), quarantine)


def decode_objects(raw_records: Iterable[Raw], quarantine: FileRows) -> Iterator[Record]:
    """Those that are JSON objects; the others go to quarantine."""
    for line, raw in raw_records:
        try:
            yield Record(line, _object.decode(raw), raw)
        except ERRORS as error:
            quarantine.add_to_quarantine(line, f"not a JSON object: {error}", raw)


def split_records(data: bytes) -> Iterable[Raw]:
    """The records of a file, each with the line on which it starts."""
    if has_record_per_line(data):
        return split_lines(data)
    if data.lstrip()[:1] == b"[":
        return split_array_elements(data)
    return _split_document_or_salvage_objects(data)


def has_record_per_line(data: bytes) -> bool:
    """Whether each record is a line."""
    head = data.lstrip()[:1]
    return head != b"[" and (head != b"{" or _has_object_per_line(data))


def decode_value(raw: bytes) -> Any:
    """One JSON value."""
    try:
        return _any.decode(raw)
    except ERRORS as error:
        raise Refused(f"not JSON: {error}") from None


def list_object_keys(raw: bytes) -> set[str]:
    """The keys of a JSON object; none if it is no object."""
    try:
        return set(_members.decode(raw))
    except ERRORS:
        return set()


def _has_object_per_line(data: bytes) -> bool:
    """Whether records are lines: the first one is a value, or a later line is, from its first column on."""
    first_line = data.lstrip()[:LONGEST_LINE].partition(b"\n")[0]
    if _is_json(first_line.strip()):
        return True
    body = data.strip()
    if b"\n" not in body:
        return True
    if _is_json(body):
        return False
    lines = body.split(b"\n", 50)[:50]
    return any(line.startswith(b"{") and _is_json(line.strip()) for line in lines)


def looks_like_json_lines(data: bytes) -> bool:
    """Whether the first line that is not blank is an object, and there are others: then records are lines."""
    first, _, rest = data.lstrip().partition(b"\n")
    return first.startswith(b"{") and _is_json(first.strip()) and bool(rest.strip())


def are_all_lines_objects(body: bytes, line_count: int) -> bool:
    """Whether each of the lines begins with { and ends with }.

    A line's end between } and { can only be where a value of JSON ends: if there are as many values as lines
    then, each line is one.
    """
    if not (body.startswith(b"{") and body.endswith(b"}")):
        return False
    return line_count - 1 in (body.count(end) for end in (b"}\n{", b"}\r\n{"))


def list_line_numbers_of_stripped_data(data: bytes) -> range:
    """The numbers of the lines from the first to the last that have anything on them."""
    first = data.count(b"\n", 0, len(data) - len(data.lstrip())) + 1
    return range(first, first + data.strip().count(b"\n") + 1)


def _is_json(data: bytes) -> bool:
    try:
        _anything.decode(data)
    except ERRORS:
        return False
    return True


def split_lines(data: bytes, first_line: int = 1) -> Iterator[Raw]:
    """The lines that are not blank, each a record."""
    for number, line in enumerate(io.BytesIO(data), start=first_line):
        if stripped := line.strip():
            yield Raw(number, stripped)


def _split_document_or_salvage_objects(data: bytes) -> Iterable[Raw]:
    body = data.strip()
    if _is_json(body):
        return find_lines_of_parts(data, [body])
    return _salvage_objects(data, 0)


def split_array_elements(data: bytes) -> Iterable[Raw]:
    """The elements of an array; those of arrays inside it, too (Zipkin lists traces as lists of spans)."""
    try:
        elements = _listed.decode(data.strip())
    except ERRORS:
        return _salvage_objects(data, 1)
    return find_lines_of_parts(data, _flatten_inner_arrays_once(elements))


def _flatten_inner_arrays_once(elements: list[msgspec.Raw]) -> Iterator[bytes]:
    """One element after the other: who looks for a format wants only the first."""
    for element in elements:
        raw = bytes(element)
        if raw.startswith(b"["):
            yield from map(bytes, _listed.decode(raw))
        else:
            yield raw


def iterate_objects_in_list(parent: Record, key: str, quarantine: FileRows) -> Iterator[Record]:
    """The objects in a list inside an object; other elements go to quarantine.

    What is in them was decoded with the object around them: only their places are looked for.
    """
    elements = parent.value.get(key)
    if not isinstance(elements, list):
        return
    places = _list_element_lines_and_places(parent, key, len(elements))
    for value, (line, place) in zip(elements, places, strict=True):
        record = Record(line, value, place)
        if isinstance(value, dict):
            yield record
        else:
            yield from decode_objects([Raw(record.line, record.raw)], quarantine)


def _list_element_lines_and_places(
    parent: Record, key: str, element_count: int
) -> Iterable[tuple[int, bytes | ElementPlace]]:
    """The line and the place of each of so many elements."""
    texts = ElementTexts(parent, key)
    if parent.is_one_line:
        return ((parent.line, ElementPlace(texts, number)) for number in range(element_count))
    inner = _get_member_text(parent.raw, key)
    begin = max(parent.raw.find(inner), 0)
    first_line = parent.line + parent.raw.count(b"\n", 0, begin)
    return find_lines_of_parts(parent.raw[begin:], texts.get_texts(), first_line)


def _get_member_text(object_text: bytes, key: str) -> bytes:
    return bytes(_members.decode(object_text)[key])


def _split_list(text: bytes) -> list[bytes]:
    return list(map(bytes, _listed.decode(text)))


def find_lines_of_parts(data: bytes, parts: Iterable[bytes], first_line: int = 1) -> Iterator[Raw]:
    """Parts that follow each other in the data, with their lines; one walk."""
    last, line = 0, first_line
    for part in parts:
        begin = data.find(part, last)
        if begin >= 0:
            line += data.count(b"\n", last, begin)
            last = begin
            yield Raw(line, part)
            line += part.count(b"\n")
            last += len(part)
        else:
            yield Raw(line, part)


def _salvage_objects(data: bytes, level: int) -> Iterator[Raw]:
    """The objects at a depth of `level` in a text that is no JSON as a whole, and the rest of it."""
    parts: list[bytes] = []
    depth, begin, end = 0, 0, 0
    for token in _TOKEN.finditer(data):
        sign = token[0]
        if sign in b"{[":
            begin = token.start() if depth == level else begin
            if depth == level:
                parts.append(data[end:begin])
            depth += 1
        elif sign in b"}]" and depth > 0:
            depth -= 1
            if depth == level:
                end = token.end()
                parts.append(data[begin:end])
    parts.append(data[end:])
    return find_lines_of_parts(data, [part for part in map(_strip_separators, parts) if part])


def _strip_separators(part: bytes) -> bytes:
    """Without white space, commas, and brackets of the array around."""
    part = part.strip(b" \t\r\n,")
    return b"" if part in (b"[", b"]") else part

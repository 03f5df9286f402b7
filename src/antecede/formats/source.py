"""The bytes of one file and the text in them: gzip, byte order marks and line ends are settled here."""

import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from antecede.core.errors import InputError

UTF8 = b"\xef\xbb\xbf"
MARKS = ((UTF8, "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
GZIP = b"\x1f\x8b"
BLOCK = 65_536
"""Bytes of gzip that are unpacked at a time: what a broken block takes with it."""


class Source(NamedTuple):
    """One file: its content as UTF-8 (or Parquet), its name, and what is wrong with its end."""

    data: bytes
    name: str
    torn: str | None = None

    def text(self) -> str:
        """The content with LF line ends; bytes that are no UTF-8 become U+FFFD."""
        text = self.data.decode(errors="replace")
        return text.replace("\r\n", "\n") if "\r" in text else text


def open_source(data: bytes, name: str) -> Source:
    """The file without compression (told by content, not by name) and without a byte order mark."""
    torn = None
    if data.startswith(GZIP):
        parts: list[bytes] = []
        try:
            parts.extend(inflate_blocks(io.BytesIO(data)))
        except InputError as error:
            torn = str(error)
        data = b"".join(parts)
        if torn and not data.strip():
            raise InputError(f"{name}: {torn}")
    for mark, encoding in MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, errors="replace")
            return Source(text.encode(errors="replace"), name, torn)
    return Source(data, name, torn)


def inflate_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The content of gzip, all members of it; of a broken one what can be had, and then an InputError."""
    machine, data = zlib.decompressobj(31), stream.read(BLOCK)
    while data:
        try:
            yield machine.decompress(data)
        except zlib.error as error:
            raise InputError(_describe_damage(str(error))) from None
        data = machine.unused_data.lstrip(b"\0") or stream.read(BLOCK)
        if machine.eof and data:
            machine = zlib.decompressobj(31)
    if not machine.eof:
        raise InputError(_describe_damage("it ends too early"))


def _describe_damage(why: str) -> str:
    return f"gzip is broken ({why}): what follows is lost; unpack or fetch the file again"

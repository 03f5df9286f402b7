"""The bytes of one file and the text in them: gzip, byte order marks and line ends are settled here."""

import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from antecede.core.errors import InputError
from antecede.machine import read_memory_gigabytes

UTF8 = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
MARKS = ((UTF8, "utf-8"), (UTF16[0], "utf-16-le"), (UTF16[1], "utf-16-be"))
GZIP = b"\x1f\x8b"
BLOCK = 65_536
"""Bytes of gzip that are unpacked at a time: what a broken block takes with it."""
UNPACKED_SHARE = 1 / 8
"""The share of memory that an unpacked file may have: an audit was seen to take 8 bytes for one of text."""


class Source(NamedTuple):
    """One file: its content as UTF-8 (or Parquet), its name, and what is wrong with its end."""

    data: bytes
    name: str
    torn: str | None = None

    def text(self) -> str:
        """The content with LF line ends; bytes that are no UTF-8 become U+FFFD."""
        text = self.data.decode(errors="replace")
        return text.replace("\r\n", "\n") if "\r" in text else text


def unpack_source(data: bytes, name: str) -> Source:
    """The file without compression (told by content, not by name) and without a byte order mark."""
    torn = None
    if data.startswith(GZIP):
        data, torn = _decompress_gzip(data, name)
        if torn and not data.strip():
            raise InputError(f"{name}: {torn}")
    for mark, encoding in MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, errors="replace")
            return Source(text.encode(errors="replace"), name, torn)
    return Source(data, name, torn)


def _decompress_gzip(data: bytes, name: str) -> tuple[bytes, str | None]:
    """The content of gzip, and what is wrong with its end; refuses what is too large for the memory."""
    parts: list[bytes] = []
    room = compute_unpacked_limit_bytes()
    blocks = inflate_blocks(io.BytesIO(data))
    while room >= 0:
        try:
            block = next(blocks, None)
        except InputError as error:
            return b"".join(parts), str(error)
        if block is None:
            return b"".join(parts), None
        parts.append(block)
        room -= len(block)
    reason = describe_too_large_gzip()
    raise InputError(f"{name}: {reason}; unpack it: Spark reads a file with lines in parts")


def compute_unpacked_limit_bytes() -> int:
    """Bytes that a packed file may unpack to where all of it is held in memory."""
    return int(read_memory_gigabytes() * 2**30 * UNPACKED_SHARE)


def describe_too_large_gzip() -> str:
    """Why a packed file is not unpacked."""
    limit = compute_unpacked_limit_bytes() / 1e9
    return f"gzip unpacks to more than {limit:,.2g} GB, too much for the memory of this machine"


def inflate_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The content of gzip, all members of it; of a broken one what can be had, and then an InputError."""
    machine, data = zlib.decompressobj(31), stream.read(BLOCK)
    while data:
        try:
            yield machine.decompress(data)
        except zlib.error as error:
            raise InputError(_describe_broken_gzip(str(error))) from None
        data = machine.unused_data.lstrip(b"\0") or stream.read(BLOCK)
        if machine.eof and data:
            machine = zlib.decompressobj(31)
    if not machine.eof:
        raise InputError(_describe_broken_gzip("it ends too early"))


def _describe_broken_gzip(why: str) -> str:
    return f"gzip is broken ({why}): what follows is lost; unpack or fetch the file again"

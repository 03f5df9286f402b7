"""The bytes of one file and the text in them: gzip, byte order marks and line ends are settled here."""

import gzip
import zlib
from typing import NamedTuple

from antecede.core.errors import InputError

MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class Source(NamedTuple):
    """One file: its content as UTF-8 (or Parquet), and its name."""

    data: bytes
    name: str

    def text(self) -> str:
        """The content with LF line ends; bytes that are no UTF-8 become U+FFFD."""
        text = self.data.decode(errors="replace")
        return text.replace("\r\n", "\n") if "\r" in text else text


def opened(data: bytes, name: str) -> Source:
    """The file without compression (told by content, not by name) and without a byte order mark."""
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{name}: gzip is broken ({error}); unpack or fetch the file again") from None
    for mark, encoding in MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, errors="replace")
            return Source(text.encode(errors="replace"), name)
    return Source(data, name)

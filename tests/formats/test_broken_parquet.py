"""Broken Parquet files: whatever Arrow raises, the user reads one sentence with the remedy."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.cli.engine import estimate_text_bytes
from antecede.core.errors import AntecedeError, InputError
from antecede.formats import Settings
from antecede.formats.message_files import find_parquet_fault, is_packet_table
from antecede.formats.native import count_native_rows, read_native_table
from antecede.local.logs import read_logs
from antecede.local.message_files import read_message_files
from antecede.tables import EVENTS
from tests.formats.samples import parquet

VARIANTS = 300
NATIVE = parquet(
    [{"execution": "x", "process": "a", "index": 0, "event": "e", "clock": [("a", 1)], "line": 1}], EVENTS
)
SMALL = parquet([{"process": "a", "event": "e", "index": 1}])


def flip_bytes(data: bytes) -> Iterator[bytes]:
    """The file with one byte changed, at places all over it but in the marks at its begin and end."""
    step = -(-len(data) // VARIANTS)
    for position in range(4, len(data) - 4, step):
        yield data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


@pytest.fixture
def narrow(tmp_path: Path) -> str:
    """A file whose footer says that an integer has 4 bits: Arrow has not implemented that."""
    schema = pa.schema({"index": pa.int64()})
    serialized = schema.serialize().to_pybytes()
    bits_64 = (64).to_bytes(4, "little")
    bits_4 = (4).to_bytes(4, "little")
    assert serialized.count(bits_64) == 1
    good, broken = (base64.b64encode(part) for part in (serialized, serialized.replace(bits_64, bits_4)))
    path = tmp_path / "narrow.parquet"
    path.write_bytes(parquet([{"index": 1}], schema).replace(good, broken))
    with pytest.raises(pa.ArrowNotImplementedError):
        pq.read_schema(path)
    return str(path)


def test_types_that_arrow_has_not_implemented_are_told_as_broken_files(narrow: str) -> None:
    assert estimate_text_bytes([narrow]) == 0
    assert not is_packet_table([narrow])
    assert count_native_rows(narrow, None, Settings()) is None
    assert "Parquet cannot be read" in (find_parquet_fault(narrow) or "")
    with pytest.raises(InputError, match="Parquet cannot be read"):
        read_logs([narrow])
    with pytest.raises(InputError, match="Parquet cannot be read"):
        read_message_files([narrow], None)


def read_as_native(path: str) -> None:
    if count_native_rows(path, None, Settings()):
        read_native_table(path, path)


@pytest.mark.parametrize(
    ("read_file", "data"),
    [
        (lambda path: read_logs([path]), SMALL),
        (lambda path: read_message_files([path], None), SMALL),
        (read_as_native, NATIVE),
    ],
    ids=["log", "messages", "native"],
)
def test_only_our_own_errors_escape_wherever_a_byte_is_wrong(
    tmp_path: Path, read_file: Callable[[str], object], data: bytes
) -> None:
    path = tmp_path / "broken.parquet"
    path.write_bytes(data)
    read_file(str(path))
    sentences = []
    for broken in flip_bytes(data):
        path.write_bytes(broken)
        try:
            read_file(str(path))
        except AntecedeError as error:
            sentences.append(str(error))
    assert sentences and not any("\n" in sentence for sentence in sentences)

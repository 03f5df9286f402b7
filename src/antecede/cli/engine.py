"""Which engine runs a command: this process where the input is small, Spark for everything else."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from antecede.core.errors import CallerError, SetupError
from antecede.spark_address import parse_spark_address

EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="auto|local|spark",
        help="local: in this process, without Java. spark: on Spark. auto: local where the input is small.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Spark's master (spark://HOST:7077) or Spark Connect (sc://HOST:15002); without it, Spark is "
        "embedded.",
    ),
]

LOCAL_BYTES = 256 * 2**20
"""Text that is read in this process, at most, unless the user wants more.

The audit of 60 MB of JSON lines took 4 seconds of processor time here and 84 on Spark, on 2 busy cores.
Where both take equally long was not measured.
"""
MEMORY_SHARE = 1 / 16
"""The same as a share of the machine's memory: an audit was seen to take 8 bytes for a byte of JSON lines."""
GZIP_EXPANSION = 12
"""Bytes of a log in a byte of gzip; of the logs at hand most had 9 to 18, the tersest 38."""
PARQUET_ROW = 150
"""Bytes of an event as text; Parquet packs them so well that the size of a file says little."""


class Engine(NamedTuple):
    """The engine that runs a command, and why it was chosen."""

    name: Literal["local", "spark"]
    reason: str

    def __str__(self) -> str:
        return f"engine: {self.name} ({self.reason})"


def choose_engine(wanted: str, inputs: list[str], master: str | None, out: str | None = None) -> Engine:
    """The engine for these inputs. `auto` takes Spark where a master or an address is named.

    What is wrong with the inputs is said here, and not when Spark is up.
    """
    from antecede.formats.sources import list_files

    files = list_files(inputs)
    if wanted not in ("auto", "local", "spark"):
        raise CallerError(f"--engine {wanted}: choose auto, local or spark")
    if master is not None:
        parse_spark_address(master)
    if wanted == "spark":
        return Engine("spark", "as you chose")
    needs_spark = _explain_need_of_spark(master, out)
    if wanted == "local":
        if needs_spark:
            raise CallerError(f"--engine local: {needs_spark}; leave it out, or use --engine spark")
        return Engine("local", "as you chose")
    if needs_spark:
        return Engine("spark", needs_spark)
    size, limit = estimate_text_bytes(files), find_local_byte_limit()
    if size <= limit:
        return Engine("local", f"input of {format_bytes(size)}")
    if find_spec("pyspark") is None:
        raise SetupError(
            f"an input of {format_bytes(size)} is for Spark, and PySpark is not installed: "
            "run pip install 'antecede[spark]', or add --engine local if the memory will do"
        )
    return Engine("spark", f"input of {format_bytes(size)}, more than {format_bytes(limit)}")


def _explain_need_of_spark(master: str | None, out: str | None) -> str | None:
    """Why only Spark can do this; None if it need not be Spark."""
    if master is not None:
        return f"--master {master} is for Spark"
    if out is not None and "://" in out:
        return f"--out {out} is an address, which only Spark writes to"
    return None


def estimate_text_bytes(files: list[str]) -> int:
    """How many bytes the contents of the files are as text, about."""
    return sum(_estimate_text_bytes_of_file(Path(file)) for file in files)


def _estimate_text_bytes_of_file(path: Path) -> int:
    try:
        with path.open("rb") as file:
            head = file.read(4)
        size = path.stat().st_size
        if head.startswith(b"\x1f\x8b"):
            return size * GZIP_EXPANSION
        return _estimate_text_bytes_of_parquet(path) if head == b"PAR1" else size
    except (OSError, ValueError):  # whoever reads it says what is wrong
        return 0


def _estimate_text_bytes_of_parquet(path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        facts = pq.read_metadata(path)
    except pa.ArrowException:  # whoever reads it says what is wrong
        return 0
    unpacked: int = sum(facts.row_group(at).total_byte_size for at in range(facts.num_row_groups))
    rows: int = facts.num_rows
    return max(unpacked, rows * PARQUET_ROW)


def find_local_byte_limit() -> int:
    """Bytes of text up to which `auto` stays in this process."""
    from antecede.machine import read_memory_gigabytes

    return min(LOCAL_BYTES, int(read_memory_gigabytes() * 2**30 * MEMORY_SHARE))


def format_bytes(size: int) -> str:
    """12 bytes, 3.4 kB, 56 MB."""
    if size < 1000:
        return f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 1000 or unit == "GB":
            return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:,.0f} {unit}"
    raise AssertionError("unreachable")

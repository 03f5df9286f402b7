"""Files with tables of messages: Parquet, JSON lines or CSV, told by their beginnings."""

from __future__ import annotations

import io
import os

import pyarrow.parquet as pq

from antecede.core.errors import CallerError, InputError
from antecede.formats.parquet import PARQUET_ERRORS
from antecede.formats.source import GZIP, UTF8, UTF16, inflate_blocks
from antecede.formats.sources import list_files
from antecede.tables import MESSAGES

KINDS = ("parquet", "jsonl", "csv", "debezium")
HEAD_BYTES = 1_000
"""Bytes at the beginning of a file that tell its kind."""


def is_packet_table(paths: list[str]) -> bool:
    """Whether the input is a table of packets, as `antecede simulate --out` writes it."""
    file = list_files(paths)[0]
    try:
        return set(MESSAGES.names) <= set(pq.read_schema(file).names)
    except PARQUET_ERRORS:
        return False


def find_table_kind(files: list[str], kind: str | None) -> str:
    """The kind of all files: the one that is named, or the one that their beginnings tell.

    Files that are empty, or cannot be read, tell nothing.
    """
    if kind is not None and kind not in KINDS:
        raise CallerError(
            f"a table of messages is {', '.join(KINDS)}, not {kind!r}; or leave out --group and --stamp"
        )
    if kind is not None:
        return kind
    first_of_kind: dict[str, str] = {}
    for file in files:
        told = _detect_table_kind(file)
        if told is not None:
            first_of_kind.setdefault(told, file)
    if not first_of_kind:
        raise InputError(f"{files[0]}: is empty or cannot be read; name a table of messages")
    (kind, first), *others = first_of_kind.items()
    if others:
        other, second = others[0]
        raise CallerError(f"{first} is {kind}, {second} is {other}: order tables of one kind at a time")
    return kind


def list_followed_files_and_kind(paths: list[str], kind: str | None) -> tuple[list[str], str]:
    """The files in a folder that is to be followed, and their kind; refuses what cannot be followed."""
    if len(paths) > 1:
        raise CallerError("--follow reads one folder: name the one that new files come into")
    files = list_files(paths)
    if not os.path.isdir(paths[0]):
        raise CallerError(f"--follow {paths[0]}: is no folder; name the one that new files come into")
    kind = find_table_kind(files, kind)
    if kind == "csv":
        raise CallerError(
            "--follow reads folders of Parquet or JSON lines, and not CSV, where each file has a header of "
            "its own: write JSON lines, or hand the stream to antecede.spark.order_stream"
        )
    return files, kind


def _detect_table_kind(file: str) -> str | None:
    try:
        with open(file, "rb") as stream:
            head = stream.read(HEAD_BYTES)
        if head.startswith(GZIP):
            head = next(inflate_blocks(io.BytesIO(head)), b"")
    except (OSError, InputError):
        return None
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(UTF16):
        raise InputError(f"{file}: is UTF-16, and tables of messages are read as UTF-8: convert it")
    start = head.removeprefix(UTF8).lstrip()[:1]
    if not start:
        return None
    return "jsonl" if start in b"{[" else "csv"


def list_parquet_columns(files: list[str]) -> list[str]:
    """The columns of all files, as their footers tell them; files that cannot be read have none."""
    columns: dict[str, None] = {}
    for file in files:
        try:
            columns |= dict.fromkeys(pq.read_schema(file).names)
        except PARQUET_ERRORS:  # whoever reads it says what is wrong
            continue
    return list(columns)


def find_parquet_fault(file: str) -> str | None:
    """Why a Parquet file cannot be read, told by its footer; None if it can."""
    try:
        _ = pq.read_schema(file).names  # these are decoded here, and not before
    except PARQUET_ERRORS as error:
        return describe_parquet_fault(error)
    return None


def describe_parquet_fault(error: Exception) -> str:
    """Why a Parquet file cannot be read, by what Arrow raised."""
    why = (error.strerror if isinstance(error, OSError) else None) or "it is broken"
    return f"Parquet cannot be read ({why}); check its permissions, or write or fetch it again"

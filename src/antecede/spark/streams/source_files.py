"""The files of a micro-batch: all still there, and with columns that the stream knows.

Spark lists files when it plans a micro-batch. One that is deleted before it is read is left out without a
word, and so are columns of Parquet that were not there when the stream began. Spark's checkpoint tells which
files a micro-batch has, so both can be found out.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from antecede.core.errors import CallerError, InputError, NewColumnsError
from antecede.formats.message_files import find_parquet_fault
from antecede.ordering.text_tables import RAW


def check_files_of_batch(batch: DataFrame, batch_id: int, checkpoint: Path) -> DataFrame:
    """The batch; a sentence if rows or columns of its files would be left out."""
    is_text = RAW in batch.columns
    for file in list_batch_files(checkpoint, batch_id):
        if not os.path.exists(file):
            raise CallerError(
                f"{file}: was there a moment ago, and is gone before its rows were read: put it back; or put "
                "a file without rows in its place to go on without them"
            )
        if not is_text:
            _check_parquet_file(file, batch.columns)
    return batch


def _check_parquet_file(file: str, known_columns: list[str]) -> None:
    if fault := find_parquet_fault(file):
        raise InputError(f"{file}: {fault}; put a right one in its place, or one without rows")
    if strange := sorted(set(pq.read_schema(file).names) - set(known_columns)):
        raise NewColumnsError(f"{file}: has new columns: {', '.join(strange)[:300]}")


def list_batch_files(checkpoint: Path, batch_id: int) -> Iterator[str]:
    """The files of a micro-batch, by Spark's checkpoint; none if it is not of files alone."""
    end = _read_source_offset(checkpoint, batch_id)
    before = -1 if batch_id == 0 else _read_source_offset(checkpoint, batch_id - 1)
    if end is None or before is None:
        return
    for number in range(before + 1, end + 1):
        for entry in _read_source_log_entries(checkpoint, number):
            if entry["batchId"] == number:
                yield unquote(urlsplit(entry["path"]).path)


def _read_source_offset(checkpoint: Path, batch_id: int) -> int | None:
    """Up to where the only source was read."""
    *_, offset = (checkpoint / "offsets" / str(batch_id)).read_text().splitlines()
    number = json.loads(offset).get("logOffset") if offset.startswith("{") else None
    return None if number is None else int(number)


def _read_source_log_entries(checkpoint: Path, log_number: int) -> list[dict[str, Any]]:
    folder = checkpoint / "sources" / "0"
    for name in (str(log_number), f"{log_number}.compact"):
        if (folder / name).exists():
            return [json.loads(line) for line in (folder / name).read_text().splitlines()[1:]]
    return []

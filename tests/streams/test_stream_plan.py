"""What a stream refuses before its first row."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from antecede.core.errors import CallerError
from tests.streams.driving import Driver

LIST = pa.list_(pa.string())


@pytest.mark.parametrize("role", ["sender", "receiver", "group", "id"])
def test_a_list_is_no_name(tmp_path: Path, role: str) -> None:
    options: dict[str, Any] = {role: "to"}
    stamp = LIST if role == "id" else pa.map_(pa.string(), pa.int64())
    schema = pa.schema({"sender": pa.string(), "stamp": stamp, "to": LIST})
    with pytest.raises(CallerError, match=f"'to' is array<string>, and a row has one {role}: make a row for"):
        Driver(tmp_path, schema, **options)


@pytest.mark.parametrize("name", ["batch", "Batch", "BATCH"])
def test_a_column_called_like_the_folders_of_the_tables_is_refused(tmp_path: Path, name: str) -> None:
    schema = pa.schema({"sender": pa.string(), "stamp": pa.map_(pa.string(), pa.int64()), name: pa.int64()})
    words = rf"column '{name}' is called like the folders of the tables' micro-batches \(batch=7\)"
    with pytest.raises(
        CallerError, match=f"{words}, which readers take for a column 'batch': rename it before"
    ):
        Driver(tmp_path, schema)


@pytest.mark.parametrize("name", ["antecede bucket", "antecede no row", "Antecede Step"])
def test_a_column_called_like_ours_is_refused(tmp_path: Path, name: str) -> None:
    schema = pa.schema({"sender": pa.string(), "stamp": pa.map_(pa.string(), pa.int64()), name: pa.int64()})
    with pytest.raises(CallerError, match=f"column '{name}' is called like columns of ours .*: rename it"):
        Driver(tmp_path, schema)

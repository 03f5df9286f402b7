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

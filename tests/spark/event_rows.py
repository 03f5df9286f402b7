"""Tables of events written by hand, for the tests of audit and order."""

from typing import Any

import pyarrow as pa

from antecede.tables import EVENTS


def table(*rows: dict[str, Any]) -> pa.Table:
    """Events as given; clocks and fields are dictionaries, and what is not named is null."""
    made = [{k: list(v.items()) if isinstance(v, dict) else v for k, v in row.items()} for row in rows]
    return pa.Table.from_pylist(made, schema=EVENTS)

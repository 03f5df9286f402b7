"""Tables of callers, whatever library they come from."""

from __future__ import annotations

import pyarrow as pa

from antecede.core.errors import CallerError


def to_arrow_table(data: object) -> pa.Table:
    """Data of a caller as an Arrow table, without a copy where that is possible."""
    if isinstance(data, pa.Table):
        return data
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise CallerError(
            f"a table must be an Arrow table or offer itself as one (__arrow_c_stream__), and "
            f"{type(data).__name__} does not; pyarrow.table makes one"
        )
    return pa.table(data)

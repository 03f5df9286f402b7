"""The kernel's answers beside the rows of a table that is made for a test."""

import pyarrow as pa

from antecede.ordering.partition import order_partition
from antecede.ordering.stamps import Reading
from tests.message_rows import Row


def answers(rows: list[Row], reading: Reading, chunk: int = 1000, **types: pa.DataType) -> list[Row]:
    """The rows with what became of them; columns have the given types, or those of their values."""
    schema = pa.schema(
        [(name, types.get(name) or pa.array([r[name] for r in rows]).type) for name in rows[0]]
    )
    batches = [pa.RecordBatch.from_pylist(rows[at : at + chunk], schema) for at in range(0, len(rows), chunk)]
    found = order_partition(pa.Table.from_batches(batches), reading).to_pylist()
    return [{**row, **answer} for row, answer in zip(rows, found, strict=True)]

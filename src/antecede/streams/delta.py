"""The tables of a stream as Delta tables: the same files of Parquet, and a log that says which of them count.

Each table gets one commit for each step, which has the files and, in the same commit, the transaction (query,
step). A step that is tried again finds its transaction there, and adds nothing. What tries left behind that
did not come so far is in no commit, so no reader sees it; `vacuum` removes it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.errors import CallerError, SetupError

try:
    from deltalake import CommitProperties, DeltaTable, Schema, Transaction
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import AddAction
except ImportError:
    raise SetupError("tables of Delta need deltalake; run: pip install 'antecede[delta]'") from None

PARTITION = "batch"


class DeltaSink:
    """One of the tables, as far as one query writes it."""

    def __init__(self, place: Path, query: str) -> None:
        self._place = place
        self._query = query

    def create_table_if_absent(self, schema: pa.Schema) -> None:
        """Make the table before it has rows; refuse one of another stream."""
        if DeltaTable.is_deltatable(str(self._place)):
            if DeltaTable(self._place).transaction_version(self._query) is None:
                raise CallerError(
                    f"{self._place} is a table of another stream: name a new output folder, or go on with "
                    "the checkpoint that belongs to it"
                )
            return
        self._create_table(schema)

    def add_files_unless_step_is_done(self, step: int, paths: Collection[str], schema: pa.Schema) -> None:
        """Add the files of a step, below the place of the table; nothing, if the step was here before."""
        if not DeltaTable.is_deltatable(str(self._place)):
            self._create_table(schema)
        table = DeltaTable(self._place)
        done = table.transaction_version(self._query)
        if done is not None and done >= step:
            for path in paths:
                (self._place / path).unlink(missing_ok=True)
            return
        self._add_new_columns(table, schema)
        table.create_write_transaction(
            [self._make_add_action(path) for path in paths],
            mode="append",
            schema=table.schema(),
            partition_by=[PARTITION],
            commit_properties=self._make_step_properties(step),
        )

    def _create_table(self, schema: pa.Schema) -> None:
        """A table without rows; the step -1 tells whose it is."""
        self._place.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(
            self._place,
            self._make_delta_schema(schema),
            partition_by=[PARTITION],
            commit_properties=self._make_step_properties(-1),
        )

    def _make_step_properties(self, step: int) -> CommitProperties:
        return CommitProperties(app_transactions=[Transaction(self._query, step)])

    def _add_new_columns(self, table: DeltaTable, schema: pa.Schema) -> None:
        """Let the table have columns that came with this step."""
        known = {field.name for field in table.schema().fields}
        added = [field for field in self._make_delta_schema(schema).fields if field.name not in known]
        if added:
            table.alter.add_columns(added)

    def _make_delta_schema(self, schema: pa.Schema) -> Schema:
        fields = [field.with_nullable(True).remove_metadata() for field in schema]
        try:
            return Schema.from_arrow(pa.schema([*fields, pa.field(PARTITION, pa.int64())]))
        except (DeltaError, TypeError, ValueError) as error:
            raise CallerError(f"{self._place}: Delta cannot have these columns: {error}; cast them") from None

    def _make_add_action(self, path: str) -> AddAction:
        file = self._place / path
        facts = file.stat()
        batch = path.partition("/")[0].removeprefix(f"{PARTITION}=")
        rows = pq.ParquetFile(file).metadata.num_rows
        stats = msgspec.json.encode({"numRecords": rows}).decode()
        return AddAction(path, facts.st_size, {PARTITION: batch}, int(facts.st_mtime * 1000), True, stats)

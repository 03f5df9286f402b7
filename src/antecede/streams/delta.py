"""The tables of a stream as Delta tables: the same files of Parquet, and a log that says which of them count.

Each table gets one commit for each step, which has the files and, in the same commit, the transaction (query,
step). A step that is tried again finds its transaction there, and adds nothing. What tries left behind that
did not come so far is in no commit, so no reader sees it; `vacuum` removes it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.errors import CallerError, SetupError
from antecede.streams.joining import describe_types_apart

try:
    from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import AddAction
except ImportError:
    raise SetupError("tables of Delta need deltalake; run: pip install 'antecede[delta]'") from None

PARTITION = "batch"
_NULLABILITY = ("nullable", "containsNull", "valueContainsNull", "metadata")
"""What types say of nulls, which readers do not mind."""


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

    def find_new_columns(self, paths: Collection[str], schema: pa.Schema) -> list[Field]:
        """The columns of a step that the table lacks.

        Refuses those of other types than the table has: nobody could read it any more. Beside the columns
        of the step's own rows there are those of its files, where rows are that have waited.
        """
        if not DeltaTable.is_deltatable(str(self._place)):
            self._create_table(schema)
        known = {field.name.lower(): field for field in DeltaTable(self._place).schema().fields}
        new = []
        for columns in (schema, *(pq.read_schema(self._place / path) for path in paths)):
            for field in self._make_delta_schema(columns).fields:
                if field.name.lower() not in known:
                    new.append(field)
                self._check_field_fits(field, known.setdefault(field.name.lower(), field))
        return new

    def add_columns(self, fields: list[Field]) -> None:
        """Let the table have columns that came with a step, also if none of its rows ends in the table.

        So the types are settled before rows of others may wait.
        """
        DeltaTable(self._place).alter.add_columns(fields)

    def _check_field_fits(self, field: Field, known: Field) -> None:
        if field.name != known.name:
            raise CallerError(
                f"{self._place}: column {field.name!r} is {known.name!r} in the table, and both are one in "
                f"Delta: rename it to {known.name!r}, or start with a new checkpoint and a new output folder"
            )
        if _find_plain_type(field) != _find_plain_type(known):
            now, before = describe_types_apart(*(_find_arrow_type(one) for one in (field, known)))
            raise CallerError(
                f"{self._place}: column {field.name!r} is {now} now, and {before} in the table, and Delta "
                f"has one: cast it to {before}, or start with a new checkpoint and a new output folder"
            )

    def add_files_unless_step_is_done(self, step: int, paths: Collection[str]) -> None:
        """Add the files of a step, below the place of the table; nothing, if the step was here before."""
        table = DeltaTable(self._place)
        done = table.transaction_version(self._query)
        if done is not None and done >= step:
            for path in paths:
                (self._place / path).unlink(missing_ok=True)
            return
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


def _find_plain_type(field: Field) -> Any:
    """The type of a column as Delta writes it, without what it says of nulls."""
    return _drop_nullability(msgspec.json.decode(field.type.to_json()))


def _drop_nullability(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_drop_nullability(part) for part in kind]
    if isinstance(kind, dict):
        return {name: _drop_nullability(part) for name, part in kind.items() if name not in _NULLABILITY}
    return kind


def _find_arrow_type(field: Field) -> pa.DataType:
    return pa.schema(Schema([field]).to_arrow()).field(0).type

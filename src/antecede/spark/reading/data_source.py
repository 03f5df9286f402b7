"""Logs as a data source of Spark: `spark.read.format("antecede").load("logs/")`.

Spark finds it by itself: it looks for packages called `pyspark_...`, and ours is `pyspark_antecede`. It loads
this module in every session that reads from any Python data source, so what reads logs is imported later.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from antecede.core.errors import CallerError

if TYPE_CHECKING:
    import pyarrow as pa

    from antecede.formats.settings import Settings


class LogSource(DataSource):
    """The events of logs, or the records that could not be read.

        events = spark.read.format("antecede").load("logs/")
        quarantine = spark.read.format("antecede").option("table", "quarantine").load("logs/")

    The options are `table` (`events` or `quarantine`), `log_format` where the content of files does not tell
    their format, `regex` and `delimiter` for ShiViz's logs, and, as JSON, `fields` and `kinds`: as in
    `antecede.Settings`. What comes out is what `antecede.read_logs` gives.

    One task reads all files, in its memory, since events in several files may be of one process. For more,
    `antecede.spark.read_logs` spreads the work.

    Where Spark does not look for packages, `spark.dataSource.register(LogSource)` makes it known.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "antecede"

    def schema(self) -> StructType:
        """The columns of the table that is wanted."""
        from pyspark.sql.pandas.types import from_arrow_schema

        from antecede.tables import EVENTS, QUARANTINE

        return from_arrow_schema(EVENTS if _read_table_option(self.options) == "events" else QUARANTINE)

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads the files."""
        return LogReader(dict(self.options))


class LogReader(DataSourceReader):
    """Reads all files in one task."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        """All files are one partition."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        """The rows of the table that is wanted."""
        from antecede.local.logs import read_logs

        logs = read_logs(
            _list_paths(self.options), self.options.get("log_format"), _make_settings(self.options)
        )
        table = logs.events if _read_table_option(self.options) == "events" else logs.quarantine
        yield from table.to_batches()


def _read_table_option(options: Mapping[str, str]) -> str:
    table = options.get("table", "events")
    if table not in ("events", "quarantine"):
        raise CallerError(f"option table is {table!r}: choose events or quarantine")
    return table


def _list_paths(options: Mapping[str, str]) -> list[str]:
    """The paths that a reader was given; Spark hands over several as JSON."""
    if "path" in options:
        return [options["path"]]
    if "paths" in options:
        return [str(path) for path in json.loads(options["paths"])]
    raise CallerError("no input; name files, folders or globs, as in load('logs/')")


def _make_settings(options: Mapping[str, str]) -> "Settings":
    from antecede.formats.settings import Settings

    return Settings(
        options.get("regex"),
        options.get("delimiter"),
        _parse_json_option("fields", options),
        _parse_json_option("kinds", options),
    )


def _parse_json_option(name: str, options: Mapping[str, str]) -> dict[str, str]:
    """An option that is a JSON object of texts."""
    try:
        pairs = json.loads(options.get(name, "{}"))
    except ValueError:
        pairs = None
    if not isinstance(pairs, dict) or not all(isinstance(value, str) for value in pairs.values()):
        raise CallerError(f'option {name} is {options[name]!r}: write a JSON object, as in {{"a": "b"}}')
    return pairs

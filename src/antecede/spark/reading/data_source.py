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

    Each file is read by a task of its own. Several files may be one execution: so before that, the driver
    looks through each of them, one after the other, unless they are our own tables as Parquet. Files that
    need each other's events share a task. For very large logs `antecede.spark.read_logs` reads each file
    once, in tasks only.

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
    """Reads each file in a task, or some that need each other in one."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options
        self.format = options.get("log_format")

    def partitions(self) -> list[InputPartition]:
        """Files that need each other's events are one partition."""
        from antecede.formats.logs import check_format_and_settings
        from antecede.formats.sources import list_files
        from antecede.local.file_sets import plan_file_sets

        settings = _make_settings(self.options)
        check_format_and_settings(self.format, settings)
        names = list_files(_list_paths(self.options))
        return [InputPartition(files) for files in plan_file_sets(names, self.format, settings)]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        """The rows of the table that is wanted."""
        from antecede.local.file_sets import read_events_and_quarantine

        events, quarantine = read_events_and_quarantine(
            partition.value, self.format, _make_settings(self.options)
        )
        table = events if _read_table_option(self.options) == "events" else quarantine
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

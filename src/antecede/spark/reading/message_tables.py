"""Tables of messages from files: Parquet, JSON lines or CSV with a header, with all columns.

Rows know the file and the line (or row) they stood on; what cannot be a row is kept with the reason. The kind
of each file is told by its beginning.
"""

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError, InputError
from antecede.formats.source import GZIP, UTF8, inflated
from antecede.formats.sources import expand
from antecede.spark.ordering.forms import named
from antecede.spark.ordering.outcome import FILE, LINE, Outcome, our_names
from antecede.spark.reading import text_stamps
from antecede.spark.reading.native import as_path, can_open, path_of
from antecede.spark.reading.text_tables import RAW, REASON, csv, jsonl
from antecede.tables import MESSAGES

KINDS = ("parquet", "jsonl", "csv")


class Messages(NamedTuple):
    """The rows that can be read, and those that cannot."""

    rows: DataFrame
    """The user's columns, the number of the file and the line."""
    unreadable: DataFrame
    """The number of the file, line, reason and what stood there."""
    kind: str
    files: list[str]

    @property
    def names(self) -> dict[str, str]:
        """What the columns that are added to quarantine are called, by what they should be called."""
        return our_names(self.rows.drop(FILE, LINE), "file", "line", "raw", "reason")

    def quarantine(self, outcome: Outcome) -> DataFrame:
        """All rows that are left out: those of the outcome, and those that could not be read."""
        names = self.names
        renamed = {LINE: names["line"], REASON: names["reason"], RAW: names["raw"]}
        refused = outcome.quarantine.unionByName(
            self.unreadable.withColumnsRenamed({REASON: names["reason"]}), allowMissingColumns=True
        )
        files = pa.table({FILE: pa.array(range(len(self.files)), pa.int32()), names["file"]: self.files})
        known = sf.broadcast(self.rows.sparkSession.createDataFrame(files))
        return refused.join(known, FILE, "left").drop(FILE).withColumnsRenamed(renamed)


def is_packets(paths: list[str]) -> bool:
    """Whether the input is a table of packets, as `antecede simulate --out` writes it."""
    file = expand(paths)[0]
    try:
        return set(MESSAGES.names) <= set(pq.read_schema(file).names)
    except (OSError, ValueError):
        return False


def messages(
    spark: SparkSession,
    paths: list[str],
    kind: str | None,
    sender: str = "sender",
    stamp: str = "stamp",
    form: str | None = None,
    number: str | None = None,
    id: str | None = None,
) -> Messages:
    """The table in these files, all of one kind."""
    files = expand(paths)
    if kind is not None and kind not in KINDS:
        raise CallerError(
            f"a table of messages is {', '.join(KINDS)}, not {kind!r}; or leave out --group and --stamp"
        )
    kind = kind or _kind(files)
    with _told():
        if kind == "parquet":
            return _parquet(spark, files)
        found = (jsonl if kind == "jsonl" else csv)(spark, files, {stamp, sender})
    found = found.persist(StorageLevel.DISK_ONLY)
    rows = found.where(named(REASON).isNull())
    read = [(stamp, text_stamps.stamp(rows, stamp, form, id is not None))]
    read += [(number, text_stamps.number(rows, number))] if number else []
    reasons = [named(REASON), text_stamps.sender(rows, sender), *(one.reason for _, one in read if one)]
    reason = sf.coalesce(*(one for one in reasons if one is not None))
    good = found.where(reason.isNull()).withColumns({name: one.column for name, one in read if one})
    bad = found.where(reason.isNotNull()).select(FILE, LINE, reason.alias(REASON), RAW)
    return Messages(good.drop(RAW, REASON), bad, kind, files)


def _kind(files: list[str]) -> str:
    """Told by the beginnings of files; those that are empty, or cannot be read, tell nothing."""
    found: dict[str, str] = {}
    for file in files:
        if kind := _kind_of(file):
            found.setdefault(kind, file)
    if not found:
        raise InputError(f"{files[0]}: is empty or cannot be read; name a table of messages")
    (kind, first), *others = found.items()
    if others:
        other, second = others[0]
        raise CallerError(f"{first} is {kind}, {second} is {other}: order tables of one kind at a time")
    return kind


def _kind_of(file: str) -> str | None:
    try:
        with open(file, "rb") as stream:
            head = stream.read(1_000)
        if head.startswith(GZIP):
            head = next(inflated(io.BytesIO(head)), b"")
    except (OSError, InputError):
        return None
    if head.startswith(b"PAR1"):
        return "parquet"
    start = head.removeprefix(UTF8).lstrip()[:1]
    return None if not start else "jsonl" if start in b"{[" else "csv"


def _parquet(spark: SparkSession, files: list[str]) -> Messages:
    """Files whose footer cannot be read are left out whole."""
    broken = {at: why for at, file in enumerate(files) if (why := _broken(file))}
    good = [os.path.abspath(file) for at, file in enumerate(files) if at not in broken]
    if not good:
        raise InputError(f"{files[min(broken)]}: {broken[min(broken)]}")
    table = spark.read.option("mergeSchema", True).parquet(*map(as_path, good))
    rows = table.withColumns({LINE: sf.col("_metadata.row_index") + 1, FILE: _number(good, files)})
    told = [(at, None, why, None) for at, why in broken.items()]
    names = f"`{FILE}` int, `{LINE}` bigint, `{REASON}` string, `{RAW}` string"
    return Messages(rows, spark.createDataFrame(told, names), "parquet", files)


def _broken(file: str) -> str | None:
    if not can_open(file):
        return (
            "Spark opens no Parquet file with a colon in its name, or a dot or an underscore first: rename it"
        )
    try:
        pq.read_schema(file)
    except OSError as error:
        why = error.strerror or "it is broken"
    except (pa.ArrowException, ValueError):
        why = "it is broken"
    else:
        return None
    return f"Parquet cannot be read ({why}); check its permissions, or write or fetch it again"


def _number(good: list[str], files: list[str]) -> Column:
    """The number of the file of each row."""
    numbers = {os.path.abspath(file): at for at, file in enumerate(files)}
    if len(good) == 1:
        return sf.lit(numbers[good[0]]).cast("int")
    pairs = [sf.lit(part) for path in good for part in (path, numbers[path])]
    return sf.try_element_at(sf.create_map(*pairs), path_of()).cast("int")


@contextmanager
def _told() -> Iterator[None]:
    """What Spark says of columns that it cannot tell apart, or put together, in words of ours."""
    try:
        yield
    except AnalysisException as error:
        names = re.findall("`([^`]*)`", str(error))
        if "COLUMN_ALREADY_EXISTS" in str(error):
            raise CallerError(
                f"two columns are called {names[0] if names else ''!r} but for upper and lower case, "
                "and Spark takes them for one: rename one of them"
            ) from None
        raise

"""Tables of messages from files: Parquet, JSON lines or CSV with a header, read by Spark with all columns.

Text knows fewer types than stamps have. So a stamp is read as JSON with the type of its form; without a form,
an object is a map of counts, and a list stays what it looks like.
"""

import gzip
import os
from typing import NamedTuple

import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from antecede.core.errors import CallerError, InputError
from antecede.formats.sources import expand
from antecede.spark.forms import named
from antecede.tables import MESSAGES

BAD, FILE = "antecede unreadable", "antecede file"
"""Columns of ours while rows are read, by names that no table has."""
VECTOR, COUNTS = "map<string, bigint>", "array<bigint>"
TYPES = {
    "matrix": "array<array<bigint>>",
    "triples": "array<struct<`from`: string, `to`: string, `count`: bigint>>",
    "pairs": f"struct<time: {VECTOR}, last: map<string, {VECTOR}>>",
    "log": "array<struct<sender: string, number: bigint, destinations: array<string>>>",
    "predecessors": "array<struct<sender: string, number: bigint, destinations: array<string>>>",
    "shared": COUNTS,
    "parents": "array<string>",
}
"""The JSON of stamps; a vector is an object or a list, a sequence a number."""
KINDS = ("parquet", "jsonl", "csv")


class Messages(NamedTuple):
    """The rows that can be read, and those that cannot: file, reason, raw."""

    rows: DataFrame
    unreadable: DataFrame | None
    kind: str
    files: int


def is_packets(paths: list[str]) -> bool:
    """Whether the input is a table of packets, as `antecede simulate --out` writes it."""
    file = expand(paths)[0]
    try:
        return set(MESSAGES.names) <= set(pq.read_schema(file).names)
    except (OSError, ValueError):
        return False


def messages(
    spark: SparkSession, paths: list[str], kind: str | None, stamp: str = "stamp", form: str | None = None
) -> Messages:
    """The table in these files, all of one kind."""
    files = [os.path.abspath(file) for file in expand(paths)]
    if kind is not None and kind not in KINDS:
        raise CallerError(
            f"a table of messages is {', '.join(KINDS)}, not {kind!r}; or leave out --group and --stamp"
        )
    kind = kind or _kind(files[0])
    if kind == "parquet":
        return Messages(spark.read.parquet(*files), None, kind, len(files))
    found = _json(spark, files, stamp) if kind == "jsonl" else _csv(spark, files)
    found = found.withColumn(FILE, sf.input_file_name()).persist(StorageLevel.DISK_ONLY)
    reason = (
        "is no JSON object" if kind == "jsonl" else "does not fit the header and the types of its columns"
    )
    unreadable = _refused(found.where(named(BAD).isNotNull()), reason, named(BAD))
    rows = found.where(named(BAD).isNull()).drop(BAD)
    parsed = _parsed(rows, stamp, form)
    if parsed is not None:
        torn = named(stamp).isNotNull() & parsed.isNull()
        whole = sf.to_json(sf.struct(*(named(name) for name in rows.columns if name != FILE)))
        unreadable = unreadable.union(_refused(rows.where(torn), "the stamp is not JSON of its form", whole))
        rows = rows.where(~torn).withColumn(stamp, parsed)
    return Messages(rows.drop(FILE), unreadable, kind, len(files))


def _refused(rows: DataFrame, reason: str, raw: Column) -> DataFrame:
    return rows.select(named(FILE).alias("file"), sf.lit(reason).alias("reason"), raw.alias("raw"))


def _kind(file: str) -> str:
    """Told by the beginning of a file."""
    with open(file, "rb") as stream:
        head = stream.read(1_000)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(file) as packed:
            head = packed.read(1_000)
    if not head.strip():
        raise InputError(f"{file}: is empty; name a table of messages")
    return "jsonl" if head.lstrip()[:1] in (b"{", b"[") else "csv"


def _json(spark: SparkSession, files: list[str], stamp: str) -> DataFrame:
    """Stamps stay text for now: their objects have a key for every process, and no fixed fields."""
    reader = spark.read.option("columnNameOfCorruptRecord", BAD)
    fields = [field for field in reader.json(files).schema.fields if field.name != BAD]
    kinds = {stamp: st.StringType()}
    schema = [
        st.StructField(f.name, kinds.get(f.name, f.dataType) if _is_object(f) else f.dataType) for f in fields
    ]
    return reader.schema(st.StructType([*schema, st.StructField(BAD, st.StringType())])).json(files)


def _is_object(field: st.StructField) -> bool:
    kind = field.dataType
    while isinstance(kind, st.ArrayType):
        kind = kind.elementType
    return isinstance(kind, st.StructType)


def _csv(spark: SparkSession, files: list[str]) -> DataFrame:
    reader = spark.read.option("header", True).option("columnNameOfCorruptRecord", BAD).option("escape", '"')
    schema = reader.option("inferSchema", True).csv(files).schema
    return reader.schema(st.StructType([*schema.fields, st.StructField(BAD, st.StringType())])).csv(files)


def _parsed(rows: DataFrame, stamp: str, form: str | None) -> Column | None:
    """The stamp, where it is text, with the type of its form."""
    if stamp not in rows.columns or not isinstance(rows.schema[stamp].dataType, st.StringType):
        return None
    if form in TYPES:
        return sf.from_json(named(stamp), TYPES[form])
    first = rows.select(sf.trim(named(stamp)).alias("text")).where("text != ''").first()
    kind = {"{": VECTOR, "[": COUNTS}.get(first["text"][0] if first else "")
    return None if kind is None else sf.from_json(named(stamp), kind)

"""Tables of messages in text, JSON lines or CSV with a header: from numbered lines to columns.

A line is a record: a quoted cell of CSV that goes on over a line's end is refused, since behind a stray quote
nobody could tell where the next record begins. All files of CSV have one header.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from antecede.core.errors import CallerError
from antecede.formats.csv_table import separator
from antecede.spark.ordering.forms import named
from antecede.spark.ordering.outcome import FILE, LINE, told_apart
from antecede.spark.reading.lines import lines

RAW, REASON = "antecede raw", "antecede reason"
"""Columns of ours beside the user's: a line as it stood there, and why it is no row."""
_CELLS, _BAD = "antecede cells", "antecede unreadable"
_NESTED = (st.ArrayType, st.StructType, st.MapType)
_OPEN = '(?:^|{0})"(?:[^"]++|"")*+$'
"""A cell that is opened by a quote and not closed before the line's end."""


def jsonl(spark: SparkSession, files: list[str], texts: set[str]) -> DataFrame:
    """The rows of JSON lines. Columns in `texts` stay text where values are nested: stamps have no
    fixed fields.

    A line that is a list of objects has a row for each.
    """
    found = _numbered(spark, files)
    inferred = spark.read.option("columnNameOfCorruptRecord", _BAD).json(_texts(found)).schema
    told_apart(spark, inferred.names)
    fields = [
        st.StructField(f.name, st.StringType() if f.name in texts and _is_nested(f) else f.dataType)
        for f in inferred.fields
        if f.name != _BAD
    ]
    schema = st.StructType(fields or [st.StructField(_BAD, st.StringType())])
    cells = sf.explode_outer(sf.from_json(named(RAW), st.ArrayType(schema)))
    wrong = sf.when(named(_CELLS).isNull(), "is no JSON object")
    return _opened(found.withColumn(_CELLS, cells), [(f.name, f.name) for f in fields], wrong)


def csv(spark: SparkSession, files: list[str], texts: set[str]) -> DataFrame:
    """The rows of CSV, separated by what its header has most of; columns in `texts` stay text."""
    found = _numbered(spark, files)
    header, begins = _header(found, files)
    rows = found.where(~(named(RAW).eqNullSafe(header) & named(LINE).isin(begins)))
    options = {"sep": separator(header), "escape": '"', "columnNameOfCorruptRecord": _BAD}
    both = spark.createDataFrame([(header,)], "text string").union(_texts(rows))
    inferred = spark.read.options(header=True, inferSchema=True, **options).csv(both).schema
    fields = {
        f"c{at}": "string" if f.name in texts else f.dataType.simpleString()
        for at, f in enumerate(inferred.fields)
    }
    schema = ", ".join(f"{name} {kind}" for name, kind in {**fields, f"`{_BAD}`": "string"}.items())
    rows = rows.withColumn(_CELLS, sf.from_csv(named(RAW), schema, options))
    wrong = sf.when(
        named(RAW).rlike(_OPEN.format(f"\\{options['sep']}")), "a quoted cell does not end on its line"
    )
    wrong = wrong.when(
        named(_CELLS)[_BAD].isNotNull(), f"does not have the {len(fields)} cells that the header has"
    )
    return _opened(rows, list(zip(fields, inferred.names, strict=True)), wrong)


def _numbered(spark: SparkSession, files: list[str]) -> DataFrame:
    """The lines that are not blank, as text; and one for each file that cannot be read on."""
    text = sf.regexp_replace(sf.make_valid_utf8(sf.col("text").cast("string")), "\r$", "")
    found = lines(spark, files).select(
        sf.col("number").alias(FILE),
        sf.col("line").alias(LINE),
        text.alias(RAW),
        sf.col("error").alias(REASON),
    )
    return found.where(named(RAW).rlike("\\S") | named(RAW).isNull())


def _texts(found: DataFrame) -> DataFrame:
    return found.where(named(RAW).isNotNull()).select(RAW)


def _header(found: DataFrame, files: list[str]) -> tuple[str, list[int]]:
    """The header, and the lines on which it stands."""
    first = sf.min(sf.struct(named(LINE).alias("line"), named(RAW).alias("text"))).alias("first")
    rows = found.where(named(RAW).isNotNull()).groupBy(FILE).agg(first).orderBy(FILE).collect()
    texts = [row["first"]["text"] for row in rows]
    if other := next((row for row in rows if row["first"]["text"] != texts[0]), None):
        one, two = files[rows[0][FILE]], files[other[FILE]]
        raise CallerError(f"{one} and {two} have different headers: order files of one header at a time")
    return texts[0] if texts else "", sorted({row["first"]["line"] for row in rows})


def _opened(rows: DataFrame, columns: list[tuple[str, str]], wrong: Column) -> DataFrame:
    """Cells as columns of their own, beside ours; the reason is null for good rows."""
    own = [named(_CELLS)[name].alias(column) for name, column in columns]
    reason = sf.coalesce(named(REASON), wrong).alias(REASON)
    return rows.select(*own, FILE, LINE, RAW, reason)


def _is_nested(field: st.StructField) -> bool:
    return isinstance(field.dataType, _NESTED)

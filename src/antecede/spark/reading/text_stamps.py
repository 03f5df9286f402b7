"""Stamps, senders and numbers that stand in text: what they mean, and why a row cannot have one.

Counts may be numbers or whole numbers in quotes. A stamp has the type of its form; if no form is told, the
one that most of the stamps have.
"""

from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from antecede.spark.ordering.forms import INTEGERS, named

VECTOR, COUNTS, MATRIX, IDS, NUMBER = (
    "map<string, bigint>", "array<bigint>", "array<array<bigint>>", "array<string>", "bigint"
)  # fmt: skip


class Kind(NamedTuple):
    """A type of stamps, how it looks in JSON, and the keys that objects (in a list, if `listed`) have."""

    type: str
    example: str
    keys: tuple[str, ...] = ()
    listed: bool = True


_KINDS = {
    "object": Kind(VECTOR, 'an object of counts, as in {"a": 1, "b": 2}'),
    "list": Kind(COUNTS, "a list of counts, as in [1, 2]"),
    "matrix": Kind(MATRIX, "a list of lists of counts, as in [[0, 1], [2, 0]]"),
    "ids": Kind(IDS, 'a list of ids, as in ["x", "y"]'),
    "number": Kind(NUMBER, "a whole number, as in 3"),
    "triples": Kind(
        "array<struct<`from`: string, `to`: string, `count`: bigint>>",
        'a list of entries, as in [{"from": "a", "to": "b", "count": 1}]',
        ("from", "to", "count"),
    ),
    "pairs": Kind(
        f"struct<time: {VECTOR}, last: map<string, {VECTOR}>>",
        'an object, as in {"time": {"a": 1}, "last": {"b": {"a": 1}}}',
        ("time", "last"),
        listed=False,
    ),
    "log": Kind(
        "array<struct<sender: string, number: bigint, destinations: array<string>>>",
        'a list of messages, as in [{"sender": "a", "number": 1, "destinations": ["b"]}]',
        ("sender", "number", "destinations"),
    ),
    "direct": Kind(
        "array<struct<sender: string, number: bigint>>",
        'a list of messages, as in [{"sender": "a", "number": 1}]',
        ("sender", "number"),
    ),
}
_FORMS = {
    "vector": ("object", "list"), "matrix": ("matrix",), "triples": ("triples",), "pairs": ("pairs",),
    "log": ("log", "direct"), "predecessors": ("direct", "log"), "shared": ("list",), "parents": ("ids",),
    "sequence": ("number",), None: ("object", "list", "matrix", "ids", "number"),
}  # fmt: skip


class Read(NamedTuple):
    """A column with the type it should have, and the reason of the rows that cannot have it, or null."""

    column: Column
    reason: Column


def stamp(rows: DataFrame, name: str, form: str | None, ids: bool) -> Read | None:
    """The stamps of a table in text; None if there are none, or if their form is not one of text.

    A list is one of ids where rows have ids themselves, or where it cannot be one of counts.
    """
    if name not in rows.columns or form not in _FORMS:
        return None
    kinds = sorted((_KINDS[kind] for kind in _FORMS[form]), key=lambda kind: (kind.type == IDS) != ids)
    text = sf.trim(named(name).cast("string"))
    kind = kinds[0] if len(kinds) == 1 else _usual(rows, text, kinds)
    loose, strict = _loose(text, kind), _strict(text, kind)
    shown = sf.concat(sf.lit(": "), sf.substring(text, 1, 80))
    reason = sf.when(loose.isNull(), sf.concat(sf.lit(f"the stamp is not {kind.example}"), shown))
    reason = reason.when(
        strict.isNull(), sf.concat(sf.lit("the stamp has a count that is no whole number"), shown)
    )
    return Read(strict, sf.when(named(name).isNotNull(), reason))


def _usual(rows: DataFrame, text: Column, kinds: list[Kind]) -> Kind:
    """The kind that most stamps have; of equal ones the first. Any list can be one of ids: where these come
    last, they count only where there is nothing else."""
    found = rows.select(*(sf.count(_strict(text, kind)).alias(kind.type) for kind in kinds)).first()
    counts = {kind: found[kind.type] if found else 0 for kind in kinds}
    if kinds[-1].type == IDS and any(list(counts.values())[:-1]):
        del counts[kinds[-1]]
    return max(counts, key=lambda kind: counts[kind])


def _loose(text: Column, kind: Kind) -> Column:
    """The stamp with texts for counts; null if it does not look like one of this kind."""
    if kind.type == NUMBER:
        return text
    plain = sf.from_json(text, kind.type.replace("bigint", "string"))
    if kind.keys:
        return sf.when(_keyed(text, kind), plain)
    return plain if kind.type != IDS else sf.when(text.startswith("["), plain)


def _keyed(text: Column, kind: Kind) -> Column:
    """Whether the objects have the keys of the kind and no others; an item that is null has none to check."""
    keys = sf.array(*map(sf.lit, sorted(kind.keys)))
    objects = sf.from_json(text, "array<map<string, string>>" if kind.listed else "map<string, string>")
    found = sf.forall(
        objects if kind.listed else sf.array(objects),
        lambda one: one.isNull() | (sf.array_sort(sf.map_keys(one)) == keys),
    )
    return found & text.startswith("[" if kind.listed else "{")


def _strict(text: Column, kind: Kind) -> Column:
    """The stamp; null also if a count is no whole number: it is the same only if it can be written back."""
    loose = _loose(text, kind)
    if kind.type == NUMBER:
        return _whole(text)
    found = loose.try_cast(kind.type)
    back = found.cast(kind.type.replace("bigint", "string"))
    return sf.when(sf.to_json(loose) == sf.to_json(back), found)


def _whole(text: Column) -> Column:
    return sf.when(text.rlike("^[+-]?[0-9]+$"), text.try_cast("bigint"))


def sender(rows: DataFrame, name: str) -> Column | None:
    """The reason of rows whose sender is a list or an object; None if none can be."""
    if name not in rows.columns or not isinstance(rows.schema[name].dataType, st.StringType):
        return None
    text = sf.trim(named(name))
    nested = sf.when(text.startswith("{"), sf.from_json(text, "map<string, string>").isNotNull())
    nested = nested.when(text.startswith("["), sf.from_json(text, IDS).isNotNull())
    told = sf.concat(sf.lit("the sender is not a name but a list or an object: "), sf.substring(text, 1, 80))
    return sf.when(nested, told)


def number(rows: DataFrame, name: str) -> Read | None:
    """A column of whole numbers that has become text, because some of them are none."""
    if name not in rows.columns or isinstance(rows.schema[name].dataType, INTEGERS):
        return None
    found = _whole(sf.trim(named(name).cast("string")))
    told = sf.concat(sf.lit(f"{name} is no whole number: "), sf.substring(named(name).cast("string"), 1, 80))
    return Read(found, sf.when(named(name).isNotNull() & found.isNull(), told))

"""Types of columns in text tables: which type holds all values of a column, and the values in it.

A type is written as JSON can write it, since types are put together from what many tasks have seen: a word,
or `["list", type]`, or `["struct", {name: type}]`. What no other type holds is text; nested values are then
written as JSON.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from antecede.ordering.text_stamps import LARGEST, SMALLEST, write_as_json_unless_text

TextType = Any
"""A word, or a list as above."""

_ARROW_TYPES = {
    "null": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "string": pa.string(),
}
_WIDER = {
    frozenset(("int", "bigint")): "bigint",
    frozenset(("int", "double")): "double",
    frozenset(("bigint", "double")): "double",
    frozenset(("date", "timestamp")): "timestamp",
}
"""What holds the values of two types."""

# A zero in front belongs to a code, as of a region or an article, and would be lost in a number.
_INTEGER = r"^-?(0|[1-9][0-9]*)$"
_FLOAT = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DATE = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
_ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})"
_TIMESTAMP = f"{_DATE[:-1]}([T ]{_CLOCK}{_ZONE}?)?$"
_BOOLEAN = r"^(?i:true|false)$"


def merge_types(one: TextType, other: TextType) -> TextType:
    """The type that holds the values of both."""
    if one == other or other == "null":
        return one
    if one == "null":
        return other
    if isinstance(one, str) or isinstance(other, str):
        both = frozenset(kind for kind in (one, other) if isinstance(kind, str))
        return _WIDER.get(both, "string")
    if one[0] != other[0]:
        return "string"
    if one[0] == "list":
        return ["list", merge_types(one[1], other[1])]
    fields = {}
    for name in sorted({*one[1], *other[1]}):
        fields[name] = merge_types(one[1].get(name, "null"), other[1].get(name, "null"))
    return ["struct", fields]


def find_json_type(value: Any) -> TextType:
    """The type of a value of JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "bigint" if SMALLEST <= value <= LARGEST else "string"
    if isinstance(value, float):
        return "double"
    if isinstance(value, list):
        item: TextType = "null"
        for each in value:
            item = merge_types(item, find_json_type(each))
        return ["list", item]
    if isinstance(value, dict):
        return ["struct", {name: find_json_type(value[name]) for name in sorted(value)}]
    return "string"


def to_arrow_type(kind: TextType) -> pa.DataType:
    """The type of a column of this type."""
    if isinstance(kind, str):
        return _ARROW_TYPES[kind]
    if kind[0] == "list":
        return pa.list_(to_arrow_type(kind[1]))
    if not kind[1]:  # a struct without fields can be written nowhere
        return pa.string()
    return pa.struct([(name, to_arrow_type(field)) for name, field in kind[1].items()])


def make_column_of_json_values(values: list[Any], kind: TextType) -> pa.Array:
    """Values of JSON as a column."""
    arrow_type = to_arrow_type(kind)
    try:
        return pa.array(values, arrow_type)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([_convert_value_to_type(value, kind, arrow_type) for value in values], arrow_type)


def _convert_value_to_type(value: Any, kind: TextType, arrow_type: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_string(arrow_type):
        return write_as_json_unless_text(value)
    if kind == "double":
        return float(value)
    if isinstance(kind, str):
        return value
    if kind[0] == "list":
        return [_convert_value_to_type(item, kind[1], arrow_type.value_type) for item in value]
    fields = kind[1].items()
    return {
        name: _convert_value_to_type(value.get(name), field, to_arrow_type(field)) for name, field in fields
    }


def find_type_of_csv_cells(cells: pa.Array, *, is_moment: bool = False) -> TextType:
    """The type that holds all cells of a column of CSV; those of a moment may have zeros in front."""
    texts = cells.drop_null()
    if is_moment:
        texts = pc.replace_substring_regex(texts, r"^([+-]?)0+([0-9]+(\.|$))", r"\1\2")
    if not len(texts):
        return "null"
    if _all_match(texts, _INTEGER):
        return _find_integer_type(texts)
    patterns = {"double": _FLOAT, "date": _DATE, "timestamp": _TIMESTAMP, "boolean": _BOOLEAN}
    for kind, pattern in patterns.items():
        if _all_match(texts, pattern) and _can_convert_texts(texts, kind):
            return kind
    return "string"


def _all_match(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _can_convert_texts(texts: pa.Array, kind: str) -> bool:
    """Whether the type holds all texts that look like it: there is no 30th of February."""
    try:
        make_column_of_csv_cells(texts, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _find_integer_type(texts: pa.Array) -> str:
    """Integers that are too long for a number stay texts: none of their digits is lost."""
    try:
        integers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return "string"
    extremes = pc.min_max(integers).as_py()
    return "int" if extremes["min"] >= -(2**31) and extremes["max"] < 2**31 else "bigint"


def make_column_of_csv_cells(cells: pa.Array, kind: TextType) -> pa.Array:
    """Cells of CSV as a column."""
    if kind == "boolean":
        return pc.equal(pc.utf8_lower(cells), "true")
    if kind == "timestamp":
        cells = pc.replace_substring_regex(cells, f"({_DATE[1:-1]})$", r"\1T00:00:00")
        has_zone = pc.match_substring_regex(cells, f"{_ZONE}$")
        cells = pc.if_else(has_zone, cells, pc.binary_join_element_wise(cells, "Z", ""))
    return cells.cast(_ARROW_TYPES[kind])

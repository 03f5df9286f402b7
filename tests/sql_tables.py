"""Arrow tables of Python rows, with types as SQL writes them: `a string, b map<string,int>`."""

import re
from typing import Any

import pyarrow as pa

_PLAIN = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"),
}


def make_table(rows: list[Any], schema: str) -> pa.Table:
    """A table of tuples."""
    fields = dict(_split_field(text, " ") for text in _split_list(schema))
    types = {name: parse_type(kind) for name, kind in fields.items()}
    columns = [
        pa.array([_to_arrow(row[at], kind) for row in rows], kind) for at, kind in enumerate(types.values())
    ]
    return pa.table(columns, list(types))


def parse_type(text: str) -> pa.DataType:
    text = text.strip()
    if text in _PLAIN:
        return _PLAIN[text]
    outer, inner = re.fullmatch(r"(\w+)<(.*)>", text).groups()  # type: ignore[union-attr]
    parts = _split_list(inner)
    if outer == "array":
        return pa.list_(parse_type(inner))
    if outer == "map":
        return pa.map_(*map(parse_type, parts))
    return pa.struct([(name, parse_type(kind)) for name, kind in (_split_field(part, ":") for part in parts)])


def _split_list(text: str) -> list[str]:
    """The parts between commas that are inside no brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "<") - (sign == ">")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _split_field(text: str, sign: str) -> tuple[str, str]:
    name, _, kind = text.strip().partition(sign)
    return name.strip(), kind.strip()


def _to_arrow(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(key, _to_arrow(item, kind.item_type)) for key, item in value.items()]
    if pa.types.is_list(kind):
        return [_to_arrow(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {
            field.name: _to_arrow(item, field.type) for field, item in zip(kind.fields, value, strict=True)
        }
    return value

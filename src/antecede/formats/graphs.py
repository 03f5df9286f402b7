"""Helpers for formats whose events name their parents: small conversions that several of them share."""

from typing import Any

from antecede.formats import values
from antecede.formats.rows import Refused


def require_name(record: dict[str, Any], *keys: str) -> str:
    """The first of these fields that the record has, as a name."""
    for key in keys:
        value = record.get(key)
        if type(value) is str and value:
            return value
        if (value := unwrap_single_value(value)) is not None:
            return values.read_name(value, key)
    raise Refused(f"no {' or '.join(keys)}")


def find_text(record: dict[str, Any], *keys: str) -> str | None:
    """The first of these fields that the record has, as a text; None if it has none."""
    for key in keys:
        value = record.get(key)
        if type(value) is str and value:
            return value
        value = unwrap_single_value(value)
        if value is not None and value != "":
            return values.as_text(value)
    return None


def unwrap_single_value(value: Any) -> Any:
    """X-Trace writes single values as lists of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def find_other_fields(record: dict[str, Any], *used: str) -> dict[str, str] | None:
    """The other fields as strings."""
    return values.collect_other_fields(record, set(used)) or None

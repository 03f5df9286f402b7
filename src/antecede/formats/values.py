"""Values of records as columns want them: names, counts, times, kinds, and everything else as strings."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from antecede.core.wire import LARGEST
from antecede.events.kinds import find_kind_meant_by_word
from antecede.formats.rows import Refused

DEEPEST = 8
"""Levels of objects that are opened; what lies deeper is written as JSON."""

_encoder = msgspec.json.Encoder(order="deterministic")


def read_name(value: Any, what: str) -> str:
    """A name: a string that is not empty, or a number."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    there = {"": "it is empty", "null": "it is null"}.get(as_text(value), as_text(value)[:80])
    raise Refused(f"{what} is no name: {there}")


def read_names(value: Any, what: str) -> list[str]:
    """A list of names; one name alone is a list of one."""
    if not isinstance(value, list | tuple):
        return [read_name(value, what)]
    return [read_name(one, what) for one in value]


def read_count(value: Any, what: str) -> int:
    """A whole number from 0 on, also as a string."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise Refused(f"{what} is no count: {as_text(value)[:80]}")
    return value


def read_kind(value: Any, kinds: dict[str, str]) -> str | None:
    """One of our kinds, if the value is known to mean one."""
    text = as_text(value)
    return kinds.get(text) or find_kind_meant_by_word(text)


def read_time_ms(value: Any) -> float | None:
    """A number of milliseconds, or a date and time in ISO 8601 (without a zone: UTC)."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str | datetime):
        return None
    try:
        number = float(value) if not isinstance(value, datetime) else _to_epoch_ms(value)
    except OverflowError:
        return None
    except ValueError:
        return _parse_iso_time_ms(str(value))
    return number if math.isfinite(number) else None


def _parse_iso_time_ms(text: str) -> float | None:
    try:
        return _to_epoch_ms(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None


def _to_epoch_ms(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000


def as_text(value: Any) -> str:
    """Any value as a string: strings as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    try:
        return _encoder.encode(value).decode()
    except RecursionError:
        return "(nested too deeply)"
    except (TypeError, ValueError, msgspec.MsgspecError):
        return str(value)


def encode_each_as_json_text(values: Sequence[Any]) -> list[str]:
    """Values that are no strings, written as JSON; line ends in JSON are escaped."""
    try:
        return _encoder.encode_lines(values).decode().removesuffix("\n").split("\n")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return [as_text(value) for value in values]


def collect_other_fields(record: dict[str, Any], used: set[str]) -> dict[str, str]:
    """All that is not used, as fields; a used path covers what is below it."""
    used_prefixes = tuple(f"{path}." for path in used if "." in path)
    result: dict[str, str] = {}
    for key, value in record.items():
        if key in used or value is None:
            continue
        if type(value) is str:
            result[key] = value
        elif isinstance(value, dict):
            _add_leaf_fields(result, {key: value}, used, used_prefixes, "", DEEPEST)
        else:
            result[key] = as_text(value)
    return result


def flatten_to_fields(value: Any, path: str, depth: int) -> dict[str, str]:
    """A value that stands at the end of a path, as fields."""
    result: dict[str, str] = {}
    _add_leaf_fields(result, {path: value}, set(), (), "", depth)
    return result


def _add_leaf_fields(
    result: dict[str, str],
    record: dict[str, Any],
    used: set[str],
    used_prefixes: tuple[str, ...],
    prefix: str,
    depth: int,
) -> None:
    """Add what is not used below some keys; lists, and what lies too deep, are values."""
    for key, value in record.items():
        if value is None:
            continue
        path = prefix + key
        if isinstance(value, dict) and value and depth > 0:
            _add_leaf_fields(result, value, used, used_prefixes, path + ".", depth - 1)
        elif path not in used and not (used_prefixes and path.startswith(used_prefixes)):
            result[path] = value if type(value) is str else as_text(value)

"""Stamps, senders and numbers that stand in text: what they mean, and why a row cannot have one.

Counts may be whole numbers, also as floats (1.0) or in quotes. A stamp has the type of its form; if no form
is named, the one that most of the stamps have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.types as pt

from antecede.ordering.strict_json import RepeatedKeyError, decode_json
from antecede.ordering.whole_numbers import LARGEST_WHOLE_FLOAT

SHOWN = 80
"""Characters of a value that a reason shows."""
SMALLEST, LARGEST = -(2**63), 2**63 - 1
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}")
"""A whole number; those with more digits are out of range, and Python would not read all of them."""
_WHOLE_FLOAT = re.compile(r"[+-]?[0-9]{1,100}\.0+")
"""A whole number as tools without nullable integers write it into CSV."""
_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,100}")
"""A whole number as it is written back."""
_COUNTS = pa.map_(pa.string(), pa.int64())
_PLACED = pa.list_(pa.int64())


_JSON_START = re.compile(r"\s*[\[{]")
_PROCESSES = ("sender", "receiver")
"""Texts that name these are names only if they are no lists or objects in JSON."""
ROWS_OF_THEIR_OWN = {
    "receiver": ", and each receiver needs a row of its own",
    "group": ", and each group needs a row of its own",
}
"""What is to be done where several names stand in one row."""


class OtherKindError(Exception):
    """A value does not look like stamps of this kind."""


class CountError(Exception):
    """A value looks like a stamp of this kind, but for a count."""


class StampKind(NamedTuple):
    """A type of stamps, how it looks in JSON, and how a value becomes one of the type."""

    type: pa.DataType
    example: str
    convert: Callable[[Any], Any]
    may_be_bare: bool = False
    """Whether a list of one item may be the item alone."""

    @property
    def accepted_python_types(self) -> type | tuple[type, ...]:
        """The types that such values have in Python."""
        if self.may_be_bare:
            return (list, int, float, str)
        if pt.is_map(self.type) or pt.is_struct(self.type):
            return dict
        return list if pt.is_list(self.type) else (int, float, str)


def _to_count(value: Any) -> int | None:
    """A count; null stays null, which the order refuses with its own words."""
    if value is None:
        return None
    if isinstance(value, list | dict):
        raise OtherKindError
    if isinstance(value, str) and _CANONICAL.fullmatch(value):
        value = int(value)
    elif type(value) is float:
        value = _to_integer_if_whole(value)
    if type(value) is not int or not SMALLEST <= value <= LARGEST:
        raise CountError
    return value


def _to_integer_if_whole(value: float) -> int | float:
    """The whole number that a float is: some writers have no other numbers."""
    return int(value) if value.is_integer() and abs(value) <= LARGEST_WHOLE_FLOAT else value


def _to_name(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else write_as_json_unless_text(value)


def _check_type(value: Any, kind: type) -> None:
    if type(value) is not kind:
        raise OtherKindError


def _to_counts_by_name(value: Any) -> list[tuple[str, int | None]]:
    _check_type(value, dict)
    return [(name, _to_count(count)) for name, count in value.items()]


def _to_counts(value: Any) -> list[int | None]:
    _check_type(value, list)
    return [_to_count(count) for count in value]


def _to_matrix(value: Any) -> list[list[int | None] | None]:
    _check_type(value, list)
    for row in value:
        if row is not None:
            _check_type(row, list)
    return [None if row is None else _to_counts(row) for row in value]


def _to_ids(value: Any) -> list[str | None]:
    _check_type(value, list)
    return [_to_name(item) for item in value]


def _to_parent_ids(value: Any) -> list[str | None]:
    """A list of ids, or one id, or nothing; what begins like a list or an object and is none was cut off."""
    if value == "":
        return []
    if type(value) is float:
        value = _to_integer_if_whole(value)
    is_bare = type(value) is int or (isinstance(value, str) and not _JSON_START.match(value))
    return [_to_name(value)] if is_bare else _to_ids(value)


def _to_64_bit_integer(value: Any) -> int:
    if type(value) is float:
        value = _to_integer_if_whole(value)
    if type(value) is int and SMALLEST <= value <= LARGEST:
        return value
    if isinstance(value, str) and _WHOLE.fullmatch(value) and SMALLEST <= int(value) <= LARGEST:
        return int(value)
    if isinstance(value, str) and _WHOLE_FLOAT.fullmatch(value):
        return _to_64_bit_integer(value[: value.index(".")])
    raise CountError


def _to_objects_with_fields(
    value: Any, **field_converters: Callable[[Any], Any]
) -> list[dict[str, Any] | None]:
    """A list of objects that have these keys and no others."""
    _check_type(value, list)
    for entry in value:
        if entry is not None and (type(entry) is not dict or entry.keys() != field_converters.keys()):
            raise OtherKindError
    entries: list[dict[str, Any] | None] = []
    for entry in value:
        converted = None
        if entry is not None:
            converted = {name: convert(entry[name]) for name, convert in field_converters.items()}
        entries.append(converted)
    return entries


def _to_triples(value: Any) -> list[dict[str, Any] | None]:
    return _to_objects_with_fields(value, **{"from": _to_name, "to": _to_name, "count": _to_count})


def _to_log(value: Any) -> list[dict[str, Any] | None]:
    return _to_objects_with_fields(value, sender=_to_name, number=_to_count, destinations=_to_destinations)


def _to_senders_and_numbers(value: Any) -> list[dict[str, Any] | None]:
    return _to_objects_with_fields(value, sender=_to_name, number=_to_count)


def _to_destinations(value: Any) -> list[str | None] | None:
    return None if value is None else _to_ids(value)


def _to_time_and_last_times_by_name(value: Any) -> dict[str, Any]:
    """A stamp of the form `pairs` whose times are objects: a count for each name."""
    return _to_time_and_last_times(value, _to_counts_by_name)


def _to_time_and_last_times_by_place(value: Any) -> dict[str, Any]:
    """A stamp of the form `pairs` whose times are lists: a count for each place."""
    return _to_time_and_last_times(value, _to_counts)


def _to_time_and_last_times(value: Any, convert_time: Callable[[Any], Any]) -> dict[str, Any]:
    """An object with the time of a message, and the times of the last ones by process."""
    _check_type(value, dict)
    if value.keys() != {"time", "last"}:
        raise OtherKindError
    time, last = value["time"], value["last"]
    return {
        "time": None if time is None else convert_time(time),
        "last": None if last is None else _to_last_times(last, convert_time),
    }


def _to_last_times(value: Any, convert_time: Callable[[Any], Any]) -> list[tuple[str, Any]]:
    """Times by process: an object, or a list of objects with process and time."""
    if type(value) is list:
        entries = _to_objects_with_fields(value, process=_to_name, time=lambda time: time)
        named_times = [(entry["process"], entry["time"]) for entry in entries if entry is not None]
        if len(named_times) < len(value) or any(name is None for name, _ in named_times):
            raise OtherKindError
    else:
        _check_type(value, dict)
        named_times = list(value.items())
    return [(name, None if time is None else convert_time(time)) for name, time in named_times]


_DIRECT = [("sender", pa.string()), ("number", pa.int64())]
KINDS: dict[str, StampKind] = {
    "object": StampKind(_COUNTS, 'an object of counts, as in {"a": 1, "b": 2}', _to_counts_by_name),
    "list": StampKind(_PLACED, "a list of counts, as in [1, 2]", _to_counts),
    "matrix": StampKind(
        pa.list_(pa.list_(pa.int64())), "a list of lists of counts, as in [[0, 1], [2, 0]]", _to_matrix
    ),
    "triples": StampKind(
        pa.list_(pa.struct([("from", pa.string()), ("to", pa.string()), ("count", pa.int64())])),
        'a list of entries, as in [{"from": "a", "to": "b", "count": 1}]',
        _to_triples,
    ),
    "pairs": StampKind(
        pa.struct([("time", _COUNTS), ("last", pa.map_(pa.string(), _COUNTS))]),
        'an object with time and last, as in {"time": {"a": 1}, "last": {"b": {"a": 1}}}',
        _to_time_and_last_times_by_name,
    ),
    "pairs by place": StampKind(
        pa.struct([("time", _PLACED), ("last", pa.map_(pa.string(), _PLACED))]),
        'an object with time and last, as in {"time": [1, 0], "last": {"b": [1, 0]}}',
        _to_time_and_last_times_by_place,
    ),
    "log": StampKind(
        pa.list_(pa.struct([*_DIRECT, ("destinations", pa.list_(pa.string()))])),
        'a list of messages, as in [{"sender": "a", "number": 1, "destinations": ["b"]}]',
        _to_log,
    ),
    "direct": StampKind(
        pa.list_(pa.struct(_DIRECT)),
        'a list of messages, as in [{"sender": "a", "number": 1}]',
        _to_senders_and_numbers,
    ),
    "id lists": StampKind(pa.list_(pa.string()), 'a list of ids, as in ["x", "y"]', _to_ids),
    "ids": StampKind(
        pa.list_(pa.string()),
        'an id, as in "x", or a list of ids, as in ["x", "y"]',
        _to_parent_ids,
        may_be_bare=True,
    ),
    "number": StampKind(pa.int64(), "a whole number, as in 3", _to_64_bit_integer),
}
_KINDS_OF_FORM = {
    "vector": ("object", "list"),
    "clock": ("object", "list"),
    "matrix": ("matrix",),
    "triples": ("triples",),
    "pairs": ("pairs", "pairs by place"),
    "log": ("log", "direct"),
    "predecessors": ("direct", "log"),
    "shared": ("list",),
    "parents": ("ids",),
    "sequence": ("number",),
    None: tuple(kind for kind in KINDS if kind != "ids"),
}
"""The kinds that stamps of a form may have in text, the likeliest first."""


def list_stamp_kinds(form: str | None, *, has_id: bool) -> list[str]:
    """The kinds that stamps may have; none if stamps of this form do not stand in text.

    A list is one of ids where rows have ids themselves, or where it cannot be one of counts. Where rows have
    ids, one id alone is a list, too.
    """
    kinds = list(_KINDS_OF_FORM.get(form, ()))
    if "id lists" not in kinds:
        return kinds
    kinds.remove("id lists")
    return ["ids", *kinds] if has_id else [*kinds, "id lists"]


def match_stamp_kinds(value: Any, kinds: list[str]) -> list[str]:
    """The kinds that a value can be a stamp of."""
    matching = []
    for kind in kinds:
        if not isinstance(value, KINDS[kind].accepted_python_types):
            continue
        try:
            KINDS[kind].convert(value)
        except (OtherKindError, CountError):
            continue
        matching.append(kind)
    return matching


def choose_stamp_kind(kinds: list[str], counts: Mapping[str, int]) -> str:
    """The kind that most stamps have; of equal ones the first.

    Any list can be one of ids: where these come last, they count only where there is nothing else.
    """
    candidates = list(kinds)
    if kinds[-1] == "id lists" and any(counts.get(kind) for kind in kinds[:-1]):
        candidates.remove("id lists")
    return max(candidates, key=lambda kind: counts.get(kind, 0))


def decode_if_json(value: Any) -> Any:
    """What a value means: text that is JSON is what it says. Raises RepeatedKeyError."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text[:1] in ("{", "["):
        try:
            return decode_json(text)
        except (msgspec.DecodeError, RecursionError):
            return text
    return text


def write_as_json_unless_text(value: Any) -> str:
    """A value as text; texts are as they are."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def read_stamp_or_fault(value: Any, kind: str) -> tuple[Any, str | None]:
    """The stamp, or the reason why it is none of this kind."""
    if value is None:
        return None, None
    try:
        return KINDS[kind].convert(decode_if_json(value)), None
    except OtherKindError:
        reason = f"the stamp is not {KINDS[kind].example}"
    except CountError:
        reason = "the stamp has a count that is no whole number"
    except RepeatedKeyError as error:
        reason = f"the stamp {error}"
    return None, f"{reason}: {_shorten_value(value)}"


def read_number_or_fault(value: Any, column: str) -> tuple[int | None, str | None]:
    """The number, or the reason why it is none."""
    if value is None:
        return None, None
    try:
        return _to_64_bit_integer(value.strip() if isinstance(value, str) else value), None
    except CountError:
        return None, f"{column} is no whole number: {_shorten_value(value)}"


def find_name_fault(role: str, value: Any) -> str | None:
    """The reason of a sender, a receiver, a group or an id that is a list or an object."""
    if isinstance(value, str) and (role not in _PROCESSES or not _JSON_START.match(value)):
        return None
    try:
        is_name = not isinstance(decode_if_json(value), list | dict)
    except RepeatedKeyError:
        is_name = False
    if is_name:
        return None
    remedy = ROWS_OF_THEIR_OWN.get(role, "")
    return f"the {role} is not a name but a list or an object{remedy}: {_shorten_value(value)}"


def _shorten_value(value: Any) -> str:
    return write_as_json_unless_text(value).strip()[:SHOWN]

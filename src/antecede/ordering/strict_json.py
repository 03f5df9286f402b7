"""JSON in which no object has one key twice: parsers keep the last value, and the others would be lost.

The fast parser does not tell of such keys. But a key is a quote and a colon; so if there are no more of these
than keys that were read, no key was lost. Only where there are more (in a text, or because a key is there
twice), or where there is space before a colon, a slow parser looks at each key.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_SPACED_KEY = re.compile(r'"\s+:')


class RepeatedKeyError(Exception):
    """An object has one key twice; the text says which."""


def decode_json(text: str) -> Any:
    """The value of a JSON text. Raises RepeatedKeyError, or what msgspec raises if it is no JSON."""
    value = msgspec.json.decode(text)
    if text.count('":') > _count_keys(value) or _SPACED_KEY.search(text):
        json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    return value


def _count_keys(value: Any) -> int:
    """How many keys all objects in a value have."""
    count, values = 0, value
    if type(value) is dict:
        count, values = len(value), value.values()
    elif type(value) is not list:
        return 0
    for one in values:
        if type(one) is dict or type(one) is list:
            count += _count_keys(one)
    return count


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> None:
    keys = set()
    for key, _ in pairs:
        if key in keys:
            raise RepeatedKeyError(f"has the key {key[:80]!r} twice")
        keys.add(key)

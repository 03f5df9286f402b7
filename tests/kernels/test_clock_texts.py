"""Clocks scanned from their bytes are what JSON says they are; what is not plain is left to others."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antecede.kernels.clock_texts import ABSENT, find_first_blanks, gather_parts_and_offsets, scan_clocks

KEYS = ["a", "b", "ab", "", "n1", "n10", "a b", "{", ":", ",", "x" * 40, "\u00e9", "\u4e2d"]
BLANKS = ["", " ", "\t ", "  "]
NOT_PLAIN = [
    "",
    " ",
    "{",
    "}",
    "[]",
    "7",
    '"a"',
    "nul",
    "null ",
    "nullx",
    '{"a":1',
    '{"a":1}}',
    '{"a":1}x',
    '{"a"}',
]
NOT_PLAIN += [
    '{"a":}',
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1 "b":2}',
    '{"a":-1}',
    '{"a":1.0}',
    '{"a":1e3}',
    '{"a":01}',
]
NOT_PLAIN += [
    '{"a":"1"}',
    '{"a":null}',
    '{"a":1,"b":2,"a":3}',
    '{"\\u0061":1}',
    '{"a\nb":1}',
    "{a:1}",
    '{"a":1234567890123456789}',
]
NOT_PLAIN += ['{"a"x:1}', "{'a':1}", '{"a":1\n}', '{"a', '{"a":1;"b":2}', '{"a":{}}', '{"a"1}']


@st.composite
def plain_texts(draw) -> str:
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=5))
    counts = draw(st.lists(st.integers(0, 10**18 - 1), min_size=len(keys), max_size=len(keys)))
    blank = draw(st.sampled_from(BLANKS))
    entries = [
        f'{blank}"{key}"{blank}:{blank}{count}{blank}' for key, count in zip(keys, counts, strict=True)
    ]
    inside: str = ",".join(entries) or blank
    return f"{blank}{{{inside}}}{blank}"


def scan(texts: Sequence[str]):
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)]).astype(np.int32)
    text = np.frombuffer(b"".join(data), np.uint8)
    return text, scan_clocks(text, offsets)


@given(st.lists(plain_texts() | st.just("null"), max_size=12))
@example(['{"a":1,"b":2}', '{"b":3,"a":4}', '{"ab":1}', '{"a":5,"c":6}', "{}"])
def test_plain_clocks_are_what_json_says(texts):
    text, scanned = scan(texts)
    spans = zip(scanned.key_begins, scanned.key_ends, strict=True)
    keys = [text[begin:end].tobytes().decode() for begin, end in spans]
    assert len(set(keys)) == len(keys)
    entries = iter(zip(scanned.codes, scanned.counts, strict=True))
    for clock, size in zip(texts, scanned.sizes.tolist(), strict=True):
        read = None if size == ABSENT else [(keys[code], int(count)) for code, count in _take(entries, size)]
        value = json.loads(clock)
        assert read == (None if value is None else list(value.items()))
    assert next(entries, None) is None


def _take(entries, size):
    return [next(entries) for _ in range(size)]


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_others(text):
    plain = '{"a": 1, "b": 2}'
    assert scan([plain, text, plain])[1] is None
    assert scan([plain, text])[1] is None


def test_thousands_of_keys_have_a_code_each():
    clocks = [{f"p{number * 7 % 5000}": number + 1} for number in range(10_000)]
    _, scanned = scan([json.dumps(clock) for clock in clocks])
    assert len(scanned.key_begins) == 5000 and scanned.counts.tolist() == list(range(1, 10_001))
    assert (scanned.codes[:5000] == scanned.codes[5000:]).all()


def test_parts_of_a_text():
    text = np.frombuffer(b"ab c d  e", np.uint8)
    begins, ends = np.array([0, 3, 8]), np.array([2, 8, 9])
    gathered, offsets = gather_parts_and_offsets(text, begins, ends)
    assert gathered.tobytes() == b"abc d  e" and offsets.tolist() == [0, 2, 7, 8]
    assert find_first_blanks(text, begins, ends).tolist() == [2, 4, 9]

"""JSON with one key twice is refused, wherever it stands; all else is what it says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.ordering.strict_json import RepeatedKeyError, decode_json

KEYS = st.sampled_from(["a", "b", 'q":', "d : e", ""])
VALUES = st.recursive(
    st.none() | st.integers(-5, 5) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
)


@given(value=VALUES, separator=st.sampled_from([":", ": ", " : ", "\t:"]))
def test_what_has_each_key_once_is_read(value: object, separator: str) -> None:
    assert decode_json(json.dumps(value, separators=(",", separator))) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a" : 1, "b": 2, "a"\t: 3}',
        '[{"x": {"a": "\\":", "b": [{"a": 1, "a": 2}]}}]',
        '{"\\u0061": 1, "a": 2}',
    ],
)
def test_a_key_that_is_there_twice_is_told(text: str) -> None:
    with pytest.raises(RepeatedKeyError, match="has the key 'a' twice"):
        decode_json(text)

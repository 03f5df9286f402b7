"""The words that logs have for kinds of events, and what they mean."""

from collections.abc import Collection

import pyarrow as pa

KINDS = ("send", "receive", "deliver", "local")

USUAL_KINDS = {
    "send": "send",
    "sent": "send",
    "snd": "send",
    ">": "send",
    "receive": "receive",
    "received": "receive",
    "recv": "receive",
    "rcv": "receive",
    "<": "receive",
    "deliver": "deliver",
    "delivered": "deliver",
    "dlv": "deliver",
    "local": "local",
    "internal": "local",
}

NAME_KINDS = f"name them {', '.join(KINDS)}"
"""What the caller of a table can do about words that are not known."""
LISTED_WORDS = 5
"""Words for unknown kinds that a sentence lists."""


def find_kind_meant_by_word(word: str) -> str | None:
    """One of our kinds, if the word is known to mean one, in whatever case."""
    return USUAL_KINDS.get(word.lower())


def convert_kind_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Kinds in the place of words that mean one; a word that is not known stays, and is taken as local."""
    return pa.chunked_array([_replace_words_by_kinds(chunk) for chunk in column.chunks], column.type)


def _replace_words_by_kinds(words: pa.Array) -> pa.Array:
    encoded = words.dictionary_encode()
    distinct_words = encoded.dictionary.to_pylist()
    kinds = []
    for word in distinct_words:
        kind = find_kind_meant_by_word(word)
        kinds.append(word if kind is None else kind)
    if kinds == distinct_words:
        return words
    return pa.array(kinds, words.type).take(encoded.indices)


def list_unknown_words(words: pa.Array) -> list[str]:
    """Words of a column that mean no kind, in order of the alphabet."""
    return sorted(
        word for word in words.unique().drop_null().to_pylist() if find_kind_meant_by_word(word) is None
    )


def describe_unknown_words(words: Collection[str], remedy: str) -> str | None:
    """A sentence on words for kinds that are not known; None if there are none."""
    if not words:
        return None
    in_order = sorted(words)
    listed = ", ".join(in_order[:LISTED_WORDS]) + (", ..." if len(in_order) > LISTED_WORDS else "")
    return f"kinds that are not known are taken as local: {listed}; {remedy}"

"""Columns of a partition as flat arrays, and the rows that are not as they should be, with the reason."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.core.wire import LARGEST
from antecede.events.columns import encode_names_by_rank, flatten_lists, to_integers
from antecede.kernels.ragged import Counts, Ints, choose_unsigned_type, compute_starts

Mask = NDArray[np.bool_]
ABSENT = -(2**63)
"""A count that is null."""


class Faults:
    """Rows with a reason to be left out; of several the first counts."""

    def __init__(self, size: int) -> None:
        self.bad = np.zeros(size, dtype=bool)
        self._rows: list[Ints] = []
        self._texts: list[pa.Array] = []

    def add(self, rows: Any, text: str | pa.Array) -> None:
        """Rows as a mask or as numbers; a text for each of them, or one for all."""
        where = np.asarray(rows)
        where = np.flatnonzero(where) if where.dtype == bool else where
        fresh = ~self.bad[where]
        if fresh.any():
            texts = pa.repeat(text, len(where)) if isinstance(text, str) else text
            self._rows.append(where[fresh])
            self._texts.append(texts.filter(pa.array(fresh)))
            self.bad[where] = True

    def make_reason_column(self) -> pa.Array:
        """The reason of each row, null where there is none."""
        if not self._rows:
            return pa.nulls(len(self.bad), pa.string())
        rows = np.concatenate(self._rows)
        text_of_row = np.full(len(self.bad), -1, dtype=np.int64)
        text_of_row[rows[::-1]] = np.arange(len(rows))[::-1]  # written last, the first one stays
        return pa.concat_arrays(self._texts).take(pa.array(text_of_row, mask=text_of_row < 0))


class CountLists(NamedTuple):
    """Counts of many rows, and the names they are for if they are not by place."""

    starts: Ints
    counts: Counts
    names: pa.ChunkedArray | None

    @property
    def row_of_count(self) -> Ints:
        """The row of each count."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def read_count_lists(column: pa.ChunkedArray, faults: Faults, name_in_faults: str) -> CountLists:
    """A column of lists of counts, of maps from names to counts, or of lists of (name, count).

    The counts may be written to. Those that are null, negative or too large are 0 here, and faults.
    """
    faults.add(_mark_nulls(column), f"{name_in_faults} is null")
    chunks = [flatten_lists(chunk) for chunk in column.chunks]
    lengths = [np.diff(chunk.starts) for chunk in chunks]
    starts = compute_starts(np.concatenate([*lengths, []]))
    parts = [chunk.items for chunk in chunks if chunk.items]
    is_map = pa.types.is_map(column.type)
    if not is_map and pa.types.is_struct(column.type.value_type):
        parts = [items[0].flatten()[:2] for items in parts]
    elif not is_map:
        return _join_and_check_counts(starts, [items[0] for items in parts], None, faults, name_in_faults)
    names = pa.chunked_array([items[0] for items in parts], None if parts else pa.string())
    return _join_and_check_counts(starts, [items[1] for items in parts], names, faults, name_in_faults)


def _join_and_check_counts(
    starts: Ints, parts: list[pa.Array], names: pa.ChunkedArray | None, faults: Faults, name_in_faults: str
) -> CountLists:
    """The counts in one array; 0 for those that cannot be, and their rows are faults."""
    counts = [_to_numpy_counts(part) for part in parts]
    least = min((int(part.min()) for part in counts if len(part)), default=0)
    most = max((int(part.max()) for part in counts if len(part)), default=0)
    if least >= 0 and most <= LARGEST:
        parts_and_none = [*counts, np.empty(0, np.uint8)]
        together = np.concatenate(parts_and_none, dtype=choose_unsigned_type(most), casting="unsafe")
        return CountLists(starts, together, names)
    together = np.concatenate(counts)
    for is_wrong, fault in (
        (together == ABSENT, "an entry without a count"),
        (together < 0, "a negative count"),
        (together > LARGEST, "a count above 2^62 - 1"),
    ):
        rows = np.searchsorted(starts, np.flatnonzero(is_wrong), side="right") - 1
        faults.add(np.unique(rows), f"{name_in_faults} has {fault}")
        together[is_wrong] = 0
    kind = choose_unsigned_type(int(together.max(initial=0)))
    return CountLists(starts, together.astype(kind), names)


def _to_numpy_counts(part: pa.Array) -> Counts:
    filled = part.cast(pa.int64()).fill_null(ABSENT) if part.null_count else part
    counts: Counts = filled.to_numpy(zero_copy_only=False)
    return counts


def _mark_nulls(column: pa.ChunkedArray) -> Mask:
    if not column.null_count:
        return np.zeros(len(column), dtype=bool)
    return np.asarray(column.is_null().to_numpy(), dtype=bool)


def read_list_starts_and_names(column: pa.ChunkedArray) -> tuple[Ints, pa.ChunkedArray]:
    """A column of lists of names: where the names of each row start, and all names; null is an empty list."""
    chunks = [flatten_lists(chunk) for chunk in column.chunks]
    lengths = np.concatenate([*(np.diff(chunk.starts) for chunk in chunks), []])
    names = [chunk.items[0] for chunk in chunks if chunk.items]
    return compute_starts(lengths), pa.chunked_array(names, column.type.value_type)


def read_integers(column: pa.ChunkedArray, null_value: int) -> Ints:
    """A column of integers, with a number for null."""
    if not column.num_chunks:
        return np.empty(0, dtype=np.int64)
    return np.concatenate([to_integers(chunk, null_value) for chunk in column.chunks])


def encode_names(*columns: pa.ChunkedArray) -> tuple[pa.Array, list[Ints]]:
    """Columns of names (numbers are names too) as codes that follow their order; -1 is null."""
    texts = [column.cast(pa.string()) for column in columns]
    chunks = [chunk for text in texts for chunk in text.chunks]
    encoded = encode_names_by_rank(chunks or [pa.array([], pa.string())])
    codes, at = [], 0
    for text in texts:
        own_chunks = encoded.codes[at : at + text.num_chunks]
        codes.append(np.concatenate([*own_chunks, np.empty(0, np.int64)]))
        at += text.num_chunks
    return encoded.names, codes


def encode_and_count_groups(column: pa.ChunkedArray, faults: Faults) -> tuple[Ints, int]:
    """A code for each group, in no order, and how many there are; no group at all is a fault."""
    faults.add(_mark_nulls(column), "there is no group: the column that names it is null")
    chunks = column.dictionary_encode().chunks
    codes = np.concatenate([to_integers(chunk.indices, 0) for chunk in chunks])
    return codes, max((len(chunk.dictionary) for chunk in chunks), default=0) + 1


def join_texts(*parts: pa.Array | str) -> pa.Array:
    """Texts put together row by row."""
    return pc.binary_join_element_wise(*(_as_text(part) for part in parts), "")


def _as_text(part: pa.Array | str) -> pa.Array | str:
    if isinstance(part, str) or pa.types.is_string(part.type):
        return part
    return part.cast(pa.string())

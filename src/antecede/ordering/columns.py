"""Columns of a partition as flat arrays, and the rows that are not as they should be, with the reason."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.core.wire import LARGEST
from antecede.events.columns import coded, lists, numbers
from antecede.kernels.ragged import Counts, Ints

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

    def reasons(self) -> pa.Array:
        """The reason of each row, null where there is none."""
        if not self._rows:
            return pa.nulls(len(self.bad), pa.string())
        at = np.full(len(self.bad), -1, dtype=np.int64)
        rows = np.concatenate(self._rows)
        at[rows[::-1]] = np.arange(len(rows))[::-1]
        return pa.concat_arrays(self._texts).take(pa.array(at, mask=at < 0))


def narrow(top: int) -> type[np.integer[Any]]:
    """A small type for numbers up to `top`; few are used, since the gate is compiled for each."""
    if top >= 2**32:
        return np.int64
    return np.uint16 if top < 2**16 else np.uint32


class Flat(NamedTuple):
    """Counts of many rows, and the names they are for if they are not by place."""

    starts: Ints
    counts: Counts
    names: pa.ChunkedArray | None

    @property
    def rows(self) -> Ints:
        """The row of each count."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def flat(column: pa.ChunkedArray, faults: Faults, what: str) -> Flat:
    """A column of lists of counts, of maps from names to counts, or of lists of (name, count).

    The counts may be written to. Those that are null, negative or too large are 0 here, and faults.
    """
    faults.add(_nulls(column), f"{what} is null")
    found = [lists(chunk) for chunk in column.chunks]
    lengths = [np.diff(one.starts) for one in found]
    starts = np.concatenate(([0], np.cumsum(np.concatenate([*lengths, []])))).astype(np.int64)
    kind = column.type.value_type if not pa.types.is_map(column.type) else None
    parts = [one.items for one in found if one.items]
    if kind is None or pa.types.is_struct(kind):
        parts = parts if kind is None else [items[0].flatten()[:2] for items in parts]
        names = pa.chunked_array([items[0] for items in parts], pa.string() if not parts else None)
    else:
        names = None
    counts = [_filled(items[-1]) for items in parts]
    least, most = (int(pick([0, *map(pick, filter(len, counts))])) for pick in (np.min, np.max))
    if not 0 <= least <= most <= LARGEST:
        return _cleaned(starts, np.concatenate(counts), names, faults, what)
    together = np.concatenate([*counts, np.empty(0, np.uint8)], dtype=narrow(most), casting="unsafe")
    return Flat(starts, together, names)


def _cleaned(starts: Ints, counts: Counts, names: pa.ChunkedArray | None, faults: Faults, what: str) -> Flat:
    """With 0 for counts that cannot be; their rows are faults."""
    for wrong, told in (
        (counts == ABSENT, "an entry without a count"),
        (counts < 0, "a negative count"),
        (counts > LARGEST, "a count above 2^62 - 1"),
    ):
        faults.add(_row_of(np.flatnonzero(wrong), starts), f"{what} has {told}")
        counts[wrong] = 0
    return Flat(starts, counts.astype(narrow(int(counts.max(initial=0)))), names)


def _filled(part: pa.Array) -> Counts:
    filled = part.cast(pa.int64()).fill_null(ABSENT) if part.null_count else part
    found: Counts = filled.to_numpy(zero_copy_only=False)
    return found


def _row_of(places: Ints, starts: Ints) -> Ints:
    return np.unique(np.searchsorted(starts, places, side="right") - 1)


def _nulls(column: pa.ChunkedArray) -> Mask:
    if not column.null_count:
        return np.zeros(len(column), dtype=bool)
    return np.asarray(column.is_null().to_numpy(), dtype=bool)


def names_in_lists(column: pa.ChunkedArray) -> tuple[Ints, pa.ChunkedArray]:
    """A column of lists of names; null is a list without any."""
    found = [lists(chunk) for chunk in column.chunks]
    lengths = np.concatenate([*(np.diff(one.starts) for one in found), []])
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return starts, pa.chunked_array([one.items[0] for one in found if one.items], column.type.value_type)


def integers(column: pa.ChunkedArray, missing: int) -> Ints:
    """A column of integers, with a number for null."""
    if not column.num_chunks:
        return np.empty(0, dtype=np.int64)
    return np.concatenate([numbers(chunk, missing) for chunk in column.chunks])


def codes_of(*columns: pa.ChunkedArray) -> tuple[pa.Array, list[Ints]]:
    """Columns of names (numbers are names too) as codes that follow their order; -1 is null."""
    texts = [column.cast(pa.string()) for column in columns]
    found = coded([chunk for text in texts for chunk in text.chunks] or [pa.array([], pa.string())])
    codes, at = [], 0
    for text in texts:
        codes.append(np.concatenate([*found.codes[at : at + text.num_chunks], np.empty(0, np.int64)]))
        at += text.num_chunks
    return found.names, codes


def groups(column: pa.ChunkedArray, faults: Faults) -> tuple[Ints, int]:
    """A code for each group, in no order, and how many there are; no group at all is a fault."""
    faults.add(_nulls(column), "there is no group: the column that names it is null")
    chunks = column.dictionary_encode().chunks
    codes = np.concatenate([numbers(chunk.indices, 0) for chunk in chunks])
    return codes, max((len(chunk.dictionary) for chunk in chunks), default=0) + 1


def words(*parts: pa.Array | str) -> pa.Array:
    """Texts put together row by row."""
    return pc.binary_join_element_wise(*(_text(part) for part in parts), "")


def _text(part: pa.Array | str) -> pa.Array | str:
    return part if isinstance(part, str) or pa.types.is_string(part.type) else part.cast(pa.string())

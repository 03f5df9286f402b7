"""Arrays for compiled code, which checks no bounds: their check, and the grouping kernels start from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from antecede.core.errors import CallerError
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints


def check_integers(array: ArrayLike, name: str, low: int, high: int, length: int | None = None) -> Ints:
    """The array as flat 64-bit integers, all in low..high-1, of the given length."""
    found = np.asarray(array)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise CallerError(f"{name} must be a flat array of integers, not {found.dtype} {found.shape}")
    if length is not None and len(found) != length:
        raise CallerError(f"{name} has {len(found)} entries and must have {length}")
    if found.size and not low <= found.min() <= found.max() < high:
        raise CallerError(
            f"{name} must be at least {low} and below {high}, not {found.min()} to {found.max()}"
        )
    return np.ascontiguousarray(found, dtype=np.int64)


def check_edges(size: int, source: ArrayLike, target: ArrayLike) -> tuple[Ints, Ints]:
    """Two checked arrays, cause and effect of each edge among `size` events."""
    causes = check_integers(source, "source", 0, size)
    return causes, check_integers(target, "target", 0, size, len(causes))


def check_forward_edges(size: int, source: ArrayLike, target: ArrayLike) -> tuple[Ints, Ints]:
    """Checked edges of events that are numbered in a linear extension."""
    causes, effects = check_edges(size, source, target)
    if (causes >= effects).any():
        raise CallerError(
            "a cause does not come before its effect; number the events by `sort_topologically`"
        )
    return causes, effects


class ScopedCodes(NamedTuple):
    """Codes for pairs of a scope and a name, dense from 0 in the order in which they first appear."""

    codes: Ints  # of each item, -1 if it has no name
    first: Ints  # of each code, the first item that has it


@compiled
def number_names_by_scope(scope: Ints, name: Ints, name_count: int) -> ScopedCodes:
    """Number the names (0..names-1, or -1) of each scope for itself; the items of a scope stand together."""
    codes = np.full(len(name), -1, dtype=np.int64)
    first = np.empty(len(name), dtype=np.int64)
    seen_in, code_of = np.full(name_count, -1, dtype=np.int64), np.zeros(name_count, dtype=np.int64)
    size = 0
    for item in range(len(name)):
        if name[item] < 0:
            continue
        if seen_in[name[item]] != scope[item]:
            seen_in[name[item]] = scope[item]
            code_of[name[item]] = size
            first[size] = item
            size += 1
        codes[item] = code_of[name[item]]
    return ScopedCodes(codes, first[:size])


class GroupedItems(NamedTuple):
    """The items with key k are `items[starts[k]:starts[k + 1]]`, in the order in which they were."""

    starts: Ints
    items: Ints


@compiled
def group_by_key(keys: Ints, key_count: int) -> GroupedItems:
    """Group the items, which are the places of their keys; those with a negative key are in no group."""
    starts = np.zeros(key_count + 1, dtype=np.int64)
    for key in keys:
        if key >= 0:
            starts[key + 1] += 1
    for key in range(key_count):
        starts[key + 1] += starts[key]
    items = np.empty(starts[key_count], dtype=np.int64)
    ends = starts[:-1].copy()
    for item in range(len(keys)):
        if keys[item] >= 0:
            items[ends[keys[item]]] = item
            ends[keys[item]] += 1
    return GroupedItems(starts, items)

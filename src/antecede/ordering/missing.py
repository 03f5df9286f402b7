"""What held rows lack, in words: places of slots, stretches of them, and cycles of rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.kernels.ragged import Ints, Rows
from antecede.kernels.topology import Cycles
from antecede.ordering.columns import join_texts
from antecede.ordering.stamps import Reading, Stamps

SHOWN = 10
"""So many of the things that a row lacks, or of the members of a cycle, are listed."""
_BLOCK = 100_000
"""So many held rows are handled at a time, to save memory."""


def describe_gaps(stamps: Stamps, reading: Reading, slot: Ints, first: Ints, last: Ints) -> pa.Array:
    """What is missing: from the first to the last place of each slot."""
    if stamps.add:
        return _describe_ranges("count", stamps.slots.get_names(slot), first, last, " of entry ")
    if reading.shape == "parents":
        return stamps.slots.get_names(slot)
    return _describe_ranges(reading.noun, stamps.slots.get_names(slot), first, last, " of ")


def _describe_ranges(noun: str, names: pa.Array, first: Ints, last: Ints, connective: str) -> pa.Array:
    one = join_texts(f"{noun} ", pa.array(last), connective, names)
    several = join_texts(f"{noun}s ", pa.array(first), " to ", pa.array(last), connective, names)
    return pc.if_else(pa.array(first == last), one, several)


def describe_cycles(stamps: Stamps, reading: Reading, held: Ints, cycles: Cycles) -> list[str]:
    """Which of the held rows wait for each other."""
    rows = held[cycles.members]
    labels = stamps.slots.get_names(stamps.own[rows])
    if reading.shape != "parents":
        labels = join_texts(f"{reading.noun} ", pa.array(stamps.number[rows]), " of ", labels)
    names = labels.to_pylist()
    return [_describe_cycle(names[low:high]) for low, high in pairwise(cycles.starts.tolist())]


def _describe_cycle(members: list[str]) -> str:
    if len(members) == 1:
        return f"a cycle: {members[0]} waits for itself"
    more = f" and {len(members) - SHOWN} more" if len(members) > SHOWN else ""
    return f"a cycle: {', '.join(members[:SHOWN])}{more} wait for each other"


def describe_missing_causes(
    stamps: Stamps, reading: Reading, have: Ints, unmet: Rows, cycles: Cycles, cycle_texts: list[str]
) -> tuple[Ints, pa.Array]:
    """Texts that say what held rows lack, each with the place of its row among those held, row by row.

    A row on a cycle says so behind everything else.
    """
    rows, texts = [], []
    for low in range(0, len(unmet.starts) - 1, _BLOCK):
        starts = unmet.starts[low : low + _BLOCK + 1]
        block_rows, block_texts = _describe_missing_causes_of_block(stamps, reading, have, unmet, starts)
        rows.append(low + block_rows)
        texts.append(block_texts)
    sizes = np.diff(cycles.starts)
    rows.append(cycles.members)
    text_of_member = np.repeat(np.array(cycle_texts, dtype=object), sizes)
    texts.append(pa.array(text_of_member, pa.string()))
    return np.concatenate(rows), pa.concat_arrays(texts)


def _describe_missing_causes_of_block(
    stamps: Stamps, reading: Reading, have: Ints, unmet: Rows, starts: Ints
) -> tuple[Ints, pa.Array]:
    """The same for some held rows; the needs of the i-th are `starts[i]:starts[i + 1]`."""
    lengths = np.diff(starts)
    row = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.arange(starts[0], starts[-1]) - starts[row]
    is_shown = rank < SHOWN
    block = slice(starts[0], starts[-1])
    slot = unmet.slots[block][is_shown].astype(np.int64)
    needed = unmet.counts[block][is_shown].astype(np.int64)
    texts = _describe_unmet_needs(stamps, reading, slot, have[slot], needed)

    cut_rows = np.flatnonzero(lengths > SHOWN)
    rest = join_texts("and ", pa.array(lengths[cut_rows] - SHOWN), " more")
    all_rows = np.concatenate((row[is_shown], cut_rows))
    by_row = np.argsort(all_rows, kind="stable")
    return all_rows[by_row], pa.concat_arrays([texts, rest]).take(pa.array(by_row))


def _describe_unmet_needs(stamps: Stamps, reading: Reading, slot: Ints, have: Ints, needed: Ints) -> pa.Array:
    """What a need is short of."""
    if stamps.add:
        names = stamps.slots.get_names(slot)
        return join_texts("entry ", names, " must reach ", pa.array(needed), " and is at ", pa.array(have))
    first = have + 1 if reading.stretches else needed
    return describe_gaps(stamps, reading, slot, first, needed)

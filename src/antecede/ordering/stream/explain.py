"""What waiting rows lack, and the root gaps behind them, as they are between two micro-batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.kernels.gate import Released
from antecede.ordering.partition import read_partition
from antecede.ordering.root_gaps import explain_held_rows
from antecede.ordering.stamps import Reading
from antecede.ordering.stream.step import match_groups_to_states, recall_slot_memory


class Explained(NamedTuple):
    """For each row what it lacks; the root gaps of a group stand at one of its rows."""

    missing: pa.ListArray
    gaps: pa.ListArray


def explain_waiting_rows(table: pa.Table, states: pa.Table, reading: Reading) -> Explained:
    """All waiting rows of groups with these states, as the kernel reads them."""
    partition = read_partition(table, reading)
    groups = match_groups_to_states(partition, states, pa.array([], pa.string()))
    have = recall_slot_memory(partition, states, groups).memory.have
    waiting = np.flatnonzero(~partition.faults.bad)
    nothing = np.empty(0, dtype=np.int64)
    released = Released(nothing, waiting, nothing, have)
    is_seen = np.ones(len(table), dtype=bool)
    explained = explain_held_rows(partition.stamps, reading, partition.group, released, is_seen)
    return Explained(explained.missing, explained.gaps)

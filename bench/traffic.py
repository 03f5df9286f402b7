"""Event tables of any size for benchmarks of the pipeline: random unicast traffic, as each node logged it.

Each of the processes sends at random times to random others. A message takes 5 ms and a little; one in a
thousand takes up to half a second, and so is late more often than not; one in a hundred thousand up to twenty
seconds. Files have the lines of some nodes each, and are written one at a time.
"""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from antecede.tables import EVENTS

RATE = 0.25
"""Messages that a process sends in a millisecond."""
FILES = 8


class Traffic(NamedTuple):
    """Events by process and time."""

    process: NDArray[np.int64]
    index: NDArray[np.int64]  # type: ignore[assignment]
    send: NDArray[np.bool_]
    message: NDArray[np.int64]
    other: NDArray[np.int64]
    time: NDArray[np.float64]


def traffic(events: int, processes: int, seed: int = 1) -> Traffic:
    """Half the events are sends, half deliveries."""
    random, size = np.random.default_rng(seed), events // 2
    sent = np.sort(random.uniform(0, size / (RATE * processes), size))
    sender = random.integers(0, processes, size)
    receiver = (sender + random.integers(1, processes, size)) % processes
    delay = 5 + random.exponential(1, size)
    slow, astray = random.random(size) < 1e-3, random.random(size) < 1e-5
    delay[slow] += random.uniform(50, 500, slow.sum())
    delay[astray] += random.uniform(500, 20_000, astray.sum())
    process = np.concatenate((sender, receiver))
    time: NDArray[np.float64] = np.concatenate((sent, sent + delay)).round(3)
    order = np.lexsort((np.arange(2 * size), time, process))
    process = process[order]
    index = np.arange(2 * size) - np.searchsorted(process, process)
    message, other = np.tile(np.arange(size), 2), np.concatenate((receiver, sender))
    return Traffic(process, index, order < size, message[order], other[order], time[order])


def write(events: int, processes: int, folder: Path) -> str:
    """Parquet files in the folder; returns its name."""
    found = traffic(events, processes)
    names = pa.array([f"node-{i:03}" for i in range(processes)])
    cuts = np.searchsorted(found.process, np.linspace(0, processes, FILES + 1))
    for file, (low, high) in enumerate(pairwise(cuts)):
        part = Traffic._make(array[low:high] for array in found)
        pq.write_table(_table(part, names), folder / f"{file}.parquet", row_group_size=200_000)
    return str(folder)


def traffic_table(events: int, processes: int) -> pa.Table:
    """The events in one table, without places in files."""
    names = pa.array([f"node-{i:03}" for i in range(processes)])
    return _table(traffic(events, processes), names).drop_columns(["file", "line"])


def _table(part: Traffic, names: pa.Array) -> pa.Table:
    size, process, other = (
        len(part.time),
        names.take(pa.array(part.process)),
        names.take(pa.array(part.other)),
    )
    index = pa.array(part.index)
    to = pa.ListArray.from_arrays(
        pa.array(np.append(0, np.cumsum(part.send)), pa.int32()), other.filter(pa.array(part.send))
    )
    columns = {
        "execution": pa.array(["traffic"]).take(pa.array(np.zeros(size, dtype=np.int64))),
        "process": process,
        "index": index,
        "event": pc.binary_join_element_wise(process, index.cast(pa.string()), "#"),
        "kind": pa.array(["deliver", "send"]).take(pa.array(part.send.astype(np.int64))),
        "message": pc.binary_join_element_wise("m", pa.array(part.message).cast(pa.string()), ""),
        "sender": pc.if_else(pa.array(part.send), process, other),
        "receivers": pc.if_else(pa.array(part.send), to, pa.scalar(None, to.type)),
        "time": pa.array(part.time),
        "file": pc.binary_join_element_wise(process, ".log", ""),
        "line": pa.array(part.index + 1),
    }
    return pa.table([columns.get(field.name, pa.nulls(size, field.type)) for field in EVENTS], schema=EVENTS)

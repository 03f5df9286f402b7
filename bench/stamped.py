"""Inputs of the pipeline's benchmarks beside `traffic`: a table of stamped messages, and a ShiViz log."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.workload import updates

GROUPS, WIDTH, FILES, NODES = 40, 50, 8, 8


def stamped(size: int, folder: Path) -> str:
    """Messages of all groups in any order, as Parquet: group, sender, stamp, time, payload."""
    folder.mkdir()
    parts = [_group(number, size // GROUPS) for number in range(GROUPS)]
    random = np.random.default_rng(2)
    for file in range(FILES):
        table = pa.concat_tables(part.slice(*_share(len(part), file)) for part in parts)
        pq.write_table(table.take(pa.array(random.permutation(len(table)))), folder / f"{file}.parquet")
    return str(folder)


def _share(size: int, file: int) -> tuple[int, int]:
    low, high = size * file // FILES, size * (file + 1) // FILES
    return low, high - low


def _group(number: int, size: int) -> pa.Table:
    """A history of one group, shuffled; time is that of the send, and a clock that is wrong by a bit."""
    history = updates(size, WIDTH, "shuffled", seed=number)
    time = history.number + np.random.default_rng(number).normal(0, 20, size)
    stamps = pa.ListArray.from_arrays(
        pa.array(np.arange(size + 1) * WIDTH, pa.int32()), pa.array(history.stamps.reshape(-1))
    )
    group = pa.array([f"group-{number:02}"]).take(pa.array(np.zeros(size, dtype=np.int64)))
    payload = pa.array([f"message {k} of group {number}" for k in history.number.tolist()])
    names = ["group", "sender", "stamp", "time", "payload"]
    return pa.table([group, pa.array(history.writer), stamps, pa.array(time), payload], names)


def shiviz(size: int, path: Path) -> str:
    """A log of some nodes that send each other messages, each event on two lines."""
    random = np.random.default_rng(3)
    clocks = np.zeros((NODES, NODES), dtype=np.int64)
    way: list[tuple[int, np.ndarray]] = []  # type: ignore[type-arg]
    with path.open("w") as file:
        for event in range(size):
            node, text = int(random.integers(NODES)), f"step {event}"
            if way and random.random() < 0.5:
                node, clock = way.pop(int(random.integers(len(way))))
                clocks[node], text = np.maximum(clocks[node], clock), f"got it at step {event}"
            clocks[node, node] += 1
            if len(way) < 4 * NODES:
                way.append(((node + 1 + event % (NODES - 1)) % NODES, clocks[node].copy()))
            shown = ", ".join(f'"n{k}":{v}' for k, v in enumerate(clocks[node].tolist()) if v)
            file.write(f"n{node} {{{shown}}}\n{text}\n")
    return str(path)

"""Event logs as text for benchmarks: the traffic of `bench.traffic`, and sends and receives with clocks."""

from pathlib import Path

import msgspec
import numpy as np
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from bench import traffic

PROCESSES = 100
BLOCK = 100_000
"""Events that are turned into text at a time."""


def write_jsonl(size: int, path: Path) -> str:
    """Write a log of so many events, each with the columns that it has; returns its path."""
    events = traffic.traffic_table(size, PROCESSES).sort_by("time")
    with path.open("wb") as file:
        for low in range(0, len(events), BLOCK):
            for row in events.slice(low, BLOCK).to_pylist():
                known = {name: value for name, value in row.items() if value is not None}
                file.write(msgspec.json.encode(known) + b"\n")
    return str(path)


CSV_COLUMNS = ["process", "index", "event", "kind", "message", "sender", "receivers", "time"]


def write_csv(size: int, path: Path) -> str:
    """Write the same log as CSV, lists with semicolons; returns its path."""
    events = traffic.traffic_table(size, PROCESSES).sort_by("time").select(CSV_COLUMNS)
    lists = pc.binary_join(events["receivers"], ";")
    events = events.set_column(CSV_COLUMNS.index("receivers"), "receivers", lists)
    pa_csv.write_csv(events, path, pa_csv.WriteOptions(quoting_style="none"))
    return str(path)


def write_ndjson(size: int, path: Path, processes: int = 8) -> str:
    """Write sends and receives with vector clocks and without ids, as EWD998 does; returns its path."""
    random = np.random.default_rng(7)
    clocks = np.zeros((processes, processes), np.int64)
    way: list[tuple[int, int, NDArray[np.int64]]] = []
    with path.open("wb") as file:
        for number in range(size):
            if way and random.random() < 0.5:
                sender, node, clock = way.pop(int(random.integers(len(way))))
                clocks[node] = np.maximum(clocks[node], clock)
                word, receiver = "<", node
            else:
                node = sender = int(random.integers(processes))
                receiver = (node + 1 + int(random.integers(processes - 1))) % processes
                word = ">"
            clocks[node, node] += 1
            clock = {str(k): entry for k, entry in enumerate(clocks[node].tolist()) if entry}
            packet = {"snd": sender, "rcv": receiver, "msg": {"type": "token", "q": number % 7}, "vc": clock}
            file.write(msgspec.json.encode({"event": word, "node": node, "pkt": packet}) + b"\n")
            if word == ">":
                way.append((sender, receiver, clocks[node].copy()))
    return str(path)

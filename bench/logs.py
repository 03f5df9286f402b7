"""Event logs as text for benchmarks: the traffic of `bench.traffic` as JSON lines of our own."""

from pathlib import Path

import msgspec

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

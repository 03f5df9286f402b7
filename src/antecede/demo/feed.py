"""The shop of the demo, live: copies of its messages land in a folder over time; one producer stalls."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.demo.shop import PEOPLE, RATE, Floats, make_room_events_and_landed_copies

STALLED = PEOPLE[2]
"""Whose copies do not land for a while."""
LOGGED = ("execution", "process", "index", "event", "kind", "message")
"""Columns of the people's logs that an audit needs."""
_FIRST = 500.0
"""What lands within so many ms is there before the shop opens."""
_PAUSE = 0.5
"""Seconds between two files."""


class LiveShop(NamedTuple):
    """How long the shop is open, and how."""

    rooms: int = 40
    seconds: float = 45.0
    stall_begins: float = 12.0
    stall_ends: float = 24.0
    """Seconds between which no copies of one of the people land."""

    def simulate_events_and_landed_copies(self) -> tuple[pa.Table, pa.Table]:
        """What the people logged, and the copies of their messages as they land, in ms from the beginning."""
        messages = max(1, round(self.seconds * RATE * len(PEOPLE)))
        rooms = [make_room_events_and_landed_copies(number, messages) for number in range(self.rooms)]
        events = pa.concat_tables([events.select(LOGGED) for events, _ in rooms])
        landed = pa.concat_tables([copies for _, copies in rooms])
        times = self._compute_landing_times_with_stall(landed)
        place = landed.column_names.index("landed")
        return events, landed.set_column(place, "landed", pa.array(times)).sort_by("landed")

    def _compute_landing_times_with_stall(self, landed: pa.Table) -> Floats:
        times: Floats = landed["landed"].to_numpy().copy()
        is_stalled = np.asarray(pc.equal(landed["sender"], STALLED).combine_chunks())
        is_stalled &= (times >= 1000 * self.stall_begins) & (times < 1000 * self.stall_ends)
        times[is_stalled] = 1000 * self.stall_ends
        return times


class Feed:
    """Writes files of what has landed, in a thread, as time goes by; column `landed` has the time then."""

    def __init__(self, landed: pa.Table, folder: Path) -> None:
        self._landed, self._folder = landed, folder
        self._times: Floats = landed["landed"].to_numpy()
        self._begin = time.time() * 1000
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write_copies_as_they_land, name="shop", daemon=True)
        self.rows = 0
        """How many have landed."""

    def write_first_copies(self) -> None:
        """Let a few copies land before the shop opens, for those who must warm up."""
        self._begin = time.time() * 1000
        self._write_copies_until(_FIRST)

    def start(self) -> None:
        """Let the shop open."""
        self._begin = time.time() * 1000
        self._thread.start()

    def stop(self) -> None:
        """Let nothing land any more."""
        self._is_over.set()
        self._thread.join()

    @property
    def is_done(self) -> bool:
        """Whether all has landed."""
        return self.rows == len(self._landed)

    @property
    def seconds_open(self) -> float:
        """How long the shop has been open."""
        return time.time() - self._begin / 1000

    def _write_copies_as_they_land(self) -> None:
        while not self.is_done and not self._is_over.is_set():
            self._write_copies_until(1000 * self.seconds_open)
            self._is_over.wait(_PAUSE)

    def _write_copies_until(self, time_ms: float) -> None:
        """Write what has landed since the last file, until a moment in ms from the beginning."""
        end = int(np.searchsorted(self._times, time_ms, side="right"))
        if end <= self.rows:
            return
        rows = self._landed.slice(self.rows, end - self.rows)
        place = rows.column_names.index("landed")
        rows = rows.set_column(place, "landed", pc.add(rows["landed"], self._begin))
        file = self._folder / f"{self.rows:08}.parquet"
        part = self._folder / f".{self.rows:08}.part"
        pq.write_table(rows, part)
        os.replace(part, file)
        self.rows = end

"""Records: what happens in a run is written down here as it happens, for the judge to get as a block."""

from typing import Any

import numpy as np

from antecede.simulate.verdict.layout import Block


class Records:
    """Flat lists, as they take the least time to fill.

    `rows` has time, what and payload of one record after the other; what is a kind times the number of
    processes, plus the process. The payload is the number of the message, in eight bytes.
    """

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.sends: list[int] = []
        """Of each send, one after the other: how many targets it has, and the own event that it depends on, 0
        for none, -1 for everything before it."""
        self.targets: list[int] = []
        """Of all sends, one after the other."""

    def add_send(
        self,
        time_ms: float,
        kind_and_process: int,
        payload: bytes,
        targets: list[int],
        depends_on: int | None,
    ) -> None:
        """A process sends."""
        self.rows += (time_ms, kind_and_process, payload)
        self.sends += (len(targets), -1 if depends_on is None else depends_on)
        self.targets += targets

    def take_block(self) -> Block:
        """Everything since the last time."""
        rows = self.rows
        block = Block(
            times=np.array(rows[0::3], np.float64),
            what=np.array(rows[1::3], np.int64),
            messages=np.frombuffer(b"".join(rows[2::3]), "<i8").astype(np.int64),
            sends=np.array(self.sends, np.int64).reshape(-1, 2),
            targets=np.array(self.targets, np.int64),
        )
        for one in (rows, self.sends, self.targets):
            one.clear()
        return block
